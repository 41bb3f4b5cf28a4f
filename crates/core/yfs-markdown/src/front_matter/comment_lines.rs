//! The comments around properties: which of them belong to one, and which stay when it is deleted.
//!
//! As in npm `yaml`, a comment right above a property is about it. One with a blank line below may
//! be about all that follows, and one behind the last property about none.

/// Reports whether a line is blank or a comment, so that it belongs to the property below.
pub(super) fn is_above(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// Returns the length of what stays if a property is deleted, at the beginning of its lines: all
/// comments but those right above it.
pub(super) fn kept_len(lines: &str) -> usize {
    let (mut at, mut kept, mut has_comment) = (0, 0, false);
    for line in lines.split_inclusive('\n').take_while(|line| is_above(line)) {
        at += line.len();
        match line.trim().is_empty() {
            true if has_comment => kept = at,
            true => {}
            false => has_comment = true,
        }
    }
    kept
}

/// Returns where the comments behind the last property begin, in its lines.
pub(super) fn footer_start(lines: &str) -> usize {
    let (mut at, mut start) = (lines.len(), lines.len());
    for line in lines.split_inclusive('\n').rev().take_while(|line| is_above(line)) {
        at -= line.len();
        if start < lines.len() || !line.trim().is_empty() {
            start = at;
        }
    }
    start
}

/// Returns where the line begins that ends the YAML, if it has one: `...`, with a comment.
pub(super) fn document_end(yaml: &str) -> usize {
    let mut at = 0;
    for line in yaml.split_inclusive('\n') {
        let rest = line.strip_prefix("...");
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])) {
            return at;
        }
        at += line.len();
    }
    at
}
