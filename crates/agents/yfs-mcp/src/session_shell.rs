//! A bash on the files of a session, in builds that have one.

use std::sync::Arc;

use yfs_agent::execute::CommandExecutor;
use yfs_vfs::FileSystem;

/// Returns a bash that runs in this process on `files`; `None` in a build without the feature
/// `shell`.
pub fn shell_over(files: Arc<dyn FileSystem>) -> Option<Arc<dyn CommandExecutor>> {
    #[cfg(feature = "shell")]
    {
        use yfs_shell::{ShellExecutor, ShellLimits};
        Some(Arc::new(ShellExecutor::new(files, ShellLimits::default())))
    }
    #[cfg(not(feature = "shell"))]
    {
        drop(files);
        None
    }
}
