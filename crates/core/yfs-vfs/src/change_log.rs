//! A bounded in-memory log of changes, numbered from 0.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{
    changes::{ChangeCursor, ChangePage, FileChange},
    error::FsError,
};

/// The most recent changes, oldest first.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    changes: VecDeque<FileChange>,
    /// The number of the oldest change that is still in the log.
    start: u64,
    max_changes: usize,
    /// Distinguishes cursors of this log from those of other logs in this process.
    instance: u64,
}

impl ChangeLog {
    pub(crate) fn new(max_changes: usize) -> Self {
        static N_INSTANCES: AtomicU64 = AtomicU64::new(0);
        let instance = N_INSTANCES.fetch_add(1, Ordering::Relaxed);
        Self { changes: VecDeque::new(), start: 0, max_changes, instance }
    }

    pub(crate) fn push(&mut self, change: FileChange) {
        self.changes.push_back(change);
        while self.changes.len() > self.max_changes {
            self.changes.pop_front();
            self.start += 1;
        }
    }

    /// Returns the number that the next change will have.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.changes.len() as u64
    }

    pub(crate) fn cursor(&self, position: u64) -> ChangeCursor {
        ChangeCursor::new(format!("{}.{position}", self.instance))
    }

    /// Returns the position that a cursor names, or `ESTALE` if the log no longer reaches back that
    /// far.
    pub(crate) fn position(&self, cursor: &ChangeCursor) -> Result<u64, FsError> {
        let (instance, position) = cursor.as_str().split_once('.').unwrap_or_default();
        match (instance.parse::<u64>(), position.parse::<u64>()) {
            (Ok(instance), Ok(position))
                if instance == self.instance && (self.start..=self.end()).contains(&position) =>
            {
                Ok(position)
            }
            _ => Err(FsError::cursor_lost()),
        }
    }

    pub(crate) fn since(&self, cursor: &ChangeCursor, limit: usize) -> Result<ChangePage, FsError> {
        let position = self.position(cursor)?;
        let skipped = (position - self.start) as usize;
        let events: Vec<FileChange> =
            self.changes.iter().skip(skipped).take(limit).cloned().collect();
        let next = position + events.len() as u64;
        Ok(ChangePage { events, next: self.cursor(next), more: next < self.end() })
    }
}
