"""Calls on files, over each kind of filesystem."""

import errno

import pytest

import yfs


def test_reads_what_was_written(fs):
    written = fs.write("/docs/plan.md", "1. Listen\n2. Answer\n")
    assert (written.created, written.merged, written.size, written.overlaps) == (True, False, 20, [])
    assert fs.read("/docs/plan.md") == b"1. Listen\n2. Answer\n"
    assert fs.read_text("/docs/plan.md") == "1. Listen\n2. Answer\n"
    assert fs.read_range("/docs/plan.md", 3, 6) == b"Listen"
    content = fs.read_versioned("/docs/plan.md")
    assert (content.data, content.version) == (fs.read("/docs/plan.md"), written.version)


@pytest.mark.parametrize("data", [b"\x00\xff", bytearray(b"\x00\xff"), "ÿ 👋"])
def test_data_is_bytes_or_text(fs, data):
    fs.write("/data", data)
    assert fs.read("/data") == (data.encode() if isinstance(data, str) else bytes(data))


def test_pages_of_lines(fs):
    fs.write("/log", "a\nb\nc\n")
    page = fs.read_lines("/log", 1, 1)
    assert (page.lines, page.next, page.total) == (["b"], 2, 3)


def test_edits(fs):
    fs.write("/a", "one two two")
    assert fs.edit("/a", "one", "1").replaced == 1
    assert fs.edit("/a", "two", "2", all=True).replaced == 2
    assert fs.append("/a", "!").size == 6
    assert fs.read_text("/a") == "1 2 2!"


@pytest.mark.parametrize(
    ("old", "reason", "n_found", "lines"),
    [("", "empty", 0, []), ("z", "not_found", 0, []), ("two", "ambiguous", 2, [1, 2])],
)
def test_refused_edits_say_why(fs, old, reason, n_found, lines):
    fs.write("/a", "two\ntwo\n")
    with pytest.raises(yfs.EditRefusedError) as caught:
        fs.edit("/a", old, "x")
    error = caught.value
    assert (error.reason, error.n_found, error.lines) == (reason, n_found, lines)
    assert (error.errno, error.filename) == (errno.EINVAL, "/a")
    assert fs.read_text("/a") == "two\ntwo\n"


def test_trees(fs):
    fs.mkdirs("/a/b")
    fs.write("/a/b/x.py", "import os\n")
    fs.write("/a/y.md", "os\n")
    assert [entry.path for entry in fs.list("/a")] == ["/a/b", "/a/y.md"]
    assert [entry.path for entry in fs.walk()] == ["/a", "/a/b", "/a/b/x.py", "/a/y.md"]
    assert [entry.path for entry in fs.walk(max_depth=1)] == ["/a"]
    assert fs.totals() == {"files": 2, "directories": 2, "bytes": 13}
    assert [entry.path for entry in fs.glob("*.py").entries] == ["/a/b/x.py"]
    found = fs.grep(r"^import|^os", "/a", include=["*.py"])
    assert [(file.path, line.line, line.text) for file in found.files for line in file.lines] == [
        ("/a/b/x.py", 1, "import os")
    ]
    fs.copy("/a", "/c", recursive=True)
    fs.move("/c/b", "/d")
    assert fs.exists("/d/x.py") and not fs.exists("/c/b")
    fs.remove("/a", recursive=True)
    assert [entry.path for entry in fs.list()] == ["/c", "/d"]


def test_links(fs):
    fs.write("/a", "x")
    fs.symlink("a", "/l")
    assert (fs.readlink("/l"), fs.realpath("/l"), fs.read("/l")) == ("a", "/a", b"x")
    assert (fs.lstat("/l").kind, fs.stat("/l").kind) == ("symlink", "file")


@pytest.mark.parametrize(
    ("call", "kind", "number"),
    [
        (lambda fs: fs.read("/none"), FileNotFoundError, errno.ENOENT),
        (lambda fs: fs.read("/dir"), IsADirectoryError, errno.EISDIR),
        (lambda fs: fs.list("/file"), NotADirectoryError, errno.ENOTDIR),
        (lambda fs: fs.write("/file", "", create="new"), FileExistsError, errno.EEXIST),
        (lambda fs: fs.write("/none", "", create="never"), FileNotFoundError, errno.ENOENT),
        (lambda fs: fs.remove("/dir"), OSError, errno.ENOTEMPTY),
        (lambda fs: fs.remove("/"), OSError, errno.EBUSY),
        (lambda fs: fs.move("/dir", "/dir/in"), OSError, errno.EINVAL),
        (lambda fs: fs.write("/file", "", expected_version="0"), OSError, errno.ESTALE),
        (lambda fs: fs.stat("/" + "n" * 300), OSError, errno.ENAMETOOLONG),
        (lambda fs: fs.read("/loop"), OSError, errno.ELOOP),
        (lambda fs: fs.glob("["), OSError, errno.EINVAL),
    ],
)
def test_errors_have_the_class_and_the_number_of_the_system(fs, call, kind, number):
    fs.write("/file", "text")
    fs.write("/dir/file", "text")
    fs.symlink("loop", "/loop")
    with pytest.raises(OSError) as caught:
        call(fs)
    assert type(caught.value) is kind and caught.value.errno == number
    assert fs.read("/file") == b"text"


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda fs: fs.write("/a", 1), TypeError),
        (lambda fs: fs.write("/a", "\ud800"), UnicodeEncodeError),
        (lambda fs: fs.write("/a", "", create="perhaps"), ValueError),
        (lambda fs: fs.write("/a", "", base="", base_version="1"), TypeError),
        (lambda fs: fs.grep("a", timeout=-1.0), ValueError),
        (lambda fs: fs.grep("a", timeout=float("nan")), ValueError),
        (lambda fs: fs.read_range("/a", -1, 1), OverflowError),
    ],
)
def test_bad_arguments(fs, call, kind):
    with pytest.raises(kind):
        call(fs)
    assert not fs.exists("/a")


def test_bytes_are_not_text(fs):
    fs.write("/a", b"\xff")
    with pytest.raises(UnicodeDecodeError):
        fs.read_text("/a")
    with pytest.raises(yfs.EditRefusedError) as caught:
        fs.edit("/a", "x", "y")
    assert caught.value.reason == "not_text"


def test_values_show_themselves(fs):
    fs.write("/a", "x")
    assert repr(fs.edit("/a", "x", "y")) == (
        "EditOutcome(path='/a', replaced=1, merged=True)"
    )
    assert repr(fs.stat("/a")).startswith("Stat(path='/a', id='")
    assert fs.totals() == fs.totals()


def test_the_stubs_have_each_method():
    import ast
    import pathlib

    stubs = ast.parse((pathlib.Path(yfs.__file__).parent / "_native.pyi").read_text())
    classes = {node.name: node for node in stubs.body if isinstance(node, ast.ClassDef)}
    for name in ("FileSystem", "Workspace"):
        stubbed = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)}
        public = {method for method in dir(getattr(yfs, name)) if not method.startswith("_")}
        assert {method for method in stubbed if not method.startswith("_")} == public
    assert set(classes) <= set(yfs.__all__)
