//! `yfs append`: appends to a file.

use yfs_vfs::{CreateMode, FileSystem, WriteOptions};

use crate::{
    commands::{
        input_content::{ContentArgs, stream_stdin},
        write::report_write,
    },
    prelude::*,
};

const HELP: &str = "\
Appends of several processes are all applied, each in one piece. A file that is not text, or longer
than a text may be, is copied in the store with the new bytes behind it: that reads all of it, but
holds neither in memory.

Examples:
  echo 'done' | yfs append log.txt
  yfs append notes.md --content $'\\n- one more item\\n'

JSON: {path, id, version, size, created, merged, overlaps}.";

/// Append standard input or a text to a file
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AppendArgs {
    /// The file; it and its parent directories are created if they are missing
    #[arg(value_name = "PATH")]
    path: String,
    /// The source of the content.
    #[command(flatten)]
    content: ContentArgs,
    /// Fail if the file does not exist
    #[arg(long)]
    no_create: bool,
    /// Fail if the parent directory is missing
    #[arg(long)]
    no_parents: bool,
}

/// Appends the content to the file.
pub(crate) async fn run(args: AppendArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let options = WriteOptions {
        create: if args.no_create { CreateMode::Never } else { CreateMode::IfMissing },
        parents: !args.no_parents,
        ..WriteOptions::default()
    };
    let fs = context.writer_of_streams()?;
    let written = match args.content.text() {
        Some(text) => fs.append(&path.path, text, &options).await,
        None => stream_stdin(|data| fs.append_from(&path.path, data, &options))?,
    };
    let written = written.map_err(CommandError::of_text)?;
    report_write(context, &path, &written)
}
