"""Anthropic's memory tool (`memory_20250818`) over any filesystem of yfs.

    import anthropic, yfs
    from yfs.memory import YfsMemoryTool

    ws = yfs.open("memory.db", actor="agent:claude")
    runner = anthropic.Anthropic().beta.messages.tool_runner(tools=[YfsMemoryTool(ws.files())], ...)

Memories are ordinary files below `/memories`: people edit them, other agents share them, and each
change has an author and a version.
"""

from __future__ import annotations

import asyncio
import posixpath
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from yfs import EditRefusedError, FileSystem

__all__ = ["YfsAsyncMemoryTool", "YfsMemoryTool"]

_ROOT = "/memories"
_MAX_LINES = 999_999
_ATTEMPTS = 1_000


class _Memories:
    """The commands of the tool."""

    def __init__(self, files: FileSystem, root: str) -> None:
        self._files = files
        self._base = posixpath.normpath("/" + root.strip("/"))
        files.mkdirs(self._base)

    def view(self, command: Any) -> str:
        path = self._resolve(command.path)
        try:
            stat = self._files.stat(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ToolError(_missing(command.path)) from error
        if stat.is_dir:
            return self._view_directory(path, command.path)
        lines = self._text(path, command.path).split("\n")
        if len(lines) > _MAX_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        first = 0
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0]) - 1
            last = len(lines) if command.view_range[1] == -1 else command.view_range[1]
            lines = lines[first:last]
        numbered = _numbered(lines, first + 1)
        return f"Here's the content of {command.path} with line numbers:\n{numbered}"

    def _view_directory(self, path: str, shown: str) -> str:
        rows = [
            f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden "
            "items:",
            f"{_size(self._files.stat(path).size)}\t{shown}",
        ]
        for entry in self._files.walk(path, max_depth=2, hidden=False):
            try:
                stat = self._files.stat(entry.path)
                real = self._files.realpath(entry.path)
            except OSError:  # A link that leads nowhere or outside, or an entry that is gone.
                continue
            if not _is_below(real, self._files.realpath(self._base)):
                continue
            mark = "/" if stat.is_dir else ""
            relative = entry.path.removeprefix(path.rstrip("/") + "/")
            rows.append(f"{_size(stat.size)}\t{shown}/{relative}{mark}")
        return "\n".join(rows)

    def create(self, command: Any) -> str:
        path = self._resolve(command.path)
        try:
            self._files.write(path, command.file_text, create="new")
        except (FileExistsError, IsADirectoryError) as error:
            raise ToolError(f"File {command.path} already exists") from error
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Any) -> str:
        path = self._file(command.path)
        old, new = command.old_str, command.new_str
        text = self._text(path, command.path)
        try:
            self._files.edit(path, old, new)
        except EditRefusedError as refusal:
            raise ToolError(_refusal(refusal, old, command.path, text)) from refusal
        # The line of the change, in the text as it is now.
        position = text.find(old)
        text = text.replace(old, new)
        now = self._text(path, command.path)
        position = position if now == text else max(now.find(new), 0)
        changed = now[:position].count("\n")
        lines = now.split("\n")
        start = max(0, changed - 2)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            "numbers):\n" + _numbered(lines[start : changed + 3], start + 1)
        )

    def insert(self, command: Any) -> str:
        path = self._file(command.path)
        for _ in range(_ATTEMPTS):
            content = self._files.read_versioned(path)
            lines = _decoded(content.data, command.path).split("\n")
            if lines[-1] == "":
                lines.pop()
            if command.insert_line < 0 or command.insert_line > len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. It should be within "
                    f"the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            text = "\n".join(lines)
            text += "" if text.endswith("\n") else "\n"
            try:
                self._files.write(path, text, base_version=content.version)
            except OSError as error:
                if getattr(error, "code", None) != "ESTALE":
                    raise
            else:
                return f"The file {command.path} has been edited."
        raise ToolError(f"The file {command.path} is changed by others all the time.")

    def delete(self, command: Any) -> str:
        path = self._resolve(command.path)
        if path == self._base:
            raise ToolError("Cannot delete the /memories directory itself")
        try:
            self._files.remove(path, recursive=True)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ToolError(f"The path {command.path} does not exist") from error
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        old, new = self._resolve(command.old_path), self._resolve(command.new_path)
        if old == self._base:
            raise ToolError("Cannot rename the /memories directory itself")
        try:
            self._files.move(old, new, replace=False)
        except FileExistsError as error:
            raise ToolError(f"The destination {command.new_path} already exists") from error
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ToolError(f"The path {command.old_path} does not exist") from error
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        for entry in self._files.list(self._base):
            self._files.remove(entry.path, recursive=True, force=True)
        return "All memory cleared"

    def _resolve(self, path: str) -> str:
        """Return the path in the filesystem, if it lies below the root of memories."""
        if not path.startswith(_ROOT):
            raise ToolError(f"Path must start with /memories, got: {path}")
        relative = path[len(_ROOT) :].lstrip("/")
        resolved = posixpath.normpath(f"{self._base}/{relative}")
        if not _is_below(resolved, self._base):
            raise ToolError(f"Path {path} would escape /memories directory")
        existing = resolved
        while existing != "/":
            try:
                self._files.lstat(existing)
                real = self._files.realpath(existing)
            except (FileNotFoundError, NotADirectoryError):
                existing = posixpath.dirname(existing)
                continue
            except PermissionError as error:  # A link that leads out of the host's directory.
                raise ToolError(f"Path {path} would escape /memories directory") from error
            if not _is_below(real, self._files.realpath(self._base)):
                raise ToolError(f"Path {path} would escape /memories directory")
            break
        return resolved

    def _file(self, shown: str) -> str:
        path = self._resolve(shown)
        try:
            is_file = self._files.stat(path).is_file
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ToolError(_missing(shown)) from error
        if not is_file:
            raise ToolError(f"The path {shown} is not a file.")
        return path

    def _text(self, path: str, shown: str) -> str:
        try:
            return _decoded(self._files.read(path), shown)
        except FileNotFoundError as error:
            raise ToolError(
                f"The file {shown} no longer exists (may have been deleted or renamed "
                "concurrently)."
            ) from error


class YfsMemoryTool(BetaAbstractMemoryTool):
    """The memory tool over a yfs filesystem; `root` is its directory there."""

    def __init__(self, files: FileSystem, *, root: str = _ROOT, **options: Any) -> None:
        super().__init__(**options)
        self._memories = _Memories(files, root)

    def view(self, command: Any) -> str:
        return self._memories.view(command)

    def create(self, command: Any) -> str:
        return self._memories.create(command)

    def str_replace(self, command: Any) -> str:
        return self._memories.str_replace(command)

    def insert(self, command: Any) -> str:
        return self._memories.insert(command)

    def delete(self, command: Any) -> str:
        return self._memories.delete(command)

    def rename(self, command: Any) -> str:
        return self._memories.rename(command)

    def clear_all_memory(self) -> str:
        return self._memories.clear_all_memory()


class YfsAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for asyncio; each command runs in a thread."""

    def __init__(self, files: FileSystem, *, root: str = _ROOT, **options: Any) -> None:
        super().__init__(**options)
        self._memories = _Memories(files, root)

    async def view(self, command: Any) -> str:
        return await asyncio.to_thread(self._memories.view, command)

    async def create(self, command: Any) -> str:
        return await asyncio.to_thread(self._memories.create, command)

    async def str_replace(self, command: Any) -> str:
        return await asyncio.to_thread(self._memories.str_replace, command)

    async def insert(self, command: Any) -> str:
        return await asyncio.to_thread(self._memories.insert, command)

    async def delete(self, command: Any) -> str:
        return await asyncio.to_thread(self._memories.delete, command)

    async def rename(self, command: Any) -> str:
        return await asyncio.to_thread(self._memories.rename, command)

    async def clear_all_memory(self) -> str:
        return await asyncio.to_thread(self._memories.clear_all_memory)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _missing(shown: str) -> str:
    return f"The path {shown} does not exist. Please provide a valid path."


def _refusal(refusal: EditRefusedError, old: str, shown: str, text: str) -> str:
    if refusal.reason == "ambiguous":
        lines = _lines_of(text, old) or refusal.lines
        return (
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, lines))}. Please ensure it is unique"
        )
    return f"No replacement was performed, old_str `{old}` did not appear verbatim in {shown}."


def _lines_of(text: str, old: str) -> list[int]:
    lines, start = [], text.find(old)
    while start != -1 and old:
        lines.append(text[:start].count("\n") + 1)
        start = text.find(old, start + 1)
    return lines


def _decoded(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"The file {shown} is not text.") from error


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def _size(n_bytes: int) -> str:
    size, units = float(n_bytes), ["B", "K", "M", "G"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{int(size)}{units[0]}" if size == int(size) else f"{size:.1f}{units[0]}"
