//! `yfs at`: runs a command on the files as they were at an earlier time.

use std::path::PathBuf;

use crate::{
    args::{CliArgs, GlobalArgs},
    commands::CommandList,
    prelude::*,
};

const HELP: &str = "\
Runs a command that reads files: ls, tree, cat, head, tail, stat, describe, find, glob, grep, du or
readlink. It sees the files that existed at TIME, with the content that they had. Files that were
removed later are at their former paths; files that were renamed are at their present ones, because
renames are not recorded. Keystrokes that form one version appear together. Nothing is changed: to
bring a file back, use `yfs versions restore`, `yfs trash restore` or `yfs undo`.

TIME is a date, a time or an age, such as '2 days ago', 2h, yesterday, 2026-11-21 or '09:30'.

Examples:
  yfs at yesterday ls -l /docs
  yfs at '2 days ago' cat plan.md
  yfs at 2026-11-21 grep -rn TODO /
  yfs at '1 hour ago' cat plan.md | yfs write plan-before.md

JSON and exit status: as the command's.";

/// The commands that read files only.
const COMMANDS: [&str; 12] = [
    "ls", "tree", "cat", "head", "tail", "stat", "describe", "find", "glob", "grep", "du",
    "readlink",
];

/// Run a command on the files as they were at an earlier time
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AtArgs {
    /// The time
    #[arg(value_name = "TIME", value_parser = parse_time::parse_option)]
    time: Millis,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Runs the command.
pub(crate) async fn run(args: AtArgs, context: &mut CommandContext) -> Result {
    if args.time > parse_time::now() {
        return Err(CommandError::usage("TIME is in the future"));
    }
    let words = std::iter::once("yfs".to_owned()).chain(args.command);
    let cli = CliArgs::parse_words(words.map(Into::into)).unwrap_or_else(|error| error.exit());
    let name = cli.command.name();
    if !COMMANDS.contains(&name) {
        let message = format!("`{name}` does not read earlier files; see `yfs help at`");
        return Err(CommandError::usage(message));
    }
    apply_options(&cli.globals, context);
    context.set_past(args.time);
    Box::pin(cli.command.run(context)).await
}

/// Applies the options of every command that stand behind the inner command.
fn apply_options(inner: &GlobalArgs, context: &mut CommandContext) {
    if inner.json {
        context.enable_json();
    }
    context.globals.quiet |= inner.quiet;
    // Both have the value of the variable, unless the option is there.
    let variable = std::env::var_os("YFS_WORKSPACE").map(PathBuf::from);
    if inner.workspace.is_some() && inner.workspace != variable {
        context.globals.workspace.clone_from(&inner.workspace);
    }
}
