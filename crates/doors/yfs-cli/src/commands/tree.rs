//! `yfs tree`: shows a directory as a tree.

use yfs_vfs::{FileSystemExt, WalkEntry, WalkOptions};

use crate::prelude::*;

const HELP: &str = "\
Examples:
  yfs tree                all names that do not begin with a dot
  yfs tree -L 2 docs      two levels of /docs
  yfs tree -d             directories only

JSON: one nested object: {path, name, id, kind, size, mode, mtime[, children]}.";

/// Show a directory as a tree
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TreeArgs {
    /// The directory to show; default: /
    #[arg(value_name = "PATH", default_value = "/", hide_default_value = true)]
    path: String,
    /// Also show names that begin with a dot
    #[arg(short, long)]
    all: bool,
    /// Show only directories
    #[arg(short, long)]
    dirs_only: bool,
    /// Show at most N levels
    #[arg(short = 'L', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    level: Option<u64>,
}

/// Draws the tree.
pub(crate) async fn run(args: TreeArgs, context: &mut CommandContext) -> Result {
    let fs = context.reader()?;
    let root = context.path(&args.path)?;
    let max_depth = args.level.map_or(usize::MAX, |level| level as usize);
    let (hidden, kinds_only) = (args.all, !context.out.json);
    let options = WalkOptions { max_depth, hidden, kinds_only, ..WalkOptions::default() };
    let mut entries = fs.walk(&root.path, &options).await?;
    entries.retain(|item| !args.dirs_only || item.entry.kind == FileKind::Directory);
    if context.out.json {
        return print_json(context, &fs, &root, entries).await;
    }
    draw(context, &fs, &root, &entries).await
}

async fn draw(
    context: &mut CommandContext,
    fs: &Fs,
    root: &TypedPath,
    entries: &[WalkEntry],
) -> Result {
    let heading = context.out.name(FileKind::Directory, &root.typed);
    context.out.line(&heading)?;
    let depths: Vec<usize> = entries.iter().map(|item| depth(root, item)).collect();
    let is_last = last_of_siblings(&depths);
    let mut open: Vec<bool> = Vec::new();
    let (mut n_dirs, mut n_files) = (0, 0);
    for (at, WalkEntry { path, entry, .. }) in entries.iter().enumerate() {
        open.truncate(depths[at] - 1);
        let mut line: String =
            open.iter().map(|is_open| if *is_open { "│   " } else { "    " }).collect();
        line.push_str(if is_last[at] { "└── " } else { "├── " });
        line.push_str(&context.out.name(entry.kind, &entry.name));
        if entry.kind == FileKind::Symlink
            && let Ok(target) = fs.readlink(path).await
        {
            line.push_str(&format!(" -> {}", context.out.safe(&target)));
        }
        context.out.line(&line)?;
        open.push(!is_last[at]);
        *(if entry.kind == FileKind::Directory { &mut n_dirs } else { &mut n_files }) += 1;
    }
    let dirs = counted(n_dirs, "directory", "directories");
    context.out.line(&format!("\n{dirs}, {}", counted(n_files, "file", "files")))
}

/// Returns for each entry of a preorder listing whether it is the last of its directory.
fn last_of_siblings(depths: &[usize]) -> Vec<bool> {
    let mut is_last = vec![false; depths.len()];
    // Whether a sibling follows, by depth.
    let mut follows: Vec<bool> = Vec::new();
    for (at, depth) in depths.iter().enumerate().rev() {
        follows.truncate(depth + 1);
        follows.resize(depth + 1, false);
        is_last[at] = !std::mem::replace(&mut follows[*depth], true);
    }
    is_last
}

fn depth(root: &TypedPath, entry: &WalkEntry) -> usize {
    entry.path.components().count() - root.path.components().count()
}

async fn print_json(
    context: &mut CommandContext,
    fs: &Fs,
    root: &TypedPath,
    entries: Vec<WalkEntry>,
) -> Result {
    let mut top = json::stat(root.path.as_str(), &fs.stat(&root.path).await?, None);
    top["children"] = json!([]);
    // The directories whose children are being added, from the root down.
    let mut open: Vec<Value> = vec![top];
    for item in entries {
        close_objects(&mut open, depth(root, &item));
        let mut value = json::entry(item.path.as_str(), &item.entry);
        match item.entry.kind {
            FileKind::Directory => value["children"] = json!([]),
            FileKind::Symlink => value["target"] = fs.readlink(&item.path).await.ok().into(),
            _ => (),
        }
        open.push(value);
    }
    close_objects(&mut open, 1);
    match open.pop() {
        Some(top) => context.out.json_line(&top),
        None => Ok(()),
    }
}

/// Adds completed objects to their parents until `depth` are open.
fn close_objects(open: &mut Vec<Value>, depth: usize) {
    while open.len() > depth {
        let (Some(done), Some(parent)) = (open.pop(), open.last_mut()) else { return };
        if let Some(children) = parent["children"].as_array_mut() {
            children.push(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sibling_is_found() {
        // a, a/b, a/c, d
        assert_eq!(last_of_siblings(&[1, 2, 2, 1]), [false, false, true, true]);
        // a, a/b, a/b/c, a/d
        assert_eq!(last_of_siblings(&[1, 2, 3, 2]), [true, false, true, true]);
    }
}
