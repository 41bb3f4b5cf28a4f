//! `yfs conflicts`: lists conflicts that rules resolved, and ends those of words and of removals.

use yfs::workspace::removals::RemovalDecision;
use yfs_wire::ConflictJson;

use crate::prelude::*;

const HELP: &str = "\
If two writers changed the same word without knowing of each other, the file has both words, side by
side (kind `words`). Edit the file, or keep one of the words with `resolve`.

If they changed different words that stand side by side, or different parts of one word, the file
has both changes, and the place is listed as well: `put 1` and `disk 9` become `put 9`. Edit it, or
pass the file to `resolve` if it is right. Both texts are among the versions of the file.

If one writer removed a file (kind `removed`) or its directory (kind `stranded`) and
another changed the file without knowing of that, the file with the change is in the
trash. `resolve --restore` puts it back; `resolve --delete` keeps it in the trash. For a
directory, both concern all files in it.

If a save in a mirrored directory began with an earlier text and took out what others wrote since
(kind `overwritten`), the line has the `yfs undo` that brings it back.

If a writer replaced a text by bytes while another typed into it (kind `blob`), the file
is the bytes, and the line has the `yfs versions restore` that brings the text back.
`resolve` ends the conflict without it.

If a writer gave two peers different changes under the same ids, the file differs between
them (kind `forked`). `yfs admin repair PATH` at both keeps both texts, at one gives the other its
text; the text that was sent here is in the quarantine.

Examples:
  yfs conflicts
  yfs conflicts resolve config.toml               keep the first word of each group
  yfs conflicts resolve config.toml --keep 2
  yfs conflicts resolve notes.txt --restore       take a removed file back, with its changes

JSON: one object per line: {kind, id, path, detail}; resolve: {path}.";

/// List conflicts that rules resolved: equal names, words that several writers changed, removals
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
    /// Keep one of the words that several writers put into one place, or decide about a removal
    Resolve {
        /// The file or directory; for a removal, the path that it had
        path: String,
        /// The word to keep: 1 for the first of each group
        #[arg(long, value_name = "N", default_value_t = 1)]
        keep: usize,
        /// Restore what one writer removed and another changed
        #[arg(long, conflicts_with_all = ["keep", "delete"])]
        restore: bool,
        /// Keep in the trash what one writer removed and another changed
        #[arg(long, conflicts_with = "keep")]
        delete: bool,
    },
}

/// Lists conflicts that rules resolved, and contents that need a repair; or ends one.
pub(crate) async fn run(args: ConflictsArgs, context: &mut CommandContext) -> Result {
    let Some(ConflictsAction::Resolve { path, keep, restore, delete }) = args.action else {
        return list(context);
    };
    let path = context.path(&path)?.path;
    match (restore, delete) {
        (true, _) => resolve_removal(&path, RemovalDecision::Restore, context),
        (_, true) => resolve_removal(&path, RemovalDecision::KeepRemoved, context),
        _ => keep_word(&path, keep, context),
    }
}

/// Ends the conflicts of words in a file.
fn keep_word(path: &VPath, number: usize, context: &mut CommandContext) -> Result {
    let index = number.checked_sub(1);
    let index = index.ok_or_else(|| CommandError::usage("the first word is number 1"))?;
    let workspace = context.writable()?;
    let kept = workspace.maintenance().keep_word(path, index);
    if !matches!(kept, Ok(true)) && workspace.trash().has_removal_conflict(path)? {
        let message = format!("{path}: it was removed and changed; pass --restore or --delete");
        return Err(CommandError::usage(message));
    }
    if !kept? {
        return Err(CommandError::other(format!("{path}: no words of it are in conflict")));
    }
    print_resolved(path, context)
}

/// Ends the conflicts between removals and changes at a path.
fn resolve_removal(
    path: &VPath,
    decision: RemovalDecision,
    context: &mut CommandContext,
) -> Result {
    let paths = context.writable()?.trash().resolve_removal(path, decision)?;
    if paths.is_empty() {
        let message = format!("{path}: no removal of it is in conflict with a change");
        return Err(CommandError::other(message));
    }
    for path in &paths {
        if decision == RemovalDecision::Restore {
            let shown = context.out.safe(path.as_str()).into_owned();
            context.remark(&format!("restored {shown}"));
        }
        print_resolved(path, context)?;
    }
    Ok(())
}

fn print_resolved(path: &VPath, context: &mut CommandContext) -> Result {
    context.out.json_only(&serde_json::json!({ "path": path.as_str() }))
}

fn list(context: &mut CommandContext) -> Result {
    for conflict in context.readable()?.conflicts()? {
        if context.out.json {
            context.out.json_line(&ConflictJson::from(&conflict))?;
            continue;
        }
        let path = context.out.safe(&conflict.path).into_owned();
        let detail = context.out.safe(&conflict.detail).into_owned();
        context.out.line(&format!("{}: {path}: {detail}", conflict.kind.as_str()))?;
    }
    Ok(())
}
