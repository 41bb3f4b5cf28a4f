//! The runner of commands.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use bashkit::{Bash, ExecutionLimits, MemoryLimits};
use yfs_agent::{CommandExecutor, CommandOutput, ExecuteError, ExecuteOptions};
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FsView};

use crate::{
    builtins::{LinkFiles, RemoveFiles},
    output_sink::OutputSink,
    shell_fs::ShellFs,
    thread::{ShellEnd, run_on_thread},
};

/// Builtins that are removed: those that would reach a network or another machine, although they
/// are not compiled in, and those that allocate whatever size a script names.
const REMOVED_BUILTINS: [&str; 10] =
    ["curl", "wget", "http", "git", "ssh", "scp", "sftp", "nc", "truncate", "fallocate"];

/// The exit code of a command that was refused by a limit or could not be parsed.
const REFUSED: i32 = 2;

/// A function that returns the files for one command, which is its argument.
pub type CommandFiles = Arc<dyn Fn(&str) -> Arc<dyn FileSystem> + Send + Sync>;

/// A runner of bash commands in this process.
///
/// Each command is a shell of its own: variables and the working directory do not outlive it. Its
/// changes are one step of the history.
#[derive(Clone)]
pub struct ShellExecutor {
    files: CommandFiles,
    limits: ShellLimits,
    directory: VPath,
    env: Vec<(String, String)>,
}

/// The limits of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellLimits {
    /// The time if the caller sets none.
    pub timeout: Duration,
    /// The simple commands that run, in all loops and functions together.
    pub max_commands: usize,
    /// The turns of all loops together.
    pub max_loop_turns: usize,
    /// The bytes of all variables together, and of intermediate results at one time.
    pub max_memory: usize,
    /// The length of one file that a command writes, in bytes.
    pub max_file_len: u64,
    /// The bytes that a command writes to files in all.
    pub max_written_bytes: u64,
}

impl Default for ShellLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_commands: 100_000,
            max_loop_turns: 100_000,
            max_memory: 32_000_000,
            max_file_len: 16_000_000,
            max_written_bytes: 100_000_000,
        }
    }
}

impl ShellExecutor {
    /// Makes a runner of commands that all work on one handle of the files.
    pub fn new(files: Arc<dyn FileSystem>, limits: ShellLimits) -> Self {
        Self::for_each_command(Arc::new(move |_| files.clone()), limits)
    }

    /// Makes a runner that gets a handle for each command, for example one whose changes carry the
    /// command as their label.
    pub fn for_each_command(files: CommandFiles, limits: ShellLimits) -> Self {
        Self { files, limits, directory: VPath::root(), env: Vec::new() }
    }

    /// Sets the directory in which commands start.
    #[must_use]
    pub fn in_directory(self, directory: VPath) -> Self {
        Self { directory, ..self }
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    fn build(&self, fs: Arc<ShellFs>, limit: Duration, max_output: usize) -> Bash {
        let ShellLimits { max_commands, max_loop_turns, max_memory, .. } = self.limits;
        // One byte more than is kept, so that a cut is seen.
        let max_output = max_output.saturating_add(1);
        let limits = ExecutionLimits::new()
            .timeout(limit)
            .max_commands(max_commands)
            .max_loop_iterations(max_loop_turns)
            .max_total_loop_iterations(max_loop_turns)
            .max_live_intermediate_bytes(max_memory as u64)
            .max_stdout_bytes(max_output)
            .max_stderr_bytes(max_output);
        let memory = MemoryLimits::new().max_total_variable_bytes(max_memory);
        let mut builder = Bash::builder()
            .fs(fs)
            // The command sees the files that it is given, and no others.
            .rootfs(false)
            .cwd(PathBuf::from(self.directory.as_str()))
            .limits(limits)
            .memory_limits(memory)
            .builtin_filter(|name| !REMOVED_BUILTINS.contains(&name))
            .builtin("ln", Box::new(LinkFiles))
            .builtin("rm", Box::new(RemoveFiles));
        for (name, value) in &self.env {
            builder = builder.env(name, value);
        }
        builder.build()
    }
}

impl fmt::Debug for ShellExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellExecutor").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[async_trait]
impl CommandExecutor for ShellExecutor {
    async fn execute(
        &self,
        command: &str,
        options: &ExecuteOptions,
    ) -> Result<CommandOutput, ExecuteError> {
        let limit = options.timeout.unwrap_or(self.limits.timeout);
        let max_output = options.max_output_bytes;
        let files = (self.files)(command);
        let files = files.view(FsView::NewStep).unwrap_or(files);
        let of_call = options.scope.as_ref().and_then(|scope| files.view(FsView::ForCall(scope)));
        let files = of_call.unwrap_or(files);
        let fs = Arc::new(ShellFs::new(files, self.limits));
        let bash = self.build(fs.clone(), limit, max_output);
        let sink = OutputSink::new(max_output);
        let end = run_on_thread(bash, command, &sink, &fs, limit, &options.cancel).await?;
        let output = |exit_code| sink.output(exit_code);
        match end {
            ShellEnd::Finished { exit_code } => Ok(output(Some(exit_code))),
            ShellEnd::Refused { reason } => {
                sink.push(format!("bash: {reason}\n").as_bytes());
                Ok(output(Some(REFUSED)))
            }
            ShellEnd::TimedOut => Err(ExecuteError::TimedOut { limit, partial: output(None) }),
            ShellEnd::Cancelled => Err(ExecuteError::Cancelled { partial: output(None) }),
        }
    }
}
