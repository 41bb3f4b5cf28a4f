//! Finding the workspace: named, or from the current directory upwards.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::errors::{CommandError, Result};

/// The directory that holds a workspace, beside the files that it was made from.
pub(crate) const DIR: &str = ".yfs";

/// The file that is a workspace.
pub(crate) const FILE: &str = "workspace.db";

/// Returns the file of the workspace that is meant.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf> {
    match named {
        Some(named) => find_in(named),
        None => {
            let here =
                env::current_dir().map_err(|error| CommandError::host(Path::new("."), &error))?;
            let found = here.ancestors().map(file_below).find(|file| file.is_file());
            found.ok_or_else(|| {
                CommandError::other(format!(
                    "no workspace in {} or above it (make one with `yfs init`, or name one with --workspace)",
                    here.display()
                ))
            })
        }
    }
}

/// Returns the file of the workspace at `named`: itself, or in a directory.
pub(crate) fn find_in(named: &Path) -> Result<PathBuf> {
    let meta = named.metadata().map_err(|error| CommandError::host(named, &error))?;
    if !meta.is_dir() {
        return Ok(named.to_owned());
    }
    let places = [file_below(named), named.join(FILE)];
    let found = places.into_iter().find(|file| file.is_file());
    found.ok_or_else(|| CommandError::other(format!("no workspace in {}", named.display())))
}

/// Makes the directory that is to hold a workspace, which only its owner may read, and those above
/// it.
pub(crate) fn make_dir(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent().filter(|parent| !parent.exists()) {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    if dir.file_name().is_some_and(|name| name == DIR) {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    match builder.create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        made => made,
    }
}

/// Returns where the workspace of a directory is, or would be.
pub(crate) fn file_below(dir: &Path) -> PathBuf {
    dir.join(DIR).join(FILE)
}
