//! Commands on the whole workspace: `info`, `conflicts`, `compact`, `fsck`, `backup`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use yfs_engine::path::VPath;
use yfs_store::StoreStats;
use yfs_vfs::FileSystem;
use yfs_wire::ConflictJson;

use crate::{
    context::CommandContext,
    errors::{EXIT_FAILED, Result},
    format_text::{counted, human_size},
    json,
    progress::CommandProgress,
};

/// The arguments of a command without options.
#[derive(Debug, Args)]
pub(crate) struct NoArgs {}

/// The arguments of `yfs backup`.
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

/// The arguments of `yfs fsck`.
#[derive(Debug, Args)]
#[command(after_help = "\
A workspace with damaged records is neither mirrored nor served, because what cannot be read would
count as deleted. Put a backup back, or pass --accept to go on without these records.")]
pub(crate) struct FsckArgs {
    /// Accept the damage: mirror and serve the workspace without what cannot be read
    #[arg(long)]
    accept: bool,
}

/// Prints statistics of the workspace.
pub(crate) async fn info(context: &mut CommandContext) -> Result {
    let workspace = context.readable()?;
    let stats = workspace.maintenance().stats()?;
    let totals = workspace.fs().totals(&VPath::root()).await?;
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

/// Lists conflicts that rules resolved, and contents that need a repair.
pub(crate) fn conflicts(context: &mut CommandContext) -> Result {
    for conflict in context.readable()?.conflicts()? {
        if context.out.json {
            context.out.json_line(&json::value(&ConflictJson::from(&conflict)))?;
            continue;
        }
        let path = context.out.safe(&conflict.path).into_owned();
        let detail = context.out.safe(&conflict.detail).into_owned();
        context.out.line(&format!("{}: {path}: {detail}", conflict.kind.as_str()))?;
    }
    Ok(())
}

/// Replaces the log with snapshots.
pub(crate) fn compact(context: &mut CommandContext) -> Result {
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

/// Verifies everything that the workspace stores, and reports damage.
pub(crate) fn fsck(args: FsckArgs, context: &mut CommandContext) -> Result {
    let workspace = if args.accept { context.writable()? } else { context.readable()? };
    let report = workspace.store().check().map_err(yfs::WorkspaceError::from)?;
    let n_problems = report.problems.len();
    for problem in &report.problems {
        let doc = problem.doc.as_ref().map(ToString::to_string);
        if context.out.json {
            context.out.json_line(&json!({ "doc": doc, "what": problem.description }))?;
        } else {
            let prefix = doc.map(|doc| format!("{doc}: ")).unwrap_or_default();
            let line = context.out.safe(&format!("{prefix}{}", problem.description)).into_owned();
            context.out.line(&line)?;
        }
    }
    let (n_records, n_snapshots, n_blobs) = (report.n_records, report.n_snapshots, report.n_blobs);
    if context.out.json {
        context.out.json_line(&json!({
            "records": n_records,
            "snapshots": n_snapshots,
            "blobs": n_blobs,
            "problems": n_problems,
        }))?;
    } else {
        let read = format!("{n_records} records, {n_snapshots} snapshots and {n_blobs} blobs");
        context.remark(&format!("{read} checked, {n_problems} problems"));
    }
    if args.accept {
        let n_accepted = workspace.maintenance().accept_damage()?;
        let n_accepted_text = counted(n_accepted as u64, "problem", "problems");
        context.remark(&format!("{n_accepted_text} accepted"));
        if n_accepted >= n_problems {
            return Ok(());
        }
    }
    if n_problems > 0 {
        context.exit_with(EXIT_FAILED);
    }
    Ok(())
}

/// Writes a consistent copy of the workspace.
pub(crate) fn backup(args: BackupArgs, context: &mut CommandContext) -> Result {
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
