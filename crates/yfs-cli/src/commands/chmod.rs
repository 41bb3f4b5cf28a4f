//! `yfs chmod`: sets permission bits, which are stored and shown but not enforced.

use clap::Args;
use serde_json::json;
use yfs_engine::path::VPath;
use yfs_vfs::{FileKind, WalkOptions};

use crate::{
    context::{CommandContext, Fs},
    errors::{CommandError, Result},
    json,
    mode::ModeChange,
    typed_path::TypedPath,
};

const HELP: &str = "\
The bits are stored and shown, but not enforced.

Examples:
  yfs chmod 755 run.sh
  yfs chmod +x run.sh
  yfs chmod -R go-w,u+X site

JSON: one object per line: {path, mode}.";

/// Set permission bits
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ChmodArgs {
    #[arg(
        help = "The bits: octal, or symbolic as [ugoa][+-=][rwxXst],...",
        value_name = "MODE",
        allow_hyphen_values = true
    )]
    mode: String,
    /// The files to change
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Change directories recursively
    #[arg(short = 'R', long)]
    recursive: bool,
}

/// Changes the modes of the files.
pub(crate) async fn run(args: ChmodArgs, context: &mut CommandContext) -> Result {
    let change = ModeChange::parse(&args.mode).map_err(CommandError::Usage)?;
    let fs = context.writer()?;
    for path in context.paths(&args.paths) {
        let part = change_all(&args, context, &fs, &path, &change).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn change_all(
    args: &ChmodArgs,
    context: &mut CommandContext,
    fs: &Fs,
    path: &TypedPath,
    change: &ModeChange,
) -> Result {
    let stat = fs.stat(&path.path).await?;
    change_one(context, fs, &path.path, (stat.mode, stat.kind), change).await?;
    if !args.recursive || !stat.is_directory() {
        return Ok(());
    }
    for item in fs.walk(&path.path, &WalkOptions::default()).await? {
        if item.entry.kind != FileKind::Symlink {
            let before = (item.entry.mode, item.entry.kind);
            let part = change_one(context, fs, &item.path, before, change).await;
            context.continue_after(part)?;
        }
    }
    Ok(())
}

async fn change_one(
    context: &mut CommandContext,
    fs: &Fs,
    path: &VPath,
    (before, kind): (u32, FileKind),
    change: &ModeChange,
) -> Result {
    let mode = change.apply(before, kind == FileKind::Directory);
    if mode != before {
        fs.chmod(path, mode).await?;
    }
    if context.out.json {
        context.out.json_line(&json!({ "path": path.as_str(), "mode": json::octal(mode) }))?;
    }
    Ok(())
}
