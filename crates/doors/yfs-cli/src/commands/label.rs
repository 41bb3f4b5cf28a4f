//! `yfs label`: names versions.

use crate::prelude::*;

const HELP: &str = "\
A name is one line of at most 128 bytes. The commands that take the number of a version also take
its name. If several versions have the same name, it means the latest.

Examples:
  yfs label plan.md 'sent to Bob'       names the current content
  yfs versions diff plan.md 'sent to Bob'
  yfs label --remove plan.md 'sent to Bob'

JSON: {path, name, removed}.";

/// Name the current version of a file
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LabelArgs {
    /// The file
    path: String,
    /// The name
    name: String,
    /// Remove the name instead
    #[arg(long)]
    remove: bool,
}

/// Runs `yfs label`.
pub(crate) async fn run(args: LabelArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let workspace = context.writable()?;
    if !args.remove {
        workspace.history().name_version(&path.path, &args.name)?;
    } else if !workspace.history().unname_version(&path.path, &args.name)? {
        return Err(CommandError::other(format!(
            "{}: no version has the name {:?}",
            path.typed, args.name
        )));
    }
    if context.out.json {
        let path = path.path.as_str();
        context
            .out
            .json_line(&json!({ "path": path, "name": args.name, "removed": args.remove }))?;
    }
    Ok(())
}
