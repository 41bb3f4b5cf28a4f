"""Commands that run in this process, over the files of a workspace or of memory."""

import errno
import threading

import pytest

import yfs


@pytest.fixture(params=["workspace", "memory"])
def files(request, ws):
    return ws.files() if request.param == "workspace" else yfs.memory_fs()


def test_a_command_works_on_the_files(files):
    assert files.can_execute
    files.write("/docs/in.txt", "b\na\n")
    ran = files.execute("cd docs; sort in.txt > out.txt; echo done; echo oops >&2; exit 4")
    assert (ran.output, ran.exit_code, ran.truncated) == ("done\noops\n", 4, False)
    assert files.read_text("/docs/out.txt") == "a\nb\n"
    ran = files.execute("cat /docs/none")
    assert ran.exit_code == 1 and "No such file" in ran.output


def test_a_command_reaches_nothing_of_the_host(files, tmp_path):
    (tmp_path / "host.txt").write_text("SECRET-OF-THE-HOST")
    for command in (
        f"cat {tmp_path}/host.txt",
        "cat /etc/passwd",
        "python3 -c 'print(1)'",
        "curl http://127.0.0.1:1/",
        "exec 3<>/dev/tcp/127.0.0.1/1",
    ):
        ran = files.execute(command)
        assert ran.exit_code != 0 and "SECRET" not in ran.output and "root:" not in ran.output
    files.execute(f"mkdir -p {tmp_path}; echo x > {tmp_path}/new.txt")
    assert not (tmp_path / "new.txt").exists()


def test_time_output_and_memory_are_limited(files):
    timeout, output = 1.0, ""
    while not output:
        with pytest.raises(TimeoutError) as caught:
            files.execute("echo begun; sleep 5000; echo late > /late", timeout=timeout)
        assert caught.value.code == "TIMED_OUT"
        output = caught.value.output
        timeout *= 2  # A machine that is busy may need more for the first command.
    assert output == "begun\n"
    assert not files.exists("/late")
    ran = files.execute("seq 1 100000; exit 0", max_output=10)
    assert (ran.output, ran.truncated) == ("1\n2\n3\n4\n5\n", True)
    ran = files.execute("x=a; while :; do x=$x$x; done", timeout=600.0)
    assert ran.exit_code != 0


def test_what_a_command_writes_has_its_actor_and_is_undone(ws):
    ws.files(actor="human:ada").write("/notes.txt", "one\ntwo\n")
    agent = ws.files(actor="agent:coder")
    command = "sed -i s/two/2/ notes.txt; echo x > new.txt"
    assert agent.execute(command).exit_code == 0
    last = ws.versions("/notes.txt")[-1]
    assert (last.actor, last.label) == ("agent:coder", command)
    ws.files(actor="human:ada").edit("/notes.txt", "one", "ONE")
    undone = ws.undo(command, actor="agent:coder")
    assert {(change.path, change.result) for change in undone} == {
        ("/notes.txt", "reverted"),
        ("/new.txt", "removed"),
    }
    assert agent.read_text("/notes.txt") == "ONE\ntwo\n" and not agent.exists("/new.txt")
    assert ws.undo(command, actor="agent:coder") == []


def test_the_commands_of_an_activity_are_undone_together(ws):
    files = ws.files(label="tidy up")
    files.execute("echo 1 > a")
    files.execute("echo 2 > b; echo 3 >> a")
    files.write("/c", "4")
    assert {version.label for version in ws.versions("/a")} == {"tidy up"}
    assert len(ws.undo("tidy up")) >= 3
    assert files.list("/") == []


def test_a_command_keeps_what_others_type_meanwhile(ws):
    files, human = ws.files(), ws.files(actor="human:ada")
    files.write("/plan", "first line\nlast line\n")
    script = """text=$(cat plan); : > ready; while [ ! -e go ]; do sleep 0.01; done
                echo "${text/last/final}" > plan"""
    ran = []
    runner = threading.Thread(target=lambda: ran.append(files.execute(script, timeout=300.0)))
    cursor = human.cursor()
    runner.start()
    while not human.exists("/ready"):
        cursor = human.changes(cursor, wait=60).next
    human.edit("/plan", "first", "very first")
    human.write("/go", "")
    runner.join()
    assert ran[0].exit_code == 0
    assert human.read_text("/plan") == "very first line\nfinal line\n"


def test_a_reader_runs_commands_that_only_read(tmp_path):
    with yfs.open(tmp_path / "w.db") as ws:
        ws.files().write("/a", "kept\n")
    with yfs.open(tmp_path / "w.db", read_only=True) as ws:
        files = ws.files()
        assert files.execute("cat a").output == "kept\n"
        assert files.execute("echo x > a").exit_code != 0
        assert files.read_text("/a") == "kept\n"


def test_a_directory_of_the_host_runs_commands_only_if_asked(tmp_path):
    files = yfs.host(tmp_path)
    assert not files.can_execute
    with pytest.raises(OSError) as caught:
        files.execute("true")
    assert caught.value.errno == errno.ENOSYS
