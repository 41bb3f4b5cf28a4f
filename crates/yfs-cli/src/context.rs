//! What a command works with: the workspace, standard output, and a place to report failures.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{FileSystem, FsError, Op};

use crate::{
    args::{CliArgs, GlobalArgs},
    discover,
    errors::{CommandError, EXIT_FAILED, ErrorReporter, Result},
    output::CommandOutput,
    typed_path::TypedPath,
};

/// The workspace as commands on files see it.
pub(crate) type Fs = Arc<dyn FileSystem>;

/// What a command works with.
pub(crate) struct CommandContext {
    /// What every command has.
    pub(crate) globals: GlobalArgs,
    /// Standard output.
    pub(crate) out: CommandOutput,
    report: ErrorReporter,
    /// The workspace, once a command has opened it.
    workspace: Option<Workspace>,
    /// Whether a part of the command failed; the rest went on.
    failed: bool,
    /// The exit code of a command that has its own, as `grep` has.
    exit_code: u8,
}

impl CommandContext {
    /// Prepares what a command needs; opens nothing yet.
    pub(crate) fn new(cli: &CliArgs) -> Self {
        Self {
            globals: cli.globals.clone(),
            out: CommandOutput::new(&cli.globals),
            report: ErrorReporter::of(cli),
            workspace: None,
            failed: false,
            exit_code: 0,
        }
    }

    /// Opens the workspace's files for reading.
    pub(crate) fn reader(&mut self) -> Result<Fs> {
        let workspace = self.readable()?;
        Ok(Arc::new(workspace.fs_for(self.actor())))
    }

    /// Opens the workspace's files for reading and writing.
    pub(crate) fn writer(&mut self) -> Result<Fs> {
        let workspace = self.writable()?;
        Ok(Arc::new(workspace.fs_for(self.actor())))
    }

    /// Opens the workspace for reading. It leaves no trace, and works where nothing may be written.
    pub(crate) fn readable(&mut self) -> Result<Workspace> {
        let reading = WorkspaceOptions { actor: self.actor(), ..WorkspaceOptions::reading() };
        self.open(reading)
    }

    /// Opens the workspace for reading and writing.
    pub(crate) fn writable(&mut self) -> Result<Workspace> {
        let options = WorkspaceOptions::one_shot(self.actor());
        self.open(options)
    }

    /// Returns the file that is the workspace.
    pub(crate) fn file(&self) -> Result<PathBuf> {
        discover::find(self.globals.workspace.as_deref())
    }

    fn open(&mut self, options: WorkspaceOptions) -> Result<Workspace> {
        let workspace = self.open_at(&self.file()?, options)?;
        self.workspace = Some(workspace.clone());
        Ok(workspace)
    }

    /// Opens the workspace in a file, and says so if other users could read it until now.
    pub(crate) fn open_at(&mut self, file: &Path, options: WorkspaceOptions) -> Result<Workspace> {
        let workspace = Workspace::open_at(file, options)?;
        for path in workspace.store().mended() {
            self.remark(&format!("{}: other users could read it, which ends now", path.display()));
        }
        Ok(workspace)
    }

    /// Returns on whose behalf the command runs.
    pub(crate) fn actor(&self) -> Actor {
        let user = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
        let user =
            || user().filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned());
        let human = || Actor::new(ActorKind::Human, &user());
        self.globals.actor.clone().unwrap_or_else(human)
    }

    /// Reads a path, and keeps how it was typed.
    pub(crate) fn path(&self, typed: &str) -> Result<TypedPath> {
        match VPath::parse(typed) {
            Ok(path) => Ok(TypedPath::new(typed, path)),
            Err(error) => Err(FsError::bad_path(Op::Open, typed, error).into()),
        }
    }

    /// Reads paths; one that is none is reported and left out.
    pub(crate) fn paths(&mut self, typed: &[String]) -> Vec<TypedPath> {
        let mut paths = Vec::with_capacity(typed.len());
        for typed in typed {
            match self.path(typed) {
                Ok(path) => paths.push(path),
                Err(failure) => self.fail(&failure),
            }
        }
        paths
    }

    /// Reports that a part failed; the command goes on and exits with 1 in the end.
    pub(crate) fn fail(&mut self, failure: &CommandError) {
        // What was printed before comes first, also where both go to one place. A reader that has
        // gone is noticed at the next write.
        self.out.flush().ok();
        self.report.failure(failure);
        self.failed = true;
    }

    /// Goes on after a part: what failed is reported, but a reader that has gone ends the command.
    pub(crate) fn settle(&mut self, part: Result) -> Result {
        match part {
            Err(CommandError::Closed) => Err(CommandError::Closed),
            Err(failure) => {
                self.fail(&failure);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Answers in JSON from now on.
    pub(crate) fn want_json(&mut self) {
        self.out.json = true;
        self.report.json = true;
    }

    /// Tells whether a part has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Says something that is no failure, unless nobody wants to hear it.
    pub(crate) fn remark(&mut self, text: &str) {
        if !self.globals.quiet {
            self.out.flush().ok();
            self.report.remark(text);
        }
    }

    /// Sets the exit code of a command that did all it could.
    pub(crate) fn exit_with(&mut self, code: u8) {
        self.exit_code = code;
    }

    /// Ends the command: closes the workspace, writes what is held back, and returns the exit code.
    pub(crate) fn finish(mut self, done: Result) -> ExitCode {
        let flushed = self.out.flush();
        // What was written is in the log; closing makes it survive a power cut, too.
        let closed = self.workspace.take().map_or(Ok(()), Workspace::close);
        match done.and(closed.map_err(CommandError::from)).and(flushed) {
            Err(failure) => self.report.fatal(&failure),
            Ok(()) if self.exit_code != 0 => self.exit_code.into(),
            Ok(()) if self.failed => EXIT_FAILED.into(),
            Ok(()) => ExitCode::SUCCESS,
        }
    }
}
