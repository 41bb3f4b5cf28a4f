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
/// The commands are those of a POSIX shell, on the files of a workspace. A workspace is one file,
/// `.yfs/workspace.db`. yfs searches for it from the current directory upwards, unless --workspace
/// or YFS_WORKSPACE names it. Paths start at `/` of the workspace, whatever the current directory.
/// Any number of processes may use a workspace at once.
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
  yfs init                           make a workspace in this directory
  yfs import ~/notes                 bring a directory in
  yfs ls -l /
  yfs edit /plan.md --old draft --new final
  echo 'done' | yfs append /log.txt
  yfs grep -rn TODO /src
  yfs serve .                        let editors in

Exit status: 0 if all went well, 1 if something failed, 2 for wrong usage; grep as grep does.
`yfs help COMMAND` says more about a command, with examples.";

/// The options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct GlobalArgs {
    /// The workspace: its directory or its file. Default: the first one found from here upwards
    #[arg(
        long,
        global = true,
        value_name = "DIR|FILE",
        env = "YFS_WORKSPACE",
        hide_env_values = true
    )]
    pub(crate) workspace: Option<PathBuf>,
    /// The author of the changes: human:NAME or agent:NAME. Default: human:$USER
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
    /// Print no progress and no remarks
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
    /// Import a directory of this machine
    Import(import::ImportArgs),
    /// Export files to a directory of this machine
    Export(export::ExportArgs),
    /// List directories
    Ls(ls::LsArgs),
    /// Show a tree of files
    Tree(tree::TreeArgs),
    /// Print files
    Cat(cat::CatArgs),
    /// Print the beginning of files
    Head(head::HeadArgs),
    /// Print the end of files
    Tail(tail::TailArgs),
    /// Replace the content of a file by standard input, or by a text
    Write(write::WriteArgs),
    /// Append standard input, or a text, to a file
    Append(append::AppendArgs),
    /// Replace text in a file
    Edit(edit::EditArgs),
    /// Create directories
    Mkdir(mkdir::MkdirArgs),
    /// Move or rename
    Mv(mv::MvArgs),
    /// Copy
    Cp(cp::CpArgs),
    /// Remove: move to the trash
    Rm(rm::RmArgs),
    /// Create symbolic links
    Ln(ln::LnArgs),
    /// Print the target of a symbolic link
    Readlink(readlink::ReadlinkArgs),
    /// Print the metadata of a file
    Stat(stat::StatArgs),
    /// Set times, and create missing files
    Touch(touch::TouchArgs),
    /// Set permission bits
    Chmod(chmod::ChmodArgs),
    /// Find files by name, kind, size or time
    Find(find::FindArgs),
    /// Find paths that match a pattern
    Glob(glob::GlobArgs),
    /// Find lines that match a pattern
    Grep(grep::GrepArgs),
    /// Print the total size of files and directories
    Du(du::DuArgs),
    /// Removed files: list, restore, purge
    Trash(trash::TrashArgs),
    /// Earlier versions of a file: list, show, compare, restore
    Versions(versions::VersionsArgs),
    /// Name the current version of a file
    Label(label::LabelArgs),
    /// Print who wrote each line
    Blame(blame::BlameArgs),
    /// Create an anchor, which marks a position while others write, and find it again
    Anchor(anchor::AnchorArgs),
    /// Erase for good what a file contained and no longer contains
    Redact(redact::RedactArgs),
    /// List conflicts settled by rules: equal names, cycles, changes in trashed directories
    ///
    /// JSON: one object per line: {kind, id, path, detail}.
    Conflicts(maintenance::NoArgs),
    /// Rejected updates of peers: list, show, drop
    Quarantine(quarantine::QuarantineArgs),
    /// Print statistics of the workspace
    Info(maintenance::NoArgs),
    /// Replace the log with snapshots
    ///
    /// All readable content stays the same, versions included. Other processes may continue to work
    /// meanwhile.
    ///
    /// JSON: {n_documents, n_compacted, n_kept, bytes_before, bytes_after}.
    Compact(maintenance::NoArgs),
    /// Read everything, and report damage
    ///
    /// Exit status: 1 if there is damage. JSON: one object for each problem: {doc, what}; then
    /// {n_records, n_snapshots, n_blobs, n_problems}.
    Fsck(maintenance::NoArgs),
    /// Write a consistent copy of the workspace
    Backup(maintenance::BackupArgs),
    /// The schema of rich text: print, convert
    Profile(profile::ProfileArgs),
    /// Move misplaced content to where it belongs, once
    Repair(profile::RepairArgs),
    /// Serve a directory to Yjs clients
    Serve(serve::ServeArgs),
    /// Copy a workspace from another machine
    Clone(clone::CloneArgs),
    /// Exchange changes with a server
    Sync(sync::SyncArgs),
    /// Access to the server: create, show and revoke tokens
    Token(token::TokenArgs),
    /// Keep a directory of this machine and a workspace in step, both ways
    #[cfg(target_os = "linux")]
    Mirror(mirror::MirrorArgs),
    /// Print a completion script for a shell
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
