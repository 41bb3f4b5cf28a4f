//! How large a tree a text becomes, without building it.
//!
//! A line, a list item or a cell of a table is a few elements with attributes and a text, which
//! take 1 to 4 KB in an editor's document, however short they are. So memory is not bounded by the
//! length of a file, but by its weight.

/// Returns about how many lines, items, cells and pairs of marks a text has. It is at most the
/// length of the text in bytes. Costs one pass and no memory.
///
/// ```
/// use yfs_markdown::weight::weight;
///
/// assert_eq!(weight("Two lines,\nno marks.\n\n\n"), 2);
/// assert_eq!(weight("- item\n- *another*\n"), 5);
/// ```
pub fn weight(text: &str) -> usize {
    let (mut n_blocks, mut n_marks) = (0, 0);
    // Whether only what opens containers was read of the line, and whether it has anything.
    let (mut is_start, mut is_blank) = (true, true);
    for byte in text.bytes() {
        match byte {
            b'\n' | b'\r' => {
                n_blocks += usize::from(!is_blank);
                (is_start, is_blank) = (true, true);
                continue;
            }
            b' ' | b'\t' => continue,
            b'|' => n_blocks += 1,
            b'-' | b'+' | b'>' | b'.' | b')' if is_start => n_blocks += 1,
            b'*' if is_start => n_blocks += 1,
            b'0'..=b'9' if is_start => (),
            b'*' | b'_' | b'`' | b'[' | b'<' | b'~' => n_marks += 1,
            _ => (),
        }
        is_start &= matches!(byte, b'-' | b'+' | b'>' | b'.' | b')' | b'*' | b'0'..=b'9');
        is_blank = false;
    }
    n_blocks + usize::from(!is_blank) + n_marks / 2
}
