//! The fourteen tools of the reference filesystem server of the Model Context Protocol.
//!
//! Names, schemas, arguments and texts are those of the reference. Unlike it, an edit keeps the
//! edits of others and the file's line endings, refuses a text that occurs several times, and never
//! cuts a character.

mod exact_edits;
mod file_search;
mod locale_order;
mod locations;
mod schemas;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use smol_str::SmolStr;
use yfs_types::path::VPath;
use yfs_vfs::{
    CreateMode, FileKind, FileSystemExt, FsCode, FsError, MkdirOptions, MoveOptions, Op,
    work_meter::count_objects,
};

use self::{
    exact_edits::{ExactEdit, apply_exact_edits, fenced_diff},
    file_search::{exclusions, list_below, search_files},
    locale_order::compare_names,
    locations::{allowed_path, reworded},
    schemas::{check_arguments, input_schema, output_schema},
};
use super::shared::{ToolFailure, ToolOutcome, by_message, reporting_tool, text_reply};
use crate::{
    catalog::{RegisteredTool, TextResult, ToolWords},
    media::file_uri,
    tool::{ReplyBlock, ToolAnnotations, ToolReply},
    tool_call::ToolCall,
};

/// The most objects that a tree or a search lists.
const MAX_LISTED: usize = 100_000;

#[derive(Debug, Deserialize, JsonSchema)]
struct ReferencePathInput {
    /// Path of the file or directory.
    path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReadTextFileInput {
    /// Path of the file.
    path: String,
    /// If provided, returns only the last N lines of the file.
    tail: Option<f64>,
    /// If provided, returns only the first N lines of the file.
    head: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReadMultipleFilesInput {
    /// Paths of the files.
    #[schemars(length(min = 1))]
    paths: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReferenceWriteInput {
    /// Path of the file.
    path: String,
    /// The whole content.
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
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
struct DirectoryTreeInput {
    /// Path of the directory.
    path: String,
    /// Patterns of the paths to leave out.
    #[serde(default, rename = "excludePatterns")]
    exclude_patterns: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReferenceMoveInput {
    /// The present path.
    source: String,
    /// The new path, at which there must be nothing.
    destination: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
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
struct NoArguments {}

/// The result of reading a file that is not text.
#[derive(Debug, Serialize, JsonSchema)]
struct MediaResult {
    /// The block of the reply.
    content: Vec<Value>,
}

/// The names of the tools, in the order of the reference.
const NAMES: [&str; 14] = [
    "read_file",
    "read_text_file",
    "read_media_file",
    "read_multiple_files",
    "write_file",
    "edit_file",
    "create_directory",
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "move_file",
    "search_files",
    "get_file_info",
    "list_allowed_directories",
];

/// Returns the tools.
pub(super) fn tools() -> Vec<RegisteredTool> {
    let mut tools = reading_tools();
    tools.extend(describing_tools());
    tools.extend(changing_tools());
    tools.sort_by_key(|tool| NAMES.iter().position(|name| *name == tool.name()));
    let published = |tool: RegisteredTool| {
        let schemas = (input_schema(tool.name()), output_schema(tool.name()));
        tool.with_schemas(schemas.0, schemas.1).checked_by(check_arguments)
    };
    tools.into_iter().map(published).collect()
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

/// Returns whether the directory of a path is missing.
async fn lacks_parent(call: &ToolCall, path: &VPath) -> bool {
    let Some(parent) = path.parent() else { return false };
    let stat = call.fs().stat(&parent).await;
    stat.is_err_and(|error| error.code == FsCode::ENOENT)
}

/// Returns the result of an operation on a path, with the errors of the reference.
async fn worded<T>(
    call: &ToolCall,
    path: &VPath,
    result: Result<T, impl Into<ToolFailure>>,
) -> Result<T, ToolFailure> {
    match result {
        Ok(value) => Ok(value),
        Err(failure) => Err(reworded(call, path, failure.into()).await),
    }
}

async fn read_text(call: &ToolCall, path: &VPath) -> Result<String, ToolFailure> {
    let content = worded(call, path, call.read(path).await).await?;
    Ok(String::from_utf8_lossy(&content.data).into_owned())
}

async fn read_text_file(call: ToolCall, input: ReadTextFileInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let (head, tail) = (input.head.filter(|n| *n != 0.0), input.tail.filter(|n| *n != 0.0));
    if head.is_some() && tail.is_some() {
        let text = "Cannot specify both head and tail parameters simultaneously";
        return Err(ToolFailure::refused(text));
    }
    let text = read_text(&call, &path).await?;
    Ok(text_reply(match (head, tail) {
        (Some(n_lines), _) => first_lines(&text, n_lines),
        (_, Some(n_lines)) => last_lines(&text, n_lines),
        (None, None) => text,
    }))
}

/// Returns the first lines of a text, the last of them without its newline.
fn first_lines(text: &str, n_lines: f64) -> String {
    // A conversion to an integer is within its bounds: negative numbers are no lines.
    let shown: String = text.split_inclusive('\n').take(n_lines.ceil() as usize).collect();
    shown.strip_suffix('\n').unwrap_or(&shown).to_owned()
}

/// Returns the last lines of a text, as the reference counts them: the text after the last newline
/// is a line, also if it is empty, and line endings are `\n`.
fn last_lines(text: &str, n_lines: f64) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let n_skipped = lines.len().saturating_sub(n_lines.floor() as usize);
    lines[n_skipped..].join("\n")
}

async fn read_media_file(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let max_len = call.session().limits().max_media_len;
    let data = worded(&call, &path, call.read(&path).await).await?.data;
    if data.len() as u64 > max_len {
        let text = format!("{path} has {} bytes; the most is {max_len}", data.len());
        return Err(ToolFailure::Refused(text));
    }
    let block = reference_block(&path, data);
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

/// Returns the block of a file, with the media type that the reference has for its name.
fn reference_block(path: &VPath, data: Bytes) -> ReplyBlock {
    let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
    let mime = match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((_, "png")) => "image/png",
        Some((_, "jpg" | "jpeg")) => "image/jpeg",
        Some((_, "gif")) => "image/gif",
        Some((_, "webp")) => "image/webp",
        Some((_, "bmp")) => "image/bmp",
        Some((_, "svg")) => "image/svg+xml",
        Some((_, "mp3")) => "audio/mpeg",
        Some((_, "wav")) => "audio/wav",
        Some((_, "ogg")) => "audio/ogg",
        Some((_, "flac")) => "audio/flac",
        _ => "application/octet-stream",
    };
    let mime = SmolStr::new_static(mime);
    match mime.split('/').next() {
        Some("image") => ReplyBlock::Image { data, mime },
        Some("audio") => ReplyBlock::Audio { data, mime },
        _ => ReplyBlock::Resource { uri: file_uri(path), data, mime },
    }
}

async fn read_multiple_files(call: ToolCall, input: ReadMultipleFilesInput) -> ToolOutcome {
    if input.paths.is_empty() {
        return Err(ToolFailure::refused("At least one file path must be provided"));
    }
    let mut texts = Vec::new();
    let mut n_bytes = 0;
    for path in &input.paths {
        count_objects(1);
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
    // First, so that a question names the file and not its directory.
    let stat = call.fs().stat(&path).await;
    if lacks_parent(&call, &path).await {
        return Err(FsError::new(FsCode::ENOENT, Op::Open, &path).into());
    }
    if stat.is_ok_and(|stat| stat.kind != FileKind::File) {
        return Err(ToolFailure::Refused(format!("Refusing to write: not a regular file: {path}")));
    }
    let written = call.write(&path, input.content.into(), CreateMode::IfMissing).await;
    let written = worded(&call, &path, written).await?;
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
    let (_, diff) = worded(&call, &path, call.rewrite(&path, change).await).await?;
    Ok(text_reply(diff))
}

async fn create_directory(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    worded(&call, &path, call.fs().mkdir(&path, &MkdirOptions::recursive()).await).await?;
    Ok(text_reply(format!("Successfully created directory {}", input.path)))
}

fn mark(is_directory: bool) -> &'static str {
    if is_directory { "[DIR]" } else { "[FILE]" }
}

async fn list_directory(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let entries = worded(&call, &path, call.fs().readdir(&path).await).await?;
    let lines = entries
        .iter()
        .map(|entry| format!("{} {}", mark(entry.kind == FileKind::Directory), entry.name));
    Ok(text_reply(lines.collect::<Vec<_>>().join("\n")))
}

async fn list_directory_with_sizes(call: ToolCall, input: ListWithSizesInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let mut entries = worded(&call, &path, call.fs().readdir(&path).await).await?;
    for entry in entries.iter_mut().filter(|entry| entry.kind == FileKind::Symlink) {
        // The size of what a link leads to; of one that leads nowhere, 0.
        let stat = call.fs().stat(&path.join(&entry.name)).await;
        entry.size = stat.map_or(0, |stat| stat.size);
    }
    match input.sort_by {
        ListOrder::Size => entries.sort_by_key(|entry| std::cmp::Reverse(entry.size)),
        ListOrder::Name => entries.sort_by(|a, b| compare_names(&a.name, &b.name)),
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
    // First, so that a question names the file and not its directory.
    let is_taken = call.fs().exists(&to).await;
    if lacks_parent(&call, &to).await {
        return Err(FsError::new(FsCode::ENOENT, Op::Rename, &from).to(&to).into());
    }
    let exists = || ToolFailure::refused(format!("Destination already exists: {to}"));
    if from == to && is_taken {
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

async fn get_file_info(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let stat = worded(&call, &path, call.fs().stat(&path).await).await?;
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
