//! Each change in the directory appears in the workspace, and the reverse.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    time::{Duration, SystemTime},
};

#[cfg(target_os = "linux")]
use rustix::fs::{CWD, RenameFlags, renameat_with};
use yfs_engine::time::Millis;
use yfs_mirror::{NoticeReason, TrustPolicy};
use yfs_vfs::{FileSystem, FileSystemExt};

use crate::support::{Pair, v};

#[test]
fn what_is_made_on_either_side_is_on_the_other() {
    let pair = Pair::new();
    pair.put("docs/plan.md", "# Plan\n\n1. Listen\n");
    pair.put("docs/deep/er/data.bin", [0, 159, 146, 150]);
    pair.put("empty.txt", "");
    fs::create_dir_all(pair.at("hollow/inside")).unwrap();
    pair.write("/notes/today.txt", "milk\n");
    pair.write("/notes/raw", [255, 0, 255]);
    pair.check();
    assert_eq!(pair.read("/docs/plan.md"), "# Plan\n\n1. Listen\n");
    assert_eq!(pair.text("notes/today.txt"), "milk\n");
    assert_eq!(fs::read(pair.at("notes/raw")).unwrap(), [255, 0, 255]);
}

/// Editors and build tools rename a directory away and back at once; the host's watcher drops its
/// watch of the old name after that. The test sends the mirror no request.
#[test]
fn a_directory_that_moves_away_and_back_is_still_seen() {
    let pair = Pair::new();
    pair.put("d/a.txt", "one\n");
    pair.put("d/sub/b.txt", "one\n");
    pair.put("e/c.txt", "one\n");
    pair.wait("the files", |pair| pair.read("/e/c.txt") == "one\n");
    pair.check();
    let by_way_of = [("d", "x"), ("d", "e/d"), ("d/sub", "d/x"), ("d/sub", "y")];
    for (round, (from, to)) in by_way_of.into_iter().enumerate() {
        fs::rename(pair.at(from), pair.at(to)).unwrap();
        fs::rename(pair.at(to), pair.at(from)).unwrap();
        // Whatever the mirror does now, it did without a change below the directory.
        pair.put("e/c.txt", format!("round {round}\n"));
        pair.wait("another file", |pair| pair.read("/e/c.txt") == format!("round {round}\n"));
        let text = format!("after {round}\n");
        for name in ["d/a.txt", "d/sub/b.txt"] {
            pair.put(name, &text);
            pair.wait("a change below", |pair| pair.read(&format!("/{name}")) == text);
        }
    }
}

/// The test sends the mirror no request: the mirror notices the changes by itself.
#[test]
fn news_travel_by_themselves() {
    let pair = Pair::new();
    pair.put("a.txt", "one\n");
    pair.wait("a new file", |pair| pair.read("/a.txt") == "one\n");
    pair.put("a.txt", "one\ntwo\n");
    pair.wait("an edit on disk", |pair| pair.read("/a.txt") == "one\ntwo\n");
    pair.write("/a.txt", "zero\none\ntwo\n");
    pair.wait("an edit in the workspace", |pair| pair.text("a.txt") == "zero\none\ntwo\n");
    pair.write("/deep/b.txt", "b\n");
    pair.wait("a file in a directory", |pair| pair.text("deep/b.txt") == "b\n");
    pair.put("deep/c/d.txt", "d\n");
    pair.wait("one in a directory that the mirror made", |pair| {
        pair.read("/deep/c/d.txt") == "d\n"
    });
    pair.mv("/deep", "/far");
    pair.wait("a moved directory", |pair| pair.text("far/c/d.txt") == "d\n");
    pair.put("far/c/d.txt", "dd\n");
    pair.wait("an edit in a moved directory", |pair| pair.read("/far/c/d.txt") == "dd\n");
    fs::rename(pair.at("far"), pair.at("near")).unwrap();
    pair.wait("a directory moved on disk", |pair| pair.read("/near/c/d.txt") == "dd\n");
    pair.put("near/c/e.txt", "e\n");
    pair.wait("a file in it", |pair| pair.read("/near/c/e.txt") == "e\n");
    fs::remove_dir_all(pair.at("near")).unwrap();
    pair.wait("a deletion on disk", |pair| pair.read("/near/c/e.txt") == "(ENOENT)");
    pair.rm("/a.txt");
    pair.wait("a deletion in the workspace", |pair| !pair.at("a.txt").exists());
    pair.check();
}

#[test]
fn a_renamed_file_stays_the_same_file() {
    let pair = Pair::new();
    pair.put("src/a.rs", "fn a() {}\n");
    pair.put("src/b.rs", "fn b() {}\n");
    pair.check();
    let (a, b, src) = (pair.id("/src/a.rs"), pair.id("/src/b.rs"), pair.id("/src"));

    fs::rename(pair.at("src/a.rs"), pair.at("moved.rs")).unwrap();
    pair.check();
    assert_eq!(pair.id("/moved.rs"), a);

    // Renamed and edited at once.
    fs::rename(pair.at("moved.rs"), pair.at("src/c.rs")).unwrap();
    pair.put("src/c.rs", "fn a() {}\nfn c() {}\n");
    pair.check();
    assert_eq!(
        (pair.id("/src/c.rs"), pair.read("/src/c.rs")),
        (a.clone(), "fn a() {}\nfn c() {}\n".into())
    );

    // Moving a directory is one move, whatever its content.
    let before = pair.settle().to_workspace.moved;
    fs::create_dir(pair.at("lib")).unwrap();
    fs::rename(pair.at("src"), pair.at("lib/source")).unwrap();
    let report = pair.check();
    assert_eq!((pair.id("/lib/source"), pair.id("/lib/source/b.rs")), (src.clone(), b.clone()));
    assert_eq!(report.to_workspace.moved - before, 1);

    // The same in the other direction.
    pair.mv("/lib/source", "/src");
    pair.mv("/src/b.rs", "/lib/b.rs");
    let report = pair.check();
    assert_eq!((pair.id("/src"), pair.id("/lib/b.rs")), (src, b));
    assert_eq!(report.to_directory.created, 0, "nothing was made anew");
    assert_eq!(pair.text("src/c.rs"), "fn a() {}\nfn c() {}\n");
}

#[test]
fn two_things_change_places_on_either_side() {
    let pair = Pair::new();
    for name in ["a", "b"] {
        pair.put(&format!("{name}/file.txt"), format!("in {name}\n"));
    }
    pair.check();
    let (a, b) = (pair.id("/a"), pair.id("/b"));
    fs::rename(pair.at("a"), pair.at("aside")).unwrap();
    fs::rename(pair.at("b"), pair.at("a")).unwrap();
    fs::rename(pair.at("aside"), pair.at("b")).unwrap();
    pair.check();
    assert_eq!((pair.id("/a"), pair.id("/b")), (b.clone(), a.clone()));

    pair.mv("/a", "/aside");
    pair.mv("/b", "/a");
    pair.mv("/aside", "/b");
    pair.check();
    assert_eq!((pair.id("/a"), pair.id("/b")), (a, b));
    assert_eq!(pair.text("a/file.txt"), "in a\n");

    // One directory moves into the other, and out again.
    pair.mv("/a", "/b/a");
    pair.mv("/b/a", "/c");
    pair.mv("/b", "/c/b");
    pair.check();
    assert_eq!(pair.text("c/b/file.txt"), "in b\n");
}

#[test]
fn an_atomic_save_is_an_edit_of_the_same_file() {
    let pair = Pair::new();
    pair.put("notes.md", "one\n\ntwo\n");
    pair.check();
    let id = pair.id("/notes.md");
    // Most editors save in this way.
    pair.put(".notes.md.tmp", "one\n\ntwo\n\nthree\n");
    fs::rename(pair.at(".notes.md.tmp"), pair.at("notes.md")).unwrap();
    pair.check();
    assert_eq!(
        (pair.id("/notes.md"), pair.read("/notes.md")),
        (id.clone(), "one\n\ntwo\n\nthree\n".into())
    );
    // With a backup, as vim saves.
    fs::rename(pair.at("notes.md"), pair.at("notes.md~")).unwrap();
    pair.put("notes.md", "one\n\nfour\n");
    fs::remove_file(pair.at("notes.md~")).unwrap();
    pair.check();
    assert_eq!(pair.id("/notes.md"), id);
    // Deleted and created again at once.
    fs::remove_file(pair.at("notes.md")).unwrap();
    pair.put("notes.md", "five\n");
    pair.check();
    assert_eq!((pair.id("/notes.md"), pair.read("/notes.md")), (id, "five\n".into()));
    assert_eq!(
        pair.workspace
            .trash()
            .list()
            .unwrap()
            .iter()
            .filter(|entry| entry.name == "notes.md")
            .count(),
        0
    );
}

#[test]
fn times_bits_and_links_are_kept() {
    let mut pair = Pair::apart();
    pair.options.trust = TrustPolicy::AnyAuthor;
    pair.start();
    pair.put("run.sh", "#!/bin/sh\n");
    fs::set_permissions(pair.at("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_234_567_890_123);
    fs::File::open(pair.at("run.sh")).unwrap().set_modified(time).unwrap();
    symlink("run.sh", pair.at("start")).unwrap();
    symlink("/etc/hostname", pair.at("outside")).unwrap();
    fs::create_dir(pair.at("dir")).unwrap();
    fs::set_permissions(pair.at("dir"), fs::Permissions::from_mode(0o700)).unwrap();
    pair.check();
    let stat = pair.run(pair.fs().stat(&v("/run.sh"))).unwrap();
    assert_eq!((stat.mode, stat.mtime), (0o750, Millis(1_234_567_890_123)));

    pair.run(pair.fs().chmod(&v("/run.sh"), 0o640)).unwrap();
    pair.run(pair.fs().utimes(&v("/run.sh"), Millis(987_654_321_000))).unwrap();
    pair.run(pair.fs().symlink("../run.sh", &v("/dir/up"))).unwrap();
    pair.check();
    let meta = pair.at("run.sh").metadata().unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o640);
    let since = meta.modified().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(since.as_millis(), 987_654_321_000);

    // A link with another target is another link.
    fs::remove_file(pair.at("start")).unwrap();
    symlink("dir/up", pair.at("start")).unwrap();
    // An object takes the place of an object of another kind.
    fs::remove_dir_all(pair.at("dir")).unwrap();
    pair.put("dir", "now a file\n");
    pair.check();
    assert_eq!(pair.read("/dir"), "now a file\n");
}

#[test]
fn what_both_change_is_merged() {
    let pair = Pair::new();
    pair.put("list.txt", "one\ntwo\nthree\nfour\n");
    pair.check();
    for round in 0..20 {
        let (disk, work) = (pair.text("list.txt"), pair.read("/list.txt"));
        pair.put("list.txt", disk.replace("one\n", &format!("one\ndisk {round}\n")));
        pair.write("/list.txt", work.replace("four\n", &format!("workspace {round}\nfour\n")));
        pair.check();
        let text = pair.text("list.txt");
        assert!(text.contains(&format!("disk {round}\n")), "{text}");
        assert!(text.contains(&format!("workspace {round}\n")), "{text}");
    }
    assert_eq!(pair.text("list.txt").lines().count(), 44, "{}", pair.text("list.txt"));
}

#[test]
fn a_change_goes_before_a_deletion() {
    let pair = Pair::new();
    pair.put("a/kept.txt", "one\n");
    pair.put("a/gone.txt", "two\n");
    pair.put("b.txt", "three\n");
    pair.check();
    let (kept, b) = (pair.id("/a/kept.txt"), pair.id("/b.txt"));
    pair.rm("/b.txt");
    pair.put("b.txt", "three\nand a half\n");
    fs::remove_dir_all(pair.at("a")).unwrap();
    pair.write("/a/kept.txt", "one\nmore\n");
    pair.check();
    assert_eq!((pair.id("/a/kept.txt"), pair.id("/b.txt")), (kept, b));
    assert_eq!(pair.text("a/kept.txt"), "one\nmore\n");
    assert_eq!(pair.read("/b.txt"), "three\nand a half\n");
    assert_eq!(pair.read("/a/gone.txt"), "(ENOENT)");
}

/// A periodic scan finds changes that the host does not report.
#[test]
fn everything_is_looked_at_now_and_then() {
    let mut pair = Pair::apart();
    pair.options.rescan = Duration::from_millis(50);
    pair.start();
    pair.put("a.txt", "one\n");
    fs::hard_link(pair.at("a.txt"), pair.at("b.txt")).unwrap();
    pair.check();
    // The host reports only the name that was written to.
    pair.put("a.txt", "two\n");
    pair.wait("the other name", |pair| pair.read("/b.txt") == "two\n");
}

/// Names that change places on disk, many at once and while the mirror scans, cause no conflict
/// about a name.
#[test]
fn renames_on_disk_leave_no_conflict() {
    let mut pair = Pair::new();
    for number in 0..20 {
        pair.put(&format!("f{number}.txt"), format!("file {number}\n"));
        pair.put(&format!("d{number}/in.txt"), format!("in {number}\n"));
    }
    pair.check();
    let no_conflict = |pair: &Pair| {
        pair.check();
        let conflicts = pair.workspace.conflicts().unwrap();
        assert!(conflicts.is_empty(), "{conflicts:?}");
        let tree = pair.tree();
        assert_eq!(
            (tree.len(), tree.keys().any(|name| name.contains(" ("))),
            (60, false),
            "{tree:?}"
        );
    };
    for round in 0..9 {
        // In some rounds no mirror runs, and in some the test does not wait for it.
        if round % 3 == 0 {
            pair.stop();
        }
        fs::rename(pair.at("f0.txt"), pair.at("aside.txt")).unwrap();
        fs::rename(pair.at("d0"), pair.at("aside")).unwrap();
        for number in 1..20 {
            let (from, to) = (number, number - 1);
            fs::rename(pair.at(&format!("f{from}.txt")), pair.at(&format!("f{to}.txt"))).unwrap();
            fs::rename(pair.at(&format!("d{from}")), pair.at(&format!("d{to}"))).unwrap();
            if round % 3 == 1 && number % (round + 2) == 0 {
                pair.settle();
            }
        }
        fs::rename(pair.at("aside.txt"), pair.at("f19.txt")).unwrap();
        fs::rename(pair.at("aside"), pair.at("d19")).unwrap();
        for (one, other) in [("f3.txt", "f4.txt"), ("d3", "d4"), ("d5/in.txt", "d6/in.txt")] {
            swap_on_disk(&pair, one, other);
        }
        for (name, upper) in [("f7.txt", "F7.TXT"), ("d7", "D7")] {
            fs::rename(pair.at(name), pair.at(upper)).unwrap();
            if round % 3 == 1 {
                pair.settle();
            }
            fs::rename(pair.at(upper), pair.at(name)).unwrap();
        }
        if round % 3 == 0 {
            pair.start();
        }
        no_conflict(&pair);
    }
}

fn swap_on_disk(pair: &Pair, one: &str, other: &str) {
    fs::rename(pair.at(one), pair.at("swapped")).unwrap();
    fs::rename(pair.at(other), pair.at(one)).unwrap();
    fs::rename(pair.at("swapped"), pair.at(other)).unwrap();
}

/// Names that change on disk while a program renames the same files in the workspace: each file
/// keeps its content under one name, and no conflict is left.
#[cfg(target_os = "linux")]
#[test]
fn renames_on_disk_beside_renames_in_the_workspace_leave_no_conflict() {
    let pair = Pair::new();
    for number in 0..10 {
        pair.put(&format!("f{number}.txt"), format!("file {number}\n"));
    }
    pair.check();
    let workspace_fs = pair.workspace.fs();
    let path = |number: usize| v(&format!("/f{number}.txt"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..300 {
                let (from, to) = (path(round % 13), path(round * 5 % 17));
                // The target is taken, or the source is gone: then the call changes nothing.
                let options = yfs_vfs::MoveOptions { replace: false, parents: false };
                pair.run(workspace_fs.mv(&from, &to, &options)).ok();
            }
        });
        for round in 0..300 {
            let (from, to) = (round * 7 % 13, round * 3 % 17);
            let (from, to) = (pair.at(&format!("f{from}.txt")), pair.at(&format!("f{to}.txt")));
            // As above.
            renameat_with(CWD, &from, CWD, &to, RenameFlags::NOREPLACE).ok();
        }
    });
    pair.check();
    assert_eq!(pair.workspace.conflicts().unwrap(), []);
    let mut contents: Vec<String> = pair.tree().into_values().collect();
    contents.sort();
    let whole = (0..10).map(|number| format!("file 644 \"file {number}\\n\""));
    assert_eq!(contents, whole.collect::<Vec<_>>());
}

/// A change wins over a removal on either side, and the mirror says so; it also says which that
/// a save met a change in the same place.
#[test]
fn a_change_beside_another_is_in_the_notices() {
    let mut pair = Pair::new();
    for path in ["disk.txt", "work.txt", "word.txt"] {
        pair.put(path, "timeout = 30\n");
    }
    pair.check();
    pair.stop();
    pair.rm("/disk.txt");
    pair.put("disk.txt", "timeout = 30\nmore\n");
    pair.write("/work.txt", "timeout = 30\nmore\n");
    fs::remove_file(pair.at("work.txt")).unwrap();
    pair.write("/word.txt", "timeout = 45\n");
    pair.put("word.txt", "timeout = 60\n");
    pair.start();
    pair.check();
    let report = pair.stop();
    let notice = |path: &str| {
        let notices = report.notices.iter().filter(|notice| notice.path.as_os_str() == path);
        notices.map(|notice| notice.why.clone()).collect::<Vec<_>>()
    };
    assert_eq!(notice("disk.txt"), [NoticeReason::Restored]);
    assert_eq!(notice("work.txt"), [NoticeReason::Rewritten]);
    assert!(
        matches!(notice("word.txt")[..], [NoticeReason::Overlapped(_)]),
        "{:?}",
        report.notices
    );
    assert_eq!(pair.text("word.txt"), "timeout = 45 60\n");
    assert_eq!(pair.read("/disk.txt"), "timeout = 30\nmore\n");
    assert_eq!(pair.text("work.txt"), "timeout = 30\nmore\n");
}

/// A save on disk that was merged with what the workspace had got meanwhile was in no version, and
/// words that met were no conflict.
#[test]
fn a_save_that_was_merged_is_a_version_and_words_that_meet_are_a_conflict() {
    let mut pair = Pair::new();
    let cases = [
        ("f1.txt", "disk 1 old text\n", "put 1\n", "disk 9\n", true),
        ("mail.yaml", "to: user@example.com\n", "to: a@example.com\n", "to: user@b.org\n", true),
        ("n.txt", "timeout = 30\n", "timeout = 45\n", "timeout = 60\n", true),
        ("s.txt", "one two three\n", "ONE two three\n", "one two THREE\n", false),
        ("p.md", "One two three four.\n", "Un two three four.\n", "One two three quatre.\n", false),
        ("m.md", "Call Ana at 5.\n", "Call Bob at 5.\n", "Call Ana tomorrow at 5.\n", true),
    ];
    // A mirror that runs may see a file between its creation and the write, which is a version.
    pair.stop();
    for (path, read, ..) in cases {
        pair.put(path, read);
    }
    pair.start();
    pair.check();
    pair.stop();
    for (path, _, there, here, _) in cases {
        pair.write(&format!("/{path}"), there);
        pair.put(path, here);
    }
    pair.start();
    pair.check();
    let report = pair.stop();
    for (path, read, there, here, meets) in cases {
        let merged = pair.text(path);
        let said = report.notices.iter().filter(|notice| notice.path.as_os_str() == path).count();
        assert_eq!(said, usize::from(meets), "{path} {merged:?} {:?}", report.notices);
        assert_eq!(pair.versions(path), [read, there, here, &merged], "{path}");
        let conflicts = pair.conflicts(path);
        assert_eq!(conflicts.len(), usize::from(meets), "{path} {merged:?} {conflicts:?}");
    }
}
