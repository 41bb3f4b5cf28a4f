//! The damage of the files table that no person accepted.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::error::{Result, WorkspaceError};

/// Damage of the files table that no person accepted. What is left of the table must not be taken
/// for the workspace: files would be missing from it.
#[derive(Debug, Default)]
pub(crate) struct TableDamage {
    is_there: AtomicBool,
    /// The number of problems, and a description of the first.
    problems: Mutex<Option<(usize, String)>>,
}

impl TableDamage {
    pub(super) fn set(&self, problems: Option<(usize, String)>) {
        self.is_there.store(problems.is_some(), Ordering::Release);
        *self.problems.lock() = problems;
    }

    /// Fails with [`WorkspaceError::DamagedLog`] if there is damage.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_there.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.problems.lock().clone() {
            Some((n_problems, first)) => Err(WorkspaceError::DamagedLog { n_problems, first }),
            None => Ok(()),
        }
    }
}
