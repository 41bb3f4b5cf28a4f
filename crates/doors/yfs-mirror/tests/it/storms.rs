//! Many changes at once, as tools make them: both sides converge, and then stay quiet.

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use yfs_vfs::{FileSystem, VersionBase, WriteOptions};

use crate::support::{Pair, v};

fn git(pair: &Pair, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]);
    let output = git.args(args).current_dir(pair.directory.path()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn another_branch_is_checked_out() {
    let pair = Pair::new();
    git(&pair, &["init", "-q"]);
    pair.put(".gitignore", "build/\n");
    for number in 0..200 {
        pair.put(&format!("src/m{}/f{number}.rs", number % 10), format!("fn f{number}() {{}}\n"));
    }
    git(&pair, &["add", "-A"]);
    git(&pair, &["commit", "-q", "-m", "one"]);
    git(&pair, &["checkout", "-q", "-b", "other"]);
    fs::rename(pair.at("src/m1"), pair.at("src/renamed")).unwrap();
    fs::remove_dir_all(pair.at("src/m2")).unwrap();
    for number in (0..200).step_by(10) {
        pair.put(&format!("src/m0/f{number}.rs"), format!("fn other{number}() {{}}\n"));
    }
    pair.put("src/m2", "a file where a directory was\n");
    git(&pair, &["add", "-A"]);
    git(&pair, &["commit", "-q", "-m", "two"]);
    settled_but_git(&pair);
    for branch in ["main", "other", "main"] {
        git(&pair, &["checkout", "-q", branch]);
        settled_but_git(&pair);
    }
    let before = pair.settle();
    assert_eq!(pair.settle(), before, "then it is quiet");
}

fn settled_but_git(pair: &Pair) {
    pair.settle();
    let mut disk = pair.disk();
    disk.retain(|path, _| path != ".git" && !path.starts_with(".git/"));
    assert_eq!(disk, pair.tree());
}

/// A formatter rewrites all files, while a user types into the same files.
#[test]
fn all_files_are_rewritten_while_others_write() {
    let pair = Pair::new();
    for number in 0..300 {
        pair.put(&format!("d{}/f{number}.txt", number % 7), format!("file {number}\none\ntwo\n"));
    }
    pair.check();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..300 {
                let path = format!("d{}/f{number}.txt", number % 7);
                let text = pair.text(&path).replace("one\n", "one, formatted\n");
                pair.put(&format!("{path}.tmp"), text);
                fs::rename(pair.at(&format!("{path}.tmp")), pair.at(&path)).unwrap();
            }
            done.store(true, Ordering::Release);
        });
        for number in (0..300).step_by(3) {
            let (fs, path) = (pair.fs(), v(&format!("/d{}/f{number}.txt", number % 7)));
            let read = pair.run(fs.read(&path)).unwrap();
            let text = format!("{}typed {number}\n", String::from_utf8_lossy(&read.data));
            // What the formatter did meanwhile stays.
            let base = Some(VersionBase::Version(read.version));
            let options = WriteOptions { base, ..WriteOptions::default() };
            pair.run(fs.write(&path, text.into(), &options)).unwrap();
        }
    });
    assert!(done.load(Ordering::Acquire));
    pair.check();
    for number in 0..300 {
        let text = pair.text(&format!("d{}/f{number}.txt", number % 7));
        assert!(text.contains("one, formatted\n"), "{text}");
    }
}

/// A package manager creates many small directories, moves them into place and removes them.
#[test]
fn packages_come_and_go() {
    let pair = Pair::new();
    for round in 0..2 {
        for package in 0..40 {
            for file in ["index.js", "lib/a.js", "lib/deep/b.js", "package.json"] {
                let text = format!("// {package} {file} {round}\n");
                pair.put(&format!("modules/.staging/p{package}/{file}"), text);
            }
            let from = pair.at(&format!("modules/.staging/p{package}"));
            fs::rename(from, pair.at(&format!("modules/p{package}"))).unwrap();
        }
        fs::remove_dir_all(pair.at("modules/.staging")).unwrap();
        pair.check();
        fs::remove_dir_all(pair.at("modules")).unwrap();
        pair.check();
    }
    assert!(pair.tree().is_empty());
}
