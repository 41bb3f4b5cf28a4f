//! `yfs admin info`: prints statistics of the workspace.

use yfs_store::StoreStats;

use crate::prelude::*;

const HELP: &str = "\
Examples:
  yfs admin info
  yfs admin info --json | jq .files

JSON: {id, file, profile, files, directories, bytes, trashed, parked, quarantined, refused,
main_bytes, store}.";

/// Print statistics of the workspace
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InfoArgs {}

/// Prints statistics of the workspace.
pub(crate) async fn run(_: InfoArgs, context: &mut CommandContext) -> Result {
    let workspace = context.readable()?;
    let stats = workspace.maintenance().stats()?;
    let totals = stats.visible;
    let file = context.file()?.display().to_string();
    let store = stats.store;
    let profile = yfs_engine::kind::profile_name(workspace.profile());
    if context.out.json {
        return context.out.json_line(&json!({
            "id": stats.id.as_str(),
            "file": file,
            "profile": profile,
            "files": totals.n_files,
            "directories": totals.n_directories,
            "bytes": totals.n_bytes,
            "trashed": stats.n_trashed,
            "parked": stats.n_parked,
            "quarantined": store.n_quarantined,
            "refused": store.n_refused,
            "main_bytes": stats.main_bytes,
            "store": {
                "docs": store.n_docs,
                "records": store.n_records,
                "record_bytes": store.record_bytes,
                "snapshot_bytes": store.snapshot_bytes,
                "blobs": store.n_blobs,
                "blob_bytes": store.blob_bytes,
                "quarantine_bytes": store.quarantine_bytes,
                "quarantine_dropped": store.n_quarantine_dropped,
                "file_bytes": store.file_bytes,
                "head": store.head.0,
            },
        }));
    }
    let lines = [
        ("Workspace", stats.id.to_string()),
        ("File", file),
        ("Profile", profile.to_owned()),
        ("On disk", human_size(store.file_bytes)),
        ("Files", format!("{} ({})", totals.n_files, human_size(totals.n_bytes))),
        ("Directories", totals.n_directories.to_string()),
        ("In the trash", stats.n_trashed.to_string()),
        ("Files table", human_size(stats.main_bytes)),
        ("Log", format!("{} records ({})", store.n_records, human_size(store.record_bytes))),
        ("Snapshots", human_size(store.snapshot_bytes)),
        ("Blobs", format!("{} ({})", store.n_blobs, human_size(store.blob_bytes))),
        ("Parked", stats.n_parked.to_string()),
        ("Quarantined", quarantine_summary(&store)),
    ];
    for (name, value) in lines {
        context.out.line(&format!("{name:>12}: {value}"))?;
    }
    Ok(())
}

/// Returns a summary of the rejected updates in one line.
fn quarantine_summary(store: &StoreStats) -> String {
    let StoreStats { n_quarantined, n_refused, quarantine_bytes, n_quarantine_dropped, .. } = store;
    let mut summary = n_quarantined.to_string();
    if *n_quarantined > 0 {
        summary += &format!(" ({}, refused {n_refused} times)", human_size(*quarantine_bytes));
    }
    if *n_quarantine_dropped > 0 {
        summary += &format!(", {n_quarantine_dropped} more dropped");
    }
    summary
}
