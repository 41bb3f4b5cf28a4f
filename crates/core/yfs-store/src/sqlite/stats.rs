//! The size of a store.

use std::fs;

use super::{SqliteStore, index::IndexTotals, store_error::store_error};
use crate::{StoreError, StoreStats};

const STATS: &str = "compute the statistics of the store";

impl SqliteStore {
    pub(super) fn sum_up(&self) -> Result<StoreStats, StoreError> {
        let IndexTotals { n_docs, n_records, record_bytes, snapshot_bytes } =
            self.log.with_index(|index| index.totals())?;
        let mut stats =
            StoreStats { n_docs, n_records, record_bytes, snapshot_bytes, ..StoreStats::default() };
        let reader = self.shared.reader()?;
        let sql = "SELECT count(*), coalesce(sum(size), 0) FROM blob";
        let (n_blobs, blob_bytes): (i64, i64) = reader
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(store_error(STATS))?;
        stats.n_blobs = n_blobs.cast_unsigned();
        stats.blob_bytes = blob_bytes.cast_unsigned();
        drop(reader);
        self.local.count_quarantined(&mut stats)?;
        stats.head = self.log.head()?;
        for suffix in ["", "-wal"] {
            let mut path = self.shared.path.clone().into_os_string();
            path.push(suffix);
            stats.file_bytes += fs::metadata(path).map_or(0, |metadata| metadata.len());
        }
        Ok(stats)
    }
}
