//! `yfs admin compact`: replaces the log with snapshots.

use crate::{prelude::*, progress::CommandProgress};

const HELP: &str = "\
Examples:
  yfs admin compact
  yfs admin compact --json

JSON: {documents, compacted, kept, bytes_before, bytes_after}.";

/// Replace the log with snapshots
///
/// Contents and versions do not change. Other processes may read and write meanwhile.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompactArgs {}

/// Replaces the log with snapshots.
pub(crate) async fn run(_: CompactArgs, context: &mut CommandContext) -> Result {
    let workspace = context.writable()?;
    let bar = CommandProgress::new(&context.globals, "compacting");
    let report = workspace.maintenance().compact(&mut |done, total| bar.set(done, total));
    drop(bar);
    let report = report?;
    if context.out.json {
        return context.out.json_line(&json!({
            "documents": report.n_documents,
            "compacted": report.n_compacted,
            "kept": report.n_kept,
            "bytes_before": report.bytes_before,
            "bytes_after": report.bytes_after,
        }));
    }
    let (before, after) = (human_size(report.bytes_before), human_size(report.bytes_after));
    let (n_compacted, n) = (report.n_compacted, report.n_documents);
    context.remark(&format!(
        "{n_compacted} of {n} documents compacted, {before} before, {after} after"
    ));
    Ok(())
}
