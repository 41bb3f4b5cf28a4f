//! `yfs admin quarantine`: lists, shows and drops rejected updates of peers.

use base64::{Engine, engine::general_purpose::STANDARD};
use yfs_engine::{gate::content_of_update, id::FileId};
use yfs_store::QuarantinedUpdate;
use yfs_wire::{QuarantinedJson, Rfc3339Time};

use crate::prelude::*;

/// The most bytes of an update that are shown as text.
const MAX_SHOWN_LEN: usize = 4096;

const HELP: &str = "\
yfs rejects an update that could damage the documents of other peers. The editor that sent it still
shows the change; the workspace does not contain it. NUMBER is the one that
`yfs admin quarantine ls` prints. Equal updates are stored once and counted. The quarantine keeps at
most 16 MiB of one document and 64 MiB in all, for 30 days after the last rejection.

Examples:
  yfs admin quarantine ls
  yfs admin quarantine show 3
  yfs admin quarantine show 3 --raw > update.bin
  yfs admin quarantine drop 3
  yfs admin quarantine drop --all

JSON of ls: one object per line: {number, doc, path, first_at, last_at, times, bytes, kept, reason}.
JSON of show: the same, with content (as text, at most 4 KiB) and base64; of drop: {dropped}.";

/// List, show and drop rejected updates of peers
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct QuarantineArgs {
    /// The subcommand.
    #[command(subcommand)]
    command: QuarantineCommand,
}

/// The subcommands of `yfs admin quarantine`.
#[derive(Debug, Subcommand)]
enum QuarantineCommand {
    /// List the rejected updates, in the order of their first rejection
    Ls,
    /// Print the metadata of one update, and the beginning of what it writes
    Show {
        /// The number of the update
        #[arg(value_name = "NUMBER")]
        number: u64,
        /// Print the bytes of the update
        #[arg(long)]
        raw: bool,
    },
    /// Delete updates permanently
    Drop {
        /// The numbers of the updates
        #[arg(value_name = "NUMBER", required_unless_present = "all", conflicts_with = "all")]
        numbers: Vec<u64>,
        /// Delete all updates
        #[arg(long)]
        all: bool,
    },
}

/// Runs the command.
pub(crate) async fn run(args: QuarantineArgs, context: &mut CommandContext) -> Result {
    match args.command {
        QuarantineCommand::Ls => list(context),
        QuarantineCommand::Show { number, raw } => show(context, number, raw),
        QuarantineCommand::Drop { numbers, all } => drop_updates(context, &numbers, all),
    }
}

fn list(context: &mut CommandContext) -> Result {
    let workspace = context.readable()?;
    for refused in workspace.maintenance().quarantined()? {
        if context.out.json {
            context.out.json_line(&describe(&workspace, &refused)?)?;
            continue;
        }
        let QuarantinedUpdate { number, n_times, len, .. } = refused;
        let time = parse_time::short(refused.last_at, parse_time::now());
        let (size, target) = (human_size(len), target_name(&workspace, &refused)?);
        let line = format!("{number}  {time}  {n_times}x  {size}  {target}: {}", refused.reason);
        context.out.safe_line(&line)?;
    }
    Ok(())
}

fn show(context: &mut CommandContext, number: u64, raw: bool) -> Result {
    let workspace = context.readable()?;
    let refused =
        workspace.maintenance().quarantined()?.into_iter().find(|refused| refused.number == number);
    let refused = refused.ok_or_else(|| missing_update(number))?;
    let update = workspace.maintenance().quarantined_update(number)?;
    if raw {
        let too_large = || {
            CommandError::other(format!("update {number} was too large; its bytes were not kept"))
        };
        return context.out.raw(&update.ok_or_else(too_large)?);
    }
    if context.out.json {
        let mut value = describe(&workspace, &refused)?;
        value["content"] = update.as_deref().map(shown_content).into();
        value["base64"] = update.map(|update| STANDARD.encode(update)).into();
        return context.out.json_line(&value);
    }
    let kept = if refused.is_kept { "" } else { ", too large; its bytes were not kept" };
    let mut lines = vec![
        ("Update", number.to_string()),
        ("Document", refused.doc.to_string()),
        ("Path", target_name(&workspace, &refused)?),
        ("Refused", format!("{} times", refused.n_times)),
        ("First", parse_time::long(refused.first_at)),
        ("Last", parse_time::long(refused.last_at)),
        ("Size", format!("{}{kept}", human_size(refused.len))),
        ("Reason", refused.reason),
    ];
    let content = update.as_deref().map(shown_content).unwrap_or_default();
    if !content.is_empty() {
        lines.push(("Content", content));
    }
    context.out.rows(8, &lines)
}

fn drop_updates(context: &mut CommandContext, numbers: &[u64], all: bool) -> Result {
    let workspace = context.writable()?;
    let mut n_dropped = if all { workspace.maintenance().drop_quarantined(None)? } else { 0 };
    for number in numbers {
        match workspace.maintenance().drop_quarantined(Some(*number))? {
            0 => context.fail(&missing_update(*number)),
            n => n_dropped += n,
        }
    }
    context.conclude(&json!({ "dropped": n_dropped }), &format!("{n_dropped} dropped"))
}

/// Returns what an update writes, as text.
fn shown_content(update: &[u8]) -> String {
    content_of_update(update, MAX_SHOWN_LEN).unwrap_or_default()
}

/// Returns the path of the document that an update is for, or its guid.
fn target_name(workspace: &Workspace, refused: &QuarantinedUpdate) -> Result<String> {
    let path = workspace.nodes().path_of(&FileId::from(&refused.doc))?;
    Ok(path.map_or_else(|| refused.doc.to_string(), |path| path.to_string()))
}

/// Returns the error for a number that no update has.
fn missing_update(number: u64) -> CommandError {
    CommandError::other(format!(
        "no update {number} in the quarantine; `yfs admin quarantine ls` lists them"
    ))
}

/// Describes a rejected update.
fn describe(workspace: &Workspace, refused: &QuarantinedUpdate) -> Result<Value> {
    let path = workspace.nodes().path_of(&FileId::from(&refused.doc))?;
    let path = path.map(|path| path.to_string());
    Ok(json::value(&QuarantinedJson::<Rfc3339Time>::new(refused, path)))
}
