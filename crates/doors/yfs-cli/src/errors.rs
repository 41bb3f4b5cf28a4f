//! Errors of commands, and their output: as POSIX tools print them, or as JSON.

use std::{
    error::Error,
    ffi::OsString,
    fmt::{self, Write as _},
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;
use yfs::WorkspaceError;
use yfs_artifacts::ArtifactError;
use yfs_mirror::MirrorError;
use yfs_replica::ReplicaError;
use yfs_server::{ServeError, access::TokenError};
use yfs_threads::{ThreadError, ThreadFileError};
use yfs_vfs::{FsCode, FsError, Op};

use crate::{
    args::CliArgs, commands::CommandList, discover, format_text::EscapedText, number_options,
};

/// The result of a command.
pub(crate) type Result<T = (), E = CommandError> = std::result::Result<T, E>;

/// The exit status of a failure.
pub(crate) const EXIT_FAILED: u8 = 1;

/// The exit status of wrong usage.
pub(crate) const EXIT_USAGE: u8 = 2;

/// The exit status if the reader of standard output closed it: the one that shells report for a
/// process that SIGPIPE ended.
pub(crate) const EXIT_CLOSED: u8 = 141;

/// What to check if a server does not answer.
const UNANSWERED_HINT: &str =
    "check that the URL is the one that `yfs serve` prints, and that proxies pass WebSockets";

/// What to do if the workspace is damaged.
pub(crate) const DAMAGE_HINT: &str = "`yfs admin fsck` lists the damage; put a backup back, or \
                                      set it aside with `yfs admin fsck --repair`";

/// The reason why a command, or a part of one, failed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The reader of standard output closed it.
    Closed,
    /// The command line is invalid.
    Usage(String),
    /// A call on a path failed.
    Fs(FsError),
    /// A call on a path failed, with a hint for the caller.
    HintedFs(FsError, &'static str),
    /// A call on the workspace as a whole failed.
    Workspace(WorkspaceError),
    /// A call on the workspace as a whole failed, with a hint for the caller.
    Hinted(WorkspaceError, &'static str),
    /// A server accepted the connection and did not answer.
    Unanswered(ReplicaError),
    /// A call on a thread or an artifact failed, with the code of POSIX that is like it.
    Coded(FsCode, Box<dyn Error + Send + Sync>),
    /// A failure that is specific to one command.
    Other(Box<dyn Error + Send + Sync>),
}

/// The reason and the remedy for a file that cannot be read.
const DAMAGED_HINT: &str = "some of its records are damaged; `yfs admin fsck` lists them, \
                            `yfs admin fsck --repair` sets them aside";

/// The parts of an error message.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct ErrorParts {
    code: &'static str,
    op: Option<&'static str>,
    path: Option<String>,
    dest: Option<String>,
    message: String,
}

/// A reporter of failures, to people or to programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorReporter {
    command: &'static str,
    /// Whether to report failures as JSON.
    pub(crate) json: bool,
    /// Whether the command line names the workspace.
    is_named: bool,
}

impl ErrorReporter {
    /// Creates the reporter for a command line.
    pub(crate) fn of(cli: &CliArgs) -> Self {
        let is_named = cli.globals.workspace.is_some();
        Self { command: cli.command.name(), json: cli.globals.json, is_named }
    }

    /// Reports a failure on standard error.
    pub(crate) fn failure(self, failure: &CommandError) {
        let parts = failure.parts();
        let text = if self.json {
            let mut error = json!({ "code": parts.code, "message": parts.message });
            let fields = [("op", parts.op.map(str::to_owned)), ("path", parts.path)];
            for (key, value) in fields.into_iter().chain([("dest", parts.dest)]) {
                if let Some(value) = value {
                    error[key] = value.into();
                }
            }
            json!({ "error": error }).to_string()
        } else {
            format!("yfs {}: {}{}", self.command, parts, parts.disk_hint(self.is_named))
        };
        write_stderr(&text);
    }

    /// Prints a remark that is not a failure.
    pub(crate) fn remark(self, text: &str) {
        if !self.json {
            write_stderr(&format!("yfs {}: {text}", self.command));
        }
    }

    /// Reports the failure that ended the command, and returns its exit code.
    pub(crate) fn fatal(self, failure: &CommandError) -> ExitCode {
        if !matches!(failure, CommandError::Closed) {
            self.failure(failure);
        }
        failure.exit_code().into()
    }
}

/// Writes a line to standard error. Ignores errors, because there is no other stream to report
/// them.
pub(crate) fn write_stderr(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Prints clap's help, version or error message, and returns the exit code.
pub(crate) fn wrong_usage(error: &clap::Error) -> ExitCode {
    let is_json = std::env::args_os().any(|arg| arg == "--json");
    // clap prints this help only if no variable of the environment gives an option.
    if error.kind() == ErrorKind::MissingSubcommand
        && !is_json
        && let Err(help) = CliArgs::parse_words(std::env::args_os().chain(["-h".into()]))
    {
        write_stderr(help.render().to_string().trim_end());
        return EXIT_USAGE.into();
    }
    let tip = error.use_stderr().then(|| tip_of(error)).flatten();
    let text = error.render().to_string();
    if !error.use_stderr() || !is_json {
        if let Some(tip) = tip {
            let message = text.lines().next().unwrap_or("error: wrong usage");
            let message = crate::format_text::escape_lines(message);
            write_stderr(&format!(
                "{}\n\n  tip: {tip}\n\nFor more information, try '--help'.",
                message.trim_end()
            ));
            return EXIT_USAGE.into();
        }
        let controls =
            |char| crate::format_text::controls_terminal(char) && !matches!(char, '\n' | '\t');
        if error.use_stderr() && text.chars().any(controls) {
            write_stderr(crate::format_text::escape_lines(&text).trim_end());
            return EXIT_USAGE.into();
        }
        return match error.print() {
            Ok(()) => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(EXIT_USAGE)),
            Err(_) => EXIT_CLOSED.into(),
        };
    }
    let message = text.trim_start_matches("error: ").lines().next().unwrap_or("wrong usage");
    write_stderr(&json!({ "error": { "code": "USAGE", "message": message } }).to_string());
    EXIT_USAGE.into()
}

/// Returns the command that the user may have meant, where the nearest name is another one.
fn tip_of(error: &clap::Error) -> Option<String> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let words = words.iter().skip(number_options::command_at(&words));
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    match (error.kind(), words.first().map(|word| &**word)) {
        (ErrorKind::InvalidSubcommand, first) => {
            let unknown = word(ContextKind::InvalidSubcommand)?;
            match (first, unknown) {
                (Some("versions"), "log" | "list" | "history") => {
                    Some("`yfs versions ls FILE` lists the versions of a file".to_owned())
                }
                (Some("versions"), file) => Some(format!(
                    "`yfs versions ls {}` lists the versions of a file",
                    EscapedText::new(file)
                )),
                (Some(typed), "restore") if typed == unknown => Some(
                    "`yfs versions restore FILE N` brings a version of a file back, \
                     `yfs trash restore PATH` a deleted file, and `yfs undo` takes changes back"
                        .to_owned(),
                ),
                (Some(typed), "history" | "revisions") if typed == unknown => Some(
                    "`yfs log` lists all changes, `yfs versions ls FILE` the versions of a file"
                        .to_owned(),
                ),
                (Some("help"), _) if words.get(1).is_some_and(|word| word == unknown) => {
                    tip_of_group(unknown)
                }
                (Some(typed), _) if typed == unknown => tip_of_group(unknown),
                _ => None,
            }
        }
        (ErrorKind::UnknownArgument, Some("write" | "append")) => {
            let is_text = !word(ContextKind::InvalidArg)?.starts_with('-');
            is_text.then(|| {
                "`--content TEXT` passes a text; else the content is read from standard input"
                    .to_owned()
            })
        }
        _ => None,
    }
}

/// Returns the commands of groups that have the name of an unknown command.
fn tip_of_group(unknown: &str) -> Option<String> {
    let calls = CliArgs::calls_of(unknown);
    let quoted: Vec<String> = calls.iter().map(|call| format!("'{call}'")).collect();
    match quoted.as_slice() {
        [] => None,
        [call] => Some(format!("a similar command exists: {call}")),
        calls => Some(format!("some similar commands exist: {}", calls.join(", "))),
    }
}

impl CommandError {
    /// Creates a failure with a complete message.
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::Other(message.into().into())
    }

    /// Creates a failure of wrong usage.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Adds a hint to a failed call on a path, if it failed with this code.
    pub(crate) fn hinted(error: FsError, code: FsCode, hint: &'static str) -> Self {
        if error.code == code { Self::HintedFs(error, hint) } else { Self::Fs(error) }
    }

    /// Creates a failure of a change of a text, which may have grown too long.
    pub(crate) fn of_text(error: FsError) -> Self {
        Self::hinted(error, FsCode::EFBIG, "`yfs config max-text` sets the size of texts")
    }

    /// Creates a failure of a file of the host.
    pub(crate) fn host(path: &Path, error: &io::Error) -> Self {
        let (path, message) = (path.display(), host_message(error));
        Self::other(format!("{}: {message}", EscapedText::new(&path.to_string())))
    }

    /// Returns the exit code of a command that ended with this failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Closed => EXIT_CLOSED,
            Self::Usage(_) => EXIT_USAGE,
            _ => EXIT_FAILED,
        }
    }

    /// Returns the text that reports print for it.
    #[cfg(feature = "peer")]
    pub(crate) fn message(&self) -> String {
        self.parts().to_string()
    }

    fn parts(&self) -> ErrorParts {
        match self {
            Self::Closed => ErrorParts { code: "EPIPE", ..ErrorParts::default() },
            Self::Usage(message) => {
                ErrorParts { code: "USAGE", message: message.clone(), ..ErrorParts::default() }
            }
            Self::Fs(error) | Self::Workspace(WorkspaceError::Fs(error)) => fs_parts(error),
            Self::HintedFs(error, hint) => {
                let parts = fs_parts(error);
                ErrorParts { message: format!("{} ({hint})", parts.message), ..parts }
            }
            Self::Workspace(WorkspaceError::Host { path, source, .. }) => ErrorParts {
                code: FsCode::of_io(source).as_str(),
                path: Some(path.display().to_string()),
                message: host_message(source),
                ..ErrorParts::default()
            },
            Self::Workspace(error @ WorkspaceError::DamagedLog { .. }) => ErrorParts {
                code: "EIO",
                message: format!("{error}; {DAMAGE_HINT}"),
                ..ErrorParts::default()
            },
            Self::Workspace(error) => {
                ErrorParts { code: "EWORKSPACE", message: chain(error), ..ErrorParts::default() }
            }
            Self::Hinted(error, hint) => {
                let message = format!("{}; {hint}", chain(error));
                ErrorParts { code: "EWORKSPACE", message, ..ErrorParts::default() }
            }
            Self::Unanswered(error) => ErrorParts {
                code: "ETIMEDOUT",
                message: format!("{error} ({UNANSWERED_HINT})"),
                ..ErrorParts::default()
            },
            Self::Coded(code, error) => ErrorParts {
                code: code.as_str(),
                message: chain(&**error),
                ..ErrorParts::default()
            },
            Self::Other(error) => {
                ErrorParts { code: "EOTHER", message: chain(&**error), ..ErrorParts::default() }
            }
        }
    }
}

impl ErrorParts {
    /// Returns a hint if the workspace has no such path, but the disk has. `is_named` says that the
    /// command line names the workspace.
    fn disk_hint(&self, is_named: bool) -> String {
        let is_missing = self.code == FsCode::ENOENT.as_str() && self.dest.is_none();
        let path = self.path.as_deref().filter(|_| is_missing).unwrap_or_default();
        let relative = path.trim_start_matches('/');
        let file = discover::find(None).ok().filter(|_| !is_named && !relative.is_empty());
        if let Some(directory) = file.as_deref().and_then(discover::mirrored_directory)
            && directory.join(relative).symlink_metadata().is_ok()
        {
            // An import would make a second file of it.
            let directory = directory.display().to_string();
            let directory = EscapedText::new(&directory);
            return format!(
                " (it is on the disk; `yfs mirror {directory} --once` takes it in, unless it is \
                 excluded)"
            );
        }
        if relative.is_empty() || Path::new(relative).symlink_metadata().is_err() {
            return String::new();
        }
        match file.as_deref().and_then(|file| path_below(file, relative)) {
            Some(path) => {
                let path = EscapedText::new(&path);
                format!(" (paths begin at the root of the workspace; the file here may be {path})")
            }
            None => " (it is on the disk, not in the workspace; `yfs import` copies it)".to_owned(),
        }
    }
}

/// Returns the path of a file of the current directory from the directory of a workspace, if that
/// is above.
fn path_below(file: &Path, relative: &str) -> Option<String> {
    let directory = discover::store_dir(file).parent()?.canonicalize().ok()?;
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    let below = here.strip_prefix(directory).ok()?.to_str()?.to_owned();
    (!below.is_empty()).then(|| format!("/{below}/{relative}"))
}

impl fmt::Display for ErrorParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}", EscapedText::new(path))?;
            if let Some(dest) = &self.dest {
                write!(f, " -> {}", EscapedText::new(dest))?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{}", EscapedText::new(&self.message))
    }
}

impl From<FsError> for CommandError {
    fn from(error: FsError) -> Self {
        Self::Fs(error)
    }
}

impl From<WorkspaceError> for CommandError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::other(host_message(&error)),
        }
    }
}

impl From<ReplicaError> for CommandError {
    fn from(error: ReplicaError) -> Self {
        match error {
            ReplicaError::Silent { .. } => Self::Unanswered(error),
            error => Self::Other(error.into()),
        }
    }
}

#[cfg(feature = "peer")]
impl From<yfs_peer::PeerError> for CommandError {
    fn from(error: yfs_peer::PeerError) -> Self {
        match error {
            yfs_peer::PeerError::Workspace(error) => Self::Workspace(error),
            error => Self::Other(error.into()),
        }
    }
}

impl From<ThreadError> for CommandError {
    fn from(error: ThreadError) -> Self {
        match error {
            ThreadError::Fs(error) => Self::Fs(error),
            ThreadError::Workspace(error) => Self::Workspace(error),
            ThreadError::Id(_) => Self::Coded(FsCode::EINVAL, error.into()),
            ThreadError::Missing(_) => Self::Coded(FsCode::ENOENT, error.into()),
            ThreadError::Exists(_) => Self::Coded(FsCode::EEXIST, error.into()),
            error => Self::Other(error.into()),
        }
    }
}

impl From<ThreadFileError> for CommandError {
    fn from(error: ThreadFileError) -> Self {
        match error {
            ThreadFileError::Fs(error) => Self::Fs(error),
            error => Self::Other(error.into()),
        }
    }
}

impl From<ArtifactError> for CommandError {
    fn from(error: ArtifactError) -> Self {
        match error {
            ArtifactError::Fs(error) => Self::Fs(error),
            ArtifactError::Missing { .. } => Self::Coded(FsCode::ENOENT, error.into()),
            ArtifactError::Corrupt { .. } => Self::Coded(FsCode::EIO, error.into()),
            ArtifactError::Namespace(_) | ArtifactError::BadReference(_) => {
                Self::Coded(FsCode::EINVAL, error.into())
            }
            error => Self::Other(error.into()),
        }
    }
}

impl From<MirrorError> for CommandError {
    fn from(error: MirrorError) -> Self {
        Self::Other(error.into())
    }
}

impl From<ServeError> for CommandError {
    fn from(error: ServeError) -> Self {
        Self::Other(error.into())
    }
}

impl From<TokenError> for CommandError {
    fn from(error: TokenError) -> Self {
        Self::Other(error.into())
    }
}

/// Returns the parts of the message about a call on a path.
fn fs_parts(error: &FsError) -> ErrorParts {
    ErrorParts {
        code: error.code.as_str(),
        op: Some(error.op.as_str()),
        path: error.path.as_deref().map(str::to_owned),
        dest: error.dest.as_deref().map(str::to_owned),
        message: fs_message(error),
    }
}

/// Returns the message of `strerror`, as tools print it, and the cause if there is one.
fn fs_message(error: &FsError) -> String {
    let reason = match error.code {
        // The words of POSIX are about a network filesystem.
        FsCode::ESTALE if error.op != Op::Watch => {
            "The file is not at the expected version: it was changed since; read it again"
                .to_owned()
        }
        code => capitalized(code.message()),
    };
    if matches!(WorkspaceError::cause_of(error), Some(WorkspaceError::Damaged(_))) {
        return format!("{reason} ({DAMAGED_HINT})");
    }
    if let Some(error @ WorkspaceError::DamagedLog { .. }) = WorkspaceError::cause_of(error) {
        return format!("{reason} ({error}; {DAMAGE_HINT})");
    }
    match &error.source {
        // EINVAL says nothing about the argument; the cause does.
        Some(source) if error.code == FsCode::EINVAL => without_drawing(&chain(&**source)),
        Some(source) => format!("{reason} ({})", chain(&**source)),
        None => reason,
    }
}

/// Removes the drawing of a pattern, of several lines, that precedes the error message.
fn without_drawing(text: &str) -> String {
    match text.rsplit_once("\nerror: ") {
        Some((_, reason)) => format!("invalid pattern: {reason}"),
        None if text.starts_with("the literal \"\\n\"") => {
            "invalid pattern: a pattern matches within one line, so it cannot contain a newline"
                .to_owned()
        }
        None => text.to_owned(),
    }
}

/// Returns the host's message, as tools print it.
fn host_message(error: &io::Error) -> String {
    without_number(&error.to_string()).to_owned()
}

/// Removes Rust's "(os error 2)".
fn without_number(text: &str) -> &str {
    text.split(" (os error ").next().unwrap_or(text)
}

/// Returns the message of an error and of its causes, except causes that it already contains.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            // Writing into a string cannot fail.
            write!(text, ": {next}").ok();
        }
        cause = error.source();
    }
    without_number(&text).to_owned()
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yfs_engine::path::VPath;
    use yfs_vfs::{EditRefusal, Op};

    use super::*;

    #[test]
    fn failures_read_as_those_of_posix_tools() {
        let path = VPath::parse("/a\u{1b}b").unwrap();
        let cases: Vec<CommandError> = vec![
            FsError::new(FsCode::ENOENT, Op::Open, "/x").into(),
            FsError::new(FsCode::ENOTEMPTY, Op::Rename, "/a").to("/b").into(),
            FsError::edit_refused(&path, EditRefusal::NotFound).into(),
            FsError::new(FsCode::EIO, Op::Read, "/x").caused_by(io::Error::other("torn")).into(),
            CommandError::host(Path::new("gone"), &io::ErrorKind::NotFound.into()),
            CommandError::usage("no operand"),
        ];
        let lines: Vec<String> = cases.iter().map(|case| case.parts().to_string()).collect();
        expect![[r#"
            /x: No such file or directory
            /a -> /b: Directory not empty
            /a\u{1b}b: the text to replace was not found
            /x: Input/output error (torn)
            gone: entity not found
            no operand"#]]
        .assert_eq(&lines.join("\n"));
    }
}
