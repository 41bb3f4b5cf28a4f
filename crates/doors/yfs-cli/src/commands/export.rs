//! `yfs export`: copies files of the workspace to a directory of this machine.

use std::path::PathBuf;

use yfs::ExportOptions;
use yfs_wire::ExportReportJson;

use crate::{
    commands::import::report_skipped, format_text::sentence_size, prelude::*,
    progress::CommandProgress,
};

const HELP: &str = "\
Each file is written atomically, and nothing is written outside DIR. Existing files with the same
content are not touched; files that differ are replaced only with --force. Links that lead out of
DIR and names that belong to other tools (.git, .yfs) are skipped.

Examples:
  yfs export / /tmp/copy
  yfs export /site build --force

JSON: {written, unchanged, directories, bytes, skipped: [{path, why}]}.";

/// Copy files of the workspace to a directory of this machine
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
pub(crate) async fn run(args: ExportArgs, context: &mut CommandContext) -> Result {
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
    report_skipped(context, &report.skipped);
    if context.out.json {
        return context.out.json_line(&ExportReportJson::from(&report));
    }
    let written = counted(report.n_written, "file", "files");
    let bytes = sentence_size(report.n_bytes);
    context.remark(&format!("{written} written ({bytes}), {} unchanged", report.n_unchanged));
    Ok(())
}
