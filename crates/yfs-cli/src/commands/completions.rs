//! `yfs completions`: prints completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{args::CliArgs, context::CommandContext, errors::Result};

const HELP: &str = "\
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
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CliArgs::command(), "yfs", &mut script);
    context.out.raw(&script)
}
