//! The files of a thread: the calls of document 000 as subcommands.

use yfs_threads::{FileRecord, ThreadFiles, ThumbnailError};
use yfs_vfs::Metadata;
use yfs_wire::{
    Rfc3339Time, ThreadFileJson, ThreadFileRequest, ThreadLinkRequest, ThreadMatchList,
    ThreadMkdirRequest, ThreadMoveRequest, ThreadResponse, ThreadSearchRequest,
};

use super::ThreadPlaceArgs;
use crate::{
    commands::{grep::SkippedFiles, input_content::ContentArgs, thumbnail::PictureArgs},
    errors::EXIT_USAGE,
    prelude::*,
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
    Stat(FilesArgs),
    /// Print the contents of files
    Cat(FilesArgs),
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
    Mkdir(DirectoriesArgs),
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
    Rm(FilesArgs),
    /// Remove empty directories
    Rmdir(DirectoriesArgs),
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

/// Files of a thread.
#[derive(Debug, clap::Args)]
pub(super) struct FilesArgs {
    /// The thread
    #[arg(value_name = "THREAD")]
    id: String,
    /// The files
    #[arg(value_name = "FILE", required = true)]
    paths: Vec<String>,
}

/// Directories of a thread.
#[derive(Debug, clap::Args)]
pub(super) struct DirectoriesArgs {
    /// The thread
    #[arg(value_name = "THREAD")]
    id: String,
    /// The directories
    #[arg(value_name = "FILE", required = true)]
    paths: Vec<String>,
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
    let each = |paths: Vec<String>, request: fn(String) -> ThreadFileRequest| {
        paths.into_iter().map(request).collect::<Vec<_>>()
    };
    let (id, requests, is_long) = match command {
        ThreadFileCommand::Cat(FilesArgs { id, paths }) => {
            let files = place.open(context, false)?.existing(&id).await?.files();
            for path in &paths {
                let part = print_content(context, &files, path).await;
                context.continue_after(part)?;
            }
            return Ok(());
        }
        ThreadFileCommand::Thumbnail { id, path, picture } => {
            let files = place.open(context, false)?.existing(&id).await?.files();
            return print_thumbnail(context, &files, &path, &picture).await;
        }
        ThreadFileCommand::Write { id, path, content, record } => {
            let files = place.open(context, true)?.existing(&id).await?.files();
            let (data, metadata) = (content.read()?, metadata_of(record.members));
            let record = files.write_file(&path, data, record.mime.as_deref(), metadata).await?;
            return context.out.json_only(&ThreadFileJson::from(&record));
        }
        ThreadFileCommand::Grep { id, pattern, regex, ignore_case, include, limit } => {
            // As grep does: 2 for a failure.
            context.exit_with(EXIT_USAGE);
            let search = ThreadSearchRequest { pattern, regex, ignore_case, include, limit };
            let found =
                serve(context, place, &id, vec![ThreadFileRequest::Grep(search)], false).await;
            return context.continue_after(found);
        }
        ThreadFileCommand::Ls { id, path, long } => {
            (id, vec![ThreadFileRequest::List { path }], long)
        }
        ThreadFileCommand::Stat(FilesArgs { id, paths }) => {
            (id, each(paths, |path| ThreadFileRequest::Stat { path }), true)
        }
        ThreadFileCommand::Find { id, pattern: glob } => {
            (id, vec![ThreadFileRequest::Find { glob }], false)
        }
        ThreadFileCommand::Link { id, path, url, size, hash, record } => {
            let (mime, metadata) = (record.mime, metadata_of(record.members));
            let link = ThreadLinkRequest { path, url, size, hash, mime, metadata };
            (id, vec![ThreadFileRequest::Link(link)], false)
        }
        ThreadFileCommand::Set { id, path, members } => {
            let metadata = Metadata::from_iter(members);
            (id, vec![ThreadFileRequest::Patch { path, metadata }], false)
        }
        ThreadFileCommand::Mv { id, from, to } => {
            (id, vec![ThreadFileRequest::Move(ThreadMoveRequest { from, to })], false)
        }
        ThreadFileCommand::Mkdir(DirectoriesArgs { id, paths }) => {
            let mkdir = |path| ThreadFileRequest::Mkdir(ThreadMkdirRequest { path });
            (id, each(paths, mkdir), false)
        }
        ThreadFileCommand::Rm(FilesArgs { id, paths }) => {
            (id, each(paths, |path| ThreadFileRequest::Unlink { path }), false)
        }
        ThreadFileCommand::Rmdir(DirectoriesArgs { id, paths }) => {
            (id, each(paths, |path| ThreadFileRequest::Rmdir { path }), false)
        }
    };
    serve(context, place, &id, requests, is_long).await
}

/// Serves requests for the files of a thread one after the other, and prints the answers.
pub(super) async fn serve(
    context: &mut CommandContext,
    place: &ThreadPlaceArgs,
    id: &str,
    requests: Vec<ThreadFileRequest>,
    is_long: bool,
) -> Result {
    let writes = requests.iter().any(ThreadFileRequest::writes);
    let files = place.open(context, writes)?.existing(id).await?.files();
    for request in requests {
        let path = match &request {
            ThreadFileRequest::Stat { path }
            | ThreadFileRequest::Unlink { path }
            | ThreadFileRequest::Rmdir { path } => path.clone(),
            _ => String::new(),
        };
        let served = request.serve(&files).await.map_err(CommandError::from);
        let part = served.and_then(|served| print(context, served, is_long, &path));
        context.continue_after(part)?;
    }
    Ok(())
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

/// Prints the answer to a request for a path.
fn print(
    context: &mut CommandContext,
    served: ThreadResponse<Rfc3339Time>,
    is_long: bool,
    path: &str,
) -> Result {
    match served {
        ThreadResponse::Missing => Err(FsError::new(FsCode::ENOENT, Op::Stat, path).into()),
        ThreadResponse::Removed => context.out.json_only(&json!({ "path": path, "removed": true })),
        ThreadResponse::Listing(listing) => print_listing(context, &listing.entries, is_long),
        ThreadResponse::Matches(found) => print_matches(context, &found),
        ThreadResponse::Paths(found) => found.paths.iter().try_for_each(|path| {
            if context.out.json {
                return context.out.json_line(&json!({ "path": path }));
            }
            let path = context.out.name(FileKind::File, path).into_owned();
            context.out.line(&path)
        }),
        served if context.out.json => context.out.json_line(&served),
        ThreadResponse::Stats(stats) => context.out.rows(
            11,
            &[
                ("Files", stats.files.to_string()),
                ("Directories", stats.directories.to_string()),
                ("Bytes", stats.bytes.to_string()),
            ],
        ),
        ThreadResponse::File(record) if is_long => print_record(context, record),
        _ => Ok(()),
    }
}

fn print_listing(context: &mut CommandContext, entries: &[ThreadFileJson], long: bool) -> Result {
    let width = |text: fn(&ThreadFileJson) -> usize| entries.iter().map(text).max().unwrap_or(0);
    let size_width = width(|record| record.size.to_string().len());
    let mime_width = width(|record| record.mime.len());
    for record in entries {
        if context.out.json {
            context.out.json_line(&json::value(record))?;
            continue;
        }
        let kind = if record.is_directory { FileKind::Directory } else { FileKind::File };
        let mut line = context.out.name(kind, &record.name).into_owned();
        if long {
            let mime = context.out.safe(&record.mime).into_owned();
            line = format!("{:>size_width$}  {mime:<mime_width$}  {line}", record.size);
            if !record.storage.starts_with("yfs:") {
                line += &format!(" -> {}", context.out.safe(&record.storage));
            }
        }
        context.out.line(&line)?;
    }
    Ok(())
}

fn print_record(context: &mut CommandContext, record: ThreadFileJson) -> Result {
    let mut rows = vec![
        ("Path", record.path),
        ("Type", record.mime),
        ("Size", record.size.to_string()),
        ("Storage", record.storage),
    ];
    if let (Some(width), Some(height)) = (record.width, record.height) {
        rows.push(("Pixels", format!("{width} × {height}")));
    }
    if !record.metadata.is_empty() {
        rows.push(("Metadata", Value::Object(record.metadata).to_string()));
    }
    context.out.rows(11, &rows)
}

fn print_matches(context: &mut CommandContext, found: &ThreadMatchList) -> Result {
    for file in &found.files {
        if context.out.json {
            context.out.json_line(&json::value(file))?;
            continue;
        }
        for line in &file.matches {
            context.out.safe_line(&format!("{}:{}:{}", file.path, line.line, line.content))?;
        }
    }
    let mut skipped = SkippedFiles::default();
    skipped.add(found.binary, &found.binary_paths, String::clone);
    skipped.print(context, "")?;
    context.exit_with(u8::from(found.files.is_empty()));
    Ok(())
}

async fn print_content(context: &mut CommandContext, files: &ThreadFiles, path: &str) -> Result {
    let content = files.read_file(path).await?;
    let record = match (&content, context.out.json) {
        (Some(content), false) => return context.out.raw(content),
        _ => existing_record(files, path).await?,
    };
    match content {
        Some(content) => context.out.json_line(&json::content(record.path.as_str(), &content)),
        None => Err(CommandError::other(format!(
            "{}: the bytes are at {}",
            record.path, record.storage
        ))),
    }
}

async fn print_thumbnail(
    context: &mut CommandContext,
    files: &ThreadFiles,
    path: &str,
    picture: &PictureArgs,
) -> Result {
    let record = existing_record(files, path).await?;
    let made = files.thumbnail(path, picture.size).await?.ok_or_else(|| {
        CommandError::other(format!("{}: {}", record.path, ThumbnailError::NotAnImage))
    })?;
    picture.print(context, record.path.as_str(), &made)
}

/// Returns the record of a file that must exist.
async fn existing_record(files: &ThreadFiles, path: &str) -> Result<FileRecord> {
    let missing = || FsError::new(FsCode::ENOENT, Op::Open, path);
    Ok(files.stat_file(path).await?.ok_or_else(missing)?)
}
