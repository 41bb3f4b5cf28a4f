//! Rules that exclude files, and what other writers do to them.

use std::{fs, path::Path};

use yfs_mirror::{Mirror, NoticeReason, TrustPolicy};

use crate::support::Pair;

/// A directory with files that its owner excludes, and the names in the workspace.
fn pair_with_secrets(rules: &str) -> Pair {
    let pair = Pair::new();
    pair.put(".gitignore", rules);
    pair.put(".env", "SECRET=1\n");
    pair.put("private/diary.txt", "diary\n");
    pair.put("a.txt", "a\n");
    pair.settle();
    assert_eq!(names(&pair), [".gitignore", "a.txt"]);
    pair
}

fn names(pair: &Pair) -> Vec<String> {
    pair.tree().into_keys().collect()
}

fn holds(pair: &Pair, path: &str) -> bool {
    let report = pair.run(pair.mirror.as_ref().unwrap().report()).unwrap();
    report.skipped.get(Path::new(path)) == Some(&NoticeReason::HeldByRules)
}

fn has_secret(pair: &Pair) -> bool {
    names(pair).iter().any(|name| [".env", "private"].contains(&name.as_str()))
}

/// All that another writer can do to rules: a file of its own, lines, a removal, another name.
fn change_rules(pair: &Pair, how: usize) {
    match how {
        0 => pair.write("/.yfsignore", "!.env\n!/private/\n!/private/**\n"),
        1 => pair.write("/.gitignore", ".env\n/private/\n!.env\n!/private/\n"),
        2 => pair.write("/.gitignore", "# nothing\n"),
        3 => pair.rm("/.gitignore"),
        4 => pair.mv("/.gitignore", "/rules.txt"),
        _ => pair.write("/.gitignore", "x\n".repeat(1 << 20)),
    }
}

#[test]
fn what_others_include_is_not_uploaded_before_a_person_says_so() {
    for how in 0..6 {
        let mut pair = pair_with_secrets(".env\n/private/\n");
        change_rules(&pair, how);
        pair.settle();
        assert!(!has_secret(&pair), "{how}: {:?}", names(&pair));
        assert!(holds(&pair, ".env") && holds(&pair, "private"), "{how}");
        // Files that are made later are excluded as before, and those that editors replace.
        pair.put("private/more.txt", "more\n");
        pair.put("sub/.env", "SECRET=2\n");
        fs::rename(pair.at(".env"), pair.at(".env.old-name")).unwrap();
        pair.put(".gitignore.note", "x");
        fs::rename(pair.at(".env.old-name"), pair.at(".env")).unwrap();
        pair.settle();
        assert!(!has_secret(&pair) && pair.read("/sub/.env") == "(ENOENT)", "{how}");
        // A restart changes nothing.
        pair.stop();
        pair.start();
        pair.settle();
        assert!(!has_secret(&pair) && holds(&pair, ".env"), "{how}: {:?}", names(&pair));
        // A person accepts the rules while the mirror runs.
        assert!(Mirror::accept_rules(pair.directory.path()).unwrap());
        pair.wait("the files", |pair| pair.read("/private/more.txt") == "more\n");
        pair.settle();
        assert_eq!(pair.read("/.env"), "SECRET=1\n", "{how}");
        assert!(!holds(&pair, ".env") && !Mirror::accept_rules(pair.directory.path()).unwrap());
    }
}

#[test]
fn an_acceptance_is_for_the_rules_that_the_person_saw() {
    let pair = pair_with_secrets(".env\n/private/\n");
    pair.write("/.gitignore", "/private/\n");
    pair.settle();
    assert!(holds(&pair, ".env") && !holds(&pair, "private"));
    let mut pair = pair;
    pair.stop();
    Mirror::accept_rules(pair.directory.path()).unwrap();
    pair.write("/.gitignore", "");
    pair.start();
    pair.settle();
    pair.settle();
    assert!(!names(&pair).contains(&"private".to_owned()), "{:?}", names(&pair));
}

#[test]
fn a_person_who_removes_a_rule_includes_the_file() {
    let pair = pair_with_secrets(".env\n/private/\n");
    pair.write("/.gitignore", ".env\n/private/\n!.env\n!/private/\n");
    pair.settle();
    // An appended line does not accept the lines of the others.
    let text = pair.text(".gitignore");
    pair.put(".gitignore", format!("{text}*.log\n"));
    pair.put("a.log", "log\n");
    pair.settle();
    assert!(!has_secret(&pair) && pair.read("/a.log") == "(ENOENT)");
    pair.put(".gitignore", "!.env\n!/private/\n*.log\n");
    pair.settle();
    assert_eq!(pair.read("/.env"), "SECRET=1\n");
    assert_eq!(pair.read("/private/diary.txt"), "diary\n");
}

#[test]
fn with_trust_the_rules_of_all_writers_count() {
    let mut pair = pair_with_secrets(".env\n/private/\n");
    pair.write("/.yfsignore", "!.env\n");
    pair.settle();
    pair.stop();
    pair.options.trust = TrustPolicy::AnyAuthor;
    pair.start();
    pair.settle();
    assert_eq!(pair.read("/.env"), "SECRET=1\n");
    assert_eq!(pair.read("/private/diary.txt"), "(ENOENT)");
}

#[test]
fn rules_of_others_that_exclude_more_count_at_once() {
    let pair = pair_with_secrets(".env\n/private/\n");
    pair.write("/.gitignore", ".env\n*.log\n/private/\n");
    pair.write("/sub/.yfsignore", "*.tmp\n");
    pair.settle();
    pair.put("a.log", "x");
    pair.put("sub/a.tmp", "x");
    pair.put("sub/b.txt", "b");
    let report = pair.settle();
    assert!(report.skipped.is_empty(), "{report:?}");
    assert_eq!(names(&pair), [".gitignore", "a.txt", "sub", "sub/.yfsignore", "sub/b.txt"]);
}

#[test]
fn a_clone_with_rules_that_include_again_has_all_files() {
    let pair = Pair::new();
    pair.write("/.gitignore", "*.log\n!keep.log\n");
    pair.write("/keep.log", "kept\n");
    pair.write("/sub/.gitignore", "!here.log\n");
    pair.write("/sub/here.log", "here\n");
    let report = pair.check();
    assert!(report.skipped.is_empty(), "{report:?}");
    pair.put("sub/here.log", "here too\n");
    pair.check();
    assert_eq!(pair.read("/sub/here.log"), "here too\n");
}

/// A rule names a path, and another writer renames the directory above it.
#[test]
fn a_directory_keeps_its_name_if_another_would_include_what_is_in_it() {
    let mut pair = Pair::new();
    pair.put(".gitignore", "/a/secret.txt\n");
    pair.put("a/secret.txt", "secret\n");
    pair.put("a/one.txt", "one\n");
    pair.put("a/.gitignore", "*.key\n");
    pair.put("a/id.key", "key\n");
    pair.settle();
    pair.mv("/a", "/b");
    let report = pair.settle();
    assert_eq!(report.skipped[Path::new("a")], NoticeReason::WouldInclude);
    assert!(!names(&pair).iter().any(|name| name.ends_with("secret.txt")), "{:?}", names(&pair));
    assert_eq!(pair.text("a/secret.txt"), "secret\n");
    // Edits go on to arrive on both sides.
    pair.write("/b/one.txt", "one\ntwo\n");
    pair.put("a/three.txt", "three\n");
    pair.settle();
    assert_eq!(
        (pair.text("a/one.txt"), pair.read("/b/three.txt")),
        ("one\ntwo\n".into(), "three\n".into())
    );
    pair.stop();
    fs::remove_file(pair.at("a/secret.txt")).unwrap();
    pair.start();
    pair.settle();
    assert!(pair.at("b/id.key").exists() && !names(&pair).contains(&"b/id.key".to_owned()));
}

/// A file that is mirrored, and whose owner excluded it before writing secrets into it.
#[test]
fn what_was_written_into_an_excluded_file_of_the_workspace_waits_too() {
    let mut pair = Pair::new();
    pair.put("config.ini", "key = \n");
    pair.settle();
    pair.put(".gitignore", "config.ini\n");
    pair.settle();
    pair.put("config.ini", "key = secret\n");
    pair.settle();
    pair.write("/.gitignore", "");
    pair.settle();
    assert_eq!(pair.read("/config.ini"), "key = \n");
    pair.stop();
    pair.start();
    pair.settle();
    assert_eq!(pair.read("/config.ini"), "key = \n");
    assert!(holds(&pair, "config.ini"));
    Mirror::accept_rules(pair.directory.path()).unwrap();
    pair.wait("the edit", |pair| pair.read("/config.ini") == "key = secret\n");
}

/// The first rule behind a byte order mark did not count.
#[test]
fn ignore_files_of_windows_editors_count() {
    for file in [".gitignore", ".yfsignore", ".git/info/exclude"] {
        let pair = Pair::new();
        pair.put(file, b"\xef\xbb\xbfsecret.env\r\n*.log\r\n[[:digit:]].txt");
        for name in ["secret.env", "a.log", "5.txt"] {
            pair.put(name, "x");
        }
        pair.put("kept.txt", "x");
        pair.settle();
        let names: Vec<String> = names(&pair).into_iter().filter(|name| name != file).collect();
        assert_eq!(names, ["kept.txt"], "{file}");
    }
}

#[test]
fn what_editors_leave_behind_stays_on_this_disk() {
    let leftovers = [
        ".#f.txt",
        "f.txt~",
        ".~lock.f.odt#",
        "~$f.docx",
        ".DS_Store",
        "#f.txt#",
        ".f.txt.swp",
        "Thumbs.db",
        "4913",
    ];
    let pair = Pair::new();
    pair.write("/4913", "a file of the workspace\n");
    pair.write("/draft~", "written on purpose\n");
    pair.settle();
    for name in leftovers.iter().filter(|name| **name != "4913") {
        pair.put(name, "left behind\n");
    }
    pair.settle();
    assert_eq!(names(&pair), ["4913", "draft~"]);
    // What the workspace has is mirrored both ways, whatever its name.
    pair.put("draft~", "edited\n");
    pair.write("/4913", "edited there\n");
    pair.settle();
    assert_eq!(
        (pair.read("/draft~"), pair.text("4913")),
        ("edited\n".into(), "edited there\n".into())
    );
    // A rule includes them.
    pair.put(".yfsignore", "!*~\n");
    pair.settle();
    assert_eq!(pair.read("/f.txt~"), "left behind\n");
    for name in leftovers {
        assert!(pair.at(name).exists(), "{name}");
    }
}
