//! What changed after the position of an index.

use std::collections::{BTreeSet, HashSet};

use yfs_engine::id::FileId;
use yfs_store::{DocName, Seq};

use super::SearchIndexes;
use crate::{core::WorkspaceCore, error::Result};

/// What changed after a position of the log.
#[derive(Debug, Default)]
pub(super) struct IndexTail {
    /// The files whose documents have records after the position, in the order of the last one.
    pub(super) contents: Vec<FileId>,
    /// The rows that changed, possibly with others.
    pub(super) rows: BTreeSet<FileId>,
    /// Every record up to this position is considered.
    pub(super) upto: Seq,
}

impl SearchIndexes {
    /// Returns what changed after a position; `None` if it is more than `max` objects, or not
    /// known.
    ///
    /// It has at least what was in the log before the call, and in the main document.
    pub(super) fn changes_after(
        &self,
        core: &WorkspaceCore,
        position: Seq,
        max: usize,
    ) -> Result<Option<IndexTail>> {
        let mut tail = IndexTail::default();
        {
            // Then a row that is in the log is in the main document, too.
            let _tailing = core.tailing.lock();
            tail.upto = core.tailed();
            if let Some(home) = &self.checkpoint.home {
                let Some(rows) = home.changed_before_base(position)? else { return Ok(None) };
                tail.rows = rows;
            }
            let main = core.main.read();
            let room = max.saturating_sub(tail.rows.len());
            tail.rows.extend(main.files().changed_ids().take(room.saturating_add(1)).cloned());
        }
        if tail.rows.len() > max {
            return Ok(None);
        }
        Ok(self.contents_after(core, position, max)?.map(|contents| IndexTail { contents, ..tail }))
    }

    /// Returns the files whose documents have records after a position; `None` if they are more
    /// than `max`.
    pub(super) fn contents_after(
        &self,
        core: &WorkspaceCore,
        position: Seq,
        max: usize,
    ) -> Result<Option<Vec<FileId>>> {
        let (mut contents, mut seen) = (Vec::new(), HashSet::new());
        self.for_each_content_after(core, position, |doc| {
            if !seen.contains(doc) {
                seen.insert(doc.clone());
                contents.push(FileId::from(doc));
            }
            contents.len() <= max
        })?;
        Ok((contents.len() <= max).then_some(contents))
    }

    /// Calls a function with each document that has records after a position, in order of records,
    /// some more than once, until it returns `false`. The main document is left out.
    pub(super) fn for_each_content_after(
        &self,
        core: &WorkspaceCore,
        position: Seq,
        mut each: impl FnMut(&DocName) -> bool,
    ) -> Result<()> {
        let mut after = position;
        loop {
            let page = core.store.tail(after, &|_, _| false)?;
            let reloaded = page.reload.iter().map(|reload| &reload.doc);
            let touched = page.touched.iter().map(|touched| &touched.doc);
            // Compaction removed the records of some documents, in whatever page they were.
            let reloaded = reloaded.filter(|_| after == position);
            for doc in reloaded.chain(touched) {
                if *doc != core.main_name && !each(doc) {
                    return Ok(());
                }
            }
            if !page.more {
                return Ok(());
            }
            after = page.upto;
        }
    }
}
