//! `yfs diff`: compares the workspace with a directory of this machine, or with an earlier time.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use yfs::{
    DifferenceKind, DirectoryComparison, ImportOptions,
    workspace::past::{PastContent, PastEntry, PastState},
};
use yfs_vfs::FileSystem;

use crate::{
    compare::{self, ComparedSides, changed_lines, painted_counts, text_of},
    discover,
    output::TextRole,
    prelude::*,
    settings,
};

const HELP: &str = "\
Without --from, compares the workspace (-) with the directory on disk (+): what `yfs import` or
`yfs mirror` would bring into the workspace. The directory is the one that contains .yfs, unless
--dir names another. Paths that .gitignore or .yfsignore exclude are not compared, nor are empty
directories and permission bits. Files of equal size and time are not read, unless --checksum.

With --from, compares the workspace at two times: from that time (-) to --to, or to now (+). Files
are listed under their present paths. To compare two versions of one file, use `yfs versions diff`.

TIME is a date, a time or an age, such as '2 days ago', 2h, yesterday, 2026-11-21 or '09:30'.

Examples:
  yfs diff                              what is different on disk
  yfs diff --dir ~/copy /docs
  yfs diff --from yesterday             what changed since yesterday
  yfs diff --from 2026-11-01 --to 2026-11-15 --stat

Exit status: 0; with --exit-code, 1 if there are differences.

JSON: one object per file: {path, change, added, removed, diff}. change is added, removed, changed
or retyped; added and removed are lines, or null if a side is no text.";

/// Compare the workspace with the directory on disk, or with an earlier time
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DiffArgs {
    /// Only these files, and what is below these directories
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// The directory of this machine to compare with
    #[arg(long, value_name = "DIR", conflicts_with_all = ["from", "to"])]
    dir: Option<PathBuf>,
    /// Compare the workspace from this time on
    #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option)]
    from: Option<Millis>,
    /// Compare the workspace up to this time
    #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option, requires = "from")]
    to: Option<Millis>,
    /// Mark changed words inside the lines
    #[arg(long, visible_alias = "word-diff")]
    word: bool,
    /// Print only the paths, with the kind of the difference
    #[arg(long, visible_alias = "name-status", conflicts_with = "word")]
    name_only: bool,
    /// Print only the numbers of added and removed lines
    #[arg(long, conflicts_with_all = ["word", "name_only"])]
    stat: bool,
    /// Read also the files of equal size and time
    #[arg(long)]
    checksum: bool,
    /// Exit with 1 if there are differences
    #[arg(long)]
    exit_code: bool,
}

/// A file that differs.
struct FileDifference {
    path: VPath,
    kind: DifferenceKind,
    /// The names and the contents of the two sides; a file that is missing is empty.
    names: [String; 2],
    contents: [Bytes; 2],
}

/// Prints the differences.
pub(crate) async fn run(args: DiffArgs, context: &mut CommandContext) -> Result {
    let mut below = Vec::with_capacity(args.paths.len());
    for path in &args.paths {
        below.push(context.path(path)?.path);
    }
    let is_selected =
        |path: &VPath| below.is_empty() || below.iter().any(|below| path.starts_with(below));
    let workspace = context.readable()?;
    let n_differences = match args.from {
        Some(from) => compare_times(&args, &workspace, from, &is_selected, context)?,
        None => {
            report_missing(&args, &workspace, &below, context).await?;
            compare_disk(&args, &workspace, &is_selected, context).await?
        }
    };
    if args.exit_code && n_differences > 0 {
        context.exit_with(1);
    }
    Ok(())
}

/// Returns the directory that a workspace is compared with, unless one is named: the one that
/// contains it.
pub(crate) fn own_directory(file: &Path) -> Option<&Path> {
    file.parent().filter(|dir| dir.ends_with(discover::DIR))?.parent()
}

/// Reports the paths that neither the workspace nor the directory has.
async fn report_missing(
    args: &DiffArgs,
    workspace: &Workspace,
    paths: &[VPath],
    context: &mut CommandContext,
) -> Result {
    let file = context.file()?;
    let directory = args.dir.as_deref().or_else(|| own_directory(&file));
    let fs = workspace.fs();
    for path in paths {
        let host = directory.map(|directory| directory.join(path.as_str().trim_start_matches('/')));
        if host.is_some_and(|host| host.symlink_metadata().is_ok()) {
            continue;
        }
        if let Err(error) = fs.lstat(path).await {
            context.fail(&error.into());
        }
    }
    Ok(())
}

/// Prints the differences from a directory, and returns their number.
async fn compare_disk(
    args: &DiffArgs,
    workspace: &Workspace,
    is_selected: &dyn Fn(&VPath) -> bool,
    context: &mut CommandContext,
) -> Result<usize> {
    let file = context.file()?;
    let directory = args.dir.as_deref().or_else(|| own_directory(&file)).ok_or_else(|| {
        CommandError::usage("the workspace is in no directory of its own; name one with --dir")
    })?;
    let options = ImportOptions {
        ignores: settings::ignores(),
        checksum: args.checksum,
        max_file_len: settings::max_size(),
        ..ImportOptions::default()
    };
    let comparison = DirectoryComparison::new(workspace, directory, &options)?;
    context.out.start_pager();
    for skipped in &comparison.skipped {
        let message = format!("{}: not compared: {}", skipped.path, skipped.why);
        context.fail(&CommandError::other(message));
    }
    let fs = workspace.fs();
    let mut n_differences = 0;
    for found in comparison.differences.iter().filter(|found| is_selected(&found.path)) {
        n_differences += 1;
        let own = |name: bool| if name { found.path.to_string() } else { "/dev/null".to_owned() };
        let is_there = found.kind != DifferenceKind::Added;
        let is_on_disk = found.kind != DifferenceKind::Removed;
        let names =
            [own(is_there), if is_on_disk { found.host.display().to_string() } else { own(false) }];
        let before = content_of(&fs, &found.path, is_there).await?;
        let after = if is_on_disk { host_content(&found.host)? } else { Bytes::new() };
        let (path, kind) = (found.path.clone(), found.kind);
        print(args, &FileDifference { path, kind, names, contents: [before, after] }, context)?;
    }
    Ok(n_differences)
}

/// Returns the content of an object of the workspace, if it is there; of a link, its target.
async fn content_of(fs: &dyn FileSystem, path: &VPath, is_there: bool) -> Result<Bytes> {
    if !is_there {
        return Ok(Bytes::new());
    }
    let stat = fs.lstat(path).await?;
    match stat.kind {
        FileKind::Symlink => Ok(fs.readlink(path).await?.into()),
        FileKind::File => Ok(fs.read(path).await?.data),
        _ => Ok(Bytes::new()),
    }
}

/// Returns the content of an object of this machine; of a link, its target.
fn host_content(path: &Path) -> Result<Bytes> {
    let fail = |error| CommandError::host(path, &error);
    let kind = path.symlink_metadata().map_err(fail)?.file_type();
    if kind.is_symlink() {
        let target = path.read_link().map_err(fail)?;
        return Ok(target.to_string_lossy().into_owned().into());
    }
    if kind.is_file() { Ok(std::fs::read(path).map_err(fail)?.into()) } else { Ok(Bytes::new()) }
}

/// Prints the differences of the workspace at two times, and returns their number.
fn compare_times(
    args: &DiffArgs,
    workspace: &Workspace,
    from: Millis,
    is_selected: &dyn Fn(&VPath) -> bool,
    context: &mut CommandContext,
) -> Result<usize> {
    let states =
        [workspace.history().state_at(Some(from))?, workspace.history().state_at(args.to)?];
    let times = [Some(from), args.to];
    context.out.start_pager();
    let mut n_differences = 0;
    let paths = states[0].entries().keys().chain(states[1].entries().keys());
    let paths: std::collections::BTreeSet<&VPath> =
        paths.filter(|path| is_selected(path)).collect();
    for path in paths {
        let sides = [0, 1].map(|side| compared(&states[side], path));
        let kind = match sides.map(|side| side.map(|entry| (&entry.id, entry.kind))) {
            [None, None] => continue,
            [None, Some(_)] => DifferenceKind::Added,
            [Some(_), None] => DifferenceKind::Removed,
            [Some((_, before)), Some((_, after))] if before != after => DifferenceKind::Retyped,
            _ if sides[0].map(content_id) == sides[1].map(content_id) => continue,
            _ => DifferenceKind::Changed,
        };
        let mut contents = [Bytes::new(), Bytes::new()];
        let mut names = ["/dev/null".to_owned(), "/dev/null".to_owned()];
        for (side, entry) in sides.iter().enumerate() {
            if let Some(entry) = entry {
                contents[side] = past_content(&states[side], entry, path)?;
                let time = times[side].map_or_else(|| "now".to_owned(), parse_time::long);
                names[side] = format!("{path} ({time})");
            }
        }
        if kind == DifferenceKind::Changed && contents[0] == contents[1] {
            continue;
        }
        n_differences += 1;
        print(args, &FileDifference { path: path.clone(), kind, names, contents }, context)?;
    }
    Ok(n_differences)
}

/// Returns the file or link at a path; directories are not compared.
fn compared<'a>(state: &'a PastState, path: &VPath) -> Option<&'a PastEntry> {
    state.entries().get(path).filter(|entry| entry.kind != FileKind::Directory)
}

/// Returns what identifies a content without reading it.
fn content_id(entry: &PastEntry) -> (&yfs_engine::id::FileId, &PastContent) {
    (&entry.id, &entry.content)
}

fn past_content(state: &PastState, entry: &PastEntry, path: &VPath) -> Result<Bytes> {
    match &entry.content {
        PastContent::Link(target) => Ok(target.clone().into()),
        _ => Ok(state.read(entry, path)?),
    }
}

/// Prints a file that differs, as the options say.
fn print(args: &DiffArgs, found: &FileDifference, context: &mut CommandContext) -> Result {
    let texts = found.texts();
    let counts = texts.map(|[before, after]| changed_lines(before, after));
    if context.out.json {
        let diff = texts.map(|texts| {
            let sides = ComparedSides { names: found.names.clone(), texts };
            compare::rendered(&sides, args.word)
        });
        return context.out.json_line(&json!({
            "path": found.path.as_str(),
            "change": found.kind.as_str(),
            "added": counts.map(|counts| counts[0]),
            "removed": counts.map(|counts| counts[1]),
            "diff": diff.filter(|_| !args.name_only && !args.stat),
        }));
    }
    let path = context.out.safe(found.path.as_str()).into_owned();
    if args.name_only {
        return context.out.line(&format!("{:<7}  {path}", found.kind.as_str()));
    }
    if args.stat {
        let counts = counts.map(|counts| painted_counts(counts, &context.out));
        let counts = counts.unwrap_or_else(|| "binary".to_owned());
        return context.out.line(&format!("{path}  {counts}"));
    }
    let Some(texts) = texts else {
        let [before, after] = &found.names;
        return context.out.line(&format!("Binary files {before} and {after} differ"));
    };
    let sides = ComparedSides { names: found.names.clone(), texts };
    if texts[0] == texts[1] {
        // An empty file was added or removed.
        let [before, after] = &found.names;
        return context.out.line(&format!("--- {before}\n+++ {after}"));
    }
    if args.word {
        let [before, after] = &found.names;
        let names = format!("--- {before}\n+++ {after}");
        context.out.line(&context.out.painted(TextRole::Heading, &names))?;
    }
    compare::print(context, &sides, args.word)
}

impl FileDifference {
    /// Returns the contents if both are text.
    fn texts(&self) -> Option<[&str; 2]> {
        Some([text_of(&self.contents[0])?, text_of(&self.contents[1])?])
    }
}
