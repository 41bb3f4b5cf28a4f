#!/usr/bin/env python3
"""Measures what encryption costs other programs: SQLCipher (Debian package sqlcipher) in a log of
rows, and gocryptfs (package gocryptfs; needs /dev/fuse) in a directory of small files.

CPU time in microseconds. `cargo bench -p yfs --bench encryption` measures yfs in the same way.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

N_ROWS = 20_000
N_BATCHED = 100_000
N_FILES = 10_000
KEY = "PRAGMA key = \"x'" + "11" * 32 + "'\"; PRAGMA cipher_page_size = 4096;\n"
HEAD = "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;\n"


def cpu_of(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def cpu_of_command(command, stdin):
    before = cpu_of(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=stdin.encode(), check=True, stdout=subprocess.DEVNULL)
    return cpu_of(resource.RUSAGE_CHILDREN) - before


def report(title, rows):
    print(title + ": " + ", ".join(f"{name} {value:.2f} µs" for name, value in rows))


def sqlcipher(directory, title, prefix):
    file = directory / f"{title}.db"

    def run(sql):
        return cpu_of_command(["sqlcipher", str(file)], prefix + HEAD + sql)

    run("CREATE TABLE log (seq INTEGER PRIMARY KEY AUTOINCREMENT, doc INTEGER, data BLOB);")
    empty = run("SELECT count(*) FROM log;")

    def inserts(numbers):
        return "".join(
            f"INSERT INTO log (doc, data) VALUES ({n % 1000}, randomblob(100));\n" for n in numbers
        )

    batches = "".join(
        "BEGIN;\n" + inserts(range(first, first + 100)) + "COMMIT;\n"
        for first in range(0, N_BATCHED, 100)
    )
    each = run(inserts(range(N_ROWS))) - empty
    batched = run(batches) - empty
    read = run("SELECT sum(length(data)), sum(unicode(data)) FROM log;") - empty
    report(
        f"SQLite of sqlcipher, {title}",
        [
            ("open", empty * 1e6),
            ("append 100 bytes", each / N_ROWS * 1e6),
            ("append 100 bytes, 100 in a batch", batched / N_BATCHED * 1e6),
            ("read a row", read / (N_ROWS + N_BATCHED) * 1e6),
        ],
    )


def cpu_of_process(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def small_files(directory, title, pid):
    def cpu():
        return cpu_of(resource.RUSAGE_SELF) + (cpu_of_process(pid) if pid else 0)

    content = b"Some *words* in a line.\n\n" * 40
    before = cpu()
    for n in range(N_FILES):
        parent = directory / str(n // 100)
        parent.mkdir(exist_ok=True)
        (parent / f"{n}.txt").write_bytes(content)
    written = cpu() - before
    before = cpu()
    for n in range(N_FILES):
        (directory / str(n // 100) / f"{n}.txt").read_bytes()
    read = cpu() - before
    rows = [("write a file of 1 KB", written / N_FILES * 1e6)]
    report(title, [*rows, ("read it", read / N_FILES * 1e6)])


def gocryptfs(directory):
    cipher, plain = directory / "cipher", directory / "plain"
    cipher.mkdir()
    plain.mkdir()
    words = directory / "words"
    words.write_text("words\n")
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["gocryptfs", "-init", "-q", "-passfile", words, cipher], **quiet)
    command = ["gocryptfs", "-fg", "-q", "-passfile", words, cipher, plain]
    server = subprocess.Popen(command)
    try:
        while not plain.is_mount():
            if server.poll() is not None:
                sys.exit("gocryptfs ended: is there /dev/fuse?")
        small_files(plain, "gocryptfs, with its process", server.pid)
    finally:
        subprocess.run(["fusermount3", "-u", plain], check=False)
        server.wait()


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if shutil.which("sqlcipher"):
            sqlcipher(directory, "plain", "")
            sqlcipher(directory, "encrypted", KEY)
        (directory / "files").mkdir()
        small_files(directory / "files", "plain files", None)
        if shutil.which("gocryptfs"):
            gocryptfs(directory)


if __name__ == "__main__":
    main()
