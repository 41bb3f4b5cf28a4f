//! The command line: the options of every command.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};
use yfs_engine::actor::Actor;

use crate::{commands::CliCommand, workspace_key::KeyArgs};

/// A file tree that people, agents and tools edit at the same time, without losing changes.
///
/// Most commands work like the POSIX tools of the same name, on the files of a workspace. A
/// workspace is one file, `.yfs/workspace.db`. yfs searches for it from the current directory
/// upwards, unless --workspace or YFS_WORKSPACE names it. Paths start at `/` of the workspace,
/// independent of the current directory. Any number of processes may use a workspace at once.
#[derive(Debug, Parser)]
#[command(name = "yfs", version = env!("YFS_VERSION"), max_term_width = 100, after_help = EXAMPLES)]
#[command(disable_help_subcommand = false, propagate_version = false)]
// As in GNU: `rm -r -R` is `rm -r`, and of `mkdir -m 750 -m 700` the last mode is used.
#[command(args_override_self = true)]
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
    /// The actor that changes are recorded for: human:NAME or agent:NAME. Default: the user
    #[arg(
        long,
        global = true,
        value_name = "KIND:NAME",
        env = "YFS_ACTOR",
        hide_env_values = true
    )]
    pub(crate) actor: Option<Actor>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
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
    /// Do not show long output a page at a time
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
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
