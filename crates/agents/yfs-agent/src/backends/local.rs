//! A directory of the host, and commands that run there.

mod process;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use yfs_vfs::{
    FileSystem, FsCode, FsError, HostFs,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

use self::process::run_process;
use super::AgentBackend;
use crate::execute::{CommandExecutor, CommandOutput, ExecuteError, ExecuteOptions};

/// The time that a command has if neither the caller nor the backend sets a limit.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// A directory of the host's disk. `/lib/app` is the file `lib/app` in that directory, and nothing
/// outside of it is reached.
#[derive(Debug, Clone)]
pub struct LocalBackend {
    fs: Arc<GuardedFs<LocalNameGuard>>,
    executor: Option<Arc<HostShell>>,
}

/// A guard that refuses names that a host's shell or another system takes for other places: `~` and
/// drives such as `C:`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LocalNameGuard;

/// A runner of commands on the host, with the permissions of this process.
///
/// It is no sandbox: a command reaches all that this process reaches, whatever the permissions of
/// the files say.
#[derive(Debug, Clone)]
pub struct HostShell {
    root: PathBuf,
    env: BTreeMap<String, String>,
    inherit_env: bool,
    timeout: Duration,
}

impl LocalBackend {
    /// Opens an existing directory.
    pub fn open(root: &Path) -> io::Result<Self> {
        let fs = Arc::new(GuardedFs::new(Arc::new(HostFs::open(root)?), LocalNameGuard));
        Ok(Self { fs, executor: None })
    }

    /// Adds commands, which run in the directory.
    #[must_use]
    pub fn with_shell(self, shell: HostShell) -> Self {
        Self { executor: Some(Arc::new(shell)), ..self }
    }
}

impl AgentBackend for LocalBackend {
    fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.clone()
    }

    fn executor(&self) -> Option<Arc<dyn CommandExecutor>> {
        self.executor.clone().map(|shell| shell as Arc<dyn CommandExecutor>)
    }
}

#[async_trait]
impl FsGuard for LocalNameGuard {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        match [call.path, call.dest].into_iter().flatten().any(is_foreign) {
            true => Err(call.refused(FsCode::EINVAL)),
            false => Ok(None),
        }
    }
}

/// Reports whether the first name of a path is one that is taken for another place.
pub(super) fn is_foreign(path: &str) -> bool {
    let mut names = path.split('/').filter(|name| !matches!(*name, "" | "."));
    let first = names.next().unwrap_or_default();
    first.starts_with('~')
        || matches!(first.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

impl HostShell {
    /// Makes a shell that runs `sh -c` in a directory, without the environment of this process
    /// except `PATH`.
    pub fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        Ok(Self { root, env: BTreeMap::new(), inherit_env: false, timeout: DEFAULT_TIMEOUT })
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets whether commands see the environment of this process.
    #[must_use]
    pub fn inheriting_env(self, inherit_env: bool) -> Self {
        Self { inherit_env, ..self }
    }

    /// Sets the time that a command has if the caller sets no limit.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

#[async_trait]
impl CommandExecutor for HostShell {
    async fn execute(
        &self,
        command: &str,
        options: &ExecuteOptions,
    ) -> Result<CommandOutput, ExecuteError> {
        let mut process = std::process::Command::new("sh");
        process.arg("-c").arg(command).current_dir(&self.root);
        if !self.inherit_env {
            process.env_clear();
            let path = std::env::var_os("PATH");
            process.env("PATH", path.unwrap_or_else(|| OsString::from("/usr/bin:/bin")));
        }
        process.envs(&self.env);
        run_process(process, options, self.timeout).await
    }
}

pub(super) use self::process::run_process as run_host_process;
