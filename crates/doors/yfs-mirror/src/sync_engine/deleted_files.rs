//! The files that were deleted on disk a moment ago, by path: a program that removes a file and
//! creates it again, as git and some editors do, has the same file.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use yfs_vfs::FileKind;

use super::mirror_context::MirrorContext;
use crate::mirror_state::MirrorNode;

/// The deleted files, each as it was when both sides last agreed, with the time of the deletion.
#[derive(Debug, Default)]
pub(super) struct DeletedFiles(HashMap<PathBuf, (MirrorNode, Instant)>);

impl DeletedFiles {
    /// Notes that an object is about to be deleted, with all files below it.
    pub(super) fn note(&mut self, context: &MirrorContext, node: &MirrorNode) {
        let at = context.clock.now();
        let below = context.state.below(Some(&node.id));
        let below = below.iter().filter_map(|id| context.state.get(id));
        let files = [node].into_iter().chain(below).filter(|node| node.kind == FileKind::File);
        self.0.extend(files.map(|node| (context.state.path(&node.id), (node.clone(), at))));
    }

    /// Returns the file that was deleted at a path, and forgets it.
    pub(super) fn take(&mut self, path: &Path) -> Option<MirrorNode> {
        self.0.remove(path).map(|(node, _)| node)
    }

    /// Forgets the files that were deleted longer ago than `pause`.
    pub(super) fn forget_old(&mut self, now: Instant, pause: Duration) {
        self.0.retain(|_, (_, at)| now < *at + pause);
    }
}
