import builtins
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, final

from yfs.records import (
    Anchor,
    Artifact,
    BlameLine,
    ChangePage,
    CleanupReport,
    CommandOutput,
    Conflict,
    Context,
    EditOutcome,
    Entry,
    ExpireReport,
    ExportReport,
    FileContent,
    FileMetadata,
    GlobResult,
    ImportReport,
    LinePage,
    LogEntry,
    Quarantined,
    Redaction,
    RedactionReport,
    RetentionReport,
    SearchResult,
    Stat,
    Thread,
    ThreadFile,
    ThreadMatchList,
    ThreadStats,
    TrashEntry,
    TreeTotals,
    UndoneChange,
    Version,
    WorkspaceStats,
    WriteOutcome,
)
from yfs.rules import PermissionRule

__version__: str

_Data = bytes | bytearray | str

class EditRefusedError(OSError):
    """The text to replace is empty, missing or ambiguous, or the file is not text."""

    code: str
    reason: Literal["empty", "not_found", "ambiguous", "not_text", "other"]
    n_found: int
    lines: list[int]

class WorkspaceError(Exception):
    """A call on a workspace as a whole failed."""

    code: str

@final
class FileSystem:
    @property
    def merges(self) -> bool: ...
    @property
    def can_execute(self) -> bool: ...
    def stats(self, path: str, *, preview: int | None = None) -> dict[str, Any]: ...
    def context(
        self,
        paths: builtins.list[str] = ["/"],
        *,
        include: builtins.list[str] = [],
        exclude: builtins.list[str] = [],
        hidden: bool = False,
        ignored: bool = False,
        max_tokens: int | None = None,
        preview: int | None = None,
        max_file_size: int | None = None,
    ) -> Context: ...
    def read(self, path: str) -> bytes: ...
    def read_text(self, path: str) -> str: ...
    def read_versioned(self, path: str) -> FileContent: ...
    def read_range(self, path: str, offset: int, length: int) -> bytes: ...
    def read_lines(self, path: str, offset: int = 0, limit: int = 2000) -> LinePage: ...
    def write(
        self,
        path: str,
        data: _Data,
        *,
        create: Literal["if_missing", "new", "never"] = "if_missing",
        base: _Data | None = None,
        base_version: str | None = None,
        expected_version: str | None = None,
        mode: int | None = None,
        parents: bool = True,
    ) -> WriteOutcome: ...
    def query(
        self,
        path: str,
        query: str,
        *,
        dialect: Literal["jq", "jql", "sql"] = "jq",
        format: Literal["json", "csv", "tsv", "yaml", "parquet"] | None = None,
        slurp: bool = False,
        raw: bool = False,
        cpu_time: float | None = None,
        max_memory: int | None = None,
        max_output: int | None = None,
    ) -> dict[str, Any]: ...
    def append(self, path: str, data: _Data) -> WriteOutcome: ...
    def edit(
        self,
        path: str,
        old: str,
        new: str,
        *,
        all: bool = False,
        expected_version: str | None = None,
    ) -> EditOutcome: ...
    def stat(self, path: str) -> Stat: ...
    def lstat(self, path: str) -> Stat: ...
    def exists(self, path: str) -> bool: ...
    def list(self, path: str = "/") -> builtins.list[Entry]: ...
    def walk(
        self,
        path: str = "/",
        *,
        max_depth: int | None = None,
        hidden: bool = True,
        max_entries: int | None = None,
    ) -> builtins.list[Entry]: ...
    def totals(self, path: str = "/") -> TreeTotals: ...
    def mkdir(self, path: str, *, mode: int | None = None) -> None: ...
    def mkdirs(self, path: str, *, mode: int | None = None) -> None: ...
    def remove(self, path: str, *, recursive: bool = False, force: bool = False) -> None: ...
    def move(
        self, source: str, destination: str, *, replace: bool = True, parents: bool = True
    ) -> None: ...
    def copy(
        self,
        source: str,
        destination: str,
        *,
        recursive: bool = False,
        replace: bool = True,
        parents: bool = True,
    ) -> None: ...
    def symlink(self, target: str, path: str) -> None: ...
    def readlink(self, path: str) -> str: ...
    def realpath(self, path: str) -> str: ...
    def chmod(self, path: str, mode: int) -> None: ...
    def utime(self, path: str, mtime: float) -> None: ...
    def glob(
        self,
        pattern: str,
        root: str = "/",
        *,
        hidden: bool = False,
        ignore_case: bool = False,
        directories: bool = False,
        limit: int | None = None,
    ) -> GlobResult: ...
    def grep(
        self,
        pattern: str,
        root: str = "/",
        *,
        literal: bool = False,
        ignore_case: bool = False,
        include: builtins.list[str] = [],
        exclude: builtins.list[str] = [],
        hidden: bool = False,
        before: int = 0,
        after: int = 0,
        max_per_file: int | None = None,
        max_total: int | None = None,
        max_line_length: int | None = None,
        max_file_size: int | None = None,
        timeout: float | None = None,
    ) -> SearchResult: ...
    def cursor(self) -> str: ...
    def changes(
        self, since: str, *, limit: int = 1000, wait: float | None = None
    ) -> ChangePage: ...
    def execute(
        self, command: str, *, timeout: float | None = None, max_output: int | None = None
    ) -> CommandOutput: ...

@final
class Artifacts:
    def store(self, content: _Data, *, thread: str, task: str, call: str) -> FileMetadata: ...
    def resolve(self, reference: Mapping[str, Any]) -> bytes: ...
    def list(self, *patterns: str) -> builtins.list[Artifact]: ...
    def show(self, artifact: str) -> FileMetadata: ...
    def path_of(self, reference: Mapping[str, Any]) -> str: ...
    def delete(self, reference: Mapping[str, Any]) -> None: ...
    def clean(
        self,
        *,
        older_than: float | None = None,
        max_size: int | None = None,
        max_files: int | None = None,
        keep: builtins.list[str] = [],
        dry_run: bool = False,
    ) -> CleanupReport: ...

@final
class Threads:
    def open(self, id: str) -> ThreadFiles: ...
    def open_for(self, values: dict[str, str]) -> ThreadFiles: ...
    def existing(self, id: str) -> ThreadFiles: ...
    def create(self, id: str) -> ThreadFiles: ...
    def fork(self, source: str, to: str) -> ThreadFiles: ...
    def restore(self, id: str) -> ThreadFiles: ...
    def list(self, *, archived: bool = False) -> builtins.list[Thread]: ...
    def info(self, id: str) -> Thread: ...
    def archive(self, id: str) -> None: ...
    def unarchive(self, id: str) -> None: ...
    def delete(self, id: str) -> None: ...
    def prune(
        self,
        *,
        older_than: float | None = None,
        max_size: float | None = None,
        archived: bool = False,
        dry_run: bool = False,
    ) -> RetentionReport: ...

@final
class ThreadFiles:
    @property
    def id(self) -> str: ...
    def read(self, path: str) -> bytes | None: ...
    def write(
        self,
        path: str,
        data: _Data,
        *,
        mime: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ThreadFile: ...
    def list(self, path: str = "/") -> builtins.list[ThreadFile]: ...
    def stat(self, path: str) -> ThreadFile | None: ...
    def stats(self) -> ThreadStats: ...
    def find(self, glob: str) -> builtins.list[str]: ...
    def grep(
        self,
        pattern: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        include: builtins.list[str] = [],
        limit: int | None = None,
    ) -> ThreadMatchList: ...
    def link(
        self,
        path: str,
        url: str,
        *,
        size: int | None = None,
        hash: str | None = None,
        mime: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ThreadFile: ...
    def patch(self, path: str, metadata: Mapping[str, Any]) -> ThreadFile: ...
    def mkdir(self, path: str) -> ThreadFile: ...
    def move(self, source: str, destination: str) -> ThreadFile: ...
    def delete(self, path: str) -> None: ...

@final
class Workspace:
    @property
    def id(self) -> str: ...
    def files(
        self,
        *,
        actor: str | None = None,
        label: str | None = None,
        rules: Sequence[PermissionRule] | None = None,
        allow: Sequence[str] | None = None,
        read_only: bool = False,
        audit: bool = False,
        max_bytes: int | None = None,
        max_files: int | None = None,
    ) -> FileSystem: ...
    def audit(
        self,
        *,
        session: str | None = None,
        actor: str | None = None,
        tool: str | None = None,
        path: str | None = None,
        since: float | None = None,
        until: float | None = None,
        failed: bool | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]: ...
    def artifacts(
        self,
        root: str = "/artifacts",
        *,
        actor: str | None = None,
        label: str | None = None,
        strategy: str | None = None,
    ) -> Artifacts: ...
    def threads(
        self, *, actor: str | None = None, label: str | None = None, strategy: str = "thread_id"
    ) -> Threads: ...
    def versions(self, path: str) -> list[Version]: ...
    def find_version(
        self, path: str, *, name: str | None = None, at: float | None = None
    ) -> Version | None: ...
    def version_content(self, path: str, number: int) -> bytes: ...
    def restore_version(self, path: str, number: int) -> WriteOutcome: ...
    def name_version(self, path: str, name: str) -> None: ...
    def unname_version(self, path: str, name: str) -> bool: ...
    def blame(self, path: str) -> list[BlameLine]: ...
    def log(self, path: str = "/", *, limit: int = 50) -> list[LogEntry]: ...
    def undo(self, label: str, *, actor: str | None = None) -> list[UndoneChange]: ...
    def trash(self) -> list[TrashEntry]: ...
    def restore(self, id: str, to: str | None = None) -> str: ...
    def purge(self, ids: Sequence[str]) -> int: ...
    def expire(self, retention: float) -> ExpireReport: ...
    def anchor(
        self,
        path: str,
        *,
        offset: int | None = None,
        line: int | None = None,
        left: bool = False,
    ) -> str: ...
    def resolve_anchor(self, anchor: str) -> Anchor: ...
    def conflicts(self) -> list[Conflict]: ...
    def redactable(self, path: str, version: int | None = None) -> RedactionReport: ...
    def redact(
        self, path: str, version: int | None = None, *, reason: str | None = None
    ) -> RedactionReport: ...
    def redactions(self, path: str) -> list[Redaction]: ...
    def import_(
        self,
        source: str | os.PathLike[str],
        path: str = "/",
        *,
        gitignore: bool = True,
        hidden: bool = True,
        max_file_size: int | None = None,
    ) -> ImportReport: ...
    def export(
        self, path: str, destination: str | os.PathLike[str], *, force: bool = False
    ) -> ExportReport: ...
    def move_to(self, source: str, other: Workspace, destination: str) -> None: ...
    def stats(self) -> WorkspaceStats: ...
    def compact(self) -> None: ...
    def repair(self, path: str) -> bool: ...
    def quarantined(self) -> list[Quarantined]: ...
    def catch_up(self) -> bool: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Workspace: ...
    def __exit__(self, *error: object) -> None: ...

def open(
    path: str | os.PathLike[str],
    *,
    actor: str | None = None,
    create: bool = True,
    read_only: bool = False,
    passphrase: str | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Workspace: ...
def memory_fs() -> FileSystem: ...
def host(
    root: str | os.PathLike[str],
    *,
    shell: bool = False,
    env: dict[str, str] | None = None,
    inherit_env: bool = False,
    timeout: float | None = None,
) -> FileSystem: ...
