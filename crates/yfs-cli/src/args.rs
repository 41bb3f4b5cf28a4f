//! The command line: the options of every command, and the list of commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use yfs_engine::actor::Actor;

#[cfg(target_os = "linux")]
use crate::commands::mirror;
use crate::commands::{
    anchor, append, blame, cat, chmod, clone, completions, cp, du, edit, export, find, glob, grep,
    head, import, init, label, ln, ls, maintenance, mkdir, mv, profile, quarantine, readlink,
    redact, rm, serve, stat, sync, tail, token, touch, trash, tree, versions, write,
};

/// A file tree that people, agents and tools edit at the same time, without losing changes.
///
/// Most commands work like the POSIX tools of the same name, on the files of a workspace. A
/// workspace is one file, `.yfs/workspace.db`. yfs searches for it from the current directory
/// upwards, unless --workspace or YFS_WORKSPACE names it. Paths start at `/` of the workspace,
/// independent of the current directory. Any number of processes may use a workspace at once.
#[derive(Debug, Parser)]
#[command(name = "yfs", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(disable_help_subcommand = false, propagate_version = false)]
pub(crate) struct CliArgs {
    /// The options of every command.
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

const EXAMPLES: &str = "\
Examples:
  yfs init                           create a workspace in this directory
  yfs import ~/notes                 import a directory
  yfs ls -l /
  yfs edit /plan.md --old draft --new final
  echo 'done' | yfs append /log.txt
  yfs grep -rn TODO /src
  yfs serve .                        serve the files to editors

Exit status: 0 on success, 1 if an operation failed, 2 for wrong usage; grep: 0, 1 or 2 as POSIX.
`yfs help COMMAND` prints the help of a command, with examples.";

/// The options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct GlobalArgs {
    /// The directory or file of the workspace. Default: search from the current directory upwards
    #[arg(
        long,
        global = true,
        value_name = "DIR|FILE",
        env = "YFS_WORKSPACE",
        hide_env_values = true
    )]
    pub(crate) workspace: Option<PathBuf>,
    /// The actor that changes are recorded for: human:NAME or agent:NAME. Default: human:$USER
    #[arg(
        long,
        global = true,
        value_name = "KIND:NAME",
        env = "YFS_ACTOR",
        hide_env_values = true
    )]
    pub(crate) actor: Option<Actor>,
    /// Print JSON: one value, or one value per line; errors as JSON on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only results and errors: no progress, no remarks
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// When to use colors
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always, also when the output is a file.
    Always,
    /// Never, not even on a terminal.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Create an empty workspace
    Init(init::InitArgs),
    /// Copy a directory of this machine into the workspace
    Import(import::ImportArgs),
    /// Copy files of the workspace to a directory of this machine
    Export(export::ExportArgs),
    /// List directory contents
    Ls(ls::LsArgs),
    /// Show a directory as a tree
    Tree(tree::TreeArgs),
    /// Concatenate files and print them
    Cat(cat::CatArgs),
    /// Print the first lines of files
    Head(head::HeadArgs),
    /// Print the last lines of files
    Tail(tail::TailArgs),
    /// Replace the content of a file with standard input or a text
    Write(write::WriteArgs),
    /// Append standard input or a text to a file
    Append(append::AppendArgs),
    /// Replace text in a file
    Edit(edit::EditArgs),
    /// Create directories
    Mkdir(mkdir::MkdirArgs),
    /// Move or rename files
    Mv(mv::MvArgs),
    /// Copy files and directories
    Cp(cp::CpArgs),
    /// Move files to the trash
    Rm(rm::RmArgs),
    /// Create symbolic links
    Ln(ln::LnArgs),
    /// Print the target of a symbolic link
    Readlink(readlink::ReadlinkArgs),
    /// Print the metadata of files
    Stat(stat::StatArgs),
    /// Set modification times, and create missing files
    Touch(touch::TouchArgs),
    /// Set permission bits
    Chmod(chmod::ChmodArgs),
    /// Find files by name, type, size or time
    Find(find::FindArgs),
    /// Find paths that match a pattern
    Glob(glob::GlobArgs),
    /// Print lines that match a pattern
    Grep(grep::GrepArgs),
    /// Print the total size of files and directories
    Du(du::DuArgs),
    /// List, restore and purge removed files
    Trash(trash::TrashArgs),
    /// List, print, compare and restore earlier versions of a file
    Versions(versions::VersionsArgs),
    /// Name the current version of a file
    Label(label::LabelArgs),
    /// Print the author of each line of a file
    Blame(blame::BlameArgs),
    /// Create an anchor that keeps its position while the file is edited, or resolve one
    Anchor(anchor::AnchorArgs),
    /// Permanently erase deleted content from the history of a file
    Redact(redact::RedactArgs),
    /// List conflicts that rules resolved: equal names, cycles, changes in trashed directories
    ///
    /// JSON: one object per line: {kind, id, path, detail}.
    Conflicts(maintenance::NoArgs),
    /// List, show and drop rejected updates of peers
    Quarantine(quarantine::QuarantineArgs),
    /// Print statistics of the workspace
    Info(maintenance::NoArgs),
    /// Replace the log with snapshots
    ///
    /// Contents and versions do not change. Other processes may read and write meanwhile.
    ///
    /// JSON: {documents, compacted, kept, bytes_before, bytes_after}.
    Compact(maintenance::NoArgs),
    /// Check the integrity of the workspace
    ///
    /// Reads every record, snapshot and blob and verifies it. Exit status: 1 if there is damage.
    ///
    /// JSON: one object for each problem: {doc, what}; then {records, snapshots, blobs, problems}.
    Fsck(maintenance::FsckArgs),
    /// Write a consistent copy of the workspace
    Backup(maintenance::BackupArgs),
    /// Print or convert the schema of rich text
    Profile(profile::ProfileArgs),
    /// Repair files whose content is duplicated or has the wrong form
    Repair(profile::RepairArgs),
    /// Serve a directory to Yjs clients
    Serve(serve::ServeArgs),
    /// Copy a workspace from a server
    Clone(clone::CloneArgs),
    /// Exchange changes with a server
    Sync(sync::SyncArgs),
    /// Create, show and revoke access tokens of the server
    Token(token::TokenArgs),
    /// Synchronize a directory of this machine with a workspace, in both directions
    #[cfg(target_os = "linux")]
    Mirror(mirror::MirrorArgs),
    /// Print a shell completion script
    Completions(completions::CompletionsArgs),
}

impl CliCommand {
    /// Returns the name of the command, as messages show it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Init(_) => "init",
            Self::Import(_) => "import",
            Self::Export(_) => "export",
            Self::Ls(_) => "ls",
            Self::Tree(_) => "tree",
            Self::Cat(_) => "cat",
            Self::Head(_) => "head",
            Self::Tail(_) => "tail",
            Self::Write(_) => "write",
            Self::Append(_) => "append",
            Self::Edit(_) => "edit",
            Self::Mkdir(_) => "mkdir",
            Self::Mv(_) => "mv",
            Self::Cp(_) => "cp",
            Self::Rm(_) => "rm",
            Self::Ln(_) => "ln",
            Self::Readlink(_) => "readlink",
            Self::Stat(_) => "stat",
            Self::Touch(_) => "touch",
            Self::Chmod(_) => "chmod",
            Self::Find(_) => "find",
            Self::Glob(_) => "glob",
            Self::Grep(_) => "grep",
            Self::Du(_) => "du",
            Self::Trash(_) => "trash",
            Self::Versions(_) => "versions",
            Self::Label(_) => "label",
            Self::Blame(_) => "blame",
            Self::Anchor(_) => "anchor",
            Self::Redact(_) => "redact",
            Self::Conflicts(_) => "conflicts",
            Self::Quarantine(_) => "quarantine",
            Self::Info(_) => "info",
            Self::Compact(_) => "compact",
            Self::Fsck(_) => "fsck",
            Self::Backup(_) => "backup",
            Self::Profile(_) => "profile",
            Self::Repair(_) => "repair",
            Self::Serve(_) => "serve",
            Self::Clone(_) => "clone",
            Self::Sync(_) => "sync",
            Self::Token(_) => "token",
            #[cfg(target_os = "linux")]
            Self::Mirror(_) => "mirror",
            Self::Completions(_) => "completions",
        }
    }
}
