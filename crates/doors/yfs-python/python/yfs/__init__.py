"""A collaborative filesystem: files that people, agents and programs change at once.

    import yfs

    with yfs.open("plans.db", actor="agent:planner") as ws:
        fs = ws.files()
        fs.write("/docs/plan.md", "1. Listen\\n2. Answer\\n")
        fs.edit("/docs/plan.md", "Answer", "Answer well")

`yfs.deepagents` has a backend for deepagents, `yfs.memory` Anthropic's memory tool.
"""

from yfs._native import (
    ChangePage,
    CommandOutput,
    DirEntry,
    EditOutcome,
    EditOverlap,
    EditRefusedError,
    FileChange,
    FileContent,
    FileSystem,
    GlobResult,
    GrepLine,
    GrepResult,
    LinePage,
    Stat,
    TrashEntry,
    TreeTotals,
    UndoneChange,
    Version,
    Workspace,
    WorkspaceError,
    WriteOutcome,
    __version__,
    host,
    memory_fs,
    open,
)
from yfs.rules import PermissionRule

__all__ = [
    "ChangePage",
    "CommandOutput",
    "DirEntry",
    "EditOutcome",
    "EditOverlap",
    "EditRefusedError",
    "FileChange",
    "FileContent",
    "FileSystem",
    "GlobResult",
    "GrepLine",
    "GrepResult",
    "LinePage",
    "PermissionRule",
    "Stat",
    "TrashEntry",
    "TreeTotals",
    "UndoneChange",
    "Version",
    "Workspace",
    "WorkspaceError",
    "WriteOutcome",
    "__version__",
    "host",
    "memory_fs",
    "open",
]
