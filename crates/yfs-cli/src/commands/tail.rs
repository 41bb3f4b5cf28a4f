//! `yfs tail`: prints the last lines of files.

use clap::Args;

use crate::{
    commands::head::{self, CutRule, HeadingMode, SignedCount, end_of_first, start_of_last},
    context::CommandContext,
    errors::Result,
};

const HELP: &str = "\
Examples:
  yfs tail log.txt            the last ten lines
  yfs tail -n 1 log.txt
  yfs tail -n +5 log.txt      line 5 and all that follow
  yfs tail -c 100 data.bin

JSON: one object per line: {path, size, content}; base64 instead of content if it is not UTF-8.";

/// Print the last lines of files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TailArgs {
    /// The files to print
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Print the last N lines; +N starts at line N
    #[arg(short = 'n', long, value_name = "N", default_value = "10", allow_hyphen_values = true)]
    lines: String,
    /// Print the last N bytes; +N starts at byte N
    #[arg(short = 'c', long, value_name = "N", allow_hyphen_values = true)]
    bytes: Option<String>,
    #[command(flatten)]
    headings: HeadingMode,
}

/// Prints the last lines or bytes of each file.
pub(crate) async fn run(args: TailArgs, context: &mut CommandContext) -> Result {
    let cut = CutRule { lines: last_lines, bytes: last_bytes };
    head::print(context, &args.paths, args.headings, (&args.lines, args.bytes.as_deref()), cut)
        .await
}

fn last_bytes(data: &[u8], count: SignedCount) -> &[u8] {
    let start = match count.sign {
        Some('+') => count.number.saturating_sub(1).min(data.len()),
        _ => data.len().saturating_sub(count.number),
    };
    &data[start..]
}

fn last_lines(data: &[u8], count: SignedCount) -> &[u8] {
    let start = match count.sign {
        Some('+') => end_of_first(data, count.number.saturating_sub(1)),
        _ => start_of_last(data, count.number),
    };
    &data[start..]
}
