//! `yfs rmdir`: moves empty directories to the trash.

use yfs_vfs::RemoveOptions;

use crate::prelude::*;

const HELP: &str = "\
A directory with content stays; `yfs rm -r` removes it.

Examples:
  yfs rmdir old
  yfs rmdir -p a/b/c        also removes a/b and a, if they are empty then

JSON: one object per line: {path, removed}.";

/// Remove empty directories
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RmdirArgs {
    /// The directories to remove
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Also remove the directories above, as far as the operand names them
    #[arg(short, long)]
    parents: bool,
    /// Print what is removed
    #[arg(short, long)]
    verbose: bool,
    /// No error if a directory is not empty
    #[arg(long)]
    ignore_fail_on_non_empty: bool,
}

/// Removes the directories.
pub(crate) async fn run(args: RmdirArgs, context: &mut CommandContext) -> Result {
    let fs = context.writer()?;
    for path in context.paths(&args.paths) {
        let part = remove_empty(&args, context, &fs, path).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn remove_empty(
    args: &RmdirArgs,
    context: &mut CommandContext,
    fs: &Fs,
    mut path: TypedPath,
) -> Result {
    if path.name() == "." {
        return Err(FsError::new(FsCode::EINVAL, Op::Rm, &path.path).into());
    }
    loop {
        if !fs.lstat(&path.path).await?.is_directory() {
            return Err(FsError::new(FsCode::ENOTDIR, Op::Rm, &path.path).into());
        }
        let options = RemoveOptions { recursive: false, force: false };
        match fs.rm(&path.path, &options).await {
            Err(error) if error.code == FsCode::ENOTEMPTY && args.ignore_fail_on_non_empty => {
                return Ok(());
            }
            Err(error) => {
                let hint = "`yfs rm -r` removes its content, too";
                return Err(CommandError::hinted(error, FsCode::ENOTEMPTY, hint));
            }
            Ok(()) => (),
        }
        if context.out.json {
            context.out.json_line(&json!({ "path": path.path.as_str(), "removed": true }))?;
        } else if args.verbose {
            let line = format!("rmdir: removing directory, '{}'", path.typed);
            context.out.safe_line(&line)?;
        }
        let typed = path.typed.trim_end_matches('/');
        let above = typed.rsplit_once('/').map(|(above, _)| above.trim_end_matches('/'));
        match above {
            Some(above) if args.parents && !above.is_empty() => path = context.path(above)?,
            _ => return Ok(()),
        }
    }
}
