//! `yfs watch`: prints changes as they are made.

use std::time::Duration;

use yfs_vfs::{ChangeCursor, ChangeKind, ChangesOptions, FileChange};
use yfs_wire::{ChangeJson, Rfc3339Time};

use crate::{prelude::*, stop_signal::wait_for_signal};

const HELP: &str = "\
Prints a line for each change: local time, change, path, and the actor if it is known. Changes are
created, changed, moved (from the path that it had) and removed. A moved or removed directory is one
change. Several changes of one file in a short time may be one line, and one change two lines: the
content, then its size. `yfs log` knows the actors of changes that other processes made.

The command runs until Ctrl-C. With --json, the first line and the last change of each page have a
cursor: passed to --since, it continues there, also in another process. No change is left out; those
made just before the cursor may be printed again. If the log does not reach back that far, the
command fails, and the files must be listed again.

Examples:
  yfs watch
  yfs watch /docs /plan.md
  yfs watch -n 1 /inbox && echo 'the inbox has changed'
  yfs watch --json --since 3f2a-1@9c0d.17

JSON: {type: \"watching\", cursor}, then lines of {type, path, from, id, kind, actor, at, cursor}.";

/// The wait for a change, after which the command asks again.
const WAIT: Duration = Duration::from_secs(30);

/// The most changes of one page.
const CHANGES_PER_PAGE: usize = 1_000;

/// Print changes as they are made
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct WatchArgs {
    /// Only these files, and what is below these directories
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Exit after N changes
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<u64>,
    /// Continue after this cursor
    #[arg(long, value_name = "CURSOR")]
    since: Option<String>,
}

/// Prints changes until a signal, or until there were enough.
pub(crate) async fn run(args: WatchArgs, context: &mut CommandContext) -> Result {
    let mut below = Vec::with_capacity(args.paths.len());
    for path in &args.paths {
        below.push(context.path(path)?.path);
    }
    let fs = context.follower()?;
    let cursor = match &args.since {
        Some(since) => ChangeCursor::new(since.as_str()),
        None => fs.cursor().await?,
    };
    if context.out.json {
        context.out.json_line(&json!({ "type": "watching", "cursor": cursor.as_str() }))?;
    }
    context.remark("watching for changes; Ctrl-C stops");
    tokio::select! {
        printed = print_changes(&fs, cursor, &below, args.max_count, context) => printed,
        () = wait_for_signal() => Ok(()),
    }
}

async fn print_changes(
    fs: &Fs,
    mut cursor: ChangeCursor,
    below: &[VPath],
    max_count: Option<u64>,
    context: &mut CommandContext,
) -> Result {
    let mut n_left = max_count.unwrap_or(u64::MAX);
    while n_left > 0 {
        context.out.flush()?;
        let limit = CHANGES_PER_PAGE.min(usize::try_from(n_left).unwrap_or(usize::MAX));
        let options = ChangesOptions { limit, wait: Some(WAIT) };
        let page = fs.changes(&cursor, &options).await.map_err(|error| {
            if error.is_cursor_lost() {
                CommandError::other(error.to_string())
            } else {
                error.into()
            }
        })?;
        cursor = page.next;
        let selected: Vec<&FileChange> =
            page.events.iter().filter(|change| is_selected(change, below)).collect();
        n_left = n_left.saturating_sub(selected.len() as u64);
        for (at, change) in selected.iter().enumerate() {
            let is_last = at + 1 == selected.len();
            print(change, Some(&cursor).filter(|_| is_last), context)?;
        }
    }
    Ok(())
}

/// Reports whether a change is of one of the paths, or of an object below them.
fn is_selected(change: &FileChange, below: &[VPath]) -> bool {
    let is_below = |path: &VPath| below.iter().any(|below| path.starts_with(below));
    let was_below = match &change.kind {
        ChangeKind::Moved { from } => is_below(from),
        _ => false,
    };
    below.is_empty() || is_below(&change.path) || was_below
}

fn print(
    change: &FileChange,
    cursor: Option<&ChangeCursor>,
    context: &mut CommandContext,
) -> Result {
    let described = ChangeJson::<Rfc3339Time>::from(change);
    if context.out.json {
        let mut value = json::value(&described);
        value["cursor"] = cursor.map(ChangeCursor::as_str).into();
        return context.out.json_line(&value);
    }
    let name = json::value(&described.r#type);
    let name = name.as_str().unwrap_or_default();
    let path = context.out.name(change.file_kind, change.path.as_str());
    let mut line = format!("{}  {name:<7}  {path}", parse_time::format(change.at, "%H:%M:%S"));
    if let Some(from) = &described.from {
        line += &format!("  (from {})", context.out.safe(from));
    }
    if let Some(actor) = &described.actor {
        line += &format!("  {}", context.out.safe(actor));
    }
    context.out.line(&line)
}
