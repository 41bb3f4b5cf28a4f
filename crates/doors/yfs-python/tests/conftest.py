import pytest

import yfs


@pytest.fixture
def ws(tmp_path):
    with yfs.open(tmp_path / "workspace.db", actor="agent:tester") as workspace:
        yield workspace


@pytest.fixture(params=["workspace", "memory", "host"])
def fs(request, tmp_path):
    """Each kind of filesystem."""
    if request.param == "memory":
        yield yfs.memory_fs()
    elif request.param == "host":
        root = tmp_path / "root"
        root.mkdir()
        yield yfs.host(root)
    else:
        with yfs.open(tmp_path / "workspace.db") as workspace:
            yield workspace.files()
