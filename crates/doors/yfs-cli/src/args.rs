//! The command line: the options of every command.

mod overview;
#[cfg(test)]
mod tests;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, ValueEnum};
use yfs_engine::actor::Actor;

use crate::{
    commands::{CliCommand, CommandList},
    number_options,
    workspace_key::KeyArgs,
};

/// A file tree that people, agents and tools edit at the same time, without losing changes.
///
/// Most commands work like the POSIX tools of the same name, on the files of a workspace. A
/// workspace is one file, `.yfs/workspace.db`. yfs searches for it from the current directory
/// upwards, unless --workspace or YFS_WORKSPACE names it. Paths start at `/` of the workspace,
/// independent of the current directory. Any number of processes may use a workspace at once.
#[derive(Debug, Parser)]
#[command(name = "yfs", version = env!("YFS_VERSION"))]
#[command(max_term_width = WIDTH, after_help = EXAMPLES)]
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

/// The greatest width of help texts, in columns.
const WIDTH: usize = 100;

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

impl CliArgs {
    /// Returns the definition of the command line.
    pub(crate) fn definition() -> Command {
        Self::command().mut_subcommands(|command| {
            let call = format!("yfs {}", command.get_name());
            with_inherited_examples(command, &call)
        })
    }

    /// Returns the calls of all commands with a name, also of those in groups.
    pub(crate) fn calls_of(name: &str) -> Vec<String> {
        fn add_calls(command: &Command, call: &str, name: &str, calls: &mut Vec<String>) {
            for command in command.get_subcommands() {
                let call = format!("{call} {}", command.get_name());
                add_calls(command, &call, name, calls);
                if command.get_name() == name {
                    calls.push(call);
                }
            }
        }
        let mut calls = Vec::new();
        add_calls(&Self::command(), "yfs", name, &mut calls);
        calls
    }

    /// Parses the words of a command, beginning with the name of the program.
    pub(crate) fn parse_words(words: impl Iterator<Item = OsString>) -> clap::error::Result<Self> {
        let words = number_options::expand(words);
        // All commands together take longer to define than a small file to read.
        let is_short = words.len() < 2 || words.iter().any(|word| word == "-h");
        let all = || overview::with_overview(Self::definition(), is_short);
        let mut definition = Self::definition_for(&words).unwrap_or_else(all);
        let matches = definition.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
    }

    /// Returns a definition that has only the command of these words; `None` if they may ask for
    /// help or the version, or have no command.
    fn definition_for(words: &[OsString]) -> Option<Command> {
        const ASKS: [&str; 5] = ["help", "--help", "-h", "--version", "-V"];
        if words.iter().any(|word| ASKS.iter().any(|asks| word == asks)) {
            return None;
        }
        let name = words.get(number_options::command_at(words))?.to_str()?;
        let command = CliCommand::definition_of(name)?;
        let root = Command::new("yfs").max_term_width(WIDTH).args_override_self(true);
        Some(GlobalArgs::augment_args(root).subcommand_required(true).subcommand(command))
    }
}

/// Adds those examples of a command, whose call is given, to its subcommands in which they are
/// called.
fn with_inherited_examples(command: Command, call: &str) -> Command {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    command.mut_subcommands(|command| {
        let call = format!("{call} {}", command.get_name());
        with_inherited_examples(with_examples(command, &call, &examples), &call)
    })
}

/// Adds those lines of a text to a command in which it is called.
fn with_examples(command: Command, call: &str, text: &str) -> Command {
    let is_example = |line: &&str| {
        let mut parts = line.split(call).skip(1);
        line.starts_with("  yfs ") && parts.any(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let examples: Vec<&str> = text.lines().filter(is_example).collect();
    if examples.is_empty() || command.get_after_help().is_some() {
        return command;
    }
    command.after_help(format!("Examples:\n{}", examples.join("\n")))
}
