//! Several writers that read a file, change it and write it back at the same time, in one process
//! and in two.

use std::thread;

use crate::support::handles::{at, cat, now, put, two_processes, until_equal};
use bytes::Bytes;
use yfs::Workspace;
use yfs_vfs::{FileContent, FileSystem, FsCode, FsError, VersionBase, WriteOptions};

/// How often each of the writers writes.
const ROUNDS: usize = 60;

fn read(workspace: &Workspace, path: &str) -> FileContent {
    now(workspace.fs().read(&at(path))).expect("read")
}

fn write(
    workspace: &Workspace,
    path: &str,
    data: Vec<u8>,
    base: VersionBase,
) -> Result<(), FsError> {
    let options = WriteOptions { base: Some(base), ..WriteOptions::default() };
    now(workspace.fs().write(&at(path), data.into(), &options)).map(drop)
}

/// Runs writers at the same time, two on each handle.
fn at_once(here: &Workspace, there: &Workspace, writer: impl Fn(&Workspace, usize) + Sync) {
    thread::scope(|scope| {
        for (number, workspace) in [here, there, here, there].into_iter().enumerate() {
            let writer = &writer;
            scope.spawn(move || writer(workspace, number));
        }
    });
}

fn marks() -> impl Iterator<Item = String> {
    (0..4).flat_map(|writer| (0..ROUNDS).map(move |round| format!("({writer}.{round})")))
}

#[test]
fn texts_written_from_a_base_keep_what_came_between() {
    keeps_what_came_between("/a.txt", "0\n1\n2\n3\n");
}

#[test]
fn rich_texts_written_from_a_base_keep_what_came_between() {
    keeps_what_came_between("/a.md", "0\n\n1\n\n2\n\n3\n");
}

/// Checks that concurrent edits are kept; each of four writers has a line of its own.
fn keeps_what_came_between(path: &str, lines: &str) {
    let (here, there, _dir) = two_processes();
    put(&here, path, lines);
    until_equal(&here, &there, &[path]);
    at_once(&here, &there, |workspace, writer| {
        for round in 0..ROUNDS {
            let before = read(workspace, path);
            let text = String::from_utf8(before.data.to_vec()).expect("text");
            let own = format!("{writer}");
            let line = |line: &str| match line.starts_with(&own) {
                true => format!("{line}({writer}.{round})\n"),
                false => format!("{line}\n"),
            };
            let text: String = text.lines().map(line).collect();
            write(workspace, path, text.into(), VersionBase::Version(before.version))
                .expect("merged");
        }
    });
    until_equal(&here, &there, &[path]);
    let text = cat(&here, path);
    for mark in marks() {
        assert_eq!(text.matches(&mark).count(), 1, "{mark} in {text}");
    }
}

#[test]
fn bytes_written_from_a_base_overwrite_nothing_that_was_not_seen() {
    let (here, there, _dir) = two_processes();
    let bytes = Bytes::from_static(b"\xff");
    now(here.fs().write(&at("/a.bin"), bytes, &WriteOptions::default())).expect("written");
    until_equal(&here, &there, &["/a.bin"]);
    at_once(&here, &there, |workspace, writer| {
        for round in 0..ROUNDS {
            loop {
                let before = read(workspace, "/a.bin");
                let mark = format!("({writer}.{round})");
                let after = [&before.data[..], mark.as_bytes()].concat();
                match write(workspace, "/a.bin", after, VersionBase::Version(before.version)) {
                    Ok(()) => break,
                    Err(error) => assert_eq!(error.code, FsCode::ESTALE),
                }
            }
        }
    });
    until_equal(&here, &there, &["/a.bin"]);
    let data = read(&here, "/a.bin").data;
    let text = String::from_utf8_lossy(&data);
    for mark in marks() {
        assert_eq!(text.matches(&mark).count(), 1, "{mark} in {text}");
    }
}
