//! Writes leaves as lines of a file: the prefixes of containers, and the lines between leaves.

use std::borrow::Cow;

use super::{
    body::{body, lines},
    inline::EscapeCare,
};
use crate::{
    outline::{ContainerKind, TreeOutline},
    schema::SchemaProfile,
};

/// One line of a file, as it is remembered or about to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputLine {
    /// The line, or the text after the containers' prefixes on it.
    pub(crate) text: String,
    /// Whether the text is the whole line, prefixes included.
    pub(crate) is_whole: bool,
    /// Its end, if it differs from that of most lines of the file.
    pub(crate) end: Option<LineEnd>,
}

/// The end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

/// The prefixes that a container puts before lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinePrefix {
    /// On its first line.
    pub(crate) first: String,
    /// On the others.
    pub(crate) rest: String,
}

/// All instructions for writing a tree, beside the tree.
#[derive(Debug)]
pub(crate) struct WritePlan<'a> {
    pub(crate) profile: SchemaProfile,
    /// By leaf.
    pub(crate) cares: Vec<EscapeCare>,
    /// By container.
    pub(crate) prefixes: Vec<LinePrefix>,
    /// The remembered lines of leaves.
    pub(crate) bodies: Vec<Option<Cow<'a, [OutputLine]>>>,
    /// The remembered lines before leaves; one more for those after the last.
    pub(crate) gaps: Vec<Option<Cow<'a, [OutputLine]>>>,
    /// The usual line end.
    pub(crate) end: LineEnd,
    /// The length at which to stop, in bytes: no memory makes a text longer.
    pub(crate) max_len: usize,
}

impl LineEnd {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

impl OutputLine {
    /// Makes a line with the usual end, after the prefixes.
    pub(crate) fn new(text: String) -> Self {
        Self { text, is_whole: false, end: None }
    }
}

impl WritePlan<'_> {
    /// Returns the plan without any memory.
    pub(crate) fn canonical(outline: &TreeOutline<'_>, profile: SchemaProfile) -> Self {
        let n_leaves = outline.leaves.len();
        Self {
            profile,
            cares: vec![EscapeCare::Little; n_leaves],
            prefixes: (0..outline.containers.len()).map(|at| prefix(outline, at)).collect(),
            bodies: vec![None; n_leaves],
            gaps: vec![None; n_leaves + 1],
            end: LineEnd::Lf,
            max_len: usize::MAX,
        }
    }
}

/// Returns the usual prefixes of a container.
pub(crate) fn prefix(outline: &TreeOutline<'_>, container: usize) -> LinePrefix {
    let container = &outline.containers[container];
    match container.kind {
        ContainerKind::Quote => LinePrefix { first: "> ".to_owned(), rest: "> ".to_owned() },
        ContainerKind::Footnote => {
            let label = container.element.text_attribute("label");
            LinePrefix { first: format!("[^{label}]: "), rest: "    ".to_owned() }
        }
        ContainerKind::Item { list, index } => {
            let list = &outline.lists[list];
            let first = match (list.start, list.is_alternate) {
                (None, false) => "- ".to_owned(),
                (None, true) => "* ".to_owned(),
                (Some(start), false) => format!("{}. ", start + index as u64),
                (Some(start), true) => format!("{}) ", start + index as u64),
            };
            let rest = " ".repeat(first.len());
            LinePrefix { first, rest }
        }
    }
}

/// Writes a tree by a plan.
pub(crate) fn emit(outline: &TreeOutline<'_>, plan: &WritePlan<'_>) -> String {
    emit_blocks(outline, plan).0
}

/// Writes a tree by a plan, and returns the start of each leaf, with the gap before it.
pub(crate) fn emit_blocks(outline: &TreeOutline<'_>, plan: &WritePlan<'_>) -> (String, Vec<usize>) {
    let mut emitter = LineEmitter { plan, out: String::new(), open: Vec::new() };
    let mut starts = Vec::with_capacity(outline.leaves.len());
    for index in 0..outline.leaves.len() {
        starts.push(emitter.out.len());
        let leaf = &outline.leaves[index];
        let chain = outline.chain(index);
        let n_shared =
            chain.iter().zip(&emitter.open).take_while(|(new, old)| **new == old.container).count();
        emitter.open.truncate(n_shared);
        match &plan.gaps[index] {
            Some(lines) => lines.iter().for_each(|line| emitter.line(line)),
            None if leaf.blank_before => emitter.usual_line(""),
            None => {}
        }
        for container in &chain[n_shared..] {
            emitter.open.push(OpenPrefix { container: *container, is_pending: true });
        }
        match &plan.bodies[index] {
            Some(lines) => lines.iter().for_each(|line| emitter.line(line)),
            None => {
                let body = body(leaf, plan.profile, plan.cares[index]);
                lines(&body).for_each(|line| emitter.usual_line(line));
            }
        }
        // A container shows even if it is empty; unless it shared the line of another.
        let is_remembered = plan.bodies[index].is_some();
        if emitter.open.iter().any(|open| open.is_pending) && !is_remembered {
            emitter.usual_line("");
        }
        emitter.open.iter_mut().for_each(|open| open.is_pending = false);
    }
    emitter.open.clear();
    let after = plan.gaps.last().and_then(Option::as_deref).unwrap_or_default();
    after.iter().for_each(|line| emitter.line(line));
    (emitter.out, starts)
}

struct LineEmitter<'a> {
    plan: &'a WritePlan<'a>,
    out: String,
    open: Vec<OpenPrefix>,
}

struct OpenPrefix {
    container: usize,
    /// Whether it has not been on a line yet.
    is_pending: bool,
}

impl LineEmitter<'_> {
    fn line(&mut self, line: &OutputLine) {
        self.push_line(&line.text, line.is_whole, line.end);
    }

    /// Writes a line that ends like most, after the prefixes.
    fn usual_line(&mut self, text: &str) {
        self.push_line(text, false, None);
    }

    fn push_line(&mut self, text: &str, is_whole: bool, end: Option<LineEnd>) {
        let start = self.out.len();
        if start > self.plan.max_len {
            return;
        }
        for open in &mut self.open {
            let is_first = std::mem::take(&mut open.is_pending);
            if !is_whole {
                let prefix = &self.plan.prefixes[open.container];
                self.out.push_str(if is_first { &prefix.first } else { &prefix.rest });
            }
        }
        if text.is_empty() {
            // No blanks at the end of a line without other text.
            let kept = self.out[start..].trim_end_matches([' ', '\t']).len();
            self.out.truncate(start + kept);
        }
        self.out.push_str(text);
        self.out.push_str(end.unwrap_or(self.plan.end).as_str());
    }
}
