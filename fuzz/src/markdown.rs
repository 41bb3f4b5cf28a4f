//! Markdown to tree and back, in both profiles, beside a memory of another text.

use yfs_markdown::{
    front_matter::split,
    parse::parse,
    schema::{SchemaProfile, check},
    source::{SourceMap, remember, render},
    tree_equality::same,
    write::write,
};

use super::FuzzInput;

/// Another text, and the text.
pub const SEEDS: &[&[u8]] = &[
    b"\x08\x00# B\n\ny\n# A\n\n- x\n  - [ ] y\n\n1. z\n\n> q\n\n| a | b |\n|--|:-:|\n| 1 | 2 |\
      \n\n```rust\nx\n```\n",
    b"\x05\x00* x\nA\n=\n\n***b** i* `c` [l](<u> \"t\") ![i](s) ~~s~~ &amp; <b> \\* https://x.e\
      xample\n",
    b"\x00\x00\t\ta\r\n\xef\xbb\xbf\xe2\x80\xa8\n[r]: x\n\n[r]\n***\n",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let mut input = FuzzInput(bytes);
    let other = input.take_text();
    let text = input.rest_as_text();
    let body = split(&text).body;
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        let (document, map) = remember(body, profile);
        assert_eq!(check(&document, profile), Ok(()));
        assert_eq!(render(&document, &map, profile), body);
        let (_, stale) = remember(&other, profile);
        let (map, stale) = (map.entries(), stale.entries());
        let mixed = map.keys().zip(stale.values()).chain(&stale);
        let mixed =
            SourceMap::from_entries(mixed.map(|(key, value)| (key.as_str(), value.as_str())));
        let read = parse(&render(&document, &mixed, profile), profile);
        let meant = parse(&write(&document, profile), profile);
        assert!(same(&read, &document) || same(&read, &meant));
    }
}
