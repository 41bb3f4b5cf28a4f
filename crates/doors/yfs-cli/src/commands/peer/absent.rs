//! `yfs peer` of a build without peers.

use std::ffi::OsString;

use clap::{Args, Command};
use tokio::runtime::Runtime;

use crate::{
    commands::{CommandList, one_thread},
    prelude::*,
};

const ABSENCE: &str = "this build has no peers: they need the feature `peer` or `--features full`, \
                       which released builds have";

/// The command in the place of all commands of `yfs peer`.
#[derive(Debug, Args)]
pub(crate) struct AbsentPeerCommand {
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}

impl CommandList for AbsentPeerCommand {
    fn name(&self) -> &'static str {
        "peer"
    }

    fn definition_of(_: &str) -> Option<Command> {
        None
    }

    fn create_runtime(&self) -> std::io::Result<Runtime> {
        one_thread()
    }

    async fn run(self, _: &mut CommandContext) -> Result {
        Err(absence())
    }
}

fn absence() -> CommandError {
    CommandError::usage(ABSENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::EXIT_USAGE;

    #[test]
    fn all_commands_of_peers_are_answered_in_one_line() {
        let definition = AbsentPeerCommand::augment_args(Command::new("peer"));
        for line in ["peer", "peer ls", "peer share --read-only --for ben", "peer join TICKET dir"]
        {
            let parsed = definition.clone().try_get_matches_from(line.split(' '));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
        assert_eq!(absence().exit_code(), EXIT_USAGE);
        assert!(!ABSENCE.contains('\n'));
        for words in ["feature `peer`", "--features full", "released builds"] {
            assert!(ABSENCE.contains(words), "{words:?} in {ABSENCE}");
        }
    }
}
