//! `yfs versions`: lists, prints, compares and restores earlier versions of a file.

use yfs::workspace::{
    version_thinning::thin_versions,
    versions::{VersionInfo, VersionSelector},
};

use yfs_wire::{Rfc3339Time, VersionJson};

use crate::{
    commands::write::report_write,
    compare::{self, ComparedSides},
    errors::write_stderr,
    prelude::*,
};

const HELP: &str = "\
VERSION is a number that `yfs versions ls` prints, a name that `yfs label` gave, or a time: the last
version that began before it. Each command, save and request makes a version; keystrokes in an
editor form one version for up to five minutes, or until another writer saves.

ls lists all versions of the last 7 days, the last of each hour of the last 30 days, the last of
each day before that, and all named ones. Versions that it does not list keep their numbers. --json
lists all.

Examples:
  yfs versions ls plan.md
  yfs versions ls --named plan.md
  yfs versions show plan.md 3
  yfs versions show plan.md '2 days ago'
  yfs versions diff plan.md 3           from version 3 to the current content
  yfs versions diff --word plan.md 'sent to Bob' 5
  yfs versions restore plan.md 3        writes a new version with the content of version 3

JSON of ls: one object per line: {number, at, actor, label, names, redacted, current}; of show:
{path, number, size, content} or base64; of diff: {path, from, to, diff}; of restore: as `yfs
write`.";

/// List, print, compare and restore earlier versions of a file
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct VersionsArgs {
    /// The subcommand.
    #[command(subcommand)]
    command: VersionsCommand,
}

/// The subcommands of `yfs versions`.
#[derive(Debug, Subcommand)]
enum VersionsCommand {
    /// List the versions of a file, oldest first
    Ls {
        /// The file
        path: String,
        /// List only named versions
        #[arg(long)]
        named: bool,
        /// List also the versions that are thinned out
        #[arg(long)]
        all: bool,
    },
    /// Print the content of a version
    Show {
        /// The file
        path: String,
        /// The version
        #[arg(value_name = "VERSION")]
        version: String,
    },
    /// Compare two versions
    Diff {
        /// The file
        path: String,
        /// The older version
        #[arg(value_name = "FROM")]
        from: String,
        /// The newer version; default: the current content
        #[arg(value_name = "TO")]
        to: Option<String>,
        /// Mark changed words inside the lines
        #[arg(long)]
        word: bool,
    },
    /// Restore the content of a version with the smallest edit
    Restore {
        /// The file
        path: String,
        /// The version
        #[arg(value_name = "VERSION")]
        version: String,
    },
}

/// Runs `yfs versions`.
pub(crate) async fn run(args: VersionsArgs, context: &mut CommandContext) -> Result {
    match args.command {
        VersionsCommand::Ls { path, named, all } => list(context, &path, named, all),
        VersionsCommand::Show { path, version } => show(context, &path, &version),
        VersionsCommand::Diff { path, from, to, word } => {
            diff(context, &path, &from, to.as_deref(), word)
        }
        VersionsCommand::Restore { path, version } => {
            let path = context.path(&path)?;
            let workspace = context.writable()?;
            let version = find_version(&workspace, &path, &version)?;
            let written = workspace.history().restore_version(&path.path, version.number)?;
            report_write(context, &path, &written)
        }
    }
}

/// Finds a version by its number, its name or a time.
pub(crate) fn find_version(
    workspace: &Workspace,
    path: &TypedPath,
    typed: &str,
) -> Result<VersionInfo> {
    let find = |selector| workspace.history().find_version(&path.path, &selector);
    let number = typed.parse().ok().map(VersionSelector::Number);
    if let Some(found) =
        find(number.clone().unwrap_or_else(|| VersionSelector::Name(typed.into())))?
    {
        return Ok(found);
    }
    if let Some(VersionSelector::Number(number)) = number {
        let latest = workspace.history().versions(&path.path)?.len();
        let existing = match latest {
            0 => "the file has no versions".to_owned(),
            latest => format!("the versions are 1 to {latest}"),
        };
        let message = format!("{}: no version {number}; {existing}", path.typed);
        return Err(CommandError::other(message));
    }
    let Ok(time) = parse_time::parse(typed, parse_time::now()) else {
        let message = format!("{}: no version has the name {typed:?}", path.typed);
        return Err(CommandError::other(message));
    };
    find(VersionSelector::At(time))?.ok_or_else(|| {
        CommandError::other(format!("{}: no version is as old as {typed}", path.typed))
    })
}

fn list(context: &mut CommandContext, path: &str, named: bool, all: bool) -> Result {
    let path = context.path(path)?;
    let mut versions = context.readable()?.history().versions(&path.path)?;
    versions.retain(|version| !named || !version.names.is_empty());
    let n_thinned = if all || named || context.out.json {
        0
    } else {
        thin_versions(&mut versions, parse_time::now())
    };
    context.out.start_pager();
    for version in versions {
        let actor = version.actor.as_ref().map(ToString::to_string);
        if context.out.json {
            let version = VersionJson::<Rfc3339Time>::from(&version);
            context.out.json_line(&version)?;
            continue;
        }
        let label = version.label.as_deref().unwrap_or_default();
        let actor = actor.as_deref().unwrap_or("-");
        let mut line =
            format!("{:>4}  {}  {actor}  {label}", version.number, parse_time::long(version.at));
        line.truncate(line.trim_end().len());
        for name in &version.names {
            line += &format!("  [{name}]");
        }
        let mut line = context.out.safe(&line).into_owned();
        if version.redacted {
            line += "  (redacted)";
        }
        if version.current {
            line += "  (now)";
        }
        context.out.line(&line)?;
    }
    if n_thinned > 0 {
        context.out.flush()?;
        write_stderr(&format!("{n_thinned} older versions are not listed; --all lists them"));
    }
    Ok(())
}

fn show(context: &mut CommandContext, path: &str, version: &str) -> Result {
    let path = context.path(path)?;
    let workspace = context.readable()?;
    let number = find_version(&workspace, &path, version)?.number;
    let content = workspace.history().version_content(&path.path, number)?;
    if context.out.json {
        let mut value = json::content(path.path.as_str(), &content);
        value["number"] = number.into();
        return context.out.json_line(&value);
    }
    context.out.raw(&content)
}

fn diff(
    context: &mut CommandContext,
    path: &str,
    from: &str,
    to: Option<&str>,
    by_words: bool,
) -> Result {
    let path = context.path(path)?;
    let workspace = context.readable()?;
    let from = find_version(&workspace, &path, from)?.number;
    let to = match to {
        Some(to) => find_version(&workspace, &path, to)?.number,
        None => workspace.history().versions(&path.path)?.len() as u64,
    };
    let text = |number: u64| -> Result<String> {
        let content = workspace.history().version_content(&path.path, number)?;
        String::from_utf8(content.into()).map_err(|_| {
            CommandError::other(format!("{}: version {number} is not UTF-8 text", path.typed))
        })
    };
    let (before, after) = (text(from)?, text(to)?);
    let name = |number: u64| format!("{} (version {number})", path.path);
    let sides = ComparedSides { names: [name(from), name(to)], texts: [&before, &after] };
    if context.out.json {
        let diff = compare::rendered(&sides, by_words);
        let path = path.path.as_str();
        return context
            .out
            .json_line(&json!({ "path": path, "from": from, "to": to, "diff": diff }));
    }
    context.out.start_pager();
    compare::print(context, &sides, by_words)
}
