//! A mass deletion that waits for the confirmation of a person, as two files beside the mirror's
//! database. They let another process confirm the deletion while a mirror runs.

use std::path::Path;

use crate::{error::Result, waiting_files};

/// The file in which a mirror notes the deletion that it did not make.
const PENDING: &str = "mirror.pending";

/// The file in which a person confirms it.
const CONFIRMED: &str = "mirror.confirmed";

/// A deletion of most files of a directory, which a mirror makes only if a person confirms it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingDeletions {
    /// The number of files that the workspace no longer has.
    pub n_deleted: usize,
    /// The number of files that both sides had.
    pub n_files: usize,
}

impl PendingDeletions {
    /// Reads the pending deletion of a directory.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>> {
        Self::read_file(directory, PENDING)
    }

    /// Notes the pending deletion of a directory.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        self.write_file(directory, PENDING)
    }

    /// Confirms the pending deletion of a directory.
    pub(crate) fn confirm(&self, directory: &Path) -> Result<()> {
        self.write_file(directory, CONFIRMED)
    }

    /// Reports whether a person confirmed the deletion of at least as many files.
    pub(crate) fn is_confirmed(&self, directory: &Path) -> Result<bool> {
        let confirmed = Self::read_file(directory, CONFIRMED)?;
        Ok(confirmed.is_some_and(|confirmed| confirmed.n_deleted >= self.n_deleted))
    }

    /// Forgets the pending deletion of a directory and its confirmation.
    pub(crate) fn clear(directory: &Path) -> Result<()> {
        [CONFIRMED, PENDING].iter().try_for_each(|name| waiting_files::remove(directory, name))
    }

    fn read_file(directory: &Path, name: &str) -> Result<Option<Self>> {
        let text = waiting_files::read(directory, name)?.unwrap_or_default();
        let mut numbers = text.split_whitespace().map(str::parse);
        Ok(match (numbers.next(), numbers.next()) {
            (Some(Ok(n_deleted)), Some(Ok(n_files))) => Some(Self { n_deleted, n_files }),
            _ => None,
        })
    }

    fn write_file(&self, directory: &Path, name: &str) -> Result<()> {
        let text = format!("{} {}\n", self.n_deleted, self.n_files);
        waiting_files::write(directory, name, &text)
    }
}
