//! Search for the workspace: at a given path, or from the current directory upwards.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use yfs::WorkspaceError;
use yfs_engine::path::VPath;

use crate::errors::{CommandError, Result};

/// The subdirectory that contains a workspace, beside the files that it was created from.
pub(crate) const DIR: &str = ".yfs";

/// The name of the mirror's database, beside the workspace.
const MIRROR_FILE: &str = "mirror.db";

/// The name of a workspace's file.
pub(crate) const FILE: &str = "workspace.db";

/// Returns the file of the named workspace, or of the one found from the current directory upwards.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf> {
    let found = match named {
        Some(named) => find_in(named)?,
        None => {
            let here =
                env::current_dir().map_err(|error| CommandError::host(Path::new("."), &error))?;
            let found = here.ancestors().map(file_below).find(|file| file.is_file());
            found.ok_or_else(|| {
                CommandError::other(format!(
                    "no workspace in {} or its parent directories; \
                     to create one, run `yfs init`; to name one, pass --workspace",
                    here.display()
                ))
            })?
        }
    };
    // Before its configuration is read.
    yfs::check_store_directory(&found).map_err(WorkspaceError::from)?;
    Ok(found)
}

/// Returns the file of the workspace at `named`, which is the file itself or a directory.
pub(crate) fn find_in(named: &Path) -> Result<PathBuf> {
    let meta = named.metadata().map_err(|error| CommandError::host(named, &error))?;
    if !meta.is_dir() {
        return Ok(named.to_owned());
    }
    let candidates = [file_below(named), named.join(FILE)];
    let found = candidates.into_iter().find(|file| file.is_file());
    found.ok_or_else(|| CommandError::other(no_workspace_in(named)))
}

/// Creates the directory of a workspace, which only its owner may read, and its parent directories.
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
        created => created,
    }
}

/// Returns the message for a directory without a workspace.
fn no_workspace_in(dir: &Path) -> String {
    format!("{}: no workspace in this directory; to create one, run `yfs init`", dir.display())
}

/// Returns the directory of a workspace's file, which also has the shares of its directories and
/// the lock of the process that connects its peers.
pub(crate) fn store_dir(file: &Path) -> PathBuf {
    file.parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Returns the path of the workspace's file in a directory, whether it exists or not.
pub(crate) fn file_below(dir: &Path) -> PathBuf {
    dir.join(DIR).join(FILE)
}

/// Returns the directory that contains a workspace, if the directory is mirrored.
pub(crate) fn mirrored_directory(file: &Path) -> Option<&Path> {
    let state_dir = file.parent().filter(|dir| dir.ends_with(DIR))?;
    state_dir.join(MIRROR_FILE).is_file().then(|| state_dir.parent())?
}

/// Returns the path in a workspace at which a command stands: that of the current directory, if it
/// is below the mirrored directory of the workspace's file; else the root.
pub(crate) fn standing(file: &Path) -> VPath {
    let below = || {
        let directory = mirrored_directory(file)?.canonicalize().ok()?;
        let here = env::current_dir().ok()?.canonicalize().ok()?;
        VPath::parse(&format!("/{}", here.strip_prefix(directory).ok()?.to_str()?)).ok()
    };
    below().unwrap_or_else(VPath::root)
}
