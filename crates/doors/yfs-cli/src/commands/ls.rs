//! `yfs ls`: lists directory contents, in the format of POSIX `ls`.

mod plain;

use std::cmp::Reverse;

use smol_str::{SmolStr, format_smolstr};
use yfs_vfs::{DirEntry, FileSystemExt, Stat, WalkEntry, WalkOptions};

use self::plain::PlainListing;
use crate::{commands::transfer_operands::require_found_directory, mode, prelude::*};

const HELP: &str = "\
Times are in the zone of TZ, or else of the system. There are no owners, link counts and blocks.

Not supported: -c, -u (a file has one time), -g, -o, -n, -s, -m, -x, -Q, -b, -v, -Z, --full-time
(use `yfs stat`).

Examples:
  yfs ls                 list /
  yfs ls -la docs        all names in /docs, with modes, sizes and times
  yfs ls -R --json       everything, one JSON object per line
  yfs ls -t | head -1    the entry that changed last

JSON: one object per line: {path, name, id, kind, size, mode, mtime[, target]}.";

/// List directory contents
#[derive(Debug, Args)]
#[command(after_help = HELP, disable_help_flag = true)]
pub(crate) struct LsArgs {
    /// The files and directories to list; default: /
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// List names that begin with a dot, and the entries . and ..
    #[arg(short, long)]
    all: bool,
    /// List names that begin with a dot
    #[arg(short = 'A', long)]
    almost_all: bool,
    /// List directories themselves, not their contents
    #[arg(short, long)]
    directory: bool,
    /// Print mode, size in bytes, modification time and name
    #[arg(short)]
    long: bool,
    /// Print one name per line
    #[arg(short = '1')]
    one: bool,
    /// List directories recursively
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Sort by time, latest first
    #[arg(short = 't')]
    by_time: bool,
    /// Sort by size, largest first
    #[arg(short = 'S')]
    by_size: bool,
    /// Reverse the order
    #[arg(short, long)]
    reverse: bool,
    /// Print sizes such as 1.5K
    #[arg(short, long)]
    human_readable: bool,
    /// Print / after directories and @ after links
    #[arg(short = 'F', long)]
    classify: bool,
    /// Print / after directories
    #[arg(short = 'p')]
    slash: bool,
    /// Sort by extension
    #[arg(short = 'X')]
    by_extension: bool,
    /// Do not sort
    #[arg(short = 'U')]
    unsorted: bool,
    /// List directories before files
    #[arg(long)]
    group_directories_first: bool,
    /// Leave out names that end with ~
    #[arg(short = 'B', long)]
    ignore_backups: bool,
    /// Show what links refer to, not the links
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Print the id of each file
    #[arg(short = 'i', long)]
    id: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// An entry of the listing.
struct ListRow {
    path: VPath,
    /// The name, as it is printed.
    name: SmolStr,
    entry: DirEntry,
    target: Option<String>,
    /// Whether the entry is a directory, or a link to one.
    is_directory: bool,
}

/// Lists the operands.
pub(crate) async fn run(args: LsArgs, context: &mut CommandContext) -> Result {
    let fs = context.reader()?;
    let operands =
        if args.paths.is_empty() { vec![context.here()] } else { context.paths(&args.paths) };
    let n_operands = args.paths.len();
    let (mut rows, mut dirs) = (Vec::new(), Vec::new());
    for operand in operands {
        if let Err(error) = require_found_directory(&fs, &operand, Op::Stat).await {
            context.fail(&error.into());
            continue;
        }
        match stat_operand(&args, &fs, &operand).await {
            Ok(stat) if stat.is_directory() && !args.directory => dirs.push((operand, stat)),
            Ok(stat) => rows.push(row_of(&fs, operand, stat).await),
            Err(error) => context.fail(&error.into()),
        }
    }
    args.sort(&mut rows);
    sort_dirs(&args, &mut dirs);
    let mut first = rows.is_empty();
    args.print(context, &rows)?;
    let with_headings = n_operands > 1 || args.recursive;
    let mut pending: Vec<TypedPath> = dirs.into_iter().rev().map(|(dir, _)| dir).collect();
    if args.prints_only_names(context) {
        let mut listing = PlainListing { args: &args, with_headings, first };
        while let Some(dir) = pending.pop() {
            listing.print(context, &fs, dir).await?;
        }
        return Ok(());
    }
    while let Some(dir) = pending.pop() {
        let measured = context.out.json || args.reads_sizes();
        let kinds_only = !measured && !args.classify;
        let options = WalkOptions { max_depth: 1, measured, kinds_only, ..WalkOptions::default() };
        let mut rows = match read_rows(&args, &fs, &dir, &options).await {
            Ok(rows) => rows,
            Err(error) => {
                context.fail(&error.into());
                continue;
            }
        };
        args.sort(&mut rows);
        if with_headings && !context.out.json {
            let heading = context.out.safe(&dir.typed).into_owned();
            context.out.line(&format!("{}{heading}:", if first { "" } else { "\n" }))?;
        }
        first = false;
        args.print(context, &rows)?;
        if args.recursive {
            let below = |row: &&ListRow| {
                row.entry.kind == FileKind::Directory && row.name != "." && row.name != ".."
            };
            pending.extend(rows.iter().filter(below).rev().map(|row| dir.join(&row.name)));
        }
    }
    Ok(())
}

/// Returns the metadata of an operand; follows links as POSIX `ls` does.
async fn stat_operand(args: &LsArgs, fs: &Fs, operand: &TypedPath) -> Result<Stat, FsError> {
    let stat = fs.lstat(&operand.path).await?;
    let keeps_link = args.long || args.directory || args.classify;
    if stat.kind != FileKind::Symlink || (keeps_link && !args.dereference) {
        return Ok(stat);
    }
    // A dangling link is listed as itself.
    Ok(fs.stat(&operand.path).await.unwrap_or(stat))
}

/// Returns the entries of a directory.
async fn read_rows(
    args: &LsArgs,
    fs: &Fs,
    dir: &TypedPath,
    options: &WalkOptions,
) -> Result<Vec<ListRow>, FsError> {
    let mut rows = Vec::new();
    if args.all {
        for (name, path) in
            [(".", dir.path.clone()), ("..", dir.path.parent().unwrap_or_else(VPath::root))]
        {
            let entry = entry_of(name, &fs.stat(&path).await?);
            rows.push(ListRow { path, name: name.into(), entry, target: None, is_directory: true });
        }
    }
    let listed = fs.walk(&dir.path, options).await;
    let listed = listed.map_err(|error| error.during(Op::Scandir))?;
    rows.reserve(listed.len());
    for WalkEntry { path, entry, .. } in listed {
        let is_hidden = !args.all && !args.almost_all && entry.name.starts_with('.');
        if is_hidden || (args.ignore_backups && entry.name.ends_with('~')) {
            continue;
        }
        let referent = match args.dereference && entry.kind == FileKind::Symlink {
            true => fs.stat(&path).await.ok(),
            false => None,
        };
        let entry = match referent {
            Some(stat) => entry_of(&entry.name, &stat),
            None => entry,
        };
        let target = target_of(fs, &path, entry.kind).await;
        let is_directory = refers_to_directory(fs, &path, entry.kind).await;
        rows.push(ListRow { path, name: entry.name.clone(), entry, target, is_directory });
    }
    Ok(rows)
}

async fn row_of(fs: &Fs, shown: TypedPath, stat: Stat) -> ListRow {
    let entry = entry_of(shown.path.file_name().unwrap_or("/"), &stat);
    let target = target_of(fs, &shown.path, stat.kind).await;
    let is_directory = refers_to_directory(fs, &shown.path, stat.kind).await;
    ListRow { path: shown.path, name: shown.typed.into(), entry, target, is_directory }
}

/// Reports whether an object is a directory, or a link to one.
async fn refers_to_directory(fs: &Fs, path: &VPath, kind: FileKind) -> bool {
    match kind {
        FileKind::Symlink => matches!(fs.stat(path).await, Ok(stat) if stat.is_directory()),
        kind => kind == FileKind::Directory,
    }
}

/// Returns the extension of a name with its dot, or an empty text.
fn extension(name: &str) -> &str {
    name.rfind('.').map_or("", |at| &name[at..])
}

async fn target_of(fs: &Fs, path: &VPath, kind: FileKind) -> Option<String> {
    // A link that was removed meanwhile is listed without its target.
    if kind == FileKind::Symlink { fs.readlink(path).await.ok() } else { None }
}

fn entry_of(name: &str, stat: &Stat) -> DirEntry {
    let mut entry = DirEntry::new(name, stat.id.clone(), stat.kind);
    (entry.size, entry.mtime, entry.mode) = (stat.size, stat.mtime, stat.mode);
    entry
}

fn sort_dirs(args: &LsArgs, dirs: &mut [(TypedPath, Stat)]) {
    match (args.by_time, args.by_size) {
        (true, _) => dirs.sort_by_key(|(dir, stat)| (Reverse(stat.mtime), dir.typed.clone())),
        _ => dirs.sort_by(|a, b| a.0.typed.cmp(&b.0.typed)),
    }
    if args.reverse {
        dirs.reverse();
    }
}

impl LsArgs {
    /// Reports whether sizes or times are shown, or decide the order.
    fn reads_sizes(&self) -> bool {
        self.long || self.by_size || self.by_time
    }

    /// Reports whether the names in a directory are all that is printed of it, one on each line and
    /// in their order.
    fn prints_only_names(&self, context: &CommandContext) -> bool {
        let out = &context.out;
        let is_marked = self.classify || self.slash || self.id || out.is_colored();
        let is_ordered = self.reverse || self.by_extension || self.group_directories_first;
        let is_selected = self.all || self.ignore_backups || self.dereference;
        let is_plain = !(out.json || out.is_terminal || self.reads_sizes());
        is_plain && !is_marked && !is_ordered && !is_selected
    }

    fn sort(&self, rows: &mut [ListRow]) {
        if self.unsorted {
            return;
        }
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        if self.by_extension {
            rows.sort_by_key(|row| extension(&row.name).to_owned());
        } else if self.by_size {
            rows.sort_by_key(|row| Reverse(row.entry.size));
        } else if self.by_time {
            rows.sort_by_key(|row| Reverse(row.entry.mtime));
        }
        if self.reverse {
            rows.reverse();
        }
        if self.group_directories_first {
            rows.sort_by_key(|row| !row.is_directory);
        }
    }

    fn print(&self, context: &mut CommandContext, rows: &[ListRow]) -> Result {
        if context.out.json {
            for row in rows {
                let mut value: Value = json::entry(row.path.as_str(), &row.entry);
                if let Some(target) = &row.target {
                    value["target"] = target.as_str().into();
                }
                context.out.json_line(&value)?;
            }
            return Ok(());
        }
        if self.long {
            return self.print_long(context, rows);
        }
        let cell = |row: &ListRow| {
            let mark = self.mark(row);
            let shown = match self.id {
                true => format_smolstr!("{} {}{mark}", row.entry.id, row.name),
                false if mark.is_empty() => row.name.clone(),
                false => format_smolstr!("{}{mark}", row.name),
            };
            (row.entry.kind, shown)
        };
        let cells: Vec<(FileKind, SmolStr)> = rows.iter().map(cell).collect();
        context.out.columns(&cells, self.one || self.id)
    }

    fn print_long(&self, context: &mut CommandContext, rows: &[ListRow]) -> Result {
        let size = |row: &ListRow| match self.human_readable {
            true => human_size(row.entry.size),
            false => row.entry.size.to_string(),
        };
        let width = rows.iter().map(|row| size(row).len()).max().unwrap_or(0);
        let now = parse_time::now();
        for row in rows {
            let id = if self.id { format!("{} ", row.entry.id) } else { String::new() };
            let mode = mode::format_mode(row.entry.kind, row.entry.mode);
            let time = parse_time::short(row.entry.mtime, now);
            let name = context.out.name(row.entry.kind, &row.name);
            let tail = match &row.target {
                Some(target) => format!(" -> {}", context.out.safe(target)),
                None => self.mark(row).to_owned(),
            };
            context.out.line(&format!("{id}{mode} {:>width$} {time} {name}{tail}", size(row)))?;
        }
        Ok(())
    }

    fn mark(&self, row: &ListRow) -> &'static str {
        match row.entry.kind {
            FileKind::Directory if self.classify || self.slash => "/",
            FileKind::Symlink if self.classify && !self.long => "@",
            FileKind::File if self.classify && row.entry.mode & 0o111 != 0 => "*",
            _ => "",
        }
    }
}
