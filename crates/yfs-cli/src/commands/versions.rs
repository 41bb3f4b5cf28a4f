//! `yfs versions`: what a file was before, and who wrote it.

use clap::{Args, Subcommand};
use serde_json::json;
use similar::{ChangeTag, TextDiff};
use yfs::Workspace;

use crate::{
    commands::write::report,
    context::Context,
    errors::{Failure, Result},
    json,
    output::Role,
    shown::Shown,
    when,
};

const HELP: &str = "\
Versions have numbers, from 1, as `yfs versions ls` prints them.

Examples:
  yfs versions ls plan.md
  yfs versions show plan.md 3
  yfs versions diff plan.md 3           from version 3 to what it is now
  yfs versions diff plan.md 2 5
  yfs versions restore plan.md 3        writes it again; nothing is taken back

JSON of ls: one object a line: {number, at, actor, label, current}; of show: {path, number, size,
content} or base64; of diff: {path, from, to, diff}; of restore: as `yfs write`.";

/// What can be typed.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct VersionsArgs {
    /// What to do.
    #[command(subcommand)]
    command: VersionsCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum VersionsCommand {
    /// List the versions of a file, oldest first
    Ls {
        /// The file
        path: String,
    },
    /// Print a version
    Show {
        /// The file
        path: String,
        /// The version
        #[arg(value_name = "N")]
        number: u64,
    },
    /// Compare two versions
    Diff {
        /// The file
        path: String,
        /// The first
        #[arg(value_name = "FROM")]
        from: u64,
        /// The second; without it, what the file holds now
        #[arg(value_name = "TO")]
        to: Option<u64>,
    },
    /// Make a version the content again, as the least edit
    Restore {
        /// The file
        path: String,
        /// The version
        #[arg(value_name = "N")]
        number: u64,
    },
}

/// Does it.
pub(crate) async fn run(args: VersionsArgs, context: &mut Context) -> Result {
    match args.command {
        VersionsCommand::Ls { path } => list(context, &path),
        VersionsCommand::Show { path, number } => show(context, &path, number),
        VersionsCommand::Diff { path, from, to } => diff(context, &path, from, to),
        VersionsCommand::Restore { path, number } => {
            let path = context.path(&path)?;
            let workspace = context.writable()?;
            known(&workspace, &path, number)?;
            let written = workspace.restore_version(&path.path, number)?;
            report(context, &path, &written)
        }
    }
}

fn list(context: &mut Context, path: &str) -> Result {
    let path = context.path(path)?;
    for version in context.readable()?.versions(&path.path)? {
        let actor = version.actor.as_ref().map(ToString::to_string);
        if context.out.json {
            context.out.json_line(&json!({
                "number": version.number,
                "at": when::rfc3339(version.at),
                "actor": actor,
                "label": version.label.as_deref(),
                "current": version.current,
            }))?;
            continue;
        }
        let label = version.label.as_deref().unwrap_or_default();
        let actor = actor.as_deref().unwrap_or("-");
        let now = if version.current { "  (now)" } else { "" };
        let line = format!("{:>4}  {}  {actor}  {label}", version.number, when::long(version.at));
        let line = context.out.safe(line.trim_end()).into_owned();
        context.out.line(&format!("{line}{now}"))?;
    }
    Ok(())
}

fn show(context: &mut Context, path: &str, number: u64) -> Result {
    let path = context.path(path)?;
    let workspace = context.readable()?;
    known(&workspace, &path, number)?;
    let content = workspace.version_content(&path.path, number)?;
    if context.out.json {
        let mut value = json::content(path.path.as_str(), &content);
        value["number"] = number.into();
        return context.out.json_line(&value);
    }
    context.out.raw(&content)
}

fn diff(context: &mut Context, path: &str, from: u64, to: Option<u64>) -> Result {
    let path = context.path(path)?;
    let workspace = context.readable()?;
    let latest = known(&workspace, &path, from)?;
    let to = to.unwrap_or(latest);
    known(&workspace, &path, to)?;
    let text = |number: u64| -> Result<String> {
        let content = workspace.version_content(&path.path, number)?;
        String::from_utf8(content.into())
            .map_err(|_| Failure::other(format!("{}: version {number} is not text", path.typed)))
    };
    let (before, after) = (text(from)?, text(to)?);
    let diff = TextDiff::from_lines(&before, &after);
    let mut unified = diff.unified_diff();
    let names =
        (format!("{} (version {from})", path.path), format!("{} (version {to})", path.path));
    let unified = unified.context_radius(3).header(&names.0, &names.1);
    if context.out.json {
        let value = json!({
            "path": path.path.as_str(), "from": from, "to": to, "diff": unified.to_string(),
        });
        return context.out.json_line(&value);
    }
    if diff.ops().iter().all(|op| op.tag() == similar::DiffTag::Equal) {
        return Ok(());
    }
    for line in unified.to_string().split_inclusive('\n') {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        let painted = match role_of(text) {
            Some(role) => context.out.painted(role, &context.out.safe(text)),
            None => context.out.safe(text).into_owned(),
        };
        context.out.raw(format!("{painted}{end}").as_bytes())?;
    }
    Ok(())
}

fn role_of(line: &str) -> Option<Role> {
    let tag = match line.as_bytes().first()? {
        _ if line.starts_with("---") || line.starts_with("+++") => return Some(Role::Heading),
        b'@' => return Some(Role::Separator),
        b'+' => ChangeTag::Insert,
        b'-' => ChangeTag::Delete,
        _ => return None,
    };
    Some(if tag == ChangeTag::Insert { Role::Added } else { Role::Removed })
}

/// Refuses a number that no version has; returns the latest.
fn known(workspace: &Workspace, path: &Shown, number: u64) -> Result<u64> {
    let versions = workspace.versions(&path.path)?;
    let latest = versions.last().map_or(0, |version| version.number);
    if versions.iter().any(|version| version.number == number) {
        return Ok(latest);
    }
    let there = if latest == 0 { "it has none".to_owned() } else { format!("1 to {latest}") };
    Err(Failure::other(format!("{}: no version {number} ({there})", path.typed)))
}
