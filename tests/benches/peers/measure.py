"""Measures what peers.sh describes; see there."""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

YFS, SYNCTHING = os.environ["YFS"], os.environ["SYNCTHING"]
JS_PEERS = os.environ["JS_PEERS"]
JS_PEERS_PROGRAM = Path(__file__).with_name("js_peers.mjs").resolve()
FILE_BYTES = 1_000
FILES_PER_DIRECTORY = 100
PATIENCE = 600
# Settings of the account must not change what is measured.
ENV = {**os.environ, "YFS_CONFIG": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null",
       "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@b"}
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def path_of(at):
    group, directory = divmod(at // FILES_PER_DIRECTORY, 100)
    return f"part-{group:03}/directory-{directory:02}/file-{at:07}.txt"


def write_files(root, n_files, generation):
    """Writes all files anew: half of the lines of each differ between generations."""
    same = random.Random(1)
    new = random.Random(generation)
    for at in range(n_files):
        path = root / path_of(at)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = []
        while sum(map(len, lines)) < FILE_BYTES:
            source = same if len(lines) % 2 == 0 else new
            lines.append(" ".join(f"{source.getrandbits(40):010x}" for _ in range(6)) + "\n")
        path.write_text("".join(lines))


def same_files(first, second, n_files):
    """Reports whether two directories have the same contents."""
    try:
        return all((first / path_of(at)).read_bytes() == (second / path_of(at)).read_bytes()
                   for at in range(n_files))
    except FileNotFoundError:
        return False


def run(*args, cwd):
    done = subprocess.run(args, cwd=cwd, env=ENV, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


class Process:
    """A process that keeps running. Its lines of output are collected."""

    def __init__(self, *args, cwd, env=None):
        self.lines = []
        self.child = subprocess.Popen(args, cwd=cwd, env={**ENV, **(env or {})}, text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.child.stdout:
            self.lines.append((time.monotonic(), line))

    def wait_line(self, find, after=0):
        """Waits for a line for which `find` returns a value, and returns its time and the value."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            while after < len(self.lines):
                at, line = self.lines[after]
                after += 1
                found = find(line)
                if found is not None:
                    return at, found
            if self.child.poll() is not None:
                sys.exit(f"{self.child.args} ended")
            time.sleep(0.0005)
        sys.exit(f"{self.child.args} does not print what is expected")

    def pids(self):
        """Returns it and its children: Syncthing works in one."""
        own = self.child.pid
        return [own, *map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split())]

    def cpu(self):
        """Returns the CPU time that it has taken, in seconds."""
        used = 0
        for pid in self.pids():
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            used += int(fields[11]) + int(fields[12])
        return used / TICKS

    def memory(self):
        """Returns its resident memory in MB: all, and without the pages of files."""
        resident, own = 0, 0
        for pid in self.pids():
            fields = Path(f"/proc/{pid}/statm").read_text().split()
            resident += int(fields[1])
            own += int(fields[1]) - int(fields[2])
        return [pages * PAGE / 1e6 for pages in (resident, own)]

    def stop(self):
        # A process that was started in the background ignores SIGINT.
        self.child.terminate()
        try:
            self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.child.kill()


def lo_bytes():
    # /sys shows the network in which it was mounted, /proc that of this process.
    lines = Path("/proc/self/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


class Timed:
    """Wall time, CPU of the client and of the servers, and bytes on loopback of a piece of work."""

    def __init__(self, servers):
        self.servers = servers

    def __enter__(self):
        self.begun, self.bytes = time.monotonic(), lo_bytes()
        self.cpu = [server.cpu() for server in self.servers]
        self.client = os.times()
        return self

    def __exit__(self, *_):
        now = os.times()
        self.wall = time.monotonic() - self.begun
        self.client_cpu = (now.children_user - self.client.children_user
                           + now.children_system - self.client.children_system)
        self.server_cpu = sum(server.cpu() - before
                              for server, before in zip(self.servers, self.cpu))
        self.moved = lo_bytes() - self.bytes

    def row(self, name):
        print(f"| {name} | {self.wall:.2f} | {self.client_cpu:.2f} | {self.server_cpu:.2f} "
              f"| {self.moved / 1e6:.1f} |", flush=True)


def ticket_of(share):
    return share.wait_line(lambda line: json.loads(line).get("ticket"))[1]


def share(cwd, *args):
    return Process(YFS, "peer", "share", "--listen", "127.0.0.1:47801", "--json", *args, cwd=cwd)


def join(cwd, *args):
    return Process(YFS, "peer", "join", *args, "--listen", "127.0.0.1:0", "--json", cwd=cwd)


def join_once(cwd, *args):
    run(YFS, "peer", "join", *args, "--listen", "127.0.0.1:0", "--no-wait", cwd=cwd)


def table(*columns):
    print("\n| " + " | ".join(columns) + " |")
    print("|---" + "|---:" * (len(columns) - 1) + "|", flush=True)


def catch_up(made, n_files):
    """A copy that has everything; then all files change; then the copy gets them."""
    here = made / "here"
    write_files(here, n_files, 1)
    run(YFS, "mirror", ".", "--once", "--quiet", cwd=here)
    table(f"{n_files:,} files of 1 KB", "s", "CPU of the copy, s", "CPU of the source, s", "MB")
    owner = share(here)
    ticket = ticket_of(owner)
    with Timed([owner]) as timed:
        join_once(made, ticket, "first")
    timed.row("`yfs peer join`: all files the first time")
    join_once(made, ticket, "bare", "--no-files")
    owner.stop()

    write_files(here, n_files, 2)
    run(YFS, "mirror", ".", "--once", "--quiet", cwd=here)
    owner = share(here)
    ticket_of(owner)
    with Timed([owner]) as timed:
        join_once(made / "first")
    timed.row("`yfs peer join`: all files changed")
    assert same_files(here, made / "first", n_files)
    with Timed([owner]) as timed:
        join_once(made / "bare")
    timed.row("the same, a copy without files on disk")
    with Timed([owner]) as timed:
        join_once(made / "first")
    timed.row("`yfs peer join`: nothing changed")
    owner.stop()

    server = Process(YFS, "serve", ".", "--open", "--port", "0", "--json", cwd=here)
    url = server.wait_line(lambda line: json.loads(line).get("url"))[1]
    with Timed([server]) as timed:
        run(YFS, "clone", url, "cloned", cwd=made)
    timed.row("`yfs clone` of the changed workspace")
    with Timed([server]) as timed:
        run(YFS, "clone", url, "cloned-bare", "--no-files", cwd=made)
    timed.row("the same, without files on disk")
    server.stop()
    for name in ["first", "bare", "cloned", "cloned-bare"]:
        shutil.rmtree(made / name)
    catch_up_git(made, n_files)


def catch_up_git(made, n_files):
    source = made / "source"
    write_files(source, n_files, 1)
    run("git", "init", "-q", "-b", "main", cwd=source)
    run("git", "config", "gc.auto", "0", cwd=source)
    run("git", "config", "maintenance.auto", "false", cwd=source)
    run("git", "add", "-A", cwd=source)
    run("git", "commit", "-qm", "one", cwd=source)
    daemon = Process("git", "daemon", "--listen=127.0.0.1", "--port=9418", "--export-all",
                     f"--base-path={made}", "--reuseaddr", cwd=made)
    for _ in range(200):
        tried = subprocess.run(["git", "ls-remote", "git://127.0.0.1/source"], env=ENV,
                               capture_output=True)
        if tried.returncode == 0:
            break
        time.sleep(0.05)
    with Timed([daemon]) as timed:
        run("git", "clone", "-q", "git://127.0.0.1/source", "git-copy", cwd=made)
    timed.row("`git clone`: all files the first time")
    write_files(source, n_files, 2)
    run("git", "commit", "-qam", "two", cwd=source)
    with Timed([daemon]) as timed:
        run("git", "fetch", "-q", cwd=made / "git-copy")
    timed.row("`git fetch`: all files changed, no files on disk")
    with Timed([daemon]) as timed:
        run("git", "merge", "-q", "--ff-only", "origin/main", cwd=made / "git-copy")
    timed.row("`git merge --ff-only` after it")
    daemon.stop()
    assert same_files(source, made / "git-copy", n_files)
    shutil.rmtree(source)
    shutil.rmtree(made / "git-copy")


def percentiles(name, delays):
    delays = sorted(1000 * delay for delay in delays)
    print(f"| {name} | {statistics.median(delays):.1f} | {delays[len(delays) * 99 // 100]:.1f} "
          f"| {len(delays)} |", flush=True)


def wait_for_text(path, text):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if path.read_text() == text:
                return
        except FileNotFoundError:
            pass
        time.sleep(0.001)
    sys.exit(f"{path} does not change")


def edit_delays(here, there, n_edits):
    """Edits of files on disk: from the write to the same text in the other directory.

    They are not the files of `logged_delays`: a program that saves one of those without having read
    it does not remove the lines that were appended since.
    """
    delays = []
    for number in range(n_edits):
        name, text = path_of(100 + number % 100), f"edit {number}\n"
        begun = time.monotonic()
        (here / name).write_text(text)
        wait_for_text(there / name, text)
        delays.append(time.monotonic() - begun)
        time.sleep(0.3)  # The peers are idle when the next edit comes.
    return delays


def logged_delays(here, there, n_edits):
    """Edits by a command: from its end, when the edit is in the log, to the other's `yfs watch`."""
    watch = Process(YFS, "watch", "--json", cwd=there)
    watch.wait_line(lambda line: line)
    after_start, after_end = [], []
    for number in range(n_edits):
        n_lines = len(watch.lines)
        path = "/" + path_of(number % 100)
        begun = time.monotonic()
        run(YFS, "append", path, "--content", f"line {number}\n", cwd=here)
        ended = time.monotonic()
        changed = lambda line: True if json.loads(line).get("path") == path else None
        at, _ = watch.wait_line(changed, n_lines)
        after_start.append(at - begun)
        after_end.append(max(0, at - ended))
        time.sleep(0.3)
    watch.stop()
    return after_start, after_end


def idle_row(name, processes, seconds):
    before = [process.cpu() for process in processes]
    time.sleep(seconds)
    used = [(process.cpu() - cpu) / seconds * 100 for process, cpu in zip(processes, before)]
    memory = [process.memory() for process in processes]
    resident, own = (max(column) for column in zip(*memory))
    print(f"| {name} | {statistics.mean(used):.2f} | {max(used):.2f} | {resident:.0f} "
          f"| {own:.0f} |", flush=True)


IDLE_COLUMNS = ("idle", "CPU of a process, %", "of the busiest, %", "resident, MB",
                "without pages of files, MB")


def live(made, n_edits, n_peers, seconds):
    here = made / "here"
    owner = share(here)
    ticket = ticket_of(owner)
    peers = []
    for number in range(n_peers):
        join_once(made, ticket, f"peer-{number}")
        if number == 0:
            peers.append(join(made / "peer-0"))
            time.sleep(5)
            table("idle peers, one edit", "p50, ms", "p99, ms", "edits")
            after_start, after_end = logged_delays(here, made / "peer-0", n_edits)
            percentiles("`yfs append` begins, to `yfs watch`", after_start)
            percentiles("`yfs append` has ended, to `yfs watch`", after_end)
            percentiles("a file on disk, to the other's disk",
                        edit_delays(here, made / "peer-0", n_edits))
            table(*IDLE_COLUMNS)
            time.sleep(5)
            idle_row("`yfs peer share` and `yfs peer join`, 2 peers", [owner, *peers], seconds)
        else:
            peers.append(join(made / f"peer-{number}"))
    time.sleep(20)
    idle_row(f"the same, {n_peers + 1} peers", [owner, *peers], seconds)
    for process in [owner, *peers]:
        process.stop()
    for number in range(n_peers):
        shutil.rmtree(made / f"peer-{number}")


def syncthing_home(home, number):
    home.mkdir()
    run(SYNCTHING, "generate", f"--home={home}", "--no-default-folder", cwd=home)
    device = run(SYNCTHING, f"--home={home}", "--device-id", cwd=home).strip()
    return {"home": home, "device": device, "port": 22100 + number}


def configure(own, other, folder):
    """Two devices that know each other, without discovery, relays and a page."""
    (folder / ".stfolder").mkdir(parents=True, exist_ok=True)
    devices = "".join(
        f'<device id="{device["device"]}" compression="metadata" introducer="false">'
        f'<address>tcp://127.0.0.1:{device["port"]}</address></device>' for device in (own, other))
    shared = "".join(f'<device id="{device["device"]}"/>' for device in (own, other))
    (own["home"] / "config.xml").write_text(f"""<configuration version="36">
<folder id="bench" label="bench" path="{folder}" type="sendreceive" rescanIntervalS="3600"
 fsWatcherEnabled="true" fsWatcherDelayS="1" ignorePerms="false" autoNormalize="true">
<filesystemType>basic</filesystemType>{shared}</folder>
{devices}
<gui enabled="false" tls="false"></gui>
<options><listenAddress>tcp://127.0.0.1:{own["port"]}</listenAddress>
<globalAnnounceEnabled>false</globalAnnounceEnabled>
<localAnnounceEnabled>false</localAnnounceEnabled><relaysEnabled>false</relaysEnabled>
<natEnabled>false</natEnabled><urAccepted>-1</urAccepted>
<autoUpgradeIntervalH>0</autoUpgradeIntervalH><crashReportingEnabled>false</crashReportingEnabled>
<startBrowser>false</startBrowser></options></configuration>""")


def start_syncthing(own):
    return Process(SYNCTHING, "serve", f"--home={own['home']}", "--no-browser", "--no-restart",
                   cwd=own["home"], env={"STNOUPGRADE": "1"})


def wait_same(first, second, n_files):
    """Waits until the last file is there, and then until all are the same."""
    begun = time.monotonic()
    while not same_files(first, second, n_files):
        if time.monotonic() - begun > PATIENCE:
            sys.exit("Syncthing does not finish")
        time.sleep(0.1)


def syncthing(made, n_files, n_edits, seconds):
    here, there = made / "st-here", made / "st-there"
    write_files(here, n_files, 1)
    first, second = (syncthing_home(made / f"st-{number}", number) for number in range(2))
    configure(first, second, here)
    configure(second, first, there)
    a = start_syncthing(first)
    time.sleep(20)  # It reads the directory.
    table(f"Syncthing, {n_files:,} files of 1 KB", "s", "CPU of the copy, s",
          "CPU of the source, s", "MB")

    def transfer(name):
        before = b.cpu() if b.child.poll() is None else 0
        with Timed([a]) as timed:
            wait_same(here, there, n_files)
        timed.client_cpu = b.cpu() - before
        timed.row(name)

    b = start_syncthing(second)
    transfer("all files the first time")
    b.stop()
    write_files(here, n_files, 2)
    time.sleep(60)  # It reads what has changed.
    b = start_syncthing(second)
    transfer("all files changed")
    time.sleep(10)
    table("Syncthing, one edit", "p50, ms", "p99, ms", "edits")
    percentiles("a file on disk, to the other's disk", edit_delays(here, there, n_edits))
    table(*IDLE_COLUMNS)
    time.sleep(5)
    idle_row("Syncthing, 2 devices", [a, b], seconds)
    a.stop()
    b.stop()


def js_peers(n_edits, seconds):
    table("peers in Node, one edit", "p50, ms", "p99, ms", "idle CPU of one", "memory of one")
    for kind in ("hyperswarm", "y-webrtc"):
        args = ["node", str(JS_PEERS_PROGRAM), kind, str(n_edits), str(seconds)]
        try:
            done = subprocess.run(args, cwd=JS_PEERS, capture_output=True, text=True,
                                  timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            print(f"| {kind}: its processes did not connect | | | | |", flush=True)
            continue
        print(done.stdout.strip() or f"{kind}: {done.stderr}", flush=True)


def main(made, n_files, n_edits, n_peers, seconds):
    made = Path(made)
    catch_up(made, n_files)
    live(made, n_edits, n_peers, seconds)
    if JS_PEERS:
        js_peers(n_edits, seconds)
    if SYNCTHING:
        syncthing(made, n_files, n_edits, seconds)


main(sys.argv[1], *map(int, sys.argv[2:]))
