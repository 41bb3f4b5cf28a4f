//! `yfs import`: imports a directory of this machine.

use std::path::PathBuf;

use clap::Args;
use yfs::{
    ImportOptions, ImportReport, SkippedPath, WorkspaceError, YjsImportError, YjsImportReport,
};
use yfs_engine::path::VPath;
use yfs_wire::{ImportReportJson, YjsImportReportJson};

use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    format_text::{amount, counted, parse_size},
    json,
    progress::CommandProgress,
};

const HELP: &str = "\
What .gitignore files name is left out, and so are .git and .yfs. Links stay links. Running it again
brings in only what changed.

Examples:
  yfs import ~/notes                    what is in it goes to /
  yfs import ~/src/site /site
  yfs import --no-ignore build /build
  yfs import --yjs saved                main.bin and <guid>.bin, one for each file
  yfs import --yjs notes.bin /notes.md --root prosemirror

With --yjs, DIR holds the documents of a workspace as update v1 or v2. They are merged as they are:
ids, history and what is in the workspace already stay. One file becomes the content of the file at
PATH, without its history: what its root \"text\" or \"richtext\" holds, or the root that --root names.
A file that is no update changes nothing, whichever it is.

JSON: {n_created, n_updated, n_unchanged, n_folders, n_links, n_bytes, skipped: [{path, why}]};
with --yjs {n_changed, n_unchanged, n_bytes, skipped: [{path, why}]}.";

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
    /// DIR holds Yjs documents, or is one
    #[arg(long, conflicts_with_all = ["no_ignore", "no_hidden", "max_size"])]
    yjs: bool,
    /// The root that holds the content of a Yjs document
    #[arg(long, value_name = "NAME", requires = "yjs")]
    root: Option<String>,
}

/// Imports the files.
pub(crate) fn run(args: ImportArgs, context: &mut CommandContext) -> Result {
    let to = context.path(&args.to)?;
    if args.yjs {
        return import_yjs(&args, &to.path, context);
    }
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

/// Imports Yjs documents.
fn import_yjs(args: &ImportArgs, to: &VPath, context: &mut CommandContext) -> Result {
    let workspace = context.writable()?;
    let report = if args.from.is_dir() {
        if !to.is_root() || args.root.is_some() {
            let message = "the documents of a workspace have their paths and roots: \
                           leave out PATH and --root, or import one document";
            return Err(CommandError::usage(message));
        }
        workspace.documents().import_directory(&args.from)
    } else {
        workspace.documents().import_file(&args.from, to, args.root.as_deref())
    };
    tell_yjs(context, &report.map_err(with_hint)?)
}

/// Adds a hint to a failure.
fn with_hint(error: WorkspaceError) -> CommandError {
    let hint = match &error {
        WorkspaceError::YjsImport { source: YjsImportError::NoMain, .. } => {
            "name the main document main.bin, or import one document: yfs import --yjs FILE PATH"
        }
        WorkspaceError::YjsImport { source: YjsImportError::NoContent { .. }, .. } => {
            "name the root with --root"
        }
        WorkspaceError::YjsImport { source: YjsImportError::Incomplete, .. } => {
            "save the whole state, as Y.encodeStateAsUpdate(doc) returns it"
        }
        _ => return error.into(),
    };
    CommandError::Hinted(error, hint)
}

/// Prints the report of an import of Yjs documents.
fn tell_yjs(context: &mut CommandContext, report: &YjsImportReport) -> Result {
    tell_skipped(context, &report.skipped);
    if context.out.json {
        return context.out.json_line(&json::value(&YjsImportReportJson::from(report)));
    }
    let changed = counted(report.n_changed, "document", "documents");
    let mut text = format!("{changed} changed, {} read", amount(report.n_bytes));
    let skipped = report.skipped.len() as u64;
    add_counts(&mut text, &[(report.n_unchanged, "unchanged"), (skipped, "skipped")]);
    context.remark(&text);
    Ok(())
}

/// Prints the report of an import.
fn tell(context: &mut CommandContext, report: &ImportReport) -> Result {
    tell_skipped(context, &report.skipped);
    if context.out.json {
        return context.out.json_line(&json::value(&ImportReportJson::from(report)));
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
    add(report.n_directories, "directory", "directories");
    add(report.n_links, "link", "links");
    let skipped = report.skipped.len() as u64;
    let counts =
        [(report.n_updated, "updated"), (report.n_unchanged, "unchanged"), (skipped, "skipped")];
    add_counts(&mut text, &counts);
    text
}

/// Adds the counts that are not zero to a summary.
fn add_counts(text: &mut String, counts: &[(u64, &str)]) {
    for (n, what) in counts.iter().filter(|(n, _)| *n > 0) {
        *text += &format!(", {n} {what}");
    }
}

/// Reports the skipped paths; the command then exits with 1.
pub(crate) fn tell_skipped(context: &mut CommandContext, skipped: &[SkippedPath]) {
    for SkippedPath { path, why } in skipped {
        context.fail(&CommandError::other(format!("{path}: skipped: {why}")));
    }
}
