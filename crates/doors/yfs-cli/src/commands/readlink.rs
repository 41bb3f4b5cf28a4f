//! `yfs readlink`: prints the targets of links.

use crate::prelude::*;

const HELP: &str = "\
Examples:
  yfs readlink current             the target of the link
  yfs readlink -f current/a.md     the path with all links resolved

JSON: one object per line: {path, target}.";

/// Print the target of a symbolic link
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReadlinkArgs {
    /// The links to read
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Resolve all links of the path; its last component may be missing
    #[arg(short = 'f', long)]
    canonicalize: bool,
    /// Print no newline after the last target
    #[arg(short, long)]
    no_newline: bool,
}

/// Prints the targets.
pub(crate) async fn run(args: ReadlinkArgs, context: &mut CommandContext) -> Result {
    let fs = context.reader()?;
    for path in context.paths(&args.paths) {
        let target = match args.canonicalize {
            true => canonicalize(&fs, &path).await,
            false => fs.readlink(&path.path).await,
        };
        match target {
            Ok(target) if context.out.json => {
                context.out.json_line(&json!({ "path": path.path.as_str(), "target": target }))?;
            }
            Ok(target) => {
                let target = context.out.safe(&target).into_owned();
                context.out.raw(target.as_bytes())?;
                if !args.no_newline || args.paths.len() > 1 {
                    context.out.raw(b"\n")?;
                }
            }
            Err(error) => context.fail(&error.into()),
        }
    }
    Ok(())
}

async fn canonicalize(fs: &Fs, path: &TypedPath) -> Result<String, FsError> {
    match (fs.realpath(&path.path).await, path.path.parent(), path.path.file_name()) {
        (Err(error), Some(parent), Some(name)) if error.code == FsCode::ENOENT => {
            // Other tools follow a dangling link as far as possible; here it is an error.
            if fs.lstat(&path.path).await.is_ok() {
                return Err(error);
            }
            Ok(fs.realpath(&parent).await?.join(name).to_string())
        }
        (found, ..) => Ok(found?.to_string()),
    }
}
