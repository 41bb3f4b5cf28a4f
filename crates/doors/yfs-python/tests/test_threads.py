"""The files of agents' threads, and large results as artifacts."""

import pytest

import yfs


def test_a_thread_has_files_with_records(ws):
    thread = ws.threads(actor="agent:planner", label="run-7").open("user-1")
    written = thread.write("/notes/plan.md", "# Plan\n", metadata={"step": 1, "tags": ["a", None]})
    assert (written.path, written.mime, written.size) == ("/notes/plan.md", "text/markdown", 7)
    assert written.metadata == {"step": 1, "tags": ["a", None]}
    assert thread.read("/notes/plan.md") == b"# Plan\n" and thread.read("/none") is None
    assert thread.stat("/none") is None
    assert thread.patch("/notes/plan.md", {"step": None, "done": True}).metadata == {
        "tags": ["a", None],
        "done": True,
    }
    assert [file.name for file in thread.list("/notes")] == ["plan.md"]
    assert thread.find("**/*.md") == ["/notes/plan.md"]
    (found,) = thread.grep("plan", ignore_case=True).files
    assert [(line.line, line.content) for line in found.matches] == [(1, "# Plan")]
    link = thread.link("/photo.jpg", "s3://photos/1", size=5, mime="image/jpeg")
    assert (link.storage, link.size) == ("s3://photos/1", 5)
    assert thread.mkdir("/empty").is_directory
    assert thread.move("/notes/plan.md", "/plan.md").path == "/plan.md"
    stats = thread.stats()
    assert (stats.id, stats.files, stats.directories, stats.bytes) == ("user-1", 2, 2, 12)
    thread.delete("/empty")
    with pytest.raises(FileNotFoundError):
        thread.delete("/empty")
    assert ws.files().exists("/threads/user-1/plan.md")
    assert ws.log("/threads", limit=1)[0].actor == "agent:planner"


def test_threads_are_listed_forked_archived_and_restored(ws):
    threads = ws.threads()
    threads.create("a").write("/f", "1")
    fork = threads.fork("a", "b")
    fork.write("/f", "2")
    assert threads.existing("a").read("/f") == b"1"
    assert threads.info("b").forked_from == "a"
    threads.archive("a")
    assert [thread.id for thread in threads.list()] == ["b"]
    assert [thread.id for thread in threads.list(archived=True)] == ["a", "b"]
    with pytest.raises(OSError):
        threads.existing("a").write("/f", "3")
    threads.unarchive("a")
    threads.delete("a")
    with pytest.raises(yfs.WorkspaceError) as raised:
        threads.existing("a")
    assert raised.value.code == "NO_THREAD"
    assert threads.restore("a").read("/f") == b"1"
    with pytest.raises(yfs.WorkspaceError) as raised:
        threads.create("a")
    assert raised.value.code == "THREAD_EXISTS"
    kept = threads.prune(older_than=86_400.0, dry_run=True)
    assert (kept.removed, kept.kept, kept.dry_run) == ([], 2, True)
    pruned = threads.prune(max_size=1.0)
    assert [thread["reason"] for thread in pruned.removed] == ["size"] and pruned.kept == 1
    with pytest.raises(ValueError):
        threads.open("../up")
    named = ws.threads(strategy="{org}/{user}").open_for({"org": "acme", "user": "ann"})
    assert named.id == "acme/ann"


def test_a_result_is_a_file_with_a_reference(ws):
    artifacts = ws.artifacts(actor="agent:planner")
    reference = artifacts.store("x" * 1000, thread="t", task="1", call="c")
    assert (reference.size, len(reference.checksum)) == (1000, 64)
    assert artifacts.resolve(reference) == b"x" * 1000
    (listed,) = artifacts.list()
    assert (listed.path, listed.size) == (artifacts.path_of(reference), 1000)
    assert abs(listed.changed - ws.files().stat(listed.path).mtime) < 1
    assert artifacts.show(listed.artifact).checksum == reference.checksum
    ws.files().write(listed.path, "other")
    assert artifacts.resolve(dict(reference)) == b"x" * 1000
    report = artifacts.clean(max_files=0, dry_run=True)
    assert ([removed.reason for removed in report.removed], report.failed) == (["files"], [])
    artifacts.delete(reference)
    assert artifacts.list() == []
    with pytest.raises(yfs.WorkspaceError) as raised:
        artifacts.resolve(reference)
    assert raised.value.code == "NO_ARTIFACT"
    with pytest.raises(ValueError):
        artifacts.resolve({"size": 1})


def test_a_closed_workspace_has_no_threads(ws):
    threads = ws.threads()
    ws.close()
    with pytest.raises(yfs.WorkspaceError) as raised:
        threads.open("a")
    assert raised.value.code == "CLOSED"
