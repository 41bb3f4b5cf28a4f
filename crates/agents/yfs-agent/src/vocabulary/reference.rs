//! The fourteen tools of the reference filesystem server of the Model Context Protocol.
//!
//! Names, schemas, arguments and texts are those of the reference. Unlike it, an edit keeps the
//! edits of others and the file's line endings, refuses a text that occurs several times, and never
//! cuts a character.

mod exact_edits;
mod file_search;
mod listings;
mod locale_order;
mod locations;
mod media_files;
mod schemas;

use jiff::Timestamp;
use yfs_types::path::VPath;
use yfs_vfs::{
    CreateMode, FileKind, FileSystemExt, FsCode, FsError, MkdirOptions, Op,
    work_meter::count_objects,
};

use self::{
    exact_edits::{ExactEdit, apply_exact_edits, fenced_diff},
    file_search::search_files,
    listings::{directory_tree, list_directory, list_directory_with_sizes},
    locations::{allowed_path, worded},
    media_files::read_media_file,
    schemas::published,
};
use super::shared::{as_message, rename};
use crate::{
    registered_tool::RegisteredTool,
    tool_call::ToolCall,
    tool_outcome::{ToolFailure, ToolOutcome, in_words, text_answer},
};

// The comments of members are those that the reference server publishes.
records! { open arguments:
ReferencePathInput {
    path: String,
}
ReadTextFileInput {
    path: String,
    /// If provided, returns only the last N lines of the file
    tail: Option<f64>,
    /// If provided, returns only the first N lines of the file
    head: Option<f64>,
}
ReadMultipleFilesInput {
    #[schemars(length(min = 1), description = "Array of file paths to read. Each path must be \
        a string pointing to a valid file within allowed directories.")]
    paths: Vec<String>,
}
ReferenceWriteInput {
    path: String,
    content: String,
}
ReferenceEditInput {
    path: String,
    edits: Vec<ExactEdit>,
    /// Preview changes using git-style diff format
    #[serde(default, rename = "dryRun")]
    dry_run: bool,
}
ReferenceMoveInput {
    source: String,
    destination: String,
}
NoArguments {}
}

/// Returns the tools.
pub(super) fn tools() -> Vec<RegisteredTool> {
    let tools: Vec<RegisteredTool> = tools! { as_message;
        read_file(read_text_file) "Read File (Deprecated)" READS:
            "Reads a text file. Use read_text_file instead.";
        read_text_file "Read Text File" READS:
            "Reads a text file: all of it, the first lines (`head`), or the last lines (`tail`).";
        read_media_file "Read Media File" READS:
            "Reads an image or a sound as such, and any other file as a resource.";
        read_multiple_files "Read Multiple Files" READS:
            "Reads several text files. A file that cannot be read is reported in its place.";
        write_file "Write File" SETS:
            "Creates a file or replaces its content. Changes that others made since you read it \
             are kept.";
        edit_file "Edit File" CHANGES:
            "Replaces texts in a file, and returns the difference. Each text must occur exactly \
             once; if it does not occur exactly, lines that differ only in their indentation \
             count.";
        create_directory "Create Directory" ADDS: "Creates a directory and its missing parents.";
        list_directory "List Directory" READS:
            "Lists the entries of a directory, each marked [FILE] or [DIR].";
        list_directory_with_sizes "List Directory with Sizes" READS:
            "Lists the entries of a directory with their sizes.";
        directory_tree "Directory Tree" READS:
            "Returns everything below a directory as JSON: name, type and, for a directory, \
             children.";
        move_file "Move File" CHANGES:
            "Moves or renames a file or directory. An existing destination is an error.";
        search_files "Search Files" READS:
            "Finds files and directories by a pattern of their paths below a directory.";
        get_file_info "Get File Info" READS:
            "Returns size, times, kind and permissions of a file or directory.";
        list_allowed_directories "List Allowed Directories" READS:
            "Returns the directories that the tools can access.";
    };
    tools.into_iter().map(published).collect()
}

/// Returns whether the directory of a path is missing.
async fn lacks_parent(call: &ToolCall, path: &VPath) -> bool {
    let Some(parent) = path.parent() else { return false };
    let stat = call.fs().stat(&parent).await;
    stat.is_err_and(|error| error.code == FsCode::ENOENT)
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
    Ok(text_answer(match (head, tail) {
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
    Ok(text_answer(texts.join("\n---\n")))
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
    Ok(text_answer(format!("Successfully wrote to {}{}", input.path, written.note())))
}

async fn edit_file(call: ToolCall, input: ReferenceEditInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let change = |text: &str| -> Result<(String, String), ToolFailure> {
        let changed = apply_exact_edits(text, &input.edits)?;
        let diff = fenced_diff(text, &changed, path.as_str());
        Ok((changed, diff))
    };
    let diff = match input.dry_run {
        true => change(&read_text(&call, &path).await?)?.1,
        false => worded(&call, &path, call.rewrite(&path, change).await).await?.1,
    };
    Ok(text_answer(diff))
}

async fn create_directory(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    worded(&call, &path, call.fs().mkdir(&path, &MkdirOptions::recursive()).await).await?;
    Ok(text_answer(format!("Successfully created directory {}", input.path)))
}

async fn move_file(call: ToolCall, input: ReferenceMoveInput) -> ToolOutcome {
    let (from, to) =
        (allowed_path(&call, &input.source)?, allowed_path(&call, &input.destination)?);
    // First, so that a question names the file and not its directory.
    let is_taken = call.fs().exists(&to).await;
    if lacks_parent(&call, &to).await {
        return Err(FsError::new(FsCode::ENOENT, Op::Rename, &from).to(&to).into());
    }
    let exists = format!("Destination already exists: {to}");
    if from == to && is_taken {
        return Err(ToolFailure::Refused(exists));
    }
    in_words(rename(&call, &from, &to, false).await, |error| {
        (error.code == FsCode::EEXIST).then_some(exists)
    })?;
    let text = format!("Successfully moved {} to {}", input.source, input.destination);
    Ok(text_answer(text))
}

async fn get_file_info(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let stat = worded(&call, &path, call.fs().stat(&path).await).await?;
    let date = |at: i64| {
        let time = Timestamp::from_millisecond(at).unwrap_or(Timestamp::UNIX_EPOCH);
        time.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)").to_string()
    };
    let (created, modified) = (date(stat.created.0), date(stat.mtime.0));
    Ok(text_answer(format!(
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
    Ok(text_answer(format!("Allowed directories:\n{}", roots.join("\n"))))
}
