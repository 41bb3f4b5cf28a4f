"""What a workspace remembers, and its upkeep: each call, on a workspace with some history."""

import copy
import json
import pickle
import time

import pytest

import yfs
from yfs import records


@pytest.fixture
def written(ws):
    files = ws.files(label="first")
    files.write("/a.txt", "one\ntwo\n")
    ws.files(actor="human:ada", label="second").edit("/a.txt", "two", "three")
    return ws


def test_versions_have_names_and_times(written):
    written.name_version("/a.txt", "good")
    found = written.find_version("/a.txt", name="good")
    assert (found.number, found.names, found.current) == (2, ["good"], True)
    assert abs(found.at - time.time()) < 3600
    assert written.find_version("/a.txt", at=found.at + 10).number == 2
    assert written.find_version("/a.txt", at=1.0) is None
    assert written.unname_version("/a.txt", "good") and not written.unname_version("/a.txt", "good")
    with pytest.raises(ValueError):
        written.find_version("/a.txt")


def test_lines_and_changes_have_authors(written):
    lines = written.blame("/a.txt")
    assert [(line.line, line.text, line.actor) for line in lines] == [
        (1, "one", "agent:tester"),
        (2, "three", "human:ada"),
    ]
    assert lines[1].shares[0].label == "second"
    written.files().move("/a.txt", "/b.txt")
    changes = written.log()
    assert [(change.change, change.path, change.actor) for change in changes] == [
        ("renamed", "/b.txt", "agent:tester"),
        ("edited", "/b.txt", "human:ada"),
        ("created", "/b.txt", "agent:tester"),
    ]
    assert (changes[0].from_, changes[0]["from"]) == ("/a.txt", "/a.txt")
    assert written.log("/b.txt", limit=1) == changes[:1]


def test_an_anchor_stays_with_its_text(written):
    anchor = written.anchor("/a.txt", line=2)
    written.files().edit("/a.txt", "one", "zero\none")
    found = written.resolve_anchor(anchor)
    assert (found.path, found.line, found.offset, found.exact) == ("/a.txt", 3, 9, True)
    with pytest.raises(ValueError):
        written.anchor("/a.txt")


def test_the_trash_is_emptied_of_what_was_marked(written):
    files = written.files()
    files.write("/b.txt", "x")
    files.remove("/a.txt")
    files.remove("/b.txt")
    first, second = written.trash()
    assert written.expire(0.0).rows == 0
    assert written.purge([first.id]) == 1
    assert written.expire(86_400.0).rows == 0
    assert written.expire(0.0).rows == 1
    assert [entry.id for entry in written.trash()] == [second.id]


def test_erased_text_is_gone_from_every_version(written):
    assert "two" in "".join(written.redactable("/a.txt").pieces)
    written.redact("/a.txt", reason="a secret")
    (erased,) = written.redactions("/a.txt")
    assert (erased.actor, erased.reason) == ("agent:tester", "a secret")
    assert written.files().read_text("/a.txt") == "one\nthree\n"


def test_directories_come_and_go(written, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/c.txt").write_text("c\n")
    imported = written.import_(tmp_path / "in", "/dir")
    assert (imported.created, imported.skipped) == (1, [])
    exported = written.export("/", tmp_path / "out")
    assert exported.written == 2
    assert (tmp_path / "out/dir/c.txt").read_text() == "c\n"
    other = yfs.open(":memory:")
    written.move_to("/dir", other, "/moved")
    assert other.files().read_text("/moved/c.txt") == "c\n"
    assert not written.files().exists("/dir")


def test_upkeep_reports_what_there_is(written):
    written.compact()
    stats = written.stats()
    assert (stats.files, stats.directories, stats.trashed) == (1, 0, 0)
    assert stats.id == written.id
    assert written.conflicts() == [] and written.quarantined() == []
    assert not written.repair("/a.txt")


def test_a_record_is_a_mapping_that_stays_as_it_is(written):
    stat = written.files().stat("/a.txt")
    assert stat["size"] == stat.size == len(b"one\nthree\n")
    assert json.loads(json.dumps(dict(stat)))["path"] == "/a.txt"
    assert copy.deepcopy(stat) == pickle.loads(pickle.dumps(stat)) == stat
    with pytest.raises(AttributeError, match="cannot be changed"):
        stat.size = 1
    with pytest.raises(AttributeError, match="no attribute 'sise'"):
        stat.sise


def test_every_class_has_the_fields_of_its_answers(written, tmp_path):
    files = written.files()
    cursor = files.cursor()
    files.write("/d/b.txt", "x\n")
    written.name_version("/d/b.txt", "first")
    anchor = written.anchor("/a.txt", line=1)
    files.remove("/d/b.txt")
    (tmp_path / "f").write_text("x")
    threads, artifacts = written.threads(), written.artifacts()
    thread = threads.open("t")
    thread.write("/f", "one")
    answers = [
        threads.list(),
        thread.list(),
        thread.stats(),
        thread.grep("one"),
        threads.prune(dry_run=True),
        artifacts.store("one", thread="t", task="1", call="c"),
        artifacts.list(),
        artifacts.clean(max_files=0),
        files.stat("/a.txt"),
        files.context(),
        files.list(),
        files.walk(),
        files.read_versioned("/a.txt"),
        files.read_lines("/a.txt"),
        files.write("/c.txt", "x"),
        files.edit("/c.txt", "x", "y"),
        files.glob("*"),
        files.grep("one"),
        files.totals(),
        files.changes(cursor),
        files.execute("echo"),
        written.versions("/a.txt"),
        written.log(),
        written.blame("/a.txt"),
        written.trash(),
        written.undo("second", actor="human:ada"),
        written.resolve_anchor(anchor),
        written.redactable("/a.txt"),
        written.redact("/a.txt"),
        written.redactions("/a.txt"),
        written.import_(tmp_path, "/in"),
        written.export("/in", tmp_path / "out"),
        written.stats(),
        written.expire(0.0),
    ]
    seen = set()
    for answer in answers:
        check(answer, seen)
    classes = {name for name, kind in vars(records).items() if is_class_of_answers(kind)}
    # No test makes these: nothing conflicts, nothing is skipped, nothing was rejected.
    unseen = {"Conflict", "Overlap", "Quarantined", "Skipped"}
    assert classes - {kind.__name__ for kind in seen} == unseen
    assert classes | {"Record"} <= set(yfs.__all__)


def is_class_of_answers(kind):
    is_record = isinstance(kind, type) and issubclass(kind, records.Record)
    return is_record and kind is not records.Record and not kind.__name__.startswith("_")


def check(answer, seen):
    if isinstance(answer, list):
        for item in answer:
            check(item, seen)
    elif isinstance(answer, records.Record):
        kind = type(answer)
        assert kind is not records.Record, answer
        named = {name for each in kind.__mro__ for name in getattr(each, "__annotations__", {})}
        named = {name.removesuffix("_") for name in named - {"_fields"}}
        # These are absent where there is no value.
        assert set(answer) - {"target", "version"} <= named, answer
        assert named <= set(answer), answer
        seen.add(kind)
        for name, value in answer.items():
            # What a file contains has a form for each kind of file.
            if name != "stats":
                check(value, seen)
