//! The tools of deepagents and of `docs/spec/agent-backends.md`.
//!
//! Their texts are the contract: agents and tests compare them. Where deepagents changes a file's
//! line endings or cannot reach the rest of a long line, these tools do not.

mod listing;
mod read_window;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yfs_types::path::VPath;
use yfs_vfs::{
    CreateMode, EditRefusal, FileKind, FileSystemExt, FsCode, FsError, GlobQuery, GrepQuery,
    LinePage, RemoveOptions, SearchLimit, TextReplacement, grep::describe_binary,
};

use self::{
    listing::{format_matches, format_paths, regex_note},
    read_window::format_window,
};
use super::{
    DeepAgentsProfile,
    shared::{ToolFailure, ToolOutcome, edit_refusal, path_of, text_reply, tool},
};
use crate::{
    catalog::{RegisteredTool, TextResult, ToolNeed},
    execute::{ExecuteError, ExecuteOptions},
    large_results::{keep_items, keep_large_result},
    media::{is_media, media_block},
    permissions::PermissionRefusal,
    tool::{ToolAnnotations, ToolReply},
    tool_call::ToolCall,
};

/// The number of lines that `read_file` returns if the caller names none.
const DEFAULT_LINES: i64 = 100;

/// The largest file that is not text and that `read_file` returns, in bytes.
const MAX_BINARY_LEN: usize = 512_000;

/// The most matching lines of `grep` if the caller names no limit.
const DEFAULT_MATCHES: usize = 1_000;

/// The most paths of `glob`.
const MAX_PATHS: usize = 10_000;

/// The time after which `grep` returns what it has found.
const GREP_TIME: Duration = Duration::from_secs(15);

/// The longest time that a caller of `execute` may ask for.
const MAX_EXECUTE_SECONDS: i64 = 3_600;

const GREP_STOPPED: &str = "Note: the search stopped early (it hit its time limit or the maximum \
    match count). The matches above are valid but incomplete. Narrow the search (a more specific \
    pattern or a narrower path), or raise max_count, to see the rest.";

const GLOB_STOPPED: &str = "Note: the search stopped early because it hit its time or size limit. \
    The paths above are valid but incomplete. Narrow the search (a more specific pattern or a \
    narrower path) to see the rest.";

const GLOB_UNREADABLE: &str = "Note: some directories could not be read, so the paths above are \
    valid but incomplete. Narrowing the search will NOT reveal the missing files -- they are \
    inaccessible. Continue with what is listed, or report the access problem rather than retrying.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LsInput {
    /// Absolute path of the directory.
    path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFileInput {
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFileInput {
    /// Absolute path of the file.
    file_path: String,
    /// The whole content.
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFileInput {
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteInput {
    /// Absolute path of the file or directory.
    file_path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GlobInput {
    /// Pattern of the paths: `*`, `?`, `[abc]`, `{a,b}` within a name, `**` for any directories.
    /// One without `/` matches names at any depth, one that begins with `/` begins at the searched
    /// directory. Hidden names match only a pattern that begins with a dot.
    pattern: String,
    /// Absolute path of the directory to search. Default `/`.
    path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrepInput {
    /// Text to find, literally.
    pattern: String,
    /// Absolute path of the directory or file to search. Default `/`.
    path: Option<String>,
    /// Pattern of the files to search, as of the tool `glob`.
    glob: Option<String>,
    /// Form of the result: the files, the lines, or the number of lines of each file.
    #[serde(default)]
    output_mode: GrepOutputMode,
    /// The greatest number of matches in all. Default 1,000.
    #[schemars(range(min = 1))]
    max_count: Option<usize>,
}

/// The form in which matches are returned.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrepOutputMode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecuteInput {
    /// Command line of a POSIX shell.
    command: String,
    /// The longest time in seconds.
    timeout: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LsOutput {
    /// The entries, in the order of their names.
    entries: Vec<LsOutputEntry>,
    /// Whether there are more.
    truncated: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LsOutputEntry {
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
#[derive(Debug, Serialize, JsonSchema)]
struct ReadFileOutput {
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

#[derive(Debug, Serialize, JsonSchema)]
struct GlobOutput {
    /// The absolute paths.
    paths: Vec<String>,
    /// Whether there may be more.
    truncated: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GrepOutput {
    /// The matching lines.
    matches: Vec<GrepOutputLine>,
    /// Whether there may be more.
    truncated: bool,
    /// The number of files that were not searched because they are not text.
    n_binary: u64,
    /// The paths of the first 20 of these files.
    binary_paths: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GrepOutputLine {
    /// The absolute path of the file.
    path: String,
    /// The number of the line, counted from 1.
    line: u64,
    /// The line.
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExecuteOutput {
    /// What the command printed, or where that was saved.
    output: String,
    /// The exit code, unless a signal ended the command.
    exit_code: Option<i32>,
    /// Whether the command printed more.
    truncated: bool,
}

fn default_lines() -> i64 {
    DEFAULT_LINES
}

/// Returns the tools of a profile.
pub(super) fn tools(profile: DeepAgentsProfile) -> Vec<RegisteredTool> {
    let read = ToolAnnotations::reading();
    let (add, change) = (ToolAnnotations::adding(), ToolAnnotations::changing());
    let replaces = profile == DeepAgentsProfile::Replacing;
    let (write_words, write_notes) = match replaces {
        false => (
            "Creates a file and its missing directories. An existing file is an error: edit it \
             instead.",
            add,
        ),
        true => (
            "Replaces the content of a file, or creates the file and its missing directories. \
             Changes that others made since you read the file are kept.",
            change.idempotent(),
        ),
    };
    let create = if replaces { CreateMode::IfMissing } else { CreateMode::New };
    let mut tools = vec![
        tool::<_, LsOutput, _, _>(
            "ls",
            "List a directory",
            "Lists the entries of a directory.",
            read,
            ls,
        ),
        tool::<_, ReadFileOutput, _, _>(
            "read_file",
            "Read a file",
            "Returns lines of a text file, below a header `@@ lines a-b of n | ... @@` that is \
             not part of the file. Reads 100 lines unless `limit` says otherwise; `offset` pages. \
             Images, sounds and documents are returned as such.",
            read,
            read_file,
        )
        .without_output_schema(),
        tool::<_, TextResult, _, _>(
            "write_file",
            "Write a file",
            write_words,
            write_notes,
            move |call, input| write_file(call, input, create),
        ),
        tool::<_, TextResult, _, _>(
            "edit_file",
            "Edit a file",
            "Replaces an exact text in a file. Leave out the header of read_file. Edits by others \
             at the same time are kept.",
            change,
            edit_file,
        ),
    ];
    if replaces {
        tools.push(tool::<_, TextResult, _, _>(
            "delete",
            "Delete",
            "Deletes a file, or a directory with all its content.",
            change.idempotent(),
            delete,
        ));
    }
    tools.extend(search_tools());
    tools
}

fn search_tools() -> Vec<RegisteredTool> {
    let (read, change) = (ToolAnnotations::reading(), ToolAnnotations::changing());
    vec![
        tool::<_, GlobOutput, _, _>(
            "glob",
            "Find files",
            "Finds files by a pattern of their paths, and returns absolute paths.",
            read,
            glob,
        ),
        tool::<_, GrepOutput, _, _>(
            "grep",
            "Find text",
            "Finds a literal text in files; it is not a regular expression.",
            read,
            grep,
        ),
        tool::<_, ExecuteOutput, _, _>(
            "execute",
            "Run a command",
            "Runs a command line in a shell, and returns what it printed and its exit code.",
            ToolAnnotations { open_world: true, ..change },
            execute,
        )
        .needs(ToolNeed::Executor),
    ]
}

/// Returns a failure of the filesystem in the words of deepagents.
fn fs_failure(error: FsError, access: &str, path: &VPath) -> ToolFailure {
    match error.code {
        FsCode::ENOENT => ToolFailure::refused(format!("File '{path}' not found")),
        FsCode::EACCES | FsCode::EPERM => {
            let refusal = error.source.as_ref().and_then(|source| source.downcast_ref());
            let hint = refusal.map_or_else(String::new, PermissionRefusal::hint);
            ToolFailure::refused(format!("permission denied for {access} on {path}{hint}"))
        }
        _ => ToolFailure::Fs(error),
    }
}

async fn ls(call: ToolCall, input: LsInput) -> ToolOutcome {
    let path = path_of(&input.path)?;
    let entries = call.fs().readdir(&path).await.map_err(|error| match error.code {
        FsCode::ENOENT => ToolFailure::refused(format!("Path '{path}': path_not_found")),
        FsCode::ENOTDIR => ToolFailure::refused(format!("Path '{path}': not_a_directory")),
        _ => fs_failure(error, "read", &path),
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
    let paths: Vec<String> = entries.iter().map(|entry| entry.path.clone()).collect();
    let max_chars = call.session().limits().max_list_chars;
    let text = format_paths(&paths, max_chars);
    let (entries, truncated) = keep_items(entries, max_chars);
    Ok(ToolReply::text(text).with_structured(&LsOutput { entries, truncated }))
}

async fn read_file(call: ToolCall, input: ReadFileInput) -> ToolOutcome {
    let path = path_of(&input.file_path)?;
    let read = call.read(&path).await.map_err(|error| fs_failure(error, "read", &path))?;
    let text = std::str::from_utf8(&read.data).ok().filter(|_| !is_media(&path));
    let Some(text) = text else {
        if read.data.len() > MAX_BINARY_LEN {
            return Err(ToolFailure::refused(format!(
                "File '{path}': Binary file exceeds maximum preview size of {MAX_BINARY_LEN} bytes"
            )));
        }
        let blocks = vec![media_block(&path, read.data)];
        return Ok(ToolReply { blocks, ..ToolReply::default() });
    };
    if text.trim().is_empty() {
        return Ok(ToolReply::text("System reminder: File exists but has empty contents"));
    }
    if input.limit <= 0 {
        return Ok(ToolReply::text(format!(
            "System reminder: no lines were read because `limit` was {}. The file was not \
             inspected and may have contents; retry with `limit` >= 1 to read it.",
            input.limit
        )));
    }
    let offset = u64::try_from(input.offset).unwrap_or(0);
    let limit = u64::try_from(input.limit).unwrap_or(0);
    let page = LinePage::of(&read.data, offset, limit, read.version.clone());
    let total_lines = page.n_total.unwrap_or_default();
    if page.lines.is_empty() {
        return Err(ToolFailure::refused(format!(
            "Line offset {offset} exceeds file length ({total_lines} lines)"
        )));
    }
    let notices = match input.offset < 0 {
        true => vec![format!(
            "[Requested offset {} is before the start of the file; read from line 1 instead.]",
            input.offset
        )],
        false => Vec::new(),
    };
    let window = format_window(&page, input.char_offset, &notices);
    let mut content = page.lines[..window.n_lines].join("\n");
    if window.n_lines > 0 && (window.n_lines < page.lines.len() || page.ends_with_newline) {
        content.push('\n');
    }
    let output = ReadFileOutput {
        content,
        start_line: page.offset + 1,
        total_lines,
        next_offset: window.next.map(|(offset, _)| offset),
        next_char_offset: window.next.map_or(0, |(_, skipped)| skipped),
        version: read.version.to_string(),
    };
    Ok(ToolReply::text(window.text).with_structured(&output))
}

async fn write_file(call: ToolCall, input: WriteFileInput, create: CreateMode) -> ToolOutcome {
    let path = path_of(&input.file_path)?;
    let written = call.write(&path, input.content.into(), create).await;
    let written = written.map_err(|failure| match &failure {
        crate::session::WriteFailure::Fs(error) if error.code == FsCode::EEXIST => {
            ToolFailure::refused(format!(
                "Cannot write to {path} because it already exists. Read and then make an edit, or \
                 write to a new path."
            ))
        }
        crate::session::WriteFailure::Fs(error) if error.code != FsCode::ENOENT => {
            fs_failure(error.clone(), "write", &path)
        }
        _ => ToolFailure::Write(failure),
    })?;
    Ok(text_reply(format!("Updated file {path}{}", written.note())))
}

async fn edit_file(call: ToolCall, input: EditFileInput) -> ToolOutcome {
    let path = path_of(&input.file_path)?;
    let EditFileInput { old_string, new_string, replace_all, .. } = input;
    let edit =
        TextReplacement { all: replace_all, ..TextReplacement::once(&old_string, new_string) };
    let edited = match call.edit(&path, edit).await {
        Ok(edited) => edited,
        Err(error) => {
            let failure = fs_failure(error, "write", &path);
            return Err(edit_failure(&call, &path, &old_string, failure).await);
        }
    };
    let n_replaced = edited.n_replaced;
    let mut text =
        format!("Successfully replaced {n_replaced} instance(s) of the string in '{path}'");
    if edited.changed_since_read {
        text.push_str("\n\nOthers changed the file since you read it; their changes are kept.");
    }
    Ok(text_reply(text))
}

/// Returns a rejected edit in the words of deepagents.
async fn edit_failure(
    call: &ToolCall,
    path: &VPath,
    old: &str,
    failure: ToolFailure,
) -> ToolFailure {
    let text = match edit_refusal(&failure) {
        Some(EditRefusal::EmptyOld) => {
            "old_string cannot be empty. Provide the exact text to replace.".to_owned()
        }
        Some(EditRefusal::NotText) => "Cannot edit binary files with text replacements.".to_owned(),
        Some(EditRefusal::Ambiguous { n_found, .. }) => format!(
            "String '{old}' appears {n_found} times in file. Use replace_all=True to replace all \
             instances, or provide a more specific string with surrounding context."
        ),
        Some(EditRefusal::NotFound) => {
            let now = call.fs().read(path).await.map(|read| read.data).unwrap_or_default();
            let now = String::from_utf8_lossy(&now);
            let stripped = old.strip_suffix('\n').unwrap_or_default();
            let n_found = if stripped.is_empty() { 0 } else { now.matches(stripped).count() };
            if !stripped.is_empty() && now.ends_with(stripped) {
                eof_newline_hint(n_found)
            } else {
                format!("String not found in file: '{old}'")
            }
        }
        _ => return failure,
    };
    ToolFailure::Refused(text)
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
    let options = RemoveOptions { recursive: true, force: false };
    let deleted = call.fs().rm(&path, &options).await;
    deleted.map_err(|error| match error.code {
        FsCode::ENOENT => ToolFailure::refused(format!("'{path}' not found")),
        FsCode::ENOSYS => ToolFailure::refused(format!("deletion is not supported for '{path}'.")),
        _ => fs_failure(error, "write", &path),
    })?;
    Ok(text_reply(format!("Deleted {path}")))
}

async fn glob(call: ToolCall, input: GlobInput) -> ToolOutcome {
    let root = path_of(input.path.as_deref().unwrap_or("/"))?;
    let pattern = match input.pattern.strip_prefix('/') {
        // In the filesystem's patterns a leading slash is the root of the filesystem.
        Some(rest) => format!("{}/{rest}", escape_glob(root.as_str().trim_end_matches('/'))),
        None => input.pattern.clone(),
    };
    let cancel = call.context().cancel.clone();
    // As `ls` and `grep`, it finds names that begin with a dot.
    let query = GlobQuery {
        root: root.clone(),
        hidden: true,
        limit: MAX_PATHS,
        cancel,
        ..GlobQuery::new(pattern)
    };
    let found = call.fs().glob(&query).await.map_err(|error| fs_failure(error, "read", &root))?;
    let paths: Vec<String> = found.entries.iter().map(|entry| entry.path.to_string()).collect();
    let max_chars = call.session().limits().max_list_chars;
    let mut text = format_paths(&paths, max_chars);
    let note = match (found.cut, found.n_unreadable) {
        (Some(_), _) => Some(GLOB_STOPPED),
        (None, 0) => None,
        (None, _) => Some(GLOB_UNREADABLE),
    };
    if let Some(note) = note {
        text = format!("{text}\n\n{note}");
    }
    let (paths, is_cut) = keep_items(paths, max_chars);
    let output = GlobOutput { paths, truncated: is_cut || note.is_some() };
    Ok(ToolReply::text(text).with_structured(&output))
}

fn escape_glob(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if r"*?[]{}\,!".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

async fn grep(call: ToolCall, input: GrepInput) -> ToolOutcome {
    let root = path_of(input.path.as_deref().unwrap_or("/"))?;
    if input.max_count == Some(0) {
        return Err(ToolFailure::refused("max_count must be at least 1"));
    }
    let query = GrepQuery {
        root: root.clone(),
        include: input.glob.into_iter().collect(),
        hidden: true,
        max_total: input.max_count.unwrap_or(DEFAULT_MATCHES),
        timeout: Some(GREP_TIME),
        cancel: call.context().cancel.clone(),
        ..GrepQuery::literal(&input.pattern)
    };
    let found = call.fs().grep(&query).await.map_err(|error| fs_failure(error, "read", &root))?;
    let truncated = matches!(
        found.cut,
        Some(SearchLimit::Limit | SearchLimit::Deadline | SearchLimit::Cancelled)
    );
    let max_chars = call.session().limits().max_list_chars;
    let mut text = format_matches(&found, input.output_mode, max_chars);
    if truncated {
        text = format!("{text}\n\n{GREP_STOPPED}");
    } else if let Some(note) = regex_note(&input.pattern).filter(|_| found.files.is_empty()) {
        text = format!("{text}\n\n{note}");
    }
    if let Some(note) = describe_binary(found.n_binary, &found.binary_paths) {
        text = format!("{text}\n\nNote: {note}");
    }
    let matches = found.files.iter().flat_map(|file| {
        file.lines.iter().filter(|line| line.is_match).map(|line| GrepOutputLine {
            path: file.path.to_string(),
            line: line.number,
            text: line.text.clone(),
        })
    });
    let (matches, is_cut) = keep_items(matches, max_chars);
    let output = GrepOutput {
        matches,
        truncated: truncated || is_cut,
        n_binary: found.n_binary,
        binary_paths: found.binary_paths.iter().map(ToString::to_string).collect(),
    };
    Ok(ToolReply::text(text).with_structured(&output))
}

async fn execute(call: ToolCall, input: ExecuteInput) -> ToolOutcome {
    let Some(executor) = call.session().executor() else {
        return Err(ToolFailure::refused("Execution not available."));
    };
    let timeout = match input.timeout {
        Some(seconds) if seconds < 0 => {
            let text = format!("timeout must be non-negative, got {seconds}.");
            return Err(ToolFailure::refused(text));
        }
        Some(seconds) if seconds > MAX_EXECUTE_SECONDS => {
            return Err(ToolFailure::refused(format!(
                "timeout {seconds}s exceeds maximum allowed ({MAX_EXECUTE_SECONDS}s)."
            )));
        }
        // As in deepagents, 0 means the executor's own limit.
        Some(0) | None => None,
        Some(seconds) => Some(Duration::from_secs(seconds.unsigned_abs())),
    };
    let cancel = call.context().cancel.clone();
    let scope = Some(call.scope().of_unknown_part());
    let options = ExecuteOptions { timeout, cancel, scope, ..ExecuteOptions::default() };
    let ran = match executor.execute(&input.command, &options).await {
        Ok(ran) => ran,
        Err(ExecuteError::TimedOut { limit, partial }) => {
            let text =
                format!("{}\n[Command timed out after {}s]", partial.output, limit.as_secs());
            return Ok(ToolReply::error(text));
        }
        Err(error) => return Err(ToolFailure::refused(error.to_string())),
    };
    let mut text = ran.output;
    if let Some(code) = ran.exit_code {
        let word = if code == 0 { "succeeded" } else { "failed" };
        text.push_str(&format!("\n[Command {word} with exit code {code}]"));
    }
    if ran.truncated {
        text.push_str("\n[Output was truncated due to size limits]");
    }
    let text = keep_large_result(&call, text).await;
    let output =
        ExecuteOutput { output: text.clone(), exit_code: ran.exit_code, truncated: ran.truncated };
    Ok(ToolReply::text(text).with_structured(&output))
}
