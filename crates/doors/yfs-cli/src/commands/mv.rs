//! `yfs mv`: moves and renames files. They keep their history, and stay open in editors.

use yfs_vfs::MoveOptions;

use crate::{
    commands::{
        confirm_prompt::quoted,
        transfer_operands::{PathTransfer, TransferArgs, require_directory},
    },
    prelude::*,
};

const HELP: &str = "\
If PATH replaces an existing file, that file keeps its id and gets the new content as the smallest
edit, so that open editors stay connected to it.

Not supported: -b (backups), because the replaced content is in `yfs versions`.

Examples:
  yfs mv draft.md final.md
  yfs mv a.txt b.txt archive          moves into the directory archive
  yfs mv -t archive a.txt b.txt       the same, with the directory first
  yfs mv -T new-site site             replaces site, never moves into it
  yfs mv -n a.txt b.txt               skips if b.txt exists
  yfs mv -iv a.txt b.txt              asks before it replaces; prints what it moves

JSON: one object per line: {from, to}.";

/// Move or rename files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MvArgs {
    #[command(flatten)]
    transfer: TransferArgs,
    /// Replace existing files without a question: the default
    #[arg(short, long, hide = true, overrides_with_all = ["no_clobber", "interactive"])]
    force: bool,
}

/// Moves the files.
pub(crate) async fn run(args: MvArgs, context: &mut CommandContext) -> Result {
    args.transfer.operands()?;
    let fs = context.writer()?;
    for transfer in args.transfer.transfers(context, &fs).await? {
        let part = move_one(&args.transfer, context, &fs, &transfer).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn move_one(
    args: &TransferArgs,
    context: &mut CommandContext,
    fs: &Fs,
    transfer: &PathTransfer,
) -> Result {
    let PathTransfer { from, to } = transfer;
    require_directory(fs, from, Op::Rename).await?;
    if from.names_dots() {
        return Err(FsError::new(FsCode::EBUSY, Op::Rename, &from.path).into());
    }
    let source = fs.lstat(&from.path).await;
    if let (Ok(source), Ok(existing)) = (source, fs.lstat(&to.path).await)
        && source.id == existing.id
    {
        let (from, to) = (quoted(from), quoted(to));
        return Err(CommandError::other(format!("{from} and {to} are the same file")));
    }
    if args.skips(context, fs, transfer).await? {
        return Ok(());
    }
    let options = MoveOptions { replace: !args.no_clobber, parents: false };
    match fs.mv(&from.path, &to.path, &options).await {
        Err(error) if error.code == FsCode::EEXIST && args.no_clobber => return Ok(()),
        moved => moved?,
    }
    if args.verbose && !context.out.json {
        let line = format!("renamed {}", transfer.describe());
        context.out.safe_line(&line)?;
    }
    transfer.report(context)
}
