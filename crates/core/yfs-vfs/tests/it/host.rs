//! The conformance suite on a real directory, and the ways out of it, which must be closed.

use std::{
    fs, io,
    os::unix::{ffi::OsStrExt, fs as unix},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use tempfile::TempDir;

use yfs_conformance::file_system::{self as conformance, BackendCapabilities, script};
use yfs_types::path::VPath;
use yfs_vfs::{
    ChangesOptions, CopyOptions, CreateMode, FileKind, FileSystem, FsView, HostFs, WriteOptions,
};

/// The beginning of the names of files in the making.
const TEMPORARY: &str = ".yfs-tmp-";

/// The capabilities of a host. A link must mean the same to other programs, so `..` is not clamped.
const CAPABILITIES: BackendCapabilities = BackendCapabilities {
    metadata: false,
    keeps_identity: false,
    clamps_links: false,
    normalizes_names: false,
    ..BackendCapabilities::ALL
};

/// A filesystem that removes its directory when it is dropped.
#[derive(Debug)]
struct Room {
    dir: TempDir,
    _fs: HostFs,
}

fn room() -> (TempDir, Arc<dyn FileSystem>) {
    let dir = TempDir::new().unwrap();
    let fs = Arc::new(HostFs::open(dir.path()).unwrap());
    (dir, fs)
}

async fn conform(open: fn(&Path) -> io::Result<HostFs>) {
    let rooms = parking_lot::Mutex::new(Vec::new());
    let make = async || {
        let dir = TempDir::new().unwrap();
        let fs = open(dir.path()).unwrap();
        rooms.lock().push(Room { dir, _fs: fs.clone() });
        Arc::new(fs) as Arc<dyn FileSystem>
    };
    let report = conformance::run(make, CAPABILITIES).await;
    report.assert();
    assert!(report.passed.len() > 150, "{report}");
    let rooms = rooms.into_inner();
    let left = rooms.iter().flat_map(|room| temporaries(room.dir.path()));
    assert_eq!(left.count(), 0, "files in the making were left behind");
}

/// Lists the temporary files left anywhere in the tree.
fn temporaries(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(TEMPORARY) {
                found.push(name);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    conform(HostFs::open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_without_openat2() {
    conform(HostFs::open_without_openat2).await;
}

#[tokio::test]
async fn sibling_whose_name_begins_like_the_root_is_outside() {
    // The shape of CVE-2025-53110: a comparison of prefixes accepts /allowed_evil for /allowed.
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("allowed")).unwrap();
    fs::create_dir(dir.path().join("allowed_evil")).unwrap();
    let secret = dir.path().join("allowed_evil/secret");
    fs::write(&secret, "secret").unwrap();
    let root = dir.path().join("allowed");
    unix::symlink(&secret, root.join("absolute")).unwrap();
    unix::symlink("../allowed_evil/secret", root.join("relative")).unwrap();
    unix::symlink(dir.path().join("allowed_evil"), root.join("dir")).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(HostFs::open(&root).unwrap());
    let script = "
        cat /absolute !! EACCES
        cat /relative !! EACCES
        cat /dir/secret !! EACCES
        ls /dir !! EACCES
        realpath /absolute !! EACCES
        stat /relative !! EACCES
        cat /../allowed_evil/secret !! ENOENT
        cat /%2e%2e/allowed_evil/secret !! ENOENT
        ls / => absolute@ dir@ relative@
        readlink /relative => ../allowed_evil/secret";
    script::check(&fs, script).await.unwrap();
}

#[tokio::test]
async fn links_that_lead_outside_are_refused_by_every_operation() {
    // The shape of CVE-2025-53109: a link inside leads outside, for reading or for writing.
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("f"), "secret").unwrap();
    let (dir, fs) = room();
    unix::symlink(outside.path(), dir.path().join("out")).unwrap();
    unix::symlink(outside.path().join("f"), dir.path().join("file")).unwrap();
    unix::symlink(outside.path().join("new"), dir.path().join("new")).unwrap();
    unix::symlink("out/f", dir.path().join("two")).unwrap();
    let script = "
        cat /out/f !! EACCES
        cat /file !! EACCES
        cat /two !! EACCES
        range /file 0 1 !! EACCES
        stream /file 4 !! EACCES
        lines /file 0 1 !! EACCES
        write /file x !! EACCES
        write /new x !! EACCES
        write /out/new x !! EACCES
        write -new /out/new x !! EACCES
        append /file x !! EACCES
        edit /file secret x !! EACCES
        stat /file !! EACCES
        ls /out !! EACCES
        walk /out !! EACCES
        mkdir /out/d !! EACCES
        mkdir -p /out/d/e !! EACCES
        rm /out/f !! EACCES
        rm -r -f /out/f !! EACCES
        mv /out/f /stolen !! EACCES
        cp /out/f /stolen !! EACCES
        cp -r /out/f /stolen !! EACCES
        ln x /out/l !! EACCES
        utimes 1 /file !! EACCES
        chmod 777 /file !! EACCES
        exists /file => no
        walk / => /file@ /new@ /out@ /two@
        grep secret => (nothing)
        glob **/f => (nothing)
        cp -r /out /copy
        cat /copy/f !! EACCES
        rm -r /out
        rm /copy";
    script::check(&fs, script).await.unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("f")).unwrap(), "secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn absolute_links_mean_the_same_to_other_programs() {
    let (dir, fs) = room();
    script::check(&fs, "write /a/f x\nln /a/f /l\nreadlink /l => /a/f\ncat /l => x").await.unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("l")).unwrap(), "x");
    unix::symlink(dir.path().join("a"), dir.path().join("theirs")).unwrap();
    unix::symlink(dir.path().join("a/../../../x"), dir.path().join("climbs")).unwrap();
    script::check(&fs, "cat /theirs/f => x\nreadlink /theirs => /a\ncat /climbs !! EACCES")
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_swapped_for_a_link_never_leads_outside() {
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("f"), "secret").unwrap();
    let (dir, fs) = room();
    script::check(&fs, "write /d/f inside").await.unwrap();
    let (real, aside, link) =
        (dir.path().join("d"), dir.path().join("aside"), dir.path().join("l"));
    unix::symlink(outside.path(), &link).unwrap();
    let swapping = Arc::new(AtomicBool::new(true));
    let swapper = std::thread::spawn({
        let swapping = swapping.clone();
        move || {
            while swapping.load(Ordering::Relaxed) {
                fs::rename(&real, &aside).unwrap();
                fs::rename(&link, &real).unwrap();
                fs::rename(&real, &link).unwrap();
                fs::rename(&aside, &real).unwrap();
            }
        }
    });
    let (path, copy) = (VPath::parse("/d/f").unwrap(), VPath::parse("/copy").unwrap());
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..2_000 {
        if let Ok(content) = fs.read(&path).await {
            seen.insert(content.data);
        }
        if round % 4 == 0 {
            let data = Bytes::from_static(b"inside");
            let options = WriteOptions { parents: false, ..WriteOptions::default() };
            drop(fs.write(&path, data, &options).await);
            let options = CopyOptions { recursive: true, ..CopyOptions::default() };
            drop(fs.cp(&VPath::parse("/d").unwrap(), &copy, &options).await);
        }
    }
    swapping.store(false, Ordering::Relaxed);
    swapper.join().unwrap();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["inside"]);
    assert_eq!(fs::read_to_string(outside.path().join("f")).unwrap(), "secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn fifo_neither_hangs_nor_opens() {
    let (dir, fs) = room();
    let fifo = dir.path().join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).unwrap();
    let script = "
        ls / => fifo|
        lstat /fifo => other 0
        cat /fifo !! EINVAL
        stream /fifo 4 !! EINVAL
        append /fifo x !! EINVAL
        write /fifo x !! EINVAL
        edit /fifo a b !! EINVAL
        cp /fifo /copy !! EINVAL
        ls /fifo !! ENOTDIR
        grep x => (nothing)
        write /d/f x
        mv /fifo /d/fifo
        cp -r /d /e
        ls /e => f
        rm /d/fifo
        ls /d => f";
    script::check(&fs, script).await.unwrap();
}

#[tokio::test]
async fn hard_link_to_an_outside_file_is_noted_and_parted() {
    let outside = TempDir::new().unwrap();
    let theirs = outside.path().join("f");
    fs::write(&theirs, "theirs").unwrap();
    let (dir, fs) = room();
    if fs::hard_link(&theirs, dir.path().join("f")).is_err() {
        return; // The two directories lie on different disks.
    }
    let path = VPath::parse("/f").unwrap();
    assert_eq!(fs.stat(&path).await.unwrap().n_links, 2);
    script::check(&fs, "write /f ours\nedit /f ours mine\ncat /f => mine").await.unwrap();
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
    assert_eq!(fs.stat(&path).await.unwrap().n_links, 1);
}

#[tokio::test]
async fn names_that_are_no_text_are_shown_and_reached() {
    let (dir, fs) = room();
    let name = std::ffi::OsStr::from_bytes(b"caf\xE9\\x");
    fs::write(dir.path().join(name), "x").unwrap();
    let script = r#"
        ls / => caf\xE9\\x
        cat "/caf\\xE9\\\\x" => x
        cat "/caf\\xe9\\\\x" !! ENOENT
        cat "/\\x2E\\x2E/f" !! ENOENT
        grep x => /caf\xE9\\x:1:x
        mv "/caf\\xE9\\\\x" /plain
        ls / => plain"#;
    script::check(&fs, script).await.unwrap();
}

#[tokio::test]
async fn very_long_paths_are_refused_or_served() {
    let (_dir, fs) = room();
    let script = "
        cat {/x*2047}/y !! ENOENT
        mkdir -p {/x*900}
        write {/x*900}/f deep
        cat {/x*900}/f => deep
        cat /{y*255}/{y*255} !! ENOENT
        rm -r /x
        ls / => (nothing)";
    script::check(&fs, script).await.unwrap();
}

#[tokio::test]
async fn write_keeps_what_other_programs_set() {
    let (dir, fs) = room();
    let file = dir.path().join("run.sh");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o4750)).unwrap();
    let script =
        "write /run.sh new\nmode /run.sh => 4750\nedit /run.sh new newer\nmode /run.sh => 4750";
    script::check(&fs, script).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "newer");
}

#[tokio::test]
async fn versions_differ_even_within_one_tick_of_the_host() {
    let (_dir, fs) = room();
    let path = VPath::parse("/a").unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..200 {
        let data = Bytes::from((round % 10).to_string());
        let written = fs.write(&path, data, &WriteOptions::default()).await.unwrap();
        assert!(seen.insert(written.version), "round {round} repeats a version");
    }
}

#[tokio::test]
async fn changes_of_other_programs_are_told() {
    let (dir, fs) = room();
    fs::create_dir_all(dir.path().join("d/sub")).unwrap();
    fs::write(dir.path().join("d/sub/f"), "1").unwrap();
    let mut cursor = fs.cursor().await.unwrap();
    let mut reported = async || {
        let changes = fs.changes(&cursor, &ChangesOptions::default()).await.unwrap();
        cursor = changes.next;
        let shown = changes.events.iter().map(|event| format!("{:?} {}", event.kind, event.path));
        shown.collect::<Vec<_>>().join("; ")
    };
    fs::rename(dir.path().join("d"), dir.path().join("e")).unwrap();
    assert_eq!(reported().await, "Moved { from: \"/d\" } /e");
    fs::write(dir.path().join("e/sub/f"), "longer").unwrap();
    fs::write(dir.path().join("e/g"), "").unwrap();
    assert_eq!(reported().await, "Created /e/g; Changed /e/sub/f");
    fs::rename(dir.path().join("e/g"), dir.path().join("e/sub/f")).unwrap();
    assert_eq!(reported().await, "Moved { from: \"/e/g\" } /e/sub/f");
    fs::remove_dir_all(dir.path().join("e")).unwrap();
    assert_eq!(reported().await, "Removed /e");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_openings_of_one_directory_create_exclusively() {
    let dir = TempDir::new().unwrap();
    let both = [HostFs::open(dir.path()).unwrap(), HostFs::open(dir.path()).unwrap()];
    for round in 0..100 {
        let path = VPath::parse(&format!("/f{round}")).unwrap();
        let options = WriteOptions { create: CreateMode::New, ..WriteOptions::default() };
        let tasks = both.clone().map(|fs| {
            let (path, options) = (path.clone(), options.clone());
            tokio::spawn(async move { fs.write(&path, Bytes::new(), &options).await.is_ok() })
        });
        let [first, second] = tasks;
        assert!(first.await.unwrap() != second.await.unwrap(), "round {round}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 100);
}

#[tokio::test]
async fn root_must_be_a_directory() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "x").unwrap();
    assert!(HostFs::open(&file).is_err());
    assert!(HostFs::open(&dir.path().join("missing")).is_err());
    let root = HostFs::open(dir.path()).unwrap().stat(&VPath::root()).await.unwrap();
    assert_eq!(root.kind, FileKind::Directory);
}

#[tokio::test]
async fn hard_links_are_kept_where_that_is_asked_for() {
    let (dir, fs) = room();
    fs::write(dir.path().join("f"), "a-long-old-text").unwrap();
    fs::hard_link(dir.path().join("f"), dir.path().join("g")).unwrap();
    let kept = Arc::new(HostFs::open(dir.path()).unwrap().keeping_hard_links());
    for fs in [kept.clone() as Arc<dyn FileSystem>, kept.view(FsView::WithoutLinks).unwrap()] {
        script::check(&fs, "write /f a-long-old-text\nedit /f old new\ncat /g => a-long-new-text")
            .await
            .unwrap();
        script::check(&fs, "write /g short\ncat /f => short").await.unwrap();
    }
    script::check(&fs, "write /g parted\ncat /f => short").await.unwrap();
}
