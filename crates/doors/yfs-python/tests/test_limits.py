"""Files with rules, allowed directories, reading only and records; queries of files."""

import errno

import pytest

import yfs

DENY_SECRET = [
    {"operations": ["read", "write"], "paths": ["/secret", "/secret/**"], "mode": "deny"}
]


@pytest.fixture
def shared(ws):
    owner = ws.files(actor="human:ada")
    owner.write("/secret/key", "hunter2\n")
    owner.write("/docs/plan", "a\nb\nc\n")
    return ws


def test_rules_bind_calls_searches_and_commands(shared):
    agent = shared.files(actor="agent:bob", rules=DENY_SECRET)
    with pytest.raises(PermissionError):
        agent.read("/secret/key")
    with pytest.raises(PermissionError):
        agent.write("/secret/new", "x")
    assert [entry.name for entry in agent.list("/")] == ["docs"]
    assert agent.grep("hunter2").files == []
    for command in [
        "cat /secret/key",
        "cp -r /secret /copy",
        "mv /secret /docs/s",
        "ln -s /secret /l; cat /l/key",
    ]:
        ran = agent.execute(command)
        assert ran.exit_code != 0 and "hunter2" not in ran.output, command
    assert agent.execute("cat /docs/plan").output == "a\nb\nc\n"
    # Below the rules nothing was moved.
    assert shared.files().read_text("/secret/key") == "hunter2\n"


def test_files_with_rules_merge(shared):
    agent, human = shared.files(actor="agent:bob", rules=DENY_SECRET), shared.files()
    agent.read("/docs/plan")
    human.edit("/docs/plan", "a", "A")
    assert agent.merges
    assert agent.write("/docs/plan", "a\nb\nC\n").merged
    assert human.read_text("/docs/plan") == "A\nb\nC\n"
    # The agent wrote again what it knows: the person's change stays.
    agent.write("/docs/plan", "a\nB\nC\n")
    assert human.read_text("/docs/plan") == "A\nB\nC\n"


def test_allowed_directories_and_reading_only(shared):
    agent = shared.files(allow=["/docs"])
    assert [entry.name for entry in agent.list("/")] == ["docs"]
    with pytest.raises(PermissionError, match="allowed is only /docs"):
        agent.read("/secret/key")
    reader = shared.files(read_only=True)
    assert reader.read_text("/docs/plan") == "a\nb\nc\n"
    with pytest.raises(OSError):
        reader.write("/docs/plan", "x")
    assert shared.files().read_text("/docs/plan") == "a\nb\nc\n"


def test_rules_that_are_none_are_refused(shared):
    flies = {"operations": ["fly"], "paths": ["/"]}
    relative = {"operations": ["read"], "paths": ["docs"]}
    for bad in [[{}], [flies], "deny", [relative]]:
        with pytest.raises(ValueError):
            shared.files(rules=bad)


def test_changes_are_recorded(shared):
    agent = shared.files(actor="agent:bob", label="run-7", audit=True)
    agent.write("/docs/new", "x")
    agent.execute("rm /docs/plan")
    found = shared.audit(session="run-7")
    records = found["records"]
    assert found["damaged"] == 0
    assert {record["actor"] for record in records} == {"agent:bob"}
    paths = [file["path"] for record in records for file in record["files"]]
    assert "/docs/new" in paths and "/docs/plan" in paths
    assert shared.audit(session="run-8")["records"] == []
    assert shared.audit(path="/docs/new", limit=1)["records"][0]["outcome"] == {"result": "done"}
    with yfs.open(":memory:") as memory, pytest.raises(ValueError):
        memory.files(audit=True)


def test_queries(fs):
    fs.write("/gauges.csv", "place,level\npier,3\nlock,4\n")
    found = fs.query("/gauges.csv", "select(.level > 3) | .place")
    assert found == {"results": ["lock"], "truncated": False}
    found = fs.query("/gauges.csv", "SELECT sum(level) AS n FROM data", dialect="sql")
    assert found["results"] == [{"n": 7}]
    with pytest.raises(yfs.WorkspaceError) as caught:
        fs.query("/gauges.csv", ".[")
    assert caught.value.code == "QUERY"
    with pytest.raises(yfs.WorkspaceError) as caught:
        fs.query("/gauges.csv", "last(range(1e12))", cpu_time=1)
    assert caught.value.code == "QUERY_LIMIT"
    with pytest.raises(ValueError):
        fs.query("/gauges.csv", ".", dialect="cobol")
    with pytest.raises(FileNotFoundError):
        fs.query("/none.json", ".")


def test_a_quota_counts_the_files_of_all(ws):
    ws.files().write("/theirs", "12345")
    agent = ws.files(max_bytes=10, max_files=2)
    agent.write("/a", "12345")
    with pytest.raises(OSError, match="the quota of 10 bytes in 2 files would be exceeded") as raised:
        agent.append("/a", "6")
    assert raised.value.errno == errno.ENOSPC
    agent.write("/a", "1")
    with pytest.raises(OSError):
        agent.write("/b", "")
    assert agent.execute("echo > c").exit_code != 0
    assert [entry.path for entry in ws.files().list()] == ["/a", "/theirs"]
