//! A disk that fills up while a directory on it is mirrored, and that has room again later.
//!
//! The test runs itself again in a mount namespace of its own, with a tmpfs of 16 MB. Where the
//! host does not allow that, `YFS_SMALL_DISK` names an empty directory on a disk of at most 64 MB.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use futures::executor::block_on;
use yfs::{Workspace, WorkspaceOptions};
use yfs_mirror::{Mirror, MirrorError, MirrorOptions, MirrorReport};
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, FsError, MoveOptions, WriteOptions};

use crate::support::{tree_in_workspace, tree_on_disk, v};

/// The variable that names the small disk.
const SMALL_DISK: &str = "YFS_SMALL_DISK";

/// Runs a test of this file again, on a small disk. Returns the disk if it is there already.
fn small_disk(test: &str) -> Option<PathBuf> {
    if let Some(disk) = env::var_os(SMALL_DISK) {
        return Some(tempfile::tempdir_in(disk).unwrap().keep());
    }
    let mount_point = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=16m tmpfs \"$YFS_SMALL_DISK\" && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script]);
    command.arg(env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    let output = command.env(SMALL_DISK, mount_point.path()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "failed, or a user may not mount here (then set {SMALL_DISK}): {text}"
    );
    None
}

/// A mirrored directory on the small disk, and its store.
struct Scene {
    disk: PathBuf,
    store: PathBuf,
    ballast: PathBuf,
}

impl Scene {
    fn new(disk: &Path, store: &Path) -> Self {
        let disk = disk.to_owned();
        let scene = Self { store: store.join("workspace.db"), ballast: disk.join("ballast"), disk };
        fs::create_dir(scene.at("")).unwrap();
        Workspace::create_at(&scene.store, WorkspaceOptions::default()).unwrap();
        scene
    }

    fn at(&self, path: &str) -> PathBuf {
        self.disk.join("files").join(path)
    }

    fn in_workspace<T>(&self, act: impl FnOnce(&Workspace) -> T) -> T {
        let workspace = Workspace::open_at(&self.store, WorkspaceOptions::default()).unwrap();
        let done = act(&workspace);
        // On a full disk the last checkpoint may fail; the log has everything.
        workspace.close().ok();
        done
    }

    fn mirror(&self) -> Result<MirrorReport, MirrorError> {
        let mirror =
            |workspace: &Workspace| Mirror::once(workspace, &self.at(""), MirrorOptions::default());
        self.in_workspace(mirror)
    }

    /// Takes all room that is left but so many bytes.
    fn fill(&self, left: u64) {
        let mut file = fs::File::options().create(true).append(true).open(&self.ballast).unwrap();
        for len in [1 << 20, 4096, 1] {
            let part = vec![7; len];
            while file.write_all(&part).is_ok() {}
        }
        let len = file.metadata().unwrap().len();
        file.set_len(len.saturating_sub(left)).unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(&self.ballast).unwrap();
    }

    /// Writes a file as editors do: into another, which then takes the name.
    fn save(&self, name: &str, text: &str) -> bool {
        let new = self.disk.join("being-saved");
        let is_saved = fs::write(&new, text).and_then(|()| fs::rename(&new, self.at(name))).is_ok();
        fs::remove_file(&new).ok();
        is_saved
    }

    fn disk(&self) -> BTreeMap<String, String> {
        tree_on_disk(&self.at(""))
    }

    fn tree(&self) -> BTreeMap<String, String> {
        self.in_workspace(|workspace| block_on(tree_in_workspace(&workspace.fs())))
    }

    /// Reads a file on both sides.
    fn texts(&self, name: &str) -> [Option<String>; 2] {
        let read = |workspace: &Workspace| {
            block_on(workspace.fs().read_to_string(&v(&format!("/{name}")))).ok()
        };
        [fs::read_to_string(self.at(name)).ok(), self.in_workspace(read)]
    }
}

/// Returns a text of 40 lines or more that no other file has.
fn long(name: &str, n_lines: usize) -> String {
    (0..n_lines).map(|line| format!("{name} line {line} of a text that takes room\n")).collect()
}

/// Accepts a refusal for lack of room, which changes nothing.
fn is_done<T>(result: Result<T, FsError>) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.code, FsCode::ENOSPC, "{error}");
            false
        }
    }
}

/// Plays the story with `left` bytes of room when the disk is full.
fn play(scene: &Scene, left: u64) {
    let names: Vec<String> = (0..12).map(|number| format!("file{number}.txt")).collect();
    let mut texts: BTreeMap<String, String> =
        names.iter().map(|name| (name.clone(), long(name, 200))).collect();
    for (name, text) in &texts {
        fs::write(scene.at(name), text).unwrap();
    }
    scene.mirror().unwrap();
    let before = texts.clone();
    scene.fill(left);

    // Others create, edit, move and delete files meanwhile.
    let arrived = long("arrived", 4_000);
    scene.in_workspace(|workspace| {
        let fs = workspace.fs();
        let options = WriteOptions::default();
        let (append, new) = (long("appended", 1_000), arrived.clone());
        if is_done(block_on(fs.append(&v("/file0.txt"), append.clone().into(), &options))) {
            texts.entry("file0.txt".to_owned()).or_default().push_str(&append);
        }
        if is_done(block_on(fs.write(&v("/arrived.txt"), new.into(), &options))) {
            texts.insert("arrived.txt".to_owned(), arrived.clone());
        }
        let to = MoveOptions::default();
        if is_done(block_on(fs.mv(&v("/file1.txt"), &v("/moved.txt"), &to))) {
            let moved = texts.remove("file1.txt").unwrap();
            texts.insert("moved.txt".to_owned(), moved);
        }
        // A removal needs no room that the disk does not have.
        block_on(fs.rm_all(&v("/file2.txt"))).unwrap();
        texts.remove("file2.txt");
    });
    // Programs on this machine save and delete files.
    for name in ["file3.txt", "file4.txt", "born.txt"] {
        let text = [before.get(name).cloned().unwrap_or_default(), long("saved", 50)].concat();
        if scene.save(name, &text) {
            texts.insert(name.to_owned(), text);
        }
    }
    fs::remove_file(scene.at("file5.txt")).unwrap();
    texts.remove("file5.txt");

    for _ in 0..3 {
        // It may fail; then the next one continues.
        let mirrored = scene.mirror();
        let shown = |name: &String| !name.contains("recovered") && !name.contains(".yfs-tmp");
        assert!(scene.tree().keys().all(shown), "{:?} {mirrored:?}", scene.tree().keys());
        for name in before.keys().chain(texts.keys()) {
            let known = [before.get(name), texts.get(name)];
            for text in scene.texts(name).into_iter().flatten() {
                let is_whole = known.contains(&Some(&text));
                assert!(is_whole, "{name} has {} bytes: {mirrored:?}", text.len());
            }
        }
    }

    scene.make_room();
    scene.mirror().unwrap();
    assert_eq!(scene.disk(), scene.tree(), "with room again");
    for (name, text) in &texts {
        assert!(scene.texts(name) == [Some(text.clone()), Some(text.clone())], "{name}");
    }
    assert_eq!(scene.disk().len(), texts.len(), "{:?}", scene.disk().keys());
    let stray = fs::read_dir(scene.at("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(stray.into_iter().all(|name| !name.to_string_lossy().contains("yfs-tmp")));
}

/// The room that is left decides what fits: nothing, the state of the mirror, or a part of a file.
const ROOM: [u64; 5] = [0, 20_000, 80_000, 200_000, 400_000];

#[test]
fn a_full_disk_under_a_mirror_loses_nothing_and_truncates_nothing() {
    let name = "full_disk::a_full_disk_under_a_mirror_loses_nothing_and_truncates_nothing";
    let Some(disk) = small_disk(name) else { return };
    for left in ROOM {
        // The store of another process, on another disk.
        let store = tempfile::tempdir().unwrap();
        let disk = tempfile::tempdir_in(&disk).unwrap();
        play(&Scene::new(disk.path(), store.path()), left);
    }
}

#[test]
fn a_full_disk_under_a_mirror_and_its_store_loses_nothing() {
    let name = "full_disk::a_full_disk_under_a_mirror_and_its_store_loses_nothing";
    let Some(disk) = small_disk(name) else { return };
    for left in ROOM {
        let disk = tempfile::tempdir_in(&disk).unwrap();
        play(&Scene::new(disk.path(), disk.path()), left);
    }
}

/// As on a disk that has no room for one more entry of a directory.
#[test]
fn a_file_whose_old_inode_cannot_be_kept_has_its_text_once() {
    let name = "full_disk::a_file_whose_old_inode_cannot_be_kept_has_its_text_once";
    let Some(disk) = small_disk(name) else { return };
    let scene = Scene::new(&disk, &disk);
    fs::write(scene.at("a.txt"), "first\n").unwrap();
    scene.mirror().unwrap();
    let append = |text: &'static str| {
        let append = |workspace: &Workspace| {
            let fs = workspace.fs();
            block_on(fs.append(&v("/a.txt"), text.into(), &WriteOptions::default())).unwrap();
        };
        scene.in_workspace(append);
    };
    let run = |program: &str, args: &[&str]| {
        let kept = scene.at(".yfs/superseded");
        assert!(Command::new(program).args(args).arg(kept).status().unwrap().success());
    };
    append("second\n");
    run("mount", &["-t", "tmpfs", "tmpfs"]);
    for _ in 0..2 {
        scene.mirror().unwrap();
        let texts = scene.texts("a.txt").map(Option::unwrap);
        assert_eq!(texts, ["first\n", "first\nsecond\n"], "nothing may be renamed to there");
    }
    run("umount", &[]);
    scene.mirror().unwrap();
    assert_eq!(scene.texts("a.txt").map(Option::unwrap), ["first\nsecond\n"; 2]);
    assert_eq!(scene.disk(), scene.tree());
}
