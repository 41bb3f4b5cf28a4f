//! One tool with a `command`: `memory` for a model's notes below `/memories`, and
//! `str_replace_based_edit_tool` for files anywhere. Both have the same commands and the same core;
//! their texts are those of Anthropic's tools.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Deserialize;
use yfs_types::path::VPath;
use yfs_vfs::{
    CreateMode, FileKind, FileSystemExt, FsCode, FsError, MoveOptions, Op, RemoveOptions,
    WalkEntry, WalkOptions,
    edit::{FittedPassage, fit_passages},
};

use super::shared::{ToolFailure, ToolOutcome, by_message, or_error, path_of, text_reply};
use crate::{
    catalog::{RegisteredTool, TextResult, ToolWords},
    session::WriteFailure,
    tool::ToolAnnotations,
    tool_call::ToolCall,
};

/// The directory of a model's notes.
const MEMORIES: &str = "/memories";

/// The most lines of a file that is viewed.
const MAX_LINES: usize = 999_999;

/// The most objects of a directory that is viewed, at any depth.
const MAX_LISTED: usize = 100_000;

/// The lines that are shown before and after a change.
const SNIPPET_LINES: usize = 2;

/// Arguments of `memory`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryInput {
    /// What to do.
    command: MemoryCommandName,
    /// Path of a file or directory, which begins with `/memories`. All commands but `rename`.
    path: Option<String>,
    /// `view`: first and last line, counted from 1; -1 is the last line of the file.
    view_range: Option<Vec<i64>>,
    /// `create`: the content.
    file_text: Option<String>,
    /// `str_replace`: the text to replace, which must occur once.
    old_str: Option<String>,
    /// `str_replace`: the text that replaces it. Empty if absent.
    new_str: Option<String>,
    /// `insert`: the number of the line after which to insert; 0 is the beginning.
    insert_line: Option<i64>,
    /// `insert`: the text.
    insert_text: Option<String>,
    /// `rename`: the present path.
    old_path: Option<String>,
    /// `rename`: the new path, at which there must be nothing.
    new_path: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MemoryCommandName {
    View,
    Create,
    StrReplace,
    Insert,
    Delete,
    Rename,
}

/// Arguments of `str_replace_based_edit_tool`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TextEditorInput {
    /// What to do.
    command: TextEditorCommandName,
    /// Absolute path of a file or directory.
    path: String,
    /// `view`: first and last line, counted from 1; -1 is the last line of the file.
    view_range: Option<Vec<i64>>,
    /// `create`: the content.
    file_text: Option<String>,
    /// `str_replace`: the text to replace, which must occur once.
    old_str: Option<String>,
    /// `str_replace`: the text that replaces it. Empty if absent.
    new_str: Option<String>,
    /// `insert`: the number of the line after which to insert; 0 is the beginning.
    insert_line: Option<i64>,
    /// `insert`: the text.
    insert_text: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TextEditorCommandName {
    View,
    Create,
    StrReplace,
    Insert,
}

/// The words and the place of one of the two tools.
#[derive(Debug, Clone, Copy)]
struct CommandPlace {
    /// Whether paths must lie below [`MEMORIES`].
    in_memories: bool,
}

/// Returns the tool `memory`.
pub(super) fn memory_tools() -> Vec<RegisteredTool> {
    let words = ToolWords {
        name: "memory",
        title: "Memory",
        description: "Keeps notes in files below /memories, which outlive the conversation: \
            view, create, str_replace, insert, delete and rename. View /memories first.",
    };
    let run = |call, input| async move { by_message(run_memory(call, input).await) };
    vec![RegisteredTool::new::<MemoryInput, TextResult, _, _>(
        words,
        ToolAnnotations::changing(),
        run,
    )]
}

/// Returns the tool `str_replace_based_edit_tool`.
pub(super) fn text_editor_tools() -> Vec<RegisteredTool> {
    let words = ToolWords {
        name: "str_replace_based_edit_tool",
        title: "Text editor",
        description: "Views files and directories, creates files, and changes them: view, create, \
            str_replace and insert.",
    };
    let run = |call, input| async move { or_error(run_editor(call, input).await) };
    vec![RegisteredTool::new::<TextEditorInput, TextResult, _, _>(
        words,
        ToolAnnotations::changing(),
        run,
    )]
}

async fn run_memory(call: ToolCall, input: MemoryInput) -> ToolOutcome {
    let place = CommandPlace { in_memories: true };
    if let MemoryCommandName::Rename = input.command {
        let (old, new) = (needed(input.old_path, "old_path")?, needed(input.new_path, "new_path")?);
        return rename(&call, place, &old, &new).await;
    }
    let text = needed(input.path, "path")?;
    let path = place.resolve(&call, &text).await?;
    match input.command {
        MemoryCommandName::View => view(&call, place, &path, &text, input.view_range).await,
        MemoryCommandName::Create => {
            create(&call, &path, &text, needed(input.file_text, "file_text")?).await
        }
        MemoryCommandName::StrReplace => {
            let old = needed(input.old_str, "old_str")?;
            str_replace(&call, place, &path, &text, &old, &input.new_str.unwrap_or_default()).await
        }
        MemoryCommandName::Insert => {
            let line = needed(input.insert_line, "insert_line")?;
            insert(&call, &path, &text, line, &needed(input.insert_text, "insert_text")?).await
        }
        MemoryCommandName::Delete => delete(&call, &path, &text).await,
        MemoryCommandName::Rename => Err(ToolFailure::refused("rename has no path")),
    }
}

async fn run_editor(call: ToolCall, input: TextEditorInput) -> ToolOutcome {
    let place = CommandPlace { in_memories: false };
    let text = input.path;
    let path = place.resolve(&call, &text).await?;
    match input.command {
        TextEditorCommandName::View => view(&call, place, &path, &text, input.view_range).await,
        TextEditorCommandName::Create => {
            create(&call, &path, &text, needed(input.file_text, "file_text")?).await
        }
        TextEditorCommandName::StrReplace => {
            let old = needed(input.old_str, "old_str")?;
            str_replace(&call, place, &path, &text, &old, &input.new_str.unwrap_or_default()).await
        }
        TextEditorCommandName::Insert => {
            let line = needed(input.insert_line, "insert_line")?;
            insert(&call, &path, &text, line, &needed(input.insert_text, "insert_text")?).await
        }
    }
}

fn needed<T>(value: Option<T>, name: &str) -> Result<T, ToolFailure> {
    value.ok_or_else(|| ToolFailure::refused(format!("this command needs `{name}`")))
}

impl CommandPlace {
    /// Returns the path that a model wrote, if it lies in the place, through links as well.
    async fn resolve(self, call: &ToolCall, text: &str) -> Result<VPath, ToolFailure> {
        if !self.in_memories {
            return path_of(text);
        }
        let rest = text.strip_prefix(MEMORIES);
        if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            let text = format!("Path must start with {MEMORIES}, got: {text}");
            return Err(ToolFailure::Refused(text));
        }
        let escapes = || {
            let text = format!("Path {text} would escape {MEMORIES} directory");
            Err(ToolFailure::Refused(text))
        };
        let Ok(path) = path_of(text) else { return escapes() };
        let mut existing = Some(path.clone());
        while let Some(above) = existing.filter(|above| above.as_str() != MEMORIES) {
            match call.fs().realpath(&above).await {
                Ok(real) if !real.as_str().starts_with("/memories/") => {
                    return escapes();
                }
                Ok(_) => break,
                Err(_) => existing = above.parent(),
            }
        }
        Ok(path)
    }
}

fn missing(text: &str) -> ToolFailure {
    ToolFailure::refused(format!("The path {text} does not exist. Please provide a valid path."))
}

fn fs_failure(error: FsError, text: &str) -> ToolFailure {
    match error.code {
        FsCode::ENOENT | FsCode::ENOTDIR => missing(text),
        FsCode::EISDIR => ToolFailure::refused(format!("The path {text} is not a file.")),
        _ => ToolFailure::Fs(error),
    }
}

fn write_failure(failure: WriteFailure, text: &str) -> ToolFailure {
    match failure {
        WriteFailure::Fs(error) => fs_failure(error, text),
        failure => ToolFailure::Write(failure),
    }
}

async fn view(
    call: &ToolCall,
    place: CommandPlace,
    path: &VPath,
    text: &str,
    range: Option<Vec<i64>>,
) -> ToolOutcome {
    let kind = call.fs().stat(path).await.map(|stat| stat.kind);
    let is_new_memory = place.in_memories && path.as_str() == MEMORIES;
    match kind {
        Ok(FileKind::Directory) => {
            if range.is_some() {
                return Err(ToolFailure::refused("view_range is not allowed for a directory"));
            }
            view_directory(call, place, path, text).await
        }
        Ok(FileKind::File) => view_file(call, path, text, range).await,
        Ok(_) => Err(ToolFailure::refused(format!("Unsupported file type for {text}"))),
        Err(error) if error.code == FsCode::ENOENT && is_new_memory => {
            Ok(text_reply(listing(text, &[], path)))
        }
        Err(error) => Err(fs_failure(error, text)),
    }
}

async fn view_directory(
    call: &ToolCall,
    place: CommandPlace,
    path: &VPath,
    text: &str,
) -> ToolOutcome {
    let options = WalkOptions { hidden: false, max_entries: MAX_LISTED, ..WalkOptions::default() };
    let mut entries = call.fs().walk(path, &options).await?;
    if place.in_memories {
        // A link that leaves the notes, or leads nowhere, is none of them.
        let mut leaving = HashSet::new();
        for item in entries.iter().filter(|item| item.entry.kind == FileKind::Symlink) {
            let real = call.fs().realpath(&item.path).await;
            if !real.is_ok_and(|real| real.as_str().starts_with("/memories/")) {
                leaving.insert(item.path.clone());
            }
        }
        entries.retain(|item| !leaving.contains(&item.path));
    }
    Ok(text_reply(listing(text, &entries, path)))
}

/// Returns the entries down to two levels. A directory has the size of all files below it.
fn listing(text: &str, entries: &[WalkEntry], path: &VPath) -> String {
    let mut sizes: HashMap<&str, u64> = HashMap::new();
    for item in entries {
        let relative = item.path.relative_to(path).unwrap_or_default();
        let ends = relative.match_indices('/').take(2).map(|(at, _)| at);
        for end in ends.chain([0]) {
            *sizes.entry(&relative[..end]).or_default() += item.entry.size;
        }
    }
    let size_below = |relative: &str| sizes.get(relative).copied().unwrap_or_default();
    let mut lines = vec![
        format!(
            "Here're the files and directories up to 2 levels deep in {text}, excluding hidden \
             items:"
        ),
        format!("{}\t{text}", short_size(size_below(""))),
    ];
    for item in entries {
        let relative = item.path.relative_to(path).unwrap_or_default();
        if relative.matches('/').count() >= 2 {
            continue;
        }
        let is_directory = item.entry.kind == FileKind::Directory;
        let size = if is_directory { size_below(relative) } else { item.entry.size };
        let slash = if is_directory { "/" } else { "" };
        let above = text.trim_end_matches('/');
        lines.push(format!("{}\t{above}/{relative}{slash}", short_size(size)));
    }
    lines.join("\n")
}

/// Returns a size as `4.5K`, with a decimal only if it is not whole.
fn short_size(n_bytes: u64) -> String {
    let units = ["B", "K", "M", "G"];
    let unit = (n_bytes.max(1).ilog2() / 10).min(3);
    let scale = 1_u64 << (10 * unit);
    let name = units[unit as usize];
    match n_bytes % scale {
        0 => format!("{}{name}", n_bytes / scale),
        _ => format!("{:.1}{name}", n_bytes as f64 / scale as f64),
    }
}

async fn view_file(
    call: &ToolCall,
    path: &VPath,
    text: &str,
    range: Option<Vec<i64>>,
) -> ToolOutcome {
    let content = call.read(path).await.map_err(|error| fs_failure(error, text))?;
    let Ok(content) = std::str::from_utf8(&content.data) else {
        return Err(ToolFailure::refused(format!("Unsupported file type for {text}")));
    };
    let lines: Vec<&str> = content.split('\n').collect();
    if lines.len() > MAX_LINES {
        let text = format!("File {text} exceeds maximum line limit of 999,999 lines.");
        return Err(ToolFailure::Refused(text));
    }
    let (first, last) = match range.as_deref() {
        None => (1, lines.len()),
        Some([first, last]) => {
            let bounded = |line: i64| usize::try_from(line).unwrap_or(0);
            let last = if *last == -1 { lines.len() } else { bounded(*last).min(lines.len()) };
            (bounded(*first).max(1), last)
        }
        Some(_) => return Err(ToolFailure::refused("view_range has two numbers")),
    };
    let shown = numbered(&lines, first, last);
    Ok(text_reply(format!("Here's the content of {text} with line numbers:\n{shown}")))
}

/// Returns lines with their numbers, from the `first` to the `last`, counted from 1.
fn numbered(lines: &[&str], first: usize, last: usize) -> String {
    let rows = (1..).zip(lines).take(last).skip(first - 1);
    rows.map(|(number, line)| format!("{number:>6}\t{line}")).collect::<Vec<_>>().join("\n")
}

async fn create(call: &ToolCall, path: &VPath, text: &str, content: String) -> ToolOutcome {
    let created = call.write(path, content.into(), CreateMode::New).await;
    created.map_err(|failure| match &failure {
        WriteFailure::Fs(error) if matches!(error.code, FsCode::EEXIST | FsCode::EISDIR) => {
            ToolFailure::refused(format!("File {text} already exists"))
        }
        _ => ToolFailure::Write(failure),
    })?;
    Ok(text_reply(format!("File created successfully at: {text}")))
}

/// A failure of a change of text.
struct ChangeFailure(ToolFailure);

impl From<WriteFailure> for ChangeFailure {
    fn from(failure: WriteFailure) -> Self {
        Self(ToolFailure::Write(failure))
    }
}

fn change_failure(failure: ChangeFailure, text: &str) -> ToolFailure {
    match failure.0 {
        ToolFailure::Write(failure) => write_failure(failure, text),
        failure => failure,
    }
}

async fn str_replace(
    call: &ToolCall,
    place: CommandPlace,
    path: &VPath,
    text: &str,
    old: &str,
    new: &str,
) -> ToolOutcome {
    let refuse = |reason: String| Err(ChangeFailure(ToolFailure::Refused(reason)));
    let not_found = |old: &str| {
        format!("No replacement was performed, old_str `{old}` did not appear verbatim in {text}.")
    };
    let change = |content: &str| {
        if old.is_empty() {
            return refuse("No replacement was performed, old_str is empty.".to_owned());
        }
        let fitted = fit_passages(content, old, new);
        let [FittedPassage { old, new }] = &fitted[..] else {
            let lines = "different line ends";
            return refuse(match fitted.is_empty() {
                true => not_found(old),
                false => format!("No replacement was performed. old_str occurs with {lines}."),
            });
        };
        let found: Vec<usize> = content.match_indices(&**old).map(|(at, _)| at).collect();
        let line_at = |at: usize| content[..at].matches('\n').count() + 1;
        match found[..] {
            [] => refuse(not_found(old)),
            [at] => {
                let changed = content.replacen(&**old, new, 1);
                let lines: Vec<&str> = changed.split('\n').collect();
                let line = line_at(at);
                let first = line.saturating_sub(SNIPPET_LINES).max(1);
                let snippet = numbered(&lines, first, line + SNIPPET_LINES);
                Ok((changed, snippet))
            }
            _ => {
                let lines: Vec<String> = found.iter().map(|at| line_at(*at).to_string()).collect();
                refuse(format!(
                    "No replacement was performed. Multiple occurrences of old_str `{old}` in \
                     lines: {}. Please ensure it is unique",
                    lines.join(", ")
                ))
            }
        }
    };
    let changed = call.rewrite(path, change).await;
    let (_, snippet) = changed.map_err(|failure| change_failure(failure, text))?;
    let what = if place.in_memories { "memory file" } else { "file" };
    Ok(text_reply(format!(
        "The {what} has been edited. Here is the snippet showing the change (with line numbers):\n\
         {snippet}"
    )))
}

async fn insert(
    call: &ToolCall,
    path: &VPath,
    text: &str,
    line: i64,
    inserted: &str,
) -> ToolOutcome {
    let change = |content: &str| {
        let n_lines = content.split_inclusive('\n').count();
        let at = usize::try_from(line).ok().filter(|at| *at <= n_lines);
        let Some(at) = at else {
            return Err(ChangeFailure(ToolFailure::refused(format!(
                "Invalid `insert_line` parameter: {line}. It should be within the range [0, \
                 {n_lines}].",
            ))));
        };
        Ok((inserted_after(content, at, inserted), ()))
    };
    let changed = call.rewrite(path, change).await;
    changed.map_err(|failure| change_failure(failure, text))?;
    Ok(text_reply(format!("The file {text} has been edited.")))
}

async fn delete(call: &ToolCall, path: &VPath, text: &str) -> ToolOutcome {
    if path.as_str() == MEMORIES {
        return Err(ToolFailure::refused("Cannot delete the /memories directory itself"));
    }
    let options = RemoveOptions { recursive: true, force: false };
    let removed = call.fs().rm(path, &options).await;
    removed.map_err(|error| match error.code {
        FsCode::ENOENT => ToolFailure::refused(format!("The path {text} does not exist")),
        _ => ToolFailure::Fs(error),
    })?;
    Ok(text_reply(format!("Successfully deleted {text}")))
}

async fn rename(call: &ToolCall, place: CommandPlace, old: &str, new: &str) -> ToolOutcome {
    let (from, to) = (place.resolve(call, old).await?, place.resolve(call, new).await?);
    if from.as_str() == MEMORIES {
        return Err(ToolFailure::refused("Cannot rename the /memories directory itself"));
    }
    let exists = || ToolFailure::refused(format!("The destination {new} already exists"));
    // Moving an object onto itself succeeds in the filesystem.
    if from == to && call.fs().lstat(&to).await.is_ok() {
        return Err(exists());
    }
    let moved = call.fs().mv(&from, &to, &MoveOptions { replace: false, parents: true }).await;
    moved.map_err(|error| match error.code {
        FsCode::EEXIST => exists(),
        FsCode::ENOENT => ToolFailure::refused(format!("The path {old} does not exist")),
        _ => ToolFailure::Fs(error.during(Op::Rename)),
    })?;
    Ok(text_reply(format!("Successfully renamed {old} to {new}")))
}

/// Returns a text with further lines after one of its lines. No other byte changes: the new lines
/// end as their neighbor does, and a file without a line end at its end stays one.
fn inserted_after(content: &str, line: usize, inserted: &str) -> String {
    let mut before: usize = content.split_inclusive('\n').take(line).map(str::len).sum();
    if line == 0 && content.starts_with('\u{FEFF}') {
        before = '\u{FEFF}'.len_utf8();
    }
    let (before, after) = content.split_at(before);
    let neighbor = before.split_inclusive('\n').next_back().filter(|line| line.ends_with('\n'));
    let neighbor = neighbor.or_else(|| content.split_inclusive('\n').next());
    let end = if neighbor.is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let inserted = inserted.trim_end_matches(['\r', '\n']);
    let inserted = inserted.replace("\r\n", "\n").replace('\n', end);
    match before.is_empty() || before.ends_with(['\n', '\u{FEFF}']) {
        true => format!("{before}{inserted}{end}{after}"),
        false => format!("{before}{end}{inserted}{after}"),
    }
}
