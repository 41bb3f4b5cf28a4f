"""Makes the data of cold.sh and measures the processes; see there."""

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

FILES_PER_DIRECTORY = 100
FILE_BYTES = 1_000
N_RARE = 10
AGENTFS_LIMIT = 10_000

YFS, AGENTFS = os.environ["YFS"], os.environ["AGENTFS"]
RUNS, ONLY = int(os.environ["RUNS"]), re.compile(os.environ["ONLY"])
PEER = Path(__file__).with_name("agentfs_peer.py").resolve()
# Settings of the account must not change what is measured.
ENV = {**os.environ, "YFS_CONFIG": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null"}


def path_of(at):
    """Returns the path of a file: at most 100 entries are in each directory."""
    group, directory = divmod(at // FILES_PER_DIRECTORY, 100)
    return f"part-{group:03}/directory-{directory:02}/file-{at:07}.txt"


def make_files(root, n_files):
    """Makes files of random words. The first word of each is in all, a rare one is in ten."""
    rng = random.Random(13)
    letters = "aeioubdfglmnprst"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(4_000)]
    step = max(1, n_files // N_RARE)
    for at in range(n_files):
        path = root / path_of(at)
        if at % FILES_PER_DIRECTORY == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        chosen = rng.choices(words, k=190)
        chosen[3] = f"number{at}"
        if at % step == step // 2:
            chosen[100] = "zanzibarquill"
        lines = (" ".join(chosen[i : i + 12]) for i in range(0, len(chosen), 12))
        text = "lantern " + "\n".join(lines)
        path.write_text(text[: FILE_BYTES - 1] + "\n")


def run(args, cwd, stdin=b""):
    """Runs a process and returns its CPU time in milliseconds."""
    with open(os.devnull, "wb") as null, open(cwd / "errors", "wb") as errors:
        child = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=null, stderr=errors,
                                 cwd=cwd, env=ENV)
        child.stdin.write(stdin)
        child.stdin.close()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: {(cwd / 'errors').read_text()}")
    return (used.ru_utime + used.ru_stime) * 1_000


def run_for_memory(args, cwd, stdin=b""):
    """Runs a process and returns its greatest resident memory in KB.

    A child of this process would begin with the memory of this one.
    """
    run(["/usr/bin/time", "-o", "memory", "-f", "%M", *args], cwd, stdin)
    return int((cwd / "memory").read_text().split()[-1])


class Measurement:
    """The figures of all commands at one number of files."""

    def __init__(self):
        self.rows = {}

    def row(self, name, make_args, cwd, runs=RUNS, stdin=b""):
        """Measures a command; `make_args` returns the arguments of its n-th run."""
        if not ONLY.search(name):
            return
        times = [run(make_args(at), cwd, stdin) for at in range(runs)]
        memory = max(run_for_memory(make_args(runs + at), cwd, stdin)
                     for at in range(min(runs, 3)))
        self.rows[name] = (statistics.median(times), memory)
        print(f"  {name}: {self.rows[name][0]:.1f} ms, {memory} KB", file=sys.stderr, flush=True)

    def once(self, name, args, cwd):
        """Measures a command that cannot be repeated."""
        used = run(["/usr/bin/time", "-o", "memory", "-f", "%M", *args], cwd)
        self.rows[name] = (used, int((cwd / "memory").read_text().split()[-1]))
        print(f"  {name}: {used:.0f} ms, {self.rows[name][1]} KB", file=sys.stderr, flush=True)


def measure_yfs(at_size, root, n_files):
    """Measures yfs on a workspace that `import` fills."""
    run([YFS, "init", "--workspace", "w.db"], root)
    yfs = [YFS, "--workspace", "w.db"]
    at_size.once("import", [*yfs, "import", "files"], root)
    spread = [(7919 * at + 101) % n_files for at in range(400)]
    pick = iter(spread * 20)

    edited = []

    def each(*args):
        def make(_):
            path = "/" + path_of(next(pick))
            if args[0] == "edit":
                edited.append(path)
            place = str(Path(path).parent)
            return [*yfs, *(arg.replace("PATH", path).replace("DIR", place) for arg in args)]
        return make

    def same(*args):
        return lambda _: [*yfs, *args]

    few = min(RUNS, 3)
    row = at_size.row
    row("cat", each("cat", "PATH"), root)
    row("head", each("head", "-n", "3", "PATH"), root)
    row("stat", each("stat", "PATH"), root)
    row("ls of 100", each("ls", "DIR"), root)
    row("ls -l of 100", each("ls", "-l", "DIR"), root)
    row("append", each("append", "PATH", "--content", "one more line\n"), root)
    row("edit", each("edit", "PATH", "lantern", "lamp"), root)
    row("write", each("write", "PATH"), root, stdin=b"new content\n" * 80)
    if edited:
        row("cat of an edited file",
            lambda at: [*yfs, "cat", edited[at % len(edited)]], root)
    row("versions ls", each("versions", "ls", "PATH"), root)
    row("mv", each("mv", "PATH", "PATH.moved"), root)
    row("rm", each("rm", "PATH"), root)
    row("log -n 20", same("log", "-n", "20"), root)
    row("admin info", same("admin", "info"), root, few)
    row("du", same("du", "-s", "/"), root, few)
    row("status", same("status"), root, few)
    row("find /", same("find", "/"), root, few)
    row("ls -R", same("ls", "-R", "/"), root, few)
    row("grep -rl, rare", same("grep", "-rl", "zanzibarquill", "/"), root, few)
    row("grep -rl, frequent", same("grep", "-rl", "lantern", "/"), root, few)
    if ONLY.search("export"):
        at_size.once("export", [*yfs, "export", "/", "exported"], root)
        shutil.rmtree(root / "exported")


def measure_git(at_size, root, n_files):
    """Measures git on a repository of the same files, and ripgrep on its work tree."""
    files = root / "files"
    git = ["git", "-C", str(files)]
    run([*git, "init", "-q"], root)
    # Without this, each file is a file of the object database.
    run([*git, "-c", "core.bigFileThreshold=1", "add", "-A"], root)
    author = ["-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0"]
    run([*git, *author, "commit", "-q", "-m", "files"], root)
    spread = iter([(7919 * at + 101) % n_files for at in range(400)])

    def each(make):
        return lambda _: [*git, *make(path_of(next(spread)))]

    few = min(RUNS, 3)
    row = at_size.row
    row("git cat-file", each(lambda path: ["cat-file", "blob", f"HEAD:{path}"]), root)
    row("git ls-tree of 100",
        each(lambda path: ["ls-tree", f"HEAD:{Path(path).parent}"]), root)
    row("git status", lambda _: [*git, "status", "--short"], root, few)
    row("git ls-files", lambda _: [*git, "ls-files"], root, few)
    row("git grep -l, rare", lambda _: [*git, "grep", "-l", "zanzibarquill"], root, few)
    row("git grep -l, frequent", lambda _: [*git, "grep", "-l", "lantern"], root, few)
    shutil.rmtree(files / ".git")
    row("rg -l, rare", lambda _: ["rg", "-l", "zanzibarquill", "files"], root, few)
    row("rg -l, frequent", lambda _: ["rg", "-l", "lantern", "files"], root, few)


def measure_agentfs(at_size, root, n_files):
    """Measures AgentFS: open, one operation, close."""
    if not AGENTFS or n_files > AGENTFS_LIMIT or not ONLY.search("AgentFS"):
        return
    peer = [AGENTFS, str(PEER)]
    run([*peer, "fill", "a.db", "files"], root)
    spread = iter([(7919 * at + 101) % n_files for at in range(400)])
    for command in ["cat", "stat"]:
        at_size.row(f"AgentFS {command}",
                    lambda _: [*peer, command, "a.db", "/" + path_of(next(spread))], root)
    at_size.row("AgentFS ls of 100",
                lambda _: [*peer, "ls", "a.db", "/" + str(Path(path_of(next(spread))).parent)],
                root)


def measure(directory, n_files):
    """Makes files, and measures all programs on them."""
    at_size, root = Measurement(), Path(directory) / f"n{n_files}"
    (root / "files").mkdir(parents=True)
    print(f"{n_files} files", file=sys.stderr, flush=True)
    make_files(root / "files", n_files)
    measure_yfs(at_size, root, n_files)
    measure_git(at_size, root, n_files)
    measure_agentfs(at_size, root, n_files)
    shutil.rmtree(root)
    return at_size.rows


def print_table(title, sizes, columns, shown):
    """Prints a Markdown table with a column for each size."""
    print(f"\n| {title} | " + " | ".join(f"{size:,}" for size in sizes) + " |")
    print("|---|" + "---:|" * len(sizes))
    names = dict.fromkeys(name for column in columns for name in column)
    for name in names:
        cells = (shown(column[name]) if name in column else "" for column in columns)
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    directory, *sizes = sys.argv[1:]
    sizes = [int(size) for size in sizes]
    columns = [measure(directory, size) for size in sizes]
    print_table("CPU, ms", sizes, columns,
                lambda figures: f"{figures[0]:.1f}" if figures[0] < 100 else f"{figures[0]:,.0f}")
    print_table("resident, KB", sizes, columns, lambda figures: f"{figures[1]:,}")


main()
