//! The environment of a command: the workspace, standard output, and a reporter of failures.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, OnceLock},
};

use serde::Serialize;
use yfs::{Workspace, WorkspaceFs, WorkspaceOptions, clock::new_step};
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
    time::Millis,
};
use yfs_mirror::Mirror;
use yfs_vfs::{FileSystem, FsError, Op};

use crate::{
    account,
    args::{CliArgs, GlobalArgs},
    discover,
    errors::{CommandError, EXIT_FAILED, ErrorReporter, Result},
    output::CommandOutput,
    settings,
    typed_path::TypedPath,
    workspace_key,
};

/// The filesystem of the workspace.
pub(crate) type Fs = Arc<dyn FileSystem>;

/// The environment of a command.
pub(crate) struct CommandContext {
    /// The options of every command.
    pub(crate) globals: GlobalArgs,
    /// Standard output.
    pub(crate) out: CommandOutput,
    report: ErrorReporter,
    /// The workspace, once a command has opened it.
    workspace: Option<Workspace>,
    /// The earlier time at which the command reads the workspace.
    past: Option<Millis>,
    /// The path at which the command stands, once it was needed.
    standing: OnceLock<VPath>,
    /// Whether a part of the command failed and the rest continued.
    failed: bool,
    /// The exit code of a command that defines its own, as `grep` does.
    exit_code: Option<u8>,
}

impl CommandContext {
    /// Creates the environment of a command. Opens nothing yet.
    pub(crate) fn new(cli: &CliArgs) -> Self {
        Self {
            globals: cli.globals.clone(),
            out: CommandOutput::new(&cli.globals),
            report: ErrorReporter::of(cli),
            workspace: None,
            past: None,
            standing: OnceLock::new(),
            failed: false,
            exit_code: None,
        }
    }

    /// Opens the workspace's files for reading: as they are, or as they were.
    pub(crate) fn reader(&mut self) -> Result<Fs> {
        let workspace = self.open_for_reading()?;
        match self.past {
            Some(time) => Ok(Arc::new(workspace.history().state_at(Some(time))?.into_fs())),
            None => Ok(Arc::new(workspace.fs_for(self.actor()))),
        }
    }

    /// Reads the workspace as it was at a time, from now on.
    pub(crate) fn set_past(&mut self, time: Millis) {
        self.past = Some(time);
    }

    /// Returns the time at which the workspace is read, if that is not the present.
    pub(crate) fn past(&self) -> Option<Millis> {
        self.past
    }

    /// Fails if the workspace is read as it was at an earlier time.
    fn check_present(&self) -> Result {
        match self.past {
            None => Ok(()),
            Some(_) => {
                let message = "this needs the present workspace; `yfs at` only reads earlier files";
                Err(CommandError::usage(message))
            }
        }
    }

    /// Opens the workspace's files for reading and writing.
    pub(crate) fn writer(&mut self) -> Result<Fs> {
        let workspace = self.writable()?;
        Ok(Arc::new(workspace.fs_for(self.actor())))
    }

    /// Opens the workspace's files for writing what is not held in memory.
    pub(crate) fn writer_of_streams(&mut self) -> Result<WorkspaceFs> {
        Ok(self.writable()?.fs_for(self.actor()))
    }

    /// Opens the workspace's files for reading, and follows what other processes write.
    pub(crate) fn follower(&mut self) -> Result<Fs> {
        self.check_present()?;
        let options = WorkspaceOptions { follow: true, ..settings::reading(self.actor()) };
        let workspace = self.open(options)?;
        Ok(Arc::new(workspace.fs_for(self.actor())))
    }

    /// Opens the workspace for reading. It writes nothing, and works in a read-only directory.
    pub(crate) fn readable(&mut self) -> Result<Workspace> {
        self.check_present()?;
        self.open_for_reading()
    }

    /// A workspace that lost records reads as an older one, so the command fails in the end.
    fn open_for_reading(&mut self) -> Result<Workspace> {
        let reading = settings::reading(self.actor());
        let is_first = self.workspace.is_none();
        let workspace = self.open(reading)?;
        if is_first && let Some(loss) = self.describe_loss(&workspace)? {
            self.fail(&CommandError::other(loss));
        }
        Ok(workspace)
    }

    /// Returns a description of the loss if the workspace lacks records that the mirror of its
    /// directory synchronized.
    fn describe_loss(&self, workspace: &Workspace) -> Result<Option<String>> {
        let file = self.file()?;
        let directory = discover::mirrored_directory(&file)
            .filter(|directory| Mirror::lacks_records(workspace, directory));
        Ok(directory.map(|directory| {
            let directory = self.out.safe(&directory.display().to_string()).into_owned();
            format!(
                "the workspace lacks changes that were synchronized with {directory}: an older \
                 copy was put back, or its last records were lost; `yfs mirror {directory} --once` \
                 merges the directory into it"
            )
        }))
    }

    /// Opens the workspace for reading and writing.
    pub(crate) fn writable(&mut self) -> Result<Workspace> {
        self.check_present()?;
        // All that the command changes is one step of the history.
        let step = Some(new_step());
        let options = WorkspaceOptions { step, ..settings::one_shot(self.actor()) };
        let is_first = self.workspace.is_none();
        let workspace = self.open(options)?;
        if is_first && let Some(loss) = self.describe_loss(&workspace)? {
            self.remark(&loss);
        }
        Ok(workspace)
    }

    /// Makes the index for searches if the command missed it. A failure is not the command's: the
    /// next search reads all files again.
    pub(crate) fn index_if_wanted(&self) {
        let wants = |workspace: &Workspace| workspace.maintenance().wants_search_index();
        if !self.workspace.as_ref().is_some_and(wants) {
            return;
        }
        let opened: Option<Result> = self.file().ok().map(|file| {
            let workspace = workspace_key::open_at(&file, settings::one_shot(self.actor()))?;
            workspace.maintenance().request_search_index();
            Ok(workspace.close()?)
        });
        drop(opened);
    }

    /// Returns the path of the workspace's file.
    pub(crate) fn file(&self) -> Result<PathBuf> {
        discover::find(self.globals.workspace.as_deref())
    }

    fn open(&mut self, options: WorkspaceOptions) -> Result<Workspace> {
        let workspace = self.open_at(&self.file()?, options)?;
        self.workspace = Some(workspace.clone());
        Ok(workspace)
    }

    /// Opens the workspace in a file. Prints a remark if other users could read the file until now.
    pub(crate) fn open_at(&mut self, file: &Path, options: WorkspaceOptions) -> Result<Workspace> {
        let workspace = workspace_key::open_at(file, options)?;
        for path in workspace.store().restricted_paths() {
            self.remark(&format!(
                "{}: other users could read the file; its permissions are now restricted",
                path.display()
            ));
        }
        Ok(workspace)
    }

    /// Returns the actor of the command's changes: the given one, else the user of the account.
    pub(crate) fn actor(&self) -> Actor {
        let human = || Actor::new(ActorKind::Human, &account::user_name());
        self.globals.actor.clone().unwrap_or_else(human)
    }

    /// Returns the path at which the command stands: relative paths begin there. It is the current
    /// directory below a mirrored one, and else the root.
    fn standing(&self) -> &VPath {
        self.standing.get_or_init(|| match self.globals.workspace {
            Some(_) => VPath::root(),
            None => self.file().map_or_else(|_| VPath::root(), |file| discover::standing(&file)),
        })
    }

    /// Returns the directory that a command without an operand is about.
    pub(crate) fn here(&self) -> TypedPath {
        match self.standing() {
            root if root.is_root() => TypedPath::root(),
            here => TypedPath::new(".", here.clone()),
        }
    }

    /// Parses a path, and keeps the text as typed. A relative one begins where the command stands.
    pub(crate) fn path(&self, typed: &str) -> Result<TypedPath> {
        let is_relative = !typed.is_empty() && !typed.starts_with('/');
        let whole = match self.standing() {
            here if is_relative && !here.is_root() => Cow::Owned(format!("{here}/{typed}")),
            _ => Cow::Borrowed(typed),
        };
        match VPath::parse(&whole) {
            Ok(path) => Ok(TypedPath::new(typed, path)),
            Err(error) => Err(FsError::bad_path(Op::Open, typed, error).into()),
        }
    }

    /// Parses paths. Reports and skips invalid ones.
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

    /// Reports that a part failed. The command continues, and exits with 1 in the end.
    pub(crate) fn fail(&mut self, failure: &CommandError) {
        // The flush keeps the output in order if both streams go to the same file. The next write
        // reports a closed reader.
        self.out.flush().ok();
        self.report.failure(failure);
        self.failed = true;
    }

    /// Continues after a part: reports its failure, but returns the error if the reader of the
    /// output is gone.
    pub(crate) fn continue_after(&mut self, part: Result) -> Result {
        match part {
            Err(CommandError::Closed) => Err(CommandError::Closed),
            Err(failure) => {
                self.fail(&failure);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Prints JSON from now on.
    pub(crate) fn enable_json(&mut self) {
        self.out.json = true;
        self.report.json = true;
    }

    /// Reports whether a part has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Prints a remark that is not a failure, unless `--quiet` is set.
    pub(crate) fn remark(&mut self, text: &str) {
        if !self.globals.quiet {
            self.out.flush().ok();
            self.report.remark(text);
        }
    }

    /// Prints what a command did: as JSON, or as a remark.
    pub(crate) fn conclude(&mut self, answer: &impl Serialize, remark: &str) -> Result {
        if self.out.json {
            return self.out.json_line(answer);
        }
        self.remark(remark);
        Ok(())
    }

    /// Sets the exit code of a command that completed.
    pub(crate) fn exit_with(&mut self, code: u8) {
        self.exit_code = Some(code);
    }

    /// Ends the command: closes the workspace, flushes the output, and returns the exit code.
    pub(crate) fn finish(mut self, result: Result) -> ExitCode {
        let result = match result {
            // Leaving the pager before the end is no failure.
            Err(CommandError::Closed) if self.out.has_pager() => Ok(()),
            result => result,
        };
        let flushed = self.out.finish();
        // The data is in the log already; closing makes it survive a power cut, too.
        let closed = self.workspace.take().map_or(Ok(()), Workspace::close);
        match result.and(closed.map_err(CommandError::from)).and(flushed) {
            Err(failure) => self.report.fatal(&failure),
            Ok(()) => match self.exit_code {
                Some(code) => code.into(),
                None if self.failed => EXIT_FAILED.into(),
                None => ExitCode::SUCCESS,
            },
        }
    }
}
