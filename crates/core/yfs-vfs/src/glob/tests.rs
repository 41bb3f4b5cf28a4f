//! A test is a pattern, the root of the search, and the expected matches among a few paths.

use yfs_types::path::VPath;

use super::*;

const PATHS: &[&str] = &[
    "/a.md",
    "/b.txt",
    "/.env",
    "/src/a.rs",
    "/src/b/c.rs",
    "/src/b/c.md",
    "/src/.x/d.rs",
    "/src/b/.e.rs",
    "/[x].md",
    "/A.MD",
];

#[track_caller]
fn check(root: &str, pattern: &str, expected: &str) {
    let found = find(root, pattern, false);
    assert_eq!(found, expected, "{pattern} from {root}");
}

fn find(root: &str, pattern: &str, hidden: bool) -> String {
    let root = VPath::parse(root).unwrap();
    match GlobPattern::new(pattern, hidden, false) {
        Err(error) => error.to_string(),
        Ok(pattern) => {
            let found = PATHS
                .iter()
                .filter(|path| pattern.is_match(&root, &VPath::parse(path).unwrap(), false));
            found.copied().collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn name_alone_is_found_at_any_depth() {
    check("/", "*.md", "/a.md /src/b/c.md /[x].md");
    check("/src", "*.md", "/src/b/c.md");
    check("/", "c.rs", "/src/b/c.rs");
}

#[test]
fn slash_in_the_middle_counts_from_the_root_of_the_search() {
    check("/", "src/*.rs", "/src/a.rs");
    check("/src", "b/*.rs", "/src/b/c.rs");
    check("/src", "src/*.rs", "");
    check("/", "./src/*.rs", "/src/a.rs");
}

#[test]
fn leading_slash_counts_from_the_top() {
    check("/", "/*.md", "/a.md /[x].md");
    check("/src", "/src/*.rs", "/src/a.rs");
    check("/src", "/*.md", "");
    check("/src", "/**/*.rs", "/src/a.rs /src/b/c.rs");
}

#[test]
fn stars_cross_directories_but_not_into_hidden_ones() {
    check("/", "**/*.rs", "/src/a.rs /src/b/c.rs");
    check("/", "src/**", "/src/a.rs /src/b/c.rs /src/b/c.md");
    check("/", "**", "/a.md /b.txt /src/a.rs /src/b/c.rs /src/b/c.md /[x].md /A.MD");
    check("/", "src/**/c.*", "/src/b/c.rs /src/b/c.md");
    check("/", "**/**/c.rs", "/src/b/c.rs");
}

#[test]
fn hidden_names_want_a_dot_or_the_option() {
    check("/", ".*", "/.env /src/b/.e.rs");
    check("/", "/.*", "/.env");
    check("/", "**/.*", "/.env /src/b/.e.rs");
    check("/", "src/.x/*", "/src/.x/d.rs");
    assert_eq!(find("/", "*.rs", true), "/src/a.rs /src/b/c.rs /src/.x/d.rs /src/b/.e.rs");
}

#[test]
fn braces_choose_also_between_directories() {
    check("/", "*.{md,txt}", "/a.md /b.txt /src/b/c.md /[x].md");
    check("/", "{src/a,src/b/c}.rs", "/src/a.rs /src/b/c.rs");
    check("/", "{a,{b,x}}.{md,txt}", "/a.md /b.txt");
    check("/", "a{,b}.md", "/a.md");
}

#[test]
fn classes_and_escapes() {
    check("/", "[ab].*", "/a.md /b.txt /src/a.rs");
    check("/", "[!a].txt", "/b.txt");
    check("/", "?.txt", "/b.txt");
    check("/", r"\[x\].md", "/[x].md");
    check("/", "[[]x[]].md", "/[x].md");
}

#[test]
fn bad_patterns_are_named() {
    check("/", "", "the pattern is empty");
    check("/", "///", "the pattern is empty");
    check("/", "../x", "the pattern contains the component '..'");
    check("/", "{a,b", "the pattern has an unbalanced brace");
    check("/", "a}", "the pattern has an unbalanced brace");
    check("/", &"{a,b}".repeat(11), "the braces of the pattern expand to more than 1,000 patterns");
    assert!(find("/", "[a", false).starts_with("malformed pattern"));
}

#[test]
fn long_patterns_do_not_explode() {
    let pattern = GlobPattern::new(&"**/a/".repeat(500), false, false).unwrap();
    let path = VPath::parse(&"/a".repeat(1_000)).unwrap();
    assert!(!pattern.is_match(&VPath::root(), &path, false), "a final slash wants a directory");
    assert!(pattern.is_match(&VPath::root(), &path, true));
}
