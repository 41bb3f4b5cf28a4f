//! `rm`.

use std::{io, path::Path};

use async_trait::async_trait;
use bashkit::{Builtin, BuiltinContext, Error, ExecResult, FileSystem, Result};

use super::{CommandWords, absolute, finished, reason, unknown_option};

const HELP: &str = "\
Usage: rm [OPTION]... [FILE]...
Remove the FILEs.

  -f, --force      ignore files that do not exist; other errors are reported
  -r, -R, --recursive  remove directories and what is in them
  -d, --dir        remove empty directories
  -v, --verbose    print the name of each removed operand
";

/// The command `rm`. As GNU's, `-f` hides only that a file does not exist.
#[derive(Debug)]
pub(crate) struct RemoveFiles;

#[derive(Debug, Default)]
struct RemoveFlags {
    recursive: bool,
    force: bool,
    empty_directories: bool,
    verbose: bool,
}

#[async_trait]
impl Builtin for RemoveFiles {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let words = CommandWords::parse(ctx.args);
        let mut flags = RemoveFlags::default();
        for option in &words.options {
            match option.as_str() {
                "help" => return Ok(ExecResult::ok(HELP.to_owned())),
                "r" | "R" | "recursive" => flags.recursive = true,
                "f" | "force" => flags.force = true,
                "d" | "dir" => flags.empty_directories = true,
                "v" | "verbose" => flags.verbose = true,
                "i" | "I" | "one-file-system" | "preserve-root" | "interactive=never" => (),
                option => return Ok(unknown_option("rm", option)),
            }
        }
        if words.operands.is_empty() && !flags.force {
            return Ok(ExecResult::err("rm: missing operand\n".to_owned(), 1));
        }
        let (mut output, mut errors) = (String::new(), String::new());
        for operand in &words.operands {
            let path = absolute(ctx.cwd, operand);
            match remove(&*ctx.fs, &path, operand, &flags).await {
                Ok(true) if flags.verbose => output += &format!("removed '{operand}'\n"),
                Ok(_) => (),
                Err(reason) => errors += &format!("rm: cannot remove '{operand}': {reason}\n"),
            }
        }
        Ok(finished(output, errors))
    }
}

/// Removes an operand, and reports whether there was one. The error is its reason.
async fn remove(
    fs: &dyn FileSystem,
    path: &Path,
    operand: &str,
    flags: &RemoveFlags,
) -> std::result::Result<bool, String> {
    let is_ignored = |error: &Error| flags.force && is_missing(error);
    let found = match fs.lstat(path).await {
        Ok(found) => found,
        Err(error) if is_ignored(&error) => return Ok(false),
        Err(error) => return Err(reason(&error)),
    };
    if found.file_type.is_dir() {
        let last = operand.trim_end_matches('/').rsplit('/').next();
        if !flags.recursive && !flags.empty_directories {
            return Err("Is a directory".to_owned());
        }
        if path == Path::new("/") || matches!(last, Some("." | "..")) {
            return Err("It is '/', '.' or '..', which rm does not remove".to_owned());
        }
    }
    match fs.remove(path, flags.recursive).await {
        Err(error) if !is_ignored(&error) => Err(reason(&error)),
        removed => Ok(removed.is_ok()),
    }
}

/// Reports whether an error says that there is no such file.
fn is_missing(error: &Error) -> bool {
    let is_missing = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    };
    matches!(error, Error::Io(error) if is_missing(error))
}
