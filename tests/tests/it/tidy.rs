//! Checks the repository itself: its layers, what the engine may touch, its headers, its documents.
//!
//! `cargo tree` is used where a text search is not exact: for the dependencies between our crates
//! and for what the engine would bring into a browser.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use expect_test::{Expect, expect};
use serde_json::Value;
use yfs_tests::{crate_folder, root};

/// The crates of ours that each crate may depend on, lowest layer first; `docs/ARCHITECTURE.md` has
/// the reasons. Adding one is a design change. Dev-dependencies are free: no other crate gets them.
const LAYERS: &[(&str, &[&str])] = &[
    ("yfs-types", &[]),
    ("yfs-markdown", &[]),
    ("yfs-engine", &["yfs-markdown", "yfs-types"]),
    ("yfs-sync", &["yfs-engine"]),
    ("yfs-vfs", &["yfs-types"]),
    ("yfs-store", &["yfs-types"]),
    ("yfs", &["yfs-engine", "yfs-store", "yfs-vfs"]),
    ("yfs-analysis", &["yfs-types"]),
    ("yfs-artifacts", &["yfs-analysis", "yfs-types", "yfs-vfs"]),
    ("yfs-mirror", &["yfs", "yfs-engine", "yfs-vfs"]),
    ("yfs-mount", &["yfs", "yfs-types", "yfs-vfs"]),
    ("yfs-threads", &["yfs", "yfs-types", "yfs-vfs"]),
    ("yfs-agent", &["yfs-analysis", "yfs-artifacts", "yfs-store", "yfs-types", "yfs-vfs"]),
    (
        "yfs-agent-workspace",
        &["yfs", "yfs-agent", "yfs-artifacts", "yfs-store", "yfs-types", "yfs-vfs"],
    ),
    ("yfs-query-worker", &["yfs-agent", "yfs-analysis"]),
    ("yfs-shell", &["yfs-agent", "yfs-types", "yfs-vfs"]),
    ("yfs-mcp", &["yfs-agent", "yfs-shell", "yfs-types", "yfs-vfs"]),
    ("yfs-replica", &["yfs", "yfs-engine", "yfs-store", "yfs-sync"]),
    ("yfs-peer", &["yfs", "yfs-engine", "yfs-replica", "yfs-store", "yfs-sync"]),
    ("yfs-web", &[]),
    ("yfs-dav", &["yfs-types", "yfs-vfs"]),
    (
        "yfs-wire",
        &["yfs", "yfs-artifacts", "yfs-engine", "yfs-store", "yfs-threads", "yfs-types", "yfs-vfs"],
    ),
    (
        "yfs-server",
        &[
            "yfs",
            "yfs-agent",
            "yfs-agent-workspace",
            "yfs-analysis",
            "yfs-artifacts",
            "yfs-dav",
            "yfs-engine",
            "yfs-mcp",
            "yfs-peer",
            "yfs-replica",
            "yfs-store",
            "yfs-sync",
            "yfs-threads",
            "yfs-vfs",
            "yfs-web",
            "yfs-wire",
        ],
    ),
    (
        "yfs-node",
        &[
            "yfs",
            "yfs-agent",
            "yfs-agent-workspace",
            "yfs-analysis",
            "yfs-artifacts",
            "yfs-engine",
            "yfs-peer",
            "yfs-query-worker",
            "yfs-store",
            "yfs-threads",
            "yfs-vfs",
            "yfs-wire",
        ],
    ),
    (
        "yfs-python",
        &[
            "yfs",
            "yfs-agent",
            "yfs-agent-workspace",
            "yfs-analysis",
            "yfs-artifacts",
            "yfs-query-worker",
            "yfs-shell",
            "yfs-store",
            "yfs-threads",
            "yfs-types",
            "yfs-vfs",
            "yfs-wire",
        ],
    ),
    (
        "yfs-cli",
        &[
            "yfs",
            "yfs-agent",
            "yfs-agent-workspace",
            "yfs-analysis",
            "yfs-artifacts",
            "yfs-engine",
            "yfs-mcp",
            "yfs-mirror",
            "yfs-mount",
            "yfs-peer",
            "yfs-query-worker",
            "yfs-replica",
            "yfs-server",
            "yfs-shell",
            "yfs-store",
            "yfs-threads",
            "yfs-vfs",
            "yfs-wire",
        ],
    ),
];

/// The folders of `crates`, each with the other folders that its crates may depend on. Nothing in
/// the core knows a wing; the wings know the core and not each other; the doors open all of them.
const WINGS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("sync", &["core"]),
    ("agents", &["core"]),
    ("doors", &["core", "sync", "agents"]),
];

/// A file that outgrows this holds two ideas.
const MAX_LINES: usize = 800;

/// The crates that must also run in a browser, with a dependency that their tree must contain,
/// which shows that the tree was read.
const PURE: &[(&str, &str)] = &[
    ("yfs-analysis", "csv-core"),
    ("yfs-engine", "yrs"),
    ("yfs-markdown", "pulldown-cmark"),
    ("yfs-sync", "yfs-engine"),
    ("yfs-types", "smol_str"),
];

/// What these never name, because a browser has none of it or because it makes runs differ.
const NOT_IN_PURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::path",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// What never appears in their trees of dependencies, as built for a browser. Beside these, any
/// `*-sys` crate (a C library or a system's own interface) except the browser's.
#[rustfmt::skip]
const NOT_UNDER_PURE: &[&str] = &[
    "async-std", "cap-std", "chrono", "errno", "futures-executor", "home", "hostname", "libc",
    "memmap2", "mio", "nix", "notify", "num_cpus", "polling", "rand", "rayon", "ring", "rusqlite",
    "rustix", "signal-hook", "signal-hook-registry", "smol", "socket2", "tempfile", "threadpool",
    "time", "tokio", "uuid", "walkdir", "which", "winapi",
];

/// Libraries whose `lib.rs` has no example yet. This list may only shrink.
const WITHOUT_EXAMPLE: &[&str] = &[];

/// The documents that people are sent to.
const DOCUMENTS: &[&str] = &[
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "deny.toml",
    "docs/ARCHITECTURE.md",
    "docs/glossary.md",
    "fixtures/README.md",
    "justfile",
];

/// Filesystems that stand on no other one.
const BACKENDS: &[&str] = &["HostFs", "MemoryFs", "SnapshotFs", "WorkspaceFs"];

/// The lint that holds a wrapper to all methods.
const ALL_METHODS: &str = "#[deny(clippy::missing_trait_methods)]";

/// A wrapper that leaves out a method of `FileSystem` gets the default of the trait instead of what
/// it wraps. For the handle that follows no links, that was a way around the permissions.
#[test]
fn wrappers_of_a_filesystem_leave_no_method_out() {
    let mut n_wrappers = 0;
    for file in rust_sources() {
        let source = fs::read_to_string(&file).expect("a source file");
        if source.contains("bashkit::") {
            continue;
        }
        for (at, _) in source.match_indices("\nimpl") {
            let head = source[at + 1..].lines().next().unwrap_or_default();
            let Some((_, name)) = head.split_once(" FileSystem for ") else { continue };
            let name = name.split(['<', ' ']).next().unwrap_or_default();
            if !BACKENDS.contains(&name) {
                n_wrappers += 1;
                assert!(source[..at].ends_with(ALL_METHODS), "{name} needs {ALL_METHODS}");
            }
        }
    }
    assert!(n_wrappers >= 4, "{n_wrappers} wrappers");
}

/// Returns the Rust files of the crates' sources.
fn rust_sources() -> Vec<PathBuf> {
    let mut pending = vec![root().join("crates")];
    let mut files = Vec::new();
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).expect("a directory").flatten() {
            let path = entry.path();
            let is_source = path.components().any(|part| part.as_os_str() == "src");
            match path.is_dir() {
                true if entry.file_name() != "node_modules" => pending.push(path),
                false if is_source && path.extension().is_some_and(|ext| ext == "rs") => {
                    files.push(path);
                }
                _ => (),
            }
        }
    }
    files
}

#[test]
fn crates_depend_only_on_the_layers_below() {
    let allowed: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    for package in packages() {
        let (name, path) = (text(&package["name"]), text(&package["manifest_path"]));
        if TEST_PACKAGES.contains(&name) {
            continue;
        }
        let folder = crate_folder(name).join("Cargo.toml");
        assert_eq!(Path::new(path), folder, "a crate lies in the folder of its name");
        let allowed = allowed.get(name).unwrap_or_else(|| panic!("{name} is not in LAYERS"));
        let reaches_others = |dependency: &&Value| dependency["kind"] != "dev";
        for dependency in array(&package["dependencies"]).iter().filter(reaches_others) {
            let dependency = text(&dependency["name"]);
            let is_ours = dependency == "yfs" || dependency.starts_with("yfs-");
            assert!(
                !is_ours || allowed.contains(&dependency),
                "{name} must not depend on {dependency}: LAYERS has no such arrow"
            );
        }
    }
}

#[test]
fn wings_know_the_core_and_not_each_other() {
    let wings: BTreeMap<&str, &[&str]> = WINGS.iter().copied().collect();
    let wing_of = |name: &str| {
        let folder = crate_folder(name);
        let wing = folder.parent().and_then(Path::file_name).and_then(|wing| wing.to_str());
        wing.expect("a crate lies in a wing").to_owned()
    };
    for (name, dependencies) in LAYERS {
        let wing = wing_of(name);
        let allowed = wings.get(wing.as_str()).unwrap_or_else(|| panic!("{wing} is not in WINGS"));
        for dependency in *dependencies {
            let other = wing_of(dependency);
            assert!(
                other == wing || allowed.contains(&other.as_str()),
                "{name} in {wing} must not depend on {dependency} in {other}"
            );
        }
    }
}

/// Agents that use any other filesystem compile no workspace, and so no yrs.
#[test]
fn tools_of_agents_know_no_workspace() {
    let below: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    for name in ["yfs-artifacts", "yfs-agent", "yfs-shell", "yfs-mcp", "yfs-query-worker"] {
        let (mut known, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(next) = open.pop() {
            open.extend(below[next].iter().filter(|below| known.insert(**below)));
        }
        assert!(known.contains("yfs-vfs"), "{name} stands on {known:?}");
        let workspace = ["yfs", "yfs-engine"].into_iter().find(|name| known.contains(name));
        assert_eq!(workspace, None, "{name} stands on a workspace");
    }
}

#[test]
fn one_place_appends_to_the_log() {
    let sources =
        files().into_iter().filter(|path| path.starts_with(root().join("crates/core/yfs/src")));
    let calls = sources.flat_map(|path| {
        let n_calls = read(&path).matches(".store.append(").count();
        std::iter::repeat_n(path, n_calls)
    });
    assert_eq!(calls.collect::<Vec<_>>(), [root().join("crates/core/yfs/src/commit.rs")]);
}

#[test]
fn every_crate_keeps_the_lints_and_the_versions_of_the_workspace() {
    for package in packages() {
        let manifest = read(Path::new(text(&package["manifest_path"])));
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} has lints", package["name"]);
        let own_version = |line: &&str| {
            (line.contains("version = \"") || line.contains(" = \""))
                && line.contains('=')
                && !["name", "description", "path", "default-run", "required-features"]
                    .iter()
                    .any(|key| line.starts_with(key))
        };
        let dependencies = manifest.split("\n[").filter(|table| {
            table.split(']').next().is_some_and(|head| head.ends_with("dependencies"))
        });
        for section in dependencies {
            let line = section.lines().skip(1).find(own_version);
            assert_eq!(line, None, "{}: versions live in the root manifest", package["name"]);
        }
    }
}

/// Packages that only tests use.
const TEST_PACKAGES: [&str; 2] = ["yfs-conformance", "yfs-tests"];

/// Test programs besides `it` of each crate, and why they cannot share a process with other tests.
const TEST_PROGRAMS: &[(&str, &str, &str)] = &[
    ("yfs", "derived_faults", "a file that was deleted takes up a full disk until others close it"),
    ("yfs-analysis", "hostile", "it counts all allocations of its process"),
    ("yfs-shell", "limits", "it measures the memory of its process"),
    ("yfs-store", "faults", "a file that was deleted takes up a full disk until others close it"),
    ("yfs-store", "power_cut", "it replaces the file system of SQLite in its process"),
];

/// Each test program links everything once more: 120 of them took most of a test run.
#[test]
fn tests_of_a_crate_are_one_program() {
    let mut programs = Vec::new();
    for package in packages() {
        let targets = array(&package["targets"]).iter();
        let tests =
            targets.filter(|target| array(&target["kind"]).iter().any(|kind| kind == "test"));
        let names: Vec<&str> = tests.map(|test| text(&test["name"])).collect();
        if names.len() > 1 {
            let others = names.iter().filter(|name| **name != "it");
            let package = text(&package["name"]);
            programs.extend(others.map(|name| (package.to_owned(), (*name).to_owned())));
        }
    }
    programs.sort();
    let allowed =
        TEST_PROGRAMS.iter().map(|(package, name, _)| ((*package).to_owned(), (*name).to_owned()));
    assert_eq!(programs, allowed.collect::<Vec<_>>());
}

/// `cargo run` in the root must know what to run: README's first command depends on it.
#[test]
fn there_is_one_program() {
    let mut programs = Vec::new();
    for package in packages() {
        for target in array(&package["targets"]) {
            if array(&target["kind"]).iter().any(|kind| kind == "bin") {
                programs.push(text(&target["name"]).to_owned());
            }
        }
    }
    assert_eq!(programs, ["yfs"]);
}

#[test]
fn source_files_are_short_and_begin_with_a_header() {
    for path in files().iter().filter(|path| has_extension(path, &["rs", "mjs"])) {
        let source = read(path);
        let header = if has_extension(path, &["rs"]) { "//! " } else { "// " };
        assert!(source.starts_with(header), "{} does not say what it is for", path.display());
        let n_lines = source.lines().count();
        assert!(n_lines <= MAX_LINES, "{} has {n_lines} lines", path.display());
        assert!(!path.ends_with("mod.rs"), "{}: foo.rs beside foo/", path.display());
    }
}

#[test]
fn every_library_begins_with_an_example_that_runs() {
    for (name, _) in LAYERS {
        let library = crate_folder(name).join("src/lib.rs");
        if !library.exists() || WITHOUT_EXAMPLE.contains(name) {
            continue;
        }
        let source = read(&library);
        let runs = source.lines().any(|line| line == "//! ```" || line == "//! ```no_run");
        assert!(runs, "the documentation of {name} has no example");
    }
}

#[test]
fn pure_crates_touch_no_file_thread_socket_or_clock() {
    let pure: Vec<_> = PURE.iter().map(|(name, _)| crate_folder(name)).collect();
    let is_pure = |path: &Path| pure.iter().any(|dir| path.starts_with(dir.join("src")));
    let is_test = |path: &Path| {
        path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
    };
    let sources = files()
        .into_iter()
        .filter(|path| is_pure(path) && has_extension(path, &["rs"]) && !is_test(path));
    let mut n_sources = 0;
    for path in sources {
        n_sources += 1;
        for named in named_in_std(&read(&path)) {
            let forbidden = NOT_IN_PURE.iter().find(|prefix| {
                named
                    .strip_prefix(*prefix)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
            });
            assert_eq!(forbidden, None, "{} names {named}", path.display());
            assert_ne!(named, "std::time::*", "{} may not take all of it", path.display());
            assert_ne!(named, "std::*", "{} may not take all of it", path.display());
        }
    }
    assert!(n_sources > 10, "their sources were not found");
}

/// The same code shall run beside an editor in a browser. That target is not always installed, so
/// this reads what Cargo would build for it.
#[test]
fn nothing_under_pure_crates_stands_in_the_way_of_a_browser() {
    for (package, known) in PURE {
        let tree = browser_tree_of(package);
        assert!(tree.contains_key(*known), "the tree of {package} was not found: {tree:?}");
        assert_runs_in_browser(package, &tree);
    }
}

fn assert_runs_in_browser(package: &str, tree: &BTreeMap<String, BTreeSet<String>>) {
    for (name, features) in tree {
        let is_system = name.ends_with("-sys") && name != "js-sys" && name != "web-sys";
        assert!(!is_system, "{package} must not pull in {name}");
        assert!(!NOT_UNDER_PURE.contains(&name.as_str()), "{package} must not pull in {name}");
        if name == "getrandom" {
            let in_browser = features.contains("wasm_js") || features.contains("js");
            assert!(in_browser, "getrandom does not build for a browser with {features:?}");
        }
    }
}

#[test]
fn documents_exist_and_their_links_resolve() {
    for name in DOCUMENTS {
        assert!(root().join(name).is_file(), "{name} is missing");
    }
    let architecture = read(&root().join("docs/ARCHITECTURE.md"));
    assert!(architecture.lines().count() <= 200, "docs/ARCHITECTURE.md is for one sitting");
    // What programs put on a clipboard leads to pages of theirs.
    let copied = root().join("fixtures/clipboards");
    let is_document = |path: &&PathBuf| has_extension(path, &["md"]) && !path.starts_with(&copied);
    for path in files().iter().filter(is_document) {
        let source = read(path);
        for link in links(&source) {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = path.parent().expect("a file lies in a folder");
            let target = if target.is_empty() { path.clone() } else { folder.join(target) };
            assert!(target.exists(), "{} links to {link}, which is not there", path.display());
            let found = anchor.is_empty()
                || !has_extension(&target, &["md"])
                || anchors(&read(&target)).contains(anchor);
            assert!(found, "{} links to {link}: no such heading", path.display());
        }
    }
}

/// A page without a line in the summary is not in the book.
#[test]
fn every_page_is_in_the_book() {
    let docs = root().join("docs");
    let summary = links(&read(&docs.join("SUMMARY.md")));
    for path in files().iter().filter(|path| has_extension(path, &["md"])) {
        let Ok(page) = path.strip_prefix(&docs) else { continue };
        let is_listed = summary.iter().any(|link| Path::new(link) == page);
        let is_summary = page == Path::new("SUMMARY.md");
        assert!(is_listed || is_summary, "docs/SUMMARY.md has no line for {}", page.display());
    }
}

/// A decision is named by its number, so no two have the same.
#[test]
fn decisions_are_numbered() {
    let mut title_by_number = BTreeMap::new();
    let decisions = root().join("docs/decisions");
    for path in files().into_iter().filter(|path| path.starts_with(&decisions)) {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in ASCII");
        let number: u32 = name[..4].parse().unwrap_or_else(|_| panic!("{name} has no number"));
        let title = read(&path).lines().next().unwrap_or_default().to_owned();
        assert!(title.starts_with(&format!("# {number}. ")), "{name} is titled {title:?}");
        let other = title_by_number.insert(number, title.clone());
        assert_eq!(other, None, "{title:?} has a number that is taken");
    }
}

/// The repository must not know the machine that it was written on.
#[test]
fn no_file_names_a_place_outside_the_repository() {
    let places = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/tmp/", "yfs"),
        concat!("../sh", "ared"),
    ];
    for path in files() {
        let Ok(source) = String::from_utf8(fs::read(&path).expect("a readable file")) else {
            continue;
        };
        for place in places {
            let after_word = |at: usize| {
                source[..at]
                    .ends_with(|char: char| char.is_alphanumeric() || "./_-}".contains(char))
            };
            let found = source.match_indices(place).find(|(at, _)| !after_word(*at));
            assert_eq!(found, None, "{} names a place outside", path.display());
        }
        let name = path.file_name().unwrap_or_default();
        if name == "package-lock.json" || name == ".npmrc" {
            for host in ["\"resolved\"", "registry="] {
                assert!(!source.contains(host), "{} names a registry", path.display());
            }
        }
    }
}

#[test]
fn use_trees_are_flattened() {
    let check = |source: &str, expected: Expect| {
        expected.assert_eq(&named_in_std(source).into_iter().collect::<Vec<_>>().join(" "));
    };
    check("use std::fs::File;", expect!["std::fs::File"]);
    check(
        "use std::{\n    fmt,\n    io::{self, Write},\n    time::{Duration, Instant as Now},\n};",
        expect!["std::fmt std::io::Write std::io::self std::time::Duration std::time::Instant"],
    );
    check("let now = std::time::SystemTime::now();", expect!["std::time::SystemTime::now"]);
    check("//! not std::fs\n// nor std::env\nfn f() {}", expect![""]);
    check("fn f() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}", expect![""]);
    check("use ::std::thread;\nuse mystd::fs;", expect!["std::thread"]);
}

#[test]
fn links_are_found() {
    let check = |source: &str, expected: Expect| expected.assert_eq(&links(source).join(" "));
    check("[a](b.md) ![c](d/e.png \"title\") [f](<g h.md>)", expect!["b.md d/e.png g h.md"]);
    check("[a](https://example.com) [b](mailto:x@y.z) [c](#d)", expect!["#d"]);
    check("[a](b%20c.md#d)", expect!["b c.md#d"]);
    check("```\n[a](b.md)\n```\n`[c](d.md)` [e](f.md)", expect!["f.md"]);
}

/// Returns our packages, as Cargo reads their manifests.
fn packages() -> Vec<Value> {
    let metadata = cargo(&["metadata", "--offline", "--no-deps", "--format-version=1"])
        .unwrap_or_else(|error| panic!("cargo metadata: {error}"));
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo writes JSON");
    array(&metadata["packages"]).clone()
}

/// Returns the names of what a package pulls into a browser, with the features of each.
fn browser_tree_of(package: &str) -> BTreeMap<String, BTreeSet<String>> {
    let target = "--target=wasm32-unknown-unknown";
    let args = ["tree", "--locked", target, "--edges=normal", "--prefix=none", "-p", package];
    let args = [&args[..], &["--format={p}|{f}"]].concat();
    // Packages that only a browser needs may not have been fetched yet: then Cargo fetches them.
    let tree = cargo(&[&args[..], &["--offline"]].concat()).or_else(|_| cargo(&args));
    let tree = tree.unwrap_or_else(|error| panic!("cargo tree: {error}"));
    let mut features_by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in tree.lines() {
        let (package, features) = line.split_once('|').expect("the format has a bar");
        // A macro runs in the compiler, wherever the code that it writes will run.
        if package.contains("(proc-macro)") {
            continue;
        }
        let name = package.split(' ').next().unwrap_or_default().to_owned();
        let features = features.trim_end_matches(" (*)").split(',').map(ToOwned::to_owned);
        features_by_name.entry(name).or_default().extend(features);
    }
    features_by_name
}

fn cargo(args: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO"));
    let output = command.args(args).current_dir(root()).output().expect("cargo runs this test");
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).expect("cargo writes UTF-8")),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Returns all paths below `std` that the code names, outside comments and inline test modules.
fn named_in_std(source: &str) -> BTreeSet<String> {
    let mut code = String::new();
    for line in source.lines() {
        if line == "#[cfg(test)]" && source.contains("#[cfg(test)]\nmod tests {") {
            break;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    let mut found = BTreeSet::new();
    for (at, name) in code.match_indices("std::") {
        let is_whole = !code[..at].ends_with(|char: char| char.is_alphanumeric() || char == '_');
        if is_whole {
            flatten("std", &code[at + name.len()..], &mut found);
        }
    }
    found
}

/// Adds the paths of a use tree, or of a path in an expression, whose `prefix::` was just read.
/// Returns what follows it.
fn flatten<'a>(prefix: &str, tree: &'a str, found: &mut BTreeSet<String>) -> &'a str {
    if let Some(mut rest) = tree.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(rest) = rest.strip_prefix('}') {
                return rest;
            }
            let before = rest;
            rest = flatten(prefix, rest, found);
            let next = rest.find([',', '}']).unwrap_or(rest.len());
            rest = rest[next..].strip_prefix(',').unwrap_or(&rest[next..]);
            if rest.len() == before.len() || rest.is_empty() {
                return rest;
            }
        }
    }
    let end =
        tree.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(tree.len());
    let end = if tree.starts_with('*') { 1 } else { end };
    let (name, rest) = tree.split_at(end);
    let path = format!("{prefix}::{name}");
    match rest.strip_prefix("::") {
        Some(rest) if !rest.starts_with('<') => flatten(&path, rest, found),
        _ => {
            found.insert(path);
            rest
        }
    }
}

/// Returns the targets of a document's links to files and headings; code is not read.
fn links(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for line in source.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        for (at, _) in prose.match_indices("](") {
            let target = &prose[at + 2..];
            let target = match target.strip_prefix('<') {
                Some(target) => target.split('>').next(),
                None => target.split([')', ' ']).next(),
            };
            let target = target.unwrap_or_default().replace("%20", " ");
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push(target);
            }
        }
    }
    found
}

/// Returns the anchors of a document's headings, as code hosts spell them.
fn anchors(source: &str) -> BTreeSet<String> {
    let headings = source.lines().filter(|line| line.starts_with('#'));
    let spell = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(spell).collect()
}

/// Returns the files that belong to the repository, in order. Links are not followed.
fn files() -> Vec<PathBuf> {
    const NOT_OURS: &[&str] =
        &[".git", ".yfs", "artifacts", "corpus", "coverage", "node_modules", "target"];
    let mut found = Vec::new();
    let mut pending = vec![root()];
    while let Some(folder) = pending.pop() {
        let entries = fs::read_dir(&folder).expect("a readable folder");
        for entry in entries.map(|entry| entry.expect("a readable folder")) {
            let kind = entry.file_type().expect("an entry has a type");
            let is_ours = !NOT_OURS.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && is_ours {
                pending.push(entry.path());
            } else if kind.is_file() && is_ours {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo names things with strings")
}

fn array(value: &Value) -> &Vec<Value> {
    value.as_array().expect("cargo lists things in arrays")
}
