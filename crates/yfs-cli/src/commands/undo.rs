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
use yfs_agent::history::is_label_of_session;
use yfs_engine::{actor::Actor, id::FileId, time::Millis};

use crate::{
    commands::confirm_prompt::confirm,
    context::CommandContext,
    errors::{CommandError, Result},
    history_steps::{HistoryStep, is_same_import, steps},
    parse_time,
};

const HELP: &str = "\
Undoes your last change: an edit, the creation of a file or a removal. Each further `yfs undo` goes
one change further back. What others changed since is kept: an edit is reversed as a save is merged,
and a file that others have edited is not removed. Renames, moves and modes are not recorded, so
they are not undone. The undo is a change like any other: nothing is lost, and `yfs versions
restore` and `yfs trash restore` reverse it. An import is one change; its files are undone. New
directories and links are not undone, because they are not recorded.

On a terminal, the changes are listed, and the command asks before it undoes them. Without a
terminal, pass --yes or --dry-run.

TIME is a date, a time or an age, such as '10 minutes ago', 2h, yesterday or '09:30'.

Examples:
  yfs undo                              your last change
  yfs undo plan.md                      your last change of that file
  yfs undo -n 3 --yes
  yfs undo --since '10 minutes ago'
  yfs undo --session mcp-7f3k           what an agent did in one session; see `yfs audit`
  yfs undo --author agent:bob --label 'tidy up'

Exit status: 0; 1 if a change could not be undone.

JSON: one object per change: {path, change, version, result, merged}. result is reverted, removed,
restored, moved, mode, nothing or, with --dry-run, null.";

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
    /// Undo all changes of this session of tools, by whichever actor
    #[arg(long, value_name = "ID", conflicts_with = "label")]
    session: Option<String>,
    /// Undo the changes of this actor instead of your own
    #[arg(long, value_name = "KIND:NAME")]
    author: Option<Actor>,
    /// Only list the changes that would be undone
    #[arg(long)]
    dry_run: bool,
    /// List each file of an import
    #[arg(long)]
    files: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

impl UndoArgs {
    /// Reports whether the arguments select all changes that they match, and not the last one.
    fn names_several(&self) -> bool {
        self.since.is_some() || self.label.is_some() || self.session.is_some()
    }

    fn selects_label(&self, label: Option<&str>) -> bool {
        let is_of_session =
            |session: &String| label.is_some_and(|label| is_label_of_session(label, session));
        let is_label = self.label.is_none() || self.label.as_deref() == label;
        is_label && self.session.as_ref().is_none_or(is_of_session)
    }
}

/// Undoes the changes.
pub(crate) async fn run(args: UndoArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let workspace = if args.dry_run { context.readable()? } else { context.writable()? };
    let is_of_any = args.session.is_some() && args.author.is_none();
    let author = args.author.clone().unwrap_or_else(|| context.actor());
    let mut chosen = Vec::new();
    let limit = match (args.max_count, args.names_several()) {
        (Some(limit), _) => limit,
        (None, true) => usize::MAX,
        (None, false) => 1,
    };
    let (mut undone, mut n_steps) = (HashSet::new(), 0);
    for entry in workspace.history().changes(&path.path)? {
        let entry = entry?;
        if args.since.is_some_and(|since| entry.at < since) {
            break;
        }
        if is_of_undo(&entry, &mut undone) {
            continue;
        }
        let is_by_author = is_of_any || entry.actor.as_ref() == Some(&author);
        if !is_by_author || !args.selects_label(entry.label.as_deref()) {
            continue;
        }
        let continues = chosen.last().is_some_and(|last| is_same_import(last, &entry));
        if !continues && n_steps == limit {
            break;
        }
        n_steps += usize::from(!continues);
        let is_import = entry.import_source().is_some();
        chosen.push(entry);
        if n_steps == limit && !is_import {
            break;
        }
    }
    if chosen.is_empty() {
        let by = match &args.session {
            Some(session) if is_of_any => format!("session {session}"),
            _ => author.to_string(),
        };
        return Err(CommandError::other(format!("{}: no change of {by} to undo", path.typed)));
    }
    let is_grouped = !args.files && !context.out.json;
    let chosen = chosen.into_iter().map(Ok);
    let chosen: Vec<HistoryStep> = steps(chosen, is_grouped).collect::<Result<_>>()?;
    if args.dry_run {
        return chosen.iter().try_for_each(|step| print_plan(step, context));
    }
    if !args.yes && !is_confirmed(&chosen, context)? {
        context.remark("nothing was undone");
        return Ok(());
    }
    for step in &chosen {
        undo_step(&workspace, step, context)?;
    }
    Ok(())
}

/// Reports whether a change undid another, or was undone by one of `undone`, which it is added to.
fn is_of_undo(entry: &HistoryEntry, undone: &mut HashSet<(FileId, u64)>) -> bool {
    let of_file = |version| (entry.id.clone(), version);
    if entry.is_undo() {
        undone.extend(entry.undone_version().map(of_file));
        return true;
    }
    entry.version.is_some_and(|version| undone.contains(&of_file(version)))
}

/// Lists the changes, and asks whether to undo them.
fn is_confirmed(chosen: &[HistoryStep], context: &mut CommandContext) -> Result<bool> {
    if !io::stdin().is_terminal() {
        let message = "pass --yes to undo without a question, or --dry-run to list the changes";
        return Err(CommandError::usage(message));
    }
    chosen.iter().try_for_each(|step| print_plan(step, context))?;
    confirm(context, if chosen.len() == 1 { "undo this change" } else { "undo these changes" })
}

/// Prints what would be undone.
fn print_plan(step: &HistoryStep, context: &mut CommandContext) -> Result {
    match step.import_summary() {
        Some(summary) => {
            let summary = context.out.safe(&summary).into_owned();
            context.out.line(&format!("undo the import of {summary}"))
        }
        None => step.entries.iter().try_for_each(|entry| print(entry, None, context)),
    }
}

fn undo_step(workspace: &Workspace, step: &HistoryStep, context: &mut CommandContext) -> Result {
    let summary = step.import_summary();
    let mut n_undone = 0;
    for entry in &step.entries {
        let undone = workspace.history().undo(entry).map_err(CommandError::from);
        let undone = match (undone, &summary) {
            (Ok(outcome), None) => print(entry, Some(&outcome), context),
            (Ok(_), Some(_)) => {
                n_undone += 1;
                Ok(())
            }
            (Err(error), _) => Err(error),
        };
        context.continue_after(undone)?;
    }
    let Some(summary) = summary else { return Ok(()) };
    let summary = context.out.safe(&summary).into_owned();
    context.out.line(&format!("undid {n_undone} changes of the import of {summary}"))
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
