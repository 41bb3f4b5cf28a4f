//! `yfs cat`: concatenates files and prints them.

use clap::Args;
use futures::StreamExt;
use yfs_vfs::StreamOptions;

use crate::{
    context::{CommandContext, Fs},
    errors::Result,
    json,
    typed_path::TypedPath,
};

const HELP: &str = "\
Examples:
  yfs cat notes/today.md
  yfs cat -n src/main.rs
  yfs cat logo.png > logo.png

JSON: one object per line: {path, size, version, content}; base64 instead of content if the file is
not UTF-8.";

/// Concatenate files and print them
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CatArgs {
    /// The files to print
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Number all lines
    #[arg(short, long)]
    number: bool,
}

/// Prints the files.
pub(crate) async fn run(args: CatArgs, context: &mut CommandContext) -> Result {
    let fs = context.reader()?;
    let mut n_lines = 0;
    for path in context.paths(&args.paths) {
        let part = match (context.out.json, args.number) {
            (true, _) => print_json(context, &fs, &path).await,
            (false, true) => print_numbered(context, &fs, &path, &mut n_lines).await,
            (false, false) => print(context, &fs, &path).await,
        };
        context.continue_after(part)?;
    }
    Ok(())
}

async fn print(context: &mut CommandContext, fs: &Fs, path: &TypedPath) -> Result {
    let mut chunks = fs.read_stream(&path.path, &StreamOptions::default()).await?;
    while let Some(chunk) = chunks.next().await {
        context.out.raw(&chunk?.data)?;
    }
    Ok(())
}

async fn print_json(context: &mut CommandContext, fs: &Fs, path: &TypedPath) -> Result {
    let content = fs.read(&path.path).await?;
    let mut value = json::content(path.path.as_str(), &content.data);
    value["version"] = content.version.as_str().into();
    context.out.json_line(&value)
}

async fn print_numbered(
    context: &mut CommandContext,
    fs: &Fs,
    path: &TypedPath,
    n_lines: &mut u64,
) -> Result {
    let content = fs.read(&path.path).await?;
    for line in content.data.split_inclusive(|byte| *byte == b'\n') {
        *n_lines += 1;
        context.out.raw(format!("{n_lines:6}\t").as_bytes())?;
        context.out.raw(line)?;
    }
    Ok(())
}
