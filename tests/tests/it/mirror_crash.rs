//! A mirror that dies at any step: the next one finishes the work, and no step is lost or done
//! twice.

#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use yfs::Workspace;
use yfs_tests::{
    mirror::{mirror_once, mirror_once_with, shown_in_workspace, shown_on_disk},
    process::options,
    script::{now, path},
};
use yfs_vfs::{FileSystem, FileSystemExt, MoveOptions};

/// The places where a mirror can be made to die, and the scene in which it comes there.
const FAULTS: [(&str, SceneKind); 14] = [
    ("intended-ingest", SceneKind::Apart),
    ("ingested", SceneKind::Apart),
    ("step", SceneKind::Apart),
    ("aside", SceneKind::Apart),
    ("made", SceneKind::Apart),
    ("made-directory", SceneKind::Apart),
    ("intended-replace", SceneKind::Apart),
    ("exchanged", SceneKind::Apart),
    ("superseded", SceneKind::Apart),
    ("replaced", SceneKind::Apart),
    ("intended-superseded", SceneKind::LateWrite),
    ("ingested-superseded", SceneKind::LateWrite),
    ("intended-overwrite", SceneKind::Locked),
    ("overwritten", SceneKind::Locked),
];

/// What happened before the mirror that dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SceneKind {
    /// A folder and a workspace that agreed, and then went on apart.
    Apart,
    /// A program that wrote to a file which the workspace had deleted.
    LateWrite,
    /// A program that holds the lock of a file and releases it while a mirror waits for it.
    Locked,
}

struct Scene {
    _dir: tempfile::TempDir,
    folder: PathBuf,
    file: PathBuf,
}

impl Scene {
    /// A folder and a workspace that agreed, and then went on apart.
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (folder, file) = (dir.path().join("folder"), dir.path().join("workspace.db"));
        fs::create_dir(&folder).expect("a folder");
        let scene = Self { _dir: dir, folder, file };
        let workspace = Workspace::create_at(&scene.file, options()).expect("a workspace");
        workspace.close().expect("it closes");
        for name in
            ["merged", "merged2", "disk", "work", "gone-disk", "gone-work", "swap1", "swap2"]
        {
            scene.put(&format!("{name}.txt"), &format!("{name}\none\ntwo\nthree\n"));
        }
        scene.put("dir/in.txt", "in\n");
        scene.put("old/in.txt", "in old\n");
        assert!(mirror_once(&scene.folder, &scene.file, None));

        for name in ["merged", "merged2", "disk"] {
            scene.put(&format!("{name}.txt"), &format!("{name}\none\non disk\ntwo\nthree\n"));
        }
        fs::remove_file(scene.folder.join("gone-disk.txt")).expect("it is there");
        scene.put("new-disk/a.txt", "new on disk\n");
        fs::rename(scene.folder.join("dir"), scene.folder.join("moved")).expect("it is there");
        scene.in_workspace(|fs| {
            for name in ["merged", "merged2", "work"] {
                let text = format!("{name}\none\ntwo\nthree\nin workspace\n");
                now(fs.write_text(&path(&format!("/{name}.txt")), &text)).expect("written");
            }
            now(fs.rm_all(&path("/gone-work.txt"))).expect("removed");
            now(fs.rm_all(&path("/old"))).expect("removed");
            now(fs.write_text(&path("/new-work/b.txt"), "new in workspace\n")).expect("written");
            for (from, to) in [("swap1", "aside"), ("swap2", "swap1"), ("aside", "swap2")] {
                let (from, to) = (format!("/{from}.txt"), format!("/{to}.txt"));
                now(fs.mv(&path(&from), &path(&to), &MoveOptions::default())).expect("moved");
            }
        });
        scene
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn in_workspace<T>(&self, act: impl FnOnce(&dyn FileSystem) -> T) -> T {
        let workspace = Workspace::open_at(&self.file, options()).expect("it opens");
        let done = act(&workspace.fs());
        workspace.close().expect("it closes");
        done
    }

    /// Lets a mirror finish, and checks that the result is that of a run without a crash.
    fn check(&self, what: &str) {
        assert!(mirror_once(&self.folder, &self.file, None), "{what}");
        let disk = shown_on_disk(&self.folder);
        let work = self.in_workspace(|fs| shown_in_workspace(fs));
        assert_eq!(disk, work, "{what}");
        let text = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        for name in ["merged", "merged2"] {
            let both = format!("{name}\none\non disk\ntwo\nthree\nin workspace\n");
            assert_eq!(text(&format!("{name}.txt")), both, "{what}");
        }
        assert_eq!(text("disk.txt"), "disk\none\non disk\ntwo\nthree\n", "{what}");
        assert_eq!(text("work.txt"), "work\none\ntwo\nthree\nin workspace\n", "{what}");
        assert_eq!(text("new-work/b.txt"), "new in workspace\n", "{what}");
        assert_eq!(text("swap1.txt"), "swap2\none\ntwo\nthree\n", "{what}");
        let names: Vec<&str> = disk.keys().map(String::as_str).collect();
        let expected = [
            "disk.txt",
            "merged.txt",
            "merged2.txt",
            "moved",
            "moved/in.txt",
            "new-disk",
            "new-disk/a.txt",
            "new-work",
            "new-work/b.txt",
            "swap1.txt",
            "swap2.txt",
            "work.txt",
        ];
        assert_eq!(names, expected, "{what}");
    }
}

/// A file that a program has open while mirrors run and die.
struct OpenFileScene {
    dir: tempfile::TempDir,
    file: fs::File,
}

impl OpenFileScene {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let workspace = Workspace::create_at(&dir.path().join("workspace.db"), options());
        workspace.expect("a workspace").close().expect("it closes");
        fs::create_dir(dir.path().join("folder")).expect("a folder");
        let at = dir.path().join("folder/open.txt");
        fs::write(&at, "one\n").expect("written");
        let file = fs::File::options().read(true).append(true).open(at).expect("it is there");
        let scene = Self { dir, file };
        assert!(scene.mirror(None));
        scene
    }

    fn mirror(&self, fault: Option<&str>) -> bool {
        let dir = self.dir.path();
        mirror_once(&dir.join("folder"), &dir.join("workspace.db"), fault)
    }

    /// Runs a mirror that dies while the file is locked. The lock is released once the mirror has
    /// found the file locked, which it reports by reading a pipe.
    fn mirror_while_locked(&self, fault: &str) -> bool {
        let dir = self.dir.path();
        let pipe = dir.join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a named pipe");
        self.file.lock().expect("it can be locked");
        thread::scope(|scope| {
            scope.spawn(|| {
                // Waits for a reader.
                let end = fs::File::options().write(true).open(&pipe).expect("it is there");
                // A mirror that comes there again goes on at once.
                fs::remove_file(&pipe).expect("it is there");
                self.file.unlock().expect("it can be unlocked");
                drop(end);
            });
            let pause = ("YFS_MIRROR_PAUSE", format!("locked:{}", pipe.display()));
            let (folder, workspace) = (dir.join("folder"), dir.join("workspace.db"));
            let is_done = mirror_once_with(&folder, &workspace, Some(fault), &[pause]);
            // If no mirror came there, this is the reader.
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            drop(fs::File::options().read(true).custom_flags(flags).open(&pipe));
            is_done
        })
    }

    fn in_workspace<T>(&self, act: impl FnOnce(&dyn FileSystem) -> T) -> T {
        let file = self.dir.path().join("workspace.db");
        let workspace = Workspace::open_at(&file, options()).expect("it opens");
        let done = act(&workspace.fs());
        workspace.close().expect("it closes");
        done
    }

    fn check(&self, expected: &str, what: &str) {
        assert!(self.mirror(None), "{what}");
        let text = fs::read_to_string(self.dir.path().join("folder/open.txt"));
        assert_eq!(text.expect("it is there"), expected, "{what}");
        let read = self.in_workspace(|fs| now(fs.read_to_string(&path("/open.txt"))));
        assert_eq!(read.expect("it is there"), expected, "{what}");
    }
}

/// Plays a scene with a mirror that dies; reports whether it did.
fn play(kind: SceneKind, fault: &str) -> bool {
    match kind {
        SceneKind::Apart => {
            let scene = Scene::new();
            let died = !mirror_once(&scene.folder, &scene.file, Some(fault));
            scene.check(fault);
            died
        }
        SceneKind::LateWrite => {
            let mut scene = OpenFileScene::new();
            scene.in_workspace(|fs| now(fs.rm_all(&path("/open.txt")))).expect("removed");
            assert!(scene.mirror(None), "{fault}");
            scene.file.write_all(b"late\n").expect("written");
            let died = !scene.mirror(Some(fault));
            scene.check("one\nlate\n", fault);
            died
        }
        SceneKind::Locked => {
            let scene = OpenFileScene::new();
            let text = "one\ntyped\n";
            let done = scene.in_workspace(|fs| now(fs.write_text(&path("/open.txt"), text)));
            done.expect("written");
            let died = !scene.mirror_while_locked(fault);
            scene.check(text, fault);
            died
        }
    }
}

/// Each place is played with each number of times that a mirror comes there before it dies, until
/// it does not.
#[test]
fn a_mirror_that_dies_anywhere_is_continued() {
    for (fault, kind) in FAULTS {
        let n_died = (1..).take_while(|count| play(kind, &format!("{fault}:{count}"))).count();
        assert!(n_died > 0, "no mirror comes to {fault}");
    }
}

/// No place is left out above.
#[test]
fn all_places_where_a_mirror_can_die_are_played() {
    let mut dirs = vec![yfs_tests::root().join("crates/doors/yfs-mirror/src")];
    let mut found = BTreeSet::new();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let source = fs::read_to_string(path).expect("a source");
            let names = source.split("crash_points::point(\"").skip(1);
            found.extend(names.filter_map(|rest| rest.split('"').next().map(str::to_owned)));
        }
    }
    let played: BTreeSet<String> = FAULTS.iter().map(|(fault, _)| (*fault).to_owned()).collect();
    assert_eq!(found, played);
}

/// Both sides go on while the mirror is dead: what it was doing is still not done twice.
#[test]
fn what_goes_on_after_a_death_is_merged() {
    for fault in
        ["intended-ingest:1", "ingested:1", "exchanged:1", "replaced:1", "intended-replace:1"]
    {
        let scene = Scene::new();
        assert!(!mirror_once(&scene.folder, &scene.file, Some(fault)), "{fault}: it dies");
        let on_disk = fs::read_to_string(scene.folder.join("merged.txt")).expect("a file");
        scene.put("merged.txt", &format!("on disk again\n{on_disk}"));
        scene.in_workspace(|fs| {
            let read = now(fs.read_to_string(&path("/merged.txt"))).expect("a file");
            let text = format!("{read}in workspace again\n");
            now(fs.write_text(&path("/merged.txt"), &text)).expect("written");
        });
        assert!(mirror_once(&scene.folder, &scene.file, None), "{fault}");
        let text = fs::read_to_string(scene.folder.join("merged.txt")).expect("a file");
        let expected =
            "on disk again\nmerged\none\non disk\ntwo\nthree\nin workspace\nin workspace again\n";
        assert_eq!(text, expected, "{fault}");
    }
}

/// The workspace deletes a file while the mirror is dead that was importing an edit of it: an edit
/// that had arrived was deleted with the file, another one brings the file back.
#[test]
fn what_is_deleted_after_a_death_is_not_imported_twice() {
    for (name, fault) in [
        ("plain.txt", "intended-ingest:1"),
        ("plain.txt", "ingested:1"),
        ("rich.md", "intended-ingest:1"),
        ("rich.md", "ingested:1"),
    ] {
        let scene = OpenFileScene::new();
        let (at, name) = (scene.dir.path().join("folder").join(name), path(&format!("/{name}")));
        fs::write(&at, "one\n\nthree\n").expect("written");
        assert!(scene.mirror(None));
        fs::write(&at, "one\n\ntwo\n\nthree\n").expect("written");
        assert!(!scene.mirror(Some(fault)), "{fault}: it dies");
        scene.in_workspace(|fs| {
            if let Ok(text) = now(fs.read_to_string(&name)) {
                let other = text.replace("one", "one, by another");
                now(fs.write_text(&name, &other)).expect("written");
            }
            now(fs.rm_all(&name)).expect("removed");
        });
        assert!(scene.mirror(None), "{fault}");
        let file = scene.dir.path().join("workspace.db");
        let workspace = Workspace::open_at(&file, options()).expect("it opens");
        let is_back = now(workspace.fs().lstat(&name)).is_ok();
        assert_eq!((is_back, at.exists()), (fault != "ingested:1", fault != "ingested:1"));
        for item in workspace.trash().list().expect("a trash") {
            workspace.trash().restore(&item.id, None).expect("restored");
        }
        let text = now(workspace.fs().read_to_string(&name)).expect("a file");
        assert_eq!(text, "one, by another\n\ntwo\n\nthree\n", "{fault} {name}");
        workspace.close().expect("it closes");
    }
}

/// As before, and a program on disk writes on beside the edit that had arrived.
#[test]
fn what_is_written_beside_an_edit_that_arrived_comes_without_it() {
    for name in ["plain.txt", "rich.md"] {
        let scene = OpenFileScene::new();
        let (at, name) = (scene.dir.path().join("folder").join(name), path(&format!("/{name}")));
        fs::write(&at, "one\n\nthree\n").expect("written");
        assert!(scene.mirror(None));
        fs::write(&at, "one\n\ntwo\n\nthree\n").expect("written");
        assert!(!scene.mirror(Some("ingested:1")), "it dies");
        scene.in_workspace(|fs| now(fs.rm_all(&name))).expect("removed");
        let expected = "one\n\nbefore\n\ntwo\n\nthree\n";
        fs::write(&at, expected).expect("written");
        assert!(scene.mirror(None));
        assert_eq!(fs::read_to_string(&at).expect("a file"), expected);
        let read = scene.in_workspace(|fs| now(fs.read_to_string(&name)));
        assert_eq!(read.expect("a file"), expected);
    }
}
