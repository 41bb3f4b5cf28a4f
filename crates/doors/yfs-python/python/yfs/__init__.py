"""A collaborative filesystem: files that people, agents and programs change at once.

    import yfs

    with yfs.open("plans.db", actor="agent:planner") as ws:
        fs = ws.files()
        fs.write("/docs/plan.md", "1. Listen\\n2. Answer\\n")
        fs.edit("/docs/plan.md", "Answer", "Answer well")

`yfs.deepagents` has a backend for deepagents, `yfs.memory` Anthropic's memory tool.
"""

from yfs._native import (
    EditRefusedError,
    FileSystem,
    Workspace,
    WorkspaceError,
    __version__,
    host,
    memory_fs,
    open,
)
from yfs.records import (
    Anchor,
    BlameLine,
    BlameShare,
    Change,
    ChangePage,
    CommandOutput,
    Conflict,
    EditOutcome,
    Entry,
    ExpireReport,
    ExportReport,
    FileContent,
    GlobResult,
    GrepFile,
    GrepLine,
    GrepTotals,
    ImportReport,
    LinePage,
    LogEntry,
    Overlap,
    Quarantined,
    Record,
    Redaction,
    RedactionReport,
    SearchResult,
    Skipped,
    Stat,
    TrashEntry,
    TreeTotals,
    UndoneChange,
    Version,
    WorkspaceStats,
    WriteOutcome,
)
from yfs.rules import PermissionRule

__all__ = [
    "Anchor",
    "BlameLine",
    "BlameShare",
    "Change",
    "ChangePage",
    "CommandOutput",
    "Conflict",
    "EditOutcome",
    "EditRefusedError",
    "Entry",
    "ExpireReport",
    "ExportReport",
    "FileContent",
    "FileSystem",
    "GlobResult",
    "GrepFile",
    "GrepLine",
    "GrepTotals",
    "ImportReport",
    "LinePage",
    "LogEntry",
    "Overlap",
    "PermissionRule",
    "Quarantined",
    "Record",
    "Redaction",
    "RedactionReport",
    "SearchResult",
    "Skipped",
    "Stat",
    "TrashEntry",
    "TreeTotals",
    "UndoneChange",
    "Version",
    "Workspace",
    "WorkspaceError",
    "WorkspaceStats",
    "WriteOutcome",
    "__version__",
    "host",
    "memory_fs",
    "open",
]
