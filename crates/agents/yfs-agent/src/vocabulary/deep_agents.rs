//! The tools of deepagents and of `docs/spec/agent-backends.md`.
//!
//! Their texts are the contract: agents and tests compare them. Where deepagents changes a file's
//! line endings or cannot reach the rest of a long line, these tools do not.

mod commands;
mod listing;
mod read_window;
mod searches;

use yfs_types::path::VPath;
use yfs_vfs::{CreateMode, EditRefusal, FileKind, FsCode, FsError, LinePage, TextReplacement};

use self::{
    commands::execute,
    listing::format_paths,
    read_window::format_window,
    searches::{glob, grep},
};
use super::{
    DeepAgentsProfile,
    shared::{as_error, exact_lines, path_of, remove},
};
use crate::{
    large_results::keep_items,
    media::{is_media, media_block},
    permissions::PermissionRefusal,
    registered_tool::RegisteredTool,
    tool::ToolReply,
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome, in_words, text_answer},
};

/// The number of lines that `read_file` returns if the caller names none.
const DEFAULT_LINES: i64 = 100;

/// The largest file that is not text and that `read_file` returns, in bytes.
const MAX_BINARY_LEN: usize = 512_000;

records! { arguments:
LsInput {
    /// Absolute path of the directory.
    path: String,
}
ReadFileInput {
    /// Absolute path of the file.
    file_path: String,
    /// Line to begin at, counted from 0.
    #[serde(default)]
    offset: i64,
    /// The greatest number of lines.
    #[serde(default = "default_lines")]
    limit: i64,
    /// Characters of the first line to skip, to read on in a line that was cut.
    #[serde(default)]
    char_offset: usize,
}
WriteFileInput {
    /// Absolute path of the file.
    file_path: String,
    /// The whole content.
    content: String,
}
EditFileInput {
    /// Absolute path of the file.
    file_path: String,
    /// The text to replace, exactly as in the file. It must occur once, unless `replace_all`.
    old_string: String,
    /// The text that replaces it.
    new_string: String,
    /// Whether every occurrence is replaced. Default false.
    #[serde(default)]
    replace_all: bool,
}
DeleteInput {
    /// Absolute path of the file or directory.
    file_path: String,
}
}

records! { results:
LsOutput {
    /// The entries, in the order of their names.
    entries: Vec<LsOutputEntry>,
    /// Whether there are more.
    truncated: bool,
}
LsOutputEntry {
    /// The absolute path; of a directory, with a slash at the end.
    path: String,
    /// Whether it is a directory.
    is_dir: bool,
    /// The size in bytes.
    size: u64,
    /// The time of the last change, in milliseconds since 1970.
    modified_at: i64,
}
/// A window of a text file.
ReadFileOutput {
    /// The lines that are shown whole, exactly as in the file: windows joined are the file.
    content: String,
    /// The number of the first line, counted from 1.
    start_line: u64,
    /// The number of lines in the file.
    total_lines: u64,
    /// Where to read on, if the file goes on.
    next_offset: Option<u64>,
    /// The characters of that line that were shown already.
    next_char_offset: usize,
    /// The version of the file.
    version: String,
}
}

fn default_lines() -> i64 {
    DEFAULT_LINES
}

/// Returns the tools of a profile.
pub(super) fn tools(profile: DeepAgentsProfile) -> Vec<RegisteredTool> {
    let replaces = profile == DeepAgentsProfile::Replacing;
    let write = match replaces {
        false => tools! { as_error;
            write_file(|call, input| write_file(call, input, CreateMode::New))
            "Write a file" CREATES:
                "Creates a file and its missing directories. An existing file is an error: edit it \
                 instead.";
        },
        true => tools! { as_error;
            write_file(|call, input| write_file(call, input, CreateMode::IfMissing))
            "Write a file" SETS:
                "Replaces the content of a file, or creates the file and its missing directories. \
                 Changes that others made since you read the file are kept.";
        },
    };
    let mut tools = tools! { as_error;
        ls "List a directory" READS: "Lists the entries of a directory.";
        read_file "Read a file" READS:
            "Returns lines of a text file, below a header `@@ lines a-b of n | ... @@` that is \
             not part of the file. Reads 100 lines unless `limit` says otherwise; `offset` pages. \
             Images, sounds and documents are returned as such.", without_output_schema();
        edit_file "Edit a file" CHANGES:
            "Replaces an exact text in a file. Leave out the header of read_file. Edits by others \
             at the same time are kept.";
        delete "Delete" SETS: "Deletes a file, or a directory with all its content.";
        glob "Find files" READS:
            "Finds files by a pattern of their paths, and returns absolute paths.";
        grep "Find text" READS: "Finds a literal text in files; it is not a regular expression.";
        execute "Run a command" RUNS:
            "Runs a command line in a shell, and returns what it printed and its exit code.",
            needs(|session| session.executor().is_some());
    };
    tools.splice(2..2, write);
    tools.retain(|tool| replaces || tool.definition.name != "delete");
    tools
}

/// Returns an error of the filesystem in the words of deepagents.
fn words_of(error: &FsError, access: &str, path: &VPath) -> Option<String> {
    match error.code {
        FsCode::ENOENT => Some(format!("File '{path}' not found")),
        FsCode::EACCES | FsCode::EPERM => {
            let refusal = error.source.as_ref().and_then(|source| source.downcast_ref());
            let hint = refusal.map_or_else(String::new, PermissionRefusal::hint);
            Some(format!("permission denied for {access} on {path}{hint}"))
        }
        _ => None,
    }
}

async fn ls(call: ToolCall, input: LsInput) -> ToolOutcome<LsOutput> {
    let path = path_of(&input.path)?;
    let entries = in_words(call.fs().readdir(&path).await, |error| match error.code {
        FsCode::ENOENT => Some(format!("Path '{path}': path_not_found")),
        FsCode::ENOTDIR => Some(format!("Path '{path}': not_a_directory")),
        _ => words_of(error, "read", &path),
    })?;
    let entries = entries.into_iter().map(|entry| {
        let is_dir = entry.kind == FileKind::Directory;
        let slash = if is_dir { "/" } else { "" };
        LsOutputEntry {
            path: format!("{}{slash}", path.join(&entry.name)),
            is_dir,
            size: entry.size,
            modified_at: entry.mtime.0,
        }
    });
    let entries: Vec<LsOutputEntry> = entries.collect();
    let max_chars = call.session().limits().max_list_chars;
    let text = format_paths(entries.iter().map(|entry| &*entry.path), max_chars);
    let (entries, truncated) = keep_items(entries, max_chars);
    Ok(ToolAnswer::new(text, &LsOutput { entries, truncated }))
}

async fn read_file(call: ToolCall, input: ReadFileInput) -> ToolOutcome<ReadFileOutput> {
    let path = path_of(&input.file_path)?;
    let read = in_words(call.read(&path).await, |error| words_of(error, "read", &path))?;
    let text = std::str::from_utf8(&read.data).ok().filter(|_| !is_media(&path));
    let Some(text) = text else {
        if read.data.len() > MAX_BINARY_LEN {
            return Err(ToolFailure::refused(format!(
                "File '{path}': Binary file exceeds maximum preview size of {MAX_BINARY_LEN} bytes"
            )));
        }
        let blocks = vec![media_block(&path, read.data)];
        return Ok(ToolAnswer::plain(ToolReply { blocks, ..ToolReply::default() }));
    };
    let remind = |text| Ok(ToolAnswer::plain(ToolReply::text(format!("System reminder: {text}"))));
    if text.trim().is_empty() {
        return remind("File exists but has empty contents".to_owned());
    }
    if input.limit <= 0 {
        return remind(format!(
            "no lines were read because `limit` was {}. The file was not inspected and may have \
             contents; retry with `limit` >= 1 to read it.",
            input.limit
        ));
    }
    let offset = u64::try_from(input.offset).unwrap_or(0);
    let page = LinePage::of(&read.data, offset, input.limit.unsigned_abs(), read.version.clone());
    let total_lines = page.n_total.unwrap_or_default();
    if page.lines.is_empty() {
        return Err(ToolFailure::refused(format!(
            "Line offset {offset} exceeds file length ({total_lines} lines)"
        )));
    }
    let notice = (input.offset < 0).then(|| {
        let asked = input.offset;
        format!(
            "[Requested offset {asked} is before the start of the file; read from line 1 instead.]"
        )
    });
    let window = format_window(&page, input.char_offset, notice.as_slice());
    let output = ReadFileOutput {
        content: exact_lines(&page, window.n_lines),
        start_line: page.offset + 1,
        total_lines,
        next_offset: window.next.map(|(offset, _)| offset),
        next_char_offset: window.next.map_or(0, |(_, skipped)| skipped),
        version: read.version.to_string(),
    };
    Ok(ToolAnswer::new(window.text, &output))
}

async fn write_file(call: ToolCall, input: WriteFileInput, create: CreateMode) -> ToolOutcome {
    let path = path_of(&input.file_path)?;
    let written = call.write(&path, input.content.into(), create).await;
    let written = in_words(written, |error| match error.code {
        FsCode::EEXIST => Some(format!(
            "Cannot write to {path} because it already exists. Read and then make an edit, or \
             write to a new path."
        )),
        FsCode::ENOENT => None,
        _ => words_of(error, "write", &path),
    })?;
    Ok(text_answer(format!("Updated file {path}{}", written.note())))
}

async fn edit_file(call: ToolCall, input: EditFileInput) -> ToolOutcome {
    let path = path_of(&input.file_path)?;
    let EditFileInput { old_string, new_string, replace_all, .. } = input;
    let edit =
        TextReplacement { all: replace_all, ..TextReplacement::once(&old_string, new_string) };
    let edited = match call.edit(&path, edit).await {
        Err(error) => {
            let refusal = match error.edit_refusal() {
                Some(refusal) => edit_words(&call, &path, &old_string, refusal).await,
                None => None,
            };
            in_words(Err(error), |error| refusal.or_else(|| words_of(error, "write", &path)))?
        }
        Ok(edited) => edited,
    };
    let n_replaced = edited.n_replaced;
    let mut text =
        format!("Successfully replaced {n_replaced} instance(s) of the string in '{path}'");
    if edited.changed_since_read {
        text.push_str("\n\nOthers changed the file since you read it; their changes are kept.");
    }
    Ok(text_answer(text))
}

/// Returns the reason of a rejected edit in the words of deepagents.
async fn edit_words(
    call: &ToolCall,
    path: &VPath,
    old: &str,
    refusal: &EditRefusal,
) -> Option<String> {
    Some(match refusal {
        EditRefusal::EmptyOld => {
            "old_string cannot be empty. Provide the exact text to replace.".to_owned()
        }
        EditRefusal::NotText => "Cannot edit binary files with text replacements.".to_owned(),
        EditRefusal::Ambiguous { n_found, .. } => format!(
            "String '{old}' appears {n_found} times in file. Use replace_all=True to replace all \
             instances, or provide a more specific string with surrounding context."
        ),
        EditRefusal::NotFound => {
            let now = call.fs().read(path).await.map(|read| read.data).unwrap_or_default();
            let now = String::from_utf8_lossy(&now);
            let stripped = old.strip_suffix('\n').filter(|stripped| !stripped.is_empty());
            match stripped.filter(|stripped| now.ends_with(stripped)) {
                Some(stripped) => eof_newline_hint(now.matches(stripped).count()),
                None => format!("String not found in file: '{old}'"),
            }
        }
        _ => return None,
    })
}

fn eof_newline_hint(n_found: usize) -> String {
    let hint = "old_string ends with a newline, but the file does not end with a newline.";
    match n_found {
        1 => format!(
            "{hint} Retry with the trailing newline removed from old_string (and from new_string \
             if it also ends with a newline)."
        ),
        _ => format!(
            "{hint} With the trailing newline removed, old_string would appear {n_found} times in \
             the file. Retry with the trailing newline removed and add surrounding context so the \
             match is unique."
        ),
    }
}

async fn delete(call: ToolCall, input: DeleteInput) -> ToolOutcome {
    let path = path_of(&input.file_path)?;
    in_words(remove(&call, &path, true).await, |error| match error.code {
        FsCode::ENOENT => Some(format!("'{path}' not found")),
        FsCode::ENOSYS => Some(format!("deletion is not supported for '{path}'.")),
        _ => words_of(error, "write", &path),
    })?;
    Ok(text_answer(format!("Deleted {path}")))
}
