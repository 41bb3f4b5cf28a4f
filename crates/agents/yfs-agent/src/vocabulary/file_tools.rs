//! The tools of `docs/spec/agent-tools.md`: one tool per operation, with short names.

use serde_json::to_string;
use yfs_vfs::{
    CopyOptions, CreateMode, FileKind, FileSystemExt, LinePage, MkdirOptions, TextReplacement,
};

use super::shared::{
    as_error, exact_lines, numbered, path_of, remove, rename, replaced_once, text_of, unified_diff,
};
use crate::{
    large_results::{keep_items, keep_large_result},
    registered_tool::RegisteredTool,
    session::MergedWrite,
    tool::{ReplyBlock, ToolReply},
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome, text_answer},
};

/// The number of lines that `fs_read_lines` returns if the caller names none.
const DEFAULT_LINES: u64 = 100;

/// The most replacements of one `fs_patch`.
const MAX_HUNKS: usize = 1_000;

records! { arguments:
/// A call with a path.
FsPathInput {
    /// Absolute path of the file or directory.
    path: String,
}
FsReadLinesInput {
    /// Absolute path of the file.
    path: String,
    /// First line to return, counted from 1. Default 1.
    offset: Option<u64>,
    /// Number of lines to return. Default 100.
    limit: Option<u64>,
}
FsWriteInput {
    /// Absolute path of the file.
    path: String,
    /// The whole new content.
    content: String,
}
FsEditInput {
    /// Absolute path of the file.
    path: String,
    /// The text to replace, exactly as in the file. It must occur exactly once.
    old_text: String,
    /// The text that replaces it.
    new_text: String,
}
FsDeleteInput {
    /// Absolute path of the file or directory.
    path: String,
    /// Whether a directory is deleted with all its content. Default false.
    #[serde(default)]
    recursive: bool,
}
FsTwoPathsInput {
    /// Absolute path of the existing file or directory.
    source: String,
    /// Absolute path that it gets.
    destination: String,
}
FsDiffInput {
    /// Absolute path of the first file.
    file_a: String,
    /// Absolute path of the second file.
    file_b: String,
}
FsPatchInput {
    /// Absolute path of the file.
    path: String,
    /// The replacements, applied in order: all of them or none.
    hunks: Vec<FsPatchHunk>,
}
FsPatchHunk {
    /// The text to replace. It must occur exactly once when its turn comes.
    old_text: String,
    /// The text that replaces it.
    new_text: String,
}
}

records! { results:
/// A page of lines.
FsLinesResult {
    /// The lines exactly as in the file; pages joined are the file.
    content: String,
    /// The number of the first line, counted from 1.
    first_line: u64,
    /// The number of lines in the file.
    total_lines: u64,
    /// The `offset` of the next page, if there is one.
    next_offset: Option<u64>,
}
FsListResult {
    /// The entries, in the order of their names.
    entries: Vec<FsListEntry>,
    /// Whether there are more.
    truncated: bool,
}
FsListEntry {
    /// The name.
    name: String,
    /// `file`, `directory`, `symlink` or `other`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The size in bytes; 0 for a directory.
    size: u64,
}
FsStatResult {
    /// The name.
    name: String,
    /// The size in bytes; 0 for a directory.
    size: u64,
    /// The permission bits, as `ls -l` prints them.
    mode: String,
    /// The time of the last change, in milliseconds since 1970.
    mod_time: i64,
    /// Whether it is a directory.
    is_dir: bool,
}
/// The result of changing a file.
FsChangeResult {
    /// The text of the reply.
    content: String,
    /// Whether others had changed the file since it was read. Their changes are kept.
    merged: bool,
}
}

/// Returns the tools.
pub(super) fn tools() -> Vec<RegisteredTool> {
    tools! { as_error;
        fs_read "Read a file" READS: "Returns the content of a text file.";
        fs_read_lines "Read lines" READS:
            "Returns a range of lines of a text file, each with its number.";
        fs_list "List a directory" READS:
            "Lists the entries of a directory as JSON: name, type, size.";
        fs_stat "Describe" READS:
            "Returns name, size, mode, time of the last change and kind.";
        fs_diff "Compare two files" READS:
            "Returns a unified diff of two text files; empty if they are equal.";
        fs_write "Write a file" SETS:
            "Replaces the content of a file, or creates it with its directories. If others \
             changed the file since you read it, their changes are kept.";
        fs_edit "Edit a file" CHANGES:
            "Replaces a text in a file. The text must occur exactly once.";
        fs_delete "Delete" SETS:
            "Deletes a file, or a directory: with all its content if `recursive`.";
        fs_move "Move or rename" CHANGES:
            "Moves or renames a file or directory. An existing destination is an error.";
        fs_copy "Copy" SETS:
            "Copies a file, or a directory with all its content. An existing file at the \
             destination is replaced.";
        fs_patch "Apply replacements" CHANGES:
            "Replaces several texts in one file: all of them or none.";
        fs_mkdir "Create a directory" ADDS: "Creates a directory and its missing parents.";
    }
}

async fn fs_read(call: ToolCall, input: FsPathInput) -> ToolOutcome {
    let content = call.read(&path_of(&input.path)?).await?;
    Ok(text_answer(text_of(&input.path, &content.data)?))
}

async fn fs_read_lines(call: ToolCall, input: FsReadLinesInput) -> ToolOutcome<FsLinesResult> {
    let content = call.read(&path_of(&input.path)?).await?;
    text_of(&input.path, &content.data)?;
    let first_line = input.offset.unwrap_or(1).max(1);
    let limit = input.limit.unwrap_or(DEFAULT_LINES).max(1);
    let page = LinePage::of(&content.data, first_line - 1, limit, content.version);
    let total_lines = page.n_total.unwrap_or_default();
    let shown = match first_line + page.lines.len() as u64 {
        end if end == first_line => format!("[No lines at {first_line} of {total_lines}]\n"),
        end => {
            let lines = numbered(first_line, &page.lines, '→');
            format!("[Lines {first_line}-{} of {total_lines}]\n{lines}\n", end - 1)
        }
    };
    let content = exact_lines(&page, page.lines.len());
    let next_offset = page.next_offset.map(|offset| offset + 1);
    let result = FsLinesResult { content, first_line, total_lines, next_offset };
    Ok(ToolAnswer::new(shown, &result))
}

async fn fs_write(call: ToolCall, input: FsWriteInput) -> ToolOutcome<FsChangeResult> {
    let path = path_of(&input.path)?;
    let n_bytes = input.content.len();
    let written = call.write(&path, input.content.into(), CreateMode::IfMissing).await?;
    Ok(written_answer(format!("Wrote {n_bytes} bytes to {path}"), &written))
}

async fn fs_edit(call: ToolCall, input: FsEditInput) -> ToolOutcome<FsChangeResult> {
    let path = path_of(&input.path)?;
    let edited = call.edit(&path, TextReplacement::once(input.old_text, input.new_text)).await?;
    Ok(change_answer(format!("Edited {path}"), edited.changed_since_read))
}

async fn fs_list(call: ToolCall, input: FsPathInput) -> ToolOutcome<FsListResult> {
    let entries = call.fs().readdir(&path_of(&input.path)?).await?;
    let n_entries = entries.len();
    let entries = entries.into_iter().map(|entry| FsListEntry {
        name: entry.name.to_string(),
        kind: match entry.kind {
            FileKind::File => "file",
            FileKind::Directory => "directory",
            FileKind::Symlink => "symlink",
            _ => "other",
        },
        size: entry.size,
    });
    let (entries, truncated) = keep_items(entries, call.session().limits().max_list_chars);
    let mut reply = ToolReply::text(to_string(&entries).unwrap_or_default());
    if truncated {
        // Beside the list, which stays JSON.
        let note = format!("... [the first {} of {n_entries} entries]", entries.len());
        reply.blocks.push(ReplyBlock::Text(note));
    }
    Ok(ToolAnswer::of(reply, &FsListResult { entries, truncated }))
}

async fn fs_delete(call: ToolCall, input: FsDeleteInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    remove(&call, &path, input.recursive).await?;
    Ok(text_answer(format!("Deleted {path}")))
}

async fn fs_move(call: ToolCall, input: FsTwoPathsInput) -> ToolOutcome {
    let (from, to) = (path_of(&input.source)?, path_of(&input.destination)?);
    rename(&call, &from, &to, true).await?;
    Ok(text_answer(format!("Moved {from} to {to}")))
}

async fn fs_copy(call: ToolCall, input: FsTwoPathsInput) -> ToolOutcome {
    let (from, to) = (path_of(&input.source)?, path_of(&input.destination)?);
    let options = CopyOptions { recursive: true, ..CopyOptions::default() };
    call.scope().declare_only_read(&from);
    call.fs().cp(&from, &to, &options).await?;
    Ok(text_answer(format!("Copied {from} to {to}")))
}

async fn fs_stat(call: ToolCall, input: FsPathInput) -> ToolOutcome<FsStatResult> {
    let path = path_of(&input.path)?;
    let stat = call.fs().stat(&path).await?;
    let result = FsStatResult {
        name: path.file_name().unwrap_or("/").to_owned(),
        size: stat.size,
        mode: mode_words(stat.kind, stat.mode),
        mod_time: stat.mtime.0,
        is_dir: stat.is_directory(),
    };
    Ok(ToolAnswer::new(to_string(&result).unwrap_or_default(), &result))
}

async fn fs_diff(call: ToolCall, input: FsDiffInput) -> ToolOutcome {
    let (a, b) = (path_of(&input.file_a)?, path_of(&input.file_b)?);
    let (old, new) = (call.read(&a).await?, call.read(&b).await?);
    let (old, new) = (text_of(&input.file_a, &old.data)?, text_of(&input.file_b, &new.data)?);
    let diff = unified_diff(old, new, (a.as_str(), b.as_str()), 3);
    Ok(text_answer(keep_large_result(&call, diff).await))
}

async fn fs_patch(call: ToolCall, input: FsPatchInput) -> ToolOutcome<FsChangeResult> {
    let path = path_of(&input.path)?;
    let n_hunks = input.hunks.len();
    if n_hunks == 0 || n_hunks > MAX_HUNKS {
        let text = format!("a patch has 1 to {MAX_HUNKS} hunks, and this one has {n_hunks}");
        return Err(ToolFailure::Refused(text));
    }
    let change = |text: &str| {
        let mut text = text.to_owned();
        for (number, hunk) in (1..).zip(&input.hunks) {
            let refused = |error| ToolFailure::refused(format!("hunk {number}: {error}"));
            text = replaced_once(&text, &hunk.old_text, &hunk.new_text).map_err(refused)?;
        }
        Ok::<_, ToolFailure>((text, ()))
    };
    let (written, ()) = call.rewrite(&path, change).await?;
    Ok(written_answer(format!("Applied {n_hunks} hunks to {path}"), &written))
}

async fn fs_mkdir(call: ToolCall, input: FsPathInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    let existed = call.fs().exists(&path).await;
    call.fs().mkdir(&path, &MkdirOptions::recursive()).await?;
    let verb = if existed { "Exists already:" } else { "Created" };
    Ok(text_answer(format!("{verb} {path}")))
}

fn written_answer(text: String, written: &MergedWrite) -> ToolAnswer<FsChangeResult> {
    change_answer(text + &written.note(), written.others.is_some())
}

fn change_answer(content: String, merged: bool) -> ToolAnswer<FsChangeResult> {
    ToolAnswer::new(content.clone(), &FsChangeResult { content, merged })
}

fn mode_words(kind: FileKind, mode: u32) -> String {
    let kind = match kind {
        FileKind::Directory => 'd',
        FileKind::Symlink => 'l',
        _ => '-',
    };
    let bits = (0..9).rev().map(|bit| match mode >> bit & 1 {
        1 => ['x', 'w', 'r'][bit % 3],
        _ => '-',
    });
    std::iter::once(kind).chain(bits).collect()
}
