//! Several filesystems of one directory, as several processes have them, and programs that take no
//! locks.

use std::{
    fs::{self, File},
    time::Duration,
};

use futures::future::join_all;
use rustix::fs::{FlockOperation, flock};

use super::*;
use crate::{
    edit::TextReplacement,
    file_system_ext::FileSystemExt,
    host::{
        host_lookup::HostEntry,
        write::{FileExpectation, NewFileAttributes},
    },
};

const N_WRITERS: usize = 20;
const N_ROUNDS: usize = 10;

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

/// Opens the directory once for each writer. Nothing is shared, as between processes.
fn open_many(dir: &TempDir) -> Vec<Arc<HostFs>> {
    let open = |_| Arc::new(HostFs::open(dir.path()).unwrap());
    (0..N_WRITERS).map(open).collect()
}

fn lines(word: &str) -> String {
    (0..N_WRITERS).map(|writer| format!("<{writer}> {word}\n")).collect()
}

fn replacement(writer: usize) -> TextReplacement {
    TextReplacement::once(format!("<{writer}> open\n"), format!("<{writer}> done\n"))
}

async fn all<T: Send + 'static>(
    tasks: impl Iterator<Item: Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = tasks.map(tokio::spawn).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_through_twenty_filesystems_all_stay() {
    let dir = TempDir::new().unwrap();
    let writers = open_many(&dir);
    for round in 0..N_ROUNDS {
        let file = path(&format!("/f{round}"));
        writers[0].write_text(&file, &lines("open")).await.unwrap();
        let edits = writers.iter().cloned().enumerate().map(|(writer, fs)| {
            let file = file.clone();
            async move { fs.edit(&file, &replacement(writer)).await.unwrap().n_replaced }
        });
        assert_eq!(all(edits).await, [1; N_WRITERS]);
        assert_eq!(writers[0].read_to_string(&file).await.unwrap(), lines("done"), "{round}");
    }
}

/// A writer that expects the version that it read is stale as soon as another one was faster; it
/// reads again, and no change is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_of_an_expected_version_through_twenty_filesystems_all_stay() {
    let dir = TempDir::new().unwrap();
    let writers = open_many(&dir);
    let file = path("/f");
    for round in 0..N_ROUNDS {
        writers[0].write_text(&file, &lines("open")).await.unwrap();
        let writes = writers.iter().cloned().enumerate().map(|(writer, fs)| {
            let file = file.clone();
            async move {
                loop {
                    let read = fs.read(&file).await.unwrap();
                    let text = std::str::from_utf8(&read.data).unwrap();
                    let (text, _) = replacement(writer).apply(text).unwrap();
                    let expected_version = Some(read.version);
                    let options = WriteOptions { expected_version, ..WriteOptions::default() };
                    match fs.write(&file, text.into(), &options).await {
                        Err(error) if error.code == FsCode::ESTALE => (),
                        written => break written.map(drop).unwrap(),
                    }
                }
            }
        });
        all(writes).await;
        assert_eq!(writers[0].read_to_string(&file).await.unwrap(), lines("done"), "{round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_of_a_file_by_two_names_in_two_directories_all_stay() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    fs::create_dir(dir.path().join("b")).unwrap();
    fs::write(dir.path().join("a/f"), "").unwrap();
    fs::hard_link(dir.path().join("a/f"), dir.path().join("b/g")).unwrap();
    let open = |_| Arc::new(HostFs::open(dir.path()).unwrap().keeping_hard_links());
    let writers: Vec<_> = (0..N_WRITERS).map(open).collect();
    for round in 0..N_ROUNDS {
        writers[0].write_text(&path("/a/f"), &lines("open")).await.unwrap();
        let edits = writers.iter().cloned().enumerate().map(|(writer, fs)| async move {
            let file = path(if writer.is_multiple_of(2) { "/a/f" } else { "/b/g" });
            fs.edit(&file, &replacement(writer)).await.unwrap();
        });
        all(edits).await;
        assert_eq!(fs::read_to_string(dir.path().join("b/g")).unwrap(), lines("done"), "{round}");
    }
}

/// One filesystem moves a file back and forth between two directories, others edit it. An edit that
/// was reported as done is in the file, and the file is in one place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_stay_while_another_filesystem_moves_the_file() {
    let dir = TempDir::new().unwrap();
    let writers = open_many(&dir);
    let places = [path("/a/f"), path("/b/f")];
    writers[0].write_text(&places[0], &lines("open")).await.unwrap();
    writers[0].mkdir_all(&path("/b")).await.unwrap();
    let mover = tokio::spawn({
        let (fs, places) = (HostFs::open(dir.path()).unwrap(), places.clone());
        async move {
            for round in 0..50 {
                let (from, to) = (&places[round % 2], &places[1 - round % 2]);
                fs.mv(from, to, &MoveOptions::default()).await.unwrap();
            }
        }
    });
    let edits = writers.iter().cloned().enumerate().map(|(writer, fs)| {
        let places = places.clone();
        async move {
            let mut at = 0;
            loop {
                match fs.edit(&places[at], &replacement(writer)).await {
                    Err(error) if error.code == FsCode::ENOENT => at = 1 - at,
                    edited => break drop(edited.unwrap()),
                }
            }
        }
    });
    all(edits).await;
    mover.await.unwrap();
    assert!(!writers[0].exists(&places[1]).await, "the file is in two places");
    assert_eq!(writers[0].read_to_string(&places[0]).await.unwrap(), lines("done"));
}

/// A removal of a directory meets writers of new files below it. Each file that is written after
/// the last removal stays, and no temporary file does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removals_of_a_directory_meet_writers_of_other_filesystems() {
    let dir = TempDir::new().unwrap();
    let writers = open_many(&dir);
    for _ in 0..N_ROUNDS {
        let remover = tokio::spawn({
            let fs = HostFs::open(dir.path()).unwrap();
            async move {
                for _ in 0..20 {
                    fs.rm_all(&path("/d")).await.unwrap();
                }
            }
        });
        let writes = writers.iter().cloned().enumerate().map(|(writer, fs)| async move {
            let file = path(&format!("/d/e/{writer}"));
            for _ in 0..5 {
                fs.write_text(&file, "x").await.unwrap();
            }
        });
        all(writes).await;
        remover.await.unwrap();
        writers[0].rm_all(&path("/d")).await.unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "files were left behind");
    }
}

#[tokio::test]
async fn a_lock_of_another_process_is_waited_for_and_reported() {
    let (dir, other) = room();
    other.write_text(&path("/f"), "before").await.unwrap();
    let fs = HostFs::open_with_lock_timeout(dir.path(), Duration::from_millis(50)).unwrap();
    let locked = File::open(dir.path()).unwrap();
    flock(&locked, FlockOperation::LockExclusive).unwrap();
    let edit = TextReplacement::once("before", "after");
    let refused = [
        fs.edit(&path("/f"), &edit).await.map(drop).unwrap_err(),
        fs.write_text(&path("/f"), "after").await.map(drop).unwrap_err(),
        fs.write_text(&path("/new"), "new").await.map(drop).unwrap_err(),
        fs.mv(&path("/f"), &path("/g"), &MoveOptions::default()).await.unwrap_err(),
        fs.rm(&path("/f"), &RemoveOptions::default()).await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.code, FsCode::EBUSY, "{error}");
        assert!(error.source.as_ref().unwrap().to_string().contains("(flock)"), "{error:?}");
    }
    assert_eq!(fs.read_to_string(&path("/f")).await.unwrap(), "before");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    // A long wait ends with the release.
    let waiting = tokio::spawn({
        let (patient, edit) = (HostFs::open(dir.path()).unwrap(), edit.clone());
        async move { patient.edit(&path("/f"), &edit).await }
    });
    flock(&locked, FlockOperation::Unlock).unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(fs.read_to_string(&path("/f")).await.unwrap(), "after");
    fs.write_text(&path("/f"), "now").await.unwrap();
}

/// An editor that takes no lock replaces or rewrites a file between the reading and the rename.
#[test]
fn a_file_that_another_program_changed_is_not_replaced() {
    let dir = TempDir::new().unwrap();
    let fs = HostFs::open(dir.path()).unwrap();
    let file = dir.path().join("f");
    let attributes =
        NewFileAttributes { mode: 0o644, mtime: host_lookup::next_mtime(), owner: None };
    for in_place in [true, false] {
        fs::write(&file, "read").unwrap();
        let place = fs.disk.find(&path("/f"), HostFinalLink::Follow).unwrap();
        let version = place.facts.version();
        match in_place {
            true => fs::write(&file, "typed").unwrap(),
            false => {
                fs::write(dir.path().join("saved"), "typed").unwrap();
                fs::rename(dir.path().join("saved"), &file).unwrap();
            }
        }
        for expectation in [FileExpectation::Content(b"read"), FileExpectation::Version(&version)] {
            for keeps_hard_links in [false, true] {
                let disk = if keeps_hard_links { fs.keeping_hard_links() } else { fs.clone() }.disk;
                let place = HostEntry {
                    facts: HostStat { n_links: 2, ..place.facts.clone() },
                    ..place.clone()
                };
                let replaced = disk.replace_content(&place, b"ours", attributes, expectation);
                assert!(matches!(replaced, Err(HostError::Raced)), "{replaced:?}");
                assert_eq!(fs::read_to_string(&file).unwrap(), "typed");
            }
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "a temporary file is left");
    }
}
