//! Other users of the machine can read nothing of a store, and copies have no secrets.
//!
//! The umask belongs to the process, and root may read any file, so tests run this binary again as
//! a child process: [`child`] does nothing unless environment variables name its role.
#![cfg(unix)]

use std::{
    env, fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

use yfs_store::{AppendBatch, DocName, LocalState, SqliteStore, Store, StoreError, UpdateLog};
use yfs_types::time::Millis;

const ROLE: &str = "YFS_STORE_TEST_ROLE";
const STORE: &str = "YFS_STORE_TEST_PATH";

const SECRET: &[u8] = b"the key of the house";

fn batch() -> AppendBatch {
    AppendBatch::one(DocName::parse("doc").expect("a name"), b"one".to_vec(), Millis(1))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("list").map(|entry| entry.expect("an entry"));
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Runs this test binary again, without a umask.
fn run_child(role: &str, path: &Path, other_user: bool) {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" --exact private::child --nocapture"]);
    command.arg(env::current_exe().expect("this binary")).env(ROLE, role).env(STORE, path);
    if other_user {
        // It trusts the owner, and is still refused what it cannot make private.
        command.uid(65534).gid(65534).env("YFS_SAFE_DIRECTORY", path.parent().expect("a parent"));
    }
    let output = command.output().expect("run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn files_are_private_whatever_the_umask() {
    let directory = tempfile::tempdir().expect("a directory");
    run_child("create", &directory.path().join("store.db"), false);
}

#[test]
fn what_is_wider_is_mended() {
    let directory = tempfile::tempdir().expect("a directory");
    let own = directory.path().join(".yfs");
    fs::create_dir(&own).expect("make");
    let path = own.join("store.db");
    let writer = SqliteStore::create_new(&path).expect("create");
    assert_eq!(mode(&own), 0o700, "a directory of this name is the store's");
    writer.append(batch()).expect("append");
    for file in files_in(&own) {
        set_mode(&file, 0o664);
    }
    set_mode(&own, 0o755);
    let store = SqliteStore::open(&path).expect("open");
    let n_files = files_in(&own).len();
    assert!(files_in(&own).iter().all(|file| mode(file) == 0o600));
    assert_eq!(mode(&own), 0o700);
    assert_eq!(store.restricted_paths().len(), n_files + 1, "{:?}", store.restricted_paths());
    assert_eq!(SqliteStore::open(&path).expect("open").restricted_paths(), [] as [PathBuf; 0]);
    assert_eq!(mode(directory.path()) & 0o700, 0o700, "others are left alone");
}

#[test]
fn what_another_user_left_open_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    drop(SqliteStore::create_new(&path).expect("create"));
    let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    if !is_root {
        return;
    }
    set_mode(directory.path(), 0o777);
    set_mode(&path, 0o666);
    run_child("refuse", &path, true);
}

#[test]
fn no_copy_has_the_secrets() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::create_new(&path).expect("create");
    assert_eq!(store.init_secret("server.key", SECRET).expect("init"), SECRET);
    store.append(batch()).expect("append");
    let backup = directory.path().join("backup.db");
    store.backup(&backup, &mut |_, _| ()).expect("backup");
    let holds = |file: &Path| {
        let bytes = fs::read(file).expect("read");
        bytes.windows(SECRET.len()).any(|window| window == SECRET)
    };
    let holders: Vec<_> =
        files_in(directory.path()).into_iter().filter(|path| holds(path)).collect();
    assert_eq!(holders, [directory.path().join("store.db-server.key")]);

    // All files, as `cp -r` copies them.
    let copy = directory.path().join("copy");
    fs::create_dir(&copy).expect("make");
    for file in files_in(directory.path()).iter().filter(|file| file.is_file()) {
        fs::copy(file, copy.join(file.file_name().expect("a name"))).expect("copy");
    }
    let other = SqliteStore::open(&copy.join("store.db")).expect("open");
    assert_eq!(other.init_secret("server.key", b"another").expect("init"), b"another");
    assert_eq!(store.init_secret("server.key", b"another").expect("init"), SECRET);

    // A moved store is the same store.
    drop(store);
    let moved = directory.path().join("moved");
    fs::create_dir(&moved).expect("make");
    for name in ["store.db", "store.db-server.key"] {
        fs::rename(directory.path().join(name), moved.join(name)).expect("move");
    }
    let store = SqliteStore::open(&moved.join("store.db")).expect("open");
    assert_eq!(store.init_secret("server.key", b"another").expect("init"), SECRET);
    let reader = SqliteStore::open_read_only(&moved.join("store.db")).expect("open");
    assert_eq!(reader.init_secret("server.key", b"another").expect("init"), SECRET);
    let error = reader.init_secret("none", b"x").expect_err("it may not write");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
}

/// Plays a role, if environment variables name one.
#[test]
fn child() {
    let (Ok(role), Ok(path)) = (env::var(ROLE), env::var(STORE)) else { return };
    let path = Path::new(&path);
    if role == "refuse" {
        let error = SqliteStore::open(path).expect_err("its owner left it open");
        assert!(matches!(error, StoreError::NotPrivate { mode: 0o666, .. }), "{error:?}");
        return;
    }
    let store = SqliteStore::create_new(path).expect("create");
    let claim = store.claim_writer().expect("claim");
    store.append(batch()).expect("append");
    store.release_writer(claim).expect("release");
    store.init_secret("server.key", SECRET).expect("init");
    let directory = path.parent().expect("it is in a directory");
    store.backup(&directory.join("backup.db"), &mut |_, _| ()).expect("backup");
    drop(SqliteStore::open(&directory.join("backup.db")).expect("open"));
    let modes: Vec<_> = files_in(directory).iter().map(|file| (file.clone(), mode(file))).collect();
    assert!(modes.len() >= 6, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
}
