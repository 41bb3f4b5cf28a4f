//! The changes of the tree by a session: moves, new directories and links, which the history of
//! contents does not list.

use serde_json::json;
use yfs::Workspace;
use yfs_agent::history::{
    StructureChange, StructureChangeKind, UndoneChange, UndoneResult, structure_changes,
    undo_structure,
};

use super::UndoArgs;
use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
};

/// Lists the changes of the tree that the arguments select, the latest first.
pub(super) fn select_tree_changes(
    args: &UndoArgs,
    workspace: &Workspace,
    below: &yfs_engine::path::VPath,
) -> Result<Vec<StructureChange>> {
    // A count is one of changes of contents.
    let Some(session) = args.session.as_ref().filter(|_| args.max_count.is_none()) else {
        return Ok(Vec::new());
    };
    let changes = structure_changes(workspace, session);
    let mut changes = changes.map_err(|error| {
        CommandError::other(format!("cannot read the audit records of {session}: {error}"))
    })?;
    let author = args.author.as_ref().map(ToString::to_string);
    changes.retain(|change| {
        author.as_ref().is_none_or(|author| *author == change.actor)
            && args.since.is_none_or(|since| change.at_ms >= since.0)
            && change.path.starts_with(below)
    });
    Ok(changes)
}

/// Prints what would be undone.
pub(super) fn print_tree_plan(change: &StructureChange, context: &mut CommandContext) -> Result {
    let path = context.out.safe(change.path.as_str()).into_owned();
    match &change.kind {
        _ if context.out.json => print_json(&change.path, &change.kind, None, context),
        StructureChangeKind::Moved { from, .. } => {
            let from = context.out.safe(from.as_str()).into_owned();
            context.out.line(&format!("move      {path}  back to {from}"))
        }
        StructureChangeKind::Created { .. } => {
            context.out.line(&format!("remove    {path}  if it is empty or a link"))
        }
        // `StructureChangeKind::Attribute`, and every later kind.
        _ => context.out.line(&format!("keep      {path}  its mode or metadata")),
    }
}

/// Undoes the changes, and prints what became of each.
pub(super) fn undo_tree_changes(
    workspace: &Workspace,
    changes: &[StructureChange],
    context: &mut CommandContext,
) -> Result {
    for change in changes {
        let undone = undo_structure(workspace, context.actor(), std::slice::from_ref(change));
        for undone in &undone {
            let printed = print_undone(undone, change, context);
            context.continue_after(printed)?;
        }
    }
    Ok(())
}

fn print_undone(
    undone: &UndoneChange,
    change: &StructureChange,
    context: &mut CommandContext,
) -> Result {
    let (path, word) = match &undone.result {
        UndoneResult::Kept(reason) => {
            let (path, what) = (&undone.path, change.kind.as_str());
            return Err(CommandError::other(format!("{path}: {what}, and not undone: {reason}")));
        }
        UndoneResult::MovedBack { to } => (to, "moved"),
        UndoneResult::Removed => (&undone.path, "removed"),
        _ => (&undone.path, "nothing"),
    };
    if context.out.json {
        return print_json(path, &change.kind, Some(word), context);
    }
    let shown = context.out.safe(path.as_str()).into_owned();
    let from = match undone.result {
        UndoneResult::MovedBack { .. } => format!("  from {}", undone.path),
        _ => String::new(),
    };
    let from = context.out.safe(&from).into_owned();
    context.out.line(&format!("{word:<8}  {shown}{from}"))
}

fn print_json(
    path: &yfs_engine::path::VPath,
    kind: &StructureChangeKind,
    result: Option<&str>,
    context: &mut CommandContext,
) -> Result {
    context.out.json_line(&json!({
        "path": path.as_str(),
        "change": kind.as_str(),
        "version": null,
        "result": result,
        "merged": false,
    }))
}
