//! Commands that replace those of the interpreter, because its own hide what happened: `rm -f`
//! dropped every error, and `ln` without `-s` made a symbolic link.

mod link_files;
mod remove_files;

use std::path::{Path, PathBuf};

use bashkit::{Error, ExecResult, normalize_path, vfs_join};

pub(crate) use self::{link_files::LinkFiles, remove_files::RemoveFiles};

/// The arguments of a command: the options, one by one and without their dashes, and the operands.
#[derive(Debug, Default)]
struct CommandWords {
    options: Vec<String>,
    operands: Vec<String>,
}

impl CommandWords {
    /// Separates the options from the operands, as GNU's commands do: options may follow operands,
    /// and `--` ends them.
    fn parse(args: &[String]) -> Self {
        let mut words = Self::default();
        let mut args = args.iter();
        for arg in args.by_ref() {
            if arg == "--" {
                break;
            } else if let Some(long) = arg.strip_prefix("--") {
                words.options.push(long.to_owned());
            } else if arg.len() > 1 && arg.starts_with('-') {
                words.options.extend(arg.chars().skip(1).map(String::from));
            } else {
                words.operands.push(arg.clone());
            }
        }
        words.operands.extend(args.cloned());
        words
    }
}

/// Returns the absolute path of an operand.
fn absolute(directory: &Path, operand: &str) -> PathBuf {
    normalize_path(&vfs_join(directory, operand))
}

/// Returns the text of an error as programs print it.
fn reason(error: &Error) -> String {
    match error {
        Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

/// Returns the result of a command that printed this output and these errors.
fn finished(output: String, errors: String) -> ExecResult {
    let exit_code = i32::from(!errors.is_empty());
    let mut result = ExecResult::err(errors, exit_code);
    result.stdout = output.into();
    result
}

/// Returns the result for an option that a command does not have.
fn unknown_option(command: &str, option: &str) -> ExecResult {
    let text = match option.chars().count() {
        1 => format!("{command}: invalid option -- '{option}'\n"),
        _ => format!("{command}: unrecognized option '--{option}'\n"),
    };
    ExecResult::err(text, 1)
}
