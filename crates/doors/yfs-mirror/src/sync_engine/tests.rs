//! Which file is which after programs renamed, replaced and created files in several steps, with a
//! clock that the test advances and events that it delivers.
//!
//! A script has one step per line:
//!
//! ```text
//! put PATH TEXT    writes a new file (an editor that truncates and writes)
//! edit PATH TEXT   writes into the inode that is there
//! mv A B           renames, also over a file
//! swap A B         exchanges two names
//! ln A B, rm A, mkdir A, rmtree A
//! know             settles, and gives each file its path as its label
//! see A B ...      delivers an event for each path, each to a pass of its own
//! all              delivers everything to one pass
//! wait MS          advances the clock, and lets the mirror work if it wants to
//! restart          ends the mirror, and starts another one
//! ```

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use expect_test::{Expect, expect};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::id::FileId;
use yfs_store::MemoryStore;
use yfs_vfs::FileKind;

use super::MirrorEngine;
use crate::{mirror_clock::MirrorClock, options::MirrorOptions};

struct Script {
    directory: TempDir,
    workspace: Workspace,
    engine: Option<MirrorEngine>,
    now: Arc<Mutex<Instant>>,
    labels: BTreeMap<FileId, String>,
}

impl Script {
    fn new() -> Self {
        let workspace =
            Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap();
        let mut script = Self {
            directory: tempfile::tempdir().unwrap(),
            workspace,
            engine: None,
            now: Arc::new(Mutex::new(Instant::now())),
            labels: BTreeMap::new(),
        };
        script.start();
        script
    }

    fn start(&mut self) {
        let options = MirrorOptions::default();
        let at = self.directory.path();
        let mut engine =
            MirrorEngine::open(&self.workspace, at, options, Box::new(|_| ())).unwrap();
        let now = self.now.clone();
        engine.context.clock = MirrorClock::new(move || *now.lock().unwrap());
        engine.recover().unwrap();
        engine.touch_all().unwrap();
        self.engine = Some(engine);
        self.work();
    }

    fn engine(&mut self) -> &mut MirrorEngine {
        self.engine.as_mut().unwrap()
    }

    /// Makes passes until there is no more to do at this time.
    fn work(&mut self) {
        for _ in 0..8 {
            self.engine().pass().unwrap();
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn run(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.step(line);
        }
    }

    fn step(&mut self, line: &str) {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (verb, one, other) = (word(), word(), word());
        let (from, to) = (self.at(one), self.at(other));
        match verb {
            "put" => {
                // A new inode, as after a rename; its number may be one that was used before.
                fs::remove_file(&from).ok();
                fs::write(&from, format!("{other}\n")).unwrap();
            }
            "edit" => fs::write(&from, format!("{other}\n")).unwrap(),
            "mv" => fs::rename(from, to).unwrap(),
            "ln" => fs::hard_link(from, to).unwrap(),
            "rm" => fs::remove_file(from).unwrap(),
            "mkdir" => fs::create_dir(from).unwrap(),
            "rmtree" => fs::remove_dir_all(from).unwrap(),
            "swap" => renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE).unwrap(),
            "know" => {
                self.run("all\nwait 5000");
                self.labels = self.files().into_iter().map(|(path, (id, _))| (id, path)).collect();
            }
            "see" => {
                for path in [one].into_iter().chain(other.split_whitespace()) {
                    self.engine().touch_disk(Path::new(path).to_owned(), false);
                    self.engine().pass().unwrap();
                }
            }
            "all" => {
                self.engine().touch_all().unwrap();
                self.work();
            }
            "wait" => {
                *self.now.lock().unwrap() += Duration::from_millis(one.parse().unwrap());
                self.work();
            }
            "restart" => {
                self.engine = None;
                self.start();
            }
            _ => panic!("{line}"),
        }
    }

    /// Returns the files of the workspace by path, each with its id and text.
    fn files(&self) -> BTreeMap<String, (FileId, String)> {
        let nodes = self.workspace.nodes();
        let objects = nodes.objects(None).unwrap();
        let files = objects.into_iter().filter(|object| object.kind == FileKind::File);
        files
            .map(|file| {
                let path = nodes.path_of(&file.id).unwrap().unwrap().as_str()[1..].to_owned();
                let held = nodes.read_durable(&file.id).unwrap();
                let text = String::from_utf8(held.data.to_vec()).unwrap();
                (path, (file.id, text.trim_end().to_owned()))
            })
            .collect()
    }

    fn label(&self, id: &FileId) -> &str {
        self.labels.get(id).map_or("new", String::as_str)
    }

    /// Describes the files, and which of those that were known are in the trash.
    fn describe(&self) -> String {
        let mut shown = String::new();
        for (path, (id, text)) in self.files() {
            writeln!(shown, "{path}: {} {text:?}", self.label(&id)).unwrap();
        }
        let trash = self.workspace.trash().list().unwrap();
        let mut trash: Vec<&str> = trash.iter().map(|entry| self.label(&entry.id)).collect();
        trash.retain(|label| *label != "new");
        if !trash.is_empty() {
            writeln!(shown, "trash: {}", trash.join(" ")).unwrap();
        }
        shown
    }

    /// Checks that the disk has the same files as the workspace.
    fn check_equal(&self, context: &str) {
        for (path, (_, text)) in self.files() {
            let there = fs::read_to_string(self.at(&path)).unwrap_or_default();
            assert_eq!(there.trim_end(), text, "{path} after {context}");
        }
        let conflicts = self.workspace.conflicts().unwrap();
        assert!(conflicts.is_empty(), "{conflicts:?} after {context}");
    }
}

fn check(script: &str, expected: &Expect) {
    let mut run = Script::new();
    run.run(script);
    let early = run.describe();
    run.run("all\nwait 5000");
    let late = run.describe();
    run.check_equal(script);
    expected.assert_eq(&match early == late {
        true => late,
        false => format!("{early}5 s later:\n{late}"),
    });
}

/// The steps of editors that save `f` with the text `new`. The mirror may see the disk between
/// any two steps.
const EDITORS: &[(&str, &str)] = &[
    ("vim, backupcopy=no", "mv f f~\nput f new\nrm f~"),
    ("vim, backupcopy=yes", "put f~ one\nedit f new\nrm f~"),
    ("vim, backup in another directory", "mv f away/f~\nput f new"),
    ("vim, patchmode", "mv f f.orig\nput f new"),
    ("emacs", "put #f# new\nmv f f~\nput f new\nrm #f#"),
    ("emacs, numbered", "mv f f.~1~\nput f new"),
    ("gedit", "put .goutputstream-X new\nln f f~\nmv .goutputstream-X f"),
    ("kate", "put f.AbCdEf new\nmv f.AbCdEf f"),
    (
        "JetBrains",
        "put f___jb_tmp___ new\nmv f f___jb_old___\nmv f___jb_tmp___ f\nrm f___jb_old___",
    ),
    ("safe write", "put f_tmp new\nmv f f_old\nmv f_tmp f\nrm f_old"),
    ("safe write that keeps the backup", "put f.tmp new\nmv f f.bak\nmv f.tmp f"),
    ("word", "put 5A3B0C00.tmp new\nmv f 6C1D0000.tmp\nmv 5A3B0C00.tmp f\nrm 6C1D0000.tmp"),
    ("helix", "mv f fX1y2z3.bck\nput f new\nrm fX1y2z3.bck"),
    ("LibreOffice, VS Code", "edit f \nedit f new"),
    ("sed -i", "put sedX1y2 new\nmv sedX1y2 f"),
    ("git checkout", "rm f\nput f new"),
    ("a file that is removed late", "mv f f.old\nrm f.old\nput f new"),
];

/// The paths that a step changes.
fn paths_of(step: &str) -> Vec<&str> {
    let mut words = step.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("mv" | "ln" | "swap"), Some(from), Some(to)) => vec![from, to],
        (_, Some(path), _) => vec![path],
        _ => Vec::new(),
    }
}

/// Saves `f` with pauses between the steps.
fn save(steps: &str, pause: u64, reversed: bool, restarts: bool) -> Script {
    let mut script = Script::new();
    script.run("mkdir away\nput f one\nput g other\nknow");
    for step in steps.lines() {
        script.step(step);
        let mut paths = paths_of(step);
        if reversed {
            paths.reverse();
        }
        if pause > 0 {
            script.step(&format!("see {}", paths.join(" ")));
            script.step(&format!("wait {pause}"));
        }
        if restarts {
            script.step("restart");
        }
    }
    script.run("all\nwait 5000");
    script
}

#[test]
fn a_save_of_any_editor_keeps_the_file_however_long_it_takes() {
    let mut faults = String::new();
    for (editor, steps) in EDITORS {
        for pause in [0, 60, 300, 600] {
            for reversed in [false, true] {
                let script = save(steps, pause, reversed, false);
                let files = script.files();
                let saved = files.get("f").map(|(id, text)| (script.label(id), text.as_str()));
                let about = format!("{editor}, {pause} ms, reversed {reversed}");
                if saved != Some(("f", "new")) || !files.contains_key("g") {
                    writeln!(faults, "{about}:\n{}", script.describe()).unwrap();
                    continue;
                }
                script.check_equal(&about);
            }
        }
    }
    assert_eq!(faults, "");
}

/// Whatever the file is then, no text is lost.
#[test]
fn a_mirror_that_starts_anew_within_a_save_loses_nothing() {
    for (editor, steps) in EDITORS {
        let script = save(steps, 60, false, true);
        let files = script.files();
        assert_eq!(files.get("f").map(|(_, text)| text.as_str()), Some("new"), "{editor}");
        script.check_equal(editor);
        let trash = script.workspace.trash().list().unwrap();
        let is_kept = script.labels.iter().filter(|(_, label)| *label == "f").all(|(id, _)| {
            files.values().any(|(there, _)| there == id) || trash.iter().any(|e| e.id == *id)
        });
        assert!(is_kept, "{editor}: {}", script.describe());
    }
}

#[test]
fn a_backup_that_stays_is_a_new_file() {
    check(
        "put f one\nknow\nmv f f.bak\nsee f f.bak\nwait 300\nput f two\nsee f",
        &expect![[r#"
        f: f "two"
        f.bak: new "one"
    "#]],
    );
}

#[test]
fn a_rename_to_the_name_of_a_backup_follows_after_a_while() {
    check(
        "put f one\nknow\nmv f f.bak\nsee f.bak f\nwait 1900",
        &expect![[r#"
        f: f "one"
        5 s later:
        f.bak: f "one"
    "#]],
    );
    check(
        "put f one\nknow\nmv f f~\nsee f~ f\nwait 1900",
        &expect![[r#"
        f: f "one"
        5 s later:
        trash: f
    "#]],
    );
}

#[test]
fn nothing_else_waits() {
    check(
        "put f one\nknow\nmv f g\nsee f g",
        &expect![[r#"
        g: f "one"
    "#]],
    );
    check(
        "put f one\nknow\nmv f g\nsee g f",
        &expect![[r#"
        g: f "one"
    "#]],
    );
    check(
        "put f one\nknow\nrm f\nsee f\nwait 100",
        &expect![[r#"
        trash: f
    "#]],
    );
    check(
        "put f one\nput g other\nknow\nmv f f~\nsee f f~\nedit g more\nmv g h\nsee g h",
        &expect![[r#"
            f: f "one"
            h: g "more"
            5 s later:
            h: g "more"
            trash: f
        "#]],
    );
}

#[test]
fn a_file_that_was_deleted_and_comes_back_is_the_same_file() {
    check(
        "put f one\nknow\nrm f\nsee f\nwait 500\nput f two\nsee f",
        &expect![[r#"
        f: f "two"
    "#]],
    );
    check(
        "put f one\nknow\nrm f\nsee f\nwait 500\nwait 2000\nput f two\nsee f",
        &expect![[r#"
        f: new "two"
        trash: f
    "#]],
    );
    check(
        "mkdir d\nput d/f one\nput d/g g\nknow\nrmtree d\nsee d\nwait 500\nmkdir d\nput d/f two\n\
         see d",
        &expect![[r#"
            d/f: d/f "two"
        "#]],
    );
}

#[test]
fn a_swap_follows_the_inodes() {
    check(
        "put a one\nput b two\nknow\nswap a b\nsee a b",
        &expect![[r#"
        a: b "two"
        b: a "one"
    "#]],
    );
    check(
        "put a one\nput b two\nknow\nswap a b\nsee b a",
        &expect![[r#"
        a: b "two"
        b: a "one"
    "#]],
    );
    check(
        "put a one\nput b two\nknow\nmv a t\nmv b a\nmv t b\nall",
        &expect![[r#"
        a: b "two"
        b: a "one"
    "#]],
    );
    check(
        "put a one\nput b two\nknow\nmv a t\nsee t a\nmv b a\nsee a b\nmv t b\nsee b t",
        &expect![[r#"
            a: b "two"
            b: a "one"
        "#]],
    );
    check(
        "put a one\nput b two\nknow\nmv a t\nmv b a\nsee a b t\nmv t b\nsee t b",
        &expect![[r#"
        a: b "two"
        b: a "one"
    "#]],
    );
    check(
        "put a one\nput b two\nknow\nmv a t\nmv b a\nsee t b a\nmv t b\nsee t b",
        &expect![[r#"
        a: b "two"
        b: a "one"
    "#]],
    );
    // The name between is made from one of them, as of a backup.
    check(
        "put a one\nput b two\nknow\nmv a a.tmp\nsee a.tmp a\nwait 300\nmv b a\nsee a b\nwait 300\n\
         mv a.tmp b\nsee b a.tmp",
        &expect![[r#"
            a: b "two"
            b: a "one"
        "#]],
    );
    check(
        "put a one\nput b two\nput c three\nknow\nmv a t\nmv b a\nmv c b\nmv t c\nall",
        &expect![[r#"
            a: b "two"
            b: c "three"
            c: a "one"
        "#]],
    );
    check(
        "mkdir d\nput a one\nput d/b two\nknow\nswap a d/b\nsee d/b a",
        &expect![[r#"
        a: d/b "two"
        d/b: a "one"
    "#]],
    );
}

#[test]
fn a_file_that_replaces_another_one_is_an_edit_of_that() {
    check(
        "put a one\nput b two\nknow\nmv b a\nsee a b\nwait 100",
        &expect![[r#"
        a: a "two"
        trash: b
    "#]],
    );
    check(
        "put a one\nput b two\nknow\nmv b a\nsee b a\nwait 100",
        &expect![[r#"
        a: a "two"
        trash: b
    "#]],
    );
    check(
        "put a one\nput b two\nknow\nrm a\nln b a\nall",
        &expect![[r#"
        a: a "two"
        b: b "two"
    "#]],
    );
    check(
        "put a one\nput b two\nput c three\nknow\nmv b a\nmv c b\nall\nwait 100",
        &expect![[r#"
        a: a "two"
        b: b "three"
        trash: c
    "#]],
    );
}

#[test]
fn names_that_rotate_follow_the_inodes() {
    check(
        "put l one\nput l.1 two\nknow\nmv l.1 l.2\nmv l l.1\nall",
        &expect![[r#"
        l.1: l "one"
        l.2: l.1 "two"
    "#]],
    );
    // One event leads to all others, whatever directory they are in.
    check(
        "mkdir d\nput a one\nput d/b two\nput c three\nput d/e four\nknow\nmv c f\nmv d/b c\n\
         mv a d/b\nsee c\nall",
        &expect![[r#"
            c: d/b "two"
            d/b: a "one"
            d/e: d/e "four"
            f: c "three"
        "#]],
    );
}

#[test]
fn directories_are_renamed_at_once() {
    check(
        "mkdir d\nput d/f one\nknow\nmv d d.bak\nmkdir d\nput d/f two\nall",
        &expect![[r#"
        d.bak/f: d/f "one"
        d/f: new "two"
    "#]],
    );
    check(
        "mkdir d\nput d/f one\nknow\nmv d d.bak\nsee d d.bak\nmkdir d\nput d/f two\nsee d",
        &expect![[r#"
            d.bak/f: d/f "one"
            d/f: new "two"
        "#]],
    );
    // The directory moves within a save.
    check(
        "mkdir d\nput d/f one\nknow\nmv d/f d/f.bak\nsee d/f d/f.bak\nmv d e\nsee d e\n\
         put e/f two\nsee e/f",
        &expect![[r#"
            e/f: d/f "two"
            e/f.bak: new "one"
        "#]],
    );
}
