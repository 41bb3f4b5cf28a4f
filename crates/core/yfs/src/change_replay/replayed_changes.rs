//! The changes that were read from the log last.

use std::collections::BTreeSet;

use yfs_engine::id::FileId;
use yfs_store::Seq;
use yfs_vfs::{ChangeCursor, ChangeKind, ChangePage, FileChange};

/// The last replay.
#[derive(Debug)]
pub(crate) struct ChangeReplay {
    pub(super) after: Seq,
    /// The changes of rows, each with its position in the log.
    pub(super) rows: Vec<(Seq, FileChange)>,
    /// The changes of contents, each with its position in the log.
    pub(super) contents: Vec<(Seq, FileChange)>,
    /// The cursor after the replay.
    pub(super) next: ChangeCursor,
}

impl ChangeReplay {
    /// Returns the changes after a position. A file that is new, or whose row changed, gets no
    /// second event for its content.
    pub(super) fn since(&self, after: Seq) -> ChangePage {
        let later = |changes: &[(Seq, FileChange)]| -> Vec<FileChange> {
            let later = changes.iter().filter(|(seq, _)| *seq > after);
            later.map(|(_, change)| change.clone()).collect()
        };
        let mut events = later(&self.rows);
        let reports_content =
            |change: &&FileChange| matches!(change.kind, ChangeKind::Created | ChangeKind::Changed);
        let mut reported: BTreeSet<FileId> =
            events.iter().filter(reports_content).map(|change| change.id.clone()).collect();
        events.extend(
            later(&self.contents).into_iter().filter(|change| reported.insert(change.id.clone())),
        );
        ChangePage { events, next: self.next.clone(), more: false }
    }
}
