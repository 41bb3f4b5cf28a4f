//! The steps that `yfs undo` chooses: the latest ones of the actors, with all their changes.

use std::collections::{HashMap, HashSet};

use yfs::workspace::{
    change_list::{HistoryChange, HistoryEntry},
    undo::{UndoneChanges, sort_for_undo},
};
use yfs_engine::step::StepId;

use super::{UndoArgs, UndoneActors};
use crate::{history_steps::HistoryStep, prelude::*};

/// Chooses the steps to undo, the latest first, each with its changes in the order in which they
/// are undone.
///
/// A step that was undone before, except for changes that cannot be, is passed over.
pub(super) fn choose(
    args: &UndoArgs,
    actors: &UndoneActors,
    workspace: &Workspace,
    below: &VPath,
    context: &mut CommandContext,
) -> Result<Vec<HistoryStep>> {
    let mut passed = HashSet::new();
    loop {
        let mut chooser = StepChooser::new(args, actors, workspace, passed);
        chooser.read(below)?;
        let left = chooser.left_of_undone_step()?;
        let StepChooser { steps, hidden, passed: known, .. } = chooser;
        passed = known;
        if let Some((step, n_left)) = left {
            let changes = counted(n_left as u64, "change", "changes");
            context.remark(&format!("passing over {changes} of a step that was undone before"));
            passed.insert(step);
            continue;
        }
        if steps.is_empty() {
            // Its refusal says what to do.
            return Ok(hidden.into_iter().map(|entry| HistoryStep::of(vec![entry])).collect());
        }
        return Ok(steps.into_iter().map(|step| HistoryStep::of(step.entries)).collect());
    }
}

struct StepChooser<'a> {
    args: &'a UndoArgs,
    actors: &'a UndoneActors,
    workspace: &'a Workspace,
    /// The number of steps to choose.
    limit: usize,
    undone: UndoneChanges,
    steps: Vec<ChosenStep>,
    /// The index of each step that has an id.
    by_id: HashMap<StepId, usize>,
    /// The steps with a change that was undone.
    undone_steps: HashSet<StepId>,
    /// The steps that are not chosen.
    passed: HashSet<StepId>,
    /// The latest change of an object that is in the trash.
    hidden: Option<HistoryEntry>,
}

/// A step, and its changes that were found.
struct ChosenStep {
    entries: Vec<HistoryEntry>,
    /// Whether it removed an object: then changes of objects in the trash are part of it, too.
    has_removal: bool,
}

impl ChosenStep {
    /// Returns the time at which it began, if that is recorded: it has no earlier change.
    fn begun_at(&self) -> Option<Millis> {
        let step = self.entries.first().and_then(|entry| entry.step.as_ref());
        step.map(StepId::begun_at)
    }

    fn is_import(&self) -> bool {
        self.entries.first().is_some_and(|entry| entry.import_source().is_some())
    }
}

impl<'a> StepChooser<'a> {
    fn new(
        args: &'a UndoArgs,
        actors: &'a UndoneActors,
        workspace: &'a Workspace,
        passed: HashSet<StepId>,
    ) -> Self {
        let limit = match (args.max_count, args.names_several()) {
            (Some(limit), _) => limit,
            (None, true) => usize::MAX,
            (None, false) => 1,
        };
        Self {
            args,
            actors,
            workspace,
            limit,
            undone: UndoneChanges::default(),
            steps: Vec::new(),
            by_id: HashMap::new(),
            undone_steps: HashSet::new(),
            passed,
            hidden: None,
        }
    }

    /// Reads the history until the steps are complete.
    fn read(&mut self, below: &VPath) -> Result {
        for entry in self.workspace.history().changes(below)? {
            let entry = entry?;
            let is_old = self.args.since.is_some_and(|since| entry.at < since);
            if is_old || self.is_complete_at(entry.at) {
                break;
            }
            let is_undone = self.undone.includes(&entry);
            let is_selected = self.actors.include(&entry)
                && self.args.selects_label(entry.label.as_deref())
                && entry.step.as_ref().is_none_or(|step| !self.passed.contains(step));
            if is_undone && !entry.is_undo() {
                self.undone_steps.extend(entry.step.clone());
            }
            if is_undone || !is_selected {
                continue;
            }
            // Its removal is a later change: this one is not undone before that is.
            if self.is_hidden(&entry)? {
                self.hidden.get_or_insert(entry);
                continue;
            }
            if !self.add(entry) {
                break;
            }
        }
        self.steps.iter_mut().for_each(|step| sort_for_undo(&mut step.entries));
        Ok(())
    }

    /// Reports whether no step that is chosen has a change at or before a time.
    fn is_complete_at(&self, at: Millis) -> bool {
        let is_complete = |step: &ChosenStep| match step.begun_at() {
            Some(begun_at) => at < begun_at,
            None => !step.is_import(),
        };
        self.steps.len() == self.limit && self.steps.iter().all(is_complete)
    }

    /// Adds a change to its step, or as a new step. Reports whether to read on.
    fn add(&mut self, entry: HistoryEntry) -> bool {
        let known = entry.step.as_ref().and_then(|step| self.by_id.get(step).copied());
        let index = known.unwrap_or_else(|| self.steps.len().saturating_sub(1));
        let is_known = |step: &&mut ChosenStep| step.entries[0].is_same_step(&entry);
        let has_removal = entry.change == HistoryChange::Deleted;
        if let Some(step) = self.steps.get_mut(index).filter(is_known) {
            step.has_removal |= has_removal;
            step.entries.push(entry);
            return true;
        }
        if self.steps.len() == self.limit {
            return self.steps.iter().any(|step| step.begun_at().is_some());
        }
        if let Some(step) = &entry.step {
            self.by_id.insert(step.clone(), self.steps.len());
        }
        self.steps.push(ChosenStep { entries: vec![entry], has_removal });
        true
    }

    /// Reports whether the object of a change is in the trash, and its removal is of another step.
    fn is_hidden(&self, entry: &HistoryEntry) -> Result<bool> {
        let step = entry.step.as_ref().and_then(|step| self.by_id.get(step));
        let is_removed_by_step = step.is_some_and(|index| self.steps[*index].has_removal);
        let is_removal = entry.change == HistoryChange::Deleted;
        Ok(!is_removal
            && !is_removed_by_step
            && self.workspace.nodes().path_of(&entry.id)?.is_none())
    }

    /// Returns the last step, and the number of changes that are left of it, if it was undone
    /// before and none of these can be undone.
    fn left_of_undone_step(&self) -> Result<Option<(StepId, usize)>> {
        let [step] = self.steps.as_slice() else { return Ok(None) };
        let id = step.entries.first().and_then(|entry| entry.step.as_ref());
        let Some(id) = id.filter(|id| self.undone_steps.contains(*id)) else { return Ok(None) };
        if self.args.max_count.is_some() || self.args.names_several() {
            return Ok(None);
        }
        let refused = self.workspace.history().check_undo(&step.entries)?;
        let n_left = step.entries.len();
        Ok((refused.len() == n_left).then(|| (id.clone(), n_left)))
    }
}
