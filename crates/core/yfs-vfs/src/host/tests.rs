//! Locks and replacements of files, from inside.

mod locks;

use tempfile::TempDir;

use super::*;

fn room() -> (TempDir, Arc<dyn FileSystem>) {
    let dir = TempDir::new().unwrap();
    let fs = Arc::new(HostFs::open(dir.path()).unwrap());
    (dir, fs)
}
