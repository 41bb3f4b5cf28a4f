//! Code spans of the documents that name files and modules: these exist.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use regex::Regex;
use yfs_tests::{crate_folder, root};

/// Files that a guide makes, or that a workspace has.
const NOT_HERE: &[&str] = &[
    ".yfs/config.toml",
    "crates/doors/yfs-cli/src/commands/wc.rs",
    "crates/doors/yfs-cli/src/commands/admin/wc.rs",
    "crates/doors/yfs-server/src/files/totals.rs",
    "crates/core/yfs-store/src/NAME.rs",
];

/// Returns the files that git has, by their paths in the repository.
fn tracked() -> Vec<String> {
    let list = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let list = String::from_utf8(list.expect("git runs").stdout).expect("names in UTF-8");
    list.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the pages that describe the present state: decisions describe that of their time.
fn pages(files: &[String]) -> impl Iterator<Item = (&str, String)> {
    let pages = files.iter().filter(|file| file.ends_with(".md"));
    let present = pages.filter(|file| {
        (file.starts_with("docs/") && !file.starts_with("docs/decisions/")) || !file.contains('/')
    });
    present
        .filter(|file| *file != "CHANGELOG.md")
        .filter_map(|file| Some((file.as_str(), fs::read_to_string(root().join(file)).ok()?)))
}

#[test]
fn files_that_documents_name_exist() {
    let files = tracked();
    let span = Regex::new(r"`([\w.@-]+(?:/[\w.@-]+)+\.(?:rs|mjs|py|ts|toml|sh))`");
    let (span, mut missing, mut n_named) = (span.expect("a pattern"), BTreeSet::new(), 0);
    for (page, text) in pages(&files) {
        for name in span.captures_iter(&text).map(|found| found[1].to_owned()) {
            n_named += 1;
            let is_here = files.iter().any(|file| Path::new(file).ends_with(Path::new(&name)));
            if !is_here && !NOT_HERE.contains(&name.as_str()) {
                missing.insert(format!("{page}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(n_named > 100, "{n_named} names were found");
}

/// The tables of modules in ARCHITECTURE stand below a heading with their crates.
#[test]
fn modules_that_the_architecture_lists_exist() {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("a page");
    let name = Regex::new(r"`([\w/-]+)`").expect("a pattern");
    let (mut sources, mut missing, mut n_listed) = (Vec::<PathBuf>::new(), Vec::new(), 0);
    for line in text.lines() {
        if line.starts_with("### ") {
            let paths = name.captures_iter(line).map(|found| PathBuf::from(&found[1]));
            let names = paths.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
            let crates = names.filter(|name| name.starts_with("yfs"));
            sources = crates.map(|name| crate_folder(&name).join("src")).collect();
        }
        let Some(cell) = line.strip_prefix("| `").and_then(|row| row.split(" | ").next()) else {
            continue;
        };
        for module in name.captures_iter(&format!("`{cell}")).map(|found| found[1].to_owned()) {
            n_listed += 1;
            let is_here = sources.iter().any(|source| {
                source.join(&module).is_dir() || source.join(format!("{module}.rs")).is_file()
            });
            if !is_here {
                missing.push(module);
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
    assert!(n_listed > 20, "{n_listed} modules were found");
}
