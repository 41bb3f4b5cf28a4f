//! `yfs cp`: copies files and directories.

use clap::Args;
use yfs_vfs::{CopyOptions, FileKind, FsCode, FsError, Op};

use crate::{
    commands::transfer_operands::{PathTransfer, TransferArgs},
    context::{CommandContext, Fs},
    errors::Result,
    typed_path::TypedPath,
};

const HELP: &str = "\
A copy has the mode and time of its source, and a new id.

Examples:
  yfs cp a.md b.md
  yfs cp -r src backup              copies into backup if it is a directory
  yfs cp -rT src backup             copies to backup itself, merging directories
  yfs cp -n a.md b.md               skips b.md if it exists

JSON: one object per line: {from, to}.";

/// Copy files and directories
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CpArgs {
    #[command(flatten)]
    transfer: TransferArgs,
    /// Copy directories recursively; copy links as links
    #[arg(short, short_alias = 'R', long, visible_short_alias = 'a')]
    recursive: bool,
}

/// Copies the files.
pub(crate) async fn run(args: CpArgs, context: &mut CommandContext) -> Result {
    let fs = context.writer()?;
    for transfer in args.transfer.transfers(context, &fs).await? {
        let part = copy(&args, context, &fs, transfer).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn copy(
    args: &CpArgs,
    context: &mut CommandContext,
    fs: &Fs,
    transfer: PathTransfer,
) -> Result {
    let PathTransfer { from, to } = transfer;
    // Without -r, the target of a link is copied.
    let source = match args.recursive {
        true => from.path.clone(),
        false => {
            fs.realpath(&from.path).await.map_err(|error| error.during(Op::Cp).to(&to.path))?
        }
    };
    let from = TypedPath { path: source, ..from };
    if args.transfer.no_clobber {
        copy_new(fs, from.clone(), to.clone()).await?;
    } else {
        let options = CopyOptions { recursive: args.recursive, replace: true, parents: false };
        fs.cp(&from.path, &to.path, &options).await?;
    }
    PathTransfer { from, to }.report(context)
}

/// Copies files that do not exist yet, and merges directories.
async fn copy_new(fs: &Fs, from: TypedPath, to: TypedPath) -> Result<(), FsError> {
    let options = CopyOptions { recursive: true, replace: false, parents: false };
    let mut pending = vec![(from, to)];
    while let Some((from, to)) = pending.pop() {
        match fs.cp(&from.path, &to.path, &options).await {
            Err(error) if error.code == FsCode::EEXIST => (),
            copied => {
                copied?;
                continue;
            }
        }
        let both = [fs.lstat(&from.path).await?.kind, fs.lstat(&to.path).await?.kind];
        if both == [FileKind::Directory; 2] {
            let below = fs.readdir(&from.path).await?;
            pending
                .extend(below.iter().map(|entry| (from.join(&entry.name), to.join(&entry.name))));
        }
    }
    Ok(())
}
