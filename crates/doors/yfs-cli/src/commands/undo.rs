//! `yfs undo`: undoes one's last steps.

mod choose_steps;

use std::io::{self, IsTerminal};

use yfs::{
    WorkspaceError,
    workspace::{
        change_list::{HistoryChange, HistoryEntry},
        undo::{RefusedUndo, UndoOutcome},
    },
};
use yfs_agent::history::is_label_of_session;
use yfs_engine::actor::Actor;
use yfs_mirror::Mirror;

use self::choose_steps::choose;
use crate::{
    commands::{
        confirm_prompt::confirm,
        mirror::{self, mirrored_directory},
    },
    history_steps::HistoryStep,
    prelude::*,
};

const HELP: &str = "\
Undoes your last step: all that one command, one call of a tool, one request or one import
changed. That is one edit or removal, or the thousand files of a `cp -r`. Each further `yfs
undo` goes one step further back. With PATH, only the changes there are undone.

What others changed since is kept: an edit is reversed as a save is merged, a file that others
have edited and a directory that is not empty are not removed, and what was moved again, or
whose former path is taken, is not moved back. A step with such a change is refused as a whole,
with the reasons; --partly undoes the rest of it. Of the steps of a session or with a label, all
that can be undone is. The undo is a change like any other: nothing is lost, and `yfs versions
restore` and `yfs trash restore` reverse it. What was saved in the mirrored directory counts as
yours.

On a terminal, the changes are listed, and the command asks before it undoes them. Without a
terminal, pass --yes or --dry-run.

TIME is a date, a time or an age, such as '10 minutes ago', 2h, yesterday or '09:30'.

Examples:
  yfs undo                              your last step
  yfs undo plan.md                      your last change of that file
  yfs undo -n 3 --yes
  yfs undo --since '10 minutes ago'
  yfs undo --session mcp-7f3k           what an agent did in one session; see `yfs audit`
  yfs undo --author agent:bob --label 'tidy up'

Exit status: 0; 1 if a change could not be undone.

JSON: one object per change: {path, change, version, result, merged, step}. result is reverted,
removed, restored, moved, mode, nothing or, with --dry-run, null. step is the id of the step.";

/// Undo your last step
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UndoArgs {
    /// Only changes of this file, or below this directory
    #[arg(value_name = "PATH", default_value = "/")]
    path: String,
    /// Undo N steps
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
    /// Of a step with changes that cannot be undone, undo the others
    #[arg(long)]
    partly: bool,
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

    /// Reports whether of a step with changes that cannot be undone the others are. The work of a
    /// session is many steps, and others edit beside it.
    fn undoes_partly(&self) -> bool {
        self.partly || self.session.is_some() || self.label.is_some()
    }

    /// Describes a step that is an import, unless each change is to be listed.
    fn summary(&self, step: &HistoryStep, context: &CommandContext) -> Option<String> {
        let lists_all = self.files || context.out.json;
        if lists_all { None } else { step.import_summary() }
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
    let actors = UndoneActors::of(&args, context)?;
    let chosen = choose(&args, &actors, &workspace, &path.path, context)?;
    if chosen.is_empty() {
        let by = match (&args.session, &actors) {
            (Some(session), UndoneActors::Any) => format!("session {session}"),
            _ => args.author.clone().unwrap_or_else(|| context.actor()).to_string(),
        };
        return Err(CommandError::other(format!("{}: no change of {by} to undo", path.typed)));
    }
    if args.dry_run {
        chosen.iter().try_for_each(|step| print_plan(step, &args, context))?;
        if !args.undoes_partly() {
            report_refusals(&workspace, &chosen, context)?;
        }
        return Ok(());
    }
    if !args.yes && !is_confirmed(&chosen, &args, context)? {
        context.remark("nothing was undone");
        return Ok(());
    }
    for step in &chosen {
        undo_step(&workspace, step, &args, context)?;
    }
    Ok(())
}

/// Whose changes are undone.
enum UndoneActors {
    Any,
    /// Those of one actor, or of this and the mirror.
    Of(Vec<Actor>),
}

impl UndoneActors {
    fn of(args: &UndoArgs, context: &CommandContext) -> Result<Self> {
        if let Some(author) = &args.author {
            return Ok(Self::Of(vec![author.clone()]));
        }
        if args.session.is_some() {
            return Ok(Self::Any);
        }
        // What is saved in the mirrored directory is one's own, too.
        let file = context.file()?;
        let mirror = match mirrored_directory(&file) {
            Some(directory) => Mirror::actor_of(directory).map_err(mirror::mirror_failure)?,
            None => None,
        };
        Ok(Self::Of(std::iter::once(context.actor()).chain(mirror).collect()))
    }

    fn include(&self, entry: &HistoryEntry) -> bool {
        match self {
            Self::Any => true,
            Self::Of(actors) => entry.actor.as_ref().is_some_and(|actor| actors.contains(actor)),
        }
    }
}

/// Lists the changes, and asks whether to undo them.
fn is_confirmed(
    chosen: &[HistoryStep],
    args: &UndoArgs,
    context: &mut CommandContext,
) -> Result<bool> {
    if !io::stdin().is_terminal() {
        let message = "pass --yes to undo without a question, or --dry-run to list the changes";
        return Err(CommandError::usage(message));
    }
    chosen.iter().try_for_each(|step| print_plan(step, args, context))?;
    let n_changes: usize = chosen.iter().map(|step| step.entries.len()).sum();
    confirm(context, if n_changes == 1 { "undo this change" } else { "undo these changes" })
}

/// Prints what would be undone.
fn print_plan(step: &HistoryStep, args: &UndoArgs, context: &mut CommandContext) -> Result {
    match args.summary(step, context) {
        Some(summary) => {
            let summary = context.out.safe(&summary).into_owned();
            context.out.line(&format!("undo the import of {summary}"))
        }
        None => step.entries.iter().try_for_each(|entry| print(entry, None, context)),
    }
}

/// Reports the changes of steps that cannot be undone, each after those before it.
fn report_refusals(
    workspace: &Workspace,
    steps: &[HistoryStep],
    context: &mut CommandContext,
) -> Result {
    let all: Vec<HistoryEntry> = steps.iter().flat_map(|step| step.entries.clone()).collect();
    let mut refused = workspace.history().check_undo(&all)?.into_iter().peekable();
    let mut n_before = 0;
    for step in steps {
        n_before += step.entries.len();
        let of_step = std::iter::from_fn(|| refused.next_if(|refused| refused.index < n_before));
        refuse(of_step.collect(), step, context);
    }
    Ok(())
}

/// Reports the changes of a step that cannot be undone.
fn refuse(refused: Vec<RefusedUndo>, step: &HistoryStep, context: &mut CommandContext) {
    let n_others = step.entries.len() - refused.len();
    let is_refused = !refused.is_empty();
    for refused in refused {
        context.fail(&WorkspaceError::from(refused).into());
    }
    if is_refused && n_others > 0 {
        let others = counted(n_others as u64, "other change", "other changes");
        context.remark(&format!("--partly undoes the {others} of this step"));
    }
}

/// Undoes a step: all of it or nothing, or all that can be undone.
fn undo_step(
    workspace: &Workspace,
    step: &HistoryStep,
    args: &UndoArgs,
    context: &mut CommandContext,
) -> Result {
    let refused = workspace.history().check_undo(&step.entries)?;
    if !args.undoes_partly() && !refused.is_empty() {
        refuse(refused, step, context);
        return Ok(());
    }
    let summary = args.summary(step, context);
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
        Some(UndoOutcome::Restored(path) | UndoOutcome::MovedBack(path)) => path,
        _ => &entry.path,
    };
    let result = match (outcome, entry.change) {
        (Some(UndoOutcome::Reverted { .. }), _) => "reverted",
        (Some(UndoOutcome::Removed), _) => "removed",
        (Some(UndoOutcome::Restored(_)), _) => "restored",
        (Some(UndoOutcome::MovedBack(_)), _) => "moved",
        (Some(UndoOutcome::ModeRestored), _) => "mode",
        (Some(_), _) => "nothing",
        (None, HistoryChange::Renamed | HistoryChange::Moved) => "move",
        (None, HistoryChange::ModeChanged) => "mode",
        (None, HistoryChange::Restored) => "remove",
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
            "step": entry.step.as_ref().map(ToString::to_string),
        }));
    }
    let shown = context.out.safe(path.as_str()).into_owned();
    let mut line = format!("{result:<8}  {shown}");
    if let Some(version) = entry.version.filter(|_| entry.change == HistoryChange::Edited) {
        line += &format!("  (v{version} of {})", parse_time::minute(entry.at));
    }
    if let Some([from, to]) = &entry.paths {
        line += &match outcome {
            None => format!("  back to {}", context.out.safe(from.as_str())),
            Some(_) => format!("  from {}", context.out.safe(to.as_str())),
        };
    }
    if let Some([before, after]) = entry.modes {
        line += &format!("  {after:o} -> {before:o}");
    }
    match outcome {
        Some(UndoOutcome::Nothing) => line += "  the file has nothing of it any more",
        Some(_) if is_merged => line += "  later changes were kept",
        _ => (),
    }
    context.out.line(&line)
}
