//! `yfs edit`: replaces text in one atomic step.

use std::path::PathBuf;

use yfs_vfs::{TextReplacement, VersionToken};
use yfs_wire::EditOutcomeJson;

use crate::{
    commands::{input_content::read_host_text, write::parse_version},
    prelude::*,
};

const HELP: &str = "\
The text must occur exactly once, unless --all is given; otherwise the command fails and changes
nothing. Concurrent edits of several processes are all applied.

Examples:
  yfs edit plan.md draft final
  yfs edit plan.md --old '- [ ] ship' --new '- [x] ship'
  yfs edit src/main.rs --old foo --new bar --all
  yfs edit plan.md --old-file old.txt --new-file - < new.txt

JSON: {path, replaced, merged}; with --expect also `version`, which the next --expect takes.";

/// Replace text in a file
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct EditArgs {
    /// The file
    #[arg(value_name = "PATH")]
    path: String,
    /// The text to replace, and the replacement
    #[arg(value_names = ["OLD", "NEW"], num_args = 2)]
    #[arg(conflicts_with_all = ["old", "new", "old_file", "new_file"])]
    texts: Vec<String>,
    /// The text to replace
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    old: Option<String>,
    /// The replacement
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    new: Option<String>,
    /// A file on this machine with the text to replace; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "old")]
    old_file: Option<PathBuf>,
    /// A file on this machine with the replacement; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "new")]
    new_file: Option<PathBuf>,
    /// Replace every occurrence
    #[arg(long)]
    all: bool,
    /// Fail unless this is the current version
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    expect: Option<VersionToken>,
}

/// Replaces the text.
pub(crate) async fn run(args: EditArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let is_stdin =
        |file: &Option<PathBuf>| file.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if is_stdin(&args.old_file) && is_stdin(&args.new_file) {
        return Err(CommandError::usage("--old-file and --new-file cannot both be standard input"));
    }
    let mut texts = args.texts.into_iter();
    let (old, new) = (texts.next(), texts.next());
    let edit = TextReplacement {
        old: read_text("--old", args.old.or(old), args.old_file)?,
        new: read_text("--new", args.new.or(new), args.new_file)?,
        all: args.all,
        expected_version: args.expect,
        author: None,
    };
    let edited = context.writer()?.edit(&path.path, &edit).await;
    let edited = edited.map_err(CommandError::of_text)?;
    if context.out.json {
        let edited = EditOutcomeJson::from(&edited).at(path.path.as_str());
        return context.out.json_line(&edited);
    }
    Ok(())
}

/// Returns the text of an option, or of the file that replaces it.
fn read_text(option: &str, typed: Option<String>, file: Option<PathBuf>) -> Result<String> {
    match (typed, file) {
        (Some(text), _) => Ok(text),
        (None, Some(file)) => read_host_text(&file),
        (None, None) => Err(CommandError::usage(format!("missing {option} or {option}-file"))),
    }
}
