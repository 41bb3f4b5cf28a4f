//! Finding the workspace: by its name, or from the current directory upwards.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::errors::{CommandError, Result};

/// The subdirectory that contains a workspace, beside the files that it was created from.
pub(crate) const DIR: &str = ".yfs";

/// The name of a workspace's file.
pub(crate) const FILE: &str = "workspace.db";

/// Returns the file of the named workspace, or of the one found from the current directory upwards.
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

/// Returns the file of the workspace at `named`, which is the file itself or a directory.
pub(crate) fn find_in(named: &Path) -> Result<PathBuf> {
    let meta = named.metadata().map_err(|error| CommandError::host(named, &error))?;
    if !meta.is_dir() {
        return Ok(named.to_owned());
    }
    let places = [file_below(named), named.join(FILE)];
    let found = places.into_iter().find(|file| file.is_file());
    found.ok_or_else(|| CommandError::other(format!("no workspace in {}", named.display())))
}

/// Creates the directory for a workspace, which only its owner may read, and the directories above
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

/// Returns the path of the workspace's file in a directory, whether it exists or not.
pub(crate) fn file_below(dir: &Path) -> PathBuf {
    dir.join(DIR).join(FILE)
}
