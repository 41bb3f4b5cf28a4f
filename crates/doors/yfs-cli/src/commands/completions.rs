//! `yfs completions`: prints completion scripts for shells.

use clap_complete::Shell;

use crate::{complete_paths, prelude::*};

const HELP: &str = "\
The script completes commands, options and paths of the workspace.

Examples:
  yfs completions bash > ~/.local/share/bash-completion/completions/yfs
  yfs completions zsh > ~/.zfunc/_yfs
  yfs completions fish > ~/.config/fish/completions/yfs.fish";

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script.
pub(crate) async fn run(args: CompletionsArgs, context: &mut CommandContext) -> Result {
    let shell = args.shell.to_string();
    let script = complete_paths::script(&shell);
    let script = script.ok_or_else(|| CommandError::usage(format!("no script for {shell}")))?;
    context.out.raw(&script)
}
