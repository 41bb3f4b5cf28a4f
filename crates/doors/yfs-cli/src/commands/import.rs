//! `yfs import`: copies a directory of this machine into the workspace.

use std::path::PathBuf;

use yfs::{
    ImportOptions, ImportReport, SkippedPath, WorkspaceError, YjsImportError, YjsImportReport,
};
use yfs_wire::{ImportReportJson, YjsImportReportJson};

use crate::{format_text::sentence_size, prelude::*, progress::CommandProgress, settings};

const HELP: &str = "\
Paths that .gitignore, .yfsignore or the setting ignores exclude are skipped, and so are .git and
.yfs. Links are
imported as links. A second import of the same directory reads only files whose size or time
differs from the workspace; with --checksum it reads all. A name that the workspace cannot hold, or
that Unicode takes for one with another name, is spelled %-NAME with bytes as %XX, as in a mirror;
`yfs export` writes the original name.

Examples:
  yfs import ~/notes                    imports its entries into /
  yfs import ~/src/site /site
  yfs import --no-ignore build /build
  yfs import --yjs saved                main.bin and <guid>.bin, one for each file
  yfs import --yjs notes.bin /notes.md --root prosemirror

With --yjs, DIR contains the Yjs documents of a workspace as updates v1 or v2. They are merged
unchanged, with their ids and history; existing content of the workspace stays. If DIR is a single
file, the content of its root \"text\" or \"richtext\", or of the root that --root names, becomes
the content of the file at PATH, without its history. If one file is not a valid update, nothing
is imported.

JSON: {created, updated, unchanged, directories, links, bytes, skipped: [{path, why}]};
with --yjs {changed, unchanged, bytes, skipped: [{path, why}]}.";

/// Copy a directory of this machine into the workspace
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ImportArgs {
    /// The directory, or a single file
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// The destination
    #[arg(value_name = "PATH", default_value = "/")]
    to: String,
    /// Also import paths that .gitignore and .yfsignore files exclude
    #[arg(long)]
    no_ignore: bool,
    /// Skip names that begin with a dot
    #[arg(long)]
    no_hidden: bool,
    /// Skip files larger than SIZE [default: 256M, or the setting max-size]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, env = "YFS_MAX_SIZE")]
    #[arg(hide_env_values = true)]
    max_size: Option<u64>,
    /// Read also the files whose size and time are those of the workspace
    #[arg(long)]
    checksum: bool,
    /// Import Yjs documents: DIR contains them, or is one
    #[arg(long, conflicts_with_all = ["no_ignore", "no_hidden", "max_size", "checksum"])]
    yjs: bool,
    /// The name of the root with the content of the Yjs document
    #[arg(long, value_name = "NAME", requires = "yjs")]
    root: Option<String>,
}

/// Imports the files.
pub(crate) async fn run(args: ImportArgs, context: &mut CommandContext) -> Result {
    let to = context.path(&args.to)?;
    if args.yjs {
        return import_yjs(&args, &to.path, context);
    }
    let options = ImportOptions {
        gitignore: !args.no_ignore,
        hidden: !args.no_hidden,
        max_file_len: args.max_size.unwrap_or_else(settings::max_size),
        checksum: args.checksum,
        ignores: settings::ignores(),
        ..ImportOptions::default()
    };
    let workspace = context.writable()?;
    let bar = CommandProgress::new(&context.globals, "importing");
    let report =
        workspace.import(&args.from, &to.path, &options, &|at| bar.set(at.n_done, at.n_total));
    drop(bar);
    report_import(context, &report?)
}

/// Imports Yjs documents.
fn import_yjs(args: &ImportArgs, to: &VPath, context: &mut CommandContext) -> Result {
    let workspace = context.writable()?;
    let report = if args.from.is_dir() {
        if !to.is_root() || args.root.is_some() {
            let message = "PATH and --root apply only to a single document; \
                           DIR is a directory, whose documents have their own paths and roots";
            return Err(CommandError::usage(message));
        }
        workspace.documents().import_directory(&args.from)
    } else {
        workspace.documents().import_file(&args.from, to, args.root.as_deref())
    };
    report_yjs(context, &report.map_err(with_hint)?)
}

/// Adds a hint to a failure.
fn with_hint(error: WorkspaceError) -> CommandError {
    let hint = match &error {
        WorkspaceError::YjsImport { source: YjsImportError::NoMain, .. } => {
            "rename the main document to main.bin, or import one file: yfs import --yjs FILE PATH"
        }
        WorkspaceError::YjsImport { source: YjsImportError::NoContent { .. }, .. } => {
            "pass the name of the root with --root"
        }
        WorkspaceError::YjsImport { source: YjsImportError::Incomplete, .. } => {
            "save the complete state that Y.encodeStateAsUpdate(doc) returns"
        }
        _ => return error.into(),
    };
    CommandError::Hinted(error, hint)
}

/// Prints the report of an import of Yjs documents.
fn report_yjs(context: &mut CommandContext, report: &YjsImportReport) -> Result {
    report_skipped(context, &report.skipped);
    if context.out.json {
        return context.out.json_line(&YjsImportReportJson::from(report));
    }
    let changed = counted(report.n_changed, "document", "documents");
    let mut text = format!("{changed} changed, {} read", sentence_size(report.n_bytes));
    let skipped = report.skipped.len() as u64;
    add_counts(&mut text, &[(report.n_unchanged, "unchanged"), (skipped, "skipped")]);
    context.remark(&text);
    Ok(())
}

/// Prints the report of an import.
fn report_import(context: &mut CommandContext, report: &ImportReport) -> Result {
    report_skipped(context, &report.skipped);
    context.conclude(&ImportReportJson::from(report), &summary(report))
}

/// Returns a summary of an import in one line.
pub(crate) fn summary(report: &ImportReport) -> String {
    let made = counted(report.n_created, "file", "files");
    let mut text = format!("{made} created, {} read", sentence_size(report.n_bytes));
    let mut add_created = |n, one, many| {
        if n > 0 {
            text += &format!(", {} created", counted(n, one, many));
        }
    };
    add_created(report.n_directories, "directory", "directories");
    add_created(report.n_links, "link", "links");
    let skipped = report.skipped.len() as u64;
    let counts =
        [(report.n_updated, "updated"), (report.n_unchanged, "unchanged"), (skipped, "skipped")];
    add_counts(&mut text, &counts);
    text
}

/// Adds the counts that are not zero to a summary.
fn add_counts(text: &mut String, counts: &[(u64, &str)]) {
    for (n, label) in counts.iter().filter(|(n, _)| *n > 0) {
        *text += &format!(", {n} {label}");
    }
}

/// Reports the skipped paths; the command then exits with 1.
pub(crate) fn report_skipped(context: &mut CommandContext, skipped: &[SkippedPath]) {
    for SkippedPath { path, why } in skipped {
        context.fail(&CommandError::other(format!("{path}: skipped: {why}")));
    }
}
