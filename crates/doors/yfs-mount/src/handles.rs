//! The handles that programs have, and the nodes and files that they belong to.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use dashmap::DashMap;
use fuser::{Errno, FileHandle, INodeNo};
use parking_lot::Mutex;
use yfs_types::id::FileId;

use crate::{
    errno::CallResult, file_view::FileView, listing::Listing, open_file::OpenFile,
    open_node::OpenNode, program_name::Writer,
};

/// A handle of a file.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) node: Arc<OpenNode>,
    pub(crate) can_read: bool,
    /// Whether writes go to the end, wherever it is.
    pub(crate) appends: bool,
    /// The program, if it can write.
    pub(crate) writer: Option<Writer>,
    /// The thread that opened it.
    pub(crate) thread: u32,
    /// The content that the program has read last, or else opened, and the generation of this
    /// mount's writes that it has: the base of what the program writes.
    pub(crate) seen: Mutex<(Arc<FileView>, u64)>,
}

/// All handles.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    next: AtomicU64,
    handles: DashMap<u64, Arc<Handle>>,
    directories: DashMap<u64, Arc<Mutex<Listing>>>,
    nodes: DashMap<u64, Arc<OpenNode>>,
    files: DashMap<FileId, Arc<OpenFile>>,
}

impl Handles {
    /// Returns the open file of an id, which is made if there is none.
    pub(crate) fn file(&self, id: &FileId) -> Arc<OpenFile> {
        self.files.entry(id.clone()).or_insert_with(|| Arc::new(OpenFile::new(id.clone()))).clone()
    }

    /// Returns the open file of an id, if it has handles.
    pub(crate) fn find_file(&self, id: &FileId) -> Option<Arc<OpenFile>> {
        self.files.get(id).map(|file| file.clone())
    }

    /// Lets the handles of one file be those of another one, which has taken its content.
    pub(crate) fn redirect(&self, from: &FileId, to: &FileId) {
        let Some((_, file)) = self.files.remove(from) else { return };
        file.lock().id = to.clone();
        self.files.insert(to.clone(), file);
    }

    /// Returns all open files.
    pub(crate) fn files(&self) -> Vec<Arc<OpenFile>> {
        self.files.iter().map(|entry| entry.clone()).collect()
    }

    /// Returns an open node.
    pub(crate) fn node(&self, number: INodeNo) -> Option<Arc<OpenNode>> {
        self.nodes.get(&number.0).map(|node| node.clone())
    }

    /// Adds a handle of a node, which `make` makes unless it is open.
    pub(crate) fn add(
        &self,
        number: INodeNo,
        make: impl FnOnce() -> CallResult<OpenNode>,
        handle: impl FnOnce(Arc<OpenNode>) -> Handle,
    ) -> CallResult<FileHandle> {
        let new = FileHandle(self.next.fetch_add(1, Ordering::Relaxed));
        let node = self.nodes.entry(number.0).or_try_insert_with(|| make().map(Arc::new))?;
        // While the table is locked, so that the node is not removed with its last other handle.
        node.lock().add(new);
        let node = node.clone();
        self.handles.insert(new.0, Arc::new(handle(node)));
        Ok(new)
    }

    pub(crate) fn get(&self, handle: FileHandle) -> CallResult<Arc<Handle>> {
        self.handles.get(&handle.0).map(|handle| handle.clone()).ok_or(Errno::EBADF)
    }

    /// Removes a handle; with the last one its node, and with the last node its file.
    pub(crate) fn remove(&self, number: FileHandle) -> Option<Arc<Handle>> {
        let (_, handle) = self.handles.remove(&number.0)?;
        let is_unused = |_: &u64, node: &Arc<OpenNode>| node.lock().remove(number);
        handle.node.lock().remove(number);
        self.nodes.remove_if(&handle.node.number.0, is_unused);
        Some(handle)
    }

    /// Removes the file of a handle that was removed, if it was the last one.
    pub(crate) fn close(&self, handle: Arc<Handle>) {
        let file = handle.node.file.clone();
        drop(handle);
        let id = file.lock().id.clone();
        // One reference is in the table and one is here: another handle has a third.
        let is_unused = |_: &FileId, kept: &Arc<OpenFile>| {
            Arc::ptr_eq(kept, &file) && Arc::strong_count(kept) == 2
        };
        self.files.remove_if(&id, is_unused);
    }

    pub(crate) fn add_directory(&self, listing: Listing) -> FileHandle {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.directories.insert(number, Arc::new(Mutex::new(listing)));
        FileHandle(number)
    }

    pub(crate) fn directory(&self, handle: FileHandle) -> CallResult<Arc<Mutex<Listing>>> {
        self.directories.get(&handle.0).map(|listing| listing.clone()).ok_or(Errno::EBADF)
    }

    pub(crate) fn remove_directory(&self, handle: FileHandle) {
        self.directories.remove(&handle.0);
    }
}
