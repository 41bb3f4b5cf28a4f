//! A store that goes back in time, or that no longer has what the mirror deletes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use futures::executor::block_on;
use tempfile::TempDir;
use yfs::{Workspace, WorkspaceError, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_mirror::{Mirror, MirrorError, MirrorOptions, MirrorReport, NoticeReason};
use yfs_vfs::{FileSystem, FileSystemExt, WriteOptions};

/// A directory and the file of a workspace, which a mirror synchronizes from time to time.
struct Folder {
    dir: TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(folder.dir.path().join("files")).unwrap();
        Workspace::create_at(&folder.store(), WorkspaceOptions::default()).unwrap();
        folder
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("workspace.db")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("files").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|error| format!("({error})"))
    }

    fn in_workspace<T>(&self, act: impl FnOnce(&Workspace) -> T) -> T {
        let workspace = Workspace::open_at(&self.store(), WorkspaceOptions::default()).unwrap();
        let done = act(&workspace);
        workspace.close().unwrap();
        done
    }

    fn try_mirror(&self, options: MirrorOptions) -> Result<MirrorReport, MirrorError> {
        self.in_workspace(|workspace| Mirror::once(workspace, &self.at(""), options))
    }

    fn mirror(&self) -> MirrorReport {
        self.try_mirror(MirrorOptions::default()).unwrap()
    }

    /// Replaces the store by files that were copied earlier.
    fn put_back(&self, copies: &Path) {
        for name in ["workspace.db", "workspace.db-wal", "workspace.db-shm"] {
            fs::remove_file(self.dir.path().join(name)).ok();
            if copies.join(name).exists() {
                fs::copy(copies.join(name), self.dir.path().join(name)).unwrap();
            }
        }
    }

    /// Makes changes on disk of every kind, and synchronizes them.
    fn work_on(&self) {
        self.put("new.txt", "new work\n");
        self.put("sub/deep.txt", "deep\n");
        self.put("edited.txt", "one\nNEW WORK\nthree\n");
        fs::rename(self.at("old.txt"), self.at("renamed.txt")).unwrap();
        fs::write(self.at("photo.jpg"), [0xff; 5_000]).unwrap();
        self.mirror();
    }

    /// Checks that both sides have the work, and that the mirror said why.
    fn check_work(&self, report: &MirrorReport) {
        let disk = |path: &str| self.text(path);
        let held = |path: &str| {
            let path = VPath::parse(path).unwrap();
            self.in_workspace(|workspace| block_on(workspace.fs().read_to_string(&path)).unwrap())
        };
        for (path, text) in [
            ("new.txt", "new work\n"),
            ("sub/deep.txt", "deep\n"),
            ("edited.txt", "one\nNEW WORK\nthree\n"),
            ("renamed.txt", "old\n"),
            ("old.txt", "old\n"),
        ] {
            assert_eq!(disk(path), text, "{path}");
            assert_eq!(held(&format!("/{path}")), text, "{path}");
        }
        assert_eq!(fs::read(self.at("photo.jpg")).unwrap(), [0xff; 5_000]);
        assert_eq!(report.to_directory.deleted + report.to_directory.written, 0, "{report:?}");
        let said = report.notices.iter().any(|notice| notice.why == NoticeReason::Unproven);
        assert!(said, "{report:?}");
        // From then on the store has what the mirror agreed on.
        let next = self.mirror();
        assert_eq!((next.to_workspace, next.to_directory), Default::default());
        assert!(next.notices.is_empty(), "{next:?}");
    }
}

#[test]
fn a_backup_that_is_put_back_deletes_and_reverts_nothing() {
    let folder = Folder::new();
    folder.put("old.txt", "old\n");
    folder.put("edited.txt", "one\ntwo\nthree\n");
    folder.mirror();
    let copies = tempfile::tempdir().unwrap();
    let backup = copies.path().join("workspace.db");
    folder.in_workspace(|workspace| workspace.store().backup(&backup, &mut |_, _| ()).unwrap());
    folder.work_on();

    folder.put_back(copies.path());
    let report = folder.mirror();
    folder.check_work(&report);
    // The text that the backup has stays in the history.
    let versions = folder.in_workspace(|workspace| {
        workspace.history().versions(&VPath::parse("/edited.txt").unwrap()).unwrap()
    });
    assert!(versions.len() >= 2, "{versions:?}");
}

/// As after a power cut: the tail of the store's log was not on the disk yet, the mirror's was.
#[test]
fn a_store_that_lost_its_last_records_deletes_and_reverts_nothing() {
    let folder = Folder::new();
    folder.put("old.txt", "old\n");
    folder.put("edited.txt", "one\ntwo\nthree\n");
    let copies = tempfile::tempdir().unwrap();
    folder.in_workspace(|workspace| {
        let options = MirrorOptions::default;
        Mirror::once(workspace, &folder.at(""), options()).unwrap();
        for name in ["workspace.db", "workspace.db-wal"] {
            fs::copy(folder.dir.path().join(name), copies.path().join(name)).unwrap();
        }
    });
    folder.work_on();

    folder.put_back(copies.path());
    let report = folder.mirror();
    folder.check_work(&report);
}

/// Records that cannot be read look like files that were deleted.
#[test]
fn a_damaged_workspace_is_not_mirrored_before_a_person_decides() {
    let folder = Folder::new();
    for number in 0..20 {
        folder.put(&format!("{number}.txt"), &format!("{number}\n"));
    }
    folder.mirror();
    let connection = rusqlite::Connection::open(folder.store()).unwrap();
    let main = "doc = (SELECT min(n) FROM doc)";
    for damage in [
        format!("UPDATE log SET data = zeroblob(len) WHERE data IS NOT NULL AND {main}"),
        format!(
            "UPDATE body SET data = zeroblob(1) WHERE seq IN (SELECT seq FROM log WHERE {main})"
        ),
    ] {
        connection.execute(&damage, []).unwrap();
    }
    drop(connection);

    folder.put("meanwhile.txt", "meanwhile\n");
    let n_files = || fs::read_dir(folder.at("")).unwrap().count();
    let refused = folder.try_mirror(MirrorOptions::default()).unwrap_err();
    let is_damage = |error: &MirrorError| {
        matches!(error, MirrorError::Workspace(WorkspaceError::DamagedLog { .. }))
    };
    assert!(is_damage(&refused), "{refused:?}");
    assert_eq!(n_files(), 22, "with .yfs");

    let accepted = folder.in_workspace(|workspace| workspace.maintenance().accept_damage());
    assert!(accepted.unwrap() > 0);
    folder.mirror();
    assert_eq!(n_files(), 22, "with .yfs");
    for number in 0..20 {
        assert_eq!(folder.text(&format!("{number}.txt")), format!("{number}\n"));
    }
}

#[test]
fn most_files_are_deleted_only_if_a_person_confirms() {
    let folder = Folder::new();
    for number in 0..20 {
        folder.put(&format!("dir/{number}.txt"), &format!("{number}\n"));
    }
    folder.mirror();
    let n_files = || fs::read_dir(folder.at("dir")).unwrap().count();
    let remove = |numbers: std::ops::Range<u32>| {
        folder.in_workspace(|workspace| {
            for number in numbers {
                let path = VPath::parse(&format!("/dir/{number}.txt")).unwrap();
                block_on(workspace.fs().rm_all(&path)).unwrap();
            }
        });
    };
    remove(0..3);
    folder.mirror();
    assert_eq!(n_files(), 17);
    remove(3..14);
    folder.put("dir/meanwhile.txt", "meanwhile\n");
    let refused = folder.try_mirror(MirrorOptions::default()).unwrap_err();
    assert!(
        matches!(refused, MirrorError::MassDeletion { n_deleted: 11, n_files: 18 }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("11 of the 18 files"), "{refused}");
    assert_eq!(n_files(), 18);

    let options = MirrorOptions { confirm_deletions: true, ..MirrorOptions::default() };
    let report = folder.try_mirror(options).unwrap();
    assert_eq!((report.to_directory.deleted, n_files()), (11, 7));
    let n_trashed = folder.in_workspace(|workspace| workspace.trash().list().unwrap().len());
    assert_eq!(n_trashed, 14);
}

#[test]
fn what_the_trash_no_longer_has_is_kept_on_disk() {
    let folder = Folder::new();
    folder.put("expired.txt", "expired\n");
    folder.put("dir/expired.txt", "expired, too\n");
    folder.put("kept.txt", "kept\n");
    folder.mirror();
    folder.in_workspace(|workspace| {
        for path in ["/expired.txt", "/dir"] {
            let path = VPath::parse(path).unwrap();
            block_on(workspace.fs().rm_all(&path)).unwrap();
        }
        let trashed = workspace.trash().list().unwrap();
        let ids: Vec<_> = trashed.into_iter().map(|entry| entry.id).collect();
        workspace.trash().purge(&ids).unwrap();
        let expired = workspace.trash().expire(std::time::Duration::ZERO).unwrap();
        assert!(workspace.trash().list().unwrap().is_empty(), "{expired:?}");
    });
    folder.mirror();
    assert_eq!(folder.text("expired.txt"), "expired\n");
    assert_eq!(folder.text("dir/expired.txt"), "expired, too\n");
    let tree = folder.in_workspace(|workspace| workspace.nodes().objects(None).unwrap());
    assert_eq!(tree.len(), 4, "{tree:?}");
}

/// Changes on both sides of every kind, with what both sides have in the end.
fn work_on_both_sides(folder: &Folder) -> BTreeMap<String, String> {
    folder.put("saved.txt", "one\ntwo\nsaved on disk\n");
    folder.put("list.md", "# List\n\n- a\n- b\n- c\n");
    folder.put("new.txt", "new\n");
    fs::rename(folder.at("named.txt"), folder.at("renamed.txt")).unwrap();
    folder.mirror();
    folder.in_workspace(|workspace| {
        let (fs, options) = (workspace.fs(), WriteOptions::default);
        let at = |path: &str| VPath::parse(path).unwrap();
        block_on(fs.append(&at("/appended.txt"), "by an agent\n".into(), &options())).unwrap();
        block_on(fs.append(&at("/saved.txt"), "and by an agent\n".into(), &options())).unwrap();
    });
    folder.mirror();
    // A third change, so that there are versions between.
    folder.put("saved.txt", "zero\none\ntwo\nsaved on disk\nand by an agent\n");
    folder.mirror();
    let names = ["saved.txt", "list.md", "new.txt", "renamed.txt", "appended.txt", "blob.bin"];
    names.map(|name| (name.to_owned(), folder.text(name))).into()
}

/// The memory is synced after the store, so a power cut may take its last records alone. It was the
/// base of a merge that inserted every save a second time.
#[test]
fn a_memory_that_is_older_than_both_sides_changes_neither() {
    let folder = Folder::new();
    for name in ["saved.txt", "appended.txt", "named.txt"] {
        folder.put(name, "one\ntwo\n");
    }
    folder.put("list.md", "# List\n\n- a\n- b\n");
    fs::write(folder.at("blob.bin"), b"\0one").unwrap();
    folder.mirror();
    let memory = folder.at(".yfs/mirror.db");
    let old = fs::read(&memory).unwrap();
    let expected = work_on_both_sides(&folder);
    fs::write(folder.at("blob.bin"), b"\0two").unwrap();
    folder.mirror();
    fs::write(&memory, old).unwrap();

    for _ in 0..2 {
        let report = folder.mirror();
        assert_eq!(report.to_directory, Default::default(), "{report:?}");
        assert_eq!(report.to_workspace.written + report.to_workspace.created, 0, "{report:?}");
        assert!(report.notices.is_empty() && report.skipped.is_empty(), "{report:?}");
        for (name, text) in expected.iter().filter(|(name, _)| *name != "blob.bin") {
            assert_eq!(folder.text(name), *text, "{name}");
            let held = folder.in_workspace(|workspace| {
                let path = VPath::root().join(name);
                block_on(workspace.fs().read_to_string(&path)).unwrap()
            });
            assert_eq!(held, *text, "{name}");
        }
        let names: BTreeSet<String> = fs::read_dir(folder.at(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != ".yfs")
            .collect();
        assert_eq!(names, expected.keys().cloned().collect());
    }
}

/// The disk has a version that the workspace had after the one that the memory knows: what the
/// workspace wrote since comes to the disk, and nothing is merged.
#[test]
fn a_memory_that_is_older_takes_the_disk_for_the_version_that_it_has() {
    let folder = Folder::new();
    folder.put("f.txt", "one\ntwo\n");
    folder.mirror();
    let memory = folder.at(".yfs/mirror.db");
    let old = fs::read(&memory).unwrap();
    folder.put("f.txt", "one\ntwo\nsaved on disk\n");
    folder.mirror();
    folder.in_workspace(|workspace| {
        let path = VPath::parse("/f.txt").unwrap();
        let (fs, options) = (workspace.fs(), WriteOptions::default());
        let append = fs.append(&path, "by an agent\n".into(), &options);
        block_on(append).unwrap();
    });
    fs::write(&memory, old).unwrap();
    folder.mirror();
    assert_eq!(folder.text("f.txt"), "one\ntwo\nsaved on disk\nby an agent\n");
}

/// A file that goes back to an earlier content while no mirror runs was edited.
#[test]
fn an_earlier_content_that_comes_back_on_disk_is_an_edit() {
    let folder = Folder::new();
    folder.put("f.txt", "one\n");
    folder.mirror();
    folder.put("f.txt", "two\n");
    folder.mirror();
    folder.in_workspace(|workspace| {
        let path = VPath::parse("/f.txt").unwrap();
        let (fs, options) = (workspace.fs(), WriteOptions::default());
        let append = fs.append(&path, "three\n".into(), &options);
        block_on(append).unwrap();
    });
    folder.put("f.txt", "one\n");
    folder.mirror();
    assert_eq!(folder.text("f.txt"), "one\nthree\n");
}
