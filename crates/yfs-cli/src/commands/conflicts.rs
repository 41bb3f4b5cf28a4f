//! `yfs conflicts`: lists conflicts that rules resolved.

use clap::Args;
use yfs_wire::ConflictJson;

use crate::{context::CommandContext, errors::Result, json};

/// List conflicts that rules resolved: equal names, cycles, changes in trashed directories
///
/// JSON: one object per line: {kind, id, path, detail}.
#[derive(Debug, Args)]
pub(crate) struct ConflictsArgs {}

/// Lists conflicts that rules resolved, and contents that need a repair.
pub(crate) async fn run(_: ConflictsArgs, context: &mut CommandContext) -> Result {
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
