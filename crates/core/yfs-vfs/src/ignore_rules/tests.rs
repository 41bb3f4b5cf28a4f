//! The matcher compared with `git check-ignore`.

use std::{
    fs,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Stdio},
};

use proptest::prelude::*;

use super::*;

/// Returns for each path what git decides, with these rules in the root of a repository. The paths
/// do not exist, so none is a directory.
fn git_ignores(repository: &Path, rules: &[u8], paths: &[Vec<u8>]) -> Vec<bool> {
    fs::write(repository.join(".gitignore"), rules).unwrap();
    let mut child = Command::new("git")
        .args(["-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "--stdin", "-z"])
        .current_dir(repository)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&[paths.join(&0u8), vec![0]].concat()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let ignored: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    paths.iter().map(|path| ignored.contains(&&path[..])).collect()
}

fn repository() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(directory.path()).status();
    assert!(made.unwrap().success());
    directory
}

fn compare(repository: &Path, rules: &[u8], paths: &[Vec<u8>]) {
    if paths.is_empty() {
        return;
    }
    let list = IgnoreRuleList::parse(rules);
    let git = git_ignores(repository, rules, paths);
    for (path, expected) in paths.iter().zip(git) {
        let shown = (String::from_utf8_lossy(rules), String::from_utf8_lossy(path));
        assert_eq!(list.excludes_below(path, false), expected, "{shown:?}");
    }
}

#[test]
fn nasty_ignore_files_count_as_in_git() {
    let repository = repository();
    let rules: &[&[u8]] = &[
        b"\xef\xbb\xbfsecret.env\n*.log\n",
        b"\xef\xbb\xbf# comment\r\nsecret.env\r\n/a/b\r\n",
        b"secret.env\r",
        b"\xef\xbb\xbf\xef\xbb\xbfsecret.env\n",
        b"secret.env   \n*.log \\ \n",
        b"secret.env\t\n",
        b"trail\\ \ntrail2\\  \n",
        b"\\#hash\n\\!bang\n#hash\n",
        b"!secret.env\n*\n!*.log\n",
        b"*.log\n!a.log\n",
        b"a/\n!a/b\n",
        b"a/*\n!a/b\n",
        b"**/b\n",
        b"a/**\n!a/b\n",
        b"a/**/c\n",
        b"**\n",
        b"a**/c\n",
        b"a**c\n",
        b"/**/c\n",
        b"*/c\n",
        b"a/b/\n",
        b"/c\n",
        b"/\n//\n!\n!/\n",
        b"a//b\na/b//\n",
        b"\xff\xfe\ncaf\xe9\n",
        b"SECRET.ENV\n",
        b"[a-c]\n",
        b"[!a].log\n[^b].log\n",
        b"[[:digit:]]\n[[:nope:]]x\n",
        b"[]]\n[]-a]x\n",
        b"[a\n",
        b"\\[a]\n{a,b}\n",
        b"a\\\n",
        b"[a-\\c].log\n[\\]].log\n",
        b"?.log\n",
        b"a?c\n",
        b"*a*\n",
        b"*\\.log\n",
        b"**/\n",
        b"a/**/**/c\n**/**/x\n",
        b"**/*.log\n",
        b" lead\n",
        b"a/b\\/c\n",
        b"[/]c\na[/]c\n",
        b"\n\n   \nsecret.env",
    ];
    let paths: Vec<Vec<u8>> = [
        "secret.env",
        "a",
        "b",
        "c",
        "a.log",
        "b.log",
        "d/a.log",
        "a/b",
        "a/c",
        "a/b/c",
        "x/a/b/c",
        "a/x/y/c",
        "d/secret.env",
        "SECRET.ENV",
        "#hash",
        "!bang",
        "trail ",
        "trail",
        "trail2 ",
        "secret.env ",
        "secret.env\t",
        ".log",
        "ax/y/c",
        "axc",
        "a/x/c",
        "[a]",
        "[a",
        "{a,b}",
        "]",
        "-x",
        "5",
        "5x",
        "ax",
        "nx",
        " lead",
        "lead",
        "a\\",
        "x",
        "d/x",
        "].log",
        "*",
        "caf",
    ]
    .iter()
    .map(|path| path.as_bytes().to_vec())
    .chain([b"\xff\xfe".to_vec(), b"caf\xe9".to_vec(), b"secret.env\r".to_vec()])
    .collect();
    for rules in rules {
        compare(repository.path(), rules, &paths);
    }
}

#[test]
fn directories_count_as_in_git() {
    let repository = repository();
    fs::create_dir_all(repository.path().join("build/out")).unwrap();
    fs::create_dir(repository.path().join("sub")).unwrap();
    for rules in ["build/\n", "/build/\n!build\n", "out/\n", "build/out/\n", "build\n!build/\n"] {
        let paths = [b"build".to_vec(), b"build/out".to_vec(), b"sub".to_vec()];
        let git = git_ignores(repository.path(), rules.as_bytes(), &paths);
        let list = IgnoreRuleList::parse(rules.as_bytes());
        for (path, expected) in paths.iter().zip(git) {
            assert_eq!(list.excludes_below(path, true), expected, "{rules:?} {path:?}");
        }
    }
}

fn any_of(letters: &'static [u8], most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::sample::select(letters), 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_rules_count_as_in_git(
        rules in proptest::collection::vec(any_of(b"ab/**?[]!\\- #.\r\xff", 9), 1..6),
        paths in proptest::collection::vec(any_of(b"aabb//-]! #.\xff", 8), 1..24),
    ) {
        thread_local!(static REPOSITORY: tempfile::TempDir = repository());
        let is_plain = |path: &Vec<u8>| {
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            let parts: Vec<_> = path.components().collect();
            parts.iter().all(|part| matches!(part, std::path::Component::Normal(_)))
                && parts.iter().collect::<std::path::PathBuf>().as_os_str() == path.as_os_str()
        };
        let paths: Vec<Vec<u8>> = paths.into_iter().filter(is_plain).collect();
        REPOSITORY.with(|at| compare(at.path(), &rules.join(&b'\n'), &paths));
    }
}

#[test]
fn what_editors_leave_behind_is_known() {
    for name in [
        "notes.txt~",
        ".#notes",
        "#notes#",
        ".~lock.a.odt#",
        "~$a.docx",
        ".DS_Store",
        "Thumbs.db",
        ".notes.swp",
        ".notes.swo",
        "4913",
    ] {
        assert!(is_leftover(name.as_bytes()), "{name}");
    }
    for name in ["notes.txt", "~", "a~b", "#notes", "4913.txt", ".swift", "a.swp", "$a", ".env"] {
        assert!(name == "~" || !is_leftover(name.as_bytes()), "{name}");
    }
}

#[test]
fn a_changed_text_may_only_exclude_more() {
    for (old, new, expected) in [
        ("a\n", "a\nb\n", true),
        ("a\n", "b\na\n", true),
        ("a\n", "a\n!b\n", false),
        ("a\nb\n", "a\n", false),
        ("a\n!b\n", "a\n!b\nc\n", true),
        ("a\n!b\n", "!b\na\n", false),
        ("a\n!b\na\n", "c\na\n", true),
        ("a\n", "a\r\n# more\r\n\r\n", true),
        ("", "*.log\n", true),
        ("", "!x\n", false),
    ] {
        assert_eq!(only_excludes_more(old.as_bytes(), new.as_bytes()), expected, "{old} {new}");
    }
}

/// A pattern on which backtracking would take years.
#[test]
fn a_pattern_made_to_be_slow_is_matched_at_once() {
    let list = IgnoreRuleList::parse(&[b"*a".repeat(60), b"*b\n".to_vec()].concat());
    assert!(!list.excludes(&[b'a'; 250], false));
}
