//! `yfs admin key`: shows and changes the key of an encrypted workspace.

use std::{path::PathBuf, sync::Arc};

use yfs::WorkspaceError;
use yfs_store::{KeyKind, StoreError, UnlockKey};

use crate::{
    prelude::*,
    workspace_key::{self, KeyArgs},
};

const HELP: &str = "\
A workspace that `yfs init --encrypt` created is encrypted: every command needs its passphrase, from
--passphrase-file, YFS_PASSPHRASE or a prompt, or its key file, from --key-file or YFS_KEY_FILE.
There is no other way to read it.

`yfs admin key change` changes what opens the workspace. It is quick, because the files stay
encrypted as they are, with a random key that the passphrase protects; other processes continue.
Backups from before still open with the old passphrase.

Examples:
  yfs admin key info
  yfs admin key change                                  asks for the old and the new passphrase
  yfs admin key change --new-key-file ~/notes.key       from now on, with this file
  yfs admin key change --passphrase-file old --new-passphrase-file new

JSON of info and change: {encrypted, opens_with, cipher, memory_kib, passes, lanes}; opens_with is
passphrase or key_file, and null if the workspace is not encrypted; the last three are the cost of
the passphrase.";

/// Show or change the key of an encrypted workspace
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct KeyCommandArgs {
    /// The subcommand.
    #[command(subcommand)]
    action: KeyAction,
}

/// The subcommands of `yfs admin key`.
#[derive(Debug, Subcommand)]
enum KeyAction {
    /// Print whether the workspace is encrypted, and what opens it
    Info,
    /// Change the passphrase or the key file
    Change {
        /// A file with the new passphrase; default: a prompt
        #[arg(long, value_name = "FILE", conflicts_with = "new_key_file")]
        new_passphrase_file: Option<PathBuf>,
        /// The new key file, which is made if it does not exist
        #[arg(long, value_name = "FILE")]
        new_key_file: Option<PathBuf>,
    },
}

/// Runs `yfs admin key`.
pub(crate) async fn run(args: KeyCommandArgs, context: &mut CommandContext) -> Result {
    let kind = match args.action {
        KeyAction::Info => {
            let workspace = context.readable()?;
            workspace.store().key_kind().map_err(WorkspaceError::from)?
        }
        KeyAction::Change { new_passphrase_file, new_key_file } => {
            let workspace = context.writable()?;
            let store = workspace.store();
            // A workspace that is not encrypted is reported before the question.
            if store.key_kind().map_err(WorkspaceError::from)?.is_some() {
                let key = KeyArgs::new(new_passphrase_file, new_key_file.clone()).read_new_key()?;
                let key = Arc::new(key);
                change_key_of_shares(&workspace, &key, context)?;
                store.change_key(&key).map_err(change_failure)?;
                context.remark("the key is changed");
                if let Some(key) = &new_key_file {
                    workspace_key::remark_on_key_beside(&context.file()?, Some(key), context);
                }
            } else {
                let message = "the workspace is not encrypted; `yfs init --encrypt` makes one";
                return Err(CommandError::other(message));
            }
            store.key_kind().map_err(WorkspaceError::from)?
        }
    };
    if context.out.json {
        let cost = match kind {
            Some(KeyKind::Passphrase(cost)) => Some(cost),
            _ => None,
        };
        return context.out.json_line(&json!({
            "encrypted": kind.is_some(),
            "opens_with": kind.map(|kind| match kind {
                KeyKind::Passphrase(_) => "passphrase",
                KeyKind::KeyFile => "key_file",
            }),
            "cipher": kind.map(|_| "XChaCha20-Poly1305"),
            "memory_kib": cost.map(|cost| cost.memory_kib),
            "passes": cost.map(|cost| cost.n_passes),
            "lanes": cost.map(|cost| cost.n_lanes),
        }));
    }
    context.out.line(&describe(kind))
}

/// Gives the shares of directories the new key as well: they contain the same files.
#[cfg(feature = "peer")]
fn change_key_of_shares(
    workspace: &Workspace,
    key: &Arc<UnlockKey>,
    context: &mut CommandContext,
) -> Result {
    let dir = crate::discover::store_dir(&context.file()?);
    for (file, error) in yfs_peer::DirectoryShares::of(workspace, &dir).change_key(key)? {
        let error = CommandError::from(error);
        context.fail(&CommandError::other(format!(
            "{}: this share of a directory keeps its key: {}",
            file.display(),
            error.message()
        )));
    }
    Ok(())
}

#[cfg(not(feature = "peer"))]
fn change_key_of_shares(_: &Workspace, _: &Arc<UnlockKey>, _: &mut CommandContext) -> Result {
    Ok(())
}

/// Says what is left to do if the key was changed and the old one could not be cleared.
fn change_failure(error: StoreError) -> CommandError {
    let is_changed = matches!(error, StoreError::OldKeyLeft { .. });
    let error = WorkspaceError::from(error);
    match is_changed {
        true => CommandError::Hinted(error, "`yfs admin compact` clears it"),
        false => error.into(),
    }
}

fn describe(kind: Option<KeyKind>) -> String {
    match kind {
        None => "not encrypted".to_owned(),
        Some(KeyKind::KeyFile) => {
            "encrypted with XChaCha20-Poly1305; opens with a key file".to_owned()
        }
        Some(KeyKind::Passphrase(cost)) => format!(
            "encrypted with XChaCha20-Poly1305; opens with a passphrase (Argon2id, {} MiB, {} \
             passes)",
            cost.memory_kib >> 10,
            cost.n_passes
        ),
    }
}
