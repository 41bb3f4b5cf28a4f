//! `yfs init`: creates an empty workspace.

use std::{fs, path::PathBuf};

use yfs::WorkspaceOptions;

use crate::{commands::admin::ProfileName, discover, prelude::*, settings, workspace_key};

const HELP: &str = "\
The workspace is the file DIR/.yfs/workspace.db. To copy a workspace that is in use, run
`yfs admin backup`; a plain copy of the file can be inconsistent.

Examples:
  yfs init                     in the current directory
  yfs init ~/work              in another directory, created if it is missing
  yfs init --workspace x.db    in this file
  yfs init --profile commonmark
  yfs init --encrypt           everything in .yfs is encrypted with a passphrase
  yfs init --encrypt --key-file ~/notes.key    with a key file, which is made if it is missing

JSON: {id, file}.";

/// Create an empty workspace
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InitArgs {
    /// The directory; default: the current one
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The schema of rich text that editors use for markdown files
    #[arg(long, value_enum, default_value = "gfm")]
    profile: ProfileName,
    /// Encrypt the workspace: with --key-file, --passphrase-file, YFS_PASSPHRASE or a prompt
    #[arg(long)]
    encrypt: bool,
}

/// Creates the workspace.
pub(crate) async fn run(args: InitArgs, context: &mut CommandContext) -> Result {
    let named = context.globals.workspace.clone();
    let file = match (args.dir, named) {
        (Some(dir), _) => discover::file_below(&dir),
        (None, Some(named)) if named.is_dir() => discover::file_below(&named),
        (None, Some(named)) => named,
        (None, None) => discover::file_below(&PathBuf::from(".")),
    };
    let profile = args.profile.into();
    let options = WorkspaceOptions { profile, ..settings::one_shot(context.actor()) };
    let workspace = create(&file, options, args.encrypt)?;
    let id = workspace.id().clone();
    if args.encrypt {
        workspace_key::remark_on_key_beside(&file, None, context);
    }
    let shown = file.canonicalize().unwrap_or(file).display().to_string();
    workspace.close()?;
    context.conclude(
        &json!({ "id": id.as_str(), "file": shown }),
        &format!("created an empty workspace in {shown}"),
    )
}

/// Creates a workspace in a file that does not exist yet, and the directory that contains it.
pub(crate) fn create(
    file: &std::path::Path,
    mut options: WorkspaceOptions,
    encrypt: bool,
) -> Result<Workspace> {
    if file.exists() {
        let message = format!("{}: the workspace exists already", file.display());
        return Err(CommandError::other(message));
    }
    // Asked for before anything is created.
    options.key = workspace_key::key_of_new(encrypt)?;
    let mut created_dir = None;
    if let Some(dir) = file.parent().filter(|dir| !dir.as_os_str().is_empty() && !dir.is_dir()) {
        discover::make_dir(dir).map_err(|error| CommandError::host(dir, &error))?;
        created_dir = Some(dir);
    }
    Ok(Workspace::create_at(file, options).inspect_err(|_| {
        // A failed command leaves no new directory behind; one that is not empty stays.
        if let Some(dir) = created_dir {
            fs::remove_dir(dir).ok();
        }
    })?)
}
