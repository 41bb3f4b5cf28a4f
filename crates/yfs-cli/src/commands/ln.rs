//! `yfs ln`: creates symbolic links.

use clap::Args;
use serde_json::json;
use yfs_vfs::{FsError, Op, RemoveOptions};

use crate::{
    commands::transfer_operands::is_directory,
    context::{CommandContext, Fs},
    errors::Result,
    typed_path::TypedPath,
};

const HELP: &str = "\
Examples:
  yfs ln -s ../common/logo.png logo.png
  yfs ln -s target.md links           creates links/target.md if links is a directory
  yfs ln -sf v2 current               replaces a link

JSON: {path, target}.";

/// Create symbolic links
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LnArgs {
    /// The target of the link, which may be missing
    #[arg(value_name = "TARGET", allow_hyphen_values = true)]
    target: String,
    /// The path of the link; default: the target's name in /
    #[arg(value_name = "LINK")]
    link: Option<String>,
    /// Create a symbolic link; required, because there are no hard links
    #[arg(short, long)]
    symbolic: bool,
    /// Replace an existing file or link
    #[arg(short, long)]
    force: bool,
    /// Treat LINK as the path of the link, even if it is a directory
    #[arg(short = 'T', long, visible_short_alias = 'n')]
    no_target_directory: bool,
}

/// Creates the link.
pub(crate) async fn run(args: LnArgs, context: &mut CommandContext) -> Result {
    let fs = context.writer()?;
    let mut link = match &args.link {
        Some(link) => context.path(link)?,
        None => TypedPath::root(),
    };
    if !args.no_target_directory && is_directory(&fs, &link).await {
        let name = args.target.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if !matches!(name, "" | "." | "..") {
            link = link.join(name);
        }
    }
    if !args.symbolic {
        let existing = context.path(&args.target)?;
        fs.link(&existing.path, &link.path).await?;
        return Ok(());
    }
    if args.force {
        remove_existing(&fs, &link).await?;
    }
    fs.symlink(&args.target, &link.path).await?;
    if context.out.json {
        let value = json!({ "path": link.path.as_str(), "target": args.target });
        context.out.json_line(&value)?;
    }
    Ok(())
}

/// Removes a file or link at the link's path. Keeps a directory, so that creating the link fails.
async fn remove_existing(fs: &Fs, link: &TypedPath) -> Result<(), FsError> {
    match fs.lstat(&link.path).await {
        Ok(stat) if !stat.is_directory() => {
            let options = RemoveOptions { recursive: false, force: true };
            fs.rm(&link.path, &options).await.map_err(|error| error.during(Op::Symlink))
        }
        _ => Ok(()),
    }
}
