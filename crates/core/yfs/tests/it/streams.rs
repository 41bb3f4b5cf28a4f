//! Contents that are written and appended from a reader do what those in memory do.

use std::{
    io::{self, Read},
    sync::Arc,
    thread,
};

use crate::support::handles::{at, now};
use yfs::{Workspace, WorkspaceFs, WorkspaceOptions};
use yfs_engine::{gate::GateLimits, time::Millis};
use yfs_store::{MemoryStore, SqliteStore};
use yfs_vfs::{
    CreateMode, FileSystem, FsCode, FsError, VersionBase, VersionToken, WriteOptions, WriteOutcome,
};

/// The greatest size of a text in these tests, in bytes.
const LIMIT: usize = 64;

const PATH: &str = "/dir/file";

fn options() -> WorkspaceOptions {
    let limits = GateLimits { text_bytes: LIMIT, ..GateLimits::default() };
    WorkspaceOptions { limits, follow: false, ..WorkspaceOptions::default() }
}

/// A workspace with a file, unless there is none, and its version.
fn workspace(old: Option<&[u8]>) -> (Workspace, Option<VersionToken>) {
    let workspace = Workspace::create(Arc::new(MemoryStore::new()), options()).expect("made");
    let version = old.and_then(|old| write(&workspace, old).version);
    (workspace, version)
}

fn write(workspace: &Workspace, data: &[u8]) -> WriteOutcome {
    let data = data.to_vec().into();
    now(workspace.fs().write(&at(PATH), data, &WriteOptions::default())).expect("written")
}

fn read(workspace: &Workspace) -> Vec<u8> {
    now(workspace.fs().read(&at(PATH))).expect("read").data.to_vec()
}

/// What is seen of a call: its error, or its outcome and the file afterwards.
fn seen(workspace: &Workspace, outcome: &Result<WriteOutcome, FsError>) -> String {
    let outcome = outcome.as_ref().map(|written| {
        let WriteOutcome { created, merged, size, version, overlaps, .. } = written;
        (*created, *merged, *size, version.is_some(), overlaps.len())
    });
    let stat = now(workspace.fs().stat(&at(PATH)));
    let stat = stat.map(|stat| (stat.mode, stat.mtime == Millis(7), stat.size));
    let data = now(workspace.fs().read(&at(PATH))).map(|content| content.data);
    format!(
        "{:?} {:?} {:?}",
        outcome.map_err(|error| error.code),
        stat.map_err(|error| error.code),
        data.map_err(|error| error.code)
    )
}

/// Options by the name of a case.
fn options_of(case: &str, old: Option<&[u8]>, version: Option<&VersionToken>) -> WriteOptions {
    let default = WriteOptions::default();
    match case {
        "plain" => default,
        "create new" => WriteOptions { create: CreateMode::New, ..default },
        "no create" => WriteOptions { create: CreateMode::Never, ..default },
        "no parents" => WriteOptions { parents: false, ..default },
        "no follow" => WriteOptions { follow: false, ..default },
        "mode" => WriteOptions { mode: Some(0o4751), mtime: Some(Millis(7)), ..default },
        "expect" => WriteOptions { expected_version: version.cloned(), ..default },
        "expect another" => {
            let other = VersionToken::new("1-2");
            WriteOptions { expected_version: Some(other), ..default }
        }
        "base version" => {
            WriteOptions { base: version.cloned().map(VersionBase::Version), ..default }
        }
        "base" => {
            let base = old.map(|old| VersionBase::Content(old.to_vec().into()));
            WriteOptions { base, ..default }
        }
        "another base" => {
            WriteOptions { base: Some(VersionBase::Content("other".into())), ..default }
        }
        "base hash" => {
            let base = old.map(|mut old| yfs::blob_version_of(&mut old).expect("read"));
            WriteOptions { base: base.map(VersionBase::Version), ..default }
        }
        case => panic!("{case}"),
    }
}

const CASES: [&str; 12] = [
    "plain",
    "create new",
    "no create",
    "no parents",
    "no follow",
    "mode",
    "expect",
    "expect another",
    "base version",
    "base",
    "another base",
    "base hash",
];

/// Contents of all kinds and sizes around the limit. Of those that are not text, the first byte
/// says so.
fn contents() -> Vec<Vec<u8>> {
    let mut contents = vec![Vec::new()];
    for len in [1, LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT, 40 * LIMIT] {
        contents.push(b"text\n".iter().copied().cycle().take(len).collect());
        contents.push(b"\xFFno text\n".iter().copied().cycle().take(len).collect());
    }
    contents
}

#[test]
fn a_content_from_a_reader_is_written_and_appended_as_one_in_memory() {
    let contents = contents();
    // Of each form, a short one and one at the limit.
    let olds = [0, 2, 5, 7, 10].map(|at| Some(&*contents[at]));
    let olds = [None].into_iter().chain(olds);
    let mut n_blobs = 0;
    for old in olds {
        for data in &contents {
            for case in CASES {
                for is_append in [false, true] {
                    let (whole, version) = workspace(old);
                    let (fs, options) = (whole.fs(), options_of(case, old, version.as_ref()));
                    let bytes = data.clone().into();
                    let outcome = match is_append {
                        true => now(fs.append(&at(PATH), bytes, &options)),
                        false => now(fs.write(&at(PATH), bytes, &options)),
                    };
                    let expected = seen(&whole, &outcome);

                    let (stream, version) = workspace(old);
                    let (fs, options) = (stream.fs(), options_of(case, old, version.as_ref()));
                    let mut reader = data.as_slice();
                    let outcome = match is_append {
                        true => fs.append_from(&at(PATH), &mut reader, &options),
                        false => fs.write_from(&at(PATH), &mut reader, &options),
                    };
                    let found = seen(&stream, &outcome);
                    let name = format!("{case} append {is_append} {old:?} {data:?}");
                    assert_eq!(found, expected, "{name}");
                    n_blobs += usize::from(outcome.is_ok_and(|done| done.size > LIMIT as u64));
                }
            }
        }
    }
    assert!(n_blobs > 200, "{n_blobs}");
}

/// A reader that calls a function before it gives the bytes after the first `n_first`.
struct Interrupted<'a, F> {
    data: &'a [u8],
    n_first: usize,
    interrupt: Option<F>,
}

impl<F: FnOnce()> Read for Interrupted<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.n_first == 0
            && let Some(interrupt) = self.interrupt.take()
        {
            interrupt();
        }
        let most = if self.n_first > 0 { self.n_first } else { buffer.len() };
        let n_read = most.min(buffer.len());
        let n_read = self.data.read(&mut buffer[..n_read])?;
        self.n_first = self.n_first.saturating_sub(n_read);
        Ok(n_read)
    }
}

/// Appends from a reader to a file that another call changes after the old content was read.
fn append_while(old: Option<&[u8]>, data: &[u8], change: impl FnOnce(&WorkspaceFs)) -> Vec<u8> {
    let (workspace, _) = workspace(old);
    let fs = workspace.fs();
    let interrupt = Some(|| change(&fs));
    let mut reader = Interrupted { data, n_first: LIMIT + 1, interrupt };
    fs.append_from(&at(PATH), &mut reader, &WriteOptions::default()).expect("appended");
    assert!(reader.interrupt.is_none());
    read(&workspace)
}

#[test]
fn what_changed_while_a_stream_was_read_is_kept() {
    let options = WriteOptions::default;
    let (old, data) = ([0_u8; 100], [1_u8; 1000]);
    let written = |fs: &WorkspaceFs| {
        now(fs.write(&at(PATH), vec![2; 300].into(), &options())).expect("written");
    };
    let expected = [&[2_u8; 300][..], &data].concat();
    assert_eq!(append_while(Some(&old), &data, written), expected);
    // The file is made meanwhile.
    assert_eq!(append_while(None, &data, written), expected);
    let appended = |fs: &WorkspaceFs| {
        now(fs.append(&at(PATH), vec![2; 3].into(), &options())).expect("appended");
    };
    assert_eq!(append_while(Some(&old), &data, appended), [&old[..], &[2; 3], &data].concat());
    let removed = |fs: &WorkspaceFs| {
        now(fs.rm(&at(PATH), &yfs_vfs::RemoveOptions::default())).expect("removed");
    };
    assert_eq!(append_while(Some(&old), &data, removed), data);
    // The blob of the old content is removed as well, with all that nothing names.
    let purged = |fs: &WorkspaceFs| {
        written(fs);
        let store = fs.workspace().store().clone();
        let mark = store.blob_mark().expect("a mark");
        let kept = yfs_engine::hash::ContentHash::of(&[2; 300]);
        let removed = store.remove_blobs(mark, Millis(i64::MAX), &|hash| *hash == kept);
        assert_eq!(removed.expect("removed"), 100);
    };
    assert_eq!(append_while(Some(&old), &data, purged), expected);
}

#[test]
fn appends_of_several_handles_to_a_blob_all_take_effect_in_one_piece() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let store = Arc::new(SqliteStore::create_new(&file).expect("a store"));
    let first = Workspace::create(store, options()).expect("made");
    write(&first, &[0xFF; 200]);
    thread::scope(|scope| {
        for writer in 0..4_u8 {
            let file = &file;
            scope.spawn(move || {
                let workspace = Workspace::open_at(file, options()).expect("opened");
                for round in 0..5_u8 {
                    // Some of them are longer than a text, and come from a reader.
                    let len = if round % 2 == 0 { 100 } else { 10 };
                    let data = vec![writer * 16 + round; len];
                    let fs = workspace.fs();
                    let done =
                        fs.append_from(&at(PATH), &mut data.as_slice(), &WriteOptions::default());
                    done.expect("appended");
                }
                workspace.close().expect("closed");
            });
        }
    });
    let data = read(&first);
    assert_eq!(data[..200], [0xFF; 200]);
    let mut pieces: Vec<(u8, usize)> =
        data[200..].chunk_by(|a, b| a == b).map(|piece| (piece[0], piece.len())).collect();
    pieces.sort_unstable();
    let each = |writer: u8| {
        (0..5).map(move |round| (writer * 16 + round, if round % 2 == 0 { 100 } else { 10 }))
    };
    assert_eq!(pieces, (0..4).flat_map(each).collect::<Vec<_>>());
}

#[test]
fn what_would_be_refused_is_not_read_and_a_reader_that_fails_changes_nothing() {
    struct Unread;
    impl Read for Unread {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("the content was read")
        }
    }
    let (workspace, _) = workspace(Some(b"old"));
    let fs = workspace.fs();
    let refused = |path: &str, options: WriteOptions| {
        fs.write_from(&at(path), &mut Unread, &options).expect_err("refused").code
    };
    let default = WriteOptions::default;
    let new = WriteOptions { create: CreateMode::New, ..default() };
    assert_eq!(refused(PATH, new), FsCode::EEXIST);
    let never = WriteOptions { create: CreateMode::Never, ..default() };
    assert_eq!(refused("/missing", never), FsCode::ENOENT);
    let expected_version = Some(VersionToken::new("1-2"));
    assert_eq!(refused(PATH, WriteOptions { expected_version, ..default() }), FsCode::ESTALE);
    assert_eq!(refused("/dir", default()), FsCode::EISDIR);
    assert_eq!(refused("/dir/file/below", default()), FsCode::ENOTDIR);
    assert_eq!(refused("/a/b", WriteOptions { parents: false, ..default() }), FsCode::ENOENT);

    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
            buffer.fill(0);
            Ok(buffer.len())
        }
    }
    for n_reads in [0, 1, 5] {
        for is_append in [false, true] {
            let done = match is_append {
                true => fs.append_from(&at(PATH), &mut Broken(n_reads), &default()),
                false => fs.write_from(&at(PATH), &mut Broken(n_reads), &default()),
            };
            assert!(done.is_err());
            assert_eq!(read(&workspace), b"old");
        }
    }
}

/// A content that this store does not have cannot be appended to, and the call ends.
#[test]
fn an_append_to_a_blob_that_is_missing_fails_at_once() {
    let (workspace, _) = workspace(Some(&[0; 200]));
    let store = workspace.store();
    let mark = store.blob_mark().expect("a mark");
    assert_eq!(store.remove_blobs(mark, Millis(i64::MAX), &|_| false).expect("removed"), 200);
    for len in [10, 1000] {
        let data = vec![1; len];
        let options = WriteOptions::default();
        let done = workspace.fs().append_from(&at(PATH), &mut data.as_slice(), &options);
        assert_eq!(done.expect_err("refused").code, FsCode::EIO);
    }
}
