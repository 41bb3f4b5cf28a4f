//! The directory with the files that were replaced while programs had them open.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use yfs_vfs::confined_dir::{ConfinedDir, ConfinedRoot};

use crate::{error::is_absent, mirror_state::database::DIR};

/// The subdirectory of [`DIR`] with the superseded files.
pub(crate) const SUPERSEDED: &str = "superseded";

/// Opens the directory of superseded files. Creates it if it is missing.
pub(super) fn open_dir(root: &ConfinedRoot) -> io::Result<ConfinedDir> {
    let dir = root.dir(Path::new(DIR))?;
    let name = OsStr::new(SUPERSEDED);
    match dir.enter(name) {
        Err(error) if is_absent(&error) => {
            dir.make_dir(name, 0o700)?;
            dir.enter(name)
        }
        entered => entered,
    }
}

/// Returns the path of a superseded file in the mirrored directory.
pub(super) fn superseded_path(name: &str) -> PathBuf {
    Path::new(DIR).join(SUPERSEDED).join(name)
}
