//! Differences of two texts: by lines, or by words.

use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};

use crate::{
    context::CommandContext,
    errors::Result,
    output::{CommandOutput, TextRole},
};

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The two sides of a comparison, with their names.
pub(crate) struct ComparedSides<'a> {
    pub(crate) names: [String; 2],
    pub(crate) texts: [&'a str; 2],
}

/// Returns a content as text, if it is: UTF-8 without NUL bytes, as for `git diff`.
pub(crate) fn text_of(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

/// Returns the numbers of added and of removed lines.
pub(crate) fn changed_lines(before: &str, after: &str) -> [usize; 2] {
    let diff = TextDiff::from_lines(before, after);
    diff.ops().iter().fold([0, 0], |[added, removed], op| match op.tag() {
        DiffTag::Equal => [added, removed],
        _ => [added + op.new_range().len(), removed + op.old_range().len()],
    })
}

/// Returns the difference of two texts for a program: by words, or as a unified diff.
pub(crate) fn rendered(sides: &ComparedSides<'_>, by_words: bool) -> String {
    if by_words { words(sides, &bracketed) } else { unified(sides) }
}

/// Prints the difference of two texts: by words, or as a unified diff.
pub(crate) fn print(
    context: &mut CommandContext,
    sides: &ComparedSides<'_>,
    by_words: bool,
) -> Result {
    if by_words { print_words(context, sides) } else { print_unified(context, sides) }
}

/// Returns the numbers of added and of removed lines in colors: `+3 -1`.
pub(crate) fn painted_counts([added, removed]: [usize; 2], out: &CommandOutput) -> String {
    let added = out.painted(TextRole::Added, &format!("+{added}"));
    let removed = out.painted(TextRole::Removed, &format!("-{removed}"));
    format!("{added} {removed}")
}

/// Returns a unified diff; empty if the sides are equal.
fn unified(sides: &ComparedSides<'_>) -> String {
    let diff = TextDiff::from_lines(sides.texts[0], sides.texts[1]);
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT).header(&sides.names[0], &sides.names[1]).to_string()
}

/// Prints a unified diff.
fn print_unified(context: &mut CommandContext, sides: &ComparedSides<'_>) -> Result {
    if sides.texts[0] == sides.texts[1] {
        return Ok(());
    }
    for line in unified(sides).split_inclusive('\n') {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        let painted = match role_of(text) {
            Some(role) => context.out.painted(role, &context.out.safe(text)),
            None => context.out.safe(text).into_owned(),
        };
        context.out.raw(format!("{painted}{end}").as_bytes())?;
    }
    Ok(())
}

/// Returns the hunks that differ, with deleted and inserted words marked inside the lines.
fn words(sides: &ComparedSides<'_>, mark: &dyn Fn(ChangeTag, &str) -> String) -> String {
    let diff = TextDiff::from_lines(sides.texts[0], sides.texts[1]);
    let (old, new) = (lines_of(sides.texts[0]), lines_of(sides.texts[1]));
    let mut out = String::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let lines = |from: usize, to: usize| format!("{},{}", from + 1, to - from);
        let olds = lines(first.old_range().start, last.old_range().end);
        let news = lines(first.new_range().start, last.new_range().end);
        out += &format!("@@ -{olds} +{news} @@\n");
        for op in &group {
            out += &render_op(op, &old, &new, mark);
        }
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// Prints the hunks that differ by words: in colors, or with brackets if colors are off.
fn print_words(context: &mut CommandContext, sides: &ComparedSides<'_>) -> Result {
    if sides.texts[0] == sides.texts[1] {
        return Ok(());
    }
    let out = &context.out;
    let mark = |tag: ChangeTag, text: &str| {
        let text = out.safe(text);
        match tag {
            ChangeTag::Equal => text.into_owned(),
            _ if !out.is_colored() => bracketed(tag, &text),
            ChangeTag::Delete => out.painted(TextRole::Removed, &text),
            ChangeTag::Insert => out.painted(TextRole::Added, &text),
        }
    };
    let text = words(sides, &mark);
    context.out.raw(text.as_bytes())
}

/// Marks a piece with brackets, as `git diff --word-diff` does.
fn bracketed(tag: ChangeTag, text: &str) -> String {
    match tag {
        ChangeTag::Equal => text.to_owned(),
        ChangeTag::Delete => format!("[-{text}-]"),
        ChangeTag::Insert => format!("{{+{text}+}}"),
    }
}

/// Returns the text of an operation, with deleted and inserted words marked.
fn render_op(
    op: &DiffOp,
    old: &[&str],
    new: &[&str],
    mark: &dyn Fn(ChangeTag, &str) -> String,
) -> String {
    let (before, after) = (old[op.old_range()].concat(), new[op.new_range()].concat());
    if op.tag() == DiffTag::Equal {
        return mark(ChangeTag::Equal, &before);
    }
    let diff = TextDiff::from_words(&before, &after);
    let mut pieces: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match pieces.last_mut() {
            Some((tag, text)) if *tag == change.tag() => text.push_str(change.value()),
            _ => pieces.push((change.tag(), change.value().to_owned())),
        }
    }
    let mut out = String::new();
    for (tag, text) in pieces {
        // The line end stays outside the marks, so that lines stay intact.
        for line in text.split_inclusive('\n') {
            let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
            if !text.is_empty() {
                out += &mark(tag, text);
            }
            out += end;
        }
    }
    out
}

fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn role_of(line: &str) -> Option<TextRole> {
    let tag = match line.as_bytes().first()? {
        _ if line.starts_with("---") || line.starts_with("+++") => return Some(TextRole::Heading),
        b'@' => return Some(TextRole::Separator),
        b'+' => ChangeTag::Insert,
        b'-' => ChangeTag::Delete,
        _ => return None,
    };
    Some(if tag == ChangeTag::Insert { TextRole::Added } else { TextRole::Removed })
}
