//! A checkpoint that mends itself: if its files turn out to be damaged, the same map is derived
//! from the log, as of the same position.

use std::{collections::BTreeMap, sync::OnceLock};

use yfs_checkpoint::CheckpointMap;
use yfs_engine::{
    checkpoint::{self, CheckpointEntries, CheckpointReader},
    gate::{LoggedUpdates, UpdateSource},
    main_doc::MainDoc,
};
use yfs_store::Seq;

use super::CheckpointHome;

type MemoryMap = BTreeMap<Vec<u8>, Vec<u8>>;

/// Reads the files, and after a failure the log.
#[derive(Debug)]
pub(super) struct HealingReader {
    home: CheckpointHome,
    map: CheckpointMap,
    position: Seq,
    healed: OnceLock<Result<MemoryMap, String>>,
}

impl HealingReader {
    pub(super) fn new(home: CheckpointHome, map: CheckpointMap, position: Seq) -> Self {
        Self { home, map, position, healed: OnceLock::new() }
    }

    /// Returns the map that was derived from the log.
    fn healed(&self) -> Result<&MemoryMap, String> {
        let derive = || {
            self.home.note_damaged();
            self.derive()
        };
        self.healed.get_or_init(derive).as_ref().map_err(Clone::clone)
    }

    fn derive(&self) -> Result<MemoryMap, String> {
        let CheckpointHome { store, workspace, limits, .. } = &self.home;
        let loaded = store.load(&self.home.name()).map_err(|error| error.to_string())?;
        if loaded.snapshot_upto > self.position || !loaded.damaged.is_empty() {
            return Err("it is damaged, and so is the log, or later".to_owned());
        }
        let mut main = MainDoc::new(workspace, self.home.no_writer(), *limits);
        let records = loaded.updates.iter().filter(|record| record.seq <= self.position);
        for update in loaded.snapshot.iter().chain(records.map(|record| &record.data)) {
            let received = main.receive(update, UpdateSource::Store);
            received.map_err(|refusal| refusal.to_string())?;
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
}
