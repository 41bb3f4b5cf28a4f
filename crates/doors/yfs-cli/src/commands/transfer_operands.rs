//! The destinations of `mv`, `cp` and `ln`: as in POSIX, into a directory that exists, otherwise at
//! the path itself.

use crate::{
    commands::confirm_prompt::{confirm, quoted},
    prelude::*,
};

/// The arguments that `mv` and `cp` share.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The sources, followed by the destination
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Skip existing files
    #[arg(short, long, overrides_with_all = ["interactive", "force"])]
    pub(crate) no_clobber: bool,
    /// Ask before replacing an existing file
    #[arg(short, long, overrides_with_all = ["no_clobber", "force"])]
    interactive: bool,
    /// Skip existing files that are not older than the source
    #[arg(short, long)]
    update: bool,
    /// Print the paths of each file
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// The directory to transfer into; all operands are sources
    #[arg(short, long, value_name = "DIR", conflicts_with = "no_target_directory")]
    target_directory: Option<String>,
    /// Do not treat the destination as a directory to move or copy into
    #[arg(short = 'T', long)]
    no_target_directory: bool,
}

/// The operands of a transfer.
#[derive(Debug)]
pub(crate) struct TransferOperands<'a> {
    /// The sources, as typed.
    pub(crate) sources: &'a [String],
    /// The destination, as typed.
    pub(crate) to: &'a str,
    /// Whether the destination must be a directory (`-t`).
    pub(crate) into: bool,
    /// Whether the destination is never a directory to transfer into (`-T`).
    pub(crate) as_itself: bool,
}

/// A source and its destination.
#[derive(Debug)]
pub(crate) struct PathTransfer {
    /// The source.
    pub(crate) from: TypedPath,
    /// The destination.
    pub(crate) to: TypedPath,
}

impl TransferArgs {
    /// Separates the sources from the destination.
    pub(crate) fn operands(&self) -> Result<TransferOperands<'_>> {
        separate_operands(&self.paths, self.target_directory.as_deref(), self.no_target_directory)
    }

    /// Pairs the operands.
    pub(crate) async fn transfers(
        &self,
        context: &mut CommandContext,
        fs: &Fs,
    ) -> Result<Vec<PathTransfer>> {
        pair_operands(context, fs, &self.operands()?).await
    }

    /// Reports whether `-u` or the answer to `-i` skips a transfer.
    pub(crate) async fn skips(
        &self,
        context: &mut CommandContext,
        fs: &Fs,
        transfer: &PathTransfer,
    ) -> Result<bool> {
        let Ok(existing) = fs.lstat(&transfer.to.path).await else { return Ok(false) };
        if self.update && !existing.is_directory() {
            let source = fs.lstat(&transfer.from.path).await?;
            if existing.mtime >= source.mtime && !source.is_directory() {
                return Ok(true);
            }
        }
        if self.interactive && !existing.is_directory() {
            return Ok(!confirm(context, &format!("overwrite {}", quoted(&transfer.to)))?);
        }
        Ok(false)
    }
}

impl PathTransfer {
    /// Prints a JSON line for a completed transfer, if JSON is requested.
    pub(crate) fn report(&self, context: &mut CommandContext) -> Result {
        if context.out.json {
            let (from, to) = (self.from.path.as_str(), self.to.path.as_str());
            context.out.json_line(&json!({ "from": from, "to": to }))?;
        }
        Ok(())
    }

    /// Returns the transfer as `-v` prints it: `'a' -> 'b'`.
    pub(crate) fn describe(&self) -> String {
        format!("{} -> {}", quoted(&self.from), quoted(&self.to))
    }
}

/// Separates the sources from the destination, which is the last operand unless `-t` names it.
pub(crate) fn separate_operands<'a>(
    operands: &'a [String],
    target_directory: Option<&'a str>,
    as_itself: bool,
) -> Result<TransferOperands<'a>> {
    if let Some(to) = target_directory {
        return Ok(TransferOperands { sources: operands, to, into: true, as_itself: false });
    }
    match operands {
        [] => Err(CommandError::usage("missing operand")),
        [from] => Err(CommandError::usage(format!("missing destination after '{from}'"))),
        [.., last] if as_itself && operands.len() > 2 => {
            Err(CommandError::usage(format!("extra operand '{last}'")))
        }
        [sources @ .., to] => Ok(TransferOperands { sources, to, into: false, as_itself }),
    }
}

/// Pairs sources with destinations.
pub(crate) async fn pair_operands(
    context: &mut CommandContext,
    fs: &Fs,
    operands: &TransferOperands<'_>,
) -> Result<Vec<PathTransfer>> {
    let TransferOperands { sources, to: last, into, as_itself } = *operands;
    let to = context.path(last)?;
    let is_directory = !as_itself && is_directory(fs, &to).await;
    if !is_directory && (into || sources.len() > 1 || last.ends_with('/') && !as_itself) {
        let existing = fs.stat(&to.path).await;
        let reason = if existing.is_ok() { "Not a directory" } else { "No such file or directory" };
        // The new name of a directory may end in a slash; that of a file may not.
        let names_directory = !into && sources.len() == 1 && existing.is_err() && {
            let from = context.path(&sources[0])?;
            matches!(fs.lstat(&from.path).await, Ok(stat) if stat.is_directory())
        };
        if !names_directory {
            return Err(CommandError::other(format!("{last}: {reason}")));
        }
    }
    let mut transfers = Vec::with_capacity(sources.len());
    for from in context.paths(sources) {
        let to = match from.path.file_name() {
            // The name of `src/.` is `.`, so its content is what goes into the directory.
            Some(name) if is_directory && !from.names_dots() => to.join(name),
            _ => to.clone(),
        };
        transfers.push(PathTransfer { from, to });
    }
    Ok(transfers)
}

/// Reports whether a directory exists at a path, also through a link.
pub(crate) async fn is_directory(fs: &Fs, path: &TypedPath) -> bool {
    matches!(fs.stat(&path.path).await, Ok(stat) if stat.kind == FileKind::Directory)
}

/// Fails with `ENOTDIR` if a path ends with a slash and is not a directory itself.
pub(crate) async fn require_directory(fs: &Fs, path: &TypedPath, op: Op) -> Result<(), FsError> {
    if path.has_trailing_slash() && !fs.lstat(&path.path).await?.is_directory() {
        return Err(FsError::new(FsCode::ENOTDIR, op, &path.path));
    }
    Ok(())
}

/// Fails with `ENOTDIR` if a path ends with a slash and does not lead to a directory, also through
/// a link. A path that leads nowhere is not checked.
pub(crate) async fn require_found_directory(
    fs: &Fs,
    path: &TypedPath,
    op: Op,
) -> Result<(), FsError> {
    if path.has_trailing_slash() && fs.stat(&path.path).await.is_ok_and(|stat| !stat.is_directory())
    {
        return Err(FsError::new(FsCode::ENOTDIR, op, &path.path));
    }
    Ok(())
}
