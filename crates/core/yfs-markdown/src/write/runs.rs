//! Inline content as a flat list of runs, with the marks that text can show.

use crate::{
    schema::SchemaProfile,
    tree::{AttributeValue, MarkdownNode, TextMark, TreeElement},
    write::html,
};

/// A mark that delimiters show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MarkDelimiter<'a> {
    Emphasis(char),
    Strong(char),
    Strike,
    Link { href: &'a str, title: &'a str },
}

/// The kind of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RunKind<'a> {
    Text(&'a str),
    Code(&'a str),
    Soft,
    Hard,
    Image { source: &'a str, alternative: &'a str, title: &'a str },
    Html(&'a str),
    Footnote(&'a str),
}

#[derive(Debug, Clone)]
pub(super) struct DelimiterRun<'a> {
    pub(super) kind: RunKind<'a>,
    pub(super) marks: Vec<MarkDelimiter<'a>>,
}

impl MarkDelimiter<'_> {
    /// Returns the rank that decides which of two marks with equal extent is the outer one.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Link { .. } => 0,
            Self::Emphasis(_) => 1,
            Self::Strong(_) => 2,
            Self::Strike => 3,
        }
    }
}

impl<'a> DelimiterRun<'a> {
    fn new(kind: RunKind<'a>, marks: &[MarkDelimiter<'a>]) -> Self {
        Self { kind, marks: marks.to_vec() }
    }

    pub(super) fn is_break(&self) -> bool {
        matches!(self.kind, RunKind::Soft | RunKind::Hard)
    }

    fn is_blank(&self) -> bool {
        match &self.kind {
            RunKind::Text(text) => {
                text.chars().all(|character| character == ' ' || character == '\t')
            }
            _ => self.is_break(),
        }
    }
}

/// Returns the runs of a text block, with blanks moved out of delimiters.
pub(super) fn runs(children: &[MarkdownNode], profile: SchemaProfile) -> Vec<DelimiterRun<'_>> {
    let mut runs = Vec::with_capacity(children.len());
    for node in children {
        match node {
            MarkdownNode::Text(text) => {
                let (marks, is_code) = delimiters(&text.marks);
                match is_code {
                    true => runs.push(DelimiterRun { kind: RunKind::Code(&text.text), marks }),
                    false => push_text(&mut runs, &text.text, &marks, profile),
                }
            }
            MarkdownNode::Element(element) => {
                let (marks, _) = delimiters(&element.marks);
                runs.extend(inline_element(element).map(|kind| DelimiterRun { kind, marks }));
            }
        }
    }
    limit_blank_delimiters(&mut runs, profile);
    runs
}

fn delimiters(marks: &[TextMark]) -> (Vec<MarkDelimiter<'_>>, bool) {
    let mut found = Vec::new();
    let mut is_code = false;
    for mark in marks {
        let text = |name| mark.attribute(name).and_then(AttributeValue::as_str).unwrap_or_default();
        let marker = || if text("marker") == "_" { '_' } else { '*' };
        match mark.name.as_str() {
            "em" | "emphasis" => found.push(MarkDelimiter::Emphasis(marker())),
            "strong" => found.push(MarkDelimiter::Strong(marker())),
            "strike_through" => found.push(MarkDelimiter::Strike),
            "link" => found.push(MarkDelimiter::Link { href: text("href"), title: text("title") }),
            "code" | "inlineCode" => is_code = true,
            _ => {}
        }
    }
    (found, is_code)
}

fn inline_element(element: &TreeElement) -> Option<RunKind<'_>> {
    let text = |name: &str| element.text_attribute(name);
    Some(match element.name.as_str() {
        "hard_break" => RunKind::Hard,
        "hardbreak" => match element.attribute("isInline").and_then(AttributeValue::as_bool) {
            Some(true) => RunKind::Soft,
            _ => RunKind::Hard,
        },
        "image" => {
            RunKind::Image { source: text("src"), alternative: text("alt"), title: text("title") }
        }
        "html" => RunKind::Html(text("value")),
        "footnote_reference" => RunKind::Footnote(text("label")),
        _ => return None,
    })
}

/// Cuts text at line breaks, and in the profile that keeps HTML as text, around tags.
fn push_text<'a>(
    runs: &mut Vec<DelimiterRun<'a>>,
    text: &'a str,
    marks: &[MarkDelimiter<'a>],
    profile: SchemaProfile,
) {
    if profile == SchemaProfile::Gfm {
        // Breaks are elements here: a line break in text is a character.
        push_apart(runs, text, marks);
        return;
    }
    if !text.contains('<') {
        push_lines(runs, text, marks);
        return;
    }
    let mut from = 0;
    for (start, end) in html::tags(text) {
        push_lines(runs, &text[from..start], marks);
        runs.push(DelimiterRun::new(RunKind::Html(&text[start..end]), marks));
        from = end;
    }
    push_lines(runs, &text[from..], marks);
}

fn push_lines<'a>(runs: &mut Vec<DelimiterRun<'a>>, text: &'a str, marks: &[MarkDelimiter<'a>]) {
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            runs.push(DelimiterRun::new(RunKind::Soft, marks));
        }
        push_apart(runs, line, marks);
    }
}

/// Adds text; blanks at the edges of delimited text are runs of their own.
fn push_apart<'a>(runs: &mut Vec<DelimiterRun<'a>>, text: &'a str, marks: &[MarkDelimiter<'a>]) {
    let is_delimited = marks.iter().any(|mark| !matches!(mark, MarkDelimiter::Link { .. }));
    let core = text.trim_matches([' ', '\t']);
    let parts = match is_delimited && !core.is_empty() {
        true => {
            let n_before = text.len() - text.trim_start_matches([' ', '\t']).len();
            [&text[..n_before], core, &text[n_before + core.len()..]]
        }
        false => [text, "", ""],
    };
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    runs.extend(parts.map(|part| DelimiterRun::new(RunKind::Text(part), marks)));
}

/// Limits delimiters on blanks to those between two runs that have them. Breaks get those that both
/// sides have: Yjs keeps no marks on elements.
fn limit_blank_delimiters(runs: &mut [DelimiterRun<'_>], profile: SchemaProfile) {
    if runs.iter().all(|run| run.marks.is_empty()) {
        return;
    }
    let solid: Vec<usize> = (0..runs.len()).filter(|index| !runs[*index].is_blank()).collect();
    let mut n_before = 0_usize;
    for index in 0..runs.len() {
        if !runs[index].is_blank() {
            n_before += 1;
            continue;
        }
        let before = n_before.checked_sub(1).map(|at| solid[at]);
        let after = solid.get(n_before).copied();
        let none: &[MarkDelimiter<'_>] = &[];
        let marks_at = |at: Option<usize>| at.map_or(none, |at| runs[at].marks.as_slice());
        let shared = |mark: &&MarkDelimiter<'_>| {
            marks_at(before).contains(mark) && marks_at(after).contains(mark)
        };
        let run = &runs[index];
        let is_bare_soft =
            run.kind == RunKind::Soft && run.marks.is_empty() && profile == SchemaProfile::Gfm;
        let marks = if is_bare_soft || run.kind == RunKind::Hard {
            marks_at(before).iter().filter(shared).copied().collect()
        } else {
            let is_kept = |mark: &&MarkDelimiter<'_>| {
                matches!(mark, MarkDelimiter::Link { .. }) || shared(mark)
            };
            run.marks.iter().filter(is_kept).copied().collect()
        };
        runs[index].marks = marks;
    }
}
