//! The prefixes of containers before lines, as written in a file: `-   `, ` 1) `, `>`.

use crate::{
    outline::{ContainerKind, TreeOutline},
    write::emit::{self, LineEnd, LinePrefix},
};

/// The greatest length of a remembered prefix, in bytes: it stands before each line.
pub(super) const MAX_PREFIX: usize = 20;

/// A marker of an item, in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemMarker {
    /// Blanks before it.
    pub(super) indent: String,
    /// The number as written; empty for bullets.
    pub(super) number: String,
    /// The bullet, or the sign after the number.
    pub(super) sign: char,
    /// Blanks after it.
    pub(super) pad: String,
}

impl ItemMarker {
    /// Parses the marker that a line begins with. The blanks after it may belong to the content in
    /// part.
    pub(super) fn read(line: &str) -> Option<Self> {
        let unindented = line.trim_start_matches([' ', '\t']);
        let indent = line[..line.len() - unindented.len()].to_owned();
        let n_digits = unindented.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = unindented.split_at(n_digits);
        let sign = rest.chars().next()?;
        let is_marker = match n_digits {
            0 => matches!(sign, '-' | '+' | '*'),
            1..=9 => matches!(sign, '.' | ')'),
            _ => false,
        };
        let content = rest.get(1..)?.trim_start_matches([' ', '\t']);
        let pad = rest[1..rest.len() - content.len()].to_owned();
        (is_marker && (!pad.is_empty() || content.is_empty())).then(|| Self {
            indent,
            number: number.to_owned(),
            sign,
            pad,
        })
    }

    /// Returns the prefixes of the marker's lines.
    pub(super) fn prefix(&self) -> LinePrefix {
        let Self { indent, number, sign, pad } = self;
        let first = format!("{indent}{number}{sign}{pad}");
        let width = first.chars().fold(0, |column, character| match character {
            '\t' => column / 4 * 4 + 4,
            _ => column + 1,
        });
        LinePrefix { first, rest: " ".repeat(width) }
    }
}

/// Returns the prefixes of each container in this text.
pub(super) fn read(
    outline: &TreeOutline<'_>,
    lines: &[(&str, Option<LineEnd>)],
    line_of: &dyn Fn(usize) -> usize,
) -> Vec<LinePrefix> {
    let mut prefixes: Vec<LinePrefix> = Vec::with_capacity(outline.containers.len());
    let mut open_lines: Vec<usize> = Vec::with_capacity(outline.containers.len());
    for (index, container) in outline.containers.iter().enumerate() {
        let range = &container.range;
        let open_line = line_of(range.start);
        let last_line = line_of(range.end.saturating_sub(1).max(range.start));
        // The rest of a line after the prefixes of the containers around.
        let inner = |line: usize| {
            let mut rest = lines.get(line)?.0;
            for outer in chain(outline, container.parent) {
                let prefix = &prefixes[outer];
                let is_first = open_lines[outer] == line;
                rest = rest.strip_prefix(if is_first { &*prefix.first } else { &*prefix.rest })?;
            }
            Some(rest)
        };
        let next = || (open_line < last_line).then(|| inner(open_line + 1)).flatten();
        let found = inner(open_line).and_then(|line| match container.kind {
            ContainerKind::Quote => quote(line, next()),
            ContainerKind::Item { .. } => item(line, next()),
            ContainerKind::Footnote => None,
        });
        let found = found
            .filter(|prefix| prefix.first.len() <= MAX_PREFIX && prefix.rest.len() <= MAX_PREFIX);
        prefixes.push(found.unwrap_or_else(|| emit::prefix(outline, index)));
        open_lines.push(open_line);
    }
    prefixes
}

fn chain(outline: &TreeOutline<'_>, innermost: Option<usize>) -> Vec<usize> {
    let mut chain = Vec::new();
    let mut container = innermost;
    while let Some(index) = container {
        chain.push(index);
        container = outline.containers[index].parent;
    }
    chain.reverse();
    chain
}

fn quote(line: &str, next: Option<&str>) -> Option<LinePrefix> {
    let read = |line: &str| {
        let n_blanks = line.bytes().take_while(|byte| *byte == b' ').count();
        let rest = line.get(n_blanks..)?.strip_prefix('>')?;
        let length = n_blanks + 1 + usize::from(rest.starts_with(' '));
        // On a line with no other text, the blank is ambiguous.
        (!rest.is_empty()).then(|| line[..length].to_owned())
    };
    let next = next.and_then(read);
    let first = read(line).or_else(|| next.clone())?;
    let rest = next.unwrap_or_else(|| first.clone());
    Some(LinePrefix { first, rest })
}

fn item(line: &str, next: Option<&str>) -> Option<LinePrefix> {
    let mut marker = ItemMarker::read(line)?;
    let is_empty =
        line.trim_end_matches([' ', '\t']).len() == marker.indent.len() + marker.number.len() + 1;
    if is_empty || marker.pad.len() > 4 || marker.pad.starts_with("    ") && marker.pad.len() > 4 {
        marker.pad = " ".to_owned();
    }
    let prefix = marker.prefix();
    // Some writers continue with a tab if they began with one.
    let is_tabbed = prefix.rest.len() == 4 && next.is_some_and(|next| next.starts_with('\t'));
    Some(if is_tabbed { LinePrefix { rest: "\t".to_owned(), ..prefix } } else { prefix })
}
