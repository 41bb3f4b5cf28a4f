//! `yfs fsck`: checks the integrity of the workspace.

use clap::Args;
use serde_json::json;

use crate::{
    context::CommandContext,
    errors::{EXIT_FAILED, Result},
};

/// Check the integrity of the workspace
///
/// Reads every record, snapshot and blob and verifies it. Exit status: 1 if there is damage.
///
/// JSON: one object for each problem: {doc, what}; then {records, snapshots, blobs, problems}.
#[derive(Debug, Args)]
pub(crate) struct FsckArgs {}

/// Verifies everything that the workspace stores, and reports damage.
pub(crate) async fn run(_: FsckArgs, context: &mut CommandContext) -> Result {
    let workspace = context.readable()?;
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
    if n_problems > 0 {
        context.exit_with(EXIT_FAILED);
    }
    Ok(())
}
