//! The content that programs read.
//!
//! A program reads a file in passes: from the beginning to the end, then perhaps again. The content
//! stays the same during a pass, and becomes the newest one before the next: after a read that
//! returned nothing, when the beginning is read for a second time, or when the size is asked for
//! between two passes. So `cp`, `wc -c` and `git hash-object` see one version, and `tail -f` sees
//! what is appended.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use yfs::PinnedContent;
use yfs_vfs::{VersionBase, VersionToken};

use crate::errno::{CallResult, errno};

/// A content that does not change.
#[derive(Debug, Clone)]
pub(crate) enum FileView {
    /// One that the file had.
    Pinned(PinnedContent),
    /// One that a program wrote, and that others' changes were merged into since.
    Sent(Bytes),
    /// The newest one, of a program that knows an older one: what it writes is based on that.
    Reread {
        /// The content that the program knows.
        known: VersionBase,
        /// The newest content.
        newest: Arc<Self>,
    },
}

/// How long a program that has asked for the size and read nothing yet keeps its content.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// Where a handle is in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadingPhase {
    /// Nothing was read since the content was taken.
    Fresh {
        /// The size of the content before, if all of it was read: a read there has to return
        /// nothing, as the last one of a pass does.
        end_before: Option<u64>,
    },
    /// Part of the content was read.
    Reading {
        /// Whether the first byte was among it.
        has_begun: bool,
        /// Whether the last byte was among it.
        is_at_end: bool,
    },
    /// A read returned nothing.
    Ended,
}

impl FileView {
    /// Returns the number of bytes.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Pinned(content) => content.size(),
            Self::Sent(data) => data.len() as u64,
            Self::Reread { newest, .. } => newest.size(),
        }
    }

    /// Returns up to `len` bytes from byte `offset` on.
    pub(crate) fn read(&self, offset: u64, len: u64) -> CallResult<Bytes> {
        match self {
            Self::Pinned(content) => content.read_range(offset, len).map_err(errno),
            Self::Sent(data) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                Ok(data.slice(start..start.saturating_add(len).min(data.len())))
            }
            Self::Reread { newest, .. } => newest.read(offset, len),
        }
    }

    /// Returns the content if it is in memory.
    pub(crate) fn in_memory(&self) -> Option<&Bytes> {
        match self {
            Self::Pinned(content) => content.in_memory(),
            Self::Sent(data) => Some(data),
            Self::Reread { newest, .. } => newest.in_memory(),
        }
    }

    /// Returns the version, if it is one of the file.
    pub(crate) fn version(&self) -> Option<&VersionToken> {
        match self {
            Self::Pinned(content) => Some(&content.version),
            Self::Sent(_) | Self::Reread { .. } => None,
        }
    }

    /// Returns what names this content as the base of a write, best first.
    pub(crate) fn bases(&self) -> Vec<VersionBase> {
        if let Self::Reread { known, newest } = self {
            // If the version is too old to be found: as of a program that has read nothing.
            return [known.clone()].into_iter().chain(newest.bases()).collect();
        }
        let by_version = self.version().cloned().map(VersionBase::Version);
        let by_content = self.in_memory().map(|data| VersionBase::Content(data.clone()));
        by_version.into_iter().chain(by_content).collect()
    }
}

impl ReadingPhase {
    /// Reports whether all of the content was read.
    pub(crate) fn has_read_all(self) -> bool {
        matches!(self, Self::Ended | Self::Reading { is_at_end: true, .. })
    }

    /// Reports whether a read at an offset begins a new pass.
    pub(crate) fn ends_before_read(self, offset: u64) -> bool {
        match self {
            Self::Fresh { .. } => false,
            Self::Reading { has_begun, .. } => has_begun && offset == 0,
            Self::Ended => true,
        }
    }

    /// Reports whether a program is between two passes that has asked for the size so long ago, if
    /// it has at all.
    pub(crate) fn is_between_passes(self, since_stat: Option<Duration>) -> bool {
        match self {
            Self::Fresh { .. } => since_stat.is_none_or(|since| since >= FRESH_FOR),
            Self::Reading { is_at_end, .. } => is_at_end,
            Self::Ended => true,
        }
    }

    /// Returns the phase with a new content, if the one before had so many bytes.
    pub(crate) fn with_new_content(self, size_before: u64) -> Self {
        let was_read = matches!(self, Self::Reading { is_at_end: true, .. });
        let end_before = match self {
            Self::Fresh { end_before } => end_before,
            _ => was_read.then_some(size_before),
        };
        Self::Fresh { end_before }
    }

    /// Returns the number of bytes that a read gets of a content, and the phase after it.
    pub(crate) fn read(self, offset: u64, len: u64, size: u64) -> (u64, Self) {
        let n_read = match self {
            Self::Fresh { end_before } if end_before == Some(offset) => 0,
            _ => size.saturating_sub(offset).min(len),
        };
        if n_read == 0 {
            return (0, Self::Ended);
        }
        let (had_begun, was_at_end) = match self {
            Self::Reading { has_begun, is_at_end } => (has_begun, is_at_end),
            _ => (false, false),
        };
        let phase = Self::Reading {
            has_begun: had_begun || offset == 0,
            is_at_end: was_at_end || offset + n_read >= size,
        };
        (n_read, phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays reads `offset+len` and `stat` of a file of 100 bytes that is changed to another one of
    /// 150 after each call, where it may, and marks where a pass begins.
    fn passes(calls: &str) -> String {
        let mut phase = ReadingPhase::Fresh { end_before: None };
        let play = |call: &str| {
            let begins = match call {
                "stat" => phase.is_between_passes(Some(Duration::ZERO)),
                read => phase.ends_before_read(parse(read).0),
            };
            phase = if begins { phase.with_new_content(100) } else { phase };
            if call != "stat" {
                let (offset, len) = parse(call);
                (_, phase) = phase.read(offset, len, 100);
            }
            format!("{}{call}", if begins { "|" } else { "" })
        };
        calls.split(' ').map(play).collect::<Vec<_>>().join(" ")
    }

    fn parse(read: &str) -> (u64, u64) {
        let (offset, len) = read.split_once('+').expect("offset+len");
        (offset.parse().expect("an offset"), len.parse().expect("a length"))
    }

    #[test]
    fn the_end_that_was_read_to_stays_the_end() {
        let (_, at_end) = ReadingPhase::Fresh { end_before: None }.read(0, 200, 100);
        let renewed = at_end.with_new_content(100);
        // A program that reads until it gets nothing gets nothing of the new content.
        assert_eq!(renewed.read(100, 32, 150), (0, ReadingPhase::Ended));
        assert_eq!(renewed.with_new_content(150).read(100, 32, 200).0, 0);
        // One that reads again gets it from the beginning.
        assert_eq!(renewed.read(0, 200, 150).0, 150);
        // And tail -f, which got nothing before, gets what came.
        assert_eq!(ReadingPhase::Ended.with_new_content(100).read(100, 200, 150).0, 50);
    }

    #[test]
    fn a_pass_is_read_from_one_content() {
        // cat; wc -c; cp; git hash-object; python.
        assert_eq!(passes("0+64 64+64 100+64"), "0+64 64+64 100+64");
        assert_eq!(passes("stat 96+64 100+64"), "stat 96+64 100+64");
        assert_eq!(passes("stat 0+64 stat 64+64 100+64"), "stat 0+64 stat 64+64 100+64");
        // Pages of a mapping are read in any order.
        assert_eq!(passes("stat 64+64 0+64 32+32"), "stat 64+64 0+64 32+32");
    }

    #[test]
    fn the_next_pass_takes_the_newest_content() {
        // tail -f: nothing more, then what came.
        assert_eq!(passes("0+200 100+64 100+64"), "0+200 100+64 |100+64");
        assert_eq!(passes("0+200 100+64 stat 100+64"), "0+200 100+64 |stat 100+64");
        // A program that reads again.
        assert_eq!(passes("0+10 0+10 0+10"), "0+10 |0+10 |0+10");
        assert_eq!(passes("0+100 stat 0+100"), "0+100 |stat 0+100");
    }
}
