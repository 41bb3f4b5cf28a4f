//! Cursors: positions in a log that another store, or a mirror, keeps.
//!
//! A store that is restored from an older copy goes back in time and then continues counting, so a
//! position that another store keeps would come to mean another record. So stores do not exchange
//! positions: the log is marked under a random name, and the name is the cursor. An earlier copy
//! does not have that mark, and a replica with the cursor starts over.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use yfs_store::Seq;

use crate::{
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
};

/// The setting with the position up to which marks are unknown.
const FORGOTTEN_SETTING: &str = "replica.forgotten";

/// The number of marks that are kept for replicas; the oldest is dropped first.
const N_MARKS: u32 = 1 << 16;

/// The number of marks that are kept for each mirror. A power cut may take the last commits of its
/// database, and then an earlier mark is looked for.
const N_MIRROR_MARKS: u32 = 1 << 10;

/// The number of records after which a new mark is made.
const MAX_RECORDS: u64 = 256;

/// How long a mark is used if there are fewer records. Later records are sent again, and
/// recognized.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The name of a mark in the log of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCursor {
    slot: u32,
    name: u64,
}

/// The mark of the log that was given to a replica last, its position, and when it was made.
#[derive(Debug, Default)]
pub(crate) struct ReplicaMarks {
    last: Mutex<Option<(LogCursor, Seq, Instant)>>,
}

/// The marks of one purpose: the beginning of the settings that store them, and their number.
pub(super) struct MarkSlots {
    prefix: String,
    n_slots: u32,
}

impl MarkSlots {
    fn of_replicas() -> Self {
        Self { prefix: "replica.mark.".to_owned(), n_slots: N_MARKS }
    }

    pub(super) fn of_mirror(mirror: &str) -> Self {
        Self { prefix: format!("mirror.mark.{mirror}."), n_slots: N_MIRROR_MARKS }
    }

    /// Marks the log at a position, in the slot after that of the last mark.
    pub(super) fn make(
        &self,
        core: &WorkspaceCore,
        last: Option<&LogCursor>,
        seq: Seq,
    ) -> Result<LogCursor> {
        let slot = match last {
            Some(last) => (last.slot + 1) % self.n_slots,
            // Each process begins at a random slot, so that they do not replace each other's marks.
            None => (random() % u64::from(self.n_slots)) as u32,
        };
        let cursor = LogCursor { slot, name: random() };
        let value = format!("{} {:x}", seq.0, cursor.name);
        core.store.set_meta(&format!("{}{slot}", self.prefix), value.as_bytes())?;
        Ok(cursor)
    }

    /// Returns the position of a mark that this log has, or had before marks were forgotten.
    pub(super) fn stored(&self, core: &WorkspaceCore, cursor: &LogCursor) -> Result<Option<Seq>> {
        let stored = core.store.get_meta(&format!("{}{}", self.prefix, cursor.slot))?;
        let Some(value) = stored else { return Ok(None) };
        let read = || {
            let (seq, name) = std::str::from_utf8(&value).ok()?.split_once(' ')?;
            let is_it = u64::from_str_radix(name, 16).ok()? == cursor.name;
            seq.parse().ok().filter(|_| is_it).map(Seq)
        };
        Ok(read())
    }

    /// Returns the position of a mark, if this log has it.
    pub(super) fn find(&self, core: &WorkspaceCore, cursor: &LogCursor) -> Result<Option<Seq>> {
        let forgotten = forgotten_upto(core)?;
        Ok(self.stored(core, cursor)?.filter(|seq| *seq > forgotten))
    }
}

impl ReplicaMarks {
    /// Marks the log at a position, or a little before it unless the mark must be `exact`.
    pub(crate) fn mark(&self, core: &WorkspaceCore, seq: Seq, exact: bool) -> Result<LogCursor> {
        let mut last = self.last.lock();
        if let Some((cursor, marked, made)) = &*last
            && *marked <= seq
            && (*marked == seq
                || !exact && seq.0 - marked.0 < MAX_RECORDS && made.elapsed() < MAX_AGE)
        {
            return Ok(cursor.clone());
        }
        let known = last.as_ref().map(|(cursor, ..)| cursor);
        let cursor = MarkSlots::of_replicas().make(core, known, seq)?;
        *last = Some((cursor.clone(), seq, Instant::now()));
        Ok(cursor)
    }

    /// Makes all marks unknown, so that every replica exchanges everything with this store again.
    pub(crate) fn forget_replicas(&self, core: &WorkspaceCore) -> Result<()> {
        let head = core.store.head()?.0.to_string();
        core.store.set_meta(FORGOTTEN_SETTING, head.as_bytes())?;
        *self.last.lock() = None;
        Ok(())
    }
}

/// Returns the position of a mark that was made for replicas, if this log has it.
pub(crate) fn find_mark(core: &WorkspaceCore, cursor: &LogCursor) -> Result<Option<Seq>> {
    MarkSlots::of_replicas().find(core, cursor)
}

/// Returns the position up to which marks are unknown.
pub(super) fn forgotten_upto(core: &WorkspaceCore) -> Result<Seq> {
    let stored = core.store.get_meta(FORGOTTEN_SETTING)?;
    let text = stored.and_then(|stored| String::from_utf8(stored).ok());
    Ok(text.and_then(|text| text.parse().ok()).map_or(Seq::ZERO, Seq))
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

fn random() -> u64 {
    getrandom::u64().expect("the operating system has a random source")
}
