//! `yfs mv`: moves and renames files. They keep their history, and stay open in editors.

use clap::Args;
use yfs_vfs::{FsCode, MoveOptions};

use crate::{
    commands::transfer_operands::{PathTransfer, TransferArgs},
    context::{CommandContext, Fs},
    errors::Result,
};

const HELP: &str = "\
If PATH replaces an existing file, that file keeps its id and gets the new content as the smallest
edit, so that open editors stay connected to it.

Examples:
  yfs mv draft.md final.md
  yfs mv a.txt b.txt archive          moves into the directory archive
  yfs mv -T new-site site             replaces site, never moves into it
  yfs mv -n a.txt b.txt               skips if b.txt exists

JSON: one object per line: {from, to}.";

/// Move or rename files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MvArgs {
    #[command(flatten)]
    transfer: TransferArgs,
}

/// Moves the files.
pub(crate) async fn run(args: MvArgs, context: &mut CommandContext) -> Result {
    let fs = context.writer()?;
    for transfer in args.transfer.transfers(context, &fs).await? {
        let part = move_one(context, &fs, &transfer, !args.transfer.no_clobber).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn move_one(
    context: &mut CommandContext,
    fs: &Fs,
    transfer: &PathTransfer,
    replace: bool,
) -> Result {
    let options = MoveOptions { replace, parents: false };
    match fs.mv(&transfer.from.path, &transfer.to.path, &options).await {
        Err(error) if error.code == FsCode::EEXIST && !replace => return Ok(()),
        moved => moved?,
    }
    transfer.report(context)
}
