//! `yfs admin parked`: lists and drops updates that wait for others.

use yfs::workspace::parked::WaitingUpdate;
use yfs_engine::id::{FileId, ItemId};
use yfs_vfs::FileSystem;
use yfs_wire::Rfc3339Time;

use crate::prelude::*;

const HELP: &str = "\
An update that needs another one, which has not arrived, waits: a file does not show it, and
`yfs admin info` counts it. It is applied when the other one arrives. After 30 days, `yfs admin
compact` and programs that keep a workspace open move it to the quarantine.

`drop` deletes everything that waits in files permanently. An editor or a replica that still has it
sends it again.

Examples:
  yfs admin parked ls
  yfs admin parked drop /notes/plan.md
  yfs admin parked drop --all

JSON of ls: one object per line: {doc, path, client, clock, bytes, since, waits_for: {client,
clock}, author}. JSON of drop: {dropped}.";

/// List and drop updates that wait for others
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ParkedArgs {
    /// The subcommand.
    #[command(subcommand)]
    command: ParkedCommand,
}

/// The subcommands of `yfs admin parked`.
#[derive(Debug, Subcommand)]
enum ParkedCommand {
    /// List the updates that wait
    Ls,
    /// Delete what waits in files permanently
    Drop {
        /// The paths or ids of the files
        #[arg(value_name = "FILE", required_unless_present = "all", conflicts_with = "all")]
        files: Vec<String>,
        /// Delete what waits in all files
        #[arg(long)]
        all: bool,
    },
}

/// Runs the command.
pub(crate) async fn run(args: ParkedArgs, context: &mut CommandContext) -> Result {
    match args.command {
        ParkedCommand::Ls => list(context),
        ParkedCommand::Drop { files, all } => drop_waiting(context, &files, all).await,
    }
}

fn list(context: &mut CommandContext) -> Result {
    let workspace = context.readable()?;
    for waiting in workspace.maintenance().parked()? {
        let path = path_of(&workspace, &waiting)?;
        if context.out.json {
            context.out.json_line(&describe(&waiting, path))?;
            continue;
        }
        let WaitingUpdate { first, waits_for, since, n_bytes, .. } = &waiting;
        let time = parse_time::short(*since, parse_time::now());
        let target = path.unwrap_or_else(|| waiting.doc.to_string());
        let author = waiting.author.as_deref().unwrap_or("unknown");
        let line = format!(
            "{time}  {}  {target}: by {author}, item {}:{} waits for {}:{}",
            human_size(*n_bytes),
            first.client,
            first.clock,
            waits_for.client,
            waits_for.clock,
        );
        context.out.safe_line(&line)?;
    }
    Ok(())
}

async fn drop_waiting(context: &mut CommandContext, files: &[String], all: bool) -> Result {
    let workspace = context.writable()?;
    let mut n_dropped = 0;
    if all {
        let mut ids: Vec<FileId> =
            workspace.maintenance().parked()?.into_iter().map(|waiting| waiting.doc).collect();
        ids.dedup();
        // Rows of files may be among what waits in the files table.
        for id in ids.iter().filter(|id| **id != *workspace.id()) {
            n_dropped += workspace.maintenance().drop_parked(id)?;
        }
    }
    for file in files {
        let id = find_file(&workspace, file, context).await?;
        n_dropped += workspace.maintenance().drop_parked(&id)?;
    }
    context.conclude(&json!({ "dropped": n_dropped }), &format!("{n_dropped} dropped"))
}

/// Finds a file by its path, or by the id that a list shows for a document without a path.
async fn find_file(
    workspace: &Workspace,
    file: &str,
    context: &mut CommandContext,
) -> Result<FileId> {
    if let Ok(id) = FileId::parse(file)
        && workspace.nodes().path_of(&id)?.is_some()
    {
        return Ok(id);
    }
    let typed = context.path(file)?;
    let stat = workspace.fs().stat(&typed.path).await?;
    if stat.id == *workspace.id() {
        return Err(CommandError::other("what waits in the files table cannot be dropped"));
    }
    Ok(stat.id)
}

/// Returns the path of the document in which an update waits, if it has one.
fn path_of(workspace: &Workspace, waiting: &WaitingUpdate) -> Result<Option<String>> {
    let path = workspace.nodes().path_of(&waiting.doc)?;
    Ok(path.map(|path| path.to_string()))
}

/// Describes an update that waits.
fn describe(waiting: &WaitingUpdate, path: Option<String>) -> Value {
    let item = |id: ItemId| json!({ "client": id.client.get(), "clock": id.clock });
    json!({
        "doc": waiting.doc.to_string(),
        "path": path,
        "client": waiting.first.client.get(),
        "clock": waiting.first.clock,
        "bytes": waiting.n_bytes,
        "since": Rfc3339Time::from(waiting.since),
        "waits_for": item(waiting.waits_for),
        "author": waiting.author,
    })
}
