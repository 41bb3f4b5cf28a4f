"""Statistics and contexts: what files contain, without reading them whole."""

import pytest

import yfs

FILES = {
    "/data/gauges.csv": "gauge,place,since\nG1,pier,2019\nG2,harbor,2021\n",
    "/data/api.json": '{"items": [1, 2], "n": 2}',
    "/notes/plan.md": "# Plan\n\nMeasure the tide.\n",
    "/.hidden.txt": "dots\n",
}


@pytest.fixture
def filled(fs):
    for path, content in FILES.items():
        fs.write(path, content, parents=True)
    return fs


def test_statistics_say_what_a_file_contains(filled):
    found = filled.stats("/data/gauges.csv", preview=20)
    assert found["mime"] == "text/csv" and found["size"] == len(FILES["/data/gauges.csv"])
    assert found["stats"]["Csv"]["rows"] == 2
    assert found["stats"]["Csv"]["headers"] == ["gauge", "place", "since"]
    assert found["description"].startswith("CSV: 2 rows")
    assert found["preview"].startswith("gauge,place")
    assert filled.stats("/notes/plan.md")["preview"] is None
    assert filled.stats("/data/api.json")["stats"]["Json"]["top_level_keys"] == ["items", "n"]
    filled.write("/data/gauges.csv", FILES["/data/gauges.csv"] + "G3,mole,2024\n")
    assert filled.stats("/data/gauges.csv")["stats"]["Csv"]["rows"] == 3
    with pytest.raises(FileNotFoundError):
        filled.stats("/none")
    with pytest.raises(IsADirectoryError):
        filled.stats("/data")


def test_contexts_have_globs_and_a_budget(filled):
    whole = filled.context()
    assert (whole["files"], whole["listed"]) == (3, 3)
    assert "Measure the tide" in whole["text"] and "dots" not in whole["text"]
    assert filled.context(hidden=True)["files"] == 4
    assert filled.context(include=["*.md"])["files"] == 1
    assert filled.context(["/data", "/notes"], exclude=["*.csv"])["files"] == 2
    plain = filled.context(max_tokens=40)
    assert plain["tokens"] <= 40 and (plain["listed"], plain["previewed"]) == (3, 0)
    small = filled.context(max_tokens=20)
    assert small["listed"] < 3 and "more files" in small["text"]
    assert filled.context() == whole
    with pytest.raises(FileNotFoundError):
        filled.context(["/none"])
    with pytest.raises(OSError):
        filled.context(include=["{a"])


def test_statistics_are_no_base_of_a_write(ws):
    fs, other = ws.files(), ws.files(actor="human:ada")
    other.write("/plan", "a\nb\n")
    fs.stats("/plan", preview=100)
    other.edit("/plan", "a", "A")
    fs.write("/plan", "a\nB\n")
    assert other.read_text("/plan") == "a\nB\n"


def test_a_closed_workspace_describes_nothing(tmp_path):
    ws = yfs.open(tmp_path / "workspace.db")
    fs = ws.files()
    ws.close()
    for call in (lambda: fs.stats("/a"), lambda: fs.context()):
        with pytest.raises(yfs.WorkspaceError):
            call()
