//! `yfs mv`: moves and renames. Files keep their history, and stay open in editors.

use clap::Args;
use yfs_vfs::{FsCode, MoveOptions};

use crate::{
    commands::transfer_operands::{PathTransfer, TransferArgs},
    context::{CommandContext, Fs},
    errors::Result,
};

const HELP: &str = "\
A file that is replaced keeps its identity and gets the new content as the least edit, so that editors
stay bound to it.

Examples:
  yfs mv draft.md final.md
  yfs mv a.txt b.txt archive          into the directory archive
  yfs mv -T new-site site             replaces, never into it
  yfs mv -n a.txt b.txt               not if b.txt exists

JSON: one object a line: {from, to}.";

/// The arguments of `yfs mv`.
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
        let part = transfer_one(context, &fs, &transfer, !args.transfer.no_clobber).await;
        context.settle(part)?;
    }
    Ok(())
}

async fn transfer_one(
    context: &mut CommandContext,
    fs: &Fs,
    it: &PathTransfer,
    replace: bool,
) -> Result {
    let options = MoveOptions { replace, parents: false };
    match fs.mv(&it.from.path, &it.to.path, &options).await {
        Err(error) if error.code == FsCode::EEXIST && !replace => return Ok(()),
        done => done?,
    }
    it.report(context)
}
