//! Bounds the memory of writes that build large documents at the same time.
//!
//! A file of 198 KB with 99,000 lines takes 230 MB while it is written: its tree, the yrs document
//! and its update. Sixteen at once would take 4 GB, so such writes share a budget.
//!
//! # Invariants
//!
//! - A write begins in the order of arrival, once it fits; one that is greater than the budget runs
//!   alone.
//! - A thread that waits here holds no lock of the workspace.

use parking_lot::{Condvar, Mutex};
use yfs_engine::{
    content::{MAX_RICH_WEIGHT, rich_weight},
    kind::FileCategory,
    path::VPath,
};

use crate::documents::DocumentPool;

/// The memory that heavy writes of one workspace use at once, in bytes.
const BUDGET: u64 = 512 << 20;

/// The memory that writing a text takes per unit of its weight, in bytes (2,300 for lines of one
/// letter, 1,850 for paragraphs of one letter).
const MEMORY_PER_WEIGHT: u64 = 2_560;

/// The least weight of a write that is counted.
const MIN_WEIGHT: usize = 1_024;

/// The writes of large documents that are under way.
#[derive(Debug, Default)]
pub(crate) struct HeavyWrites {
    state: Mutex<WriteQueue>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct WriteQueue {
    bytes: u64,
    /// The number of the write that begins next, and of the next one that arrives.
    next: u64,
    arriving: u64,
}

/// A write of a large document. Dropping it ends it.
pub(crate) struct HeavyWrite<'a> {
    writes: &'a HeavyWrites,
    documents: &'a DocumentPool,
    bytes: u64,
}

impl HeavyWrites {
    /// Waits until a content may be written to a path; `None` if it takes little memory.
    ///
    /// The caller must not hold a lock of the workspace.
    pub(crate) fn begin<'a>(
        &'a self,
        documents: &'a DocumentPool,
        path: &VPath,
        data: &[u8],
    ) -> Option<HeavyWrite<'a>> {
        let bytes = MEMORY_PER_WEIGHT * weight_of(path, data)? as u64;
        self.enter(bytes);
        Some(HeavyWrite { writes: self, documents, bytes })
    }

    fn enter(&self, bytes: u64) {
        let mut state = self.state.lock();
        let number = state.arriving;
        state.arriving += 1;
        while state.next != number || (state.bytes > 0 && state.bytes + bytes > BUDGET) {
            self.ended.wait(&mut state);
        }
        state.next += 1;
        state.bytes += bytes;
        // The next one may fit as well.
        self.ended.notify_all();
    }

    fn leave(&self, bytes: u64) {
        self.state.lock().bytes -= bytes;
        self.ended.notify_all();
    }
}

impl Drop for HeavyWrite<'_> {
    fn drop(&mut self) {
        // Before others use the budget again.
        self.documents.return_freed(self.bytes);
        self.writes.leave(self.bytes);
    }
}

/// Returns the weight of a content that is kept as rich text, if it is heavy.
fn weight_of(path: &VPath, data: &[u8]) -> Option<usize> {
    let is_rich =
        path.file_name().is_some_and(|name| FileCategory::of(name) == FileCategory::RichText);
    if data.len() < MIN_WEIGHT || !is_rich {
        return None;
    }
    let weight = rich_weight(std::str::from_utf8(data).ok()?).min(2 * MAX_RICH_WEIGHT);
    (weight >= MIN_WEIGHT).then_some(weight)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn writes_at_once_stay_within_the_budget() {
        let (writes, used, most) = (HeavyWrites::default(), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for number in 0..64 {
                let (writes, used, most) = (&writes, &used, &most);
                // Some are greater than the budget.
                let bytes = if number % 9 == 0 { 2 * BUDGET } else { BUDGET / 3 + number };
                scope.spawn(move || {
                    writes.enter(bytes);
                    let before = used.fetch_add(bytes, Ordering::SeqCst);
                    assert!(before == 0 || before + bytes <= BUDGET, "{before} and {bytes}");
                    most.fetch_max(before + bytes, Ordering::SeqCst);
                    thread::yield_now();
                    used.fetch_sub(bytes, Ordering::SeqCst);
                    writes.leave(bytes);
                });
            }
        });
        assert!(most.into_inner() >= 2 * BUDGET, "those that exceed it run alone");
        assert_eq!(writes.state.into_inner().bytes, 0);
    }

    #[test]
    fn only_markdown_of_many_lines_is_heavy() {
        let path = |text: &str| VPath::parse(text).unwrap();
        let lines = "a\n".repeat(2_000);
        assert_eq!(weight_of(&path("/a.md"), lines.as_bytes()), Some(2_000));
        assert_eq!(weight_of(&path("/a.txt"), lines.as_bytes()), None);
        assert_eq!(weight_of(&path("/a.md"), "word ".repeat(4_000).as_bytes()), None);
        assert_eq!(weight_of(&path("/a.md"), &[0xff; 4_000]), None);
    }
}
