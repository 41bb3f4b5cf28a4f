//! The calls of document 000, in Rust.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use serde_json::json;
use yfs::{Workspace, WorkspaceOptions};
use yfs_store::MemoryStore;
use yfs_threads::{
    ExternalFailure, ExternalFile, ExternalResolver, FileSearch, ThreadFileError, ThreadFiles,
    Threads,
};
use yfs_types::path::VPath;
use yfs_vfs::{FsCode, Metadata, StreamOptions, WriteOptions};

async fn files() -> ThreadFiles {
    let store = Arc::new(MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).unwrap();
    Threads::open(&workspace).thread("t").await.unwrap().files()
}

fn metadata(value: serde_json::Value) -> Option<Metadata> {
    value.as_object().cloned()
}

fn code<T>(result: Result<T, ThreadFileError>) -> FsCode {
    match result {
        Err(ThreadFileError::Fs(error)) => error.code,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("no error"),
    }
}

/// The beginning of a PNG of 1920 by 1080 pixels.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x07\x80\0\0\x04\x38\x08\x02\0\0\0";

#[tokio::test]
async fn a_record_says_what_the_writer_said_else_what_the_content_says() {
    let files = files().await;
    let record = files.write_file("/i/p.jpg", PNG.into(), None, None).await.unwrap();
    assert_eq!(record.path.as_str(), "/i/p.jpg");
    assert_eq!((record.name.as_str(), record.size), ("p.jpg", PNG.len() as u64));
    assert_eq!(record.mime_type, "image/png");
    assert_eq!((record.width, record.height), (Some(1920), Some(1080)));
    assert!(record.storage.starts_with("yfs:") && !record.is_directory);
    assert!(record.metadata.is_empty());
    let given = metadata(json!({ "width": 10, "alt": "a dog" }));
    let record = files.write_file("i/p.jpg", PNG.into(), Some("image/x-own"), given).await.unwrap();
    assert_eq!(record.mime_type, "image/x-own");
    assert_eq!((record.width, record.height), (Some(10), Some(1080)));
    assert_eq!(record.metadata["alt"], "a dog");
    assert_eq!(files.stat_file("/i/p.jpg").await.unwrap(), Some(record.clone()));
    // What is not named stays, and null removes.
    let patch = metadata(json!({ "width": null, "by": "me" })).unwrap();
    let record = files.patch_metadata("/i/p.jpg", &patch).await.unwrap();
    assert_eq!(json!(record.metadata), json!({ "alt": "a dog", "by": "me" }));
    assert_eq!(record.width, Some(1920));
    let record = files.write_file("/new", "x".into(), None, metadata(json!({ "a": null }))).await;
    assert!(record.unwrap().metadata.is_empty());
    let own = metadata(json!({ "yfs.external": { "url": "https://x" } }));
    let refused = files.write_file("/j", "x".into(), None, own).await;
    assert!(matches!(refused, Err(ThreadFileError::ReservedMember(_))));
    assert_eq!(files.stat_file("/j").await.unwrap(), None);
    let text = files.write_file("/README", "words".into(), None, None).await.unwrap();
    assert_eq!(text.mime_type, "text/plain");
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 16'/>";
    let svg = files.write_file("/logo.svg", svg.into(), None, None).await.unwrap();
    assert_eq!(
        (svg.mime_type.as_str(), svg.width, svg.height),
        ("image/svg+xml", Some(32), Some(16))
    );
}

#[tokio::test]
async fn directories() {
    let files = files().await;
    let made = files.mkdir_file("/documents/deep").await.unwrap();
    assert!(made.is_directory);
    files.mkdir_file("/documents").await.unwrap();
    files.write_file("/documents/a.txt", "x".into(), None, None).await.unwrap();
    let listed = files.readdir_file("/documents").await.unwrap();
    let shown: Vec<_> = listed.iter().map(|file| (file.name.as_str(), file.is_directory)).collect();
    assert_eq!(shown, [("a.txt", false), ("deep", true)]);
    assert_eq!(code(files.rmdir_file("/documents").await), FsCode::ENOTEMPTY);
    assert_eq!(code(files.rmdir_file("/documents/a.txt").await), FsCode::ENOTDIR);
    assert_eq!(code(files.unlink_file("/documents/deep").await), FsCode::EISDIR);
    assert_eq!(code(files.unlink_file("/none").await), FsCode::ENOENT);
    assert_eq!(code(files.readdir_file("/none").await), FsCode::ENOENT);
    assert_eq!(code(files.read_file("/documents").await), FsCode::EISDIR);
    files.rmdir_file("/documents/deep").await.unwrap();
    let moved = files.move_file("/documents/a.txt", "/new/b.txt").await.unwrap();
    assert_eq!(moved.path.as_str(), "/new/b.txt");
    files.write_file("/c.txt", "x".into(), None, None).await.unwrap();
    assert_eq!(code(files.move_file("/c.txt", "/new/b.txt").await), FsCode::EEXIST);
    files.unlink_file("/new/b.txt").await.unwrap();
    let stats = files.file_stats().await.unwrap();
    assert_eq!((stats.n_files, stats.n_directories, stats.n_bytes), (1, 2, 1));
}

#[tokio::test]
async fn searches() {
    let files = files().await;
    for (at, data) in [("/a.json", "{\n error-code: 1\n}"), ("/d/b.json", "no"), ("/.h", "ERROR x")]
    {
        files.write_file(at, data.into(), None, None).await.unwrap();
    }
    // What is a query elsewhere is text here.
    let found = files.grep_files("error-code", &FileSearch::default()).await.unwrap();
    let yfs_vfs::GrepResult { files: found, n_binary, .. } = found;
    assert_eq!((found.len(), n_binary), (1, 0));
    assert_eq!((found[0].path.as_str(), found[0].lines[0].number), ("/a.json", 2));
    assert_eq!(found[0].lines[0].text, " error-code: 1");
    let search = FileSearch { regex: true, ignore_case: true, ..FileSearch::default() };
    assert_eq!(files.grep_files("^ ?error", &search).await.unwrap().files.len(), 2);
    assert!(files.grep_files("(", &search).await.is_err());
    assert_eq!(files.find_files("**/*.json").await.unwrap(), ["/a.json", "/d/b.json"]);
    assert_eq!(files.find_files("*.json").await.unwrap(), ["/a.json"]);
    assert_eq!(files.find_files("/d/[a-c].{json,txt}").await.unwrap(), ["/d/b.json"]);
    assert!(files.find_files("d_b%").await.unwrap().is_empty());
    assert_eq!(files.find_files(".*").await.unwrap(), ["/.h"]);
}

#[tokio::test]
async fn streams_are_in_order_and_end_when_they_are_cancelled() {
    let files = files().await;
    assert!(files.read_file_stream("/none", &StreamOptions::default()).await.unwrap().is_none());
    files.write_file("/small", "x".into(), None, None).await.unwrap();
    files.write_file("/empty", "".into(), None, None).await.unwrap();
    let large: Vec<u8> = (0..1_000_000).map(|at: u32| (at % 253) as u8).collect();
    files.write_file("/large", large.clone().into(), None, None).await.unwrap();
    for (at, n_chunks) in [("/small", 1), ("/empty", 1), ("/large", 4)] {
        let options = StreamOptions::default();
        let stream = files.read_file_stream(at, &options).await.unwrap().unwrap();
        let chunks: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert_eq!(chunks.len() as u64, n_chunks, "{at}");
        for (index, chunk) in (0..).zip(&chunks) {
            assert_eq!((chunk.index, chunk.total_chunks), (index, n_chunks));
            assert_eq!(chunk.is_last, index + 1 == n_chunks);
        }
        let data: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect();
        assert!(data == files.read_file(at).await.unwrap().unwrap());
    }
    let options = StreamOptions::default();
    let mut stream = files.read_file_stream("/large", &options).await.unwrap().unwrap();
    let first = stream.next().await.unwrap().unwrap();
    options.cancel.cancel();
    assert_eq!(stream.next().await.unwrap().unwrap_err().code, FsCode::ECANCELED);
    assert!(stream.next().await.is_none());
    assert_eq!(first.data[..], large[..first.data.len()]);
}

#[tokio::test]
async fn an_upload_is_streamed() {
    let files = files().await;
    let data: Vec<u8> = (0..40_000_000).map(|at: u32| (at % 251) as u8).collect();
    let given = metadata(json!({ "from": "camera" }));
    let mut reader = data.as_slice();
    let record = files.write_file_from("/v/a.mp4", &mut reader, None, given).await.unwrap();
    assert_eq!((record.size, record.mime_type.as_str()), (40_000_000, "video/mp4"));
    assert_eq!(record.metadata["from"], "camera");
    let record = files.write_file_from("/v/a.mp4", &mut &b"text"[..], Some("text/x"), None).await;
    let record = record.unwrap();
    assert_eq!((record.size, record.mime_type.as_str()), (4, "text/x"));
    assert_eq!(record.metadata["from"], "camera");
}

/// A resolver that answers with fixed bytes.
#[derive(Debug)]
struct FixedResolver(&'static [u8]);

#[async_trait]
impl ExternalResolver for FixedResolver {
    async fn fetch(
        &self,
        _: &str,
        _: u64,
    ) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
        match self.0 {
            b"" => Err("offline".into()),
            data => Ok(Bytes::from_static(data)),
        }
    }
}

#[tokio::test]
async fn external_files_are_entries_and_are_checked_when_they_are_fetched() {
    let files = files().await;
    let external = ExternalFile {
        size: Some(5),
        hash: Some(format!("blake3:{}", blake3::hash(b"hello"))),
        ..ExternalFile::at("s3://bucket/key.bin")
    };
    let record = files.link_file("/x/key.bin", &external, None, None).await.unwrap();
    assert_eq!((record.storage.as_str(), record.size), ("s3://bucket/key.bin", 5));
    assert!(record.is_external() && record.metadata.is_empty());
    assert_eq!(files.read_file("/x/key.bin").await.unwrap(), None);
    assert!(files.read_file_stream("/x/key.bin", &Default::default()).await.unwrap().is_none());
    assert_eq!(files.file_stats().await.unwrap().n_bytes, 5);
    assert_eq!(code(files.link_file("/x/key.bin", &external, None, None).await), FsCode::EEXIST);
    let fetch = async |data| files.fetch_external("/x/key.bin", &FixedResolver(data)).await;
    assert_eq!(fetch(b"hello").await.unwrap(), "hello");
    let failure = async |data| match fetch(data).await {
        Err(ThreadFileError::External(failure)) => failure,
        other => panic!("{other:?}"),
    };
    assert!(matches!(failure(b"hello!").await, ExternalFailure::Size { actual: 6, .. }));
    assert!(matches!(failure(b"HELLO").await, ExternalFailure::Hash { .. }));
    assert!(matches!(failure(b"").await, ExternalFailure::Fetch { .. }));
    for bad in
        ["file:///etc/passwd", "javascript://x", "https:/x", "s3://", "ftp://x", "https://a b"]
    {
        let linked = files.link_file("/bad", &ExternalFile::at(bad), None, None).await;
        assert!(matches!(linked, Err(ThreadFileError::BadExternal(_))), "{bad}");
    }
    let sha = ExternalFile { hash: Some("md5:00".into()), ..ExternalFile::at("https://a/b") };
    assert!(files.link_file("/bad", &sha, None, None).await.is_err());
    assert_eq!(files.stat_file("/bad").await.unwrap(), None);
    // What another program writes to the entry is a content like any other.
    let fs = files.thread().fs();
    let at = VPath::parse("/x/key.bin").unwrap();
    fs.write(&at, "here".into(), &WriteOptions::default()).await.unwrap();
    let record = files.stat_file("/x/key.bin").await.unwrap().unwrap();
    assert!(!record.is_external());
    assert_eq!(files.read_file("/x/key.bin").await.unwrap().unwrap(), "here");
    // A write through these calls makes it a file for good.
    files.write_file("/x/key.bin", "".into(), None, None).await.unwrap();
    assert!(!files.stat_file("/x/key.bin").await.unwrap().unwrap().is_external());
    let result = files.fetch_external("/x/key.bin", &FixedResolver(b"x")).await;
    assert!(matches!(result, Err(ThreadFileError::NotExternal(_))));
}
