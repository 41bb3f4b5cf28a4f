//! Small files beside the mirror's database, by which a mirror and another process agree on what
//! waits for a person.

use std::{fs, io, path::Path};

use crate::{
    error::{MirrorError, Result},
    mirror_state::database::DIR,
};

/// Reads a file; `None` if there is none.
pub(crate) fn read(directory: &Path, name: &str) -> Result<Option<String>> {
    match fs::read_to_string(directory.join(DIR).join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(host_error("read", directory, name, error)),
    }
}

/// Writes a file.
pub(crate) fn write(directory: &Path, name: &str, text: &str) -> Result<()> {
    let written = fs::write(directory.join(DIR).join(name), text);
    written.map_err(|error| host_error("write", directory, name, error))
}

/// Removes a file, if there is one.
pub(crate) fn remove(directory: &Path, name: &str) -> Result<()> {
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
