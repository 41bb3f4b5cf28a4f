//! The destinations of `mv`, `cp` and `ln`: as in POSIX, into a directory that exists, otherwise at
//! the path itself.

use clap::Args;
use serde_json::json;
use yfs_vfs::FileKind;

use crate::{
    context::{CommandContext, Fs},
    errors::{CommandError, Result},
    typed_path::TypedPath,
};

/// The arguments that `mv` and `cp` share.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The sources, followed by the destination
    #[arg(value_name = "PATH", num_args = 2.., required = true)]
    paths: Vec<String>,
    /// Skip existing files
    #[arg(short, long)]
    pub(crate) no_clobber: bool,
    /// Do not treat the destination as a directory to move or copy into
    #[arg(short = 'T', long)]
    no_target_directory: bool,
    /// Accepted for compatibility: the command never asks for confirmation
    #[arg(short, long, hide = true)]
    force: bool,
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
    /// Pairs the operands.
    pub(crate) async fn transfers(
        &self,
        context: &mut CommandContext,
        fs: &Fs,
    ) -> Result<Vec<PathTransfer>> {
        pair_operands(context, fs, &self.paths, self.no_target_directory).await
    }
}

impl PathTransfer {
    /// Prints a JSON line for a completed transfer, if JSON is requested.
    pub(crate) fn report(&self, context: &mut CommandContext) -> Result {
        if context.out.json {
            let (from, to) = (self.from.path.as_str(), self.to.path.as_str());
            let value = json!({ "from": from, "to": to });
            context.out.json_line(&value)?;
        }
        Ok(())
    }
}

/// Pairs sources with destinations; the last operand is the destination.
///
/// With `as_itself` (`-T`), the last operand is never a directory to transfer into.
pub(crate) async fn pair_operands(
    context: &mut CommandContext,
    fs: &Fs,
    operands: &[String],
    as_itself: bool,
) -> Result<Vec<PathTransfer>> {
    let (last, sources) =
        operands.split_last().ok_or_else(|| CommandError::usage("missing operand"))?;
    let to = context.path(last)?;
    let is_directory = !as_itself && is_directory(fs, &to).await;
    if as_itself && sources.len() > 1 {
        return Err(CommandError::usage(format!("extra operand '{last}'")));
    }
    if !is_directory && (sources.len() > 1 || last.ends_with('/') && !as_itself) {
        let existing = fs.stat(&to.path).await;
        let reason = if existing.is_ok() { "Not a directory" } else { "No such file or directory" };
        // The new name of a directory may end in a slash; that of a file may not.
        let names_directory = sources.len() == 1 && existing.is_err() && {
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
            Some(name) if is_directory => to.join(name),
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
