//! The tools of `docs/spec/agent-tools.md`: one tool per operation, with short names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yfs_vfs::{
    CopyOptions, CreateMode, FileKind, FileSystemExt, LinePage, MkdirOptions, MoveOptions,
    RemoveOptions, TextReplacement,
};

use super::shared::{ToolFailure, ToolOutcome, path_of, text_reply, tool, unified_diff};
use crate::{
    catalog::{RegisteredTool, TextResult},
    large_results::{keep_items, keep_large_result},
    session::MergedWrite,
    tool::{ReplyBlock, ToolAnnotations, ToolReply},
    tool_call::ToolCall,
};

/// The number of lines that `fs_read_lines` returns if the caller names none.
const DEFAULT_LINES: u64 = 100;

/// The most replacements of one `fs_patch`.
const MAX_HUNKS: usize = 1_000;

/// A call with a path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsPathInput {
    /// Absolute path of the file or directory.
    path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsReadLinesInput {
    /// Absolute path of the file.
    path: String,
    /// First line to return, counted from 1. Default 1.
    offset: Option<u64>,
    /// Number of lines to return. Default 100.
    limit: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsWriteInput {
    /// Absolute path of the file.
    path: String,
    /// The whole new content.
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsEditInput {
    /// Absolute path of the file.
    path: String,
    /// The text to replace, exactly as in the file. It must occur exactly once.
    old_text: String,
    /// The text that replaces it.
    new_text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsDeleteInput {
    /// Absolute path of the file or directory.
    path: String,
    /// Whether a directory is deleted with all its content. Default false.
    #[serde(default)]
    recursive: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsTwoPathsInput {
    /// Absolute path of the existing file or directory.
    source: String,
    /// Absolute path that it gets.
    destination: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsDiffInput {
    /// Absolute path of the first file.
    file_a: String,
    /// Absolute path of the second file.
    file_b: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsPatchInput {
    /// Absolute path of the file.
    path: String,
    /// The replacements, applied in order: all of them or none.
    hunks: Vec<FsPatchHunk>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FsPatchHunk {
    /// The text to replace. It must occur exactly once when its turn comes.
    old_text: String,
    /// The text that replaces it.
    new_text: String,
}

/// A page of lines.
#[derive(Debug, Serialize, JsonSchema)]
struct FsLinesResult {
    /// The lines exactly as in the file; pages joined are the file.
    content: String,
    /// The number of the first line, counted from 1.
    first_line: u64,
    /// The number of lines in the file.
    total_lines: u64,
    /// The `offset` of the next page, if there is one.
    next_offset: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FsListResult {
    /// The entries, in the order of their names.
    entries: Vec<FsListEntry>,
    /// Whether there are more.
    truncated: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FsListEntry {
    /// The name.
    name: String,
    /// `file`, `directory`, `symlink` or `other`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The size in bytes; 0 for a directory.
    size: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FsStatResult {
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
#[derive(Debug, Serialize, JsonSchema)]
struct FsChangeResult {
    /// The text of the reply.
    content: String,
    /// Whether others had changed the file since it was read. Their changes are kept.
    merged: bool,
}

/// Returns the tools.
pub(super) fn tools() -> Vec<RegisteredTool> {
    let mut tools = reading_tools();
    tools.extend(changing_tools());
    tools
}

fn reading_tools() -> Vec<RegisteredTool> {
    let read = ToolAnnotations::reading();
    vec![
        tool::<_, TextResult, _, _>(
            "fs_read",
            "Read a file",
            "Returns the content of a text file.",
            read,
            fs_read,
        ),
        tool::<_, FsLinesResult, _, _>(
            "fs_read_lines",
            "Read lines",
            "Returns a range of lines of a text file, each with its number.",
            read,
            fs_read_lines,
        ),
        tool::<_, FsListResult, _, _>(
            "fs_list",
            "List a directory",
            "Lists the entries of a directory as JSON: name, type, size.",
            read,
            fs_list,
        ),
        tool::<_, FsStatResult, _, _>(
            "fs_stat",
            "Describe",
            "Returns name, size, mode, time of the last change and kind.",
            read,
            fs_stat,
        ),
        tool::<_, TextResult, _, _>(
            "fs_diff",
            "Compare two files",
            "Returns a unified diff of two text files; empty if they are equal.",
            read,
            fs_diff,
        ),
    ]
}

fn changing_tools() -> Vec<RegisteredTool> {
    let (add, change) = (ToolAnnotations::adding(), ToolAnnotations::changing());
    vec![
        tool::<_, FsChangeResult, _, _>(
            "fs_write",
            "Write a file",
            "Replaces the content of a file, or creates it with its directories. If others \
             changed the file since you read it, their changes are kept.",
            change.idempotent(),
            fs_write,
        ),
        tool::<_, FsChangeResult, _, _>(
            "fs_edit",
            "Edit a file",
            "Replaces a text in a file. The text must occur exactly once.",
            change,
            fs_edit,
        ),
        tool::<_, TextResult, _, _>(
            "fs_delete",
            "Delete",
            "Deletes a file, or a directory: with all its content if `recursive`.",
            change.idempotent(),
            fs_delete,
        ),
        tool::<_, TextResult, _, _>(
            "fs_move",
            "Move or rename",
            "Moves or renames a file or directory. An existing destination is an error.",
            change,
            fs_move,
        ),
        tool::<_, TextResult, _, _>(
            "fs_copy",
            "Copy",
            "Copies a file, or a directory with all its content. An existing file at the \
             destination is replaced.",
            change.idempotent(),
            fs_copy,
        ),
        tool::<_, FsChangeResult, _, _>(
            "fs_patch",
            "Apply replacements",
            "Replaces several texts in one file: all of them or none.",
            change,
            fs_patch,
        ),
        tool::<_, TextResult, _, _>(
            "fs_mkdir",
            "Create a directory",
            "Creates a directory and its missing parents.",
            add.idempotent(),
            fs_mkdir,
        ),
    ]
}

async fn fs_read(call: ToolCall, input: FsPathInput) -> ToolOutcome {
    let content = call.read(&path_of(&input.path)?).await?;
    Ok(text_reply(text_of(&input.path, &content.data)?))
}

async fn fs_read_lines(call: ToolCall, input: FsReadLinesInput) -> ToolOutcome {
    let content = call.read(&path_of(&input.path)?).await?;
    let text = text_of(&input.path, &content.data)?;
    let first = input.offset.unwrap_or(1).max(1);
    let limit = input.limit.unwrap_or(DEFAULT_LINES).max(1);
    let page = LinePage::of(text.as_bytes(), first - 1, limit, content.version);
    let total_lines = page.n_total.unwrap_or_default();
    let mut content = page.lines.join("\n");
    if page.ends_with_newline {
        content.push('\n');
    }
    let last = first + page.lines.len() as u64 - u64::from(!page.lines.is_empty());
    let mut shown = format!("[Lines {first}-{last} of {total_lines}]\n");
    if page.lines.is_empty() {
        shown = format!("[No lines at {first} of {total_lines}]\n");
    }
    for (number, line) in (first..).zip(&page.lines) {
        shown.push_str(&format!("{number:>6}→{line}\n"));
    }
    let next_offset = page.next_offset.map(|offset| offset + 1);
    let result = FsLinesResult { content, first_line: first, total_lines, next_offset };
    Ok(ToolReply::text(shown).with_structured(&result))
}

async fn fs_write(call: ToolCall, input: FsWriteInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    let n_bytes = input.content.len();
    let written = call.write(&path, input.content.into(), CreateMode::IfMissing).await?;
    Ok(change_reply(format!("Wrote {n_bytes} bytes to {path}"), &written))
}

async fn fs_edit(call: ToolCall, input: FsEditInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    let edited = call.edit(&path, TextReplacement::once(input.old_text, input.new_text)).await?;
    let content = format!("Edited {path}");
    let result = FsChangeResult { content, merged: edited.changed_since_read };
    Ok(ToolReply::text(result.content.clone()).with_structured(&result))
}

async fn fs_list(call: ToolCall, input: FsPathInput) -> ToolOutcome {
    let entries = call.fs().readdir(&path_of(&input.path)?).await?;
    let entries = entries.into_iter().map(|entry| FsListEntry {
        name: entry.name.to_string(),
        kind: kind_word(entry.kind),
        size: entry.size,
    });
    let n_entries = entries.len();
    let (entries, truncated) = keep_items(entries, call.session().limits().max_list_chars);
    let text = serde_json::to_string(&entries).unwrap_or_default();
    let mut reply = ToolReply::text(text);
    if truncated {
        // Beside the list, which stays JSON.
        let note = format!("... [the first {} of {n_entries} entries]", entries.len());
        reply.blocks.push(ReplyBlock::Text(note));
    }
    Ok(reply.with_structured(&FsListResult { entries, truncated }))
}

async fn fs_delete(call: ToolCall, input: FsDeleteInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    let options = RemoveOptions { recursive: input.recursive, force: false };
    call.fs().rm(&path, &options).await?;
    Ok(text_reply(format!("Deleted {path}")))
}

async fn fs_move(call: ToolCall, input: FsTwoPathsInput) -> ToolOutcome {
    let (from, to) = (path_of(&input.source)?, path_of(&input.destination)?);
    call.fs().mv(&from, &to, &MoveOptions { replace: false, parents: true }).await?;
    Ok(text_reply(format!("Moved {from} to {to}")))
}

async fn fs_copy(call: ToolCall, input: FsTwoPathsInput) -> ToolOutcome {
    let (from, to) = (path_of(&input.source)?, path_of(&input.destination)?);
    let options = CopyOptions { recursive: true, ..CopyOptions::default() };
    call.scope().declare_only_read(&from);
    call.fs().cp(&from, &to, &options).await?;
    Ok(text_reply(format!("Copied {from} to {to}")))
}

async fn fs_stat(call: ToolCall, input: FsPathInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    let stat = call.fs().stat(&path).await?;
    let result = FsStatResult {
        name: path.file_name().unwrap_or("/").to_owned(),
        size: stat.size,
        mode: mode_words(stat.kind, stat.mode),
        mod_time: stat.mtime.0,
        is_dir: stat.is_directory(),
    };
    let text = serde_json::to_string(&result).unwrap_or_default();
    Ok(ToolReply::text(text).with_structured(&result))
}

async fn fs_diff(call: ToolCall, input: FsDiffInput) -> ToolOutcome {
    let (a, b) = (path_of(&input.file_a)?, path_of(&input.file_b)?);
    let (old, new) = (call.read(&a).await?, call.read(&b).await?);
    let (old, new) = (text_of(&input.file_a, &old.data)?, text_of(&input.file_b, &new.data)?);
    let diff = unified_diff(&old, &new, (a.as_str(), b.as_str()), 3);
    Ok(text_reply(keep_large_result(&call, diff).await))
}

async fn fs_patch(call: ToolCall, input: FsPatchInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    let hunks = input.hunks;
    if hunks.is_empty() || hunks.len() > MAX_HUNKS {
        let n_hunks = hunks.len();
        let text = format!("a patch has 1 to {MAX_HUNKS} hunks, and this one has {n_hunks}");
        return Err(ToolFailure::refused(text));
    }
    let n_hunks = hunks.len();
    let (written, ()) = call.rewrite(&path, |text| apply_hunks(text, &hunks)).await?;
    Ok(change_reply(format!("Applied {n_hunks} hunks to {path}"), &written))
}

async fn fs_mkdir(call: ToolCall, input: FsPathInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    let existed = call.fs().exists(&path).await;
    call.fs().mkdir(&path, &MkdirOptions::recursive()).await?;
    let verb = if existed { "Exists already:" } else { "Created" };
    Ok(text_reply(format!("{verb} {path}")))
}

/// Applies the hunks one after the other.
fn apply_hunks(text: &str, hunks: &[FsPatchHunk]) -> Result<(String, ()), ToolFailure> {
    let mut text = text.to_owned();
    for (number, hunk) in (1..).zip(hunks) {
        let edit = TextReplacement::once(hunk.old_text.clone(), hunk.new_text.clone());
        let applied = edit.apply(&text);
        let refused = |error| ToolFailure::refused(format!("hunk {number}: {error}"));
        (text, _) = applied.map_err(refused)?;
    }
    Ok((text, ()))
}

fn change_reply(text: String, written: &MergedWrite) -> ToolReply {
    let content = text + &written.note();
    let result = FsChangeResult { content, merged: written.others.is_some() };
    ToolReply::text(result.content.clone()).with_structured(&result)
}

fn text_of(path: &str, data: &[u8]) -> Result<String, ToolFailure> {
    let text = std::str::from_utf8(data).map(ToOwned::to_owned);
    text.map_err(|_| ToolFailure::refused(format!("{path} is not UTF-8 text")))
}

fn kind_word(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        _ => "other",
    }
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
