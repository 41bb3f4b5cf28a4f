//! A mirror over a store that was damaged at a random place: no file on disk is lost or changed
//! back, and if the command reports success, nothing is missing in the workspace.
//!
//! `YFS_DAMAGE_RUNS` and `YFS_DAMAGE_SEED` set the number of runs and the first seed. The ids in
//! the store are random, so a seed does not damage the same records again: `YFS_DAMAGE_KEEP` names
//! a directory for copies of the damaged store, and of the folder after a failure.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    env, fs,
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha8Rng, seq::IndexedRandom};
use yfs::{Workspace, WorkspaceOptions};
use yfs_tests::{
    command::{program, run},
    mirror::{Shown, mirror_once, shown_in_workspace, shown_on_disk},
    script::{now, path},
};
use yfs_vfs::{FileSystem, FileSystemExt, MoveOptions, RemoveOptions, WalkOptions, WriteOptions};

/// The file that only the workspace has changed since both sides agreed.
const AHEAD: &str = "ahead.txt";

/// The file that only the disk has changed since.
const EDITED: &str = "edited.txt";

/// A folder with a workspace that agreed with it, and the store in the states that are damaged.
struct Sample {
    dir: tempfile::TempDir,
    /// The directories with copies of the store: one with its log in the `-wal` file, one without.
    stores: [PathBuf; 2],
}

impl Sample {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir_all(folder.join("d/e")).unwrap();
        for n in 0..12 {
            let name = ["d/e/", "d/", ""][n % 3];
            let text = format!("file {n}\n").repeat(1 + n * 40);
            fs::write(folder.join(format!("{name}f{n}.txt")), text).unwrap();
        }
        fs::write(folder.join("plan.md"), "# Plan\n\n- one\n- two\n".repeat(20)).unwrap();
        fs::write(folder.join("data.bin"), [0, 159, 146, 150].repeat(5_000)).unwrap();
        fs::write(folder.join(AHEAD), "first\n").unwrap();
        fs::write(folder.join(EDITED), "first\n").unwrap();
        let file = folder.join(".yfs/workspace.db");
        fs::create_dir(folder.join(".yfs")).unwrap();
        let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).unwrap();
        assert!(mirror_once(&folder, &file, None));
        let fs_of = workspace.fs();
        for round in 0..5 {
            for name in ["/d/e/f0.txt", "/plan.md", "/d/f1.txt"] {
                let text = format!("line {round}\n");
                now(fs_of.append(&path(name), text.into(), &WriteOptions::default())).unwrap();
            }
        }
        now(fs_of.mv(&path("/d/e/f3.txt"), &path("/d/moved.txt"), &MoveOptions::default()))
            .unwrap();
        now(fs_of.rm(&path("/d/e/f6.txt"), &RemoveOptions::default())).unwrap();
        assert!(mirror_once(&folder, &file, None));
        now(fs_of.append(&path("/ahead.txt"), "second\n".into(), &WriteOptions::default()))
            .unwrap();
        let stores = ["open", "closed"].map(|name| dir.path().join(name));
        copy_files(&folder.join(".yfs"), &stores[0]);
        workspace.close().unwrap();
        drop(fs_of);
        copy_files(&folder.join(".yfs"), &stores[1]);
        fs::remove_dir_all(folder.join(".yfs")).unwrap();
        fs::write(folder.join(EDITED), "first\nedited on disk\n").unwrap();
        assert!(stores[0].join("workspace.db-wal").metadata().unwrap().len() > 0);
        Self { dir, stores }
    }

    /// Damages a copy of the store, and mirrors. Reports whether the mirror succeeded.
    fn play(&self, seed: u64) -> bool {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let dir = tempfile::tempdir_in(self.dir.path()).unwrap();
        let folder = dir.path().join("folder");
        copy_files(&self.dir.path().join("folder"), &folder);
        copy_files(self.stores.choose(&mut rng).unwrap(), &folder.join(".yfs"));
        let before = shown_on_disk(&folder);
        let damage: Vec<String> =
            (0..rng.random_range(1..3)).map(|_| damage(&folder.join(".yfs"), &mut rng)).collect();
        let kept = KeptFolder::new(&folder);
        let file = folder.join(".yfs/workspace.db");
        let mut command = Command::new(program());
        command.arg("mirror").arg(&folder).args(["--once", "--trust", "--workspace"]).arg(&file);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let scene = format!("seed {seed}: {damage:?}\n{text}");
        assert!(output.status.code().is_some_and(|code| code <= 1), "{scene}");
        let after = shown_on_disk(&folder);
        for (name, content) in before.iter().filter(|(name, _)| *name != AHEAD) {
            assert_eq!(after.get(name), Some(content), "{name}: {scene}");
        }
        let ahead = after.get(AHEAD).unwrap_or_else(|| panic!("{AHEAD}: {scene}"));
        assert!(ahead.contains("first"), "{ahead}: {scene}");
        if output.status.success() {
            let workspace = Workspace::open_at(&file, WorkspaceOptions::reading()).unwrap();
            let listed = now(workspace.fs().walk(&path("/"), &WalkOptions::default()));
            assert!(listed.is_ok(), "{listed:?}: {scene}");
            let shown = contents(shown_in_workspace(&workspace.fs()));
            assert_eq!(shown, contents(after), "{scene}");
            drop(workspace);
            let checked = run(&folder, &["admin", "fsck"], b"");
            // Caches may be damaged, which only the check reports.
            assert!(checked.code.is_some_and(|code| code <= 1), "{}: {scene}", checked.stderr);
        }
        drop(kept);
        output.status.success()
    }
}

/// Keeps what a failed run leaves, if `YFS_DAMAGE_KEEP` says where.
struct KeptFolder {
    folder: PathBuf,
    /// The place for the copies, which has the store as it was damaged.
    to: Option<PathBuf>,
}

impl KeptFolder {
    fn new(folder: &Path) -> Self {
        let to = env::var_os("YFS_DAMAGE_KEEP").map(PathBuf::from);
        if let Some(to) = &to {
            fs::remove_dir_all(to).ok();
            fs::create_dir_all(to).unwrap();
            copy_files(&folder.join(".yfs"), &to.join("damaged"));
        }
        Self { folder: folder.to_owned(), to }
    }
}

impl Drop for KeptFolder {
    fn drop(&mut self) {
        match &self.to {
            Some(to) if std::thread::panicking() => copy_files(&self.folder, &to.join("folder")),
            _ => (),
        }
    }
}

/// Returns the objects without permission bits.
fn contents(shown: Shown) -> Shown {
    let without_mode = |what: String| match what.split_once(' ') {
        Some((kind @ ("file" | "dir"), rest)) => {
            format!("{kind} {}", rest.split_once(' ').map_or("", |(_, content)| content))
        }
        _ => what,
    };
    shown.into_iter().map(|(name, what)| (name, without_mode(what))).collect()
}

/// Damages a random file of a store, and returns what was done.
fn damage(store: &Path, rng: &mut ChaCha8Rng) -> String {
    let mut files: Vec<PathBuf> =
        fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|file| file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0));
    let Some(file) = files.choose(rng).cloned() else { return "nothing is left".to_owned() };
    let len = file.metadata().unwrap().len();
    let at = rng.random_range(0..len);
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let overwrite = |bytes: &[u8]| {
        let mut file = fs::OpenOptions::new().write(true).open(&file).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&bytes[..bytes.len().min((len - at) as usize)]).unwrap();
    };
    match rng.random_range(0..10) {
        0..5 => {
            let byte = fs::read(&file).unwrap()[at as usize];
            overwrite(&[byte ^ (1 << rng.random_range(0..8))]);
            format!("{name}: a bit flipped at {at}")
        }
        5 => {
            overwrite(&[0; 512]);
            format!("{name}: 512 zeros at {at}")
        }
        6 => {
            let mut bytes = [0; 64];
            rng.fill_bytes(&mut bytes);
            overwrite(&bytes);
            format!("{name}: 64 random bytes at {at}")
        }
        7 => {
            fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(at).unwrap();
            format!("{name}: cut to {at}")
        }
        8 if name != "workspace.db" => {
            fs::remove_file(&file).unwrap();
            format!("{name}: removed")
        }
        _ => {
            let mut bytes = vec![0; 4096];
            rng.fill_bytes(&mut bytes);
            let mut file = fs::OpenOptions::new().append(true).open(&file).unwrap();
            file.write_all(&bytes).unwrap();
            format!("{name}: 4,096 random bytes appended")
        }
    }
}

/// Copies a tree of directories and files to a place where nothing is.
fn copy_files(from: &Path, to: &Path) {
    // An open workspace makes derived files in the background: one that is renamed after `cp` has
    // listed its directory fails the copy.
    for _ in 0..20 {
        let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
        if copied.success() {
            return;
        }
        fs::remove_dir_all(to).ok();
    }
    panic!("{} cannot be copied", from.display());
}

#[test]
fn no_damage_of_the_store_costs_a_file_on_disk() {
    let number = |name: &str, otherwise: u64| {
        env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (n_runs, first) = (number("YFS_DAMAGE_RUNS", 60), number("YFS_DAMAGE_SEED", 1));
    let sample = Sample::new();
    let n_mirrored = (first..first + n_runs).filter(|seed| sample.play(*seed)).count();
    println!("{n_runs} runs from seed {first} on: {n_mirrored} mirrored, the others refused");
}
