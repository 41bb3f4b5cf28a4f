//! Completion of the command line by a shell: subcommands, options, paths of the workspace, and ids
//! of threads.
//!
//! A script of the shell runs `yfs` with the environment variable `COMPLETE` and the words of the
//! line, and gets the candidates for the last word.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::Command;
use clap_complete::{CompleteEnv, CompletionCandidate, engine::ArgValueCompleter, env::Shells};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_threads::{ThreadId, Threads};
use yfs_vfs::{FileKind, Op};

use crate::{args::CliArgs, discover, workspace_key};

/// The environment variable that makes `yfs` answer a shell.
const VARIABLE: &str = "COMPLETE";

/// The value name of options and operands that are paths of the workspace.
const PATH: &str = "PATH";

/// The value name of operands that are ids of threads.
const THREAD: &str = "THREAD";

/// Answers a shell that completes a line, and reports whether it did: then the process has nothing
/// else to do.
pub(crate) fn answer_shell() -> clap::error::Result<bool> {
    let at = std::env::current_dir().ok();
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .try_complete(std::env::args_os(), at.as_deref())
}

/// Returns the script that makes a shell ask `yfs` for candidates; `None` for a shell that is not
/// supported.
pub(crate) fn script(shell: &str) -> Option<Vec<u8>> {
    let mut script = Vec::new();
    let completer = Shells::builtins();
    let completer = completer.completer(shell)?;
    completer.write_registration(VARIABLE, "yfs", "yfs", "yfs", &mut script).ok()?;
    Some(script)
}

/// Returns the command line with completers for what is in the workspace.
fn command() -> Command {
    with_completers(CliArgs::definition())
}

fn with_completers(command: Command) -> Command {
    let value_name = |arg: &clap::Arg| -> Option<String> {
        let names = arg.get_value_names()?;
        names[0].split(['.', ':']).next().map(str::to_owned)
    };
    command
        .mut_args(|arg| match value_name(&arg).as_deref() {
            Some(PATH) => arg.add(ArgValueCompleter::new(complete_path)),
            Some(THREAD) => arg.add(ArgValueCompleter::new(complete_thread)),
            _ => arg,
        })
        .mut_subcommands(with_completers)
}

/// Returns the ids that begin with what was typed, of threads that have no other namespace.
fn complete_thread(typed: &OsStr) -> Vec<CompletionCandidate> {
    let named = named_workspace(std::env::args_os());
    typed.to_str().and_then(|typed| threads_from(typed, named)).unwrap_or_default()
}

fn threads_from(typed: &str, named: Option<PathBuf>) -> Option<Vec<CompletionCandidate>> {
    let workspace = open_workspace(named)?;
    let names = workspace.fs().names(Threads::open(&workspace).directory()).ok()?;
    let directories = names.into_iter().filter(|(kind, _)| *kind == FileKind::Directory);
    let ids = directories.filter_map(|(_, name)| ThreadId::of_directory_name(&name));
    let begun = ids.filter(|id| id.as_str().starts_with(typed));
    Some(begun.map(|id| CompletionCandidate::new(id.as_str())).collect())
}

/// Returns the paths of the workspace that begin with what was typed. A directory ends with `/`.
fn complete_path(typed: &OsStr) -> Vec<CompletionCandidate> {
    let named = named_workspace(std::env::args_os());
    // A shell has no place for an error: there are no candidates.
    typed.to_str().and_then(|typed| paths_from(typed, named)).unwrap_or_default()
}

fn paths_from(typed: &str, named: Option<PathBuf>) -> Option<Vec<CompletionCandidate>> {
    let (directory, begun) = typed.rsplit_once('/').unwrap_or(("", typed));
    let prefix = &typed[..typed.len() - begun.len()];
    let is_relative = named.is_none() && !typed.starts_with('/');
    let here =
        if is_relative { discover::standing(&discover::find(None).ok()?) } else { VPath::root() };
    let workspace = open_workspace(named)?;
    let fs = workspace.fs();
    let directory = VPath::parse(&format!("{here}/{directory}")).ok()?;
    let names = fs.names(&directory).ok()?;
    let is_shown =
        |name: &str| name.starts_with(begun) && (begun.starts_with('.') || !name.starts_with('.'));
    let shown = names.into_iter().filter(|(_, name)| is_shown(name));
    let candidates = shown.map(|(kind, name)| {
        let is_directory = match kind {
            FileKind::Symlink => {
                let target = fs.entry(&directory.join(&name), Op::Stat);
                target.is_ok_and(|(entry, _)| entry.kind == FileKind::Directory)
            }
            kind => kind == FileKind::Directory,
        };
        CompletionCandidate::new(format!("{prefix}{name}{}", if is_directory { "/" } else { "" }))
    });
    Some(candidates.collect())
}

fn open_workspace(named: Option<PathBuf>) -> Option<Workspace> {
    let file = discover::find(named.as_deref()).ok()?;
    workspace_key::open_without_prompt(&file, WorkspaceOptions::reading())
}

/// Returns the workspace that a line names by an option or the environment.
fn named_workspace(words: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let mut words = words.skip_while(|word| word != "--").skip(1);
    while let Some(word) = words.next() {
        match word.to_str().map(|word| word.split_once('=').unwrap_or((word, ""))) {
            Some(("--workspace", "")) => return words.next().map(PathBuf::from),
            Some(("--workspace", value)) => return Some(PathBuf::from(value)),
            _ => {}
        }
    }
    std::env::var_os("YFS_WORKSPACE").map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_names_the_workspace() {
        let named = |line: &str| named_workspace(line.split(' ').map(OsString::from));
        assert_eq!(named("yfs -- yfs --workspace a ls /"), Some(PathBuf::from("a")));
        assert_eq!(named("yfs -- yfs ls --workspace=b /"), Some(PathBuf::from("b")));
    }

    #[test]
    fn each_supported_shell_has_a_script() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let script = script(shell).and_then(|script| String::from_utf8(script).ok());
            assert!(script.is_some_and(|script| script.contains(VARIABLE)), "{shell}");
        }
        assert_eq!(script("tcsh"), None);
    }
}
