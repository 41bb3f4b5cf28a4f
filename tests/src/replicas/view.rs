//! What a replica shows of its tree, and what must be true of that at any time.

use std::collections::{BTreeMap, BTreeSet};

use yfs::Workspace;
use yfs_engine::{id::FileId, path::VPath};
use yfs_store::DocName;
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, FsCode, WalkOptions};

use crate::script::now;

/// What is at a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Which file or folder.
    pub id: FileId,
    /// What sort of object.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// When it changed, in ms. Replicas agree on it only after everything was reported.
    pub mtime: i64,
    /// Custom metadata, as JSON.
    pub metadata: String,
    /// What a file or link says; nothing if it is a blob that is not here.
    pub content: Option<Vec<u8>>,
}

/// A tree, by path.
pub type View = BTreeMap<String, Item>;

/// Reads the whole tree of a workspace, and checks that reading changes nothing (I5), that every
/// path resolves to the object that the listing names, and that no two resolve to one object (I2).
///
/// # Panics
///
/// Panics if one of that does not hold.
pub fn look(workspace: &Workspace) -> View {
    let fs = workspace.fs();
    let head = workspace.store().head().expect("a store has a head");
    let mut view = View::new();
    let mut ids = BTreeSet::new();
    for item in now(fs.walk(&VPath::root(), &WalkOptions::default())).expect("a tree walks") {
        let at = item.path.as_str();
        let stat = now(fs.lstat(&item.path)).unwrap_or_else(|error| panic!("listed, but: {error}"));
        assert_eq!((&stat.id, stat.kind), (&item.entry.id, item.entry.kind), "{at}");
        assert!(ids.insert(stat.id.clone()), "{at}: {} is there twice", stat.id);
        let content = match stat.kind {
            FileKind::Directory => Some(Vec::new()),
            FileKind::Symlink => {
                Some(now(fs.readlink(&item.path)).expect("a link has a target").into_bytes())
            }
            _ => match now(fs.read(&item.path)) {
                Ok(content) => Some(content.data.to_vec()),
                Err(error) if error.code == FsCode::EIO => None,
                Err(error) => panic!("listed, but: {error}"),
            },
        };
        let doc_head = workspace.store().doc_head(&DocName::from(&stat.id));
        let is_here = doc_head.expect("a store has heads").seq.0 > 0;
        if let (FileKind::File, Some(content), true) = (stat.kind, &content, is_here) {
            assert_eq!(stat.size, content.len() as u64, "{at}: size is the length of the content");
        }
        let shown = Item {
            id: stat.id,
            kind: stat.kind,
            mode: stat.mode,
            mtime: stat.mtime.0,
            metadata: serde_json::Value::Object(stat.metadata).to_string(),
            content,
        };
        assert_eq!(view.insert(at.to_owned(), shown), None, "{at} is listed twice");
    }
    assert_eq!(workspace.store().head().expect("a store has a head"), head, "looking wrote");
    view
}

/// Returns a view without times.
pub fn timeless(view: &View) -> View {
    let item = |item: &Item| Item { mtime: 0, ..item.clone() };
    view.iter().map(|(path, seen)| (path.clone(), item(seen))).collect()
}
