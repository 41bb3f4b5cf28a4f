"""Twenty edits of one file at once, by threads and by processes: all are kept.

The same is counted for deepagents' own backend. Its count is printed, and not asserted.
"""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from deepagents.backends.filesystem import FilesystemBackend

import yfs
from yfs.deepagents import YfsBackend

N = 20
LINES = "".join(f"line {number}: old\n" for number in range(N))
# The server of forks has the modules, which take long to import, and has not used yfs.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["deepagents.backends.filesystem", "yfs.deepagents"])


def ours(place):
    return YfsBackend(yfs.open(place).files())


def theirs(place):
    return FilesystemBackend(root_dir=place)


def by_threads(backend):
    start = Barrier(N)

    def edit(number):
        start.wait()
        return backend.edit("/f.txt", f"line {number}: old\n", f"line {number}: new\n").error

    with ThreadPoolExecutor(N) as pool:
        return list(pool.map(edit, range(N)))


def edit_alone(opener, place, number, start, errors):
    backend = opener(place)
    start.wait()
    errors.put(backend.edit("/f.txt", f"line {number}: old\n", f"line {number}: new\n").error)


def by_processes(opener, place):
    start, errors = PROCESSES.Barrier(N), PROCESSES.Queue()
    arguments = [(opener, place, number, start, errors) for number in range(N)]
    editors = [PROCESSES.Process(target=edit_alone, args=each) for each in arguments]
    for editor in editors:
        editor.start()
    got = [errors.get(timeout=600) for _ in editors]
    for editor in editors:
        editor.join()
        assert editor.exitcode == 0
    return got


def kept(text):
    return sum(f"line {number}: new\n" in text for number in range(N))


def test_threads(ws, tmp_path, capsys):
    backend = YfsBackend(ws.files())
    assert backend.write("/f.txt", LINES).error is None
    assert by_threads(backend) == [None] * N
    assert kept(ws.files().read_text("/f.txt")) == N

    root = tmp_path / "theirs"
    theirs(root).write("/f.txt", LINES)
    by_threads(theirs(root))
    report(capsys, "threads", (root / "f.txt").read_text())


def test_processes(tmp_path, capsys):
    place = tmp_path / "workspace.db"
    with yfs.open(place) as ws:
        ws.files().write("/f.txt", LINES)
    assert by_processes(ours, place) == [None] * N
    with yfs.open(place) as ws:
        assert kept(ws.files().read_text("/f.txt")) == N

    root = tmp_path / "theirs"
    theirs(root).write("/f.txt", LINES)
    by_processes(theirs, root)
    report(capsys, "processes", (root / "f.txt").read_text())


def report(capsys, writers, text):
    with capsys.disabled():
        print(f"\n{N} edits by {N} {writers}: yfs {N}, deepagents' FilesystemBackend {kept(text)}")
