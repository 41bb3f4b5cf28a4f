//! A checkpoint that mends itself: if its files turn out to be damaged, the same map is derived
//! from the log, as of the same position.
//!
//! Compaction may have removed that position from the log, or the log may be damaged as well. The
//! workspace's own document then reads what the log has left, which is later in part, and is
//! replaced by one loaded from the log before its next use. Any other document fails.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{OnceLock, atomic::Ordering},
};

use yfs_engine::{
    checkpoint::{self, CheckpointEntries, CheckpointReader, EntryVisitor},
    gate::{LoggedUpdates, UpdateSource},
    main_doc::MainDoc,
};
use yfs_store::Seq;
use yfs_store::checkpoint::{CheckpointError, CheckpointMap};

use super::CheckpointHome;

type MemoryMap = BTreeMap<Vec<u8>, Vec<u8>>;

/// The document that reads from a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckpointUse {
    /// The workspace's own, which is replaced if the log cannot mend the checkpoint exactly.
    Live,
    /// Another, which then fails.
    Once,
}

/// Reads the files, and after a failure the log.
#[derive(Debug)]
pub(super) struct HealingReader {
    home: CheckpointHome,
    map: CheckpointMap,
    position: Seq,
    in_use_by: CheckpointUse,
    healed: OnceLock<Result<MemoryMap, String>>,
}

impl HealingReader {
    pub(super) fn new(
        home: CheckpointHome,
        map: CheckpointMap,
        position: Seq,
        in_use_by: CheckpointUse,
    ) -> Self {
        Self { home, map, position, in_use_by, healed: OnceLock::new() }
    }

    /// Returns the map that was derived from the log.
    fn healed(&self) -> Result<&MemoryMap, String> {
        let derive = || {
            self.home.note_damaged();
            let derived = self.derive();
            if derived.is_err() && self.in_use_by == CheckpointUse::Live {
                self.home.must_replace.store(true, Ordering::Release);
            }
            derived
        };
        self.healed.get_or_init(derive).as_ref().map_err(Clone::clone)
    }

    fn derive(&self) -> Result<MemoryMap, String> {
        let CheckpointHome { store, workspace, limits, .. } = &self.home;
        let loaded = store.load(&self.home.name()).map_err(|error| error.to_string())?;
        let is_exact = loaded.snapshot_upto <= self.position && loaded.damaged.is_empty();
        if !is_exact {
            if self.in_use_by == CheckpointUse::Once {
                return Err("it is damaged, and so is the log, or later".to_owned());
            }
            self.home.must_replace.store(true, Ordering::Release);
        }
        let mut main = MainDoc::new(workspace, self.home.no_writer(), *limits);
        let records = loaded.updates.iter().filter(|record| record.seq <= self.position);
        for update in loaded.snapshot.iter().chain(records.map(|record| &record.data)) {
            // A record that the gate rejects is left out of every load.
            main.receive(update, UpdateSource::Store).ok();
        }
        let mut map = MemoryMap::new();
        main.write_checkpoint(|key, value| {
            map.insert(key.to_vec(), value.to_vec());
            Ok::<(), checkpoint::CheckpointError>(())
        })
        .map_err(|error| error.to_string())?;
        Ok(map)
    }
}

/// Why reading a range ended before its end.
enum ReadEnd {
    BrokenOff,
    Failed,
}

impl From<CheckpointError> for ReadEnd {
    fn from(_: CheckpointError) -> Self {
        Self::Failed
    }
}

impl LoggedUpdates for HealingReader {
    fn updates(&self) -> Result<Vec<Vec<u8>>, String> {
        let loaded = self.home.store.load(&self.home.name()).map_err(|error| error.to_string())?;
        let records = loaded.updates.into_iter().map(|record| record.data);
        Ok(loaded.snapshot.into_iter().chain(records).collect())
    }
}

impl CheckpointReader for HealingReader {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        if self.healed.get().is_none()
            && let Ok(value) = self.map.get(key)
        {
            return Ok(value);
        }
        Ok(self.healed()?.get(key).cloned())
    }

    fn scan(&self, from: &[u8], to: &[u8], n: usize) -> Result<CheckpointEntries, String> {
        if self.healed.get().is_none()
            && let Ok(entries) = self.map.scan(from, to, n)
        {
            return Ok(entries);
        }
        let range = self.healed()?.range(from.to_vec()..to.to_vec()).take(n);
        Ok(range.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn for_each(&self, from: &[u8], to: &[u8], each: &mut EntryVisitor<'_>) -> Result<(), String> {
        let mut last: Option<Vec<u8>> = None;
        if self.healed.get().is_none() {
            let read = self.map.for_each_entry(from, to, |key, value| {
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(key);
                if each(key, value).is_break() { Err(ReadEnd::BrokenOff) } else { Ok(()) }
            });
            if matches!(read, Ok(()) | Err(ReadEnd::BrokenOff)) {
                return Ok(());
            }
        }
        let from = last.as_deref().map_or(Bound::Included(from), Bound::Excluded);
        let range = self.healed()?.range::<[u8], _>((from, Bound::Excluded(to)));
        for (key, value) in range {
            if each(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}
