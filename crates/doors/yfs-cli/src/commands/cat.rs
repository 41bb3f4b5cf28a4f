//! `yfs cat`: concatenates files and prints them.

use futures::StreamExt;
use yfs_vfs::StreamOptions;

use crate::{commands::transfer_operands::require_found_directory, prelude::*};

const HELP: &str = "\
There is no file `-`: standard input is not a file of the workspace.

Examples:
  yfs cat notes/today.md
  yfs cat -n src/main.rs
  yfs cat -A Makefile            shows tabs as ^I, and $ at the ends of lines
  yfs cat logo.png > logo.png

JSON: one object per line: {path, size, version, content}; base64 instead of content if the file is
not UTF-8.";

/// The bytes of a large file that are in memory at a time.
const CHUNK_LEN: usize = 4 << 20;

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
    /// Number the lines that are not empty
    #[arg(short = 'b', long)]
    number_nonblank: bool,
    /// Print several empty lines as one
    #[arg(short, long)]
    squeeze_blank: bool,
    /// Print $ at the end of each line
    #[arg(short = 'E', long)]
    show_ends: bool,
    /// Print tabs as ^I
    #[arg(short = 'T', long)]
    show_tabs: bool,
    /// Print other control characters as ^X, and bytes above 127 as M-X
    #[arg(short = 'v', long)]
    show_nonprinting: bool,
    /// The same as -vET
    #[arg(short = 'A', long)]
    show_all: bool,
    /// The same as -vE
    #[arg(short = 'e')]
    show_ends_and_nonprinting: bool,
    /// The same as -vT
    #[arg(short = 't')]
    show_tabs_and_nonprinting: bool,
    /// Accepted for compatibility
    #[arg(short = 'u', hide = true)]
    unbuffered: bool,
}

/// A printer of lines with numbers and visible control characters, across files.
#[derive(Debug, Default)]
struct LinePrinter {
    n_lines: u64,
    /// Whether the last line has no newline yet.
    is_inside: bool,
    n_empty: u64,
}

impl CatArgs {
    /// Reports whether lines are printed other than as they are.
    fn changes_lines(&self) -> bool {
        self.number
            || self.number_nonblank
            || self.squeeze_blank
            || self.shows_ends()
            || self.shows_tabs()
            || self.shows_nonprinting()
    }

    fn shows_ends(&self) -> bool {
        self.show_ends || self.show_all || self.show_ends_and_nonprinting
    }

    fn shows_tabs(&self) -> bool {
        self.show_tabs || self.show_all || self.show_tabs_and_nonprinting
    }

    fn shows_nonprinting(&self) -> bool {
        self.show_nonprinting
            || self.show_all
            || self.show_ends_and_nonprinting
            || self.show_tabs_and_nonprinting
    }
}

/// Prints the files.
pub(crate) async fn run(args: CatArgs, context: &mut CommandContext) -> Result {
    let fs = context.reader()?;
    let mut printer = LinePrinter::default();
    for path in context.paths(&args.paths) {
        let part = match require_found_directory(&fs, &path, Op::Read).await {
            Err(error) => Err(error.into()),
            Ok(()) => match (context.out.json, args.changes_lines()) {
                (true, _) => print_json(context, &fs, &path).await,
                (false, true) => printer.print(&args, context, &fs, &path).await,
                (false, false) => print(context, &fs, &path).await,
            },
        };
        context.continue_after(part)?;
    }
    Ok(())
}

async fn print(context: &mut CommandContext, fs: &Fs, path: &TypedPath) -> Result {
    let options = StreamOptions { chunk_len: CHUNK_LEN, ..StreamOptions::default() };
    let mut chunks = fs.read_stream(&path.path, &options).await?;
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

impl LinePrinter {
    async fn print(
        &mut self,
        args: &CatArgs,
        context: &mut CommandContext,
        fs: &Fs,
        path: &TypedPath,
    ) -> Result {
        let content = fs.read(&path.path).await?;
        for line in content.data.split_inclusive(|byte| *byte == b'\n') {
            let was_inside = std::mem::replace(&mut self.is_inside, !line.ends_with(b"\n"));
            let is_empty = line == b"\n" && !was_inside;
            self.n_empty = if is_empty { self.n_empty + 1 } else { 0 };
            if args.squeeze_blank && self.n_empty > 1 {
                continue;
            }
            let is_numbered = if args.number_nonblank { !is_empty } else { args.number };
            if is_numbered && !was_inside {
                self.n_lines += 1;
                context.out.raw(format!("{:6}\t", self.n_lines).as_bytes())?;
            }
            context.out.raw(&visible_line(args, line))?;
        }
        Ok(())
    }
}

/// Returns a line with the characters visible that the options name.
fn visible_line(args: &CatArgs, line: &[u8]) -> Vec<u8> {
    let mut visible = Vec::with_capacity(line.len());
    for byte in line {
        match *byte {
            b'\n' if args.shows_ends() => visible.extend(b"$\n"),
            b'\t' if args.shows_tabs() => visible.extend(b"^I"),
            b'\n' | b'\t' => visible.push(*byte),
            byte if args.shows_nonprinting() => push_visible(&mut visible, byte),
            byte => visible.push(byte),
        }
    }
    visible
}

/// Writes a byte as `cat -v` does: `^A`, `^?`, `M-a`.
fn push_visible(visible: &mut Vec<u8>, byte: u8) {
    if byte >= 0x80 {
        visible.extend(b"M-");
    }
    match byte & 0x7F {
        low @ 0..0x20 => visible.extend([b'^', low + b'@']),
        0x7F => visible.extend(b"^?"),
        low => visible.push(low),
    }
}
