//! Cases that a script cannot express: bytes, errors, streams, metadata, watching.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;
use yfs_types::path::VPath;

use super::{
    CaseFailure,
    CaseRequirement::{self, Metadata, Watch},
    Run,
};
use yfs_vfs::{
    FileSystem, FileSystemExt,
    changes::{ChangeCursor, ChangeKind, FileChange},
    edit::{EditRefusal, TextReplacement},
    error::{FsCode, Op},
    grep::GrepQuery,
    options::{ChangesOptions, CopyOptions, MoveOptions, StreamOptions, WriteOptions},
    stat::mime_of,
    watch,
};

type Fs = Arc<dyn FileSystem>;
type Outcome = Result<(), CaseFailure>;

/// A case in Rust: its name, its requirements, and the test.
pub(super) type Native = (&'static str, &'static [CaseRequirement], Run);

pub(super) const CASES: &[Native] = &[
    ("bytes that are no text are kept", &[], |fs| binary(fs).boxed()),
    ("megabytes are kept", &[], |fs| megabytes(fs).boxed()),
    ("errors say code, operation and paths", &[], |fs| errors(fs).boxed()),
    ("refused edits say why", &[], |fs| refused_edits(fs).boxed()),
    ("stream ends when cancelled", &[], |fs| cancelled_stream(fs).boxed()),
    ("stream stays with its version", &[], |fs| stable_stream(fs).boxed()),
    ("read returns the version that stat shows", &[], |fs| versions(fs).boxed()),
    ("metadata and media type are kept", &[Metadata], |fs| metadata(fs).boxed()),
    ("ids and kinds agree between stat, readdir and walk", &[], |fs| agreement(fs).boxed()),
    ("write sets the time if requested", &[], |fs| times(fs).boxed()),
    ("grep can be cancelled and timed out", &[], |fs| stopped_grep(fs).boxed()),
    ("changes are reported in order", &[Watch], |fs| changes(fs).boxed()),
    ("changes come in pages", &[Watch], |fs| pages(fs).boxed()),
    ("cursor from elsewhere is lost", &[Watch], |fs| lost_cursor(fs).boxed()),
    ("waiting for changes ends when one comes", &[Watch], |fs| waiting(fs).boxed()),
    ("watching is a stream of changes", &[Watch], |fs| watching(fs).boxed()),
    ("convenience does what it says", &[], |fs| convenience(fs).boxed()),
];

pub(super) fn path(text: &str) -> Result<VPath, CaseFailure> {
    VPath::parse(text).map_err(|error| CaseFailure(error.to_string()))
}

pub(super) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(CaseFailure(why())) }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    ensure(found == expected, || format!("{what} is {found:?} and not {expected:?}"))
}

async fn put(fs: &Fs, at: &str, text: &str) -> Outcome {
    fs.write_text(&path(at)?, text).await?;
    Ok(())
}

async fn binary(fs: Fs) -> Outcome {
    let all: Vec<u8> = (0..=255).collect();
    let file = path("/bytes")?;
    fs.write(&file, Bytes::from(all.clone()), &WriteOptions::default()).await?;
    same("content", fs.read(&file).await?.data.to_vec(), all.clone())?;
    fs.append(&file, Bytes::from_static(b"\xFF\xFE"), &WriteOptions::default()).await?;
    let longer = [&all[..], b"\xFF\xFE"].concat();
    same("content", fs.read(&file).await?.data.to_vec(), longer.clone())?;
    same("size", fs.stat(&file).await?.size, longer.len() as u64)?;
    fs.cp(&file, &path("/copy")?, &CopyOptions::default()).await?;
    same("copy", fs.read(&path("/copy")?).await?.data.to_vec(), longer)?;
    let refused = fs.edit(&file, &TextReplacement::once("a", "b")).await.err();
    let why = refused.as_ref().and_then(|error| error.edit_refusal());
    same("refusal", why, Some(&EditRefusal::NotText))?;
    // A file can change from text to bytes and back.
    put(&fs, "/bytes", "text").await?;
    same("content", fs.read_to_string(&file).await?, "text".to_owned())?;
    fs.write(&file, Bytes::from(all.clone()), &WriteOptions::default()).await?;
    same("content", fs.read(&file).await?.data.to_vec(), all)
}

async fn megabytes(fs: Fs) -> Outcome {
    let file = path("/large")?;
    let data: Vec<u8> =
        (0..3_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs.write(&file, Bytes::from(data.clone()), &WriteOptions::default()).await?;
    ensure(fs.read(&file).await?.data == data, || "content differs".to_owned())?;
    ensure(fs.read_range(&file, 1_999_999, 1_000).await? == data[1_999_999..2_000_999], || {
        "range differs".to_owned()
    })?;
    let mut stream = fs.read_stream(&file, &StreamOptions::default()).await?;
    let mut streamed = Vec::new();
    let mut index = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        same("index", chunk.index, index)?;
        streamed.extend_from_slice(&chunk.data);
        index += 1;
        same("is_last", chunk.is_last, index == chunk.total_chunks)?;
    }
    ensure(streamed == data, || "stream differs".to_owned())
}

async fn errors(fs: Fs) -> Outcome {
    let (a, b) = (path("/a")?, path("/d/b")?);
    let error = fs.read(&a).await.err();
    let shown = error.as_ref().map(ToString::to_string);
    let expected = "ENOENT: no such file or directory, open '/a'";
    same("message", shown, Some(expected.to_owned()))?;
    let error = fs.mv(&a, &b, &MoveOptions::default()).await.err();
    let shown = error.as_ref().map(ToString::to_string);
    let expected = "ENOENT: no such file or directory, rename '/a' -> '/d/b'";
    same("message", shown, Some(expected.to_owned()))?;
    let ops = [
        (fs.stat(&a).await.err(), Op::Stat),
        (fs.lstat(&a).await.err(), Op::Lstat),
        (fs.readdir(&a).await.err(), Op::Scandir),
        (fs.rm(&a, &Default::default()).await.err(), Op::Rm),
        (fs.mkdir(&path("/x/y")?, &Default::default()).await.err(), Op::Mkdir),
        (fs.cp(&a, &b, &CopyOptions::default()).await.err(), Op::Cp),
        (fs.realpath(&a).await.err(), Op::Realpath),
        (fs.readlink(&a).await.err(), Op::Readlink),
        (fs.edit(&a, &TextReplacement::once("x", "y")).await.err(), Op::Edit),
        (fs.walk(&a, &Default::default()).await.err(), Op::Walk),
        (fs.totals(&a).await.err(), Op::Totals),
        (fs.grep(&GrepQuery { root: a.clone(), ..GrepQuery::new("x") }).await.err(), Op::Grep),
    ];
    for (error, op) in ops {
        let error = error.ok_or_else(|| CaseFailure(format!("{op} of nothing succeeded")))?;
        same("code", error.code, FsCode::ENOENT)?;
        same("operation", error.op, op)?;
        same("path has a path", error.path.is_some(), true)?;
    }
    Ok(())
}

async fn refused_edits(fs: Fs) -> Outcome {
    let file = path("/a")?;
    put(&fs, "/a", "one\ntwo\none\n").await?;
    let cases = [
        ("one", EditRefusal::Ambiguous { n_found: 2, lines: vec![1, 3] }),
        ("three", EditRefusal::NotFound),
        ("", EditRefusal::EmptyOld),
    ];
    for (old, expected) in cases {
        let error = fs.edit(&file, &TextReplacement::once(old, "x")).await.err();
        let refusal = error.as_ref().and_then(|error| error.edit_refusal());
        same("refusal", refusal, Some(&expected))?;
    }
    let edited = fs.edit(&file, &TextReplacement::all("one", "1")).await?;
    same("replaced", edited.n_replaced, 2)?;
    same("version of an unconditional edit", edited.version, None)?;
    let expected_version = fs.stat(&file).await?.version;
    let edited = fs
        .edit(&file, &TextReplacement { expected_version, ..TextReplacement::all("1", "one") })
        .await?;
    ensure(edited.version.is_some(), || "a conditional edit has no version".to_owned())?;
    same("version", edited.version, fs.stat(&file).await?.version)
}

async fn cancelled_stream(fs: Fs) -> Outcome {
    put(&fs, "/a", "0123456789").await?;
    let cancel = CancellationToken::new();
    let options = StreamOptions { chunk_len: 3, cancel: cancel.clone() };
    let mut stream = fs.read_stream(&path("/a")?, &options).await?;
    let first = stream.next().await.ok_or_else(|| CaseFailure("no chunk".to_owned()))??;
    cancel.cancel();
    let second = stream.next().await.map(|item| item.map_err(|error| error.code));
    same("what follows", second, Some(Err(FsCode::ECANCELED)))?;
    ensure(stream.next().await.is_none(), || "the stream goes on".to_owned())?;
    same("first chunk", &first.data[..], b"012")?;
    // With a token that is cancelled already, the stream yields no chunk.
    let code = match fs.read_stream(&path("/a")?, &options).await {
        Ok(mut stream) => stream.next().await.and_then(Result::err).map(|error| error.code),
        Err(error) => Some(error.code),
    };
    same("late stream", code, Some(FsCode::ECANCELED))
}

async fn stable_stream(fs: Fs) -> Outcome {
    put(&fs, "/a", "aaaaaaaaa").await?;
    let options = StreamOptions { chunk_len: 3, ..StreamOptions::default() };
    let mut stream = fs.read_stream(&path("/a")?, &options).await?;
    let mut seen = Vec::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => seen.extend_from_slice(&chunk.data),
            Err(error) => return same("error of the stream", error.code, FsCode::ESTALE),
        }
        put(&fs, "/a", "bbbbbbbbb").await?;
    }
    let pure = seen == b"aaaaaaaaa" || seen == b"bbbbbbbbb";
    ensure(pure, || format!("two versions in one stream: {}", String::from_utf8_lossy(&seen)))
}

async fn versions(fs: Fs) -> Outcome {
    let file = path("/a")?;
    let written = fs.write_text(&file, "one").await?;
    let stat = fs.stat(&file).await?;
    same("id", &written.id, &stat.id)?;
    same("size", written.size, 3)?;
    ensure(written.version.is_some(), || "a write has no version".to_owned())?;
    same("version", &written.version, &stat.version)?;
    same("version", &Some(fs.read(&file).await?.version), &written.version)?;
    same("version", &Some(fs.read_lines(&file, 0, 1).await?.version), &written.version)?;
    let appended = fs.append(&file, Bytes::from_static(b"two"), &WriteOptions::default()).await?;
    same("version of an unconditional append", &appended.version, &None)?;
    let before = fs.stat(&file).await?.version;
    let options = WriteOptions { expected_version: before.clone(), ..WriteOptions::default() };
    let conditional = fs.append(&file, Bytes::from_static(b""), &options).await?;
    ensure(conditional.version.is_some(), || "a conditional append has no version".to_owned())?;
    same("id", &appended.id, &written.id)?;
    same("size", appended.size, 6)?;
    ensure(before != written.version, || "append kept the version".to_owned())?;
    same("version", conditional.version, fs.stat(&file).await?.version)?;
    same("version of a directory", fs.stat(&VPath::root()).await?.version, None)
}

async fn metadata(fs: Fs) -> Outcome {
    let file = path("/a.png")?;
    let facts = serde_json::json!({ "width": 1920, "tags": ["x", null], "nested": { "a": true } });
    let facts = facts.as_object().cloned().unwrap_or_default();
    let options = WriteOptions {
        mime: Some("image/x-mine".into()),
        metadata: Some(facts.clone()),
        ..WriteOptions::default()
    };
    fs.write(&file, Bytes::from_static(b"\x89PNG"), &options).await?;
    let stat = fs.stat(&file).await?;
    same("metadata", &stat.metadata, &facts)?;
    same("media type", stat.mime.as_deref(), Some("image/x-mine"))?;
    put(&fs, "/a.png", "other").await?;
    same("metadata after a write", &fs.stat(&file).await?.metadata, &facts)?;
    fs.cp(&file, &path("/b")?, &CopyOptions::default()).await?;
    same("metadata of a copy", &fs.stat(&path("/b")?).await?.metadata, &facts)?;
    fs.mv(&file, &path("/c.png")?, &MoveOptions::default()).await?;
    let moved = fs.stat(&path("/c.png")?).await?;
    same("metadata after a move", &moved.metadata, &facts)?;
    fs.set_metadata(&path("/c.png")?, Default::default()).await?;
    let emptied = fs.stat(&path("/c.png")?).await?.metadata;
    ensure(emptied.is_empty(), || "metadata remains".to_owned())?;
    fs.mkdir_all(&path("/d")?).await?;
    fs.set_metadata(&path("/d")?, facts.clone()).await?;
    same("metadata of a directory", &fs.stat(&path("/d")?).await?.metadata, &facts)
}

async fn agreement(fs: Fs) -> Outcome {
    for at in ["/a", "/d/b", "/d/e/c"] {
        put(&fs, at, at).await?;
    }
    let mut ids = BTreeSet::new();
    for item in fs.walk(&VPath::root(), &Default::default()).await? {
        let stat = fs.lstat(&item.path).await?;
        let entry = &item.entry;
        same("id", &entry.id, &stat.id)?;
        same("kind", entry.kind, stat.kind)?;
        same("size", entry.size, stat.size)?;
        same("mode", entry.mode, stat.mode)?;
        same("mtime", entry.mtime, stat.mtime)?;
        same("name", Some(entry.name.as_str()), item.path.file_name())?;
        ensure(ids.insert(stat.id.clone()), || format!("{} has the id of another", item.path))?;
        if stat.is_file() {
            let mime = stat.mime.unwrap_or_default();
            same("media type", mime, mime_of(&entry.name))?;
        }
        let parent = item.path.parent().unwrap_or_else(VPath::root);
        let listed = fs.readdir(&parent).await?;
        ensure(listed.contains(entry), || format!("readdir and walk differ on {}", item.path))?;
    }
    same("objects", ids.len(), 5)
}

async fn times(fs: Fs) -> Outcome {
    let file = path("/a")?;
    let options =
        WriteOptions { mtime: Some(yfs_types::time::Millis(86_400_123)), ..Default::default() };
    fs.write(&file, Bytes::from_static(b"x"), &options).await?;
    same("time", fs.stat(&file).await?.mtime.0, 86_400_123)?;
    put(&fs, "/a", "y").await?;
    let later = fs.stat(&file).await?.mtime.0;
    ensure(later > 86_400_123, || "a write kept the old time".to_owned())
}

async fn stopped_grep(fs: Fs) -> Outcome {
    put(&fs, "/a", "x\n").await?;
    let query = GrepQuery::new("x");
    query.cancel.cancel();
    let found = fs.grep(&query).await?;
    same("cut", found.cut, Some(yfs_vfs::glob::SearchLimit::Cancelled))?;
    let query = GrepQuery { timeout: Some(Duration::ZERO), ..GrepQuery::new("x") };
    same("cut", fs.grep(&query).await?.cut, Some(yfs_vfs::glob::SearchLimit::Deadline))?;
    let query = GrepQuery { max_line_len: 3, ..GrepQuery::new("long") };
    put(&fs, "/b", "a long line\n").await?;
    let found = fs.grep(&query).await?;
    let line = found.files.first().and_then(|file| file.lines.first());
    let line = line.ok_or_else(|| CaseFailure("nothing found".to_owned()))?;
    ensure(line.cut && line.text.len() <= 3, || format!("not cut: {line:?}"))
}

/// Reads changes until one of the path `at` satisfies `is_expected`; some backends notice late, or
/// report more.
async fn expect_change(
    fs: &Fs,
    cursor: &mut ChangeCursor,
    at: &str,
    is_expected: fn(&ChangeKind) -> bool,
) -> Result<FileChange, CaseFailure> {
    let options = ChangesOptions { limit: 100, wait: Some(Duration::from_secs(5)) };
    loop {
        let changes = fs.changes(cursor, &options).await?;
        if changes.events.is_empty() {
            return Err(CaseFailure(format!("no such change of {at} was reported")));
        }
        *cursor = changes.next;
        let found = changes
            .events
            .into_iter()
            .find(|change| change.path.as_str() == at && is_expected(&change.kind));
        if let Some(change) = found {
            return Ok(change);
        }
    }
}

async fn changes(fs: Fs) -> Outcome {
    put(&fs, "/old", "before").await?;
    let mut cursor = fs.cursor().await?;
    let nothing = fs.changes(&cursor, &ChangesOptions::default()).await?;
    same("changes", nothing.events.len(), 0)?;
    same("more", nothing.more, false)?;

    put(&fs, "/a", "one").await?;
    let created =
        expect_change(&fs, &mut cursor, "/a", |kind| *kind == ChangeKind::Created).await?;
    let id = fs.stat(&path("/a")?).await?.id;
    same("id", &created.id, &id)?;

    put(&fs, "/a", "longer").await?;
    let changed =
        expect_change(&fs, &mut cursor, "/a", |kind| *kind == ChangeKind::Changed).await?;
    same("id", &changed.id, &fs.stat(&path("/a")?).await?.id)?;

    fs.mv(&path("/a")?, &path("/b")?, &MoveOptions::default()).await?;
    let moved =
        expect_change(&fs, &mut cursor, "/b", |kind| matches!(kind, ChangeKind::Moved { .. }))
            .await?;
    same("move", moved.kind, ChangeKind::Moved { from: path("/a")? })?;

    fs.rm_all(&path("/b")?).await?;
    let removed =
        expect_change(&fs, &mut cursor, "/b", |kind| *kind == ChangeKind::Removed).await?;
    same("id", removed.id, moved.id)
}

async fn pages(fs: Fs) -> Outcome {
    let mut cursor = fs.cursor().await?;
    for at in ["/a", "/b", "/c"] {
        put(&fs, at, at).await?;
    }
    let options = ChangesOptions { limit: 1, wait: None };
    let mut created = BTreeSet::new();
    loop {
        let page = fs.changes(&cursor, &options).await?;
        ensure(page.events.len() <= 1, || "more than was asked for".to_owned())?;
        cursor = page.next;
        let new = page.events.iter().filter(|change| change.kind == ChangeKind::Created);
        created.extend(new.map(|change| change.path.to_string()));
        if !page.more {
            break;
        }
    }
    same("created", created, ["/a", "/b", "/c"].map(str::to_owned).into())
}

async fn lost_cursor(fs: Fs) -> Outcome {
    let options = ChangesOptions::default();
    for text in ["", "nonsense", "0.18446744073709551615", "99999999999999.0"] {
        let error = fs.changes(&ChangeCursor::new(text), &options).await.err();
        let error = error.ok_or_else(|| CaseFailure(format!("cursor {text:?} was taken")))?;
        ensure(error.is_cursor_lost(), || format!("not a lost cursor: {error}"))?;
        same("code", error.code, FsCode::ESTALE)?;
    }
    Ok(())
}

async fn waiting(fs: Fs) -> Outcome {
    let cursor = fs.cursor().await?;
    let options = ChangesOptions { limit: 10, wait: Some(Duration::from_millis(1)) };
    same("changes", fs.changes(&cursor, &options).await?.events.len(), 0)?;
    let options = ChangesOptions { limit: 10, wait: Some(Duration::from_secs(30)) };
    let (changes, written) = futures::join!(fs.changes(&cursor, &options), async {
        tokio::task::yield_now().await;
        put(&fs, "/a", "x").await
    });
    written?;
    let events = changes?.events;
    ensure(events.iter().any(|event| event.path.as_str() == "/a"), || {
        format!("reported: {events:?}")
    })
}

async fn watching(fs: Fs) -> Outcome {
    let cursor = fs.cursor().await?;
    let mut stream = Box::pin(watch(fs.clone(), cursor));
    for at in ["/a", "/b"] {
        put(&fs, at, "x").await?;
        loop {
            let next = tokio::time::timeout(Duration::from_secs(10), stream.next()).await;
            let change =
                next.ok().flatten().ok_or_else(|| CaseFailure(format!("{at} not reported")))??;
            if change.path.as_str() == at {
                break;
            }
        }
    }
    let lost = Box::pin(watch(fs.clone(), ChangeCursor::new("nonsense"))).next().await;
    let lost = lost.and_then(Result::err).is_some_and(|error| error.is_cursor_lost());
    ensure(lost, || "a lost cursor was not reported".to_owned())
}

async fn convenience(fs: Fs) -> Outcome {
    let file = path("/d/a")?;
    same("nothing", fs.read_if_exists(&file).await?, None)?;
    same("exists", fs.exists(&file).await, false)?;
    fs.create_new(&file, Bytes::from_static(b"x")).await?;
    let code = fs.create_new(&file, Bytes::new()).await.err().map(|error| error.code);
    same("code", code, Some(FsCode::EEXIST))?;
    same("content", fs.read_if_exists(&file).await?, Some(Bytes::from_static(b"x")))?;
    same("text", fs.read_to_string(&file).await?, "x".to_owned())?;
    fs.write(&file, Bytes::from_static(b"\xFF"), &WriteOptions::default()).await?;
    let code = fs.read_to_string(&file).await.err().map(|error| error.code);
    same("code", code, Some(FsCode::EINVAL))?;
    fs.rm_all(&path("/d")?).await?;
    fs.rm_all(&path("/d")?).await?;
    same("exists", fs.exists(&file).await, false)
}
