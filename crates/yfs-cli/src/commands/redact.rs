//! `yfs redact`: erases for good what a file contained and no longer contains.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use serde_json::json;
use yfs::workspace::redact::{RedactionReport, RedactionScope};
use yfs_wire::{RedactionJson, RedactionReportJson, Rfc3339Time};

use crate::{
    commands::versions::pick,
    context::CommandContext,
    errors::{CommandError, Result},
    format_text::counted,
    json,
    output::TextRole,
    parse_time,
    typed_path::TypedPath,
};

const HELP: &str = "\
What the file holds now is never touched: edit a secret out first, then redact. Versions that held what
is erased cannot be read afterwards, and say so. Every peer that hears of it erases as well, and who
comes back with old content does not bring it back. Out of reach are backups, exports, copies of the
file, and who has read it. The whole workspace file is rewritten, so that no trace stays in it.

Examples:
  yfs redact --dry-run keys.txt         show what would be erased: all that was ever deleted
  yfs redact keys.txt                   ask, then erase
  yfs redact --version 3 keys.txt       only what version 3 held
  yfs redact --list keys.txt            who erased what, and when

JSON: {path, erased, n_chars, pieces, blobs, kept}; of --list: lines of {at, actor, reason, n_chars,
n_blobs}.";

/// The arguments of `yfs redact`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RedactArgs {
    /// The file
    path: String,
    /// Erase only what this version contained: a number, a name or a time. Default: all history
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Print what would be erased, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// The reason, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// List past erasures and their actors
    #[arg(long, conflicts_with_all = ["version", "dry_run", "yes", "reason"])]
    list: bool,
}

/// Runs `yfs redact`.
pub(crate) fn run(args: &RedactArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    if args.list {
        return list(context, &path);
    }
    let is_change = !args.dry_run;
    let workspace = if is_change { context.writable()? } else { context.readable()? };
    let what = match &args.version {
        Some(version) => RedactionScope::Version(pick(&workspace, &path, version)?.number),
        None => RedactionScope::History,
    };
    let planned = workspace.history().redactable(&path.path, what)?;
    let is_empty = planned.pieces.is_empty() && planned.blobs.is_empty();
    if args.dry_run || (is_empty && what != RedactionScope::History) {
        return report(context, &path, &planned, false);
    }
    if !args.yes {
        if !io::stdin().is_terminal() {
            return Err(CommandError::usage("nobody can be asked here: --yes, or --dry-run"));
        }
        report(context, &path, &planned, false)?;
        context.out.flush()?;
        if !confirm()? {
            context.remark("nothing was erased");
            return Ok(());
        }
    }
    let redacted = workspace.history().redact(&path.path, what, args.reason.as_deref())?;
    if context.out.json {
        return report(context, &path, &redacted, true);
    }
    context.remark(&summary(&redacted, "erased for good"));
    tell_held(context, &redacted);
    Ok(())
}

/// Prints a remark about content that stays because readable versions contain it.
fn tell_held(context: &mut CommandContext, redacted: &RedactionReport) {
    let versions: Vec<String> = redacted.held_by.iter().map(ToString::to_string).collect();
    if !versions.is_empty() {
        let versions = versions.join(", ");
        context.remark(&format!(
            "some of its front matter or source stays: held by version {versions} as well"
        ));
    }
}

fn list(context: &mut CommandContext, path: &TypedPath) -> Result {
    for record in context.readable()?.history().redactions(&path.path)? {
        let (actor, reason) = (record.author.actor.to_string(), record.author.label.as_deref());
        if context.out.json {
            let record = RedactionJson::<Rfc3339Time>::from(&record);
            context.out.json_line(&json::value(&record))?;
            continue;
        }
        let what = counts(record.n_units, record.n_blobs);
        let time = parse_time::long(record.author.at);
        let line = format!("{time}  {actor}  {what}  {}", reason.unwrap_or_default());
        let line = context.out.safe(line.trim_end()).into_owned();
        context.out.line(&line)?;
    }
    Ok(())
}

fn report(
    context: &mut CommandContext,
    path: &TypedPath,
    redacted: &RedactionReport,
    erased: bool,
) -> Result {
    if context.out.json {
        let more = json!({ "path": path.path.as_str(), "erased": erased });
        let report = RedactionReportJson::from(redacted);
        return context.out.json_line(&json::with(&report, more));
    }
    for line in redacted.pieces.iter().flat_map(|piece| piece.lines()) {
        let line = context.out.safe(line).into_owned();
        let line = context.out.painted(TextRole::Removed, &format!("-{line}"));
        context.out.line(&line)?;
    }
    for hash in &redacted.blobs {
        let kept =
            if redacted.kept.contains(hash) { " (stays: something else names it)" } else { "" };
        context.out.line(&format!("-blob {hash}{kept}"))?;
    }
    context.remark(&summary(redacted, "would be erased for good"));
    tell_held(context, redacted);
    Ok(())
}

fn summary(redacted: &RedactionReport, done: &str) -> String {
    format!("{} {done}", counts(redacted.n_units, redacted.blobs.len()))
}

fn counts(n_units: u64, n_blobs: usize) -> String {
    let chars = counted(n_units, "character", "characters");
    if n_blobs == 0 {
        return chars;
    }
    format!("{chars} and {}", counted(n_blobs as u64, "blob", "blobs"))
}

fn confirm() -> Result<bool> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "Erase this for good? [y/N] ").and_then(|()| stderr.flush()).ok();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
