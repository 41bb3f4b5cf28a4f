//! Which content the nodes of a file show: the one that a program is in the middle of reading, else
//! the newest.

use std::sync::Arc;

use fuser::{FileHandle, INodeNo};
use yfs_types::id::FileId;
use yfs_vfs::Op;

use crate::{
    errno::{CallResult, errno},
    file_view::FileView,
    mount::MountedTree,
    node_table::path_by_id,
    open_file::FileState,
    open_node::{NodeContent, NodeReading},
};

/// What became of a change by others in a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Followed {
    /// The kernel knows what the node shows.
    Same,
    /// The node shows the newest content, and the kernel may know an older one.
    Changed,
    /// The node shows an older content until the programs that read it have done so.
    Late,
}

impl MountedTree {
    /// Returns the newest content of a file, with its attributes.
    pub(crate) fn newest(&self, state: &FileState) -> CallResult<NodeContent> {
        let path = path_by_id(&state.id);
        // The attributes first: if the content is newer, they show that it has changed.
        let (entry, created) = self.fs.entry(&path, Op::Stat).map_err(errno)?;
        let view = Arc::new(FileView::Pinned(self.fs.pin(&path).map_err(errno)?));
        Ok(NodeContent { view, entry, created, generation: state.generation })
    }

    /// Reports whether a node shows the newest content.
    pub(crate) fn is_newest(&self, state: &FileState, reading: &NodeReading) -> bool {
        let FileView::Pinned(shown) = &*reading.content.view else { return false };
        let is_own = reading.content.generation == state.generation;
        is_own && self.fs.version(&path_by_id(&state.id)).is_ok_and(|now| now == shown.version)
    }

    /// Lets a node show what this mount has written since it was opened.
    pub(crate) fn show_written(&self, state: &FileState, reading: &mut NodeReading) {
        if reading.content.generation == state.generation {
            return;
        }
        // A file that is gone keeps what it had.
        if let Ok(content) = self.newest(state) {
            reading.replace(content);
        }
        reading.content.generation = state.generation;
    }

    /// Lets a node show the newest content at the beginning of a pass of one handle, if no other
    /// handle is in a pass.
    pub(crate) fn begin_pass(
        &self,
        state: &FileState,
        reading: &mut NodeReading,
        handle: FileHandle,
    ) {
        if reading.is_free(Some(handle)) && !self.is_newest(state, reading) {
            reading.content.generation = state.generation.wrapping_sub(1);
            self.show_written(state, reading);
        }
    }

    /// Returns the node that a program gets which looks a file up now: one that shows the newest
    /// content.
    pub(crate) fn node_to_open(&self, id: &FileId) -> INodeNo {
        let first = self.nodes.number(id);
        let others = self.nodes.known(id).into_iter().filter(|number| *number != first);
        let is_newest = |number: &INodeNo| {
            let Some(node) = self.handles.node(*number) else { return true };
            let state = node.file.lock();
            let mut reading = node.lock();
            self.show_written(&state, &mut reading);
            state.pending_size().is_some() || self.is_newest(&state, &reading)
        };
        let found = [first].into_iter().chain(others).find(is_newest);
        found.unwrap_or_else(|| self.nodes.add_number(id))
    }

    /// Lets an open node show what others changed, if no program is in the middle of reading it.
    /// Only the follower may call this: it waits for locks of the kernel.
    pub(crate) fn follow_in(&self, number: INodeNo) -> Followed {
        let Some(node) = self.handles.node(number) else { return Followed::Changed };
        let state = node.file.lock();
        let mut reading = node.lock();
        // What is pending is shown, and merges with what others changed. What this mount wrote the
        // kernel knows.
        let is_own = || {
            let now = self.fs.version(&path_by_id(&state.id)).ok();
            state.own_version.is_some() && now == state.own_version
        };
        if state.pending_size().is_some() || is_own() {
            return Followed::Same;
        }
        if !self.is_newest(&state, &reading) {
            if !reading.is_free(None) {
                return Followed::Late;
            }
            if let Ok(content) = self.newest(&state) {
                reading.replace(content);
            }
        }
        let view = reading.content.view.clone();
        drop(reading);
        drop(state);
        self.extend_in_kernel(number, &view);
        Followed::Changed
    }
}
