//! Undo by a label that a caller names: one that finds no change is an error that says why.

use smol_str::SmolStr;
use thiserror::Error;
use yfs_agent::history::UndoneChange;
use yfs_types::actor::Actor;
use yfs_vfs::FsError;

use super::WorkspaceHistory;

/// The reason why no change was undone.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LabelUndoError {
    /// No change in the history has the label.
    #[error("no change has the label {label:?}")]
    NoSuchLabel {
        /// The label.
        label: SmolStr,
    },
    /// Only other actors have changes with the label.
    #[error("no change of {actor} has the label {label:?}, only changes of {}", names(.others))]
    OtherActors {
        /// The label.
        label: SmolStr,
        /// The actor whose changes were to be undone.
        actor: Actor,
        /// The actors that have changes with the label; at least one.
        others: Vec<Actor>,
    },
    /// The history cannot be read.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl WorkspaceHistory {
    /// Undoes the changes of `actor` that have a label, as
    /// [`undo_session`](yfs_agent::history::FileHistory::undo_session) does. Returns no change if
    /// all of them were undone before.
    ///
    /// # Errors
    ///
    /// Fails if the actor has no change with this label.
    pub fn undo_label(
        &self,
        actor: &Actor,
        label: &str,
    ) -> Result<Vec<UndoneChange>, LabelUndoError> {
        let mut found = self.session_changes(actor, label)?;
        if found.authors.is_empty() {
            return Err(LabelUndoError::NoSuchLabel { label: label.into() });
        }
        if !found.authors.contains(actor) {
            found.authors.sort();
            let (actor, others) = (actor.clone(), found.authors);
            return Err(LabelUndoError::OtherActors { label: label.into(), actor, others });
        }
        Ok(self.undo_changes(&found))
    }
}

fn names(actors: &[Actor]) -> String {
    let names: Vec<String> = actors.iter().map(Actor::to_string).collect();
    names.join(", ")
}
