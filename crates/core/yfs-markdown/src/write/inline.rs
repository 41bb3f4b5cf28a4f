//! Writes inline content as text: places the delimiters that open and close.

use super::{
    escape::{self, EscapeContext},
    runs::{DelimiterRun, MarkDelimiter, RunKind, runs},
};
use crate::{
    schema::SchemaProfile,
    tree::{MarkdownNode, TextRun},
};

/// The degree of escaping. Text that reads back wrong is written again with more care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EscapeCare {
    /// Backslashes where they are likely to be needed.
    Little,
    /// And before every bracket: the document has definitions that brackets might refer to.
    Brackets,
    /// Emphasis with the other character.
    Other,
    /// Backslashes wherever they may be.
    Full,
}

/// The context of a text block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockContext {
    pub(crate) profile: SchemaProfile,
    pub(crate) care: EscapeCare,
    pub(crate) in_cell: bool,
    pub(crate) begins_item: bool,
}

/// Appends the text of a text block, as [`inline`] returns it.
pub(crate) fn push_inline(children: &[MarkdownNode], context: BlockContext, out: &mut String) {
    match plain(children, context.profile) {
        Some(text) => escape::escape(text, &alone(context), out),
        None => out.push_str(&inline(children, context)),
    }
}

/// Returns the text of a block that is one run: text without marks, on one line. Most are.
fn plain(children: &[MarkdownNode], profile: SchemaProfile) -> Option<&str> {
    let [MarkdownNode::Text(TextRun { text, marks })] = children else { return None };
    // In the profile that keeps them in text, breaks and tags are runs of their own.
    let is_one = || profile == SchemaProfile::Gfm || !text.contains(['\n', '<']);
    (marks.is_empty() && is_one()).then_some(text)
}

/// Returns the context of the only run of a block.
fn alone(context: BlockContext) -> EscapeContext {
    EscapeContext {
        profile: context.profile,
        care: context.care,
        in_cell: context.in_cell,
        begins_line: true,
        begins_block: true,
        begins_item: context.begins_item,
        ends_line: true,
        before: None,
        after: Some('\n'),
        is_followed: false,
        link_follows: false,
    }
}

/// Returns the text of a text block. Lines are separated by `\n`.
pub(crate) fn inline(children: &[MarkdownNode], context: BlockContext) -> String {
    if let Some(text) = plain(children, context.profile) {
        let mut out = String::with_capacity(text.len());
        escape::escape(text, &alone(context), &mut out);
        return out;
    }
    let runs = runs(children, context.profile);
    // Breaks at the end vanish, unless they are characters.
    let n_solid = runs.iter().rposition(|run| !run.is_break()).map_or(0, |last| last + 1);
    let n_breaks = match context.profile {
        SchemaProfile::CommonMark => {
            runs[n_solid..].iter().filter(|run| run.kind == RunKind::Soft).count()
        }
        SchemaProfile::Gfm => 0,
    };
    let runs = &runs[..n_solid];
    let until = extents(runs);
    let mut writer = InlineWriter {
        context,
        runs,
        out: String::new(),
        open: Vec::new(),
        beside_words: Vec::new(),
    };
    for (at, until) in until.iter().enumerate() {
        writer.run(at, until);
    }
    writer.close_from(0);
    writer.out.push_str(&"&#10;".repeat(n_breaks));
    writer.out
}

struct InlineWriter<'a> {
    context: BlockContext,
    runs: &'a [DelimiterRun<'a>],
    out: String,
    open: Vec<MarkDelimiter<'a>>,
    /// Those of them that are beside a word, where `_` would be a letter.
    beside_words: Vec<MarkDelimiter<'a>>,
}

/// Returns for each mark of each run the index of the first run after it without the mark.
fn extents(runs: &[DelimiterRun<'_>]) -> Vec<Vec<usize>> {
    let mut until: Vec<Vec<usize>> = vec![Vec::new(); runs.len()];
    for at in (0..runs.len()).rev() {
        let next = runs.get(at + 1);
        let extent = |mark: &MarkDelimiter<'_>| {
            let same = next.and_then(|next| next.marks.iter().position(|other| other == mark));
            same.map_or(at + 1, |index| until[at + 1][index])
        };
        until[at] = runs[at].marks.iter().map(extent).collect();
    }
    until
}

impl<'a> InlineWriter<'a> {
    /// Writes the run at an index, after the delimiters that end and begin there.
    fn run(&mut self, at: usize, until: &[usize]) {
        let runs: &'a [DelimiterRun<'a>] = self.runs;
        let run = &runs[at];
        let first_ended = self.open.iter().position(|mark| !run.marks.contains(mark));
        if let Some(first) = first_ended {
            self.close_from(first);
        }
        let mut opening: Vec<(usize, MarkDelimiter<'a>)> = until
            .iter()
            .copied()
            .zip(run.marks.iter().copied())
            .filter(|(_, mark)| !self.open.contains(mark))
            .collect();
        // The mark that reaches furthest is the outermost.
        opening.sort_by_key(|(until, mark)| (usize::MAX - until, mark.rank()));
        let mut autolink = None;
        for (until, mark) in opening {
            if let MarkDelimiter::Link { href, title } = mark {
                let is_text = run.kind == RunKind::Text(href);
                if is_text && title.is_empty() && until == at + 1 && escape::is_uri(href) {
                    autolink = Some(href);
                    continue;
                }
                if self.out.ends_with('!') && !self.out.ends_with("\\!") {
                    self.out.pop();
                    self.out.push_str("\\!");
                }
            }
            self.open_mark(mark, until);
        }
        match autolink {
            Some(href) => self.out.extend(["<", href, ">"]),
            None => self.content(at),
        }
    }

    fn open_mark(&mut self, mark: MarkDelimiter<'a>, until: usize) {
        let is_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
        let after = match self.runs.get(until).map(|run| &run.kind) {
            Some(RunKind::Text(text)) => text.chars().next(),
            _ => None,
        };
        if is_word(self.out.chars().next_back()) || is_word(after) {
            self.beside_words.push(mark);
        }
        match mark {
            MarkDelimiter::Link { .. } => self.out.push('['),
            mark => self.delimiter(mark),
        }
        self.open.push(mark);
    }

    fn close_from(&mut self, first: usize) {
        while self.open.len() > first {
            let Some(mark) = self.open.pop() else { return };
            let closed = mark;
            match mark {
                MarkDelimiter::Link { href, title } => {
                    self.out.push_str("](");
                    self.out.push_str(&escape::destination(href));
                    self.out.push_str(&escape::title(title));
                    self.out.push(')');
                }
                mark => self.delimiter(mark),
            }
            self.beside_words.retain(|mark| *mark != closed);
        }
    }

    fn delimiter(&mut self, mark: MarkDelimiter<'_>) {
        let is_beside_word = self.beside_words.contains(&mark);
        let mark = match mark {
            MarkDelimiter::Emphasis('_') if is_beside_word => MarkDelimiter::Emphasis('*'),
            MarkDelimiter::Strong('_') if is_beside_word => MarkDelimiter::Strong('*'),
            mark => mark,
        };
        match mark {
            MarkDelimiter::Emphasis(marker) => self.out.push(match (self.context.care, marker) {
                (EscapeCare::Other, '*') => '_',
                (EscapeCare::Other, _) => '*',
                _ => marker,
            }),
            MarkDelimiter::Strong(marker) => self.out.extend([marker, marker]),
            MarkDelimiter::Strike => self.out.push_str("~~"),
            MarkDelimiter::Link { .. } => {}
        }
    }

    fn content(&mut self, at: usize) {
        let in_cell = self.context.in_cell;
        match self.runs[at].kind {
            RunKind::Text(text) => {
                let around = self.around(at);
                escape::escape(text, &around, &mut self.out);
            }
            RunKind::Code(code) => {
                let span = escape::code_span(code);
                self.out.push_str(&if in_cell { span.replace('|', "\\|") } else { span });
            }
            RunKind::Soft if in_cell => self.out.push(' '),
            RunKind::Soft if self.out.is_empty() || self.out.ends_with('\n') => {
                self.out.push_str("&#10;");
            }
            RunKind::Soft => self.out.push('\n'),
            RunKind::Hard => self.out.push_str(if in_cell { "<br>" } else { "\\\n" }),
            RunKind::Image { source, alternative, title } => {
                let (label, source) = (escape::label(alternative), escape::destination(source));
                let title = escape::title(title);
                let image = format!("![{label}]({source}{title})");
                self.out.push_str(&if in_cell { image.replace('|', "\\|") } else { image });
            }
            RunKind::Html(html) if in_cell => {
                self.out.push_str(&html.replace('|', "\\|").replace('\n', " "));
            }
            RunKind::Html(html) => self.out.push_str(html),
            RunKind::Footnote(label) => {
                self.out.push_str("[^");
                self.out.push_str(label);
                self.out.push(']');
            }
        }
    }

    fn around(&self, at: usize) -> EscapeContext {
        let next = self.runs.get(at + 1);
        let ends_line = next.is_none_or(DelimiterRun::is_break);
        let after = match next.map(|next| &next.kind) {
            Some(RunKind::Text(text)) => text.chars().next(),
            None | Some(RunKind::Soft | RunKind::Hard) => Some('\n'),
            Some(_) => Some('*'),
        };
        let is_link = |run: &DelimiterRun<'_>| {
            run.marks.iter().any(|mark| matches!(mark, MarkDelimiter::Link { .. }))
        };
        EscapeContext {
            profile: self.context.profile,
            care: self.context.care,
            in_cell: self.context.in_cell,
            begins_line: self.out.is_empty() || self.out.ends_with('\n'),
            begins_block: self.out.is_empty(),
            begins_item: self.context.begins_item && self.out.is_empty(),
            ends_line,
            before: self.out.chars().next_back(),
            after,
            is_followed: next.is_some(),
            link_follows: next.is_some_and(is_link),
        }
    }
}
