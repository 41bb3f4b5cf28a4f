//! A filesystem that only reads.

use std::sync::Arc;

use yfs_conformance::file_system::script;
use yfs_vfs::{FileSystem, MemoryFs, ReadOnlyFs};

#[tokio::test]
async fn reads_pass_and_writes_do_not() {
    let inner: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    script::check(&inner, "write /d/f hello\nln d /l").await.unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(ReadOnlyFs::wrap(inner));
    let script = "
        cat /l/f => hello
        range /d/f 1 2 => el
        lines /d/f 0 1 => hello next end of 1
        stream /d/f 9 => 1/1:hello!
        stat /d => directory 0
        ls / => d/ l@
        realpath /l => /d
        walk / => /d/ /d/f /l@
        glob f => /d/f
        grep hello => /d/f:1:hello
        totals / => 1 1 5
        write /d/f x !! EROFS
        write /new x !! EROFS
        append /d/f x !! EROFS
        edit /d/f hello x !! EROFS
        mkdir /e !! EROFS
        rm /d/f !! EROFS
        rm -r -f /none !! EROFS
        cp /d/f /g !! EROFS
        mv /d /e !! EROFS
        ln x /m !! EROFS
        link /d/f /m !! EROFS
        utimes 1 /d/f !! EROFS
        chmod 600 /d/f !! EROFS";
    script::check(&fs, script).await.unwrap();
    let error = fs.mv(&"/a".parse().unwrap(), &"/b".parse().unwrap(), &Default::default()).await;
    let shown = error.unwrap_err().to_string();
    assert_eq!(shown, "EROFS: read-only file system, rename '/a' -> '/b'");
}
