//! `yfs import`: imports a directory of this machine.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use yfs::{ImportOptions, ImportReport, SkippedPath};

use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    format_text::{amount, counted, parse_size},
    progress::CommandProgress,
};

const HELP: &str = "\
What .gitignore files name is left out, and so are .git and .yfs. Links stay links. Running it again
brings in only what changed.

Examples:
  yfs import ~/notes                    what is in it goes to /
  yfs import ~/src/site /site
  yfs import --no-ignore build /build

JSON: {n_created, n_updated, n_unchanged, n_folders, n_links, n_bytes, skipped: [{path, why}]}.";

/// The arguments of `yfs import`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ImportArgs {
    /// The directory, or a single file
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// The destination
    #[arg(value_name = "PATH", default_value = "/")]
    to: String,
    /// Also import what .gitignore files exclude
    #[arg(long)]
    no_ignore: bool,
    /// Skip names that begin with a dot
    #[arg(long)]
    no_hidden: bool,
    /// Skip larger files
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = parse_size)]
    max_size: u64,
}

/// Imports the files.
pub(crate) fn run(args: ImportArgs, context: &mut CommandContext) -> Result {
    let to = context.path(&args.to)?;
    let options = ImportOptions {
        gitignore: !args.no_ignore,
        hidden: !args.no_hidden,
        max_file_len: args.max_size,
        ..ImportOptions::default()
    };
    let workspace = context.writable()?;
    let bar = CommandProgress::new(&context.globals, "importing");
    let report =
        workspace.import(&args.from, &to.path, &options, &|at| bar.set(at.n_done, at.n_total));
    drop(bar);
    tell(context, &report?)
}

/// Prints the report of an import.
fn tell(context: &mut CommandContext, report: &ImportReport) -> Result {
    tell_skipped(context, &report.skipped);
    if context.out.json {
        return context.out.json_line(&json!({
            "n_created": report.n_created,
            "n_updated": report.n_updated,
            "n_unchanged": report.n_unchanged,
            "n_folders": report.n_folders,
            "n_links": report.n_links,
            "n_bytes": report.n_bytes,
            "skipped": skipped_json(&report.skipped),
        }));
    }
    context.remark(&summary(report));
    Ok(())
}

/// Returns a summary of an import in one line.
pub(crate) fn summary(report: &ImportReport) -> String {
    let made = counted(report.n_created, "file", "files");
    let mut text = format!("{made} made, {} read", amount(report.n_bytes));
    let mut add = |n, one, many| {
        if n > 0 {
            text += &format!(", {} made", counted(n, one, many));
        }
    };
    add(report.n_folders, "directory", "directories");
    add(report.n_links, "link", "links");
    for (n, what) in [
        (report.n_updated, "updated"),
        (report.n_unchanged, "unchanged"),
        (report.skipped.len() as u64, "skipped"),
    ] {
        if n > 0 {
            text += &format!(", {n} {what}");
        }
    }
    text
}

/// Reports the skipped paths; the command then exits with 1.
pub(crate) fn tell_skipped(context: &mut CommandContext, skipped: &[SkippedPath]) {
    for SkippedPath { path, why } in skipped {
        context.fail(&CommandError::other(format!("{path}: skipped: {why}")));
    }
}

/// Describes the skipped paths.
pub(crate) fn skipped_json(skipped: &[SkippedPath]) -> serde_json::Value {
    let one = |it: &SkippedPath| json!({ "path": it.path, "why": it.why.to_string() });
    skipped.iter().map(one).collect()
}
