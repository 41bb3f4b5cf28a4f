//! `yfs undo`: undoes one's last changes.

use std::{
    collections::HashSet,
    io::{self, IsTerminal},
};

use clap::Args;
use serde_json::json;
use yfs::{
    Workspace,
    workspace::{
        change_list::{HistoryChange, HistoryEntry},
        undo::UndoOutcome,
    },
};
use yfs_engine::time::Millis;

use crate::{
    commands::confirm_prompt::confirm,
    context::CommandContext,
    errors::{CommandError, Result},
    parse_time,
};

const HELP: &str = "\
Undoes your last change: an edit, the creation of a file, or a removal. Each further `yfs undo` goes
one change further back. What others changed since is kept: an edit is reversed as a save is merged,
and a file that others have edited is not removed. The undo is a change like any other: nothing is
lost, and `yfs versions restore` and `yfs trash restore` reverse it. Renames, moves, new directories
and modes are not undone, because they are not recorded.

On a terminal, the changes are listed, and the command asks before it undoes them. Without a
terminal, pass --yes or --dry-run.

TIME is a date, a time or an age, such as '10 minutes ago', 2h, yesterday or '09:30'.

Examples:
  yfs undo                              your last change
  yfs undo plan.md                      your last change of that file
  yfs undo -n 3 --yes
  yfs undo --since '10 minutes ago'
  yfs undo --author agent:bob --label 'tidy up'    what an agent did in one session

Exit status: 0; 1 if a change could not be undone.

JSON: one object per change: {path, change, version, result, merged}. result is reverted, removed,
restored, nothing or, with --dry-run, null.";

/// Undo your last changes
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UndoArgs {
    /// Only changes of this file, or below this directory
    #[arg(value_name = "PATH", default_value = "/")]
    path: String,
    /// Undo N changes
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    /// Undo all changes since this time
    #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option)]
    since: Option<Millis>,
    /// Undo all changes with this label, which sessions and tools set
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Undo the changes of this actor instead of your own
    #[arg(long, value_name = "KIND:NAME")]
    author: Option<yfs_engine::actor::Actor>,
    /// Only list the changes that would be undone
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// Undoes the changes.
pub(crate) async fn run(args: UndoArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let workspace = if args.dry_run { context.readable()? } else { context.writable()? };
    let author = args.author.clone().unwrap_or_else(|| context.actor());
    let mut chosen = Vec::new();
    let limit = match (args.max_count, args.since.is_some() || args.label.is_some()) {
        (Some(limit), _) => limit,
        (None, true) => usize::MAX,
        (None, false) => 1,
    };
    let mut undone = HashSet::new();
    for entry in workspace.history().changes(&path.path)? {
        let entry = entry?;
        if chosen.len() >= limit || args.since.is_some_and(|since| entry.at < since) {
            break;
        }
        if entry.is_undo() {
            undone.extend(entry.undone_version().map(|version| (entry.id.clone(), version)));
            continue;
        }
        let is_undone =
            entry.version.is_some_and(|version| undone.contains(&(entry.id.clone(), version)));
        let has_label = args.label.is_none() || args.label.as_deref() == entry.label.as_deref();
        if !is_undone && has_label && entry.actor.as_ref() == Some(&author) {
            chosen.push(entry);
        }
    }
    if chosen.is_empty() {
        return Err(CommandError::other(format!("{}: no change of {author} to undo", path.typed)));
    }
    if args.dry_run {
        return chosen.iter().try_for_each(|entry| print(entry, None, context));
    }
    if !args.yes && !is_confirmed(&chosen, context)? {
        context.remark("nothing was undone");
        return Ok(());
    }
    for entry in &chosen {
        let undone = undo(&workspace, entry, context);
        context.continue_after(undone)?;
    }
    Ok(())
}

/// Lists the changes, and asks whether to undo them.
fn is_confirmed(chosen: &[HistoryEntry], context: &mut CommandContext) -> Result<bool> {
    if !io::stdin().is_terminal() {
        let message = "pass --yes to undo without a question, or --dry-run to list the changes";
        return Err(CommandError::usage(message));
    }
    chosen.iter().try_for_each(|entry| print(entry, None, context))?;
    confirm(context, if chosen.len() == 1 { "undo this change" } else { "undo these changes" })
}

fn undo(workspace: &Workspace, entry: &HistoryEntry, context: &mut CommandContext) -> Result {
    let outcome = workspace.history().undo(entry)?;
    print(entry, Some(&outcome), context)
}

/// Prints a change, and what became of it.
fn print(
    entry: &HistoryEntry,
    outcome: Option<&UndoOutcome>,
    context: &mut CommandContext,
) -> Result {
    let is_merged = matches!(outcome, Some(UndoOutcome::Reverted { is_merged: true }));
    let path = match outcome {
        Some(UndoOutcome::Restored(path)) => path,
        _ => &entry.path,
    };
    let result = match (outcome, entry.change) {
        (Some(UndoOutcome::Reverted { .. }), _) => "reverted",
        (Some(UndoOutcome::Removed), _) => "removed",
        (Some(UndoOutcome::Restored(_)), _) => "restored",
        (Some(_), _) => "nothing",
        (None, HistoryChange::Created) => "remove",
        (None, HistoryChange::Deleted) => "restore",
        (None, _) => "revert",
    };
    if context.out.json {
        return context.out.json_line(&json!({
            "path": path.as_str(),
            "change": entry.change.as_str(),
            "version": entry.version,
            "result": outcome.map(|_| result),
            "merged": is_merged,
        }));
    }
    let shown = context.out.safe(path.as_str()).into_owned();
    let mut line = format!("{result:<8}  {shown}");
    if let Some(version) = entry.version.filter(|_| entry.change == HistoryChange::Edited) {
        line += &format!("  (v{version} of {})", parse_time::minute(entry.at));
    }
    match outcome {
        Some(UndoOutcome::Nothing) => line += "  the file has nothing of it any more",
        Some(_) if is_merged => line += "  later changes were kept",
        _ => (),
    }
    context.out.line(&line)
}
