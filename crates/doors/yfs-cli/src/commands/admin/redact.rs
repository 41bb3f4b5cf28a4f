//! `yfs admin redact`: permanently erases deleted content from the history of a file.

use std::io::{self, BufRead, IsTerminal, Write};

use yfs::workspace::redact::{RedactionReport, RedactionScope};
use yfs_wire::{RedactionJson, RedactionReportJson, Rfc3339Time};

use crate::{commands::versions::find_version, output::TextRole, prelude::*};

const HELP: &str = "\
The current content is never changed: to erase a secret, delete it from the file first, then redact.
Versions that contained erased text can no longer be read, and are marked as redacted. Every peer
that receives the redaction also erases the text, and old copies that reconnect do not restore it.
Backups, exports and copies of the workspace file are not changed. The workspace file is rewritten
completely, so that no trace remains in it.

Examples:
  yfs admin redact --dry-run keys.txt         print the text that would be erased: all deleted text
  yfs admin redact keys.txt                   ask for confirmation, then erase
  yfs admin redact --version 3 keys.txt       erase only text that version 3 contained
  yfs admin redact --list keys.txt            list past redactions

JSON: {path, erased, chars, pieces, blobs, kept, held_by};
with --list one object per line: {at, actor, reason, chars, blobs}.";

/// The error if the command cannot ask for confirmation.
const NOT_INTERACTIVE: &str = "the command asks for confirmation, and standard input is not a \
                               terminal; pass --yes or --dry-run";

/// Permanently erase deleted content from the history of a file
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RedactArgs {
    /// The file
    path: String,
    /// Erase only content of this version: a number, a name or a time. Default: all history
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Print the content that would be erased, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// A reason to record with the redaction
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// List past redactions and their actors
    #[arg(long, conflicts_with_all = ["version", "dry_run", "yes", "reason"])]
    list: bool,
}

/// Runs `yfs admin redact`.
pub(crate) async fn run(args: RedactArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    if args.list {
        return list(context, &path);
    }
    let is_change = !args.dry_run;
    let workspace = if is_change { context.writable()? } else { context.readable()? };
    let scope = match &args.version {
        Some(version) => RedactionScope::Version(find_version(&workspace, &path, version)?.number),
        None => RedactionScope::History,
    };
    let planned = workspace.history().redactable(&path.path, scope)?;
    let is_empty = planned.pieces.is_empty() && planned.blobs.is_empty();
    if args.dry_run || (is_empty && scope != RedactionScope::History) {
        return report(context, &path, &planned, false);
    }
    if !args.yes {
        if !io::stdin().is_terminal() {
            return Err(CommandError::usage(NOT_INTERACTIVE));
        }
        report(context, &path, &planned, false)?;
        context.out.flush()?;
        if !confirm()? {
            context.remark("nothing was erased");
            return Ok(());
        }
    }
    let redacted = workspace.history().redact(&path.path, scope, args.reason.as_deref())?;
    if redacted.n_units > 0 || !redacted.blobs.is_empty() {
        remark_on_shares(&workspace, &path, context)?;
    }
    if context.out.json {
        return report(context, &path, &redacted, true);
    }
    context.remark(&summary(&redacted, "erased permanently"));
    report_held_content(context, &redacted);
    Ok(())
}

/// Prints a remark about each share of a directory that has the file and that no process keeps
/// equal now.
#[cfg(feature = "peer")]
fn remark_on_shares(
    workspace: &Workspace,
    path: &TypedPath,
    context: &mut CommandContext,
) -> Result {
    let file = workspace.fs_for(context.actor()).entry(&path.path, Op::Open)?.0.id;
    let dir = crate::discover::store_dir(&context.file()?);
    let shares = yfs_peer::DirectoryShares::of(workspace, &dir);
    for share in shares.find_with(&file)? {
        if !yfs_peer::is_running(share.dir()) {
            let path = shares.path_of(&share.directory)?;
            context.remark(&format!(
                "the share of {path} has the file, too: `yfs peer share` erases the text there"
            ));
        }
    }
    Ok(())
}

#[cfg(not(feature = "peer"))]
fn remark_on_shares(_: &Workspace, _: &TypedPath, _: &mut CommandContext) -> Result {
    Ok(())
}

/// Prints a remark about content that is kept because readable versions contain it.
fn report_held_content(context: &mut CommandContext, redacted: &RedactionReport) {
    let versions: Vec<String> = redacted.held_by.iter().map(ToString::to_string).collect();
    if !versions.is_empty() {
        let versions = versions.join(", ");
        context.remark(&format!(
            "front matter or source that version {versions} also contains was kept"
        ));
    }
}

fn list(context: &mut CommandContext, path: &TypedPath) -> Result {
    for record in context.readable()?.history().redactions(&path.path)? {
        let (actor, reason) = (record.author.actor.to_string(), record.author.label.as_deref());
        if context.out.json {
            let record = RedactionJson::<Rfc3339Time>::from(&record);
            context.out.json_line(&record)?;
            continue;
        }
        let amount = counts(record.n_units, record.n_blobs);
        let time = parse_time::long(record.author.at);
        let line = format!("{time}  {actor}  {amount}  {}", reason.unwrap_or_default());
        context.out.safe_line(line.trim_end())?;
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
            if redacted.kept.contains(hash) { " (kept: other content refers to it)" } else { "" };
        context.out.line(&format!("-blob {hash}{kept}"))?;
    }
    context.remark(&summary(redacted, "would be erased permanently"));
    report_held_content(context, redacted);
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

/// Asks the user for confirmation on the terminal.
fn confirm() -> Result<bool> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "Erase this permanently? [y/N] ").and_then(|()| stderr.flush()).ok();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
