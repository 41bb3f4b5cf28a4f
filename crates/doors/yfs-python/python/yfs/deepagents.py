"""A backend for deepagents 0.7 over any filesystem of yfs.

    from deepagents import create_deep_agent
    import yfs
    from yfs.deepagents import YfsBackend

    ws = yfs.open("plans.db", actor="agent:planner")
    agent = create_deep_agent(backend=YfsBackend(ws.files()))

Parallel edits all take effect. A write of a whole file is a change of what this backend last
returned of it, so what a person or another agent wrote meanwhile is kept. Give each agent a backend
of its own: the record of what was read belongs to the backend.
"""

from __future__ import annotations

import base64
import posixpath
import re
import uuid
from datetime import datetime, timezone
from typing import Literal

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
)
from deepagents.backends.utils import _get_backend_read_file_type, compile_grep_include_glob

from yfs import EditRefusedError, FileSystem

__all__ = ["YfsBackend", "YfsSandbox"]

_EMPTY = "System reminder: File exists but has empty contents"
_EMPTY_OLD = "Error: old_string cannot be empty. Provide the exact text to replace."
_MAX_PREVIEW = 512_000
_MAX_GLOB_MATCHES = 10_000
_GREP_SECONDS = 15.0
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class _Refused(Exception):
    """A path that the backend does not accept; the text is for the model."""


class YfsBackend(BackendProtocol):
    """The files of a yfs filesystem, for deepagents.

    ``create_only`` makes `write` fail if the file exists, as up to deepagents 0.6.
    ``relative_globs`` makes `glob` return paths below its root, directories included, as then.
    ``follow_links`` allows paths through symbolic links. It is off because deepagents checks
    permissions against the path as it was given.
    """

    _directory_mark = "/"
    _ends_pages_with_newline = True
    _max_preview: int | None = None
    _ambiguous: Literal["count", "multiple"] = "count"

    def __init__(
        self,
        files: FileSystem,
        *,
        create_only: bool = False,
        relative_globs: bool = False,
        follow_links: bool = False,
    ) -> None:
        self.files = files
        self._create_only = create_only
        self._relative_globs = relative_globs
        self._follow_links = follow_links

    def ls(self, path: str) -> LsResult:
        try:
            entries = self.files.list(self._checked(path))
        except FileNotFoundError:
            return LsResult(error=f"Path '{path}': path_not_found")
        except NotADirectoryError:
            return LsResult(error=f"Path '{path}': not_a_directory")
        except (_Refused, OSError, ValueError) as error:
            return LsResult(error=f"Cannot list '{path}': {_text(error)}")
        return LsResult(entries=sorted(map(self._info, entries), key=lambda info: info["path"]))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        try:
            data = self.files.read(self._checked(file_path))
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return ReadResult(error=f"File '{file_path}' not found")
        except (_Refused, OSError, ValueError) as error:
            return ReadResult(error=f"Error reading file '{file_path}': {_text(error)}")
        text = _text_of(file_path, data)
        if text is None:
            if self._max_preview is not None and len(data) > self._max_preview:
                return ReadResult(
                    error=f"File '{file_path}': Binary file exceeds maximum preview size of "
                    f"{self._max_preview} bytes"
                )
            content = base64.standard_b64encode(data).decode("ascii")
            return ReadResult(file_data=FileData(content=content, encoding="base64"))
        return self._page(text, max(int(offset), 0), max(int(limit), 0))

    def _page(self, text: str, offset: int, limit: int) -> ReadResult:
        if not text.strip():
            return ReadResult(file_data=FileData(content=_EMPTY, encoding="utf-8"))
        if limit == 0:
            empty = FileData(content="", encoding="utf-8")
            return ReadResult(file_data=empty, no_lines_requested=True)
        lines = _LINE.findall(text)
        if offset >= len(lines):
            return ReadResult(
                error=f"Line offset {offset} exceeds file length ({len(lines)} lines)"
            )
        end = min(offset + limit, len(lines))
        content = _with_newlines("".join(lines[offset:end]))
        if end < len(lines) and not self._ends_pages_with_newline:
            content = content.removesuffix("\n")
        return ReadResult(
            file_data=FileData(content=content, encoding="utf-8"),
            total_lines=len(lines),
            start_line=offset + 1,
            end_line=end,
            next_offset=end if end < len(lines) else None,
        )

    def write(self, file_path: str, content: str) -> WriteResult:
        create = "new" if self._create_only else "if_missing"
        try:
            self.files.write(self._checked(file_path), content, create=create)
        except FileExistsError:
            return WriteResult(
                error=f"Cannot write to {file_path} because it already exists. Read and then make "
                "an edit, or write to a new path."
            )
        except (_Refused, OSError, ValueError) as error:
            return WriteResult(error=f"Error writing file '{file_path}': {_text(error)}")
        return WriteResult(path=file_path)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002
    ) -> EditResult:
        if not old_string:
            return EditResult(error=_EMPTY_OLD)
        try:
            path = self._checked(file_path)
            try:
                edited = self.files.edit(path, old_string, new_string, all=replace_all)
            except EditRefusedError as refusal:
                if refusal.reason != "not_found":
                    raise
                # A page has plain newlines, whatever the file has; the file keeps its own.
                old, new = map(_with_newlines, (old_string, new_string))
                if "\n" not in old or "\r" not in self.files.read_text(path):
                    raise
                old, new = (text.replace("\n", "\r\n") for text in (old, new))
                edited = self.files.edit(path, old, new, all=replace_all)
        except EditRefusedError as refusal:
            return EditResult(error=self._refusal(file_path, old_string, refusal))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return EditResult(error=f"Error: File '{file_path}' not found")
        except (_Refused, OSError, ValueError) as error:
            return EditResult(error=f"Error editing file '{file_path}': {_text(error)}")
        return EditResult(path=file_path, occurrences=edited.replaced)

    def _refusal(self, file_path: str, old: str, refusal: EditRefusedError) -> str:
        match refusal.reason:
            case "ambiguous" if self._ambiguous == "multiple":
                return (
                    f"Error: String '{old}' appears multiple times. Use replace_all=True to "
                    "replace all occurrences."
                )
            case "ambiguous":
                return (
                    f"Error: String '{old}' appears {refusal.n_found} times in file. Use "
                    "replace_all=True to replace all instances, or provide a more specific string "
                    "with surrounding context."
                )
            case "not_found":
                return self._missing(file_path, old)
            case "not_text":
                return f"Error editing file '{file_path}': {_text(refusal)}"
            case _:
                return _EMPTY_OLD

    def _missing(self, file_path: str, old: str) -> str:
        stripped = old.removesuffix("\n")
        text = self.files.read_text(file_path) if stripped and stripped != old else ""
        if not text or not text.endswith(stripped):
            return f"Error: String not found in file: '{old}'"
        start = "Error: old_string ends with a newline, but the file does not end with a newline. "
        n_found = text.count(stripped)
        if n_found == 1:
            return start + (
                "Retry with the trailing newline removed from old_string (and from new_string if "
                "it also ends with a newline)."
            )
        return start + (
            f"With the trailing newline removed, old_string would appear {n_found} times in the "
            "file. Retry with the trailing newline removed and add surrounding context so the "
            "match is unique."
        )

    def delete(self, file_path: str) -> DeleteResult:
        try:
            # The last component may be a link: the link is removed.
            self.files.remove(self._checked(file_path, whole=False), recursive=True)
        except (FileNotFoundError, NotADirectoryError):
            return DeleteResult(error=f"Error: '{file_path}' not found")
        except (_Refused, OSError, ValueError) as error:
            return DeleteResult(error=f"Error deleting '{file_path}': {_text(error)}")
        return DeleteResult(path=file_path)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        root = path or "/"
        try:
            matches = compile_grep_include_glob(pattern)
        except ValueError as error:
            return GlobResult(error=str(error))
        try:
            walked = self.files.walk(self._checked(root))
        except (FileNotFoundError, NotADirectoryError):
            return GlobResult(matches=[])
        except (_Refused, OSError, ValueError) as error:
            return GlobResult(error=f"Error globbing path '{root}': {_text(error)}")
        prefix = posixpath.normpath(root).rstrip("/") + "/"
        kinds = ("file", "directory") if self._relative_globs else ("file",)
        found: list[FileInfo] = []
        for entry in walked:
            relative = entry.path.removeprefix(prefix)
            if entry.kind not in kinds or not matches(relative):
                continue
            if len(found) == _MAX_GLOB_MATCHES:
                return GlobResult(matches=found, truncated=True, truncation_reason="budget")
            info = self._info(entry)
            found.append({**info, "path": relative} if self._relative_globs else info)
        found.sort(key=lambda info: info["path"])
        return GlobResult(matches=found)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        root = path or "/"
        try:
            includes = compile_grep_include_glob(glob) if glob else None
        except ValueError as error:
            return GrepResult(error=str(error), matches=[])
        if not pattern:
            return GrepResult(matches=[])
        try:
            root = self._checked(root)
            # One line more than asked for shows whether there are more.
            limit = None if includes or max_count is None else max_count + 1
            found = self.files.grep(
                pattern, root, literal=True, hidden=True, max_total=limit, timeout=_GREP_SECONDS
            )
        except (FileNotFoundError, NotADirectoryError):
            return GrepResult(matches=[])
        except (_Refused, OSError, ValueError) as error:
            return GrepResult(error=f"Error searching path '{root}': {_text(error)}", matches=[])
        prefix = root.rstrip("/") + "/"
        matches: list[GrepMatch] = []
        for file in found.files:
            # A search of one file matches its name.
            relative = posixpath.basename(root) if file.path == root else None
            relative = relative or file.path.removeprefix(prefix)
            if includes is None or includes(relative):
                matches.extend(
                    {"path": file.path, "line": line.line, "text": line.text}
                    for line in file.lines
                )
        is_cut = found.totals.cut not in (None, "limit")
        if max_count is not None and len(matches) > max_count:
            return GrepResult(matches=matches[:max_count], truncated=True)
        return GrepResult(matches=matches, truncated=is_cut)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        def upload(path: str, content: bytes) -> FileUploadResponse:
            try:
                self.files.write(self._checked(path), content)
            except (_Refused, OSError, ValueError) as error:
                return FileUploadResponse(path=path, error=_transfer_error(error))
            return FileUploadResponse(path=path)

        return [upload(path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        def download(path: str) -> FileDownloadResponse:
            try:
                return FileDownloadResponse(path=path, content=self.files.read(self._checked(path)))
            except (_Refused, OSError, ValueError) as error:
                return FileDownloadResponse(path=path, error=_transfer_error(error))

        return [download(path) for path in paths]

    def _checked(self, path: str, *, whole: bool = True) -> str:
        """Return the path if it is absolute and, unless links are followed, has no link in it."""
        if not path.startswith("/") or ".." in path.split("/"):
            raise _Refused(f"not an absolute path without '..': {path!r}")
        path = "/" + posixpath.normpath(path).lstrip("/")
        if self._follow_links:
            return path
        existing = path if whole else posixpath.dirname(path)
        while existing != "/":
            try:
                if self.files.lstat(existing).kind != "symlink":
                    resolved = self.files.realpath(existing)
                    if resolved == existing:
                        break
                raise _Refused(f"'{existing}' is reached through a symbolic link")
            except (FileNotFoundError, NotADirectoryError):
                existing = posixpath.dirname(existing)
        return path

    def _info(self, entry) -> FileInfo:
        modified = datetime.fromtimestamp(entry.mtime, timezone.utc)
        mark = self._directory_mark if entry.is_dir else ""
        return {
            "path": entry.path + mark,
            "is_dir": entry.is_dir,
            "size": entry.size,
            "modified_at": modified.isoformat(),
        }


class YfsSandbox(YfsBackend, SandboxBackendProtocol):
    """The same with a runner of commands: results in the form of deepagents' sandboxes."""

    _directory_mark = ""
    _ends_pages_with_newline = False
    _max_preview = _MAX_PREVIEW
    _ambiguous = "multiple"

    def __init__(
        self,
        files: FileSystem,
        *,
        create_only: bool = False,
        relative_globs: bool = False,
        follow_links: bool = True,
        max_output: int = 1_000_000,
    ) -> None:
        if not files.can_execute:
            raise ValueError("these files have no runner of commands; use YfsBackend")
        super().__init__(
            files,
            create_only=create_only,
            relative_globs=relative_globs,
            follow_links=follow_links,
        )
        self._max_output = max_output
        self._id = f"yfs-{uuid.uuid4().hex[:8]}"

    @property
    def id(self) -> str:
        return self._id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        if not command or not isinstance(command, str):
            text = "Error: Command must be a non-empty string."
            return ExecuteResponse(output=text, exit_code=1)
        try:
            ran = self.files.execute(command, timeout=timeout or None, max_output=self._max_output)
        except TimeoutError as error:
            output = getattr(error, "output", "")
            text = f"{output}\nError: Command timed out." if output else "Error: Command timed out."
            return ExecuteResponse(output=text, exit_code=124)
        except OSError as error:
            return ExecuteResponse(output=f"Error executing command: {_text(error)}", exit_code=1)
        return ExecuteResponse(ran.output, ran.exit_code, ran.truncated)


def _text_of(path: str, data: bytes) -> str | None:
    """Return the content as text, or `None` if it is to be sent as base64."""
    if _get_backend_read_file_type(path) != "text":
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _text(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _transfer_error(error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "file_not_found"
        case PermissionError():
            return "permission_denied"
        case IsADirectoryError():
            return "is_directory"
        case _Refused() | NotADirectoryError() | FileExistsError() | ValueError():
            return "invalid_path"
        case _:
            return _text(error)
