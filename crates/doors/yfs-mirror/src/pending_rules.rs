//! Rules of other writers that wait for a person, as two files beside the mirror's database. They
//! let another process accept the rules while a mirror runs.

use std::path::Path;

use crate::{
    error::Result,
    waiting_files::{read, remove, write},
};

/// The file in which a mirror notes which rules wait, as a fingerprint.
const PENDING: &str = "mirror.rules";

/// The file in which a person accepts them.
const ACCEPTED: &str = "mirror.rules-accepted";

/// Notes the rules that wait in a directory, or that none do.
pub(crate) fn note(directory: &Path, fingerprint: Option<&str>) -> Result<()> {
    match fingerprint {
        Some(fingerprint) => write(directory, PENDING, fingerprint),
        None => [PENDING, ACCEPTED].iter().try_for_each(|name| remove(directory, name)),
    }
}

/// Accepts the rules that wait in a directory. Reports whether there were any.
pub(crate) fn accept(directory: &Path) -> Result<bool> {
    let pending = read(directory, PENDING)?;
    let accepted = pending.map(|fingerprint| write(directory, ACCEPTED, &fingerprint));
    Ok(accepted.transpose()?.is_some())
}

/// Reports whether a person accepted these rules.
pub(crate) fn is_accepted(directory: &Path, fingerprint: &str) -> Result<bool> {
    Ok(read(directory, ACCEPTED)?.is_some_and(|accepted| accepted == fingerprint))
}
