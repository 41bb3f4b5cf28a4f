//! `yfs head`: prints the first lines of files. The code shared with `tail` is here.

use clap::Args;

use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    format_text::parse_size,
    json,
    typed_path::TypedPath,
};

const HELP: &str = "\
Examples:
  yfs head notes.md           the first ten lines
  yfs head -n 3 a.md b.md     the first three lines of each
  yfs head -n -2 log.txt      all but the last two lines
  yfs head -c 1K data.bin

JSON: one object per line: {path, size, content}; base64 instead of content if it is not UTF-8.";

/// Print the first lines of files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct HeadArgs {
    /// The files to print
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Print the first N lines; -N prints all but the last N
    #[arg(short = 'n', long, value_name = "N", default_value = "10", allow_hyphen_values = true)]
    lines: String,
    /// Print the first N bytes; -N prints all but the last N
    #[arg(short = 'c', long, value_name = "N", allow_hyphen_values = true)]
    bytes: Option<String>,
    #[command(flatten)]
    headings: HeadingMode,
}

/// Whether to print the names of files. The default is to print them if there are several files.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct HeadingMode {
    /// Never print the names of files
    #[arg(short, long)]
    quiet_names: bool,
    /// Always print the names of files
    #[arg(short, long)]
    verbose: bool,
}

/// The functions that cut a part out of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CutRule {
    /// Cuts by lines.
    pub(crate) lines: fn(&[u8], SignedCount) -> &[u8],
    /// Cuts by bytes.
    pub(crate) bytes: fn(&[u8], SignedCount) -> &[u8],
}

/// A count with its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SignedCount {
    /// The sign in the text, if it has one.
    pub(crate) sign: Option<char>,
    /// The number.
    pub(crate) number: usize,
}

impl SignedCount {
    /// Parses `10`, `-10`, `+10`, `1K`.
    pub(crate) fn parse(text: &str, unit: &str) -> Result<Self> {
        let sign = text.chars().next().filter(|char| matches!(char, '+' | '-'));
        let digits = text.trim_start_matches(['+', '-']);
        let signs = text.len() - digits.len();
        let number = parse_size(digits).ok().filter(|_| signs < 2);
        let number = number.and_then(|number| usize::try_from(number).ok());
        let number = number
            .ok_or_else(|| CommandError::usage(format!("invalid number of {unit}: '{text}'")))?;
        Ok(Self { sign, number })
    }
}

/// Prints the first lines or bytes of each file.
pub(crate) async fn run(args: HeadArgs, context: &mut CommandContext) -> Result {
    let cut = CutRule { lines: first_lines, bytes: first_bytes };
    print(context, &args.paths, args.headings, (&args.lines, args.bytes.as_deref()), cut).await
}

/// Prints a part of each file, measured in bytes if a number of bytes is given, otherwise in lines.
/// Prints names if there are several files.
pub(crate) async fn print(
    context: &mut CommandContext,
    paths: &[String],
    headings: HeadingMode,
    (lines, bytes): (&str, Option<&str>),
    cut: CutRule,
) -> Result {
    let (count, cut) = match bytes {
        Some(bytes) => (SignedCount::parse(bytes, "bytes")?, cut.bytes),
        None => (SignedCount::parse(lines, "lines")?, cut.lines),
    };
    let fs = context.reader()?;
    let with_headings = headings.verbose || (paths.len() > 1 && !headings.quiet_names);
    let mut first = true;
    for path in context.paths(paths) {
        let content = match fs.read(&path.path).await {
            Ok(content) => content.data,
            Err(error) => {
                context.fail(&error.into());
                continue;
            }
        };
        if with_headings && !context.out.json {
            let gap = if first { "" } else { "\n" };
            let name = context.out.safe(&path.typed).into_owned();
            context.out.line(&format!("{gap}==> {name} <=="))?;
        }
        first = false;
        print_part(context, &path, cut(&content, count))?;
    }
    Ok(())
}

fn print_part(context: &mut CommandContext, path: &TypedPath, part: &[u8]) -> Result {
    if context.out.json {
        return context.out.json_line(&json::content(path.path.as_str(), part));
    }
    context.out.raw(part)
}

fn first_bytes(data: &[u8], count: SignedCount) -> &[u8] {
    match count.sign {
        Some('-') => &data[..data.len().saturating_sub(count.number)],
        _ => &data[..data.len().min(count.number)],
    }
}

fn first_lines(data: &[u8], count: SignedCount) -> &[u8] {
    match count.sign {
        Some('-') => &data[..start_of_last(data, count.number)],
        _ => &data[..end_of_first(data, count.number)],
    }
}

/// Returns the offset of the end of the first `n_lines` lines.
pub(crate) fn end_of_first(data: &[u8], n_lines: usize) -> usize {
    data.split_inclusive(|byte| *byte == b'\n').take(n_lines).map(<[u8]>::len).sum()
}

/// Returns the offset of the start of the last `n_lines` lines.
pub(crate) fn start_of_last(data: &[u8], n_lines: usize) -> usize {
    let lines = data.split_inclusive(|byte| *byte == b'\n').rev().take(n_lines);
    data.len() - lines.map(<[u8]>::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_either_end() {
        let data = b"a\nb\n\nd";
        assert_eq!(&data[..end_of_first(data, 2)], b"a\nb\n");
        assert_eq!(&data[start_of_last(data, 2)..], b"\nd");
        assert_eq!(end_of_first(data, 9), data.len());
        assert_eq!(start_of_last(data, 9), 0);
        assert_eq!(end_of_first(b"", 1), 0);
    }

    #[test]
    fn counts_have_signs_and_units() {
        assert_eq!(
            SignedCount::parse("-2K", "x").unwrap(),
            SignedCount { sign: Some('-'), number: 2048 }
        );
        for bad in ["", "-", "+-1", "ten"] {
            assert!(SignedCount::parse(bad, "x").is_err(), "{bad:?}");
        }
    }
}
