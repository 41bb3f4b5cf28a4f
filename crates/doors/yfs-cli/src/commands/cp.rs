//! `yfs cp`: copies files and directories.

use clap::{Args, builder::Resettable};
use yfs_vfs::{CopyOptions, FileSystemExt, MkdirOptions, RemoveOptions, WalkOptions};

use crate::{
    commands::{
        confirm_prompt::quoted,
        transfer_operands::{PathTransfer, TransferArgs, require_found_directory},
    },
    prelude::*,
};

const HELP: &str = "\
A copy has the mode and time of its source, as with -p, and a new id. A file that the copy replaces
keeps its own mode, unless -p or -a is given.

Not supported: -l and -s (use `yfs ln -s`), -b (the replaced content is in `yfs versions`),
--attributes-only, --reflink, --sparse.

Examples:
  yfs cp a.md b.md
  yfs cp -r src backup              copies into backup if it is a directory
  yfs cp -r src/. backup            copies the content of src into backup
  yfs cp -rT src backup             copies to backup itself, merging directories
  yfs cp -rL src backup             copies what links refer to, not the links
  yfs cp -n a.md b.md               skips b.md if it exists
  yfs cp -uv a.md b.md docs         copies what is newer; prints what it copies

JSON: one object per line: {from, to}.";

/// Copy files and directories
#[derive(Debug, Args)]
#[command(after_help = HELP)]
// Of `-n`, `-i` and `-f`, `mv` uses the last. `cp` never replaces a file with -n, and asks with -i.
#[command(mut_arg("force", |arg| arg.overrides_with(Resettable::<clap::Id>::Reset)))]
#[command(mut_arg("no_clobber", |arg| {
    arg.overrides_with(Resettable::<clap::Id>::Reset).overrides_with("interactive")
}))]
#[command(mut_arg("interactive", |arg| {
    arg.overrides_with(Resettable::<clap::Id>::Reset).overrides_with("no_clobber")
}))]
pub(crate) struct CpArgs {
    #[command(flatten)]
    transfer: TransferArgs,
    /// Copy directories recursively; copy links as links
    #[arg(short, short_alias = 'R', long)]
    recursive: bool,
    /// The same as -r -P -p
    #[arg(short, long)]
    archive: bool,
    /// Copy links as links
    #[arg(short = 'P', long, short_alias = 'd', overrides_with = "dereference")]
    no_dereference: bool,
    /// Copy what links refer to
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Replace existing files: the default, and without effect on -n and -i
    #[arg(short, long, hide = true)]
    force: bool,
    /// Give replaced files the mode of the source
    #[arg(short = 'p', long)]
    preserve: bool,
    /// Copy to the full path of the source below the destination directory
    #[arg(long, conflicts_with = "no_target_directory")]
    parents: bool,
}

/// The mode of an existing file that a copy replaces.
type KeptMode = (VPath, u32);

impl CpArgs {
    fn copies_directories(&self) -> bool {
        self.recursive || self.archive
    }

    /// Reports whether a link that is an operand is copied as a link.
    fn keeps_links(&self) -> bool {
        !self.dereference && (self.no_dereference || self.copies_directories())
    }
}

/// Copies the files.
pub(crate) async fn run(args: CpArgs, context: &mut CommandContext) -> Result {
    args.transfer.operands()?;
    let fs = context.writer()?;
    for transfer in args.transfer.transfers(context, &fs).await? {
        let part = copy(&args, context, &fs, transfer).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn copy(
    args: &CpArgs,
    context: &mut CommandContext,
    fs: &Fs,
    transfer: PathTransfer,
) -> Result {
    let PathTransfer { from, mut to } = transfer;
    let op = |error: FsError| error.during(Op::Cp).to(&to.path);
    // A slash after the name of a link means the directory that it refers to.
    let follows = !args.keeps_links() || from.has_trailing_slash() || from.names_dots();
    let source =
        if follows { fs.realpath(&from.path).await.map_err(op)? } else { from.path.clone() };
    let stat = fs.lstat(&source).await.map_err(op)?;
    require_found_directory(fs, &from, Op::Cp).await?;
    if stat.is_directory() && !args.copies_directories() {
        let error = FsError::new(FsCode::EISDIR, Op::Cp, &from.path);
        return Err(CommandError::hinted(error, FsCode::EISDIR, "-r copies directories"));
    }
    if args.parents {
        to = full_destination(&args.transfer, context, fs, &from).await?;
    }
    if let Some(above) = to.path.parent() {
        fs.stat(&above).await.map_err(|error| error.during(Op::Cp))?;
    }
    let from = TypedPath { path: source, ..from };
    if stat.kind == FileKind::File {
        to = through_link(fs, to).await?;
    }
    let transfer = PathTransfer { from, to };
    if stat.is_directory() && !args.copies_directories() {
        let error = FsError::new(FsCode::EISDIR, Op::Cp, &transfer.from.path).to(&transfer.to.path);
        return Err(CommandError::hinted(error, FsCode::EISDIR, "-r copies directories"));
    }
    if args.transfer.skips(context, fs, &transfer).await? {
        return Ok(());
    }
    // A link has no mode of its own: setting it would change what the link refers to.
    let is_link = stat.kind == FileKind::Symlink;
    let keeps_modes = !is_link && !args.preserve && !args.archive && !args.transfer.no_clobber;
    let modes = if keeps_modes { modes_before(fs, &transfer).await? } else { Vec::new() };
    if args.dereference && stat.is_directory() && args.copies_directories() {
        copy_dereferenced(args, fs, &transfer).await?;
    } else if args.transfer.no_clobber {
        copy_new(fs, transfer.from.clone(), transfer.to.clone()).await?;
    } else {
        if is_link {
            remove_replaced(fs, &transfer).await?;
        }
        let recursive = args.copies_directories();
        let options = CopyOptions { recursive, replace: true, parents: false };
        fs.cp(&transfer.from.path, &transfer.to.path, &options).await?;
    }
    for (path, mode) in modes {
        if fs.lstat(&path).await.is_ok_and(|stat| stat.mode != mode) {
            fs.chmod(&path, mode).await?;
        }
    }
    print_copied(args, context, fs, &transfer).await?;
    transfer.report(context)
}

/// Removes the file or link that a copied link replaces.
async fn remove_replaced(fs: &Fs, transfer: &PathTransfer) -> Result {
    let PathTransfer { from, to } = transfer;
    let Ok(existing) = fs.lstat(&to.path).await else { return Ok(()) };
    if fs.lstat(&from.path).await?.id == existing.id {
        let (from, to) = (quoted(from), quoted(to));
        return Err(CommandError::other(format!("{from} and {to} are the same file")));
    }
    if !existing.is_directory() {
        fs.rm(&to.path, &RemoveOptions::default()).await?;
    }
    Ok(())
}

/// Returns the destination of `--parents`: the full path of the source below the destination.
/// Creates its parent directories.
async fn full_destination(
    args: &TransferArgs,
    context: &CommandContext,
    fs: &Fs,
    from: &TypedPath,
) -> Result<TypedPath> {
    let operands = args.operands()?;
    let mut to = context.path(operands.to)?;
    if !crate::commands::transfer_operands::is_directory(fs, &to).await {
        return Err(FsError::new(FsCode::ENOTDIR, Op::Cp, &to.path).into());
    }
    for name in from.path.components() {
        to = to.join(name);
    }
    if let Some(parent) = to.path.parent() {
        fs.mkdir(&parent, &MkdirOptions { recursive: true, mode: None }).await?;
    }
    Ok(to)
}

/// Returns the file that a link at the destination refers to, or the destination itself.
///
/// # Errors
///
/// If the link is dangling: GNU `cp` does not write through such a link either.
async fn through_link(fs: &Fs, to: TypedPath) -> Result<TypedPath> {
    match fs.lstat(&to.path).await {
        Ok(stat) if stat.kind == FileKind::Symlink => match fs.realpath(&to.path).await {
            Ok(path) => Ok(TypedPath { path, ..to }),
            Err(_) => Err(CommandError::other(format!(
                "not writing through the dangling link {}",
                quoted(&to)
            ))),
        },
        _ => Ok(to),
    }
}

/// Returns the modes of the existing files and directories that a copy replaces.
async fn modes_before(fs: &Fs, transfer: &PathTransfer) -> Result<Vec<KeptMode>, FsError> {
    let PathTransfer { from, to } = transfer;
    let mut modes = Vec::new();
    let Ok(existing) = fs.lstat(&to.path).await else { return Ok(modes) };
    if existing.kind == FileKind::Symlink || to.path.is_root() {
        return Ok(modes);
    }
    modes.push((to.path.clone(), existing.mode));
    if !existing.is_directory() || !fs.lstat(&from.path).await?.is_directory() {
        return Ok(modes);
    }
    for item in fs.walk(&to.path, &WalkOptions::default()).await? {
        if item.entry.kind != FileKind::Symlink {
            modes.push((item.path, item.entry.mode));
        }
    }
    Ok(modes)
}

/// Copies a directory and what the links in it refer to.
async fn copy_dereferenced(args: &CpArgs, fs: &Fs, transfer: &PathTransfer) -> Result {
    let options =
        CopyOptions { recursive: false, replace: !args.transfer.no_clobber, parents: false };
    let root = transfer.from.path.clone();
    // Each entry holds the real directories above it, so that a link to one of them ends the copy.
    let mut pending = vec![(root.clone(), transfer.to.path.clone(), vec![root])];
    while let Some((from, to, above)) = pending.pop() {
        if !fs.lstat(&from).await?.is_directory() {
            match fs.cp(&from, &to, &options).await {
                Err(error) if error.code == FsCode::EEXIST && !options.replace => (),
                copied => copied?,
            }
            continue;
        }
        if to.starts_with(&transfer.from.path) {
            return Err(FsError::new(FsCode::EINVAL, Op::Cp, &from).to(&to).into());
        }
        let mode = Some(fs.lstat(&from).await?.mode);
        fs.mkdir(&to, &MkdirOptions { recursive: true, mode }).await?;
        for entry in fs.readdir(&from).await? {
            let below = fs.realpath(&from.join(&entry.name)).await?;
            if above.contains(&below) {
                return Err(FsError::new(FsCode::ELOOP, Op::Cp, from.join(&entry.name)).into());
            }
            let above = above.iter().cloned().chain([below.clone()]).collect();
            pending.push((below, to.join(&entry.name), above));
        }
    }
    Ok(())
}

/// Copies files that do not exist yet, and merges directories.
async fn copy_new(fs: &Fs, from: TypedPath, to: TypedPath) -> Result<(), FsError> {
    let options = CopyOptions { recursive: true, replace: false, parents: false };
    let mut pending = vec![(from, to)];
    while let Some((from, to)) = pending.pop() {
        match fs.cp(&from.path, &to.path, &options).await {
            Err(error) if error.code == FsCode::EEXIST => (),
            copied => {
                copied?;
                continue;
            }
        }
        let both = [fs.lstat(&from.path).await?.kind, fs.lstat(&to.path).await?.kind];
        if both == [FileKind::Directory; 2] {
            let below = fs.readdir(&from.path).await?;
            pending
                .extend(below.iter().map(|entry| (from.join(&entry.name), to.join(&entry.name))));
        }
    }
    Ok(())
}

/// Prints the copied paths, with `-v`.
async fn print_copied(
    args: &CpArgs,
    context: &mut CommandContext,
    fs: &Fs,
    transfer: &PathTransfer,
) -> Result {
    if !args.transfer.verbose || context.out.json {
        return Ok(());
    }
    let mut lines = vec![transfer.describe()];
    if fs.lstat(&transfer.from.path).await?.is_directory() {
        for item in fs.walk(&transfer.from.path, &WalkOptions::default()).await? {
            let below = item.path.relative_to(&transfer.from.path).unwrap_or_default();
            let (from, to) = (transfer.from.below(&item.path), &transfer.to.typed);
            lines.push(format!("'{from}' -> '{}/{below}'", to.trim_end_matches('/')));
        }
    }
    for line in lines {
        context.out.safe_line(&line)?;
    }
    Ok(())
}
