//! `yfs trash`: lists, restores and purges removed files.

use std::{collections::HashSet, time::Duration};

use yfs::TrashEntry;
use yfs_engine::id::FileId;
use yfs_wire::{ExpireReportJson, Rfc3339Time, TrashEntryJson};

use crate::{pattern::fnmatch, prelude::*};

const HELP: &str = "\
ITEM is the id that `yfs trash ls` prints, or the former path. If several removed files had the same
path, it means the one removed last. With * ? or [ ] it is a pattern of former paths, in which *
also matches slashes; a pattern without a slash is one of names.

`restore` prints the path of each item. If its path is in use, it
is restored as `NAME (restored)`; if its directory is gone, it goes to the nearest one above that
exists.

Examples:
  yfs trash ls --all
  yfs trash ls --since 2h '*.md'
  yfs trash restore /notes/old.md
  yfs trash restore --all --since '2026-01-31 12:00'
  yfs trash restore '*.md'
  yfs trash restore k2f9… --to /elsewhere.md
  yfs trash purge /secret.txt
  yfs trash empty --older-than 30d

JSON of ls: one object per line:
{id, name, kind, original, trashed_at, hidden, stranded, purging}.
JSON of restore: {id, path}; of purge: {marked}; of empty: {marked, rows, documents, bytes}.";

/// List, restore and purge removed files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TrashArgs {
    /// The subcommand.
    #[command(subcommand)]
    command: TrashCommand,
}

/// The subcommands of `yfs trash`.
#[derive(Debug, Subcommand)]
enum TrashCommand {
    /// List removed files: first those changed since their removal, then the latest
    Ls {
        /// Also list items that are marked for deletion; they can still be restored
        #[arg(long)]
        all: bool,
        /// List only items removed since this time: a date, or an age such as 2h
        #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option)]
        since: Option<Millis>,
        /// List only these items
        #[arg(value_name = "ITEM")]
        items: Vec<String>,
    },
    /// Restore items to their former paths, the last removed first, and print the paths
    Restore {
        /// The items
        #[arg(value_name = "ITEM", required_unless_present_any = ["all", "since"])]
        items: Vec<String>,
        /// Restore all items that are not marked for deletion
        #[arg(long, conflicts_with = "items")]
        all: bool,
        /// Restore only items removed since this time: a date, or an age such as 2h
        #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option)]
        since: Option<Millis>,
        /// Restore to this path instead
        #[arg(long, value_name = "PATH")]
        to: Option<String>,
    },
    /// Mark items for deletion; they can be restored until `empty` deletes them
    Purge {
        /// The items
        #[arg(value_name = "ITEM", required = true)]
        items: Vec<String>,
    },
    /// Mark all items for deletion, and delete those marked for longer than --keep
    Empty {
        /// Mark only items removed at least this long ago: 30d, 12h
        #[arg(long, value_name = "AGE", value_parser = parse_time::parse_duration)]
        older_than: Option<Duration>,
        /// Keep marked items for this long
        #[arg(long, value_name = "AGE", default_value = "30d")]
        #[arg(value_parser = parse_time::parse_duration)]
        keep: Duration,
    },
}

/// Runs `yfs trash`.
pub(crate) async fn run(args: TrashArgs, context: &mut CommandContext) -> Result {
    match args.command {
        TrashCommand::Ls { all, since, items } => list(context, all, since, &items),
        TrashCommand::Restore { items, all: _, since, to } => {
            restore(context, &items, since, to.as_deref())
        }
        TrashCommand::Purge { items } => purge(context, &items),
        TrashCommand::Empty { older_than, keep } => empty(context, older_than, keep),
    }
}

fn list(
    context: &mut CommandContext,
    all: bool,
    since: Option<Millis>,
    items: &[String],
) -> Result {
    let workspace = context.readable()?;
    let mut trash = if all { workspace.trash().list_all()? } else { workspace.trash().list()? };
    if !items.is_empty() {
        let mut chosen = HashSet::new();
        for item in items {
            match find_items(&trash, item) {
                Ok(found) => chosen.extend(found.into_iter().map(|entry| entry.id)),
                Err(failure) => context.fail(&failure),
            }
        }
        trash.retain(|entry| chosen.contains(&entry.id));
    }
    trash.retain(|entry| since.is_none_or(|since| entry.trashed_at >= since));
    for item in &trash {
        if context.out.json {
            context.out.json_line(&describe(item))?;
            continue;
        }
        let time = parse_time::short(item.trashed_at, parse_time::now());
        let mut line =
            format!("{}  {time}  {}", item.id, context.out.name(item.kind, &item.original));
        if let Some(actor) = &item.trashed_by {
            line += &format!("  {}", context.out.safe(&actor.to_string()));
        }
        if item.n_hidden > 0 {
            line += &format!("  (and {} in it)", item.n_hidden);
        }
        if item.purging {
            line += "  (purged)";
        }
        context.out.line(&line)?;
        for path in &item.stranded {
            let path = context.out.safe(path).into_owned();
            context.out.line(&format!("    changed since: {path}"))?;
        }
    }
    Ok(())
}

fn restore(
    context: &mut CommandContext,
    items: &[String],
    since: Option<Millis>,
    to: Option<&str>,
) -> Result {
    let to = to.map(|to| context.path(to)).transpose()?.map(|to| to.path);
    let workspace = context.writable()?;
    let trash = workspace.trash().list_all()?;
    let mut chosen: Vec<TrashEntry> = Vec::new();
    for item in items {
        match find_items(&trash, item) {
            Ok(found) => chosen.extend(found),
            Err(failure) => context.fail(&failure),
        }
    }
    if items.is_empty() {
        chosen.extend(trash.into_iter().filter(|entry| !entry.purging));
        // What was removed last gets its path first; what it contained was removed before.
        chosen.sort_by_key(|entry| std::cmp::Reverse(entry.order));
    }
    chosen.retain(|entry| since.is_none_or(|since| entry.trashed_at >= since));
    if to.is_some() && chosen.len() > 1 {
        return Err(CommandError::usage("--to allows only one ITEM"));
    }
    let mut restored = HashSet::new();
    for entry in chosen.iter().filter(|entry| restored.insert(entry.id.clone())) {
        match workspace.trash().restore(&entry.id, to.as_ref()) {
            Ok(path) if context.out.json => {
                context
                    .out
                    .json_line(&json!({ "id": entry.id.as_str(), "path": path.as_str() }))?;
            }
            Ok(path) => {
                context.out.safe_line(path.as_str())?;
            }
            Err(failure) => context.fail(&failure.into()),
        }
    }
    if chosen.is_empty() && !context.has_failed() && !context.out.json {
        context.remark("nothing to restore");
    }
    Ok(())
}

fn purge(context: &mut CommandContext, items: &[String]) -> Result {
    let workspace = context.writable()?;
    let trash = workspace.trash().list_all()?;
    let mut ids: Vec<FileId> = Vec::new();
    for item in items {
        match find_items(&trash, item) {
            Ok(found) => ids.extend(found.into_iter().map(|entry| entry.id)),
            Err(failure) => context.fail(&failure),
        }
    }
    let n_marked = workspace.trash().purge(&ids)?;
    if context.out.json {
        return context.out.json_line(&json!({ "marked": n_marked }));
    }
    context.remark(&format!("{n_marked} marked; `yfs trash empty` deletes them after 30 days"));
    Ok(())
}

fn empty(context: &mut CommandContext, older_than: Option<Duration>, keep: Duration) -> Result {
    let workspace = context.writable()?;
    let limit = parse_time::before(parse_time::now(), older_than.unwrap_or_default());
    let old = |item: &&TrashEntry| !item.purging && item.trashed_at <= limit;
    let ids: Vec<FileId> =
        workspace.trash().list()?.iter().filter(old).map(|item| item.id.clone()).collect();
    let n_marked = workspace.trash().purge(&ids)?;
    let expired = workspace.trash().expire(keep)?;
    if context.out.json {
        let more = json!({ "marked": n_marked });
        let expired = ExpireReportJson::from(expired);
        return context.out.json_line(&json::with(&expired, more));
    }
    context.remark(&format!("{n_marked} marked, {} deleted permanently", expired.n_rows));
    Ok(())
}

/// Finds items of the trash: one by its id or its former path, or several by a pattern.
fn find_items(trash: &[TrashEntry], item: &str) -> Result<Vec<TrashEntry>> {
    let path = if item.starts_with('/') { item.to_owned() } else { format!("/{item}") };
    let by_id = trash.iter().find(|entry| entry.id.as_str() == item);
    let at_path = trash.iter().filter(|entry| entry.original == path);
    if let Some(found) = by_id.or_else(|| at_path.max_by_key(|entry| entry.order)) {
        return Ok(vec![found.clone()]);
    }
    let mut found = Vec::new();
    if item.contains(['*', '?', '[']) {
        let by_name = !item.contains('/');
        let pattern = if by_name { item } else { path.as_str() };
        let pattern = fnmatch(pattern, false).map_err(CommandError::Usage)?;
        let matches = |entry: &&TrashEntry| {
            let name = entry.original.rsplit('/').next().unwrap_or_default();
            pattern.is_match(if by_name { name } else { &entry.original })
        };
        found.extend(trash.iter().filter(matches).cloned());
        found.sort_by_key(|entry| std::cmp::Reverse(entry.order));
    }
    if found.is_empty() {
        let hint = "`yfs trash ls --all` lists its items";
        return Err(CommandError::other(format!("{item}: not in the trash; {hint}")));
    }
    Ok(found)
}

fn describe(item: &TrashEntry) -> Value {
    json::value(&TrashEntryJson::<Rfc3339Time>::from(item))
}
