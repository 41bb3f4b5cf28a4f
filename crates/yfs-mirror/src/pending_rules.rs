//! Rules of other writers that wait for a person, as two files beside the mirror's database. They
//! let another process accept the rules while a mirror runs.

use std::{fs, io, path::Path};

use crate::{
    error::{MirrorError, Result},
    mirror_state::database::DIR,
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

fn read(directory: &Path, name: &str) -> Result<Option<String>> {
    match fs::read_to_string(directory.join(DIR).join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(host_error("read", directory, name, error)),
    }
}

fn write(directory: &Path, name: &str, text: &str) -> Result<()> {
    let written = fs::write(directory.join(DIR).join(name), text);
    written.map_err(|error| host_error("write", directory, name, error))
}

fn remove(directory: &Path, name: &str) -> Result<()> {
    match fs::remove_file(directory.join(DIR).join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(host_error("remove", directory, name, error))
        }
        _ => Ok(()),
    }
}

fn host_error(
    action: &'static str,
    directory: &Path,
    name: &str,
    source: io::Error,
) -> MirrorError {
    MirrorError::Host { action, path: directory.join(DIR).join(name), source }
}
