//! Damage of the log, and the decision of a person to go on without the damaged records.
//!
//! A workspace whose records cannot be read looks like one in which files were deleted and edits
//! reverted. A program that would carry that elsewhere, as a mirror or a server does, calls
//! [`Maintenance::check_damage`] first.

use std::collections::BTreeSet;

use yfs_store::CheckProblem;

use super::compact::Maintenance;
use crate::error::{Result, WorkspaceError};

/// The setting that stores the accepted problems, one on each line.
const ACCEPTED_DAMAGE_KEY: &str = "damage.accepted";

impl Maintenance<'_> {
    /// Reads all records and snapshots, and fails if some are damaged, unless a person accepted
    /// that.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::DamagedLog`] if there is damage that was not accepted.
    pub fn check_damage(&self) -> Result<()> {
        let problems = self.find_problems()?;
        if problems.is_empty() {
            return Ok(());
        }
        let accepted = self.state.store.get_meta(ACCEPTED_DAMAGE_KEY)?.unwrap_or_default();
        let accepted = String::from_utf8_lossy(&accepted);
        let accepted: BTreeSet<&str> = accepted.lines().collect();
        let mut open = problems.iter().filter(|problem| !accepted.contains(problem.as_str()));
        match open.next() {
            None => Ok(()),
            Some(first) => {
                let n_problems = open.count() + 1;
                Err(WorkspaceError::DamagedLog { n_problems, first: first.clone() })
            }
        }
    }

    /// Accepts the present damage: the workspace is used without the records that cannot be read.
    /// Returns the number of problems.
    pub fn accept_damage(&self) -> Result<usize> {
        self.state.check_writable()?;
        let problems = self.find_problems()?;
        let lines: Vec<&str> = problems.iter().map(String::as_str).collect();
        self.state.store.set_meta(ACCEPTED_DAMAGE_KEY, lines.join("\n").as_bytes())?;
        self.state.store.flush()?;
        Ok(problems.len())
    }

    /// Returns the problems of the log, a line for each.
    fn find_problems(&self) -> Result<BTreeSet<String>> {
        self.state.check_open()?;
        let report = self.state.store.check_log()?;
        Ok(report.problems.iter().map(line_of).collect())
    }
}

fn line_of(problem: &CheckProblem) -> String {
    let line = match &problem.doc {
        Some(doc) => format!("{doc}: {}", problem.description),
        None => problem.description.clone(),
    };
    line.replace('\n', " ")
}
