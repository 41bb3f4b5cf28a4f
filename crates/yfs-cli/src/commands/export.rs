//! `yfs export`: writes files to a directory of this machine.

use std::path::PathBuf;

use clap::Args;
use yfs::ExportOptions;
use yfs_wire::ExportReportJson;

use crate::{
    commands::import::tell_skipped,
    context::CommandContext,
    errors::Result,
    format_text::{amount, counted},
    json,
    progress::CommandProgress,
};

const HELP: &str = "\
Every file appears whole or not at all, and nothing is written outside DIR. Files that are there and
equal are left alone; those that differ are replaced only with --force. Links that lead out of DIR are
left out, and so are names that belong to other tools (.git, .yfs).

Examples:
  yfs export / /tmp/copy
  yfs export /site build --force

JSON: {n_written, n_unchanged, n_folders, n_bytes, skipped: [{path, why}]}.";

/// The arguments of `yfs export`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ExportArgs {
    /// The file or directory to export
    #[arg(value_name = "PATH")]
    from: String,
    /// The directory, which is created if it is missing
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Replace existing files and links that differ
    #[arg(long)]
    force: bool,
    /// Also write links that lead out of DIR
    #[arg(long)]
    unsafe_links: bool,
}

/// Exports the files.
pub(crate) fn run(args: ExportArgs, context: &mut CommandContext) -> Result {
    let from = context.path(&args.from)?;
    let options = ExportOptions {
        force: args.force,
        unsafe_links: args.unsafe_links,
        ..ExportOptions::default()
    };
    let workspace = context.readable()?;
    let bar = CommandProgress::new(&context.globals, "exporting");
    let report =
        workspace.export(&from.path, &args.to, &options, &|at| bar.set(at.n_done, at.n_total));
    drop(bar);
    let report = report?;
    tell_skipped(context, &report.skipped);
    if context.out.json {
        return context.out.json_line(&json::value(&ExportReportJson::from(&report)));
    }
    let written = counted(report.n_written, "file", "files");
    let bytes = amount(report.n_bytes);
    context.remark(&format!("{written} written ({bytes}), {} unchanged", report.n_unchanged));
    Ok(())
}
