"""Encrypted workspaces: a passphrase or a key file opens them, and nothing else."""

import os

import pytest

import yfs

PASSPHRASE = "nine calm gauges"


def bytes_beside(directory):
    files = (path for path in directory.rglob("*") if path.is_file())
    return [path.read_bytes() for path in files]


def refusal(file, **options):
    """Returns the code and the text of the error, which has no secret."""
    with pytest.raises(yfs.WorkspaceError) as caught:
        yfs.open(file, **options)
    text = str(caught.value)
    assert "calm" not in text and "secret" not in text
    return caught.value.code, text


def test_a_passphrase_opens_a_workspace_and_no_file_of_it_has_the_content(tmp_path):
    file = tmp_path / "w.db"
    with yfs.open(file, passphrase=PASSPHRASE) as ws:
        ws.files().write("/plan.md", "marzipan " * 50)
    assert not any(b"marzipan" in content for content in bytes_beside(tmp_path))
    before = file.read_bytes()
    code, text = refusal(file)
    assert code == "KEY" and "no passphrase was given" in text
    for wrong in ("nine calm gauge", "secret"):
        code, text = refusal(file, passphrase=wrong)
        assert code == "KEY" and "the passphrase or key file is wrong" in text
    assert file.read_bytes() == before
    with yfs.open(file, passphrase=PASSPHRASE, create=False, read_only=True) as ws:
        assert ws.files().read_text("/plan.md").startswith("marzipan")


@pytest.mark.parametrize("as_text", [True, False])
def test_a_key_file_opens_a_workspace(tmp_path, as_text):
    key, directory = tmp_path / "key", tmp_path / "work"
    directory.mkdir()
    with pytest.raises(FileNotFoundError):
        yfs.open(directory, key_file=key)
    key.write_bytes(b"short")
    code, text = refusal(directory, key_file=key)
    assert code == "KEY" and "must have 32 bytes" in text
    assert not any(directory.iterdir())
    key.write_bytes(os.urandom(40))
    given = str(key) if as_text else key
    with yfs.open(directory, key_file=given) as ws:
        ws.files().write("/a", "marzipan")
    assert not any(b"marzipan" in content for content in bytes_beside(directory))
    with yfs.open(directory, key_file=given) as ws:
        assert ws.files().read_text("/a") == "marzipan"
    code, text = refusal(directory, passphrase=PASSPHRASE)
    assert code == "KEY" and "it opens with a key file" in text
    key.write_bytes(os.urandom(40))
    assert "is wrong" in refusal(directory, key_file=key)[1]


def test_a_key_that_makes_no_sense_is_refused_before_anything_is_made(tmp_path):
    file, key = tmp_path / "w.db", tmp_path / "key"
    key.write_bytes(os.urandom(32))
    for options in (
        {"passphrase": PASSPHRASE, "key_file": key},
        {"passphrase": ""},
        {"passphrase": "secret " + "x" * (1 << 20)},
        # A half of a surrogate pair has no bytes.
        {"passphrase": "secret \ud800"},
    ):
        with pytest.raises(ValueError) as caught:
            yfs.open(file, **options)
        assert "calm" not in str(caught.value) and "xxx" not in str(caught.value)
    with pytest.raises(ValueError):
        yfs.open(":memory:", passphrase=PASSPHRASE)
    assert not file.exists()
    yfs.open(file).close()
    code, text = refusal(file, passphrase=PASSPHRASE)
    assert code == "KEY" and "it is not encrypted" in text
