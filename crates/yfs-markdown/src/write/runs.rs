//! Inline content as a flat list of runs, with the marks that text can show.

use crate::{
    schema::Profile,
    tree::{Element, Mark, Node, Value},
    write::html,
};

/// A mark that delimiters show.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Delimiter {
    Emphasis(char),
    Strong(char),
    Strike,
    Link { href: String, title: String },
}

/// What a run is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RunKind {
    Text(String),
    Code(String),
    Soft,
    Hard,
    Image { source: String, alternative: String, title: String },
    Html(String),
    Footnote(String),
}

#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) kind: RunKind,
    pub(super) marks: Vec<Delimiter>,
}

impl Delimiter {
    /// Which of two that reach equally far is the outer one.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Link { .. } => 0,
            Self::Emphasis(_) => 1,
            Self::Strong(_) => 2,
            Self::Strike => 3,
        }
    }
}

impl Run {
    fn new(kind: RunKind, marks: &[Delimiter]) -> Self {
        Self { kind, marks: marks.to_vec() }
    }

    pub(super) fn is_break(&self) -> bool {
        matches!(self.kind, RunKind::Soft | RunKind::Hard)
    }

    fn is_blank(&self) -> bool {
        match &self.kind {
            RunKind::Text(text) => text.chars().all(|it| it == ' ' || it == '\t'),
            _ => self.is_break(),
        }
    }
}

/// Returns the runs of a text block, with blanks moved out of delimiters.
pub(super) fn runs(children: &[Node], profile: Profile) -> Vec<Run> {
    let mut runs = Vec::new();
    for node in children {
        match node {
            Node::Text(text) => {
                let (marks, is_code) = delimiters(&text.marks);
                match is_code {
                    true => runs.push(Run::new(RunKind::Code(text.text.clone()), &marks)),
                    false => push_text(&mut runs, &text.text, &marks, profile),
                }
            }
            Node::Element(element) => {
                let (marks, _) = delimiters(&element.marks);
                runs.extend(inline_element(element).map(|kind| Run::new(kind, &marks)));
            }
        }
    }
    let mut runs = apart(runs);
    settle_blanks(&mut runs, profile);
    runs
}

fn delimiters(marks: &[Mark]) -> (Vec<Delimiter>, bool) {
    let text = |mark: &Mark, name| {
        mark.attribute(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let marker = |mark: &Mark| if text(mark, "marker") == "_" { '_' } else { '*' };
    let mut found = Vec::new();
    let mut is_code = false;
    for mark in marks {
        match mark.name.as_str() {
            "em" | "emphasis" => found.push(Delimiter::Emphasis(marker(mark))),
            "strong" => found.push(Delimiter::Strong(marker(mark))),
            "strike_through" => found.push(Delimiter::Strike),
            "link" => {
                let (href, title) = (text(mark, "href"), text(mark, "title"));
                found.push(Delimiter::Link { href, title });
            }
            "code" | "inlineCode" => is_code = true,
            _ => {}
        }
    }
    (found, is_code)
}

fn inline_element(element: &Element) -> Option<RunKind> {
    let text = |name: &str| element.text_attribute(name).to_owned();
    Some(match element.name.as_str() {
        "hard_break" => RunKind::Hard,
        "hardbreak" => match element.attribute("isInline").and_then(Value::as_bool) {
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
fn push_text(runs: &mut Vec<Run>, text: &str, marks: &[Delimiter], profile: Profile) {
    if profile == Profile::Gfm {
        // Breaks are elements here: a line break in text is a character.
        if !text.is_empty() {
            runs.push(Run::new(RunKind::Text(text.to_owned()), marks));
        }
        return;
    }
    if !text.contains('<') {
        push_lines(runs, text, marks);
        return;
    }
    let mut from = 0;
    for (start, end) in html::tags(text) {
        push_lines(runs, &text[from..start], marks);
        runs.push(Run::new(RunKind::Html(text[start..end].to_owned()), marks));
        from = end;
    }
    push_lines(runs, &text[from..], marks);
}

fn push_lines(runs: &mut Vec<Run>, text: &str, marks: &[Delimiter]) {
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            runs.push(Run::new(RunKind::Soft, marks));
        }
        if !line.is_empty() {
            runs.push(Run::new(RunKind::Text(line.to_owned()), marks));
        }
    }
}

/// Makes runs of their own of blanks at the edges of delimited text.
fn apart(runs: Vec<Run>) -> Vec<Run> {
    let mut cut = Vec::with_capacity(runs.len());
    for run in runs {
        let is_delimited = run.marks.iter().any(|it| !matches!(it, Delimiter::Link { .. }));
        let RunKind::Text(text) = &run.kind else {
            cut.push(run);
            continue;
        };
        let core = text.trim_matches([' ', '\t']);
        if !is_delimited || core.is_empty() {
            cut.push(run);
            continue;
        }
        let n_before = text.len() - text.trim_start_matches([' ', '\t']).len();
        let parts = [&text[..n_before], core, &text[n_before + core.len()..]];
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            cut.push(Run::new(RunKind::Text(part.to_owned()), &run.marks));
        }
    }
    cut
}

/// Blanks keep a delimiter only between two runs that have it. Breaks get those that both sides have:
/// Yjs keeps no marks on elements.
fn settle_blanks(runs: &mut [Run], profile: Profile) {
    let solid: Vec<usize> = (0..runs.len()).filter(|index| !runs[*index].is_blank()).collect();
    let mut n_before = 0_usize;
    for index in 0..runs.len() {
        if !runs[index].is_blank() {
            n_before += 1;
            continue;
        }
        let before = n_before.checked_sub(1).map(|at| solid[at]);
        let after = solid.get(n_before).copied();
        let none: &[Delimiter] = &[];
        let marks_at = |at: Option<usize>| at.map_or(none, |at| runs[at].marks.as_slice());
        let shared =
            |mark: &&Delimiter| marks_at(before).contains(mark) && marks_at(after).contains(mark);
        let run = &runs[index];
        let is_bare_soft =
            run.kind == RunKind::Soft && run.marks.is_empty() && profile == Profile::Gfm;
        let marks = if is_bare_soft || run.kind == RunKind::Hard {
            marks_at(before).iter().filter(shared).cloned().collect()
        } else {
            let is_kept =
                |mark: &&Delimiter| matches!(mark, Delimiter::Link { .. }) || shared(mark);
            run.marks.iter().filter(is_kept).cloned().collect()
        };
        runs[index].marks = marks;
    }
}
