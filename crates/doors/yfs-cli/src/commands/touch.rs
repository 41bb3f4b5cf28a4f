//! `yfs touch`: sets modification times, and creates missing files.

use bytes::Bytes;
use yfs_engine::path::MAX_LINKS;
use yfs_vfs::{CreateMode, FileSystemExt, WriteOptions};

use crate::{commands::transfer_operands::require_found_directory, prelude::*};

const HELP: &str = "\
A date without a time zone is in the zone of TZ, or else of the system. A file has one time, so -a
does nothing. The time of a link is not set: -h fails for one.

Examples:
  yfs touch new.md                        creates the file if it is missing
  yfs touch -d '2026-01-31 12:00' a.md
  yfs touch -d '3 days ago' -c a.md       skips the file if it is missing
  yfs touch -r a.md b.md                  sets the time of a.md

JSON: one object per line, as of `yfs stat`.";

/// Set modification times, and create missing files
#[derive(Debug, Args)]
#[command(after_help = HELP, disable_help_flag = true)]
pub(crate) struct TouchArgs {
    /// The files to touch
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Set this time: DATE, DATE TIME, @SECONDS or `3 days ago`
    #[arg(
        short,
        long,
        value_name = "DATE",
        allow_hyphen_values = true,
        conflicts_with_all = ["stamp", "reference"]
    )]
    date: Option<String>,
    #[arg(
        help = "Set this time: [[CC]YY]MMDDhhmm[.ss]",
        short = 't',
        value_name = "STAMP",
        conflicts_with = "reference"
    )]
    stamp: Option<String>,
    /// Set the time of this file
    #[arg(short, long, value_name = "PATH")]
    reference: Option<String>,
    /// Do not create files
    #[arg(short = 'c', long)]
    no_create: bool,
    /// Accepted for compatibility: a file has only one time
    #[arg(short = 'm', hide = true)]
    modification: bool,
    /// Accepted for compatibility: a file has only one time
    #[arg(short = 'a', hide = true)]
    access: bool,
    /// Do not follow links
    #[arg(short = 'h', long)]
    no_dereference: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Touches the files.
pub(crate) async fn run(args: TouchArgs, context: &mut CommandContext) -> Result {
    let now = parse_time::now();
    let time = match (&args.date, &args.stamp) {
        (Some(date), _) => Some(parse_time::parse(date, now).map_err(CommandError::Usage)?),
        (_, Some(stamp)) => Some(parse_time::parse_stamp(stamp, now).map_err(CommandError::Usage)?),
        _ => None,
    };
    let fs = context.writer()?;
    let time = match &args.reference {
        Some(reference) => fs.stat(&context.path(reference)?.path).await?.mtime,
        None => time.unwrap_or(now),
    };
    for path in context.paths(&args.paths) {
        let part = touch(&args, context, &fs, &path, time).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn touch(
    args: &TouchArgs,
    context: &mut CommandContext,
    fs: &Fs,
    path: &TypedPath,
    time: Millis,
) -> Result {
    require_found_directory(fs, path, Op::Utimes).await?;
    let lstat = fs.lstat(&path.path).await;
    if args.no_dereference && matches!(&lstat, Ok(stat) if stat.kind == FileKind::Symlink) {
        let message = format!("{}: the time of a link cannot be set", path.typed);
        return Err(CommandError::other(message));
    }
    if args.access && lstat.is_ok() && !args.modification {
        return Ok(());
    }
    match fs.utimes(&path.path, time).await {
        Err(error) if error.code == FsCode::ENOENT && args.no_create => return Ok(()),
        Err(error) if error.code == FsCode::ENOENT => {
            if path.has_trailing_slash() {
                return Err(error.into());
            }
            create(fs, &follow_dangling(fs, &path.path).await?, time).await?;
        }
        updated => updated?,
    }
    if context.out.json {
        let stat = fs.stat(&path.path).await?;
        context.out.json_line(&json::stat(path.path.as_str(), &stat, None))?;
    }
    Ok(())
}

/// Returns the path that a dangling link refers to, or the path itself.
async fn follow_dangling(fs: &Fs, path: &VPath) -> Result<VPath, FsError> {
    let mut path = path.clone();
    for _ in 0..MAX_LINKS {
        match fs.lstat(&path).await {
            Ok(stat) if stat.kind == FileKind::Symlink => {
                let target = fs.readlink(&path).await?;
                let parent = fs.realpath(&path.parent().unwrap_or_else(VPath::root)).await?;
                path = parent
                    .resolve(&target)
                    .map_err(|error| FsError::bad_path(Op::Open, &target, error))?;
            }
            _ => return Ok(path),
        }
    }
    Err(FsError::new(FsCode::ELOOP, Op::Open, &path))
}

async fn create(fs: &Fs, path: &VPath, time: Millis) -> Result<(), FsError> {
    let options = WriteOptions {
        create: CreateMode::New,
        mtime: Some(time),
        parents: false,
        ..WriteOptions::default()
    };
    match fs.write(path, Bytes::new(), &options).await {
        // If another process created the file first, its time is set.
        Err(error) if error.code == FsCode::EEXIST => fs.utimes(path, time).await,
        written => written.map(drop),
    }
}
