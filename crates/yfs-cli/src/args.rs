//! What can be typed: the options that every command has, and the list of commands.

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

/// A tree of files that people, agents and tools change at the same time, and nobody's work is lost.
///
/// The commands are those of a POSIX shell, on the files of a workspace. A workspace is one file,
/// `.yfs/workspace.db`, found from the current directory upwards, or named with --workspace or
/// YFS_WORKSPACE. Paths count from `/` of the workspace, wherever you are. Any number of processes
/// may use a workspace at once.
#[derive(Debug, Parser)]
#[command(name = "yfs", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(disable_help_subcommand = false, propagate_version = false)]
pub(crate) struct CliArgs {
    /// What every command has.
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    /// What to do.
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

/// What every command has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct GlobalArgs {
    /// The workspace: its directory, or its file. Without it, the one found from here upwards
    #[arg(
        long,
        global = true,
        value_name = "DIR|FILE",
        env = "YFS_WORKSPACE",
        hide_env_values = true
    )]
    pub(crate) workspace: Option<PathBuf>,
    /// On whose behalf: human:NAME or agent:NAME. Without it, human:$USER
    #[arg(
        long,
        global = true,
        value_name = "KIND:NAME",
        env = "YFS_ACTOR",
        hide_env_values = true
    )]
    pub(crate) actor: Option<Actor>,
    /// Print JSON: one value, or one value a line; errors as JSON on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No progress and no remarks
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Even into a file.
    Always,
    /// Not even on a terminal.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Make an empty workspace
    Init(init::InitArgs),
    /// Bring in a directory of this machine
    Import(import::ImportArgs),
    /// Write files into a directory of this machine
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
    /// Make standard input, or a text, the content of a file
    Write(write::WriteArgs),
    /// Add standard input, or a text, to the end of a file
    Append(append::AppendArgs),
    /// Replace a text inside a file
    Edit(edit::EditArgs),
    /// Make directories
    Mkdir(mkdir::MkdirArgs),
    /// Move or rename
    Mv(mv::MvArgs),
    /// Copy
    Cp(cp::CpArgs),
    /// Remove: move to the trash
    Rm(rm::RmArgs),
    /// Make symbolic links
    Ln(ln::LnArgs),
    /// Print where a symbolic link points
    Readlink(readlink::ReadlinkArgs),
    /// Print what is known of a file
    Stat(stat::StatArgs),
    /// Set times, and create what is missing
    Touch(touch::TouchArgs),
    /// Set permission bits
    Chmod(chmod::ChmodArgs),
    /// Find files by name, kind, size or time
    Find(find::FindArgs),
    /// Find paths by a pattern
    Glob(glob::GlobArgs),
    /// Find lines by a pattern
    Grep(grep::GrepArgs),
    /// Add up sizes
    Du(du::DuArgs),
    /// What was removed: list, restore, purge
    Trash(trash::TrashArgs),
    /// What a file was before: list, show, compare, restore
    Versions(versions::VersionsArgs),
    /// Name what a file holds now
    Label(label::LabelArgs),
    /// Print who wrote each line
    Blame(blame::BlameArgs),
    /// Name a place that stays while others write, and find it again
    Anchor(anchor::AnchorArgs),
    /// Erase for good what a file held and holds no more
    Redact(redact::RedactArgs),
    /// List what was settled by rules: equal names, cycles, work in trashed folders
    ///
    /// JSON: one object a line: {kind, id, path, detail}.
    Conflicts(maintenance::NoArgs),
    /// Updates of peers that were refused: list, show, drop
    Quarantine(quarantine::QuarantineArgs),
    /// Print what the workspace holds, in numbers
    Info(maintenance::NoArgs),
    /// Replace what was logged by what it came to
    ///
    /// Nothing that can be read changes, versions included. Others may go on meanwhile.
    ///
    /// JSON: {n_documents, n_compacted, n_kept, bytes_before, bytes_after}.
    Compact(maintenance::NoArgs),
    /// Read everything, and report what is damaged
    ///
    /// Exit status: 1 if something is. JSON: one object for each problem: {doc, what}; then
    /// {n_records, n_snapshots, n_blobs, n_problems}.
    Fsck(maintenance::NoArgs),
    /// Write a consistent copy of the workspace
    Backup(maintenance::BackupArgs),
    /// Which schema rich text keeps: print, convert
    Profile(profile::ProfileArgs),
    /// Put contents where they belong, once
    Repair(profile::RepairArgs),
    /// Let editors in: serve a directory to Yjs clients
    Serve(serve::ServeArgs),
    /// Bring a workspace of another machine here
    Clone(clone::CloneArgs),
    /// Exchange what changed with a server
    Sync(sync::SyncArgs),
    /// Who may use the server: make, show and revoke tokens
    Token(token::TokenArgs),
    /// Keep a folder of this machine and a workspace in step, both ways
    #[cfg(target_os = "linux")]
    Mirror(mirror::MirrorArgs),
    /// Print a script that completes commands in a shell
    Completions(completions::CompletionsArgs),
}

impl CliCommand {
    /// Returns the name of the command, as it stands in messages.
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
