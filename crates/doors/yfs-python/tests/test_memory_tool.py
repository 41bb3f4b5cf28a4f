"""Anthropic's memory tool over each kind of filesystem: the words of the reference tool."""

import asyncio

import pytest
from anthropic.lib.tools import ToolError

import yfs
from yfs.memory import YfsAsyncMemoryTool, YfsMemoryTool


@pytest.fixture(params=["sync", "async"])
def tool(request, fs):
    if request.param == "sync":
        return YfsMemoryTool(fs)
    return YfsAsyncMemoryTool(fs)


def run(tool, command, **arguments):
    result = tool.call({"command": command, **arguments})
    return asyncio.run(result) if asyncio.iscoroutine(result) else result


def refused(tool, command, **arguments):
    with pytest.raises(ToolError) as caught:
        run(tool, command, **arguments)
    return str(caught.value)


NOTES = "/memories/notes.txt"


def create(tool, text, path=NOTES):
    return run(tool, "create", path=path, file_text=text)


def test_is_announced_as_the_memory_tool(tool):
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}


def test_create_and_view(tool):
    assert create(tool, "a\nb\n") == f"File created successfully at: {NOTES}"
    assert refused(tool, "create", path=NOTES, file_text="") == f"File {NOTES} already exists"
    header = f"Here's the content of {NOTES} with line numbers:\n"
    assert run(tool, "view", path=NOTES) == header + "     1\ta\n     2\tb\n     3\t"
    view = run(tool, "view", path=NOTES, view_range=[2, 2])
    assert view == header + "     2\tb"
    assert run(tool, "view", path=NOTES, view_range=[2, -1]) == header + "     2\tb\n     3\t"


def test_view_of_a_directory(tool):
    create(tool, "x" * 1536)
    create(tool, "x", "/memories/a/b/c/deep.txt")
    create(tool, "x", "/memories/.hidden")
    lines = run(tool, "view", path="/memories").split("\n")
    assert lines[0] == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden "
        "items:"
    )
    assert [line.split("\t")[1] for line in lines[1:]] == [
        "/memories",
        "/memories/a/",
        "/memories/a/b/",
        "/memories/notes.txt",
    ]
    assert lines[-1] == "1.5K\t/memories/notes.txt"


def test_str_replace(tool):
    create(tool, "1\n2\n3\n4\n5\n6\n")
    edited = run(tool, "str_replace", path=NOTES, old_str="4", new_str="four")
    assert edited == (
        "The memory file has been edited. Here is the snippet showing the change (with line "
        "numbers):\n     2\t2\n     3\t3\n     4\tfour\n     5\t5\n     6\t6"
    )
    assert refused(tool, "str_replace", path=NOTES, old_str="9", new_str="") == (
        f"No replacement was performed, old_str `9` did not appear verbatim in {NOTES}."
    )
    create(tool, "x\ny\nx\n", "/memories/two")
    assert refused(tool, "str_replace", path="/memories/two", old_str="x", new_str="") == (
        "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3. Please "
        "ensure it is unique"
    )


def test_insert(tool):
    create(tool, "1\n2\n")
    assert run(tool, "insert", path=NOTES, insert_line=1, insert_text="in\n") == (
        f"The file {NOTES} has been edited."
    )
    run(tool, "insert", path=NOTES, insert_line=0, insert_text="first")
    run(tool, "insert", path=NOTES, insert_line=4, insert_text="last")
    view = run(tool, "view", path=NOTES)
    assert [line[7:] for line in view.split("\n")[1:]] == ["first", "1", "in", "2", "last", ""]
    assert refused(tool, "insert", path=NOTES, insert_line=9, insert_text="x") == (
        "Invalid `insert_line` parameter: 9. It should be within the range [0, 5]."
    )


def test_delete_and_rename(tool):
    create(tool, "x")
    assert run(tool, "rename", old_path=NOTES, new_path="/memories/d/n") == (
        f"Successfully renamed {NOTES} to /memories/d/n"
    )
    create(tool, "y")
    assert refused(tool, "rename", old_path=NOTES, new_path="/memories/d/n") == (
        "The destination /memories/d/n already exists"
    )
    missing = refused(tool, "rename", old_path="/memories/no", new_path="/memories/x")
    assert missing == "The path /memories/no does not exist"
    assert run(tool, "delete", path="/memories/d") == "Successfully deleted /memories/d"
    gone = refused(tool, "delete", path="/memories/d")
    assert gone == "The path /memories/d does not exist"
    for command, arguments in [
        ("delete", {"path": "/memories"}),
        ("rename", {"old_path": "/memories", "new_path": "/memories/x"}),
    ]:
        error = refused(tool, command, **arguments)
        assert error == f"Cannot {command} the /memories directory itself"


@pytest.mark.parametrize("command", ["view", "str_replace", "insert"])
def test_missing_files(tool, command):
    arguments = {
        "view": {},
        "str_replace": {"old_str": "a", "new_str": "b"},
        "insert": {"insert_line": 0, "insert_text": "a"},
    }[command]
    missing = refused(tool, command, path="/memories/no", **arguments)
    assert missing == "The path /memories/no does not exist. Please provide a valid path."
    if command != "view":
        create(tool, "x", "/memories/d/f")
        error = refused(tool, command, path="/memories/d", **arguments)
        assert error == "The path /memories/d is not a file."


def test_paths_stay_below_the_root(tool, fs):
    fs.write("/secret", "s")
    fs.symlink("../secret", "/memories/link")
    assert refused(tool, "view", path="/secret") == (
        "Path must start with /memories, got: /secret"
    )
    for path in ("/memories/../secret", "/memories/a/../../secret"):
        assert refused(tool, "view", path=path) == f"Path {path} would escape /memories directory"
    assert refused(tool, "view", path="/memories/link") == (
        "Path /memories/link would escape /memories directory"
    )
    fs.symlink("notes.txt", "/memories/inside")
    create(tool, "x")
    shown = run(tool, "view", path="/memories").split("\n")[2:]
    assert shown == ["1B\t/memories/inside", f"1B\t{NOTES}"]
    assert fs.read_text("/secret") == "s"


def test_links_that_leave_the_host_directory_are_refused(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    tool = YfsMemoryTool(yfs.host(root))
    (root / "memories" / "out").symlink_to(tmp_path)
    for command, arguments in [("view", {}), ("create", {"file_text": "x"})]:
        error = refused(tool, command, path="/memories/out/x", **arguments)
        assert error == "Path /memories/out/x would escape /memories directory"
    assert run(tool, "view", path="/memories").count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_newlines_are_kept(tool, fs):
    create(tool, "a\r\nb\r\n")
    run(tool, "str_replace", path=NOTES, old_str="b", new_str="B")
    run(tool, "insert", path=NOTES, insert_line=0, insert_text="x")
    assert fs.read(NOTES) == b"x\na\r\nB\r\n"


def test_memories_are_shared_with_people(ws):
    tool, person = YfsMemoryTool(ws.files()), ws.files(actor="human:ada")
    create(tool, "likes tea\n")
    person.edit(NOTES, "tea", "green tea")
    run(tool, "insert", path=NOTES, insert_line=1, insert_text="dislikes noise")
    assert person.read_text(NOTES) == "likes green tea\ndislikes noise\n"
    assert tool.clear_all_memory() == "All memory cleared"
    assert person.list("/memories") == [] and len(ws.trash()) == 1
