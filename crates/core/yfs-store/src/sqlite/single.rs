//! Reading many documents that consist of one record each.

use super::{
    log::{self, SqliteLog},
    log_head,
    store_error::store_error,
    transaction::SqliteTransaction,
};
use crate::{DocName, LogRecord, StoreError};

const ACTION: &str = "load documents";

impl SqliteLog {
    pub(super) fn load_single(
        &self,
        names: &[DocName],
    ) -> Result<Vec<Option<LogRecord>>, StoreError> {
        let reader = self.shared.reader()?;
        let tx = SqliteTransaction::read(&reader).map_err(store_error(ACTION))?;
        let upto = log_head::head(&tx).map_err(store_error(ACTION))?;
        // A document that was compacted or written after this view has another entry.
        let found = self.read_index(&tx, upto, |index| {
            let mut found = Vec::with_capacity(names.len());
            for (at, name) in names.iter().enumerate() {
                let place = index.peek(name, |number, doc| Some((number, doc.single_record()?)))?;
                found.extend(place.flatten().map(|(number, seq)| (seq, number, at)));
            }
            Ok(found)
        })?;
        let mut found: Vec<_> = found.into_iter().filter(|(seq, ..)| *seq <= upto).collect();
        found.sort_unstable();
        let mut records: Vec<Option<LogRecord>> = vec![None; names.len()];
        for (seq, number, at) in found {
            let record = log::read_record(&tx, &self.shared.seal, number, seq, &names[at]);
            records[at] = record.map_err(store_error(ACTION))?;
        }
        Ok(records)
    }
}
