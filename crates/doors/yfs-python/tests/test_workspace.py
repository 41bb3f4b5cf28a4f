"""What only a workspace has: merging, history, changes, and its lifetime."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest

import yfs


def test_a_write_keeps_what_others_wrote_since_it_was_read(ws):
    agent, human = ws.files(), ws.files(actor="human:ada")
    agent.write("/plan", "a\nb\nc\n")
    agent.read("/plan")
    human.edit("/plan", "a", "A")
    written = agent.write("/plan", "a\nb\nC\n")
    assert (written.merged, written.version, written.overlaps) == (True, None, [])
    assert agent.read_text("/plan") == "A\nb\nC\n"


@pytest.mark.parametrize("by", ["base", "base_version"])
def test_a_write_names_its_base(ws, by):
    fs, other = ws.files(), ws.files(actor="human:ada")
    version = fs.write("/plan", "a\nb\n").version
    other.edit("/plan", "a", "A")
    base = {"base": "a\nb\n"} if by == "base" else {"base_version": version}
    ws.files().write("/plan", "a\nB\n", **base)
    assert fs.read_text("/plan") == "A\nB\n"


def test_overlaps_are_reported(ws):
    agent, human = ws.files(), ws.files(actor="human:ada")
    agent.write("/plan", "We meet on Monday.\n")
    agent.read("/plan")
    human.write("/plan", "We meet on Tuesday.\n", base="We meet on Monday.\n")
    written = agent.write("/plan", "We meet on Friday.\n")
    (overlap,) = written.overlaps
    text = agent.read("/plan")
    assert written.merged and overlap.length > 0
    assert b"Tuesday" in text and b"Friday" in text


def test_changes_since_a_cursor(ws):
    fs, other = ws.files(), ws.files(actor="human:ada")
    cursor = fs.cursor()
    assert fs.changes(cursor).changes == []
    other.write("/a", "x")
    other.move("/a", "/b")
    page = fs.changes(cursor, wait=60)
    assert [(change.path, change.actor) for change in page.changes][-1] == ("/b", "human:ada")
    assert fs.changes(page.next).changes == []
    with pytest.raises(OSError):
        fs.changes("nonsense")


def test_versions_and_trash(ws):
    fs = ws.files(label="first")
    fs.write("/a", "one")
    ws.files(label="second").edit("/a", "one", "two")
    versions = ws.versions("/a")
    assert [(version.number, version.label) for version in versions][:2] == [
        (1, "first"),
        (2, "second"),
    ]
    assert ws.version_content("/a", 1) == b"one"
    ws.restore_version("/a", 1)
    assert fs.read_text("/a") == "one"
    fs.remove("/a")
    (entry,) = ws.trash()
    assert (entry.original, entry.trashed_by) == ("/a", "agent:tester")
    assert ws.restore(entry.id, "/b") == "/b"
    assert fs.read_text("/b") == "one"


def test_an_undo_names_the_label_that_has_nothing_to_undo(ws):
    agent = ws.files(actor="agent:planner", label="run-7")
    agent.write("/a", "one\ntwo\n")
    agent.edit("/a", "one", "1")
    agent.edit("/a", "two", "2")
    for label, code, words in [
        ("nope", "NO_LABEL", "nope"),
        ("run-7", "OTHER_ACTORS", "agent:planner"),
    ]:
        with pytest.raises(yfs.WorkspaceError, match=words) as caught:
            ws.undo(label)
        assert caught.value.code == code
    assert agent.read_text("/a") == "1\n2\n"
    (undone,) = ws.undo("run-7", actor="agent:planner")
    assert (undone.path, undone.result, undone.kept_others) == ("/a", "removed", False)
    assert ws.undo("run-7", actor="agent:planner") == []


def test_a_closed_workspace_says_so(tmp_path):
    ws = yfs.open(tmp_path / "w.db")
    fs = ws.files()
    fs.write("/a", "kept")
    ws.close()
    ws.close()
    with pytest.raises(yfs.WorkspaceError) as caught:
        fs.read("/a")
    assert caught.value.code == "CLOSED"
    with yfs.open(tmp_path / "w.db", create=False, read_only=True) as again:
        assert again.files().read_text("/a") == "kept"
        with pytest.raises(OSError):
            again.files().write("/a", "x")


def test_a_missing_workspace_is_not_created_unasked(tmp_path):
    with pytest.raises((yfs.WorkspaceError, OSError)):
        yfs.open(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(ValueError):
        yfs.open(tmp_path / "none.db", actor="robot:r2")


def test_a_directory_has_its_workspace_inside(tmp_path):
    with yfs.open(tmp_path) as ws:
        ws.files().write("/a", "x")
    assert (tmp_path / ".yfs" / "workspace.db").exists()


def test_other_threads_run_during_a_call(ws):
    """A call that waits does not hold the interpreter lock."""
    fs, got = ws.files(), []
    cursor = fs.cursor()
    waiter = threading.Thread(target=lambda: got.append(fs.changes(cursor, wait=600)))
    waiter.start()
    fs.write("/a", "x")
    waiter.join()
    assert [change.path for change in got[0].changes] == ["/a"]


def test_a_forked_child_gets_errors_and_leaves_the_workspace_alone(ws):
    fs = ws.files()
    fs.write("/a", "x")
    child = os.fork()
    if child == 0:
        n_refused = 0
        for call in (lambda: fs.read("/a"), lambda: yfs.open(":memory:"), yfs.memory_fs):
            try:
                call()
            except RuntimeError:
                n_refused += 1
        del fs
        os._exit(0 if n_refused == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    fs.write("/a", "y")
    assert fs.read_text("/a") == "y"


def test_an_interpreter_ends_with_calls_in_flight(tmp_path):
    script = textwrap.dedent(
        """
        import sys, threading, yfs
        fs = yfs.open(sys.argv[1]).files()
        fs.write("/a", "x" * 100_000)
        ready = threading.Barrier(9)

        def run(call):
            call()
            ready.wait()
            while True:
                call()

        calls = [lambda: fs.read("/a"), lambda: fs.grep("y"), lambda: fs.write("/b", "x"),
                 lambda: fs.changes(fs.cursor(), wait=0.3)]
        for call in calls * 2:
            threading.Thread(target=run, args=(call,), daemon=True).start()
        ready.wait()
        """
    )
    for turn in range(3):
        arguments = [sys.executable, "-c", script, str(tmp_path / f"w{turn}.db")]
        ran = subprocess.run(arguments, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")


def test_the_error_of_a_workspace_has_one_name():
    assert yfs.WorkspaceError.__name__ == "WorkspaceError"
    assert yfs.WorkspaceError.__qualname__ == "WorkspaceError"
