//! The measured tree: files in directories of a hundred.

use std::path::Path;

use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, MoveOptions, WriteOptions};

use crate::measure::now;

/// The number of files in one directory.
pub(crate) const FILES_PER_DIRECTORY: usize = 100;

/// Returns the path of a file by its number.
pub(crate) fn path_of(at: usize) -> VPath {
    let directory = at / FILES_PER_DIRECTORY;
    VPath::parse(&format!("/data/directory-{directory:05}/file-{at:07}.txt")).expect("a path")
}

/// Returns `len` bytes of text in lines.
pub(crate) fn text(len: usize) -> String {
    const LINE: &str = "every seventh word of a line of text is about the weather at sea\n";
    LINE.chars().cycle().take(len).collect()
}

/// Ages a workspace: every file is edited once, and a tenth is renamed and renamed back, by the
/// writers of two processes in turn.
pub(crate) fn age(workspace: &Workspace, file: &Path, n_files: usize) {
    let other = Workspace::open_at(file, WorkspaceOptions::default()).expect("a second handle");
    let writers = [workspace.fs(), other.fs()];
    for at in 0..n_files {
        let fs = &writers[at % 2];
        now(fs.append(&path_of(at), "aged\n".into(), &WriteOptions::default())).expect("edited");
        if at % 10 == 0 {
            let (from, to) = (path_of(at), path_of(at).parent().expect("a directory").join("aged"));
            now(fs.mv(&from, &to, &MoveOptions::default())).expect("renamed");
            now(fs.mv(&to, &from, &MoveOptions::default())).expect("renamed back");
        }
    }
    other.close().expect("closed");
    workspace.flush().expect("flushed");
}
