//! A mirror that dies at any step: the next one finishes the work, and nothing is lost or done twice.

#![cfg(target_os = "linux")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use yfs::{Options, Workspace};
use yfs_tests::{
    mirror::{mirror_once, shown_in_workspace, shown_on_disk},
    script::{now, path},
};
use yfs_vfs::{FileSystem, FileSystemExt, MoveOptions};

/// The places where a mirror can be made to die, and how often it comes there at most in the scene below.
const FAULTS: [(&str, u32); 8] = [
    ("intended-ingest", 2),
    ("ingested", 2),
    ("step", 10),
    ("aside", 3),
    ("made", 3),
    ("intended-replace", 2),
    ("exchanged", 3),
    ("replaced", 2),
];

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
        let workspace = Workspace::create_at(&scene.file, Options::default()).expect("a workspace");
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
        let workspace = Workspace::open_at(&self.file, Options::default()).expect("it opens");
        let done = act(&workspace.fs());
        workspace.close().expect("it closes");
        done
    }

    /// Lets a mirror finish, and checks that everything came out as if nobody had died.
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

#[test]
fn a_mirror_that_dies_anywhere_is_continued() {
    let mut n_died = 0;
    for (fault, n_times) in FAULTS {
        for count in 1..=n_times {
            let scene = Scene::new();
            let what = format!("{fault}:{count}");
            n_died += u32::from(!mirror_once(&scene.folder, &scene.file, Some(&what)));
            scene.check(&what);
        }
    }
    // The counts are guesses; most of them are to be places where it dies.
    assert!(n_died >= 20, "it died {n_died} times");
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
