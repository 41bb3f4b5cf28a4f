//! `yfs rm`: moves files to the trash.

use clap::Args;
use serde_json::json;
use yfs_vfs::{FsCode, FsError, Op, RemoveOptions};

use crate::{
    context::{CommandContext, Fs},
    errors::{CommandError, Result},
    typed_path::TypedPath,
};

const HELP: &str = "\
Removed files go to the trash; see `yfs help trash`.

Examples:
  yfs rm old.md
  yfs rm -r build
  yfs rm -f maybe.txt       no error if it is missing

JSON: one object per line: {path, removed}.";

/// Move files to the trash
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RmArgs {
    /// The files to remove
    #[arg(value_name = "PATH", required_unless_present = "force")]
    paths: Vec<String>,
    /// Remove directories recursively
    #[arg(short, long, short_alias = 'R')]
    recursive: bool,
    /// Also remove empty directories
    #[arg(short, long)]
    dir: bool,
    /// Ignore missing files
    #[arg(short, long)]
    force: bool,
}

/// Removes the files.
pub(crate) async fn run(args: RmArgs, context: &mut CommandContext) -> Result {
    let fs = context.writer()?;
    for path in context.paths(&args.paths) {
        let part = remove(&args, context, &fs, &path).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn remove(args: &RmArgs, context: &mut CommandContext, fs: &Fs, path: &TypedPath) -> Result {
    if !args.recursive && !args.dir {
        // The filesystem would remove an empty directory; `rm` does not.
        let is_directory = matches!(fs.lstat(&path.path).await, Ok(stat) if stat.is_directory());
        if is_directory {
            return Err(CommandError::Fs(FsError::new(FsCode::EISDIR, Op::Rm, &path.path)));
        }
    }
    let was_there = !args.force || fs.lstat(&path.path).await.is_ok();
    let options = RemoveOptions { recursive: args.recursive, force: args.force };
    fs.rm(&path.path, &options).await?;
    if context.out.json {
        let value = json!({ "path": path.path.as_str(), "removed": was_there });
        context.out.json_line(&value)?;
    }
    Ok(())
}
