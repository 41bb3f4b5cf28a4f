//! A snapshot of a filesystem.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use yfs_conformance::file_system::script;
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{
    FileSystem, FileSystemExt, FsCode, FsError, MemoryFs, Op, SnapshotContents, SnapshotFs,
    SnapshotNode, WalkOptions,
};

/// The contents of another filesystem, by path.
#[derive(Debug)]
struct Copied(HashMap<VPath, Bytes>);

impl SnapshotContents for Copied {
    fn read(&self, _: &FileId, path: &VPath) -> Result<Bytes, FsError> {
        self.0.get(path).cloned().ok_or_else(|| FsError::new(FsCode::EIO, Op::Read, path))
    }
}

async fn snapshot_of(fs: &Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
    let (mut nodes, mut contents) = (Vec::new(), HashMap::new());
    for found in fs.walk(&VPath::root(), &WalkOptions::default()).await.unwrap() {
        let stat = fs.lstat(&found.path).await.unwrap();
        let target = fs.readlink(&found.path).await.ok();
        if stat.is_file() {
            contents.insert(found.path.clone(), fs.read(&found.path).await.unwrap().data);
        }
        // A directory that is missing is added.
        if !stat.is_directory() || found.path.as_str() == "/empty" {
            let is_sized = found.path.as_str().len() % 2 == 0;
            nodes.push((found.path, SnapshotNode { stat, is_sized, target }));
        }
    }
    Arc::new(SnapshotFs::new(nodes, Copied(contents)))
}

#[tokio::test]
async fn a_snapshot_reads_like_what_it_was_taken_of() {
    let memory: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    let prepare = "
        write /d/e/f hello
        write /g.txt one
        mkdir /empty
        ln e/f /d/l
        ln d /dir
        ln ../g.txt /d/up
        ln loop /loop
        ln nowhere /broken";
    script::check(&memory, prepare).await.unwrap();
    let script = "
        cat /d/l => hello
        cat /dir/e/f => hello
        cat /dir/up => one
        cat /d/e/../../g.txt => one
        cat /d !! EISDIR
        cat /none !! ENOENT
        cat /g.txt/x !! ENOTDIR
        cat /loop !! ELOOP
        cat /broken !! ENOENT
        range /d/e/f 1 2 => el
        stat /d/l => file 5
        stat /empty => directory 0
        lstat /broken => symlink 7
        ls / => broken@ d/ dir@ empty/ g.txt loop@
        ls /empty =>
        ls /g.txt !! ENOTDIR
        readlink /d/l => e/f
        readlink /g.txt !! EINVAL
        realpath /dir/l => /d/e/f
        walk / => /broken@ /d/ /d/e/ /d/e/f /d/l@ /d/up@ /dir@ /empty/ /g.txt /loop@
        glob f => /d/e/f
        grep hello => /d/e/f:1:hello
        totals / => 2 3 8";
    script::check(&memory, script).await.unwrap();
    let snapshot = snapshot_of(&memory).await;
    script::check(&snapshot, script).await.unwrap();
    let refused = "
        write /new x !! EROFS
        append /g.txt x !! EROFS
        edit /g.txt one x !! EROFS
        mkdir /e !! EROFS
        rm /g.txt !! EROFS
        cp /g.txt /g !! EROFS
        mv /d /e !! EROFS
        ln x /m !! EROFS
        link /g.txt /m !! EROFS
        utimes 1 /g.txt !! EROFS
        chmod 600 /g.txt !! EROFS";
    script::check(&snapshot, refused).await.unwrap();
}
