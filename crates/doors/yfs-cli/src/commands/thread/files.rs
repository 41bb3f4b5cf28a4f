//! The files of a thread: the calls of document 000 as subcommands.

use clap::Subcommand;
use serde_json::{Value, json};
use yfs_threads::{
    ExternalFile, FileRecord, FileSearch, ThreadFileError, ThreadFiles, ThumbnailError,
};
use yfs_vfs::{FileKind, FsCode, FsError, Metadata, Op};
use yfs_wire::{ThreadFileJson, ThreadMatchesJson};

use super::{ThreadPlaceArgs, print_json_only, print_rows};
use crate::{
    commands::{grep::SkippedFiles, input_content::ContentArgs, thumbnail::PictureArgs},
    context::CommandContext,
    errors::{CommandError, EXIT_USAGE, Result},
    format_text::parse_size,
    json,
};

/// The subcommands of `yfs thread` on files.
#[derive(Debug, Subcommand)]
pub(super) enum ThreadFileCommand {
    /// List a directory of a thread
    Ls {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The directory
        #[arg(value_name = "FILE", default_value = "/")]
        path: String,
        /// Print sizes and media types, too
        #[arg(short, long)]
        long: bool,
    },
    /// Print the records of files and directories
    Stat {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The files
        #[arg(value_name = "FILE", required = true)]
        paths: Vec<String>,
    },
    /// Print the contents of files
    Cat {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The files
        #[arg(value_name = "FILE", required = true)]
        paths: Vec<String>,
    },
    /// Print a small picture of an image
    Thumbnail {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The image
        #[arg(value_name = "FILE")]
        path: String,
        /// Which picture.
        #[command(flatten)]
        picture: PictureArgs,
    },
    /// Write a file from standard input or a text; missing directories are created
    Write {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The file
        #[arg(value_name = "FILE")]
        path: String,
        /// The source of the content.
        #[command(flatten)]
        content: ContentArgs,
        /// What the file is.
        #[command(flatten)]
        record: RecordArgs,
    },
    /// Create an entry for a file whose bytes are elsewhere; nothing is fetched
    Link {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The file
        #[arg(value_name = "FILE")]
        path: String,
        /// Where the bytes are: a URL of https, http, s3, r2, gs or az
        #[arg(value_name = "URL")]
        url: String,
        /// The number of bytes
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: Option<u64>,
        /// The hash of the bytes: blake3: or sha256: and hexadecimal digits
        #[arg(long, value_name = "HASH")]
        hash: Option<String>,
        /// What the file is.
        #[command(flatten)]
        record: RecordArgs,
    },
    /// Set members of the metadata of a file
    Set {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The file
        #[arg(value_name = "FILE")]
        path: String,
        /// The members: a value is JSON, or else text; null removes a member
        #[arg(value_name = "KEY=VALUE", required = true, value_parser = parse_member)]
        members: Vec<(String, Value)>,
    },
    /// Create directories, with missing ones above them
    Mkdir {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The directories
        #[arg(value_name = "FILE", required = true)]
        paths: Vec<String>,
    },
    /// Move or rename a file or directory; nothing is replaced
    Mv {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The file
        #[arg(value_name = "FROM")]
        from: String,
        /// Its new path
        #[arg(value_name = "TO")]
        to: String,
    },
    /// Move files to the trash
    Rm {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The files
        #[arg(value_name = "FILE", required = true)]
        paths: Vec<String>,
    },
    /// Remove empty directories
    Rmdir {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The directories
        #[arg(value_name = "FILE", required = true)]
        paths: Vec<String>,
    },
    /// Find lines of the files of a thread; exit status: 0 found, 1 not found, 2 failed
    Grep {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The text, or with -E a regular expression
        #[arg(value_name = "PATTERN")]
        pattern: String,
        /// The pattern is a regular expression
        #[arg(short = 'E', long)]
        regex: bool,
        /// Ignore case
        #[arg(short, long)]
        ignore_case: bool,
        /// Search only files that match this glob
        #[arg(long, value_name = "GLOB")]
        include: Vec<String>,
        /// Print at most N lines
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Find files by a glob from the root of the thread: * stays in a directory, ** does not
    Find {
        /// The thread
        #[arg(value_name = "THREAD")]
        id: String,
        /// The glob
        #[arg(value_name = "GLOB")]
        pattern: String,
    },
}

/// What a file is, beside its content.
#[derive(Debug, clap::Args)]
pub(super) struct RecordArgs {
    /// The media type; default: by the content and the name
    #[arg(long, value_name = "TYPE")]
    mime: Option<String>,
    /// A member of the metadata: the value is JSON, or else text; null removes the member
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_member)]
    members: Vec<(String, Value)>,
}

/// Runs a subcommand on files.
pub(super) async fn run(
    command: ThreadFileCommand,
    place: &ThreadPlaceArgs,
    context: &mut CommandContext,
) -> Result {
    match command {
        ThreadFileCommand::Ls { id, path, long } => {
            let files = place.readable(context)?.existing(&id).await?.files();
            list(context, &files, &path, long).await
        }
        ThreadFileCommand::Stat { id, paths } => {
            let files = place.readable(context)?.existing(&id).await?.files();
            for path in &paths {
                let part = print_stat(context, &files, path).await;
                context.continue_after(part)?;
            }
            Ok(())
        }
        ThreadFileCommand::Cat { id, paths } => {
            let files = place.readable(context)?.existing(&id).await?.files();
            for path in &paths {
                let part = print_content(context, &files, path).await;
                context.continue_after(part)?;
            }
            Ok(())
        }
        ThreadFileCommand::Thumbnail { id, path, picture } => {
            let files = place.readable(context)?.existing(&id).await?.files();
            print_thumbnail(context, &files, &path, &picture).await
        }
        ThreadFileCommand::Grep { id, pattern, regex, ignore_case, include, limit } => {
            let search = FileSearch { regex, ignore_case, include, limit };
            let found = grep(context, place, &id, &pattern, &search).await;
            context.continue_after(found)
        }
        ThreadFileCommand::Find { id, pattern } => {
            let files = place.readable(context)?.existing(&id).await?.files();
            for path in files.find_files(&pattern).await? {
                match context.out.json {
                    true => context.out.json_line(&json!({ "path": path }))?,
                    false => print_path(context, FileKind::File, &path)?,
                }
            }
            Ok(())
        }
        command => change(command, place, context).await,
    }
}

/// Runs a subcommand that changes files.
async fn change(
    command: ThreadFileCommand,
    place: &ThreadPlaceArgs,
    context: &mut CommandContext,
) -> Result {
    let threads = place.writable(context)?;
    let files = threads.existing(command.thread()).await?.files();
    match command {
        ThreadFileCommand::Write {
            path, content, record: RecordArgs { mime, members }, ..
        } => {
            let metadata = metadata_of(members);
            let data = content.read()?;
            let record = files.write_file(&path, data, mime.as_deref(), metadata).await?;
            print_json_only(context, &describe(&record))
        }
        ThreadFileCommand::Link { path, url, size, hash, record, .. } => {
            let external = ExternalFile { url, size, hash };
            let metadata = metadata_of(record.members);
            let mime = record.mime.as_deref();
            let record = files.link_file(&path, &external, mime, metadata).await?;
            print_json_only(context, &describe(&record))
        }
        ThreadFileCommand::Set { path, members, .. } => {
            let patch = Metadata::from_iter(members);
            let record = files.patch_metadata(&path, &patch).await?;
            print_json_only(context, &describe(&record))
        }
        ThreadFileCommand::Mv { from, to, .. } => {
            let record = files.move_file(&from, &to).await?;
            print_json_only(context, &describe(&record))
        }
        ThreadFileCommand::Mkdir { paths, .. } => {
            for path in &paths {
                let made = files.mkdir_file(path).await.map_err(CommandError::from);
                let part = made.and_then(|record| print_json_only(context, &describe(&record)));
                context.continue_after(part)?;
            }
            Ok(())
        }
        ThreadFileCommand::Rm { paths, .. } => {
            for path in &paths {
                let removed = files.unlink_file(path).await;
                print_removed(context, path, removed)?;
            }
            Ok(())
        }
        ThreadFileCommand::Rmdir { paths, .. } => {
            for path in &paths {
                let removed = files.rmdir_file(path).await;
                print_removed(context, path, removed)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

impl ThreadFileCommand {
    /// Returns the id of the thread.
    fn thread(&self) -> &str {
        match self {
            Self::Ls { id, .. }
            | Self::Stat { id, .. }
            | Self::Cat { id, .. }
            | Self::Thumbnail { id, .. }
            | Self::Write { id, .. }
            | Self::Link { id, .. }
            | Self::Set { id, .. }
            | Self::Mkdir { id, .. }
            | Self::Mv { id, .. }
            | Self::Rm { id, .. }
            | Self::Rmdir { id, .. }
            | Self::Grep { id, .. }
            | Self::Find { id, .. } => id,
        }
    }
}

/// Parses a member of metadata.
fn parse_member(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((key.to_owned(), value))
}

fn metadata_of(members: Vec<(String, Value)>) -> Option<Metadata> {
    (!members.is_empty()).then(|| Metadata::from_iter(members))
}

async fn list(context: &mut CommandContext, files: &ThreadFiles, path: &str, long: bool) -> Result {
    let records = files.readdir_file(path).await?;
    let width = |text: fn(&FileRecord) -> usize| records.iter().map(text).max().unwrap_or(0);
    let size_width = width(|record| record.size.to_string().len());
    let mime_width = width(|record| record.mime_type.len());
    for record in &records {
        if context.out.json {
            context.out.json_line(&describe(record))?;
            continue;
        }
        let kind = if record.is_directory { FileKind::Directory } else { FileKind::File };
        let mut line = context.out.name(kind, &record.name).into_owned();
        if long {
            let mime = context.out.safe(&record.mime_type).into_owned();
            line = format!("{:>size_width$}  {mime:<mime_width$}  {line}", record.size);
            if record.is_external() {
                line += &format!(" -> {}", context.out.safe(&record.storage));
            }
        }
        context.out.line(&line)?;
    }
    Ok(())
}

async fn print_stat(context: &mut CommandContext, files: &ThreadFiles, path: &str) -> Result {
    let record = existing_record(files, path, Op::Stat).await?;
    if context.out.json {
        return context.out.json_line(&describe(&record));
    }
    let mut rows = vec![
        ("Path", record.path.to_string()),
        ("Type", record.mime_type.clone()),
        ("Size", record.size.to_string()),
        ("Storage", record.storage.clone()),
    ];
    if let (Some(width), Some(height)) = (record.width, record.height) {
        rows.push(("Pixels", format!("{width} × {height}")));
    }
    if !record.metadata.is_empty() {
        rows.push(("Metadata", Value::Object(record.metadata.clone()).to_string()));
    }
    print_rows(context, &rows)
}

async fn print_content(context: &mut CommandContext, files: &ThreadFiles, path: &str) -> Result {
    let Some(content) = files.read_file(path).await? else {
        let record = existing_record(files, path, Op::Open).await?;
        let message = format!("{}: the bytes are at {}", record.path, record.storage);
        return Err(CommandError::other(message));
    };
    if context.out.json {
        let record = existing_record(files, path, Op::Open).await?;
        return context.out.json_line(&json::content(record.path.as_str(), &content));
    }
    context.out.raw(&content)
}

async fn print_thumbnail(
    context: &mut CommandContext,
    files: &ThreadFiles,
    path: &str,
    picture: &PictureArgs,
) -> Result {
    let record = existing_record(files, path, Op::Open).await?;
    let made = files.thumbnail(path, picture.size).await?.ok_or_else(|| {
        CommandError::other(format!("{}: {}", record.path, ThumbnailError::NotAnImage))
    })?;
    picture.print(context, record.path.as_str(), &made)
}

/// Returns the record of a file that must exist.
async fn existing_record(files: &ThreadFiles, path: &str, op: Op) -> Result<FileRecord> {
    let missing = || FsError::new(FsCode::ENOENT, op, path);
    Ok(files.stat_file(path).await?.ok_or_else(missing)?)
}

async fn grep(
    context: &mut CommandContext,
    place: &ThreadPlaceArgs,
    id: &str,
    pattern: &str,
    search: &FileSearch,
) -> Result {
    // As grep does: 2 for a failure.
    context.exit_with(EXIT_USAGE);
    let files = place.readable(context)?.existing(id).await?.files();
    let found = files.grep_files(pattern, search).await?;
    for file in &found.files {
        if context.out.json {
            context.out.json_line(&json::value(&ThreadMatchesJson::from(file.clone())))?;
            continue;
        }
        for found in &file.matches {
            let line = format!("{}:{}:{}", file.path, found.line, found.content);
            let line = context.out.safe(&line).into_owned();
            context.out.line(&line)?;
        }
    }
    let mut skipped = SkippedFiles::default();
    skipped.add(found.n_binary, &found.binary_paths, String::clone);
    skipped.print(context, "")?;
    context.exit_with(u8::from(found.files.is_empty()));
    Ok(())
}

fn print_path(context: &mut CommandContext, kind: FileKind, path: &str) -> Result {
    let path = context.out.name(kind, path).into_owned();
    context.out.line(&path)
}

fn print_removed(
    context: &mut CommandContext,
    path: &str,
    removed: Result<(), ThreadFileError>,
) -> Result {
    let value = json!({ "path": path, "removed": true });
    let part = removed.map_err(CommandError::from);
    let part = part.and_then(|()| print_json_only(context, &value));
    context.continue_after(part)
}

fn describe(record: &FileRecord) -> Value {
    json::value(&ThreadFileJson::from(record))
}
