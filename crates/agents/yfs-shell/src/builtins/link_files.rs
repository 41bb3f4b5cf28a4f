//! `ln`.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bashkit::{Builtin, BuiltinContext, ExecResult, FileSystem, Result, vfs_join};

use super::{CommandWords, absolute, finished, reason, unknown_option};

const HELP: &str = "\
Usage: ln -s [OPTION]... TARGET LINK_NAME
  or:  ln -s [OPTION]... TARGET... DIRECTORY
Create symbolic links. A file has one name here: without -s, ln fails.

  -s, --symbolic              make symbolic links
  -f, --force                 replace destination files
  -n, --no-dereference        replace LINK_NAME if it is a link to a directory
  -T, --no-target-directory   never create the link in LINK_NAME
  -v, --verbose               print the name of each link
";

/// The command `ln`, for symbolic links. Hard links are refused: a file has one name.
#[derive(Debug)]
pub(crate) struct LinkFiles;

#[derive(Debug, Default)]
struct LinkFlags {
    symbolic: bool,
    force: bool,
    no_dereference: bool,
    no_target_directory: bool,
    verbose: bool,
}

#[async_trait]
impl Builtin for LinkFiles {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let words = CommandWords::parse(ctx.args);
        let mut flags = LinkFlags::default();
        for option in &words.options {
            match option.as_str() {
                "help" => return Ok(ExecResult::ok(HELP.to_owned())),
                "s" | "symbolic" => flags.symbolic = true,
                "f" | "force" => flags.force = true,
                "n" | "no-dereference" => flags.no_dereference = true,
                "T" | "no-target-directory" => flags.no_target_directory = true,
                "v" | "verbose" => flags.verbose = true,
                "L" | "P" | "logical" | "physical" => (),
                option => return Ok(unknown_option("ln", option)),
            }
        }
        let Some((destination, targets)) =
            words.operands.split_last().filter(|(_, targets)| !targets.is_empty())
        else {
            return Ok(ExecResult::err("ln: missing file operand\n".to_owned(), 1));
        };
        if !flags.symbolic {
            let text = format!(
                "ln: cannot create hard link '{destination}' to '{}': Operation not supported; a \
                 file has one name here: use ln -s for a symbolic link, or cp\n",
                targets[0],
            );
            return Ok(ExecResult::err(text, 1));
        }
        let into_directory = is_directory(&*ctx.fs, ctx.cwd, destination, &flags).await;
        if targets.len() > 1 && !into_directory {
            let text = format!("ln: target '{destination}' is not a directory\n");
            return Ok(ExecResult::err(text, 1));
        }
        let (mut output, mut errors) = (String::new(), String::new());
        for target in targets {
            let link = match into_directory {
                true => link_below(destination, target),
                false => destination.clone(),
            };
            match link_to(&*ctx.fs, target, &absolute(ctx.cwd, &link), flags.force).await {
                Ok(()) if flags.verbose => output += &format!("'{link}' -> '{target}'\n"),
                Ok(()) => (),
                Err(reason) => {
                    errors += &format!("ln: cannot create symbolic link '{link}': {reason}\n");
                }
            }
        }
        Ok(finished(output, errors))
    }
}

/// Reports whether the links are to be created in the destination.
async fn is_directory(
    fs: &dyn FileSystem,
    directory: &Path,
    destination: &str,
    flags: &LinkFlags,
) -> bool {
    let path = absolute(directory, destination);
    let found = match (flags.no_target_directory, flags.no_dereference) {
        (true, _) => return false,
        (false, true) => fs.lstat(&path).await,
        (false, false) => fs.stat(&path).await,
    };
    found.is_ok_and(|found| found.file_type.is_dir())
}

/// Returns the name of the link to `target` in a directory.
fn link_below(directory: &str, target: &str) -> String {
    let name = target.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let link: PathBuf = vfs_join(Path::new(directory), name);
    link.to_string_lossy().into_owned()
}

/// Creates one link. The error is its reason.
async fn link_to(
    fs: &dyn FileSystem,
    target: &str,
    link: &Path,
    force: bool,
) -> std::result::Result<(), String> {
    if let Ok(present) = fs.lstat(link).await {
        if !force {
            return Err("File exists".to_owned());
        }
        if present.file_type.is_dir() {
            return Err("Cannot replace a directory".to_owned());
        }
        fs.remove(link, false).await.map_err(|error| reason(&error))?;
    }
    fs.symlink(Path::new(target), link).await.map_err(|error| reason(&error))
}
