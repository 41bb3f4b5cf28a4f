//! `yfs head`: prints the first lines of files. The code shared with `tail` is here.

use bytes::Bytes;

use crate::prelude::*;

const HELP: &str = "\
`-NUM` is `-n NUM`. The command reads no more of a large file than it prints, except with -N.

Not supported: -z.

Examples:
  yfs head notes.md           the first ten lines
  yfs head -3 notes.md        the first three
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

impl HeadingMode {
    /// Reports whether the names of so many files are printed.
    pub(crate) fn shows_headings(self, n_files: usize) -> bool {
        self.verbose || (n_files > 1 && !self.quiet_names)
    }
}

/// The length of the first part that is read of a file, in bytes; later parts are longer.
const FIRST_PART_LEN: u64 = 64 * 1024;

/// The factor between the lengths of one part and the next.
const PART_GROWTH: u64 = 8;

/// A function that cuts a part out of a file.
pub(crate) type CutPart = fn(&[u8], SignedCount) -> &[u8];

/// The functions that cut a part out of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CutRule {
    /// Whether an unsigned count is a count from the end of the file.
    pub(crate) from_end: bool,
    /// Cuts by lines.
    pub(crate) lines: CutPart,
    /// Cuts by bytes.
    pub(crate) bytes: CutPart,
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
    let cut = CutRule { from_end: false, lines: first_lines, bytes: first_bytes };
    print(context, &args.paths, args.headings, (&args.lines, args.bytes.as_deref()), cut).await
}

/// Prints a part of each file, measured in bytes if a number of bytes is given, otherwise in lines.
/// Prints names if there are several files.
pub(crate) async fn print(
    context: &mut CommandContext,
    paths: &[String],
    headings: HeadingMode,
    (lines, bytes): (&str, Option<&str>),
    rule: CutRule,
) -> Result {
    let (count, cut) = parse_count((lines, bytes), rule)?;
    let fs = context.reader()?;
    let with_headings = headings.shows_headings(paths.len());
    let mut first = true;
    for path in context.paths(paths) {
        let part = read_part(&fs, &path, rule, count, bytes.is_some()).await;
        let content = match part {
            Ok(content) => content,
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

/// Parses a number of lines, or of bytes if it is given. Returns it with the function that cuts.
pub(crate) fn parse_count(
    (lines, bytes): (&str, Option<&str>),
    rule: CutRule,
) -> Result<(SignedCount, CutPart)> {
    Ok(match bytes {
        Some(bytes) => (SignedCount::parse(bytes, "bytes")?, rule.bytes),
        None => (SignedCount::parse(lines, "lines")?, rule.lines),
    })
}

/// Reads as much of a file as the cut needs: a prefix, a suffix, or the whole file.
///
/// # Cost
///
/// Parts of growing length, each of one version of the file, until one is enough: at most about
/// eight times as many bytes as are printed, or 64 KiB.
async fn read_part(
    fs: &Fs,
    path: &TypedPath,
    rule: CutRule,
    count: SignedCount,
    in_bytes: bool,
) -> Result<Bytes, FsError> {
    let counts_from_end = match count.sign {
        None => rule.from_end,
        Some('-') if rule.from_end => true,
        Some('+') if !rule.from_end => false,
        Some(_) => return Ok(fs.read(&path.path).await?.data),
    };
    let number = count.number as u64;
    let mut len = if in_bytes { number } else { FIRST_PART_LEN };
    loop {
        let (data, is_whole) = if counts_from_end {
            let size = fs.stat(&path.path).await?.size;
            let start = size.saturating_sub(len);
            (fs.read_range(&path.path, start, u64::MAX).await?, start == 0)
        } else {
            let data = fs.read_range(&path.path, 0, len).await?;
            let is_whole = (data.len() as u64) < len;
            (data, is_whole)
        };
        let has_lines = || match counts_from_end {
            true => start_of_last(&data, count.number) > 0,
            false => end_of_first(&data, count.number) < data.len(),
        };
        if is_whole || in_bytes || has_lines() {
            return Ok(data);
        }
        len = len.saturating_mul(PART_GROWTH);
    }
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
