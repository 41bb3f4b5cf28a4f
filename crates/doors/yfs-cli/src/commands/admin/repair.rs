//! `yfs admin repair`: repairs files whose content is duplicated, has the wrong form, or is another
//! one at other peers.

use crate::prelude::*;

const HELP: &str = "\
Repairs the files that `yfs conflicts` lists as `doubled` or `unsettled`: files whose content is
there twice because peers converted it concurrently without following the rules, and files with
edits in the form that they had before a rename.

A file of the kind `forked` is another one at another peer, because a writer gave the two
different changes under the same ids, or its machine was set back with its memory. `yfs admin repair
PATH` at both, before they exchange changes, gives both the two texts, one behind the other. At one
of the two only, it gives the other that text, and the other text stays in its versions. `--all`
leaves such files alone.

Examples:
  yfs admin repair plan.md
  yfs admin repair --all

JSON: one object for each file that changed: {path}.";

/// Repair files whose content is duplicated, has the wrong form, or differs at another peer
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RepairArgs {
    /// The files to repair
    #[arg(value_name = "PATH", required_unless_present = "all")]
    paths: Vec<String>,
    /// Repair all files that `yfs conflicts` lists
    #[arg(long, conflicts_with = "paths")]
    all: bool,
}

/// Repairs the contents of files.
pub(crate) async fn run(args: RepairArgs, context: &mut CommandContext) -> Result {
    let workspace = context.writable()?;
    let typed = if args.all { paths_to_repair(&workspace)? } else { args.paths };
    for path in context.paths(&typed) {
        match workspace.maintenance().repair(&path.path) {
            Ok(false) => {}
            Ok(true) if context.out.json => {
                context.out.json_line(&json!({ "path": path.path.as_str() }))?;
            }
            Ok(true) => {
                context.out.safe_line(&path.typed)?;
            }
            Err(error) => context.fail(&CommandError::from(error)),
        }
    }
    Ok(workspace.close()?)
}

fn paths_to_repair(workspace: &Workspace) -> Result<Vec<String>> {
    use yfs::workspace::conflicts::ConflictKind;
    let conflicts = workspace.conflicts()?.into_iter();
    let broken = conflicts.filter(|conflict| {
        matches!(conflict.kind, ConflictKind::Doubled | ConflictKind::Unsettled)
    });
    Ok(broken.map(|conflict| conflict.path).collect())
}
