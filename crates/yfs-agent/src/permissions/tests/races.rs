//! Links that are swapped between the check and the use of a path.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use yfs::{Workspace, WorkspaceOptions};
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, HostFs, MemoryFs, MoveOptions, RemoveOptions};

use super::permitted;

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

/// A handle that follows no link does not reach through one, wherever it is on the path.
#[tokio::test]
async fn handles_without_links_do_not_follow() {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let backends: [Arc<dyn FileSystem>; 3] = [
        Arc::new(MemoryFs::new()),
        Arc::new(workspace.fs()),
        Arc::new(HostFs::open(directory.path()).expect("the directory exists")),
    ];
    for fs in backends {
        let tree = "write /d/f x\nln d /l\nln /d/f /k\nln /d/new /n\nmkdir /e";
        yfs_vfs::conformance::script::check(&fs, tree).await.unwrap();
        let handle = fs.without_links().expect("the backend has such a handle");
        let script = "
            cat /d/f => x
            cat /l/f !! ELOOP
            cat /k !! ELOOP
            stat /k !! ELOOP
            ls /l !! ELOOP
            write /l/f y !! ELOOP
            write /l/g y !! ELOOP
            write /k y !! ELOOP
            write /n y !! ELOOP
            append /k y !! ELOOP
            edit /k x y !! ELOOP
            chmod 600 /k !! ELOOP
            utimes 5 /l !! ELOOP
            mkdir /l/m !! ELOOP
            rm /l/f !! ELOOP
            mv /l/f /e/f !! ELOOP
            mv /d/f /l/g !! ELOOP
            cp /l/f /e/f !! ELOOP
            cp /d/f /l/g !! ELOOP
            ln x /l/m !! ELOOP
            readlink /k => /d/f
            rm /k
            mv /n /e/n
            cp /l /e/l
            write /d/g y
            cat /d/g => y";
        yfs_vfs::conformance::script::check(&handle, script).await.unwrap();
    }
}

/// One task swaps a directory for a link to the secret as fast as it can while others read and
/// write through it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_swapped_link_does_not_win() {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let backends: [Arc<dyn FileSystem>; 3] = [
        Arc::new(MemoryFs::new()),
        Arc::new(workspace.fs()),
        Arc::new(HostFs::open(directory.path()).expect("the directory exists")),
    ];
    for inner in backends {
        inner.write_text(&parse("/secret/f"), "SECRET").await.unwrap();
        inner.write_text(&parse("/pub/d/f"), "public").await.unwrap();
        let fs = permitted(inner.clone(), "deny rw /secret/**");
        let done = Arc::new(AtomicBool::new(false));
        // The swapper is another writer: it works on the backend, behind no lock of the session.
        let swapper = tokio::spawn({
            let (inner, done) = (inner.clone(), done.clone());
            async move {
                while !done.load(Ordering::Relaxed) {
                    let [own, aside] = [parse("/pub/d"), parse("/pub/aside")];
                    inner.mv(&own, &aside, &MoveOptions::default()).await.unwrap();
                    inner.symlink("/secret", &own).await.unwrap();
                    tokio::task::yield_now().await;
                    inner.rm(&own, &RemoveOptions::default()).await.unwrap();
                    inner.mv(&aside, &own, &MoveOptions::default()).await.unwrap();
                    tokio::task::yield_now().await;
                }
            }
        });
        for _ in 0..400 {
            if let Ok(text) = fs.read_to_string(&parse("/pub/d/f")).await {
                assert_eq!(text, "public");
            }
            // Without parents, so that it does not come in the way of the swapper.
            let options = yfs_vfs::WriteOptions { parents: false, ..Default::default() };
            let written = fs.write(&parse("/pub/d/f"), "public".into(), &options).await;
            drop(written);
        }
        done.store(true, Ordering::Relaxed);
        swapper.await.unwrap();
        // How many reads came through before depends on the scheduler; this one does not.
        assert_eq!(fs.read_to_string(&parse("/pub/d/f")).await.unwrap(), "public");
        assert_eq!(inner.read_to_string(&parse("/secret/f")).await.unwrap(), "SECRET");
    }
}

/// Objects that other sessions move stay bound if they were bound before.
#[tokio::test]
async fn objects_bound_at_the_start_stay_bound() {
    let inner: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    inner.write_text(&parse("/secret/f"), "SECRET").await.unwrap();
    let fs = permitted(inner.clone(), "deny r /secret/**");
    fs.bind_restricted().await.unwrap();
    inner.mv(&parse("/secret/f"), &parse("/pub/f"), &MoveOptions::default()).await.unwrap();
    assert!(fs.read(&parse("/pub/f")).await.is_err());
    assert!(fs.readdir(&parse("/pub")).await.unwrap().is_empty());
}

/// A workspace finds every object by its id, too.
#[tokio::test]
async fn the_second_path_of_an_object_is_no_way_around_a_rule() {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let inner: Arc<dyn FileSystem> = Arc::new(workspace.fs());
    inner.write_text(&parse("/secret/f"), "SECRET").await.unwrap();
    inner.write_text(&parse("/pub/f"), "public").await.unwrap();
    let id = async |path: &str| inner.stat(&parse(path)).await.unwrap().id;
    let (file, directory, public) =
        (id("/secret/f").await, id("/secret").await, id("/pub/f").await);
    let by_id = parse(&format!("/.id/{file}"));
    assert_eq!(inner.read_to_string(&by_id).await.unwrap(), "SECRET");
    let fs = permitted(inner.clone(), "deny rw /secret/**");
    for path in
        [by_id, parse(&format!("/.id/{directory}/f")), parse(&format!("/.id/{directory}/g"))]
    {
        assert!(fs.read(&path).await.is_err(), "{path}");
        assert!(fs.stat(&path).await.is_err(), "{path}");
        assert!(fs.write_text(&path, "HACKED").await.is_err(), "{path}");
        assert!(fs.append(&path, "HACKED".into(), &Default::default()).await.is_err(), "{path}");
        assert!(fs.mv(&path, &parse("/pub/x"), &MoveOptions::default()).await.is_err(), "{path}");
        assert!(fs.rm(&path, &RemoveOptions::default()).await.is_err(), "{path}");
        fs.symlink(path.as_str(), &parse("/pub/link")).await.unwrap();
        assert!(fs.read(&parse("/pub/link")).await.is_err(), "{path}");
        fs.rm(&parse("/pub/link"), &RemoveOptions::default()).await.unwrap();
    }
    let listed = fs.readdir(&parse(&format!("/.id/{directory}"))).await;
    assert!(listed.is_ok_and(|entries| entries.is_empty()));
    let text = fs.read_to_string(&parse(&format!("/.id/{public}"))).await;
    assert_eq!(text.unwrap(), "public");
    assert_eq!(inner.read_to_string(&parse("/secret/f")).await.unwrap(), "SECRET");
    assert!(!inner.exists(&parse("/secret/g")).await);
}
