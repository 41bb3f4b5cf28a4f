//! `yfs audit`: lists what agents did through the tools.

use yfs_agent::audit::{AuditOutcome, AuditQuery, AuditRecord};
use yfs_agent_workspace::{audit_directory_of, workspace_audit_records};
use yfs_engine::actor::Actor;

use crate::prelude::*;

const HELP: &str = "\
Lists the calls of tools that agents made through `yfs mcp` and the tools of the library, and the
changes that each call made to files, oldest first. The filesystem below the tools writes these
records, so a tool cannot change a file without one. The records are kept beside the workspace on
this machine, up to 64 MiB; the oldest are removed first. They have a digest of the arguments, not
the arguments.

TIME is a date, a time or an age, such as '10 minutes ago', 2h, yesterday or '09:30'.

Examples:
  yfs audit                             the last 100 records
  yfs audit --path /docs --since yesterday
  yfs audit --session mcp-7f3k --calls
  yfs audit --failed --json
  yfs undo --session mcp-7f3k           take back what a session changed

JSON: one object per record: {at_ms, actor, session, call_id, tool, operation, arguments_digest,
outcome: {result, reason}, duration_us, files: [{path, before, after}]}. A record of a call has
tool and no operation.";

/// List what agents did through the tools
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AuditArgs {
    /// Only records of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only records of this actor
    #[arg(long, value_name = "KIND:NAME")]
    author: Option<Actor>,
    /// Only records of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only records with this file, or with one below this directory
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only records since this time
    #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option)]
    since: Option<Millis>,
    /// Only records before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option)]
    until: Option<Millis>,
    /// Only calls and changes that failed or were abandoned
    #[arg(long)]
    failed: bool,
    /// Only calls of tools, without the changes that they made
    #[arg(long)]
    calls: bool,
    /// The latest N records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    max_count: usize,
}

/// Lists the records.
pub(crate) async fn run(args: AuditArgs, context: &mut CommandContext) -> Result {
    let below = args.path.as_deref().map(|path| context.path(path)).transpose()?;
    let workspace = context.readable()?;
    let query = AuditQuery {
        session: args.session,
        actor: args.author.map(|author| author.to_string()),
        tool: args.tool,
        below: below.map(|below| below.path.to_string()),
        since_ms: args.since.map(|since| since.0),
        until_ms: args.until.map(|until| until.0),
        failed: args.failed.then_some(true),
        // Calls are selected here, so the limit is applied here.
        limit: Some(if args.calls { usize::MAX } else { args.max_count }),
    };
    let selected = workspace_audit_records(&workspace, &query);
    let mut selected = selected.map_err(|error| {
        let place = audit_directory_of(&workspace);
        let place = place.map(|place| place.path().display().to_string()).unwrap_or_default();
        CommandError::other(format!("cannot read {place}: {error}"))
    })?;
    if args.calls {
        selected.records.retain(|record| record.operation.is_none());
        let n_older = selected.records.len().saturating_sub(args.max_count);
        selected.records.drain(..n_older);
    }
    for record in &selected.records {
        if context.out.json {
            context.out.json_line(&serde_json::json!(record))?;
        } else {
            print(record, context)?;
        }
    }
    if selected.n_damaged > 0 {
        context.remark(&format!("{} records cannot be read and are left out", selected.n_damaged));
    }
    Ok(())
}

fn print(record: &AuditRecord, context: &mut CommandContext) -> Result {
    let time = parse_time::short(Millis(record.at_ms), parse_time::now());
    let what = match (&record.operation, &record.tool) {
        (Some(operation), _) => format!("  {operation}"),
        (None, tool) => tool.clone().unwrap_or_default(),
    };
    let mut line = format!("{time}  {:<20}  {}  {what:<16}", record.actor, record.session);
    let paths: Vec<&str> = record.files.iter().map(|file| file.path.as_str()).collect();
    line += &format!("  {}", paths.join(" "));
    match &record.outcome {
        AuditOutcome::Done => (),
        AuditOutcome::Failed { reason } => line += &format!("  failed: {reason}"),
        AuditOutcome::Abandoned => line += "  abandoned",
    }
    context.out.safe_line(line.trim_end())
}
