//! Files that are too large for a text: import, comparison, streams and export.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, io::Write, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use futures::StreamExt;
use yfs::{
    DirectoryComparison, ExportOptions, ImportOptions, ImportReport, Workspace, WorkspaceOptions,
};
use yfs_engine::path::VPath;
use yfs_store::MemoryStore;
use yfs_vfs::{EditRefusal, FileSystem, FsCode, StreamOptions, TextReplacement, WriteOptions};

/// More than the longest text, and no multiple of any piece.
const LEN: usize = (8 << 20) + 12_345;

fn workspace() -> Workspace {
    Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap()
}

fn import(workspace: &Workspace, from: &Path) -> ImportReport {
    let options = ImportOptions { checksum: true, ..ImportOptions::default() };
    workspace.import(from, &VPath::root(), &options, &|_| ()).unwrap()
}

/// Writes text, so that only the length of the file makes it a blob.
fn write_large(path: &Path, last: u8) {
    let mut file = fs::File::create(path).unwrap();
    let line = b"a line of text in a large file\n".repeat(1 << 10);
    let mut left = LEN - 1;
    while left > 0 {
        let n = left.min(line.len());
        file.write_all(&line[..n]).unwrap();
        left -= n;
    }
    file.write_all(&[last]).unwrap();
}

#[test]
fn a_large_file_is_imported_compared_and_exported_piece_by_piece() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (on_disk, copy) = (from.path().join("log.txt"), to.path().join("log.txt"));
    write_large(&on_disk, b'a');
    fs::set_permissions(&on_disk, fs::Permissions::from_mode(0o440)).unwrap();
    let workspace = workspace();
    let report = import(&workspace, from.path());
    assert_eq!((report.n_created, report.n_bytes), (1, LEN as u64));
    assert_eq!(import(&workspace, from.path()).n_unchanged, 1);

    let export = |force| {
        let options = ExportOptions { force, ..ExportOptions::default() };
        workspace.export(&VPath::root(), to.path(), &options, &|_| ()).unwrap()
    };
    assert_eq!(export(false).n_written, 1);
    assert!(fs::read(&copy).unwrap() == fs::read(&on_disk).unwrap());
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o440);
    assert_eq!(export(false).n_unchanged, 1);

    // Another content of the same size, and then of another.
    fs::remove_file(&on_disk).unwrap();
    write_large(&on_disk, b'b');
    let options = ImportOptions { checksum: true, ..ImportOptions::default() };
    let found = DirectoryComparison::new(&workspace, from.path(), &options).unwrap();
    assert_eq!(found.differences.len(), 1);
    assert_eq!(import(&workspace, from.path()).n_updated, 1);
    assert_eq!(export(false).skipped.len(), 1, "it differs, and is not replaced");
    assert_eq!(export(true).n_written, 1);
    assert!(fs::read(&copy).unwrap() == fs::read(&on_disk).unwrap());
    fs::write(&on_disk, "short").unwrap();
    assert_eq!(import(&workspace, from.path()).n_updated, 1);
    write_large(&on_disk, b'c');
    assert_eq!(import(&workspace, from.path()).n_updated, 1);
    export(true);
    assert!(fs::read(&copy).unwrap() == fs::read(&on_disk).unwrap());
}

#[tokio::test]
async fn a_stream_gives_the_blob_that_was_there_when_it_was_opened() {
    let from = tempfile::tempdir().unwrap();
    let on_disk = from.path().join("log.txt");
    write_large(&on_disk, b'a');
    let first = fs::read(&on_disk).unwrap();
    let workspace = workspace();
    import(&workspace, from.path());
    let fs = workspace.fs();
    let options = StreamOptions { chunk_len: 1 << 20, ..StreamOptions::default() };
    let mut chunks = fs.read_stream(&VPath::parse("/log.txt").unwrap(), &options).await.unwrap();
    write_large(&on_disk, b'b');
    import(&workspace, from.path());
    let mut read: Vec<u8> = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.unwrap();
        assert_eq!((chunk.total_chunks, chunk.is_last), (9, chunk.index == 8));
        read.extend(&chunk.data);
    }
    assert!(read == first);
}

/// An edit of a large text was refused, because "the file is not UTF-8 text".
#[tokio::test]
async fn a_text_that_is_kept_as_bytes_is_edited() {
    let workspace = workspace();
    let (fs, path) = (workspace.fs(), VPath::root().join("log.txt"));
    let mut text = "a line of text in a large file\n".repeat(LEN / 30);
    text.push_str("the last line\n");
    let written = fs.write(&path, text.clone().into(), &WriteOptions::default()).await.unwrap();
    let edit = TextReplacement::once("the last", "the very last");
    assert_eq!(fs.edit(&path, &edit).await.unwrap().n_replaced, 1);
    let read = fs.read(&path).await.unwrap();
    assert!(read.data == text.replace("the last", "the very last").as_bytes());
    // The same refusals as for other texts.
    let again = fs.edit(&path, &edit).await.unwrap_err();
    assert_eq!(again.edit_refusal(), Some(&EditRefusal::NotFound));
    let stale = TextReplacement { expected_version: written.version, ..edit };
    let stale = TextReplacement { old: "very".into(), ..stale };
    assert_eq!(fs.edit(&path, &stale).await.unwrap_err().code, FsCode::ESTALE);
    fs.write(&path, vec![0, 255].into(), &WriteOptions::default()).await.unwrap();
    let refused = fs.edit(&path, &TextReplacement::once("a", "b")).await.unwrap_err();
    assert_eq!(refused.edit_refusal(), Some(&EditRefusal::NotText));
}
