"""What calls return: one class for each kind of answer, with the names of yfs's JSON.

A record is a mapping whose members are attributes as well: `stat.size` is `stat["size"]`. Times are
seconds since the epoch, as in `os.stat`. The command (`--json`), the HTTP interface and the Node
package use the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

Kind = Literal["file", "directory", "symlink", "other"]
Cut = Literal["limit", "deadline", "cancelled"]


class Record(Mapping[str, Any]):
    """An answer. It cannot be changed."""

    __slots__ = ("_fields",)
    _fields: dict[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_fields", fields if isinstance(fields, dict) else dict(fields))

    def __getattr__(self, name: str) -> Any:
        # A word of the language has an underscore behind it: `from_`.
        fields = object.__getattribute__(self, "_fields")
        for key in (name, name.removesuffix("_")):
            if key in fields:
                return fields[key]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__!r} object cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__!r} object cannot be changed")

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._fields})

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Any]]]:
        return type(self), (self._fields,)


class _Node(Record):
    __slots__ = ()
    path: str
    id: str
    kind: Kind
    size: int
    mode: int
    mtime: float

    @property
    def is_dir(self) -> bool:
        return self.kind == "directory"

    @property
    def is_file(self) -> bool:
        return self.kind == "file"


class Entry(_Node):
    """A node in a directory, or below one."""

    __slots__ = ()
    name: str


class Stat(_Node):
    """The attributes of a node."""

    __slots__ = ()
    created: float
    mime: str | None
    version: str | None
    metadata: dict[str, Any]


class FileContent(Record):
    """The content of a file, with its version."""

    __slots__ = ()
    data: bytes
    version: str


class LinePage(Record):
    """Some lines of a file. `offset` counts from 0; `next` is the offset of the next page."""

    __slots__ = ()
    lines: list[str]
    offset: int
    total: int | None
    next: int | None
    ends_with_newline: bool
    version: str


class Overlap(Record):
    """A range that two writers changed at the same time, in bytes. Both changes are in the file."""

    __slots__ = ()
    offset: int
    length: int
    actor: str | None


class WriteOutcome(Record):
    """The result of a write. If it is `merged`, there is no `version`: read the file first."""

    __slots__ = ()
    path: str
    id: str
    merged: bool
    size: int
    created: bool
    overlaps: list[Overlap]

    @property
    def version(self) -> str | None:
        return self.get("version")


class EditOutcome(Record):
    """The result of replacing text."""

    __slots__ = ()
    path: str
    replaced: int
    merged: bool

    @property
    def version(self) -> str | None:
        return self.get("version")


class GlobResult(Record):
    """The paths that a pattern found."""

    __slots__ = ()
    entries: list[Entry]
    cut: Cut | None
    unreadable: int


class GrepLine(Record):
    """A line that a search found, or a line of context. `matches` are ranges in bytes."""

    __slots__ = ()
    line: int
    text: str
    matches: list[tuple[int, int]]
    is_match: bool
    cut: bool


class GrepFile(Record):
    """The lines of one file."""

    __slots__ = ()
    path: str
    id: str
    lines: list[GrepLine]
    cut: bool


class GrepTotals(Record):
    """The counts of a search, and why it ended early."""

    __slots__ = ()
    matches: int
    searched: int
    binary: int
    binary_paths: list[str]
    too_large: int
    unreadable: int
    cut: Cut | None


class SearchResult(Record):
    """The files that a search found, in the order of the tree."""

    __slots__ = ()
    files: list[GrepFile]
    totals: GrepTotals


class TreeTotals(Record):
    """The number and size of the nodes in a tree."""

    __slots__ = ()
    files: int
    directories: int
    bytes: int


class Change(Record):
    """A change of a node; `from_` is the path before a move."""

    __slots__ = ()
    type: Literal["created", "changed", "moved", "removed"]
    path: str
    from_: str | None
    id: str
    kind: Kind
    actor: str | None
    at: float


class ChangePage(Record):
    """A page of changes, and the cursor of the next one."""

    __slots__ = ()
    changes: list[Change]
    next: str
    more: bool


class CommandOutput(Record):
    """The result of a command."""

    __slots__ = ()
    output: str
    exit_code: int | None
    truncated: bool


class Version(Record):
    """A version of a file."""

    __slots__ = ()
    number: int
    at: float
    actor: str | None
    label: str | None
    names: list[str]
    redacted: bool
    current: bool


class LogEntry(Record):
    """A change of a file or directory; `from_` is the path before a rename or move."""

    __slots__ = ()
    at: float
    path: str
    id: str
    kind: Kind
    change: Literal["created", "edited", "renamed", "moved", "mode", "restored", "deleted"]
    actor: str | None
    label: str | None
    version: int | None
    from_: str | None


class Artifact(Record):
    """An artifact in a list. References name `artifact`; `path` is the one in the workspace."""

    __slots__ = ()
    path: str
    artifact: str
    size: int
    mime: str | None
    changed: float


class FileMetadata(Record):
    """A reference to an artifact."""

    __slots__ = ()
    file_id: str
    relative_path: str
    size: int
    content_type: str | None
    preview: str | None
    stats: Mapping[str, Any]
    checksum: str | None


class RemovedArtifact(Record):
    """An artifact that a cleanup removed, and why."""

    __slots__ = ()
    path: str
    size: int
    reason: Literal["age", "size", "files"]


class CleanupReport(Record):
    """What a cleanup removed. It is in the trash."""

    __slots__ = ()
    removed: list[RemovedArtifact]
    freed_bytes: int
    failed: list[str]
    dry_run: bool


class Context(Record):
    """A context for a model, and how much of the files it has."""

    __slots__ = ()
    text: str
    tokens: int
    files: int
    listed: int
    previewed: int


class BlameShare(Record):
    """The share of one author in a line."""

    __slots__ = ()
    actor: str | None
    at: float | None
    label: str | None
    version: int | None
    chars: int


class BlameLine(Record):
    """A line and its author: the one that edited it last."""

    __slots__ = ()
    line: int
    text: str
    actor: str | None
    at: float | None
    version: int | None
    shares: list[BlameShare]


class TrashEntry(Record):
    """A node in the trash; `original` is the path where it was."""

    __slots__ = ()
    id: str
    name: str
    kind: Kind
    original: str
    trashed_at: float
    trashed_by: str | None
    hidden: int
    stranded: list[str]
    purging: bool


class ExpireReport(Record):
    """What was deleted from the trash."""

    __slots__ = ()
    rows: int
    documents: int
    bytes: int


class UndoneChange(Record):
    """A change, and what undoing it did."""

    __slots__ = ()
    path: str
    change: Literal["created", "edited", "renamed", "moved", "mode", "restored", "deleted"]
    result: Literal[
        "reverted", "removed", "restored", "moved_back", "mode_restored", "nothing", "kept"
    ]
    kept_others: bool
    reason: str | None


class Anchor(Record):
    """The present position of an anchor: an offset in bytes, and a line from 1."""

    __slots__ = ()
    path: str
    offset: int
    line: int
    exact: bool


class Conflict(Record):
    """A conflict that a person should decide."""

    __slots__ = ()
    kind: str
    id: str
    path: str
    detail: str


class RedactionReport(Record):
    """What a redaction erases, or erased."""

    __slots__ = ()
    pieces: list[str]
    chars: int
    blobs: list[str]
    kept: list[str]
    held_by: list[int]


class Redaction(Record):
    """A record of a redaction."""

    __slots__ = ()
    actor: str
    at: float
    reason: str | None
    chars: int
    blobs: int


class Skipped(Record):
    """A path that an import or export left out."""

    __slots__ = ()
    path: str
    why: str


class ImportReport(Record):
    """What an import changed."""

    __slots__ = ()
    created: int
    updated: int
    unchanged: int
    directories: int
    links: int
    bytes: int
    skipped: list[Skipped]


class ExportReport(Record):
    """What an export wrote."""

    __slots__ = ()
    written: int
    unchanged: int
    directories: int
    bytes: int
    skipped: list[Skipped]


class Thread(Record):
    """A thread of an agent."""

    __slots__ = ()
    id: str
    path: str
    directory: str
    created: float
    changed: float
    archived: float | None
    forked_from: str | None
    files: int
    directories: int
    bytes: int


class ThreadFile(Record):
    """A file or directory of a thread. `storage` says where the bytes are."""

    __slots__ = ()
    path: str
    name: str
    mime: str
    storage: str
    size: int
    is_directory: bool
    metadata: dict[str, Any]
    width: int | None
    height: int | None


class ThreadStats(Record):
    """The number and size of a thread's files."""

    __slots__ = ()
    id: str
    files: int
    directories: int
    bytes: int


class ThreadLine(Record):
    """A matching line."""

    __slots__ = ()
    line: int
    content: str


class ThreadMatches(Record):
    """The matching lines of a file."""

    __slots__ = ()
    path: str
    matches: list[ThreadLine]


class ThreadMatchList(Record):
    """The files of a thread with matching lines."""

    __slots__ = ()
    files: list[ThreadMatches]
    binary: int
    binary_paths: list[str]


class RetentionReport(Record):
    """What a retention removed: the members of each thread, and why."""

    __slots__ = ()
    removed: list[dict[str, Any]]
    kept: int
    kept_bytes: int
    dry_run: bool


class WorkspaceStats(Record):
    """The size of a workspace."""

    __slots__ = ()
    id: str
    files: int
    directories: int
    trashed: int
    parked: int
    open_documents: int


class Quarantined(Record):
    """An update that a workspace rejected; equal ones are listed once."""

    __slots__ = ()
    number: int
    doc: str
    path: str | None
    first_at: float
    last_at: float
    times: int
    bytes: int
    kept: bool
    reason: str
