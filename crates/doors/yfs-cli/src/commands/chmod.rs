//! `yfs chmod`: sets permission bits, which are stored and shown but not enforced.

use yfs_vfs::{FileSystemExt, WalkOptions};

use crate::{
    commands::transfer_operands::require_found_directory,
    mode::{ModeChange, format_mode},
    prelude::*,
};

const HELP: &str = "\
The bits are stored and shown, but not enforced. The root has no bits: -R / changes what is below
it. `export` and `mirror` write no setuid, setgid or sticky bit to a disk.

Examples:
  yfs chmod 755 run.sh
  yfs chmod +x run.sh
  yfs chmod -R go-w,u+X site
  yfs chmod -v --reference=a.sh b.sh    the bits of a.sh; prints the change

JSON: one object per line: {path, mode}.";

/// Set permission bits
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ChmodArgs {
    #[arg(
        help = "The bits: octal, or symbolic as [ugoa][+-=][rwxXst],...",
        value_name = "MODE",
        allow_hyphen_values = true
    )]
    mode: String,
    /// The files to change
    #[arg(value_name = "PATH", required_unless_present = "reference")]
    paths: Vec<String>,
    /// Change directories recursively
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Use the bits of this file; all operands are files to change
    #[arg(long, value_name = "PATH")]
    reference: Option<String>,
    /// Print the mode of each file
    #[arg(short, long)]
    verbose: bool,
    /// Print the mode of each file that changed
    #[arg(short, long)]
    changes: bool,
    /// Report no errors
    #[arg(short = 'f', long)]
    silent: bool,
}

/// A file whose bits are to change.
struct ModeTarget {
    path: TypedPath,
    before: u32,
    kind: FileKind,
}

/// Changes the modes of the files.
pub(crate) async fn run(mut args: ChmodArgs, context: &mut CommandContext) -> Result {
    let fs = context.writer()?;
    let change = match &args.reference {
        Some(reference) => {
            args.paths.insert(0, std::mem::take(&mut args.mode));
            ModeChange::Set(fs.stat(&context.path(reference)?.path).await?.mode)
        }
        None => ModeChange::parse(&args.mode).map_err(CommandError::Usage)?,
    };
    for path in context.paths(&args.paths) {
        let part = change_all(&args, context, &fs, path, &change).await;
        if !args.silent || part.is_ok() {
            context.continue_after(part)?;
        } else {
            context.exit_with(crate::errors::EXIT_FAILED);
        }
    }
    Ok(())
}

async fn change_all(
    args: &ChmodArgs,
    context: &mut CommandContext,
    fs: &Fs,
    path: TypedPath,
    change: &ModeChange,
) -> Result {
    require_found_directory(fs, &path, Op::Chmod).await?;
    let stat = fs.stat(&path.path).await?;
    let below = match args.recursive && stat.is_directory() {
        true => {
            fs.walk(&path.path, &WalkOptions { measured: false, ..WalkOptions::default() }).await?
        }
        false => Vec::new(),
    };
    if !(args.recursive && path.path.is_root()) {
        let target = ModeTarget { path: path.clone(), before: stat.mode, kind: stat.kind };
        change_one(args, context, fs, &target, change).await?;
    }
    for item in below.into_iter().filter(|item| item.entry.kind != FileKind::Symlink) {
        let target = ModeTarget {
            path: TypedPath::new(&path.below(&item.path), item.path.clone()),
            before: item.entry.mode,
            kind: item.entry.kind,
        };
        let part = change_one(args, context, fs, &target, change).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn change_one(
    args: &ChmodArgs,
    context: &mut CommandContext,
    fs: &Fs,
    target: &ModeTarget,
    change: &ModeChange,
) -> Result {
    let ModeTarget { path, before, kind } = target;
    let mode = change.apply(*before, *kind == FileKind::Directory);
    if mode != *before {
        fs.chmod(&path.path, mode).await?;
    }
    if context.out.json {
        return context
            .out
            .json_line(&json!({ "path": path.path.as_str(), "mode": json::octal(mode) }));
    }
    let line = match mode == *before {
        true if args.verbose => format!("mode of '{}' retained as {}", path.typed, bits(mode)),
        false if args.verbose || args.changes => {
            format!("mode of '{}' changed from {} to {}", path.typed, bits(*before), bits(mode))
        }
        _ => return Ok(()),
    };
    context.out.safe_line(&line)
}

/// Formats bits as GNU `chmod -v` does: `0644 (rw-r--r--)`.
fn bits(mode: u32) -> String {
    format!("{mode:04o} ({})", &format_mode(FileKind::File, mode)[1..])
}
