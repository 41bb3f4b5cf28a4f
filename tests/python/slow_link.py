#!/usr/bin/env python3
"""Joins two TUN interfaces by a link with delay and loss, for tests in network namespaces.

    slow_link.py FIRST SECOND DELAY_MS LOSS_PERCENT

Makes both interfaces in the namespace in which it runs; the caller moves them. Prints "ready", and
ends when its standard input ends. For each line of its input it prints how many packets it has
passed on and how many it has lost, as JSON. Needs Linux and the right to make interfaces.
"""

import fcntl
import heapq
import json
import os
import random
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000

# The most packets on their way, as in the buffer of a router; further ones are lost.
MAX_QUEUED = 10_000


def open_tun(name):
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return file


def main(first, second, delay_ms, loss_percent):
    ends = [open_tun(first), open_tun(second)]
    other = dict(zip(ends, reversed(ends)))
    delay, group = float(delay_ms) / 1000, 100 // int(loss_percent)
    chance = random.Random(1)  # The same losses in each run, as far as the packets are the same.
    queue, number, passed, lost, seen, unlucky = [], 0, 0, 0, 0, 0
    print("ready", flush=True)
    while True:
        wait = max(0, queue[0][0] - time.monotonic()) if queue else None
        readable, _, _ = select.select([*ends, sys.stdin.fileno()], [], [], wait)
        for end in readable:
            if end == sys.stdin.fileno():
                if not os.read(end, 100):
                    return
                print(json.dumps({"passed": passed, "lost": lost}), flush=True)
                continue
            try:
                packet = os.read(end, 65536)
            except OSError:
                continue
            seen += 1
            # One of each group of packets is lost, at a place of its own.
            if seen % group == 1 % group:
                unlucky = seen + chance.randrange(group)
            if seen == unlucky or len(queue) >= MAX_QUEUED:
                lost += 1
                continue
            number += 1
            heapq.heappush(queue, (time.monotonic() + delay, number, other[end], packet))
        while queue and queue[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(queue)
            try:
                os.write(end, packet)
                passed += 1
            except OSError:
                lost += 1  # The interface is down.


main(*sys.argv[1:])
