//! Files that people wrote come back byte for byte.

use yfs_markdown::{
    front_matter::split,
    schema::SchemaProfile,
    source::{SourceMap, remember, render},
};
use yfs_tests::markdown;

/// Reads, keeps the memory as entries, and writes.
fn through(text: &str, profile: SchemaProfile) -> String {
    let (document, map) = remember(text, profile);
    let entries = map.entries();
    let entries = entries.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    render(&document, &SourceMap::from_entries(entries), profile)
}

#[test]
fn files_of_others_come_back() {
    let mut n_files = 0;
    let mut n_bytes = 0;
    let mut failures = Vec::new();
    for (whose, files) in [
        ("repository", markdown::of_repository()),
        ("Node packages", markdown::of_node_packages()),
        ("Rust packages", markdown::of_rust_packages()),
    ] {
        println!("{} files of {whose}", files.len());
        for file in files {
            let body = split(&file.text).body;
            n_files += 1;
            n_bytes += body.len();
            for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
                if through(body, profile) != body {
                    failures.push(format!("{} in {profile:?}", file.path.display()));
                }
            }
        }
    }
    println!("{n_files} files, {n_bytes} bytes, in two profiles each");
    assert!(failures.is_empty(), "{} of them:\n{}", failures.len(), failures.join("\n"));
    assert!(n_files >= 200, "only {n_files} files were found");
}
