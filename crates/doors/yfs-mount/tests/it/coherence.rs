//! Size, bytes and hash of a file belong to one version, and the newest is seen.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Read,
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use yfs_vfs::{RemoveOptions, WriteOptions};

use crate::support::{Mounted, path, wait_until};

/// The number of versions.
const N: usize = 300;

/// Version `n` of a file: each has another size, and says in each line which one it is.
fn version(n: usize) -> String {
    // Above 32 KiB, from where git maps a file.
    let n_lines = 2_500 + (n * 37) % 300;
    format!("version {n:06}\n").repeat(n_lines)
}

/// Checks that a content is one of the versions.
#[track_caller]
fn check(content: &[u8]) -> usize {
    let caller = std::panic::Location::caller();
    let text = std::str::from_utf8(content).expect("a text");
    let n: usize = text.get(8..14).and_then(|n| n.parse().ok()).expect("a version");
    assert!(text == version(n), "{caller}: {} bytes are no version {n}", content.len());
    n
}

#[test]
fn what_others_change_is_seen_in_what_is_cached() {
    let Some(mounted) = Mounted::new() else { return };
    let other = mounted.other();
    let options = WriteOptions::default();
    other.write(&path("/a.md"), b"one", &options).expect("a write");
    assert_eq!(fs::read_to_string(mounted.here("a.md")).expect("a read"), "one");
    let open = File::open(mounted.here("a.md")).expect("a file");
    other.write(&path("/a.md"), b"one and two", &options).expect("a write");
    let size = || fs::metadata(mounted.here("a.md")).expect("attributes").len();
    wait_until("the size is seen", || size() == 11);
    let held = || open.metadata().expect("attributes").len();
    wait_until("the size is seen by a program that has the file open", || held() == 11);
    let mut bytes = [0; 20];
    assert_eq!(open.read_at(&mut bytes, 0).expect("a read"), 11);
    // Names, too.
    other.mv(&path("/a.md"), &path("/b.md"), &yfs_vfs::MoveOptions::default()).expect("a move");
    wait_until("the name is gone", || fs::metadata(mounted.here("a.md")).is_err());
    assert_eq!(fs::read_to_string(mounted.here("b.md")).expect("a read"), "one and two");
    other.rm(&path("/b.md"), &RemoveOptions::default()).expect("a removal");
    wait_until("the file is gone", || fs::metadata(mounted.here("b.md")).is_err());
}

#[test]
fn programs_read_one_version_while_another_writes() {
    let Some(mounted) = Mounted::new() else { return };
    let other = mounted.other();
    other.write(&path("/a.txt"), version(0).as_bytes(), &WriteOptions::default()).expect("a write");
    let file = mounted.here("a.txt");
    let mut held = File::open(&file).expect("a file");
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..N {
                let options = WriteOptions::default();
                other.write(&path("/a.txt"), version(n).as_bytes(), &options).expect("a write");
            }
            has_ended.store(true, Ordering::Release);
        });
        while !has_ended.load(Ordering::Acquire) {
            check(&fs::read(&file).expect("a read"));
            let mut again = Vec::new();
            std::io::Seek::rewind(&mut held).expect("a position");
            let size = held.metadata().expect("attributes").len();
            held.read_to_end(&mut again).expect("a read");
            assert_eq!(again.len() as u64, size);
            check(&again);
            check(&run(Command::new("cat").arg(&file)));
            let copy = file.parent().expect("a parent").join("copy.txt");
            run(Command::new("cp").args([&file, &copy]));
            check(&fs::read(&copy).expect("a read"));
            hash(&file);
            let counted = run(Command::new("wc").arg("-c").arg(&file));
            let counted = String::from_utf8(counted).expect("a text");
            let size = counted.split(' ').next().and_then(|size| size.parse().ok());
            assert!((0..N).any(|n| Some(version(n).len()) == size), "{counted}");
        }
    });
    // The last version is seen by all.
    let is_last = |content: &[u8]| check(content) == N - 1;
    assert!(is_last(&fs::read(&file).expect("a read")));
    wait_until("the last version is seen by a program that has the file open", || {
        let mut again = Vec::new();
        std::io::Seek::rewind(&mut held).expect("a position");
        held.read_to_end(&mut again).expect("a read");
        is_last(&again)
    });
}

/// Checks what `git hash-object` makes of a file, where there is a git: it reads the file as mapped
/// memory of the size that it was given.
fn hash(file: &Path) {
    static HASHES: OnceLock<Option<HashMap<String, usize>>> = OnceLock::new();
    let hash_of = |path: &Path| {
        let output = Command::new("git").arg("hash-object").arg(path).output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).expect("a hash"))
    };
    let hashes = HASHES.get_or_init(|| {
        let plain = tempfile::NamedTempFile::new().expect("a file");
        let hash = |n| {
            fs::write(plain.path(), version(n)).expect("a write");
            Some((hash_of(plain.path())?, n))
        };
        (0..N).map(hash).collect()
    });
    if let Some(hashes) = hashes {
        let hash = hash_of(file).expect("a hash");
        assert!(hashes.contains_key(&hash), "{hash} is the hash of no version");
    }
}

#[test]
fn a_program_that_waits_at_the_end_gets_what_is_appended() {
    let Some(mounted) = Mounted::new() else { return };
    let other = mounted.other();
    other.write(&path("/log"), b"one\n", &WriteOptions::default()).expect("a write");
    let mut tail = File::open(mounted.here("log")).expect("a file");
    let mut text = String::new();
    tail.read_to_string(&mut text).expect("a read");
    for line in ["two\n", "three\n"] {
        other.append(&path("/log"), line.as_bytes(), &WriteOptions::default()).expect("a line");
        wait_until("the line is read", || {
            tail.read_to_string(&mut text).expect("a read");
            text.ends_with(line)
        });
    }
    assert_eq!(text, "one\ntwo\nthree\n");
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("a program");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
