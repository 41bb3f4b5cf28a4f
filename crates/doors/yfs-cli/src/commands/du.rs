//! `yfs du`: prints the total size of files and directories.

use futures::StreamExt;
use yfs_vfs::{WalkEntry, WalkOptions};

use crate::prelude::*;

const HELP: &str = "\
Sizes are the sizes of contents in units of 1,024 bytes, rounded up. Directories have size 0.

Examples:
  yfs du -sh              the total, on one line
  yfs du -h -d 1          the directories directly in /
  yfs du -ab src          every file, in bytes

JSON: one object per line: {path, kind, bytes, files, directories}.";

/// Print the total size of files and directories
#[derive(Debug, Args)]
#[command(after_help = HELP, disable_help_flag = true)]
pub(crate) struct DuArgs {
    /// The files and directories; default: /
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Also print files
    #[arg(short, long)]
    all: bool,
    /// Print one line for each PATH
    #[arg(short, long, conflicts_with_all = ["all", "max_depth"])]
    summarize: bool,
    /// Print sizes in bytes
    #[arg(short, long)]
    bytes: bool,
    /// Print sizes such as 1.5K
    #[arg(short, long)]
    human_readable: bool,
    /// Print a total of all operands
    #[arg(short = 'c', long)]
    total: bool,
    /// Print only entries at most N levels down
    #[arg(short = 'd', long, value_name = "N")]
    max_depth: Option<usize>,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// A directory whose entries are being counted.
struct OpenDirectory {
    shown: String,
    path: VPath,
    depth: usize,
    n_bytes: u64,
    n_files: u64,
    n_directories: u64,
}

/// Prints the total size of each operand.
pub(crate) async fn run(args: DuArgs, context: &mut CommandContext) -> Result {
    let fs = context.reader()?;
    let operands =
        if args.paths.is_empty() { vec![context.here()] } else { context.paths(&args.paths) };
    let mut total = 0;
    for operand in operands {
        match print_tree(&args, context, &fs, &operand).await {
            Ok(n_bytes) => total += n_bytes,
            failed => context.continue_after(failed.map(drop))?,
        }
    }
    if args.total && !context.out.json {
        args.print(context, total, "total")?;
    }
    Ok(())
}

/// Prints the sizes of an operand and of the entries below it, and returns its total.
async fn print_tree(
    args: &DuArgs,
    context: &mut CommandContext,
    fs: &Fs,
    root: &TypedPath,
) -> Result<u64> {
    let stat = fs.lstat(&root.path).await?;
    if !stat.is_directory() {
        let n_bytes = if stat.is_file() { stat.size } else { 0 };
        let n_files = u64::from(stat.is_file());
        let item =
            OpenDirectory { n_bytes, n_files, ..OpenDirectory::new(root, root.path.clone(), 0) };
        args.print_entry(context, &item, stat.kind)?;
        return Ok(n_bytes);
    }
    let base = root.path.components().count();
    let mut open = vec![OpenDirectory::new(root, root.path.clone(), 0)];
    let options = WalkOptions::default();
    let mut batches = fs.walk_batches(&root.path, &options);
    while let Some(batch) = batches.next().await {
        for WalkEntry { path, entry, .. } in batch? {
            let depth = path.components().count() - base;
            close_directories(args, context, &mut open, depth)?;
            let n_bytes = if entry.kind == FileKind::File { entry.size } else { 0 };
            let n_files = u64::from(entry.kind == FileKind::File);
            let item = OpenDirectory { n_bytes, n_files, ..OpenDirectory::new(root, path, depth) };
            add_entry(args, context, &mut open, item, entry.kind)?;
        }
    }
    close_directories(args, context, &mut open, 0)
}

/// Opens a directory; adds another entry to the directory that it is in.
fn add_entry(
    args: &DuArgs,
    context: &mut CommandContext,
    open: &mut Vec<OpenDirectory>,
    item: OpenDirectory,
    kind: FileKind,
) -> Result {
    if kind == FileKind::Directory {
        if let Some(parent) = open.last_mut() {
            parent.n_directories += 1;
        }
        open.push(item);
        return Ok(());
    }
    if args.all && args.shows(item.depth) {
        args.print_entry(context, &item, kind)?;
    }
    if let Some(parent) = open.last_mut() {
        parent.n_bytes += item.n_bytes;
        parent.n_files += item.n_files;
    }
    Ok(())
}

/// Prints completed directories, and adds each to its parent, until `depth` are open. Returns the
/// size of the last one.
fn close_directories(
    args: &DuArgs,
    context: &mut CommandContext,
    open: &mut Vec<OpenDirectory>,
    depth: usize,
) -> Result<u64> {
    let mut n_bytes = 0;
    while open.len() > depth {
        let Some(done) = open.pop() else { break };
        if args.shows(done.depth) {
            args.print_entry(context, &done, FileKind::Directory)?;
        }
        n_bytes = done.n_bytes;
        if let Some(parent) = open.last_mut() {
            parent.n_bytes += done.n_bytes;
            parent.n_files += done.n_files;
            parent.n_directories += done.n_directories;
        }
    }
    Ok(n_bytes)
}

impl OpenDirectory {
    fn new(root: &TypedPath, path: VPath, depth: usize) -> Self {
        let shown = root.below(&path).into_owned();
        Self { shown, path, depth, n_bytes: 0, n_files: 0, n_directories: 0 }
    }
}

impl DuArgs {
    fn shows(&self, depth: usize) -> bool {
        let max_depth = if self.summarize { Some(0) } else { self.max_depth };
        max_depth.is_none_or(|max_depth| depth <= max_depth)
    }

    fn print_entry(
        &self,
        context: &mut CommandContext,
        item: &OpenDirectory,
        kind: FileKind,
    ) -> Result {
        if context.out.json {
            return context.out.json_line(&json!({
                "path": item.path.as_str(),
                "kind": json::kind(kind),
                "bytes": item.n_bytes,
                "files": item.n_files,
                "directories": item.n_directories,
            }));
        }
        self.print(context, item.n_bytes, &item.shown)
    }

    fn print(&self, context: &mut CommandContext, n_bytes: u64, name: &str) -> Result {
        let size = match (self.bytes, self.human_readable) {
            (_, true) => human_size(n_bytes),
            (true, false) => n_bytes.to_string(),
            (false, false) => n_bytes.div_ceil(1024).to_string(),
        };
        let name = context.out.safe(name).into_owned();
        context.out.line(&format!("{size}\t{name}"))
    }
}
