//! The name of a position in the log of one store.

use std::{fmt, str::FromStr, time::Instant};

use yfs_store::Seq;

use crate::error::{Result, WorkspaceError};

/// The number of marks that are kept; the oldest is dropped first.
pub(super) const N_MARKS: u32 = 1 << 16;

/// The name of a mark in the log of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCursor {
    pub(super) slot: u32,
    pub(super) name: u64,
}

/// The mark that was made last.
#[derive(Debug, Clone)]
pub(crate) struct LogMark {
    pub(super) cursor: LogCursor,
    pub(super) seq: Seq,
    pub(super) made: Instant,
}

impl fmt::Display for LogCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:x}", self.slot, self.name)
    }
}

impl FromStr for LogCursor {
    type Err = WorkspaceError;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let (slot, name) = text.split_once('.')?;
            let slot = slot.parse().ok().filter(|slot| *slot < N_MARKS)?;
            Some(Self { slot, name: u64::from_str_radix(name, 16).ok()? })
        };
        parse().ok_or_else(|| WorkspaceError::NoDocument(text.to_owned()))
    }
}
