//! Markdown to tree and back, in both profiles, beside a memory of another text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_markdown::{
    front_matter::split,
    parse::parse,
    tree_equality::same,
    schema::{SchemaProfile, check},
    source::{SourceMap, remember, render},
    write::write,
};

fuzz_target!(|input: (&str, &str)| {
    let (text, other) = input;
    let body = split(text).body;
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        let (document, map) = remember(body, profile);
        assert_eq!(check(&document, profile), Ok(()));
        assert_eq!(render(&document, &map, profile), body);
        let (_, stale) = remember(other, profile);
        let (map, stale) = (map.entries(), stale.entries());
        let mixed = map.keys().zip(stale.values()).chain(&stale);
        let mixed =
            SourceMap::from_entries(mixed.map(|(key, value)| (key.as_str(), value.as_str())));
        let read = parse(&render(&document, &mixed, profile), profile);
        let meant = parse(&write(&document, profile), profile);
        assert!(same(&read, &document) || same(&read, &meant));
    }
});
