//! Standard output: text or JSON, colored or not. Stops quietly when its reader is gone.

use std::{
    borrow::Cow,
    io::{self, BufWriter, IsTerminal, Write},
};

use serde::Serialize;
use smol_str::SmolStr;
use unicode_width::UnicodeWidthStr;
use yfs_vfs::FileKind;

use crate::{
    args::{ColorChoice, GlobalArgs},
    errors::Result,
    format_text::{EscapedText, escape_json},
    json,
    pager::Pager,
};

/// The number of bytes that are written at once.
const OUTPUT_BUFFER: usize = 64 << 10;

/// The output of results.
pub(crate) struct CommandOutput {
    stdout: BufWriter<Box<dyn Write + Send>>,
    /// The program that shows the output a page at a time.
    pager: Option<Pager>,
    no_pager: bool,
    /// Whether standard output is a terminal.
    pub(crate) is_terminal: bool,
    /// Whether to print JSON.
    pub(crate) json: bool,
    color: bool,
}

/// The role of a piece of text, which decides its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextRole {
    /// The name of an object of this kind.
    Name(FileKind),
    /// The path of a match.
    Place,
    /// A line number.
    Number,
    /// A separator.
    Separator,
    /// The matching text.
    Match,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// A heading.
    Heading,
}

impl CommandOutput {
    /// Opens standard output.
    pub(crate) fn new(globals: &GlobalArgs) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = match globals.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !plain,
        };
        let json = globals.json;
        Self {
            stdout: BufWriter::with_capacity(OUTPUT_BUFFER, Box::new(stdout)),
            pager: None,
            no_pager: globals.no_pager,
            is_terminal,
            json,
            color: color && !json,
        }
    }

    /// Writes to a pager from now on, if standard output is a terminal.
    pub(crate) fn start_pager(&mut self) {
        if !self.is_terminal || self.json || self.no_pager || self.pager.is_some() {
            return;
        }
        if let Some((pager, stdin)) = Pager::start() {
            self.stdout = BufWriter::new(Box::new(stdin));
            self.pager = Some(pager);
        }
    }

    /// Unlocks standard output for a command that writes to it by other means. What is printed here
    /// from now on is discarded.
    pub(crate) fn unlock(&mut self) -> Result {
        self.flush()?;
        self.stdout = BufWriter::new(Box::new(io::sink()));
        Ok(())
    }

    /// Flushes the buffer, and waits until the person has left the pager, which may be before the
    /// end.
    pub(crate) fn finish(&mut self) -> Result {
        let flushed = self.flush();
        let Some(pager) = self.pager.take() else { return flushed };
        self.stdout = BufWriter::new(Box::new(io::sink()));
        pager.wait();
        Ok(())
    }

    /// Reports whether the output goes to a pager.
    pub(crate) fn has_pager(&self) -> bool {
        self.pager.is_some()
    }

    /// Writes bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result {
        Ok(self.stdout.write_all(bytes)?)
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: &str) -> Result {
        self.raw(text.as_bytes())?;
        self.raw(b"\n")
    }

    /// Writes a line: escaped on a terminal, unchanged elsewhere.
    pub(crate) fn safe_line(&mut self, text: &str) -> Result {
        let text = self.safe(text).into_owned();
        self.line(&text)
    }

    /// Writes names and values, one pair per line. The names end at a column.
    pub(crate) fn rows(&mut self, width: usize, rows: &[(&str, String)]) -> Result {
        for (name, value) in rows {
            self.line(&format!("{name:>width$}: {}", self.safe(value)))?;
        }
        Ok(())
    }

    /// Writes the lines of a content: escaped on a terminal, unchanged elsewhere.
    pub(crate) fn safe_lines(&mut self, text: &str) -> Result {
        text.lines().try_for_each(|line| self.safe_line(line))
    }

    /// Writes an answer as JSON on one line.
    pub(crate) fn json_line(&mut self, answer: &impl Serialize) -> Result {
        // A value has its keys in order.
        let value = json::value(answer);
        if self.is_terminal {
            return self.line(&escape_json(&value.to_string()));
        }
        serde_json::to_writer(&mut self.stdout, &value).map_err(io::Error::from)?;
        self.raw(b"\n")
    }

    /// Writes an answer that only programs need.
    pub(crate) fn json_only(&mut self, answer: &impl Serialize) -> Result {
        if self.json { self.json_line(answer) } else { Ok(()) }
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Result {
        Ok(self.stdout.flush()?)
    }

    /// Returns a name for display: escaped on a terminal, unchanged elsewhere.
    pub(crate) fn safe<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.is_terminal && name.chars().any(crate::format_text::controls_terminal) {
            Cow::Owned(EscapedText::new(name).to_string())
        } else {
            Cow::Borrowed(name)
        }
    }

    /// Reports whether colors are used.
    pub(crate) fn is_colored(&self) -> bool {
        self.color
    }

    /// Returns a text in the color of its role.
    pub(crate) fn painted(&self, role: TextRole, text: &str) -> String {
        match role.color().filter(|_| self.color) {
            Some(color) => format!("\u{1b}[{color}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }

    /// Returns a name, escaped and colored.
    pub(crate) fn name<'a>(&self, kind: FileKind, name: &'a str) -> Cow<'a, str> {
        let safe = self.safe(name);
        match self.color {
            true => Cow::Owned(self.painted(TextRole::Name(kind), &safe)),
            false => safe,
        }
    }

    /// Writes names in as many columns as fit, in column-major order; one per line unless the
    /// output is a terminal.
    pub(crate) fn columns(&mut self, cells: &[(FileKind, SmolStr)], one_each: bool) -> Result {
        if !self.is_terminal {
            return cells.iter().try_for_each(|(kind, name)| {
                let name = self.name(*kind, name);
                self.line(&name)
            });
        }
        let width = if one_each { 0 } else { terminal_width() };
        let safe: Vec<(FileKind, String)> =
            cells.iter().map(|(kind, name)| (*kind, self.safe(name).into_owned())).collect();
        let widths: Vec<usize> = safe.iter().map(|(_, name)| name.width()).collect();
        let grid = ColumnGrid::fit(&widths, width);
        for row in 0..grid.n_rows {
            let mut line = String::new();
            for (column, column_width) in grid.widths.iter().enumerate() {
                let Some((kind, name)) = safe.get(column * grid.n_rows + row) else { break };
                line.push_str(&self.painted(TextRole::Name(*kind), name));
                let is_last = (column + 1) * grid.n_rows + row >= safe.len();
                if !is_last {
                    let pad = column_width + GAP - widths[column * grid.n_rows + row];
                    line.extend(std::iter::repeat_n(' ', pad));
                }
            }
            self.line(&line)?;
        }
        Ok(())
    }
}

/// The number of spaces between columns.
const GAP: usize = 2;

/// The layout of names in columns.
struct ColumnGrid {
    n_rows: usize,
    widths: Vec<usize>,
}

impl ColumnGrid {
    /// Finds the smallest number of rows whose columns fit into `width`.
    fn fit(widths: &[usize], width: usize) -> Self {
        let column_widths = |n_rows: usize| -> Vec<usize> {
            widths.chunks(n_rows).map(|column| column.iter().copied().max().unwrap_or(0)).collect()
        };
        let total: usize = widths.iter().map(|width| width + GAP).sum();
        // Fewer rows than this cannot fit, whatever the names.
        let mut n_rows = total.div_ceil(width.max(1)).clamp(1, widths.len().max(1));
        loop {
            let columns = column_widths(n_rows);
            let needed = columns.iter().sum::<usize>() + GAP * columns.len().saturating_sub(1);
            if needed <= width || n_rows >= widths.len() {
                let n_rows = if widths.is_empty() { 0 } else { n_rows };
                return Self { n_rows, widths: columns };
            }
            n_rows += 1;
        }
    }
}

fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}

impl TextRole {
    fn color(self) -> Option<&'static str> {
        Some(match self {
            Self::Name(FileKind::Directory) => "1;34",
            Self::Name(FileKind::Symlink) => "1;36",
            Self::Name(_) => return None,
            Self::Place => "35",
            Self::Number | Self::Added => "32",
            Self::Separator => "36",
            Self::Match => "1;31",
            Self::Removed => "31",
            Self::Heading => "1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_use_the_width_there_is() {
        let grid = ColumnGrid::fit(&[3, 3, 3, 3, 3], 80);
        assert_eq!((grid.n_rows, grid.widths.len()), (1, 5));
        let grid = ColumnGrid::fit(&[3, 3, 3, 3, 3], 10);
        assert_eq!((grid.n_rows, grid.widths.len()), (3, 2));
        let grid = ColumnGrid::fit(&[30, 3], 10);
        assert_eq!((grid.n_rows, grid.widths.len()), (2, 1));
        assert_eq!(ColumnGrid::fit(&[], 10).n_rows, 0);
    }
}
