//! `yfs ln`: creates symbolic links.

use yfs_vfs::RemoveOptions;

use crate::{
    commands::{
        confirm_prompt::confirm,
        transfer_operands::{is_directory, separate_operands},
    },
    prelude::*,
};

const HELP: &str = "\
There are no hard links, so -s is required.

Examples:
  yfs ln -s ../common/logo.png logo.png
  yfs ln -s a.md b.md links           creates links/a.md and links/b.md
  yfs ln -sr docs/a.md links/a.md     the target becomes ../docs/a.md
  yfs ln -sf v2 current               replaces a link to a file
  yfs ln -sfn v2 current              replaces a link to a directory

JSON: one object per line: {path, target}.";

/// Create symbolic links
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LnArgs {
    /// The targets, which may be missing, followed by the link or its directory; default: /
    #[arg(value_name = "TARGET", required = true)]
    operands: Vec<String>,
    /// Create a symbolic link; required, because there are no hard links
    #[arg(short, long)]
    symbolic: bool,
    /// Replace an existing file or link
    #[arg(short, long)]
    force: bool,
    /// Ask before replacing an existing file or link
    #[arg(short, long, conflicts_with = "force")]
    interactive: bool,
    /// Make the target relative to the directory of the link
    #[arg(short, long)]
    relative: bool,
    /// Treat the last operand as the path of the link, even if it is a directory
    #[arg(short = 'T', long)]
    no_target_directory: bool,
    /// Treat the last operand as the path of the link if it is a link to a directory
    #[arg(short = 'n', long)]
    no_dereference: bool,
    /// The directory to create the links in; all operands are targets
    #[arg(short, long, value_name = "DIR", conflicts_with = "no_target_directory")]
    target_directory: Option<String>,
    /// Print the links
    #[arg(short, long)]
    verbose: bool,
}

/// Creates the links.
pub(crate) async fn run(args: LnArgs, context: &mut CommandContext) -> Result {
    let in_root = args.operands.len() == 1 && !args.no_target_directory;
    let directory = args.target_directory.as_deref().or(in_root.then_some("/"));
    let operands = separate_operands(&args.operands, directory, args.no_target_directory)?;
    let fs = context.writer()?;
    let last = context.path(operands.to)?;
    let is_link = args.no_dereference
        && matches!(fs.lstat(&last.path).await, Ok(stat) if !stat.is_directory());
    let is_directory = !args.no_target_directory && !is_link && is_directory(&fs, &last).await;
    if !is_directory && (operands.into || operands.sources.len() > 1) {
        return Err(FsError::new(FsCode::ENOTDIR, Op::Symlink, &last.path).into());
    }
    for target in operands.sources {
        let name = target.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let link = match name {
            "" | "." | ".." => last.clone(),
            name if is_directory => last.join(name),
            _ => last.clone(),
        };
        let part = create_link(&args, context, &fs, target, &link).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn create_link(
    args: &LnArgs,
    context: &mut CommandContext,
    fs: &Fs,
    target: &str,
    link: &TypedPath,
) -> Result {
    if !args.symbolic {
        let existing = context.path(target)?;
        return match fs.link(&existing.path, &link.path).await {
            Err(error) if error.code == FsCode::ENOSYS => Err(CommandError::other(format!(
                "{target}: there are no hard links; use `yfs ln -s`, or copy it with `yfs cp`"
            ))),
            linked => Ok(linked?),
        };
    }
    let parent = link.path.parent().unwrap_or_else(VPath::root);
    fs.stat(&parent).await.map_err(|error| error.during(Op::Symlink))?;
    if (args.force || args.interactive)
        && let Ok(existing) = fs.lstat(&link.path).await
        && let Ok(named) = context.path(target)
        && fs.lstat(&named.path).await.is_ok_and(|stat| stat.id == existing.id)
    {
        let message = format!("'{target}' and '{}' are the same file", link.typed);
        return Err(CommandError::other(message));
    }
    if args.interactive && fs.lstat(&link.path).await.is_ok() {
        if !confirm(context, &format!("replace '{}'", link.typed))? {
            return Ok(());
        }
        remove_existing(fs, link).await?;
    }
    if args.force {
        remove_existing(fs, link).await?;
    }
    let target = match args.relative {
        true => relative_target(fs, &context.path(target)?, link).await,
        false => target.to_owned(),
    };
    fs.symlink(&target, &link.path).await?;
    if context.out.json {
        context.out.json_line(&json!({ "path": link.path.as_str(), "target": target }))?;
    } else if args.verbose {
        let line = format!("'{}' -> '{target}'", link.typed);
        context.out.safe_line(&line)?;
    }
    Ok(())
}

/// Returns the target of a link relative to the directory of the link. Links above either path are
/// resolved, as far as they exist.
async fn relative_target(fs: &Fs, target: &TypedPath, link: &TypedPath) -> String {
    let target = real_or_same(fs, target.path.clone()).await;
    let parent = link.path.parent().unwrap_or_else(VPath::root);
    let parent = real_or_same(fs, parent).await;
    let (target, parent): (Vec<&str>, Vec<&str>) =
        (target.components().collect(), parent.components().collect());
    let n_shared = target.iter().zip(&parent).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", parent.len() - n_shared);
    let parts: Vec<&str> = up.chain(target[n_shared..].iter().copied()).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

async fn real_or_same(fs: &Fs, path: VPath) -> VPath {
    fs.realpath(&path).await.unwrap_or(path)
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
