//! `yfs trash`: lists, restores and purges removed files.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use yfs::{TrashEntry, Workspace};
use yfs_engine::id::FileId;
use yfs_wire::{ExpireReportJson, Rfc3339Time, TrashEntryJson};

use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    json, parse_time,
};

const HELP: &str = "\
ITEM is the id that `yfs trash ls` prints, or the former path. If several removed files had the same
path, it means the one removed last.

Examples:
  yfs trash ls --all
  yfs trash restore /notes/old.md
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
    },
    /// Restore items to their former paths
    Restore {
        /// The items
        #[arg(value_name = "ITEM", required = true)]
        items: Vec<String>,
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
        TrashCommand::Ls { all } => list(context, all),
        TrashCommand::Restore { items, to } => restore(context, &items, to.as_deref()),
        TrashCommand::Purge { items } => purge(context, &items),
        TrashCommand::Empty { older_than, keep } => empty(context, older_than, keep),
    }
}

fn list(context: &mut CommandContext, all: bool) -> Result {
    let workspace = context.readable()?;
    let trash = if all { workspace.trash().list_all()? } else { workspace.trash().list()? };
    for item in &trash {
        if context.out.json {
            context.out.json_line(&describe(item))?;
            continue;
        }
        let time = parse_time::short(item.trashed_at, parse_time::now());
        let mut line =
            format!("{}  {time}  {}", item.id, context.out.name(item.kind, &item.original));
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

fn restore(context: &mut CommandContext, items: &[String], to: Option<&str>) -> Result {
    if to.is_some() && items.len() > 1 {
        return Err(CommandError::usage("--to allows only one ITEM"));
    }
    let to = to.map(|to| context.path(to)).transpose()?.map(|to| to.path);
    let workspace = context.writable()?;
    for item in items {
        let restored = find_item(&workspace, item)
            .and_then(|id| Ok((workspace.trash().restore(&id, to.as_ref())?, id)));
        match restored {
            Ok((path, id)) if context.out.json => {
                let value = json!({ "id": id.as_str(), "path": path.as_str() });
                context.out.json_line(&value)?;
            }
            Ok((path, _)) => context.remark(&format!("{path} restored")),
            Err(failure) => context.fail(&failure),
        }
    }
    Ok(())
}

fn purge(context: &mut CommandContext, items: &[String]) -> Result {
    let workspace = context.writable()?;
    let mut ids = Vec::with_capacity(items.len());
    for item in items {
        match find_item(&workspace, item) {
            Ok(id) => ids.push(id),
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

/// Finds an item of the trash, by its id or by its former path.
fn find_item(workspace: &Workspace, item: &str) -> Result<FileId> {
    let trash = workspace.trash().list_all()?;
    let by_id = trash.iter().find(|entry| entry.id.as_str() == item);
    let path = if item.starts_with('/') { item.to_owned() } else { format!("/{item}") };
    let at_path = trash.iter().filter(|entry| entry.original == path);
    let found = by_id.or_else(|| at_path.max_by_key(|entry| entry.trashed_at));
    let found = found.map(|entry| entry.id.clone());
    found.ok_or_else(|| {
        let hint = "`yfs trash ls --all` lists its items";
        CommandError::other(format!("{item}: not in the trash; {hint}"))
    })
}

fn describe(item: &TrashEntry) -> Value {
    json::value(&TrashEntryJson::<Rfc3339Time>::from(item))
}
