//! Making a new base: from the base before and the records after it.

use super::{
    super::{log::SqliteLog, log_head, store_error::store_error, transaction::SqliteTransaction},
    DocEntry, IndexError, IndexResult, LogIndex,
    base::{self, IndexBase, MARKS_KEY},
};
use crate::{
    DocName, Seq, StoreError,
    checkpoint::{CheckpointError, CheckpointWriter},
    derived::DerivedLabel,
    encryption::SealedDirectory,
};

const ACTION: &str = "write the index of the log";

/// The number of records in one list.
const LIST_LEN: usize = 256;

impl SqliteLog {
    /// Writes a new base if `after` records came after the last one, and reports whether it did:
    /// not if another process writes one.
    pub(in super::super) fn checkpoint_log(&self, after: u64) -> Result<bool, StoreError> {
        self.shared.ensure_writable(ACTION)?;
        if self.with_index(|index| Ok(index.n_after_base()))? < after {
            return Ok(false);
        }
        // Also if it fails: it must not be tried again and again.
        let is_damaged = {
            let mut index = self.index.lock();
            index.note_try();
            index.is_base_damaged()
        };
        let is_made = match self.make_base(after, is_damaged) {
            Err(IndexError::Base(error)) if error.is_of_files() && !is_damaged => {
                self.make_base(after, true)
            }
            made => made,
        };
        if is_made.map_err(write_error)? {
            let mut index = self.index.lock();
            index.note_made();
            index.shed();
            return Ok(true);
        }
        Ok(false)
    }

    /// Writes a new base, as changes of the last one or from nothing.
    fn make_base(&self, after: u64, from_nothing: bool) -> IndexResult<bool> {
        let directory = self.index_directory();
        let reader = self.shared.reader().map_err(IndexError::Store)?;
        let tx = SqliteTransaction::read(&reader)?;
        let mut index = if from_nothing { LogIndex::without_base() } else { LogIndex::default() };
        let n_after = index.answer(&directory, &tx, self.origin, |index| Ok(index.n_after_base()));
        if n_after.map_err(IndexError::Store)? < after && !from_nothing {
            return Ok(false);
        }
        let Some(label) = DerivedLabel::new(Seq(log_head::head(&tx)?)) else { return Ok(false) };
        let writer = match begin(&directory, index.base.as_ref()) {
            Ok(Some(writer)) => writer,
            Ok(None) | Err(CheckpointError::Stale) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut writer = index.write(writer)?;
        writer.write_changes()?;
        drop(tx);
        drop(reader);
        let marks = self.shared.get_meta(MARKS_KEY).map_err(IndexError::Store)?.unwrap_or_default();
        self.shared.set_meta(MARKS_KEY, &label.add_to(&marks)).map_err(IndexError::Store)?;
        writer.finish(&label.encode())?;
        Ok(true)
    }
}

fn begin(
    directory: &SealedDirectory,
    base: Option<&IndexBase>,
) -> Result<Option<CheckpointWriter>, CheckpointError> {
    match base {
        Some(base) => CheckpointWriter::begin_from(directory, &base.map),
        None => CheckpointWriter::begin(directory),
    }
}

impl LogIndex {
    /// Writes what is not as the base says.
    fn write(self, mut writer: CheckpointWriter) -> IndexResult<CheckpointWriter> {
        let totals = self.totals()?;
        for (number, doc) in &self.docs {
            if let Some(name) = self.names.get(number).filter(|_| doc.is_changed) {
                self.write_doc(&mut writer, name, *number, doc.clone())?;
            }
        }
        let (key, value) = base::head_entry(self.names_read_to, &totals);
        writer.set(key, Some(&value))?;
        Ok(writer)
    }

    fn write_doc(
        &self,
        writer: &mut CheckpointWriter,
        name: &DocName,
        number: u32,
        mut doc: DocEntry,
    ) -> IndexResult<()> {
        let before = self.base.as_ref().map(|base| base.entry(name)).transpose()?.flatten();
        let before = before.map(|(_, before)| before).unwrap_or_default();
        if let Some(base) = &self.base
            && before.listed != doc.listed
        {
            for key in base.list_keys(number)? {
                writer.set(&key, None)?;
            }
        }
        if before.marker != doc.marker {
            if before.marker > 0 {
                writer.set(&base::marker_key(before.marker), None)?;
            }
            let mut value = Vec::new();
            yfs_types::lib0::write_var_uint(&mut value, number.into());
            writer.set(&base::marker_key(doc.marker), Some(&value))?;
        }
        let n_listed = doc.records.len() / LIST_LEN * LIST_LEN;
        let rest = doc.records.split_off(n_listed);
        for list in doc.records.chunks(LIST_LEN) {
            let (last, _) = list[list.len() - 1];
            writer.set(&base::list_key(number, last), Some(&base::encode_list(list)))?;
            doc.listed.n_records += list.len() as u64;
            doc.listed.upto = last;
        }
        doc.records = rest;
        writer.set(&base::doc_key(name), Some(&base::encode_entry(number, &doc)))?;
        Ok(())
    }
}

fn write_error(error: IndexError) -> StoreError {
    match error {
        IndexError::Base(CheckpointError::Io(error)) => StoreError::io(ACTION, error),
        IndexError::Base(error) => {
            StoreError::Corrupt { action: ACTION, detail: error.to_string() }
        }
        IndexError::Sqlite(error) => store_error(ACTION)(error),
        IndexError::Store(error) => error,
    }
}
