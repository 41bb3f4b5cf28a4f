//! The text of a patch: `*** Begin Patch`, operations, `*** End Patch`.

use crate::tool_outcome::ToolFailure;

/// One operation of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatchOperation {
    /// A new file; an existing one is replaced.
    Add {
        /// The path as written.
        path: String,
        /// The content.
        content: String,
    },
    /// The removal of a file.
    Delete {
        /// The path as written.
        path: String,
    },
    /// A change of a file.
    Update {
        /// The path as written.
        path: String,
        /// The path that the file gets.
        move_to: Option<String>,
        /// The hunks, in the order of the file.
        hunks: Vec<PatchHunk>,
    },
}

/// A change of consecutive lines.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PatchHunk {
    /// A line that precedes the change somewhere.
    pub(super) header: Option<String>,
    /// The lines.
    pub(super) lines: Vec<HunkLine>,
    /// Whether the change is at the end of the file.
    pub(super) at_end: bool,
}

/// A line of a hunk, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HunkLine {
    /// A line that is there, and stays as it is there.
    Context(String),
    /// A line that is there, and goes.
    Removed(String),
    /// A new line.
    Added(String),
}

impl HunkLine {
    /// Returns the text of a line that is to be found.
    pub(super) fn old(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Removed(text) => Some(text),
            Self::Added(_) => None,
        }
    }
}

/// Parses a patch.
pub(super) fn parse_patch(text: &str) -> Result<Vec<PatchOperation>, ToolFailure> {
    let bad = |line: usize, reason: &str| {
        Err(ToolFailure::refused(format!("invalid patch, line {line}: {reason}")))
    };
    let text = text.trim();
    let lines: Vec<&str> = text.lines().collect();
    if lines.first().map(|line| line.trim()) != Some("*** Begin Patch") {
        return bad(1, "the first line must be '*** Begin Patch'");
    }
    if lines.len() < 2 || lines.last().map(|line| line.trim()) != Some("*** End Patch") {
        return bad(lines.len(), "the last line must be '*** End Patch'");
    }
    let body = &lines[1..lines.len() - 1];
    let mut operations = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let line = body[at].trim();
        let number = at + 2;
        at += 1;
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            let added = body[at..].iter().take_while(|line| line.starts_with('+'));
            let content: String = added.map(|line| format!("{}\n", &line[1..])).collect();
            at += content.matches('\n').count();
            operations.push(PatchOperation::Add { path: path.to_owned(), content });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            operations.push(PatchOperation::Delete { path: path.to_owned() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            let moved = body.get(at).and_then(|line| line.trim().strip_prefix("*** Move to: "));
            at += usize::from(moved.is_some());
            let (hunks, n_lines) = parse_hunks(&body[at..], at + 2)?;
            at += n_lines;
            if hunks.is_empty() && moved.is_none() {
                return bad(number, &format!("the update of {path} has no hunk"));
            }
            let move_to = moved.map(ToOwned::to_owned);
            operations.push(PatchOperation::Update { path: path.to_owned(), move_to, hunks });
        } else if !line.is_empty() {
            return bad(
                number,
                "expected '*** Add File: ', '*** Delete File: ' or '*** Update File: '",
            );
        }
    }
    match operations.is_empty() {
        true => Err(ToolFailure::refused("the patch changes no file")),
        false => Ok(operations),
    }
}

/// Parses the hunks of an update, and returns them with the number of their lines.
fn parse_hunks(body: &[&str], first: usize) -> Result<(Vec<PatchHunk>, usize), ToolFailure> {
    let is_operation =
        |line: &str| line.trim_start().starts_with("*** ") && line.trim() != "*** End of File";
    let n_lines = body.iter().take_while(|line| !is_operation(line)).count();
    let mut hunks: Vec<PatchHunk> = Vec::new();
    // Whether the last hunk still takes lines.
    let mut is_open = false;
    for (number, line) in (first..).zip(&body[..n_lines]) {
        let trimmed = line.trim();
        if trimmed == "@@" || trimmed.starts_with("@@ ") {
            let header = trimmed.strip_prefix("@@ ").map(|header| header.trim().to_owned());
            hunks.push(PatchHunk { header, ..PatchHunk::default() });
            is_open = true;
            continue;
        }
        if trimmed.is_empty() && !is_open {
            continue;
        }
        if !is_open {
            // The first hunk needs no mark.
            hunks.push(PatchHunk::default());
            is_open = true;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        if trimmed == "*** End of File" {
            hunk.at_end = true;
            is_open = false;
            continue;
        }
        match (line.chars().next(), line.get(1..)) {
            (None, _) => hunk.lines.push(HunkLine::Context(String::new())),
            (Some(' '), Some(rest)) => hunk.lines.push(HunkLine::Context(rest.to_owned())),
            (Some('-'), Some(rest)) => hunk.lines.push(HunkLine::Removed(rest.to_owned())),
            (Some('+'), Some(rest)) => hunk.lines.push(HunkLine::Added(rest.to_owned())),
            _ => {
                return Err(ToolFailure::refused(format!(
                    "invalid patch, line {number}: a line of a hunk begins with a space, - or +"
                )));
            }
        }
    }
    if let Some(position) = hunks.iter().position(|hunk| hunk.lines.is_empty()) {
        let text = format!("invalid patch: hunk {} has no lines", position + 1);
        return Err(ToolFailure::Refused(text));
    }
    Ok((hunks, n_lines))
}
