//! Cursors: positions in a log that another store keeps.
//!
//! A store that is restored from an older copy goes back in time and then continues counting, so a
//! position that another store keeps would come to mean another record. So stores do not exchange
//! positions: the log is marked under a random name, and the name is the cursor. An earlier copy
//! does not have that mark, and a replica with the cursor starts over.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use yfs_store::Seq;

use super::log_cursor::{LogCursor, LogMark, N_MARKS};
use crate::{core::WorkspaceCore, error::Result};

/// The prefix of the settings that store marks.
const MARK_SETTING: &str = "replica.mark.";

/// The setting with the position up to which marks are unknown.
const FORGOTTEN_SETTING: &str = "replica.forgotten";

/// The prefix of the settings that store the marks of a mirror; then come its name and the slot.
const MIRROR_MARK_SETTING: &str = "mirror.mark.";

/// The number of marks that are kept for each mirror. A power cut may take the last commits of its
/// database, and then an earlier mark is looked for.
const N_MIRROR_MARKS: u32 = 1 << 10;

/// The number of records after which a new mark is made.
const MAX_RECORDS: u64 = 256;

/// How long a mark is used if there are fewer records. Later records are sent again, and
/// recognized.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The mark of the log that was given to a replica last.
#[derive(Debug, Default)]
pub(crate) struct ReplicaMarks {
    last: Mutex<Option<LogMark>>,
}

impl ReplicaMarks {
    /// Marks the log at a position, or a little before it unless the mark must be `exact`.
    pub(crate) fn mark(&self, core: &WorkspaceCore, seq: Seq, exact: bool) -> Result<LogCursor> {
        let mut last = self.last.lock();
        if let Some(last) = &*last
            && last.seq <= seq
            && (last.seq == seq
                || !exact && seq.0 - last.seq.0 < MAX_RECORDS && last.made.elapsed() < MAX_AGE)
        {
            return Ok(last.cursor.clone());
        }
        let slot = match &*last {
            Some(last) => (last.cursor.slot + 1) % N_MARKS,
            // Each process begins at a random slot, so that they do not replace each other's marks.
            None => (random() % u64::from(N_MARKS)) as u32,
        };
        let cursor = LogCursor { slot, name: random() };
        write_mark(core, &setting(slot), &cursor, seq)?;
        *last = Some(LogMark { cursor: cursor.clone(), seq, made: Instant::now() });
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

/// Returns the position up to which marks are unknown.
pub(super) fn forgotten_upto(core: &WorkspaceCore) -> Result<Seq> {
    let stored = core.store.get_meta(FORGOTTEN_SETTING)?;
    let text = stored.and_then(|stored| String::from_utf8(stored).ok());
    Ok(text.and_then(|text| text.parse().ok()).map_or(Seq::ZERO, Seq))
}

/// Returns the position of a mark, if this log has it.
pub(crate) fn find_mark(core: &WorkspaceCore, cursor: &LogCursor) -> Result<Option<Seq>> {
    read_mark(core, &setting(cursor.slot), cursor)
}

/// Marks the end of the log for a mirror, unless `last` marks it already.
pub(crate) fn mark_for_mirror(
    core: &WorkspaceCore,
    mirror: &str,
    last: Option<&LogCursor>,
) -> Result<LogCursor> {
    let head = core.store.head()?;
    if let Some(last) = last
        && find_mirror_mark(core, mirror, last)? == Some(head)
    {
        return Ok(last.clone());
    }
    let slot = match last {
        Some(last) => (last.slot + 1) % N_MIRROR_MARKS,
        None => (random() % u64::from(N_MIRROR_MARKS)) as u32,
    };
    let cursor = LogCursor { slot, name: random() };
    write_mark(core, &mirror_setting(mirror, slot), &cursor, head)?;
    Ok(cursor)
}

/// Returns the position of a mark that was made for a mirror, if this log has it.
pub(crate) fn find_mirror_mark(
    core: &WorkspaceCore,
    mirror: &str,
    cursor: &LogCursor,
) -> Result<Option<Seq>> {
    read_mark(core, &mirror_setting(mirror, cursor.slot), cursor)
}

fn write_mark(core: &WorkspaceCore, setting: &str, cursor: &LogCursor, seq: Seq) -> Result<()> {
    let value = format!("{} {:x}", seq.0, cursor.name);
    Ok(core.store.set_meta(setting, value.as_bytes())?)
}

/// Reports whether this log ever had a mark that was made for a mirror. It has that of a time
/// before damaged records were set aside as well, which proves nothing any more.
pub(crate) fn knows_mirror_mark(
    core: &WorkspaceCore,
    mirror: &str,
    cursor: &LogCursor,
) -> Result<bool> {
    Ok(stored_mark(core, &mirror_setting(mirror, cursor.slot), cursor)?.is_some())
}

fn read_mark(core: &WorkspaceCore, setting: &str, cursor: &LogCursor) -> Result<Option<Seq>> {
    let forgotten = forgotten_upto(core)?;
    Ok(stored_mark(core, setting, cursor)?.filter(|seq| *seq > forgotten))
}

fn stored_mark(core: &WorkspaceCore, setting: &str, cursor: &LogCursor) -> Result<Option<Seq>> {
    let Some(value) = core.store.get_meta(setting)? else { return Ok(None) };
    let read = || {
        let (seq, name) = std::str::from_utf8(&value).ok()?.split_once(' ')?;
        let is_it = u64::from_str_radix(name, 16).ok()? == cursor.name;
        seq.parse().ok().filter(|_| is_it).map(Seq)
    };
    Ok(read())
}

fn setting(slot: u32) -> String {
    format!("{MARK_SETTING}{slot}")
}

fn mirror_setting(mirror: &str, slot: u32) -> String {
    format!("{MIRROR_MARK_SETTING}{mirror}.{slot}")
}

fn random() -> u64 {
    getrandom::u64().expect("the operating system has a random source")
}
