//! The fourteen tools of the reference filesystem server of the Model Context Protocol.
//!
//! Names, arguments and texts are those of the reference. Unlike it, an edit keeps the edits of
//! others and the file's line endings, refuses a text that occurs several times, and never cuts a
//! character.

mod exact_edits;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use globset::{GlobBuilder, GlobMatcher};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yfs_types::path::VPath;
use yfs_vfs::{
    CreateMode, FileKind, FileSystemExt, FsCode, MkdirOptions, MoveOptions, WalkEntry, WalkOptions,
};

use self::exact_edits::{ExactEdit, apply_exact_edits, fenced_diff};
use super::shared::{ToolFailure, ToolOutcome, path_of, reporting_tool, text_reply};
use crate::{
    catalog::{RegisteredTool, TextResult, ToolWords},
    media::{file_uri, media_block},
    tool::{ReplyBlock, ToolAnnotations, ToolReply},
    tool_call::ToolCall,
};

/// The most objects that a tree or a search lists.
const MAX_LISTED: usize = 100_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReferencePathInput {
    /// Path of the file or directory.
    path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadTextFileInput {
    /// Path of the file.
    path: String,
    /// If provided, returns only the last N lines of the file.
    tail: Option<u64>,
    /// If provided, returns only the first N lines of the file.
    head: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadMultipleFilesInput {
    /// Paths of the files.
    #[schemars(length(min = 1))]
    paths: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReferenceWriteInput {
    /// Path of the file.
    path: String,
    /// The whole content.
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReferenceEditInput {
    /// Path of the file.
    path: String,
    /// The replacements, applied in order: all of them or none.
    edits: Vec<ExactEdit>,
    /// Whether only the difference is returned, and nothing is changed.
    #[serde(default, rename = "dryRun")]
    dry_run: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListWithSizesInput {
    /// Path of the directory.
    path: String,
    /// Order of the entries.
    #[serde(default, rename = "sortBy")]
    sort_by: ListOrder,
}

/// The order of a list.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ListOrder {
    #[default]
    Name,
    Size,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DirectoryTreeInput {
    /// Path of the directory.
    path: String,
    /// Patterns of the paths to leave out.
    #[serde(default, rename = "excludePatterns")]
    exclude_patterns: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReferenceMoveInput {
    /// The present path.
    source: String,
    /// The new path, at which there must be nothing.
    destination: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchFilesInput {
    /// Path of the directory.
    path: String,
    /// Pattern of the paths below it: `*` within a name, `**` for any directories.
    pattern: String,
    /// Patterns of the paths to leave out.
    #[serde(default, rename = "excludePatterns")]
    exclude_patterns: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// The result of reading a file that is not text.
#[derive(Debug, Serialize, JsonSchema)]
struct MediaResult {
    /// The block of the reply.
    content: Vec<Value>,
}

/// Returns the tools.
pub(super) fn tools() -> Vec<RegisteredTool> {
    let mut tools = reading_tools();
    tools.extend(describing_tools());
    tools.extend(changing_tools());
    tools
}

fn reading_tools() -> Vec<RegisteredTool> {
    let read = ToolAnnotations::reading();
    vec![
        text_tool(
            "read_file",
            "Read File (Deprecated)",
            "Reads a text file. Use read_text_file instead.",
            read,
            read_text_file,
        ),
        text_tool(
            "read_text_file",
            "Read Text File",
            "Reads a text file: all of it, the first lines (`head`), or the last lines (`tail`).",
            read,
            read_text_file,
        ),
        reporting_tool::<_, MediaResult, _, _>(
            ToolWords {
                name: "read_media_file",
                title: "Read Media File",
                description: "Reads an image or a sound as such, and any other file as a resource.",
            },
            read,
            read_media_file,
            by_message,
        ),
        text_tool(
            "read_multiple_files",
            "Read Multiple Files",
            "Reads several text files. A file that cannot be read is reported in its place.",
            read,
            read_multiple_files,
        ),
        text_tool(
            "list_directory",
            "List Directory",
            "Lists the entries of a directory, each marked [FILE] or [DIR].",
            read,
            list_directory,
        ),
        text_tool(
            "list_directory_with_sizes",
            "List Directory with Sizes",
            "Lists the entries of a directory with their sizes.",
            read,
            list_directory_with_sizes,
        ),
        text_tool(
            "directory_tree",
            "Directory Tree",
            "Returns everything below a directory as JSON: name, type and, for a directory, \
             children.",
            read,
            directory_tree,
        ),
        text_tool(
            "search_files",
            "Search Files",
            "Finds files and directories by a pattern of their paths below a directory.",
            read,
            search_files,
        ),
    ]
}

fn describing_tools() -> Vec<RegisteredTool> {
    let read = ToolAnnotations::reading();
    vec![
        text_tool(
            "get_file_info",
            "Get File Info",
            "Returns size, times, kind and permissions of a file or directory.",
            read,
            get_file_info,
        ),
        text_tool(
            "list_allowed_directories",
            "List Allowed Directories",
            "Returns the directories that the tools can access.",
            read,
            list_allowed_directories,
        ),
    ]
}

fn changing_tools() -> Vec<RegisteredTool> {
    let (add, change) = (ToolAnnotations::adding(), ToolAnnotations::changing());
    vec![
        text_tool(
            "write_file",
            "Write File",
            "Creates a file or replaces its content. Changes that others made since you read it \
             are kept.",
            change.idempotent(),
            write_file,
        ),
        text_tool(
            "edit_file",
            "Edit File",
            "Replaces texts in a file, and returns the difference. Each text must occur exactly \
             once; if it does not occur exactly, lines that differ only in their indentation \
             count.",
            change,
            edit_file,
        ),
        text_tool(
            "create_directory",
            "Create Directory",
            "Creates a directory and its missing parents.",
            add.idempotent(),
            create_directory,
        ),
        text_tool(
            "move_file",
            "Move File",
            "Moves or renames a file or directory. An existing destination is an error.",
            change,
            move_file,
        ),
    ]
}

fn text_tool<I, F, R>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: ToolAnnotations,
    run: F,
) -> RegisteredTool
where
    I: serde::de::DeserializeOwned + JsonSchema,
    F: Fn(ToolCall, I) -> R + Send + Sync + 'static,
    R: Future<Output = ToolOutcome> + Send + 'static,
{
    let words = ToolWords { name, title, description };
    reporting_tool::<I, TextResult, F, R>(words, annotations, run, by_message)
}

/// Returns the reply of a tool. The reference reports a failure by its message alone.
fn by_message(outcome: ToolOutcome) -> ToolReply {
    outcome.unwrap_or_else(|failure| ToolReply::error(failure.to_string()))
}

/// Returns the path that a model wrote, if it lies in an allowed directory.
fn allowed_path(call: &ToolCall, text: &str) -> Result<VPath, ToolFailure> {
    let roots = call.session().roots();
    let path = match text.starts_with('/') {
        true => path_of(text)?,
        false => {
            let first = roots.first().cloned().unwrap_or_else(VPath::root);
            path_of(&format!("{}/{text}", first.as_str().trim_end_matches('/')))?
        }
    };
    if roots.iter().any(|root| path.starts_with(root)) {
        return Ok(path);
    }
    let roots: Vec<&str> = roots.iter().map(VPath::as_str).collect();
    Err(ToolFailure::refused(format!(
        "Access denied - path outside allowed directories: {path} not in {}",
        roots.join(", ")
    )))
}

/// Checks that the directory of a path exists.
async fn check_parent(call: &ToolCall, path: &VPath) -> Result<(), ToolFailure> {
    let Some(parent) = path.parent() else { return Ok(()) };
    match call.fs().stat(&parent).await {
        Err(error) if error.code == FsCode::ENOENT => {
            let text = format!("Parent directory does not exist: {parent}");
            Err(ToolFailure::Refused(text))
        }
        _ => Ok(()),
    }
}

async fn read_text(call: &ToolCall, path: &VPath) -> Result<String, ToolFailure> {
    Ok(String::from_utf8_lossy(&call.read(path).await?.data).into_owned())
}

async fn read_text_file(call: ToolCall, input: ReadTextFileInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let (head, tail) = (input.head.filter(|n| *n > 0), input.tail.filter(|n| *n > 0));
    if head.is_some() && tail.is_some() {
        let text = "Cannot specify both head and tail parameters simultaneously";
        return Err(ToolFailure::refused(text));
    }
    let text = read_text(&call, &path).await?;
    let count = |n_lines: u64| usize::try_from(n_lines).unwrap_or(usize::MAX);
    let lines = || text.split_inclusive('\n');
    let shown: String = match (head, tail) {
        (Some(n_lines), _) => lines().take(count(n_lines)).collect(),
        (_, Some(n_lines)) => {
            let n_skipped = lines().count().saturating_sub(count(n_lines));
            lines().skip(n_skipped).collect()
        }
        (None, None) => return Ok(text_reply(text)),
    };
    // As in the reference, the last of the chosen lines has no newline.
    Ok(text_reply(shown.strip_suffix('\n').unwrap_or(&shown)))
}

async fn read_media_file(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let max_len = call.session().limits().max_media_len;
    let data = call.read(&path).await?.data;
    if data.len() as u64 > max_len {
        let text = format!("{path} has {} bytes; the most is {max_len}", data.len());
        return Err(ToolFailure::Refused(text));
    }
    let block = media_block(&path, data);
    let shown = match &block {
        ReplyBlock::Image { data, mime } => {
            json!({"type": "image", "data": STANDARD.encode(data), "mimeType": mime.as_str()})
        }
        ReplyBlock::Audio { data, mime } => {
            json!({"type": "audio", "data": STANDARD.encode(data), "mimeType": mime.as_str()})
        }
        ReplyBlock::Resource { uri, data, mime } => {
            let blob = STANDARD.encode(data);
            let resource = json!({"uri": uri, "mimeType": mime.as_str(), "blob": blob});
            json!({"type": "resource", "resource": resource})
        }
        ReplyBlock::Text(_) => json!({"type": "resource", "resource": {"uri": file_uri(&path)}}),
    };
    let reply = ToolReply { blocks: vec![block], ..ToolReply::default() };
    Ok(reply.with_structured(&MediaResult { content: vec![shown] }))
}

async fn read_multiple_files(call: ToolCall, input: ReadMultipleFilesInput) -> ToolOutcome {
    if input.paths.is_empty() {
        return Err(ToolFailure::refused("At least one file path must be provided"));
    }
    let mut texts = Vec::new();
    let mut n_bytes = 0;
    for path in &input.paths {
        let read = match allowed_path(&call, path) {
            Ok(found) => read_text(&call, &found).await,
            Err(failure) => Err(failure),
        };
        n_bytes += read.as_ref().map_or(0, String::len) as u64;
        if n_bytes > call.session().limits().max_file_len {
            return Err(ToolFailure::refused("the files are too large together; read fewer"));
        }
        texts.push(match read {
            Ok(text) => format!("{path}:\n{text}\n"),
            Err(failure) => format!("{path}: Error - {failure}"),
        });
    }
    Ok(text_reply(texts.join("\n---\n")))
}

async fn write_file(call: ToolCall, input: ReferenceWriteInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    check_parent(&call, &path).await?;
    let written = call.write(&path, input.content.into(), CreateMode::IfMissing).await?;
    Ok(text_reply(format!("Successfully wrote to {}{}", input.path, written.note())))
}

async fn edit_file(call: ToolCall, input: ReferenceEditInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let edits = Arc::new(input.edits);
    if input.dry_run {
        let text = read_text(&call, &path).await?;
        let changed = apply_exact_edits(&text, &edits)?;
        return Ok(text_reply(fenced_diff(&text, &changed, path.as_str())));
    }
    let change = |text: &str| -> Result<(String, String), ToolFailure> {
        let changed = apply_exact_edits(text, &edits)?;
        let diff = fenced_diff(text, &changed, path.as_str());
        Ok((changed, diff))
    };
    let (_, diff) = call.rewrite(&path, change).await?;
    Ok(text_reply(diff))
}

async fn create_directory(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    call.fs().mkdir(&path, &MkdirOptions::recursive()).await?;
    Ok(text_reply(format!("Successfully created directory {}", input.path)))
}

fn mark(is_directory: bool) -> &'static str {
    if is_directory { "[DIR]" } else { "[FILE]" }
}

async fn list_directory(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let entries = call.fs().readdir(&allowed_path(&call, &input.path)?).await?;
    let lines = entries
        .iter()
        .map(|entry| format!("{} {}", mark(entry.kind == FileKind::Directory), entry.name));
    Ok(text_reply(lines.collect::<Vec<_>>().join("\n")))
}

async fn list_directory_with_sizes(call: ToolCall, input: ListWithSizesInput) -> ToolOutcome {
    let mut entries = call.fs().readdir(&allowed_path(&call, &input.path)?).await?;
    if input.sort_by == ListOrder::Size {
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.size));
    }
    let is_directory = |kind| kind == FileKind::Directory;
    let mut lines: Vec<String> = Vec::new();
    for entry in &entries {
        let is_directory = is_directory(entry.kind);
        let size = if is_directory { String::new() } else { unit_size(entry.size) };
        let size = if is_directory { size } else { format!("{size:>10}") };
        lines.push(format!("{} {:<30} {size}", mark(is_directory), entry.name));
    }
    let n_directories = entries.iter().filter(|entry| is_directory(entry.kind)).count();
    let files = entries.iter().filter(|entry| !is_directory(entry.kind));
    let n_bytes = files.map(|entry| entry.size).sum();
    let n_files = entries.len() - n_directories;
    lines.push(String::new());
    lines.push(format!("Total: {n_files} files, {n_directories} directories"));
    lines.push(format!("Combined size: {}", unit_size(n_bytes)));
    Ok(text_reply(lines.join("\n")))
}

/// Returns a size as `1.50 KB`.
fn unit_size(n_bytes: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let unit = (n_bytes.max(1).ilog2() / 10).min(4) as usize;
    match unit {
        0 => format!("{n_bytes} B"),
        _ => format!("{:.2} {}", n_bytes as f64 / (1_u64 << (10 * unit)) as f64, units[unit]),
    }
}

fn pattern(text: &str) -> Result<GlobMatcher, ToolFailure> {
    let built = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
    let bad = |error: globset::Error| ToolFailure::refused(format!("bad pattern: {error}"));
    Ok(built.map_err(bad)?.compile_matcher())
}

/// Returns what the patterns leave out: of a plain name, the name anywhere and all below it.
fn exclusions(patterns: &[String], names_anywhere: bool) -> Result<Vec<GlobMatcher>, ToolFailure> {
    let mut matchers = Vec::new();
    for text in patterns {
        matchers.push(pattern(text)?);
        if names_anywhere && !text.contains('*') {
            matchers.push(pattern(&format!("**/{text}"))?);
            matchers.push(pattern(&format!("**/{text}/**"))?);
        }
    }
    Ok(matchers)
}

/// Lists what is below a directory, with paths relative to it. What is below an excluded
/// directory is excluded, too.
async fn list_below(
    call: &ToolCall,
    root: &VPath,
    excluded: &[GlobMatcher],
) -> Result<Vec<(String, WalkEntry)>, ToolFailure> {
    let options = WalkOptions { max_entries: MAX_LISTED, ..WalkOptions::default() };
    let mut listed = Vec::new();
    let mut skipped: Option<VPath> = None;
    for item in call.fs().walk(root, &options).await? {
        if skipped.as_ref().is_some_and(|above| item.path.starts_with(above)) {
            continue;
        }
        let relative = item.path.relative_to(root).unwrap_or_default().to_owned();
        if excluded.iter().any(|matcher| matcher.is_match(&relative)) {
            skipped = Some(item.path);
        } else {
            listed.push((relative, item));
        }
    }
    Ok(listed)
}

/// A node of a tree of directories.
#[derive(Debug, Serialize)]
struct TreeListing {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Self>>,
}

async fn directory_tree(call: ToolCall, input: DirectoryTreeInput) -> ToolOutcome {
    let root = allowed_path(&call, &input.path)?;
    let listed = list_below(&call, &root, &exclusions(&input.exclude_patterns, true)?).await?;
    // The directories from the root to the last entry; a deeper one is closed by a less deep entry.
    let mut open: Vec<TreeListing> = vec![directory_node(String::new())];
    let close = |open: &mut Vec<TreeListing>, depth: usize| {
        while open.len() > depth {
            let Some(closed) = open.pop() else { return };
            let above = open.last_mut().and_then(|above| above.children.as_mut());
            if let Some(above) = above {
                above.push(closed);
            }
        }
    };
    for (relative, item) in &listed {
        close(&mut open, relative.matches('/').count() + 1);
        let name = item.entry.name.to_string();
        if item.entry.kind == FileKind::Directory {
            open.push(directory_node(name));
        } else if let Some(children) = open.last_mut().and_then(|last| last.children.as_mut()) {
            children.push(TreeListing { name, kind: "file", children: None });
        }
    }
    close(&mut open, 1);
    let tree = open.pop().and_then(|root| root.children).unwrap_or_default();
    Ok(text_reply(serde_json::to_string_pretty(&tree).unwrap_or_default()))
}

fn directory_node(name: String) -> TreeListing {
    TreeListing { name, kind: "directory", children: Some(Vec::new()) }
}

async fn move_file(call: ToolCall, input: ReferenceMoveInput) -> ToolOutcome {
    let (from, to) =
        (allowed_path(&call, &input.source)?, allowed_path(&call, &input.destination)?);
    check_parent(&call, &to).await?;
    let exists = || ToolFailure::refused(format!("Destination already exists: {to}"));
    if from == to && call.fs().exists(&to).await {
        return Err(exists());
    }
    let moved = call.fs().mv(&from, &to, &MoveOptions { replace: false, parents: false }).await;
    moved.map_err(|error| match error.code {
        FsCode::EEXIST => exists(),
        _ => ToolFailure::Fs(error),
    })?;
    let text = format!("Successfully moved {} to {}", input.source, input.destination);
    Ok(text_reply(text))
}

async fn search_files(call: ToolCall, input: SearchFilesInput) -> ToolOutcome {
    let root = allowed_path(&call, &input.path)?;
    let wanted = pattern(&input.pattern)?;
    let listed = list_below(&call, &root, &exclusions(&input.exclude_patterns, false)?).await?;
    let found = listed.iter().filter(|(relative, _)| wanted.is_match(relative));
    let found: Vec<String> = found.map(|(_, item)| item.path.to_string()).collect();
    Ok(text_reply(match found.is_empty() {
        true => "No matches found".to_owned(),
        false => found.join("\n"),
    }))
}

async fn get_file_info(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let stat = call.fs().stat(&allowed_path(&call, &input.path)?).await?;
    let date = |at: i64| {
        let time = Timestamp::from_millisecond(at).unwrap_or(Timestamp::UNIX_EPOCH);
        time.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)").to_string()
    };
    let (created, modified) = (date(stat.created.0), date(stat.mtime.0));
    Ok(text_reply(format!(
        "size: {}\ncreated: {created}\nmodified: {modified}\naccessed: {modified}\n\
         isDirectory: {}\nisFile: {}\npermissions: {:03o}",
        stat.size,
        stat.is_directory(),
        stat.is_file(),
        stat.mode & 0o777
    )))
}

async fn list_allowed_directories(call: ToolCall, input: NoArguments) -> ToolOutcome {
    let NoArguments {} = input;
    let roots = call.session().roots();
    let roots: Vec<&str> = roots.iter().map(VPath::as_str).collect();
    Ok(text_reply(format!("Allowed directories:\n{}", roots.join("\n"))))
}
