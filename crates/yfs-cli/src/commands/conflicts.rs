//! `yfs conflicts`: lists conflicts that rules resolved, and ends those of words.

use clap::{Args, Subcommand};
use yfs_wire::ConflictJson;

use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    json,
};

const HELP: &str = "\
If two writers changed the same word without knowing of each other, the file has both words, side by
side (kind `words`). Edit the file, or keep one of the words with `resolve`.

Examples:
  yfs conflicts
  yfs conflicts resolve config.toml               keep the first word of each group
  yfs conflicts resolve config.toml --keep 2

JSON: one object per line: {kind, id, path, detail}; resolve: {path}.";

/// List conflicts that rules resolved: equal names, cycles, words that several writers changed
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ConflictsArgs {
    /// The subcommand.
    #[command(subcommand)]
    action: Option<ConflictsAction>,
}

/// The subcommands of `yfs conflicts`.
#[derive(Debug, Subcommand)]
enum ConflictsAction {
    /// Keep one of the words that several writers put into one place
    Resolve {
        /// The file
        path: String,
        /// The word to keep: 1 for the first of each group
        #[arg(long, value_name = "N", default_value_t = 1)]
        keep: usize,
    },
}

/// Lists conflicts that rules resolved, and contents that need a repair; or ends one.
pub(crate) async fn run(args: ConflictsArgs, context: &mut CommandContext) -> Result {
    let Some(ConflictsAction::Resolve { path, keep }) = args.action else { return list(context) };
    let path = context.path(&path)?.path;
    let index = keep.checked_sub(1);
    let index = index.ok_or_else(|| CommandError::usage("the first word is number 1"))?;
    if !context.writable()?.maintenance().keep_word(&path, index)? {
        return Err(CommandError::other(format!("{path}: no words of it are in conflict")));
    }
    if context.out.json {
        context.out.json_line(&serde_json::json!({ "path": path.as_str() }))?;
    }
    Ok(())
}

fn list(context: &mut CommandContext) -> Result {
    for conflict in context.readable()?.conflicts()? {
        if context.out.json {
            context.out.json_line(&json::value(&ConflictJson::from(&conflict)))?;
            continue;
        }
        let path = context.out.safe(&conflict.path).into_owned();
        let detail = context.out.safe(&conflict.detail).into_owned();
        context.out.line(&format!("{}: {path}: {detail}", conflict.kind.as_str()))?;
    }
    Ok(())
}
