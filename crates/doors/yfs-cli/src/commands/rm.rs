//! `yfs rm`: moves files to the trash.

use yfs_vfs::{FileSystemExt, RemoveOptions, Stat, WalkOptions};

use crate::{
    commands::{
        confirm_prompt::{confirm, quoted},
        transfer_operands::require_directory,
    },
    prelude::*,
};

const HELP: &str = "\
Removed files go to the trash; see `yfs help trash`. With -i, a directory is one question.

Examples:
  yfs rm old.md
  yfs rm -r build
  yfs rm -rv build          prints what it removes
  yfs rm -i a.md b.md       asks before each removal
  yfs rm -f maybe.txt       no error if it is missing

JSON: one object per line: {path, removed}.";

/// Move files to the trash
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RmArgs {
    /// The files to remove
    #[arg(value_name = "PATH", required_unless_present = "force")]
    paths: Vec<String>,
    /// Remove directories recursively
    #[arg(short, long, short_alias = 'R')]
    recursive: bool,
    /// Also remove empty directories
    #[arg(short, long)]
    dir: bool,
    /// Ignore missing files, and ask nothing
    #[arg(short, long, overrides_with_all = ["interactive", "once"])]
    force: bool,
    /// Ask before each removal
    #[arg(short, long, overrides_with_all = ["force", "once"])]
    interactive: bool,
    /// Ask once if there are more than three operands, or with -r
    #[arg(short = 'I', overrides_with_all = ["force", "interactive"])]
    once: bool,
    /// Print what is removed
    #[arg(short, long)]
    verbose: bool,
}

/// Removes the files.
pub(crate) async fn run(args: RmArgs, context: &mut CommandContext) -> Result {
    let fs = context.writer()?;
    let paths = context.paths(&args.paths);
    if args.once && (paths.len() > 3 || args.recursive) {
        let n_paths = counted(paths.len() as u64, "argument", "arguments");
        let how = if args.recursive { " recursively" } else { "" };
        if !confirm(context, &format!("remove {n_paths}{how}"))? {
            return Ok(());
        }
    }
    for path in paths {
        let part = remove(&args, context, &fs, &path).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn remove(args: &RmArgs, context: &mut CommandContext, fs: &Fs, path: &TypedPath) -> Result {
    if path.names_dots() && !path.path.is_root() {
        return Err(CommandError::other(format!("refusing to remove '.' or '..': {}", path.typed)));
    }
    let stat = fs.lstat(&path.path).await;
    if stat.is_ok() {
        require_directory(fs, path, Op::Rm).await?;
    }
    let is_directory = matches!(&stat, Ok(stat) if stat.is_directory());
    if !args.recursive && !args.dir && is_directory {
        // The filesystem would remove an empty directory; `rm` does not.
        let error = FsError::new(FsCode::EISDIR, Op::Rm, &path.path);
        return Err(CommandError::hinted(error, FsCode::EISDIR, "-r removes directories"));
    }
    let lines = match &stat {
        Ok(stat) if args.verbose || args.interactive => removed_lines(fs, path, stat).await?,
        _ => Vec::new(),
    };
    if let Ok(stat) = &stat
        && args.interactive
        && !confirm(context, &question(path, stat, lines.len()))?
    {
        return Ok(());
    }
    let was_there = !args.force || stat.is_ok();
    let options = RemoveOptions { recursive: args.recursive, force: args.force };
    fs.rm(&path.path, &options).await?;
    if context.out.json {
        context.out.json_line(&json!({ "path": path.path.as_str(), "removed": was_there }))?;
    } else if args.verbose {
        for line in lines {
            context.out.safe_line(&line)?;
        }
    }
    Ok(())
}

/// Returns the question of `-i`.
fn question(path: &TypedPath, stat: &Stat, n_entries: usize) -> String {
    let kind = match stat.kind {
        FileKind::Directory => "directory",
        FileKind::Symlink => "symbolic link",
        _ if stat.size == 0 => "regular empty file",
        _ => "regular file",
    };
    let more = match n_entries.saturating_sub(1) as u64 {
        0 => String::new(),
        n_below => format!(" and {} in it", counted(n_below, "entry", "entries")),
    };
    format!("remove {kind} {}{more}", quoted(path))
}

/// Returns the lines of `-v` for an operand: the content of a directory comes before it.
async fn removed_lines(fs: &Fs, path: &TypedPath, stat: &Stat) -> Result<Vec<String>, FsError> {
    let line = |kind: FileKind, shown: &str| match kind {
        FileKind::Directory => format!("removed directory '{shown}'"),
        _ => format!("removed '{shown}'"),
    };
    let mut lines = vec![line(stat.kind, &path.typed)];
    if stat.is_directory() {
        let options = WalkOptions { kinds_only: true, ..WalkOptions::default() };
        for item in fs.walk(&path.path, &options).await? {
            lines.push(line(item.entry.kind, &path.below(&item.path)));
        }
    }
    lines.reverse();
    Ok(lines)
}
