//! A directory that a sandbox works on: files through the host, commands inside.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tempfile::TempDir;
use yfs_vfs::{FileSystem, HostFs};

use super::{
    AgentBackend,
    local::{HostShell, run_host_process},
};
use crate::execute::{CommandExecutor, CommandOutput, ExecuteError, ExecuteOptions};

/// The programs that run containers, the preferred first.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// The directory of a container where the files are.
const CONTAINER_ROOT: &str = "/workspace";

/// The files and commands of a sandbox.
#[derive(Debug, Clone)]
pub struct SandboxBackend {
    fs: Arc<dyn FileSystem>,
    executor: Arc<dyn CommandExecutor>,
    /// Removed with the last handle.
    _directory: Option<Arc<TempDir>>,
}

/// A runner of commands in containers. Each command runs in a container of its own without a
/// network, which sees the directory of the files and nothing else of the host.
#[derive(Debug, Clone)]
pub struct ContainerShell {
    engine: PathBuf,
    image: String,
    root: PathBuf,
    timeout: Duration,
}

impl SandboxBackend {
    /// Adapts a sandbox of any kind: its files, and its runner of commands.
    pub fn new(fs: Arc<dyn FileSystem>, executor: Arc<dyn CommandExecutor>) -> Self {
        Self { fs, executor, _directory: None }
    }

    /// Makes a sandbox of processes of this host, in a temporary directory that is removed with the
    /// last handle. It separates the files of agents from each other. It does not confine a command
    /// that means harm; for that, use a container.
    pub fn local() -> io::Result<Self> {
        let directory = Arc::new(TempDir::new()?);
        let fs = Arc::new(HostFs::open(directory.path())?);
        let home = directory.path().to_string_lossy().into_owned();
        let shell = HostShell::new(directory.path())?.with_env("HOME", &home);
        Ok(Self { fs, executor: Arc::new(shell), _directory: Some(directory) })
    }

    /// Makes a sandbox of containers on a directory of the host.
    pub fn container(shell: ContainerShell) -> io::Result<Self> {
        let fs = Arc::new(HostFs::open(&shell.root)?);
        Ok(Self { fs, executor: Arc::new(shell), _directory: None })
    }
}

impl AgentBackend for SandboxBackend {
    fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.clone()
    }

    fn executor(&self) -> Option<Arc<dyn CommandExecutor>> {
        Some(self.executor.clone())
    }
}

/// Returns the program of a container engine on the search path, if there is one.
pub fn find_container_engine() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut programs =
        ENGINES.iter().flat_map(|engine| directories.iter().map(move |dir| dir.join(engine)));
    programs.find(|program| program.is_file())
}

impl ContainerShell {
    /// Makes a shell that runs commands with an engine, in an image that has `sh`.
    pub fn new(engine: PathBuf, image: &str, root: &Path) -> io::Result<Self> {
        let (image, root) = (image.to_owned(), root.canonicalize()?);
        Ok(Self { engine, image, root, timeout: Duration::from_secs(120) })
    }

    fn command_line(&self, name: &str, command: &str) -> Command {
        let mut mount = self.root.clone().into_os_string();
        mount.push(format!(":{CONTAINER_ROOT}"));
        let mut process = Command::new(&self.engine);
        process.args(["run", "--rm", "--name", name, "--network", "none"]);
        process.args(["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]);
        process.args(["--pids-limit", "512", "--memory", "2g"]);
        process.arg("-v").arg(mount).args(["-w", CONTAINER_ROOT, &self.image, "sh", "-c", command]);
        process
    }
}

/// A container that is removed when its command ends early.
struct RunningContainer<'a> {
    engine: &'a Path,
    name: &'a str,
}

impl Drop for RunningContainer<'_> {
    fn drop(&mut self) {
        // The engine runs the container outside of the command's process group. An error means that
        // it has ended already.
        let mut process = Command::new(self.engine);
        process.args(["rm", "-f", self.name]);
        process.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        process.status().ok();
    }
}

#[async_trait]
impl CommandExecutor for ContainerShell {
    async fn execute(
        &self,
        command: &str,
        options: &ExecuteOptions,
    ) -> Result<CommandOutput, ExecuteError> {
        static N_CONTAINERS: AtomicU64 = AtomicU64::new(0);
        let number = N_CONTAINERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("yfs-{}-{number}", std::process::id());
        let _container = RunningContainer { engine: &self.engine, name: &name };
        run_host_process(self.command_line(&name, command), options, self.timeout).await
    }
}
