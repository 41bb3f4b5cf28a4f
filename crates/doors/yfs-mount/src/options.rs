//! The options of a mount.

use std::path::PathBuf;

use yfs_types::actor::Actor;

/// How a workspace is mounted.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// The author of what programs change; the log names the program as well.
    pub actor: Actor,
    /// Whether nothing can be changed.
    pub is_read_only: bool,
    /// Whether other users of the machine have access, as the permission bits say.
    pub allows_others: bool,
    /// The user and the group that own everything.
    pub owner: (u32, u32),
    /// The number of threads that answer the kernel.
    pub n_threads: usize,
    /// The name that the list of mounts shows.
    pub source: String,
    /// The directory for contents that could not be written, which is made when it is needed.
    pub unsaved: PathBuf,
}

impl MountOptions {
    /// The options of a mount by the user of this process.
    pub fn new(actor: Actor, unsaved: PathBuf) -> Self {
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Self {
            actor,
            is_read_only: false,
            allows_others: false,
            owner,
            n_threads: 4,
            source: "yfs".to_owned(),
            unsaved,
        }
    }
}

impl MountOptions {
    /// A directory of the host whose filesystem has the space that the mount shows.
    pub(crate) fn host_directory(&self) -> &std::path::Path {
        self.unsaved.ancestors().find(|path| path.is_dir()).unwrap_or(std::path::Path::new("/"))
    }
}
