"""The stub has each call of the native module, with the same arguments."""

import ast
import inspect
from importlib.resources import files

import yfs

STUB = ast.parse(files(yfs).joinpath("_native.pyi").read_text())


def arguments_of(function):
    taken = function.args
    rest = [taken.vararg] if taken.vararg else []
    return [each.arg for each in (*taken.posonlyargs, *taken.args, *rest, *taken.kwonlyargs)]


def test_the_stub_has_every_call():
    for kind in (yfs.Artifacts, yfs.FileSystem, yfs.ThreadFiles, yfs.Threads, yfs.Workspace):
        (stub,) = (node for node in STUB.body if getattr(node, "name", "") == kind.__name__)
        declared = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
        native = {name for name in vars(kind) if not name.startswith("_")}
        assert {name for name in declared if not name.startswith("_")} == native
        for name in native:
            call = getattr(kind, name)
            if callable(call):
                taken = list(inspect.signature(call).parameters)
                assert arguments_of(declared[name]) == taken, f"{kind.__name__}.{name}"
