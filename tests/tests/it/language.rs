//! The language of the code: names, words and line lengths.
//!
//! The rules are in `CONTRIBUTING.md`. A table of what is left to mend may only shrink: lower a
//! number when a file was rewritten.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

/// The largest share of types that may carry the name of another type, in percent.
const MAX_SHARED_NAMES: usize = 10;

/// The largest share of types whose name is one word, in percent.
const MAX_ONE_WORD_NAMES: usize = 25;

/// `Workspace` has fewer public methods than this; the rest belongs to its views.
const MAX_WORKSPACE_METHODS: usize = 20;

/// Words that hide who acts or what happens.
const BANNED: &str = r"(?ix)\b(
    whoever|whomever|somebody|nobody|everybody|something|what\ it\ came\ to
    |of\ which|told|hears?|heard|looks?\ at|looked\ at)\b";

/// How many banned words the comments of each crate still have.
const BANNED_LEFT: &[(&str, usize)] = &[];

/// How many lines of each crate are still wider than [`MAX_WIDTH`].
const WIDE_LEFT: &[(&str, usize)] = &[];

/// The areas whose code, literals and comments have none of the [`BANNED`] words, and no binding
/// named `it`.
const PLAIN_AREAS: &[&str] = &[
    "crates/core/yfs",
    "crates/agents/yfs-agent",
    "crates/agents/yfs-agent-workspace",
    "crates/agents/yfs-query-worker",
    "crates/agents/yfs-analysis",
    "crates/agents/yfs-artifacts",
    "crates/doors/yfs-cli",
    "crates/core/yfs-engine",
    "crates/core/yfs-markdown",
    "crates/doors/yfs-mirror",
    "crates/doors/yfs-node",
    "crates/doors/yfs-python",
    "crates/sync/yfs-replica",
    "crates/doors/yfs-server",
    "crates/agents/yfs-shell",
    "crates/core/yfs-store",
    "crates/sync/yfs-sync",
    "crates/core/yfs-types",
    "crates/core/yfs-vfs",
    "crates/doors/yfs-wire",
    "tests",
];

/// The file that defines the [`BANNED`] words.
const THIS_FILE: &str = "tests/tests/it/language.rs";

/// The width of a line, in characters.
const MAX_WIDTH: usize = 100;

#[test]
fn types_have_names_of_their_own() {
    let names = type_names();
    let mut counts = BTreeMap::<&str, usize>::new();
    for name in &names {
        *counts.entry(name).or_default() += 1;
    }
    let shared: Vec<_> = counts.iter().filter(|(_, n)| **n > 1).collect();
    let n_shared: usize = shared.iter().map(|(_, n)| **n).sum();
    assert!(n_shared * 100 < names.len() * MAX_SHARED_NAMES, "shared names: {shared:?}");
    let one_word = |name: &&String| name.chars().filter(char::is_ascii_uppercase).count() < 2;
    let one_word: BTreeSet<_> = names.iter().filter(one_word).collect();
    assert!(
        one_word.len() * 100 < names.len() * MAX_ONE_WORD_NAMES,
        "names of one word: {one_word:?}"
    );
}

#[test]
fn a_workspace_has_few_methods_of_its_own() {
    let method = Regex::new(r"(?s)\n    pub (?:async )?fn (\w+)(?:<[^(]*>)?\(([^)]*)\)").unwrap();
    let methods: BTreeSet<String> = sources("crates/core/yfs/src")
        .iter()
        .flat_map(|path| {
            let source = read(path);
            let blocks = source.split("\nimpl Workspace {").skip(1);
            let bodies =
                blocks.map(|block| block.split("\n}").next().unwrap_or_default().to_owned());
            bodies.collect::<Vec<_>>()
        })
        .flat_map(|body| {
            let methods = method.captures_iter(&body).filter(|found| found[2].contains("self"));
            methods.map(|found| found[1].to_owned()).collect::<Vec<_>>()
        })
        .collect();
    assert!(methods.contains("history"), "the methods are found: {methods:?}");
    assert!(methods.len() < MAX_WORKSPACE_METHODS, "{}: {methods:?}", methods.len());
}

#[test]
fn comments_name_who_acts() {
    let banned = Regex::new(BANNED).unwrap();
    let count = |line: &str| line.find("//").map_or(0, |at| banned.find_iter(&line[at..]).count());
    assert_shrinks("banned words in comments", BANNED_LEFT, count);
}

#[test]
fn documents_name_who_acts() {
    let banned = Regex::new(BANNED).unwrap();
    let mut documents = files_below(&root().join("docs"), "md");
    documents.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    for path in documents {
        for (number, line) in read(&path).lines().enumerate() {
            let word = banned.find(line).map(|found| found.as_str());
            assert_eq!(word, None, "{}:{}", path.display(), number + 1);
        }
    }
}

#[test]
fn scripts_are_plain_and_fit_the_width() {
    let banned = Regex::new(BANNED).unwrap();
    let scripts = scripts();
    assert!(scripts.len() > 60, "the scripts are found: {}", scripts.len());
    for path in scripts {
        for (number, line) in read(&path).lines().enumerate() {
            let word = banned.find(line).map(|found| found.as_str());
            assert_eq!(word, None, "{}:{}: {line}", path.display(), number + 1);
            let is_wide = line.chars().count() > MAX_WIDTH;
            assert!(!is_wide, "{}:{} is too wide: {line}", path.display(), number + 1);
        }
    }
}

#[test]
fn plain_areas_have_no_banned_words() {
    let banned = Regex::new(BANNED).unwrap();
    for (path, source) in plain_sources() {
        for (number, line) in source.lines().enumerate() {
            let word = banned.find(line).map(|found| found.as_str());
            assert_eq!(word, None, "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

#[test]
fn plain_areas_have_no_binding_named_it() {
    let name = Regex::new(r"\bit\b").unwrap();
    for (path, source) in plain_sources() {
        let code = code_only(&source);
        let line = code.lines().position(|line| name.is_match(line));
        assert_eq!(line.map(|at| at + 1), None, "a binding named `it` in {}", path.display());
    }
}

#[test]
fn comments_and_literals_are_not_code() {
    let source =
        "let a = \"it \\\" it\"; // it\nlet b = r#\"it\"#; let c: &'a str = r\"it\";\n'\"'; it;";
    assert_eq!(code_only(source), "let a = ; \nlet b = ; let c: &'a str = ;\n; it;");
}

#[test]
fn lines_fit_the_width() {
    assert_shrinks("wide lines", WIDE_LEFT, |line| usize::from(line.chars().count() > MAX_WIDTH));
}

#[test]
fn only_raw_strings_may_be_wide() {
    let source = "a(r#\"wide\"#);\nb(r##\"one\n\"# two\n\"##, \"x\"); // r#\"open";
    assert_eq!(without_raw_strings(source), "a();\nb(\n\n, \"x\"); // r#\"open");
}

/// Returns the path and the text of each source file of the [`PLAIN_AREAS`].
fn plain_sources() -> impl Iterator<Item = (PathBuf, String)> {
    let paths = PLAIN_AREAS.iter().flat_map(|area| sources(area));
    paths.filter(|path| !path.ends_with(THIS_FILE)).map(|path| {
        let source = read(&path);
        (path, source)
    })
}

/// Returns the TypeScript and JavaScript files of the Node package and of the tests.
fn scripts() -> Vec<PathBuf> {
    let node = ["bench", "examples", "test", "ts", "types"]
        .map(|dir| format!("crates/doors/yfs-node/{dir}"));
    let directories = node.into_iter().chain(["tests".to_owned()]).map(|dir| root().join(dir));
    directories
        .flat_map(|dir| ["ts", "mjs"].map(|extension| files_below(&dir, extension)))
        .flatten()
        .collect()
}

/// Removes comments and literals from a source, but keeps line ends.
fn code_only(source: &str) -> String {
    let source = without_raw_strings(source);
    let text =
        r#"(?s)//[^\n]*|\br"[^"]*"|b?"(?:[^"\\]|\\.)*"|b?'(?:[^'\\]|\\(?:u\{[^}]*\}|x..|.))'"#;
    let text = Regex::new(text).expect("a pattern");
    let line_ends = |found: &regex::Captures<'_>| "\n".repeat(found[0].matches('\n').count());
    text.replace_all(&source, line_ends).into_owned()
}

/// Counts in the sources of each crate and compares with what is known to be left.
fn assert_shrinks(what: &str, left: &[(&str, usize)], count: impl Fn(&str) -> usize) {
    let left: BTreeMap<&str, usize> = left.iter().copied().collect();
    let mut found = BTreeMap::<String, usize>::new();
    for path in sources("crates").into_iter().chain(sources("tests")) {
        let area = area_of(&path);
        let source = without_raw_strings(&read(&path));
        *found.entry(area).or_default() += source.lines().map(&count).sum::<usize>();
    }
    let grown: Vec<_> = found
        .iter()
        .filter(|(area, n)| **n > left.get(area.as_str()).copied().unwrap_or_default())
        .collect();
    assert!(grown.is_empty(), "more {what} than were left: {grown:?}");
}

/// Removes raw string literals with at least one `#`, but keeps their line ends: expected output of
/// tests may be as wide as the program writes it.
fn without_raw_strings(source: &str) -> String {
    let begin = Regex::new(r##"\br(#+)""##).expect("a pattern");
    let (mut kept, mut rest) = (String::new(), source);
    while let Some(found) = begin.captures(rest) {
        let (start, end) = (found.get_match().start(), found.get_match().end());
        let Some(len) = rest[end..].find(&format!("\"{}", &found[1])) else { break };
        kept.push_str(&rest[..start]);
        kept.extend(rest[end..end + len].matches('\n'));
        rest = &rest[end + len + 1 + found[1].len()..];
    }
    kept + rest
}

/// Returns the name of every type that the crates define, once per definition, without tests.
fn type_names() -> Vec<String> {
    let definition =
        Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|union)\s+(\w+)\b")
            .expect("a pattern");
    let of_tests = |path: &PathBuf| {
        let path = path.to_string_lossy().replace('\\', "/");
        ["/tests/", "/tests.rs", "/benches/", "/examples/"].iter().any(|part| path.contains(part))
    };
    let sources = sources("crates").into_iter();
    let own = sources.filter(|path| {
        let path = path.strip_prefix(root()).expect("below the root").to_path_buf();
        !of_tests(&path) && path.components().any(|part| part.as_os_str() == "src")
    });
    own.flat_map(|path| {
        let source = read(&path);
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        definition.captures_iter(source).map(|found| found[1].to_owned()).collect::<Vec<_>>()
    })
    .collect()
}

/// Returns the crate that a file belongs to, or `tests`.
fn area_of(path: &Path) -> String {
    let below = path.strip_prefix(root()).expect("below the root");
    let mut parts = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    match parts.next().as_deref() {
        // Behind the wing.
        Some("crates") => parts.nth(1).expect("a crate"),
        first => first.unwrap_or_default().to_owned(),
    }
}

fn sources(below: &str) -> Vec<PathBuf> {
    files_below(&root().join(below), "rs")
}

fn files_below(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() && name != "target" && name != "node_modules" {
                open.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_path_buf()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}
