//! `yfs backup`: writes a consistent copy of the workspace.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::{context::CommandContext, errors::Result, progress::CommandProgress};

/// Write a consistent copy of the workspace
#[derive(Debug, Args)]
#[command(after_help = "\
The copy is consistent, even if other processes write meanwhile. It is a workspace file; to open it,
pass it to --workspace.

Examples:
  yfs backup ~/backups/notes.db

JSON: {file, bytes}.")]
pub(crate) struct BackupArgs {
    /// The file to write, which must not exist
    #[arg(value_name = "FILE")]
    to: PathBuf,
}

/// Writes a consistent copy of the workspace.
pub(crate) async fn run(args: BackupArgs, context: &mut CommandContext) -> Result {
    let workspace = context.readable()?;
    let bar = CommandProgress::new(&context.globals, "copying");
    let copied = workspace.store().backup(&args.to, &mut |done, total| bar.set(done, total));
    drop(bar);
    copied.map_err(yfs::WorkspaceError::from)?;
    let file = args.to.display().to_string();
    if context.out.json {
        let n_bytes = args.to.metadata().map_or(0, |meta| meta.len());
        return context.out.json_line(&json!({ "file": file, "bytes": n_bytes }));
    }
    context.remark(&format!("{file} written"));
    Ok(())
}
