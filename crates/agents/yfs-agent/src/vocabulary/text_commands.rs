//! One tool with a `command`: `memory` for a model's notes below `/memories`, and
//! `str_replace_based_edit_tool` for files anywhere. Both have the same commands and the same core;
//! their texts are those of Anthropic's tools.

mod texts;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use yfs_types::path::VPath;
use yfs_vfs::{CreateMode, FileKind, FileSystemExt, FsCode, FsError, Op, WalkOptions};

use self::texts::{inserted_after, lines_between, listing, replaced_with_snippet};
use super::shared::{as_error, as_message, path_of, remove, rename};
use crate::{
    registered_tool::RegisteredTool,
    tool_call::ToolCall,
    tool_outcome::{ToolFailure, ToolOutcome, in_words, text_answer},
};

/// The directory of a model's notes.
const MEMORIES: &str = "/memories";

/// The most lines of a file that is viewed.
const MAX_LINES: usize = 999_999;

/// The most objects of a directory that is viewed, at any depth.
const MAX_LISTED: usize = 100_000;

records! { arguments:
/// Arguments of `memory`.
MemoryInput {
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
/// Arguments of `str_replace_based_edit_tool`.
TextEditorInput {
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

/// An object that a command is about.
struct CommandObject<'a> {
    call: &'a ToolCall,
    place: CommandPlace,
    path: VPath,
    /// The path as the model wrote it.
    text: &'a str,
}

/// Returns the tool `memory`.
pub(super) fn memory_tools() -> Vec<RegisteredTool> {
    tools! { as_message;
        memory "Memory" CHANGES:
            "Keeps notes in files below /memories, which outlive the conversation: view, create, \
             str_replace, insert, delete and rename. View /memories first.";
    }
}

/// Returns the tool `str_replace_based_edit_tool`.
pub(super) fn text_editor_tools() -> Vec<RegisteredTool> {
    tools! { as_error;
        str_replace_based_edit_tool "Text editor" CHANGES:
            "Views files and directories, creates files, and changes them: view, create, \
             str_replace and insert.";
    }
}

async fn memory(call: ToolCall, input: MemoryInput) -> ToolOutcome {
    let place = CommandPlace { in_memories: true };
    if let MemoryCommandName::Rename = input.command {
        let (old, new) = (needed(input.old_path, "old_path")?, needed(input.new_path, "new_path")?);
        return move_to(&call, place, &old, &new).await;
    }
    let text = needed(input.path, "path")?;
    let object = place.resolve(&call, &text).await?;
    match input.command {
        MemoryCommandName::View => object.view(input.view_range).await,
        MemoryCommandName::Create => object.create(input.file_text).await,
        MemoryCommandName::StrReplace => object.str_replace(input.old_str, input.new_str).await,
        MemoryCommandName::Insert => object.insert(input.insert_line, input.insert_text).await,
        MemoryCommandName::Delete => object.delete().await,
        MemoryCommandName::Rename => Err(ToolFailure::refused("rename has no path")),
    }
}

async fn str_replace_based_edit_tool(call: ToolCall, input: TextEditorInput) -> ToolOutcome {
    let place = CommandPlace { in_memories: false };
    let object = place.resolve(&call, &input.path).await?;
    match input.command {
        TextEditorCommandName::View => object.view(input.view_range).await,
        TextEditorCommandName::Create => object.create(input.file_text).await,
        TextEditorCommandName::StrReplace => object.str_replace(input.old_str, input.new_str).await,
        TextEditorCommandName::Insert => object.insert(input.insert_line, input.insert_text).await,
    }
}

fn needed<T>(value: Option<T>, name: &str) -> Result<T, ToolFailure> {
    value.ok_or_else(|| ToolFailure::refused(format!("this command needs `{name}`")))
}

/// Returns an error of the filesystem in the words of these tools.
fn words_of(error: &FsError, text: &str) -> Option<String> {
    match error.code {
        FsCode::ENOENT | FsCode::ENOTDIR => {
            Some(format!("The path {text} does not exist. Please provide a valid path."))
        }
        FsCode::EISDIR => Some(format!("The path {text} is not a file.")),
        _ => None,
    }
}

impl CommandPlace {
    /// Returns the object at a path that a model wrote, if it lies in the place, through links as
    /// well.
    async fn resolve<'a>(
        self,
        call: &'a ToolCall,
        text: &'a str,
    ) -> Result<CommandObject<'a>, ToolFailure> {
        if !self.in_memories {
            return Ok(CommandObject { call, place: self, path: path_of(text)?, text });
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
                Ok(real) if !is_note(&real) => return escapes(),
                Ok(_) => break,
                Err(_) => existing = above.parent(),
            }
        }
        Ok(CommandObject { call, place: self, path, text })
    }
}

/// Reports whether a path without links lies below [`MEMORIES`].
fn is_note(real: &VPath) -> bool {
    real.as_str().starts_with("/memories/")
}

impl CommandObject<'_> {
    fn is_memories(&self) -> bool {
        self.place.in_memories && self.path.as_str() == MEMORIES
    }

    async fn view(&self, range: Option<Vec<i64>>) -> ToolOutcome {
        let text = self.text;
        let refuse = |reason: String| Err(ToolFailure::Refused(reason));
        match self.call.fs().stat(&self.path).await.map(|stat| stat.kind) {
            Ok(FileKind::Directory) if range.is_some() => {
                refuse("view_range is not allowed for a directory".to_owned())
            }
            Ok(FileKind::Directory) => self.view_directory().await,
            Ok(FileKind::File) => self.view_file(range).await,
            Ok(_) => refuse(format!("Unsupported file type for {text}")),
            Err(error) if error.code == FsCode::ENOENT && self.is_memories() => {
                Ok(text_answer(listing(text, &[], &self.path)))
            }
            Err(error) => in_words(Err(error), |error| words_of(error, text)),
        }
    }

    async fn view_directory(&self) -> ToolOutcome {
        let fs = self.call.fs();
        let options =
            WalkOptions { hidden: false, max_entries: MAX_LISTED, ..WalkOptions::default() };
        let mut entries = fs.walk(&self.path, &options).await?;
        if self.place.in_memories {
            // A link that leaves the notes, or leads nowhere, is none of them.
            let mut leaving = HashSet::new();
            for item in entries.iter().filter(|item| item.entry.kind == FileKind::Symlink) {
                if !fs.realpath(&item.path).await.is_ok_and(|real| is_note(&real)) {
                    leaving.insert(item.path.clone());
                }
            }
            entries.retain(|item| !leaving.contains(&item.path));
        }
        Ok(text_answer(listing(self.text, &entries, &self.path)))
    }

    async fn view_file(&self, range: Option<Vec<i64>>) -> ToolOutcome {
        let text = self.text;
        let read = self.call.read(&self.path).await;
        let content = in_words(read, |error| words_of(error, text))?;
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
        let shown = lines_between(&lines, first, last);
        Ok(text_answer(format!("Here's the content of {text} with line numbers:\n{shown}")))
    }

    async fn create(&self, content: Option<String>) -> ToolOutcome {
        let (content, text) = (needed(content, "file_text")?, self.text);
        let created = self.call.write(&self.path, content.into(), CreateMode::New).await;
        in_words(created, |error| {
            let exists = matches!(error.code, FsCode::EEXIST | FsCode::EISDIR);
            exists.then(|| format!("File {text} already exists"))
        })?;
        Ok(text_answer(format!("File created successfully at: {text}")))
    }

    async fn str_replace(&self, old: Option<String>, new: Option<String>) -> ToolOutcome {
        let (old, new) = (needed(old, "old_str")?, new.unwrap_or_default());
        let change = |content: &str| replaced_with_snippet(content, &old, &new, self.text);
        let changed = self.call.rewrite(&self.path, change).await;
        let (_, snippet) = in_words(changed, |error| words_of(error, self.text))?;
        let what = if self.place.in_memories { "memory file" } else { "file" };
        Ok(text_answer(format!(
            "The {what} has been edited. Here is the snippet showing the change (with line \
             numbers):\n{snippet}"
        )))
    }

    async fn insert(&self, line: Option<i64>, inserted: Option<String>) -> ToolOutcome {
        let line = needed(line, "insert_line")?;
        let (inserted, text) = (needed(inserted, "insert_text")?, self.text);
        let change = |content: &str| {
            let n_lines = content.split_inclusive('\n').count();
            match usize::try_from(line).ok().filter(|at| *at <= n_lines) {
                Some(at) => Ok((inserted_after(content, at, &inserted), ())),
                None => Err(ToolFailure::refused(format!(
                    "Invalid `insert_line` parameter: {line}. It should be within the range [0, \
                     {n_lines}].",
                ))),
            }
        };
        in_words(self.call.rewrite(&self.path, change).await, |error| words_of(error, text))?;
        Ok(text_answer(format!("The file {text} has been edited.")))
    }

    async fn delete(&self) -> ToolOutcome {
        let text = self.text;
        if self.is_memories() {
            return Err(ToolFailure::refused("Cannot delete the /memories directory itself"));
        }
        in_words(remove(self.call, &self.path, true).await, |error| {
            (error.code == FsCode::ENOENT).then(|| format!("The path {text} does not exist"))
        })?;
        Ok(text_answer(format!("Successfully deleted {text}")))
    }
}

async fn move_to(call: &ToolCall, place: CommandPlace, old: &str, new: &str) -> ToolOutcome {
    let (from, to) = (place.resolve(call, old).await?, place.resolve(call, new).await?);
    if from.is_memories() {
        return Err(ToolFailure::refused("Cannot rename the /memories directory itself"));
    }
    let exists = format!("The destination {new} already exists");
    // Moving an object onto itself succeeds in the filesystem.
    if from.path == to.path && call.fs().lstat(&to.path).await.is_ok() {
        return Err(ToolFailure::Refused(exists));
    }
    let moved = rename(call, &from.path, &to.path, true).await;
    in_words(moved.map_err(|error| error.during(Op::Rename)), |error| match error.code {
        FsCode::EEXIST => Some(exists),
        FsCode::ENOENT => Some(format!("The path {old} does not exist")),
        _ => None,
    })?;
    Ok(text_answer(format!("Successfully renamed {old} to {new}")))
}
