"""`YfsBackend` under deepagents: its results, and its own middleware's tools over it."""

import asyncio
import base64
import inspect
from unittest.mock import Mock

import pytest
from deepagents.backends.composite import CompositeBackend
from deepagents.backends.protocol import BackendProtocol, SandboxBackendProtocol
from deepagents.middleware.filesystem import FilesystemMiddleware, FilesystemPermission
from langchain.tools import ToolRuntime

import yfs
from yfs.deepagents import YfsBackend, YfsSandbox


@pytest.fixture
def backend(fs):
    return YfsBackend(fs)


def content_of(result):
    assert result.error is None
    return result.file_data["content"]


def test_each_method_of_the_protocol_is_ours():
    for name, method in inspect.getmembers(BackendProtocol, inspect.isfunction):
        if not name.startswith("_") and not inspect.iscoroutinefunction(method):
            assert getattr(YfsBackend, name) is not method, name


def test_writes_replace_and_can_be_create_only(backend):
    assert backend.write("/a/b.txt", "one").path == "/a/b.txt"
    assert backend.write("/a/b.txt", "two").error is None
    strict = YfsBackend(backend.files, create_only=True)
    assert "already exists" in strict.write("/a/b.txt", "three").error
    assert content_of(backend.read("/a/b.txt")) == "two"


def test_pages(backend):
    backend.write("/l", "1\n2\n3\n")
    page = backend.read("/l", 1, 1)
    assert (content_of(page), page.start_line, page.end_line, page.next_offset) == ("2\n", 2, 2, 2)
    page = backend.read("/l", -5, 10)
    assert (content_of(page), page.total_lines, page.next_offset) == ("1\n2\n3\n", 3, None)
    assert backend.read("/l", 0, 0).no_lines_requested
    assert backend.read("/l", 9).error == "Line offset 9 exceeds file length (3 lines)"
    assert backend.read("/none").error == "File '/none' not found"
    backend.write("/e", "")
    assert content_of(backend.read("/e")) == "System reminder: File exists but has empty contents"


def test_pages_joined_are_the_file(backend):
    text = "a\n\nb\r\nc\vd\f\u2028e\nlast"
    backend.write("/l", text)
    pages, offset = [], 0
    while offset is not None:
        page = backend.read("/l", offset, 1)
        pages.append(content_of(page))
        offset = page.next_offset
    assert "".join(pages) == text.replace("\r\n", "\n")


def test_what_is_not_text_is_base64(backend):
    backend.upload_files([("/i.png", b"\x89PNG"), ("/x.txt", b"\xff")])
    for path, data in [("/i.png", b"\x89PNG"), ("/x.txt", b"\xff")]:
        result = backend.read(path)
        assert result.file_data["encoding"] == "base64"
        assert base64.b64decode(content_of(result)) == data


@pytest.mark.parametrize(
    ("text", "old", "error"),
    [
        ("a a", "a", "Error: String 'a' appears 2 times in file. Use replace_all=True"),
        ("a", "z", "Error: String not found in file: 'z'"),
        ("a", "", "Error: old_string cannot be empty."),
        ("a", "a\n", "Error: old_string ends with a newline, but the file does not end with"),
        ("a a", "a\n", "With the trailing newline removed, old_string would appear 2 times"),
    ],
)
def test_refused_edits(backend, text, old, error):
    backend.write("/a", text)
    result = backend.edit("/a", old, "x")
    assert error in result.error and result.occurrences is None
    assert content_of(backend.read("/a")) == text


def test_an_edit_keeps_the_newlines_of_the_file(backend):
    backend.upload_files([("/crlf", b"a\r\nb\r\nc\r\n")])
    assert backend.edit("/crlf", "a\nb\n", "A\nB\n").occurrences == 1
    assert backend.download_files(["/crlf"])[0].content == b"A\r\nB\r\nc\r\n"


def test_listings(backend):
    backend.write("/d/a.py", "x = 1\n")
    backend.write("/d/.h/b.py", "x = 2\n")
    assert [entry["path"] for entry in backend.ls("/d").entries] == ["/d/.h/", "/d/a.py"]
    assert backend.ls("/n").error == "Path '/n': path_not_found"
    assert backend.ls("/d/a.py").error == "Path '/d/a.py': not_a_directory"
    assert backend.grep("x = ", "/d").matches == [
        {"path": "/d/.h/b.py", "line": 1, "text": "x = 2"},
        {"path": "/d/a.py", "line": 1, "text": "x = 1"},
    ]
    assert [match["path"] for match in backend.grep("x", glob="/d/*.py").matches] == ["/d/a.py"]
    cut = backend.grep("x", max_count=1)
    assert (len(cut.matches), cut.truncated) == (1, True)
    assert not backend.grep("x", max_count=2).truncated
    assert backend.grep("[", "/none").matches == []


TREE = "a.py sub/b.py sub/nested/c.py readme.md .hidden.py .hidden/x.py .github/ci.yml"
ANY_DEPTH = "a.py sub/b.py sub/nested/c.py .hidden/x.py"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ANY_DEPTH),
        ("**/*.py", "a.py sub/b.py sub/nested/c.py"),
        ("/*.py", "a.py"),
        ("sub/*.py", "sub/b.py"),
        ("sub/**/*.py", "sub/b.py sub/nested/c.py"),
        ("*.yml", ".github/ci.yml"),
        ("**/*.yml", ""),
        (".github/**", ".github/ci.yml"),
        (".*.py", ".hidden.py"),
        ("*.{py,md}", ANY_DEPTH + " readme.md"),
        ("[ab].py", "a.py sub/b.py"),
        ("[!a].py", "sub/b.py sub/nested/c.py .hidden/x.py"),
        ("[^a].py", "sub/b.py sub/nested/c.py .hidden/x.py"),
        ("sub", ""),
    ],
)
def test_globs(backend, pattern, found):
    for path in TREE.split():
        backend.write(f"/{path}", "x")
    result = backend.glob(pattern)
    assert {match["path"] for match in result.matches} == {f"/{path}" for path in found.split()}
    assert not result.truncated


@pytest.mark.parametrize("pattern", ["../*.py", "{a,}" * 18])
def test_refused_globs(backend, pattern):
    result = backend.glob(pattern)
    assert result.error and result.matches is None


def test_deletes(backend):
    backend.write("/d/e/f", "x")
    assert backend.delete("/d").path == "/d"
    assert backend.delete("/d").error == "Error: '/d' not found"
    assert backend.delete("/").error


def test_transfers_report_each_file(backend):
    backend.write("/dir/f", "x")
    up = backend.upload_files([("/u", b"\x00"), ("relative", b""), ("/dir", b"")])
    assert [response.error for response in up] == [None, "invalid_path", "is_directory"]
    down = backend.download_files(["/u", "/none", "/dir", "relative"])
    assert [response.content for response in down] == [b"\x00", None, None, None]
    assert [response.error for response in down] == [
        None,
        "file_not_found",
        "is_directory",
        "invalid_path",
    ]


def test_paths_through_links_are_refused(backend):
    """deepagents checks permissions against the path as given."""
    backend.write("/secret/key", "k")
    backend.files.symlink("/secret" if backend.files.merges else "secret", "/open")
    for result in (
        backend.read("/open/key"),
        backend.write("/open/key", "x"),
        backend.write("/open/new/key", "x"),
        backend.edit("/open/key", "k", "x"),
        backend.delete("/open/key"),
        backend.ls("/open"),
    ):
        assert "symbolic link" in result.error
    assert backend.files.read_text("/secret/key") == "k"
    assert YfsBackend(backend.files, follow_links=True).files.exists("/open/key")
    assert backend.delete("/open").error is None


def test_errors_are_results(backend):
    for path in ("/n\0", "/../x", "rel", "/" + "n" * 300, "/ok/\ud800"):
        assert backend.read(path).error
        assert backend.write(path, "x").error
        assert backend.edit(path, "a", "b").error
        assert backend.delete(path).error
    assert backend.write("/a", "\ud800").error
    assert not backend.files.exists("/a")


def test_async_twins(backend):
    async def use():
        await backend.awrite("/a", "one")
        await backend.aedit("/a", "one", "two")
        return await backend.aread("/a"), await backend.als("/"), await backend.agrep("two")

    read, listed, found = asyncio.run(use())
    assert (content_of(read), len(listed.entries), len(found.matches)) == ("two", 1, 1)


def test_stale_writes_keep_the_words_of_a_person(ws):
    backend, person = YfsBackend(ws.files()), ws.files(actor="human:ada")
    backend.write("/plan", "a\nb\nc\n")
    backend.read("/plan")
    person.edit("/plan", "a", "a, said Ada")
    assert backend.write("/plan", "a\nb\nc, said the agent\n").error is None
    assert person.read_text("/plan") == "a, said Ada\nb\nc, said the agent\n"


# The tools of deepagents' own middleware, called without a model.


def tools_over(backend, **options):
    middleware = FilesystemMiddleware(backend=backend, **options)
    return {tool.name: tool for tool in middleware.tools}


def call(tool, **arguments):
    runtime = ToolRuntime(
        state={"messages": [], "files": {}},
        context=None,
        config={},
        stream_writer=Mock(),
        tool_call_id="call-1",
        store=None,
    )
    reply = tool.invoke({**arguments, "runtime": runtime})
    return getattr(reply, "content", reply)


def test_the_tools_of_the_middleware(backend):
    tools = tools_over(backend)
    assert call(tools["write_file"], file_path="/a.txt", content="one\ntwo\n") == (
        "Updated file /a.txt"
    )
    read = call(tools["read_file"], file_path="/a.txt")
    assert "one\ntwo" in str(read)
    assert call(
        tools["edit_file"], file_path="/a.txt", old_string="one", new_string="1"
    ) == "Successfully replaced 1 instance(s) of the string in '/a.txt'"
    assert "/a.txt" in str(call(tools["ls"], path="/"))
    assert "/a.txt" in str(call(tools["glob"], pattern="*.txt"))
    assert "/a.txt" in str(call(tools["grep"], pattern="two"))
    assert call(tools["delete"], file_path="/a.txt") == "Deleted /a.txt"
    assert call(tools["glob"], pattern="*.txt") == "No files found"


def test_permissions_of_the_middleware(backend):
    backend.write("/secret/key", "k")
    rule = FilesystemPermission(operations=["read", "write"], paths=["/secret/**"], mode="deny")
    tools = tools_over(backend, _permissions=[rule])
    assert "permission denied" in str(call(tools["read_file"], file_path="/secret/key"))
    assert "key" not in str(call(tools["glob"], pattern="**/key"))
    assert "permission denied" in str(call(tools["delete"], file_path="/secret"))


def test_below_a_composite(fs):
    notes = yfs.memory_fs()
    both = CompositeBackend(default=YfsBackend(fs), routes={"/memories/": YfsBackend(notes)})
    both.write("/memories/a.md", "remember")
    both.write("/b.md", "remember")
    assert notes.read_text("/a.md") == "remember"
    assert {match["path"] for match in both.grep("remember").matches} == {"/memories/a.md", "/b.md"}
    assert "/memories/" in [entry["path"] for entry in both.ls("/").entries]


def test_a_sandbox_runs_commands(tmp_path):
    sandbox = YfsSandbox(yfs.host(tmp_path, shell=True))
    assert isinstance(sandbox, SandboxBackendProtocol) and sandbox.id == sandbox.id
    ran = sandbox.execute("echo out; echo err >&2; echo x > f; exit 3")
    assert (ran.output, ran.exit_code, ran.truncated) == ("out\nerr\n", 3, False)
    assert content_of(sandbox.read("/f")) == "x\n"
    assert "timed out" in sandbox.execute("exec sleep 600", timeout=1).output
    assert sandbox.execute("").exit_code == 1
    with pytest.raises(ValueError):
        YfsSandbox(yfs.host(tmp_path))


@pytest.mark.parametrize("kind", ["workspace", "memory"])
def test_a_sandbox_without_a_host(kind, ws):
    sandbox = YfsSandbox(ws.files() if kind == "workspace" else yfs.memory_fs())
    assert isinstance(sandbox, SandboxBackendProtocol)
    sandbox.write("/in.txt", "b\na\n")
    ran = sandbox.execute("sort in.txt | tee out.txt; echo err >&2; exit 3")
    assert (ran.output, ran.exit_code, ran.truncated) == ("a\nb\nerr\n", 3, False)
    assert content_of(sandbox.read("/out.txt")) == "a\nb\n"
    ran = sandbox.execute("while :; do :; done", timeout=1)
    assert ran.exit_code != 0
    assert sandbox.execute("ls /etc; cat /proc/self/environ").exit_code != 0
