//! A directory from an archive or of another user: nothing is written through what lies in it.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
};

use yfs_store::{SqliteStore, StoreError, check_store_directory};

/// The names at which a store, a mirror, an audit or a configuration has files.
const NAMES: [&str; 12] = [
    "workspace.db",
    "workspace.db-wal",
    "workspace.db-shm",
    "workspace.db-seal",
    "workspace.db-reserve",
    "workspace.db-server.key",
    "workspace-db.audit",
    "workspace-db.checkpoint",
    "mirror.db",
    "mirror.lock",
    "config.toml",
    ".gitignore",
];

/// A directory with a store, and a file of the user outside of it.
struct HostileDirectory {
    dir: tempfile::TempDir,
    victim: PathBuf,
}

impl HostileDirectory {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let own = dir.path().join(".yfs");
        fs::create_dir(&own).expect("a directory");
        drop(SqliteStore::open_or_create(&own.join("workspace.db")).expect("a store"));
        let victim = dir.path().join("authorized_keys");
        fs::write(&victim, "ssh-ed25519 AAAA victim\n").expect("written");
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).expect("chmod");
        Self { dir, victim }
    }

    fn own(&self) -> PathBuf {
        self.dir.path().join(".yfs")
    }

    /// Opens the store in each way, and checks that the file of the user is as it was.
    fn open(&self) -> [StoreError; 3] {
        let path = self.own().join("workspace.db");
        let errors = [
            SqliteStore::open_or_create(&path).expect_err("opened"),
            SqliteStore::open_read_only(&path).expect_err("opened"),
            check_store_directory(&path).expect_err("sound"),
        ];
        self.check_victim();
        errors
    }

    fn check_victim(&self) {
        let text = fs::read_to_string(&self.victim).expect("it is there");
        assert_eq!(text, "ssh-ed25519 AAAA victim\n");
        assert_eq!(fs::metadata(&self.victim).expect("it is there").mode() & 0o777, 0o644);
    }
}

/// The first command that wrote replaced 16 bytes of `authorized_keys`, and changed its mode.
#[test]
fn a_link_by_the_name_of_any_file_of_a_store_is_refused_and_its_target_stays() {
    for name in NAMES {
        let hostile = HostileDirectory::new();
        let link = hostile.own().join(name);
        fs::remove_file(&link).ok();
        symlink(&hostile.victim, &link).expect("linked");
        for error in hostile.open() {
            let StoreError::LinkInStore { path } = &error else { panic!("{name}: {error}") };
            assert_eq!(path, &link);
        }
    }
}

#[test]
fn links_deeper_in_the_directory_and_the_directory_itself_are_refused() {
    let hostile = HostileDirectory::new();
    fs::create_dir(hostile.own().join("workspace-db.audit")).expect("a directory");
    let link = hostile.own().join("workspace-db.audit/2026.jsonl");
    symlink(&hostile.victim, &link).expect("linked");
    assert!(hostile.open().iter().all(|error| matches!(error, StoreError::LinkInStore { .. })));
    fs::remove_file(&link).expect("removed");
    let elsewhere = hostile.dir.path().join("elsewhere");
    fs::rename(hostile.own(), &elsewhere).expect("moved");
    symlink(&elsewhere, hostile.own()).expect("linked");
    assert!(hostile.open().iter().all(|error| matches!(error, StoreError::LinkInStore { .. })));
}

/// A store in a directory of its user has its files among others, which may be links.
#[test]
fn a_store_elsewhere_is_checked_by_its_own_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("notes.db");
    drop(SqliteStore::open_or_create(&path).expect("a store"));
    symlink("/etc/hostname", dir.path().join("other")).expect("linked");
    drop(SqliteStore::open_or_create(&path).expect("it is sound"));
    fs::remove_file(dir.path().join("notes.db-seal")).ok();
    symlink(dir.path().join("victim"), dir.path().join("notes.db-seal")).expect("linked");
    let error = SqliteStore::open_or_create(&path).expect_err("opened");
    assert!(matches!(error, StoreError::LinkInStore { .. }), "{error}");
    assert!(!dir.path().join("victim").exists());
}

/// A file that the store writes by position, and that has another name, is left alone.
#[test]
fn a_hard_link_by_the_name_of_the_seal_is_not_written() {
    let hostile = HostileDirectory::new();
    let seal = hostile.own().join("workspace.db-seal");
    fs::remove_file(&seal).ok();
    fs::hard_link(&hostile.victim, &seal).expect("linked");
    fs::set_permissions(&hostile.victim, fs::Permissions::from_mode(0o600)).expect("chmod");
    let store = SqliteStore::open_or_create(&hostile.own().join("workspace.db")).expect("opened");
    let claim = yfs_store::LocalState::claim_writer(&store).expect("claimed");
    yfs_store::LocalState::release_writer(&store, claim).expect("released");
    drop(store);
    let text = fs::read_to_string(&hostile.victim).expect("it is there");
    assert_eq!(text, "ssh-ed25519 AAAA victim\n");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn owned_by(path: &Path, user: u32) {
    chown(path, Some(user), None).expect("root may");
}

/// Root, too, writes nothing into a directory of another user: that user reads it. Only root can
/// make such a directory; others do not run this.
#[test]
fn a_store_of_another_user_is_refused_by_name() {
    if !is_root() {
        return;
    }
    let hostile = HostileDirectory::new();
    owned_by(&hostile.own(), 65_533);
    for error in hostile.open() {
        let StoreError::OtherOwner { owner, user: 0, .. } = error else { panic!("{error}") };
        assert_eq!(owner, 65_533);
        assert!(error.to_string().contains("YFS_SAFE_DIRECTORY"), "{error}");
    }
    owned_by(&hostile.own(), 0);
    drop(SqliteStore::open_or_create(&hostile.own().join("workspace.db")).expect("it is sound"));
}
