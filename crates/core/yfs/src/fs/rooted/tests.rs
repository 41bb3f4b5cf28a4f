//! A directory as a filesystem passes the public suite, and nothing leads out of it.

use std::sync::Arc;

use yfs_conformance::file_system::{self as conformance, BackendCapabilities};
use yfs_engine::path::VPath;
use yfs_store::MemoryStore;
use yfs_vfs::{
    ChangeKind, ChangesOptions, CopyOptions, FileSystem, FileSystemExt, FsCode, GlobQuery,
    GrepQuery, MkdirOptions, MoveOptions, RemoveOptions, WriteOptions,
};

use super::RootedFs;
use crate::{Workspace, WorkspaceFs, WorkspaceOptions};

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

async fn rooted(all: &WorkspaceFs, at: &str) -> RootedFs {
    all.mkdir(&path(at), &MkdirOptions::recursive()).await.unwrap();
    all.rooted_at(all.stat(&path(at)).await.unwrap().id)
}

fn workspace() -> WorkspaceFs {
    let store = Arc::new(MemoryStore::new());
    Workspace::create(store, WorkspaceOptions::default()).unwrap().fs()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_passes_the_suite() {
    let make = async || Arc::new(rooted(&workspace(), "/threads/a b").await) as Arc<dyn FileSystem>;
    let capabilities = BackendCapabilities { merges: true, ..BackendCapabilities::ALL };
    conformance::run(make, capabilities).await.assert();
}

#[tokio::test]
async fn links_begin_at_the_directory_and_tell_nothing_of_what_is_outside() {
    let all = workspace();
    let write = async |at: &str| {
        all.write(&path(at), "secret".into(), &WriteOptions::default()).await.unwrap();
    };
    write("/other/file").await;
    write("/in/other/inside").await;
    let fs = rooted(&all, "/in").await;
    let id = all.stat(&path("/other")).await.unwrap().id;
    let targets =
        ["/other/file", "../other/file", "../../../other/file", &format!("/.id/{id}/file")];
    for (number, target) in targets.iter().enumerate() {
        for (kind, way) in [("own", true), ("made by others", false)] {
            let at = path(&format!("/link {number} {kind}"));
            match way {
                true => fs.symlink(target, &at).await.unwrap(),
                false => all.symlink(target, &path("/in").join(&at.as_str()[1..])).await.unwrap(),
            }
            assert_eq!(fs.read(&at).await.unwrap_err().code, FsCode::ENOENT, "{target} {kind}");
            assert_eq!(fs.stat(&at).await.unwrap_err().code, FsCode::ENOENT, "{target} {kind}");
            assert_eq!(fs.readlink(&at).await.unwrap(), *target);
        }
    }
    // What exists outside and what does not give the same answer.
    fs.symlink("/other/none", &path("/missing")).await.unwrap();
    let missing = fs.read(&path("/missing")).await.unwrap_err();
    assert_eq!(missing.code, FsCode::ENOENT);
    // A write through a link creates its target inside.
    fs.write(&path("/link 0 own"), "mine".into(), &WriteOptions::default()).await.unwrap();
    assert_eq!(&fs.read(&path("/other/file")).await.unwrap().data[..], b"mine");
    assert_eq!(&all.read(&path("/other/file")).await.unwrap().data[..], b"secret");
    assert_eq!(fs.realpath(&path("/link 0 own")).await.unwrap(), path("/other/file"));
    // A recursive mkdir, and a copy of a directory onto a link, see the directory inside only.
    fs.symlink("/other", &path("/to other")).await.unwrap();
    fs.mkdir(&path("/to other"), &MkdirOptions::recursive()).await.unwrap();
    fs.mkdir(&path("/made/deep"), &MkdirOptions::recursive()).await.unwrap();
    let recursive = CopyOptions { recursive: true, ..CopyOptions::default() };
    fs.cp(&path("/made"), &path("/to other"), &recursive).await.unwrap();
    assert_eq!(all.readdir(&path("/other")).await.unwrap().len(), 1);
    assert!(fs.stat(&path("/other/deep")).await.unwrap().is_directory());
}

#[tokio::test]
async fn names_search_and_changes_end_at_the_directory() {
    let all = workspace();
    let write = async |at: &str| {
        all.write(&path(at), "needle".into(), &WriteOptions::default()).await.unwrap();
    };
    let fs = rooted(&all, "/in").await;
    let cursor = fs.cursor().await.unwrap();
    for at in ["/out/a", "/in/b", "/inner/c", "/in/d"] {
        write(at).await;
    }
    let id = all.stat(&path("/out/a")).await.unwrap().id;
    for outside in ["/out/a", "/../out/a", "/in/b", &format!("/.id/{id}")] {
        assert_eq!(fs.read(&path(outside)).await.unwrap_err().code, FsCode::ENOENT, "{outside}");
    }
    let found = fs.grep(&GrepQuery::literal("needle")).await.unwrap();
    let paths = |files: &mut dyn Iterator<Item = VPath>| files.map(|at| at.to_string()).collect();
    let grepped: Vec<String> = paths(&mut found.files.into_iter().map(|file| file.path));
    assert_eq!(grepped, ["/b", "/d"]);
    let found = fs.glob(&GlobQuery::new("**/*")).await.unwrap();
    let globbed: Vec<String> = paths(&mut found.entries.into_iter().map(|entry| entry.path));
    assert_eq!(globbed, ["/b", "/d"]);
    let moves = MoveOptions::default();
    all.mv(&path("/out/a"), &path("/in/a"), &moves).await.unwrap();
    all.mv(&path("/in/d"), &path("/out/d"), &moves).await.unwrap();
    let page = fs.changes(&cursor, &ChangesOptions::default()).await.unwrap();
    let events = page.events.iter().map(|event| match &event.kind {
        ChangeKind::Created => format!("+{}", event.path),
        ChangeKind::Removed => format!("-{}", event.path),
        other => format!("{other:?} {}", event.path),
    });
    assert_eq!(events.collect::<Vec<_>>(), ["+/b", "+/d", "+/a", "-/d"]);
}

#[tokio::test]
async fn the_directory_stays_and_hides_its_metadata() {
    let all = workspace();
    let fs = rooted(&all, "/in").await;
    let owner = serde_json::json!({ "owner": 1 });
    all.patch_metadata(&path("/in"), owner.as_object().unwrap()).unwrap();
    let root = VPath::root();
    let recursive = RemoveOptions { recursive: true, force: false };
    assert_eq!(fs.rm(&root, &recursive).await.unwrap_err().code, FsCode::EBUSY);
    let moved = fs.mv(&root, &path("/x"), &MoveOptions::default()).await;
    assert_eq!(moved.unwrap_err().code, FsCode::EBUSY);
    assert!(fs.stat(&root).await.unwrap().metadata.is_empty());
    fs.symlink("/", &path("/self")).await.unwrap();
    for at in ["/", "/self"] {
        let set = fs.set_metadata(&path(at), serde_json::Map::new()).await;
        assert_eq!(set.unwrap_err().code, FsCode::EPERM, "{at}");
        let patched = fs.patch_metadata(&path(at), &serde_json::Map::new());
        assert_eq!(patched.unwrap_err().code, FsCode::EPERM, "{at}");
    }
    assert_eq!(fs.directory_metadata().unwrap()["owner"], 1);
    // It is the same directory wherever it is, and another at its path is not.
    fs.write(&path("/file"), "x".into(), &WriteOptions::default()).await.unwrap();
    all.mv(&path("/in"), &path("/moved"), &MoveOptions::default()).await.unwrap();
    all.mkdir(&path("/in"), &MkdirOptions::default()).await.unwrap();
    assert_eq!(fs.readdir(&root).await.unwrap().len(), 2);
    all.rm(&path("/moved"), &recursive).await.unwrap();
    assert_eq!(fs.readdir(&root).await.unwrap_err().code, FsCode::ENOENT);
}

#[tokio::test]
async fn the_trash_of_a_directory_is_its_own() {
    let all = workspace();
    let (fs, other) = (rooted(&all, "/in").await, rooted(&all, "/other").await);
    for fs in [&fs, &other] {
        fs.write(&path("/d/file"), "x".into(), &WriteOptions::default()).await.unwrap();
        fs.rm(&path("/d/file"), &RemoveOptions::default()).await.unwrap();
    }
    let removed = fs.removed().unwrap();
    let [entry] = &removed[..] else { panic!("{removed:?}") };
    assert_eq!(entry.original, "/d/file");
    let foreign = &other.removed().unwrap()[0].id;
    assert!(fs.restore(foreign, None).is_err());
    assert!(fs.restore(foreign, Some(&path("/mine"))).is_err());
    fs.symlink("/../../other", &path("/out")).await.unwrap();
    assert!(fs.restore(&entry.id, Some(&path("/out/x"))).is_err());
    assert_eq!(fs.restore(&entry.id, Some(&path("/d/again"))).unwrap(), path("/d/again"));
    assert_eq!(other.removed().unwrap().len(), 1);
    // A file that was moved out before it was removed is not of the directory any more.
    all.mv(&path("/in/d/again"), &path("/kept"), &MoveOptions::default()).await.unwrap();
    all.rm(&path("/kept"), &RemoveOptions::default()).await.unwrap();
    assert!(fs.removed().unwrap().is_empty());
}

#[tokio::test]
async fn a_stream_is_written_whole() {
    let all = workspace();
    let fs = rooted(&all, "/in").await;
    let options = WriteOptions { mime: Some("video/mp4".into()), ..WriteOptions::default() };
    for size in [0, 10, 3 << 20, 40 << 20] {
        let data: Vec<u8> = (0..size).map(|at: u32| (at % 251) as u8).collect();
        for at in ["/new/deep", "/over"] {
            let at = path(&format!("{at} {size}"));
            if at.as_str().starts_with("/over") {
                fs.write(&at, "before".into(), &WriteOptions::default()).await.unwrap();
            }
            fs.write_from(&at, &mut data.as_slice(), &options).unwrap();
            assert!(fs.read(&at).await.unwrap().data == data, "{at}");
            assert_eq!(fs.stat(&at).await.unwrap().mime.unwrap(), "video/mp4");
        }
    }
    let too_high = fs.write_from(&VPath::root(), &mut [1_u8; 40 << 20].as_slice(), &options);
    assert_eq!(too_high.unwrap_err().code, FsCode::EISDIR);
}

#[tokio::test]
async fn a_copy_keeps_the_metadata_of_files_that_are_blobs() {
    let all = workspace();
    let custom = serde_json::json!({ "width": 1920 });
    let (mime, metadata) = (Some("image/jpeg".into()), custom.as_object().cloned());
    let options = WriteOptions { mime, metadata, ..WriteOptions::default() };
    all.write(&path("/photo"), vec![0xff, 0xd8, 0].into(), &options).await.unwrap();
    all.cp(&path("/photo"), &path("/copy"), &CopyOptions::default()).await.unwrap();
    let stat = all.stat(&path("/copy")).await.unwrap();
    assert_eq!(
        (stat.mime.as_deref(), stat.metadata.get("width")),
        (Some("image/jpeg"), Some(&1920.into()))
    );
}
