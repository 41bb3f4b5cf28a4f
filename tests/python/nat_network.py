#!/usr/bin/env python3
"""Joins three TUN interfaces by two NATs and a link with delay, for tests in network namespaces.

    nat_network.py FIRST SECOND SERVER FIRST_KIND SECOND_KIND DELAY_MS

Behind FIRST and SECOND are private networks, each with a NAT whose public addresses are 203.0.113.1
and 203.0.113.2. Behind SERVER is the public machine 198.51.100.1. The kinds are:

    preserving  a port keeps its number for all destinations (RFC 4787, endpoint-independent)
    symmetric   each destination gets another port, at random (address- and port-dependent mapping)
    open        as preserving, and lets in datagrams from all addresses (endpoint-independent
                filtering)

The others let in only datagrams from addresses and ports to which the inner machine has sent. Only
UDP over IPv4 is passed on.

Makes the interfaces in the namespace in which it runs; the caller moves them. Prints "ready", and
ends when its standard input ends. For each line of its input it prints, as JSON, how many datagrams
went through the server, directly, and how many a NAT has not let in. Needs Linux and the right to
make interfaces.
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
UDP = 17

PUBLIC = [bytes([203, 0, 113, 1]), bytes([203, 0, 113, 2])]
SERVER = bytes([198, 51, 100, 1])

# The most packets on their way; further ones are lost.
MAX_QUEUED = 10_000


class Nat:
    def __init__(self, kind, public):
        self.kind, self.public = kind, public
        self.outer_ports, self.inner, self.may_enter = {}, {}, set()

    def send(self, source, target):
        """Returns the outer port of a datagram that leaves."""
        key = (source, target) if self.kind == "symmetric" else source
        port = self.outer_ports.get(key)
        if port is None:
            port = 0 if self.kind == "symmetric" else source[1]
            while port == 0 or port in self.inner:
                port = random.randrange(20_000, 60_000)
            self.outer_ports[key], self.inner[port] = port, source
        self.may_enter.add((port, target))
        return port

    def receive(self, port, source):
        """Returns the inner address for a datagram that arrives, if it may."""
        is_let_in = self.kind == "open" or (port, source) in self.may_enter
        return self.inner.get(port) if is_let_in else None


def open_tun(name):
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return file


def addresses(packet):
    """Returns the header's length, source and target of a UDP datagram over IPv4."""
    if len(packet) < 28 or packet[0] >> 4 != 4 or packet[9] != UDP or packet[6] & 0x3F or packet[7]:
        return None
    length = (packet[0] & 15) * 4
    ports = struct.unpack("!HH", packet[length : length + 4])
    return length, (packet[12:16], ports[0]), (packet[16:20], ports[1])


def rewritten(packet, length, source, target):
    """Returns a packet with other addresses, without a checksum of UDP."""
    out = bytearray(packet)
    out[10:12] = b"\0\0"
    out[12:16], out[16:20] = source[0], target[0]
    out[length : length + 4] = struct.pack("!HH", source[1], target[1])
    out[length + 6 : length + 8] = b"\0\0"
    total = sum(struct.unpack(f"!{length // 2}H", out[:length]))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    out[10:12] = struct.pack("!H", total ^ 0xFFFF)
    return bytes(out)


class Network:
    def __init__(self, names, kinds):
        self.files = [open_tun(name) for name in names]
        self.nats = [Nat(kind, public) for kind, public in zip(kinds, PUBLIC)]
        self.counts = {"server": 0, "direct": 0, "blocked": 0}

    def route(self, side, packet):
        """Returns the interface to which a packet goes, and the packet; nothing if it is lost."""
        parsed = addresses(packet)
        if parsed is None:
            return None
        length, source, target = parsed
        if side < 2:
            nat = self.nats[side]
            source = (nat.public, nat.send(source, target))
            if target[0] == SERVER:
                self.counts["server"] += 1
                return self.files[2], rewritten(packet, length, source, target)
        if target[0] not in PUBLIC:
            return None
        other = PUBLIC.index(target[0])
        inner = self.nats[other].receive(target[1], source)
        if other == side or inner is None:
            self.counts["blocked"] += 1
            return None
        self.counts["server" if side == 2 else "direct"] += 1
        return self.files[other], rewritten(packet, length, source, inner)


def main(first, second, server, first_kind, second_kind, delay_ms):
    network = Network([first, second, server], [first_kind, second_kind])
    delay, queue, number = float(delay_ms) / 1000, [], 0
    print("ready", flush=True)
    while True:
        wait = max(0, queue[0][0] - time.monotonic()) if queue else None
        readable, _, _ = select.select([*network.files, sys.stdin.fileno()], [], [], wait)
        for end in readable:
            if end == sys.stdin.fileno():
                if not os.read(end, 100):
                    return
                print(json.dumps(network.counts), flush=True)
                continue
            try:
                packet = os.read(end, 65536)
            except OSError:
                continue
            routed = network.route(network.files.index(end), packet)
            if routed and len(queue) < MAX_QUEUED:
                number += 1
                heapq.heappush(queue, (time.monotonic() + delay, number, *routed))
        while queue and queue[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(queue)
            try:
                os.write(end, packet)
            except OSError:
                pass  # The interface is down.


main(*sys.argv[1:])
