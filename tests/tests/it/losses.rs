//! Each test that `docs/spec/losses-closed.md` names exists.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;
use yfs_tests::root;

/// The files of tests in Rust and in JavaScript.
fn sources(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["node_modules", "target", "app"].contains(&name.as_str()) {
            sources(&path, found);
        } else if name.ends_with(".rs") || name.ends_with(".test.mjs") {
            found.push(path);
        }
    }
}

#[test]
fn every_loss_has_its_tests() {
    let rust = Regex::new(r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn (\w+)");
    let proptest = Regex::new(r"#\[test\][^{}]*?fn (\w+)\(").unwrap();
    let javascript = Regex::new(r#"test\(\s*['"`]([^'"`]+)['"`]"#).unwrap();
    let rust = rust.unwrap();
    let mut files = Vec::new();
    for dir in ["crates", "tests"] {
        sources(&root().join(dir), &mut files);
    }
    let mut tests = BTreeSet::new();
    for path in files {
        let source = fs::read_to_string(&path).unwrap();
        for pattern in [&rust, &proptest, &javascript] {
            tests.extend(pattern.captures_iter(&source).map(|found| found[1].to_owned()));
        }
    }
    let page = fs::read_to_string(root().join("docs/spec/losses-closed.md")).unwrap();
    let mut n_rows = 0;
    let mut n_named = 0;
    for line in page.lines() {
        // The tests of a row are in its last column.
        let is_row = line.starts_with("| ") && !line.starts_with("| #");
        let named = match line.trim_end_matches(" |").rsplit_once(" | ") {
            Some((_, tests)) if is_row => tests,
            _ if line.starts_with('`') => line,
            _ => continue,
        };
        n_rows += usize::from(is_row);
        let names: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test: {line}");
        for name in names {
            assert!(tests.contains(name), "no test is named {name:?}");
            n_named += 1;
        }
    }
    assert!(n_rows >= 35 && n_named > 90, "{n_rows} rows name {n_named} tests");
}
