//! `yfs admin backup`: writes a consistent copy of the workspace.

use std::path::PathBuf;

use crate::{errors::DAMAGE_HINT, prelude::*, progress::CommandProgress};

/// Write a consistent copy of the workspace
#[derive(Debug, Args)]
#[command(after_help = "\
The copy is consistent, even if other processes write meanwhile. It is a workspace file; to open it,
pass it to --workspace.

All records and blobs are verified as well. If some are damaged, the copy has the same damage, and
the command says so.

Exit status: 0; 1 if there is no copy, or if the workspace is damaged.

Examples:
  yfs admin backup ~/backups/notes.db

JSON: {file, bytes, problems}.")]
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
    let bar = CommandProgress::new(&context.globals, "checking");
    let report = workspace.store().check_with_progress(&mut |done, total| bar.set(done, total));
    drop(bar);
    let problems = report.map_err(yfs::WorkspaceError::from)?.problems;
    let file = args.to.display().to_string();
    if let Some(first) = problems.first() {
        let count = counted(problems.len() as u64, "problem", "problems");
        let first = &first.description;
        let message = format!(
            "the workspace is damaged, and so is the copy: {count}, {first}; {DAMAGE_HINT}"
        );
        context.fail(&CommandError::other(message));
    }
    if context.out.json {
        let n_bytes = args.to.metadata().map_or(0, |meta| meta.len());
        return context.out.json_line(&json!({
            "file": file,
            "bytes": n_bytes,
            "problems": problems.len(),
        }));
    }
    context.remark(&format!("{file} written"));
    Ok(())
}
