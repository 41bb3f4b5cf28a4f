//! Reading the log backwards: which documents were written last.

use rusqlite::Connection;

use super::{
    index::IndexResult, log::SqliteLog, log_head::head, store_error::store_error,
    transaction::SqliteTransaction,
};
use crate::{DocName, Seq, StoreError};

const READ: &str = "read the log backwards";

impl SqliteLog {
    pub(super) fn documents_before(
        &self,
        before: Seq,
        n: usize,
    ) -> Result<Option<Vec<(Seq, DocName)>>, StoreError> {
        let reader = self.shared.reader()?;
        let tx = SqliteTransaction::read(&reader).map_err(store_error(READ))?;
        let upto = head(&tx).map_err(store_error(READ))?;
        let mut before = i64::try_from(before.0).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        // A row without a document is damaged, and is skipped; a page of such rows is not the end.
        while found.is_empty() {
            let rows = rows_before(&tx, before, n).map_err(store_error(READ))?;
            let Some((last, _)) = rows.last() else { break };
            before = *last;
            let names = self.read_index(&tx, upto, |index| {
                let name = |number| Ok(index.find_number(&tx, number)?.cloned());
                rows.iter().map(|(_, number)| *number).map(name).collect::<IndexResult<Vec<_>>>()
            });
            let named = rows.iter().zip(names?).filter_map(|((seq, _), name)| Some((*seq, name?)));
            found.extend(named.map(|(seq, name)| (Seq(seq.cast_unsigned()), name)));
        }
        Ok(Some(found))
    }
}

/// Returns the positions and document numbers of the last rows before a position.
fn rows_before(tx: &Connection, before: i64, n: usize) -> rusqlite::Result<Vec<(i64, u32)>> {
    let mut find =
        tx.prepare_cached("SELECT seq, doc FROM log WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2")?;
    let n = i64::try_from(n.max(1)).unwrap_or(i64::MAX);
    let rows = find.query_map((before, n), |row| {
        // A damaged number is that of no document.
        Ok((row.get(0)?, u32::try_from(row.get::<_, i64>(1)?).unwrap_or(u32::MAX)))
    })?;
    rows.collect()
}
