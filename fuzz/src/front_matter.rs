//! YAML to values and back into the text that it came from.

use yfs_markdown::front_matter::{patch, read, same_entries, split, write};

/// Texts with and without front matter, and YAML alone.
pub const SEEDS: &[&[u8]] = &[
    b"---\ntitle: A\ntags: [a, \"b\", c]\n---\n# A\n",
    b"---\r\na: |\r\n  x\r\n---\r\n",
    b"a: 1\nb:\n  - x\n  - {y: z}\nc: >-\n  folded\n  text\nd: 2026-11-26\ne: ~\n# comment\n",
    b"a: &a [x, x]\nb: *a\n? complex\n: key\n",
    b"---\nno end",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let file = split(text);
    let front = file.front.map(|front| [front.open, front.yaml, front.close].concat());
    assert_eq!(front.unwrap_or_default() + file.body, text);
    if let Ok(mapping) = read(text) {
        assert_eq!(patch(text, &mapping.entries), text);
        let again = read(&write(&mapping.entries)).expect("what is written can be read");
        assert!(same_entries(&again.entries, &mapping.entries));
    }
}
