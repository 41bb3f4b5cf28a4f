//! The approximate size of a text's tree, without building it.
//!
//! A line, a list item or a cell of a table is a few elements with attributes and a text, which
//! take 1 to 4 KB in an editor's document, however short they are. So memory is not bounded by the
//! length of a file, but by its weight.

/// Returns the approximate number of lines, items, cells and pairs of marks of a text. It is at
/// most the length of the text in bytes. Costs one pass and no memory.
///
/// ```
/// use yfs_markdown::weight::weight;
///
/// assert_eq!(weight("Two lines,\nno marks.\n\n\n"), 2);
/// assert_eq!(weight("- item\n- *another*\n"), 5);
/// ```
pub fn weight(text: &str) -> usize {
    let lines = text.as_bytes().split(|byte| matches!(byte, b'\n' | b'\r'));
    let (mut n_blocks, mut n_marks) = (0, 0);
    for line in lines {
        // The bytes that open containers, with the spaces between.
        let opens = |byte: &u8| b"-+*>.) \t0123456789".contains(byte);
        let n_opening = line.iter().take_while(|byte| opens(byte)).count();
        let (opening, rest) = line.split_at(n_opening);
        let n_containers = opening.iter().filter(|byte| b"-+*>.)".contains(byte)).count();
        let is_blank = rest.is_empty() && opening.iter().all(|byte| b" \t".contains(byte));
        n_blocks += n_containers + usize::from(!is_blank);
        n_blocks += rest.iter().filter(|byte| **byte == b'|').count();
        let is_mark = |byte: &u8| matches!(byte, b'*' | b'_' | b'`' | b'[' | b'<' | b'~');
        n_marks += rest.iter().filter(|byte| is_mark(byte)).count();
    }
    n_blocks + n_marks / 2
}
