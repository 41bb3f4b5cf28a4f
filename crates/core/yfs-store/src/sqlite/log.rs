//! The log: appending to it, and reading it by document and by position.

use std::{collections::HashMap, mem, sync::Arc};

use parking_lot::Mutex;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row as SqlRow};
use yfs_types::time::Millis;

use super::{
    append_queue::{AppendQueue, Slot, WaitingBatch},
    append_watch::AppendWatch,
    blobs::renew_blob,
    doc_values::{read_past_heads, read_snapshot, write_fact},
    index::{DocEntry, IndexResult, IndexRow, KIND_UPDATE, LogIndex},
    log_head::{checksum, data_version, head},
    reserve::SMALL_BATCH_BYTES,
    schema::INLINE_LEN,
    seal::{ValuePlace, ValueSeal},
    shared_connections::{KnownHead, SharedConnections, SqliteWriter},
    store_error::store_error,
    transaction::SqliteTransaction,
};
use crate::{
    AppendBatch, AppendReceipt, DamagedRecord, DocFact, DocHead, DocHistory, DocName, DocStats,
    Durability, HandleOrigin, HeadPrecondition, LogRecord, ReloadNotice, Seq, StoreError,
    StoredDocument, TailPage, TouchedDocument, encryption::SealedDirectory,
};

/// The most bytes of records in one page of the tail.
const PAGE_BYTES: usize = 8 << 20;
/// The most records in one page of the tail.
const PAGE_RECORDS: usize = 20_000;

/// The directory of the base of the index, in that of the store's derived files.
const INDEX_DIRECTORY: &str = "log";

const APPEND: &str = "append";
pub(super) const LOAD: &str = "load a document";
const TAIL: &str = "read the log";

/// The tables of the log, of documents, and of what is known of these.
pub(super) struct SqliteLog {
    pub(super) shared: Arc<SharedConnections>,
    pub(super) origin: HandleOrigin,
    /// Batches that wait for the writer. The thread that gets the writer commits them all.
    pub(super) queue: AppendQueue,
    pub(super) index: Mutex<LogIndex>,
    pub(super) watch: AppendWatch,
}

/// The records that a transaction has written but not committed.
#[derive(Default)]
struct StagedRecords {
    names: HashMap<DocName, u32>,
    rows: Vec<IndexRow>,
    heads: HashMap<u32, u64>,
    last: u64,
}

/// A row of the log with its data. Its checksum is not verified yet.
struct RawRecord {
    seq: u64,
    number: u32,
    origin: HandleOrigin,
    at: Millis,
    crc: u32,
    /// The length of the update, before it was sealed.
    len: u32,
    data: Option<Vec<u8>>,
}

impl SqliteLog {
    /// Appends a batch, together with all others that wait for the writer at that moment.
    pub(super) fn append(&self, batch: AppendBatch) -> Result<AppendReceipt, StoreError> {
        self.shared.ensure_writable(APPEND)?;
        let slot = Arc::new(Slot::default());
        self.queue.lock().push(WaitingBatch { batch, slot: slot.clone() });
        let mut writer = self.shared.writer(APPEND)?;
        if let Some(result) = slot.lock().take() {
            return result;
        }
        let group = mem::take(&mut *self.queue.lock());
        // Answered while the writer is still locked: the next thread to get it checks for its
        // answer first.
        match self.shared.with_room(is_small(&group), || self.commit(&mut writer, &group)) {
            Ok(results) => {
                for (waiting, result) in group.iter().zip(results) {
                    *waiting.slot.lock() = Some(result);
                }
            }
            Err(error) => {
                for waiting in &group {
                    *waiting.slot.lock() = Some(Err(error.clone()));
                }
            }
        }
        slot.lock().take().expect("the thread that commits the group sets all results")
    }

    fn commit(
        &self,
        writer: &mut SqliteWriter,
        group: &[WaitingBatch],
    ) -> Result<Vec<Result<AppendReceipt, StoreError>>, StoreError> {
        let synced = group.iter().any(|waiting| waiting.batch.durability == Durability::Synced);
        if synced {
            self.shared.syncer.ensure_sound()?;
        }
        let known = writer.known.take();
        let tx = writer.begin(synced, APPEND)?;
        let version = data_version(&tx).map_err(store_error(APPEND))?;
        let last = match known {
            Some(known) if known.version == version => known.head,
            _ => head(&tx).map_err(store_error(APPEND))?,
        };
        if self.index.lock().complete_to() < last {
            self.read_index(&tx, last, |_| Ok(()))?;
        }
        let mut staged = StagedRecords { last, ..StagedRecords::default() };
        let results = group
            .iter()
            .map(|waiting| self.stage(&tx, &mut staged, &waiting.batch))
            .collect::<Result<Vec<_>, StoreError>>()?;
        tx.commit().map_err(store_error(APPEND))?;
        // Replaced meanwhile, so that the records are lost: they are not acknowledged.
        self.shared.file.check()?;

        let mut index = self.index.lock();
        index.add_names(sorted(staged.names));
        for row in staged.rows {
            index.add(row);
        }
        index.set_complete_to(staged.last);
        drop(index);
        writer.known = Some(KnownHead { version, head: staged.last });
        if !synced {
            self.shared.syncer.mark_unsynced();
        }
        self.watch.record_head(staged.last);
        Ok(results)
    }

    /// Writes one batch. The outer error fails the whole transaction, the inner one rejects only
    /// this batch.
    fn stage(
        &self,
        tx: &Connection,
        staged: &mut StagedRecords,
        batch: &AppendBatch,
    ) -> Result<Result<AppendReceipt, StoreError>, StoreError> {
        for expect in &batch.expect {
            if let Some(head) = self.foreign_head_after(tx, expect)? {
                return Ok(Err(StoreError::HeadMoved { doc: expect.doc.clone(), head }));
            }
        }
        for hash in &batch.blobs {
            if !renew_blob(tx, &self.shared.seal.stored_hash(hash)).map_err(store_error(APPEND))? {
                return Ok(Err(StoreError::NoBlob { hash: *hash }));
            }
        }
        let mut overtaken = false;
        for watched in &batch.watch {
            overtaken |= self.foreign_head_after(tx, watched)?.is_some();
        }
        let mut current = Vec::new();
        for entry @ (doc, fact) in &batch.facts {
            if self.staged_head(tx, staged, doc)? <= fact.upto.0 {
                current.push(entry);
            }
        }
        let first = if batch.updates.is_empty() { staged.last } else { staged.last + 1 };
        let mut insert = InsertUpdate::prepare(tx).map_err(store_error(APPEND))?;
        for (name, data) in &batch.updates {
            let number = self.number_for(tx, staged, name)?;
            // SQLite numbers rows without gaps, and a sealed update is bound to its number.
            let seq = staged.last + 1;
            let place = ValuePlace::Update { doc: name, seq, origin: self.origin, at: batch.at };
            let row = insert
                .run(number, self.origin, batch.at, data.len(), &self.shared.seal.seal(place, data))
                .map_err(store_error(APPEND))?;
            if row.seq != seq && self.shared.seal.data_key().is_some() {
                let detail = format!("record {seq} got the position {}", row.seq);
                return Err(StoreError::Corrupt { action: APPEND, detail });
            }
            staged.last = row.seq;
            staged.heads.insert(number, row.seq);
            staged.rows.push(row);
        }
        for (name, fact) in current {
            let known = self.index.lock().number(name);
            // Documents are created by records, from which other handles learn about them.
            let Some(number) = known.or_else(|| staged.names.get(name).copied()) else { continue };
            let upto = Seq(self.staged_head(tx, staged, name)?);
            write_fact(tx, &self.shared.seal, number, name, &DocFact { upto, ..*fact })
                .map_err(store_error(APPEND))?;
        }
        Ok(Ok(AppendReceipt { first: Seq(first), last: Seq(staged.last), overtaken }))
    }

    /// Returns another handle's last record of the document, if it is after the position that the
    /// precondition names.
    fn foreign_head_after(
        &self,
        tx: &Connection,
        expect: &HeadPrecondition,
    ) -> Result<Option<Seq>, StoreError> {
        let head = self.look_up(tx, |index| {
            Ok(index.find_doc(&expect.doc)?.map(|doc| Seq(doc.foreign_head)))
        })?;
        Ok(head.filter(|head| *head > expect.seen))
    }

    fn staged_head(
        &self,
        tx: &Connection,
        staged: &StagedRecords,
        name: &DocName,
    ) -> Result<u64, StoreError> {
        self.look_up(tx, |index| {
            let number = index.find(name)?.or_else(|| staged.names.get(name).copied());
            let Some(number) = number else { return Ok(0) };
            let known = index.doc(number).map_or(0, |doc| doc.head);
            Ok(staged.heads.get(&number).copied().unwrap_or(known))
        })
    }

    fn number_for(
        &self,
        tx: &Connection,
        staged: &mut StagedRecords,
        name: &DocName,
    ) -> Result<u32, StoreError> {
        if let Some(number) = self.look_up(tx, |index| index.find(name))? {
            return Ok(number);
        }
        if let Some(number) = staged.names.get(name) {
            return Ok(*number);
        }
        let mut insert =
            tx.prepare_cached("INSERT INTO doc (guid) VALUES (?1)").map_err(store_error(APPEND))?;
        let number = insert.insert([name.as_str()]).map_err(store_error(APPEND))?;
        let number = u32::try_from(number).map_err(|_| StoreError::Full { action: APPEND })?;
        staged.names.insert(name.clone(), number);
        Ok(number)
    }

    /// Returns the position of the last record.
    ///
    /// The `data_version` of the writing connection does not change by its own commits, so nothing
    /// needs to be read after them. While that connection writes, a reading connection is used.
    pub(super) fn head(&self) -> Result<Seq, StoreError> {
        self.shared.ensure_open()?;
        self.shared.file.check_now_and_then()?;
        match self.shared.writer.try_lock() {
            Some(mut writer) => writer.head().map(Seq).map_err(store_error(TAIL)),
            None => head(&*self.shared.reader()?).map(Seq).map_err(store_error(TAIL)),
        }
    }

    pub(super) fn doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.with_index(|index| Ok(index.find_doc(doc)?.map_or(DocHead::ZERO, DocEntry::doc_head)))
    }

    pub(super) fn time_at(&self, position: Seq) -> Result<Option<Millis>, StoreError> {
        // A marker of a compaction has the time of what it removed.
        let find = "SELECT at FROM log WHERE seq >= ?1 AND kind = 0 ORDER BY seq LIMIT 1";
        let reader = self.shared.reader()?;
        let mut select = reader.prepare_cached(find).map_err(store_error(LOAD))?;
        let at = select.query_row([position.0.cast_signed()], |row| row.get(0)).optional();
        Ok(at.map_err(store_error(LOAD))?.map(Millis))
    }

    pub(super) fn tailed_doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.shared.ensure_open()?;
        let found = {
            let mut index = self.index.lock();
            if self.shared.read_only {
                index.drop_unchanged();
            }
            index.find_doc(doc).map(|doc| doc.map(DocEntry::doc_head))
        };
        match found {
            Ok(head) => Ok(head.unwrap_or(DocHead::ZERO)),
            // The base is damaged: the log is read.
            Err(_) => self.doc_head(doc),
        }
    }

    /// Runs a lookup in an index that has all records committed before the call.
    pub(super) fn with_index<T>(
        &self,
        look_up: impl Fn(&mut LogIndex) -> IndexResult<T>,
    ) -> Result<T, StoreError> {
        let head = self.head()?;
        {
            let mut index = self.index.lock();
            if index.complete_to() >= head.0
                && let Ok(answer) = look_up(&mut index)
            {
                return Ok(answer);
            }
        }
        self.read_index(&*self.shared.reader()?, head.0, look_up)
    }

    /// Runs a lookup in the index as it is, which a caller of [`read_index`](Self::read_index)
    /// knows to be complete in the view of a connection.
    pub(super) fn look_up<T>(
        &self,
        connection: &Connection,
        look_up: impl Fn(&mut LogIndex) -> IndexResult<T>,
    ) -> Result<T, StoreError> {
        let answer = look_up(&mut self.index.lock());
        if let Ok(answer) = answer {
            return Ok(answer);
        }
        // The base is damaged: the log is read.
        let head = head(connection).map_err(store_error(TAIL))?;
        self.read_index(connection, head, look_up)
    }

    /// Runs a lookup in an index that has all records in the view of a connection, whose head is
    /// `head` or later.
    pub(super) fn read_index<T>(
        &self,
        connection: &Connection,
        head: u64,
        look_up: impl Fn(&mut LogIndex) -> IndexResult<T>,
    ) -> Result<T, StoreError> {
        let mut index = self.index.lock();
        if self.shared.read_only {
            index.drop_unchanged();
        }
        let answer = index.answer(&self.index_directory(), connection, self.origin, look_up)?;
        index.set_complete_to(head);
        Ok(answer)
    }

    /// Returns the directory of the base of the index.
    pub(super) fn index_directory(&self) -> SealedDirectory {
        self.shared.derived.join(INDEX_DIRECTORY)
    }

    pub(super) fn documents(&self) -> Result<Vec<DocStats>, StoreError> {
        self.with_index(|index| {
            let mut documents = Vec::new();
            index.for_each(|name, doc| documents.push(doc.stats(name)))?;
            Ok(documents)
        })
    }

    pub(super) fn doc_stats(&self, name: &DocName) -> Result<Option<DocStats>, StoreError> {
        self.with_index(|index| index.peek(name, |_, doc| doc.stats(name)))
    }

    pub(super) fn load(&self, name: &DocName) -> Result<StoredDocument, StoreError> {
        let reader = self.shared.reader()?;
        loop {
            let tx = SqliteTransaction::read(&reader).map_err(store_error(LOAD))?;
            if let Some(loaded) = self.load_in(&tx, name, None)? {
                return Ok(loaded);
            }
        }
    }

    pub(super) fn load_after(
        &self,
        name: &DocName,
        after: Seq,
    ) -> Result<Option<StoredDocument>, StoreError> {
        let reader = self.shared.reader()?;
        loop {
            let tx = SqliteTransaction::read(&reader).map_err(store_error(LOAD))?;
            if let Some(loaded) = self.load_in(&tx, name, Some(after))? {
                return Ok((loaded.snapshot_upto <= after).then_some(loaded));
            }
        }
    }

    pub(super) fn load_history(&self, name: &DocName) -> Result<DocHistory, StoreError> {
        let reader = self.shared.reader()?;
        loop {
            let tx = SqliteTransaction::read(&reader).map_err(store_error(LOAD))?;
            if let Some(loaded) = self.load_in(&tx, name, None)? {
                let number = self.index.lock().number(name).filter(|_| self.shared.has_past_heads);
                let read = |number| read_past_heads(&tx, &self.shared.seal, number, name);
                let past_heads = number.map(read).transpose();
                let past_heads = past_heads.map_err(store_error(LOAD))?.unwrap_or_default();
                return Ok(DocHistory { loaded, past_heads });
            }
        }
    }

    /// Loads a document in the view of a transaction. Returns `None` if that view is too old: the
    /// index includes a compaction that the view does not, and has dropped the removed records.
    ///
    /// With `after`, the snapshot and the records up to that position are left out.
    fn load_in(
        &self,
        tx: &Connection,
        name: &DocName,
        after: Option<Seq>,
    ) -> Result<Option<StoredDocument>, StoreError> {
        let upto = head(tx).map_err(store_error(LOAD))?;
        let mut loaded = StoredDocument { upto: Seq(upto), ..StoredDocument::default() };
        let first = after.unwrap_or(Seq(0)).0;
        let found = self.read_index(tx, upto, |index| {
            let Some(number) = index.find(name)? else { return Ok(None) };
            let records = index.records_after(number, first)?;
            Ok(index.doc(number).map(|doc| (number, doc.clone(), records)))
        })?;
        let Some((number, doc, mut records)) = found else { return Ok(Some(loaded)) };
        if doc.marker > upto {
            return Ok(None);
        }
        // The index may be newer than this view.
        records.retain(|(seq, _)| *seq <= upto);
        let seqs: Vec<u64> = records.into_iter().map(|(seq, _)| seq).collect();
        match after {
            Some(_) if doc.head > upto => return Ok(None),
            Some(_) => {
                loaded.snapshot_upto = Seq(doc.compacted);
                loaded.head = doc.doc_head();
            }
            None => {
                loaded.head = doc.compacted_head();
                read_snapshot(tx, &self.shared.seal, number, name, &mut loaded)?;
            }
        }
        let mut missing = Vec::new();
        read_records(tx, number, &seqs, &mut |found| match found {
            Ok(raw) => {
                let head = DocHead { seq: Seq(raw.seq), origin: raw.origin };
                loaded.head = loaded.head.max(head);
                match raw.verify(name, &self.shared.seal) {
                    Ok(record) => loaded.updates.push(record),
                    Err(damage) => loaded.damaged.push(damage),
                }
            }
            Err(seq) => missing.push(seq),
        })
        .map_err(store_error(LOAD))?;
        if !missing.is_empty() {
            self.look_up(tx, |index| {
                index.drop_records(number, |seq| missing.binary_search(&seq).is_ok())
            })?;
        }
        Ok(Some(loaded))
    }

    pub(super) fn tail(
        &self,
        after: Seq,
        select: &dyn Fn(&DocName, HandleOrigin) -> bool,
    ) -> Result<TailPage, StoreError> {
        let reader = self.shared.reader()?;
        let tx = SqliteTransaction::read(&reader).map_err(store_error(TAIL))?;
        let head = Seq(head(&tx).map_err(store_error(TAIL))?);
        let mut tail = TailPage { upto: head.max(after), head, ..TailPage::default() };
        let marked = self.read_index(&tx, head.0, |index| index.marked_after(&tx, after.0))?;
        tail.reload = marked
            .into_iter()
            .filter(|(_, entry)| entry.compacted > after.0)
            .map(|(doc, DocEntry { compacted, forgotten, .. })| ReloadNotice {
                doc,
                upto: Seq(compacted),
                forgotten,
            })
            .collect();
        self.read_page(&tx, after, select, &mut tail)?;
        Ok(tail)
    }

    fn read_page(
        &self,
        tx: &Connection,
        after: Seq,
        select: &dyn Fn(&DocName, HandleOrigin) -> bool,
        tail: &mut TailPage,
    ) -> Result<(), StoreError> {
        let mut statement = tx
            .prepare_cached(
                "SELECT seq, doc, origin, at, crc, data, kind, len FROM log
                 WHERE seq > ?1 ORDER BY seq",
            )
            .map_err(store_error(TAIL))?;
        let mut rows = statement.query([after.0.cast_signed()]).map_err(store_error(TAIL))?;
        let mut touched: HashMap<u32, TouchedDocument> = HashMap::new();
        let (mut n_bytes, mut n_rows) = (0, 0);
        while let Some(row) = rows.next().map_err(store_error(TAIL))? {
            let seq = row.get::<_, i64>(0).map_err(store_error(TAIL))?.cast_unsigned();
            if n_bytes > PAGE_BYTES || n_rows >= PAGE_RECORDS {
                tail.upto = Seq(seq - 1);
                tail.more = true;
                break;
            }
            n_rows += 1;
            if row.get::<_, i64>(6).map_err(store_error(TAIL))? != KIND_UPDATE {
                continue;
            }
            let number: u32 = row.get(1).map_err(store_error(TAIL))?;
            let origin = origin_of(row).map_err(store_error(TAIL))?;
            // A row without a document is damaged: `check` reports it, and other documents are not
            // affected.
            let doc = self.look_up(tx, |index| Ok(index.find_number(tx, number)?.cloned()))?;
            let Some(doc) = doc else { continue };
            let fresh = || TouchedDocument { doc: doc.clone(), head: Seq(seq), own: true };
            let entry = touched.entry(number).or_insert_with(fresh);
            entry.head = Seq(seq);
            entry.own &= origin == self.origin;
            if select(&doc, origin) {
                let raw = RawRecord::read(tx, row).map_err(store_error(TAIL))?;
                n_bytes += raw.data.as_ref().map_or(0, Vec::len);
                match raw.verify(&doc, &self.shared.seal) {
                    Ok(record) => tail.records.push(record),
                    Err(damage) => tail.damaged.push(damage),
                }
            }
        }
        tail.touched = touched.into_values().collect();
        tail.touched.sort_by_key(|touched| touched.head);
        Ok(())
    }
}

impl SqliteWriter {
    /// Returns the end of the log, and remembers it.
    fn head(&mut self) -> rusqlite::Result<u64> {
        // Read before the head: a commit between the two is read again next time.
        let version = data_version(&self.connection)?;
        if let Some(known) = self.known.filter(|known| known.version == version) {
            return Ok(known.head);
        }
        let head = head(&self.connection)?;
        self.known = Some(KnownHead { version, head });
        Ok(head)
    }
}

impl DocEntry {
    fn stats(&self, name: &DocName) -> DocStats {
        DocStats {
            doc: name.clone(),
            n_records: self.n_records(),
            bytes: self.bytes,
            snapshot_bytes: self.snapshot_bytes,
            head: Seq(self.head),
        }
    }
}

impl RawRecord {
    /// Reads a row of `seq, doc, origin, at, crc, data, kind, len`.
    fn read(connection: &Connection, row: &SqlRow<'_>) -> rusqlite::Result<Self> {
        let seq: i64 = row.get(0)?;
        let mut data: Option<Vec<u8>> = row.get(5)?;
        if data.is_none() {
            let mut body = connection.prepare_cached("SELECT data FROM body WHERE seq = ?1")?;
            data = body.query_row([seq], |row| row.get(0)).optional()?;
        }
        let len: u32 = row.get(7)?;
        Ok(Self {
            seq: seq.cast_unsigned(),
            number: row.get(1)?,
            origin: origin_of(row)?,
            at: Millis(row.get(3)?),
            crc: row.get(4)?,
            len,
            data,
        })
    }

    fn verify(self, doc: &DocName, seal: &ValueSeal) -> Result<LogRecord, DamagedRecord> {
        let (seq, len) = (Seq(self.seq), self.len as usize);
        let damage =
            |reason: &str| DamagedRecord { doc: doc.clone(), seq, reason: reason.to_owned() };
        let Some(data) = self.data.filter(|data| data.len() == seal.stored_len(len)) else {
            return Err(damage("its data is missing or cut"));
        };
        if checksum(self.number, KIND_UPDATE, self.origin, self.at, &data) != self.crc {
            return Err(damage("its checksum is wrong"));
        }
        let place = ValuePlace::Update { doc, seq: self.seq, origin: self.origin, at: self.at };
        let data = seal.open(place, data).ok_or_else(|| damage("it cannot be decrypted"))?;
        Ok(LogRecord { seq, doc: doc.clone(), origin: self.origin, at: self.at, data })
    }
}

/// The prepared statements that append an update.
struct InsertUpdate<'a> {
    log: CachedStatement<'a>,
    body: CachedStatement<'a>,
}

impl<'a> InsertUpdate<'a> {
    fn prepare(tx: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            log: tx.prepare_cached(
                "INSERT INTO log (doc, kind, origin, at, crc, len, data)
                 VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6)",
            )?,
            body: tx.prepare_cached("INSERT INTO body (seq, data) VALUES (?1, ?2)")?,
        })
    }

    /// Inserts an update of `len` bytes, which are stored as `data`.
    fn run(
        &mut self,
        doc: u32,
        origin: HandleOrigin,
        at: Millis,
        len: usize,
        data: &[u8],
    ) -> rusqlite::Result<IndexRow> {
        let inline = (len <= INLINE_LEN).then_some(data);
        let crc = checksum(doc, KIND_UPDATE, origin, at, data);
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let whose = origin;
        let origin = origin.0.cast_signed();
        let seq = self.log.insert((doc, origin, at.0, crc, len, inline))?;
        if inline.is_none() {
            self.body.insert((seq, data))?;
        }
        Ok(IndexRow {
            seq: seq.cast_unsigned(),
            doc,
            kind: KIND_UPDATE,
            own: true,
            origin: whose,
            len,
            reaches: 0,
            sound: true,
        })
    }
}

/// Reads records of one document. Each result is a record, or the position of a deleted one.
fn read_records(
    tx: &Connection,
    number: u32,
    seqs: &[u64],
    take: &mut dyn FnMut(Result<RawRecord, u64>),
) -> rusqlite::Result<()> {
    let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else { return Ok(()) };
    if last - first < 4 * seqs.len() as u64 {
        // The records are dense enough to scan the whole range.
        let mut statement = tx.prepare_cached(
            "SELECT seq, doc, origin, at, crc, data, kind, len FROM log
             WHERE seq BETWEEN ?1 AND ?2 AND doc = ?3 AND kind = 0 ORDER BY seq",
        )?;
        let mut rows = statement.query((first.cast_signed(), last.cast_signed(), number))?;
        let mut expected = seqs.iter().copied().peekable();
        while let Some(row) = rows.next()? {
            let raw = RawRecord::read(tx, row)?;
            while let Some(gone) = expected.next_if(|seq| *seq < raw.seq) {
                take(Err(gone));
            }
            expected.next_if_eq(&raw.seq);
            take(Ok(raw));
        }
        expected.for_each(|gone| take(Err(gone)));
        return Ok(());
    }
    let mut statement = tx.prepare_cached(
        "SELECT seq, doc, origin, at, crc, data, kind, len FROM log WHERE seq = ?1",
    )?;
    for seq in seqs {
        let found =
            statement.query_row([seq.cast_signed()], |row| RawRecord::read(tx, row)).optional()?;
        take(found.ok_or(*seq));
    }
    Ok(())
}

/// Reads one record; `None` if it is missing or damaged.
pub(super) fn read_record(
    tx: &Connection,
    seal: &ValueSeal,
    number: u32,
    seq: u64,
    name: &DocName,
) -> rusqlite::Result<Option<LogRecord>> {
    let mut record = None;
    read_records(tx, number, &[seq], &mut |found| {
        record = found.ok().and_then(|raw| raw.verify(name, seal).ok());
    })?;
    Ok(record)
}

/// Returns the bytes that are left of a record of a document, if there is such a record.
pub(super) fn read_record_bytes(
    tx: &Connection,
    number: u32,
    seq: Seq,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let seq = seq.0.cast_signed();
    let find = "SELECT data FROM log WHERE seq = ?1 AND doc = ?2 AND kind = 0";
    let found: Option<Option<Vec<u8>>> =
        tx.prepare_cached(find)?.query_row((seq, number), |row| row.get(0)).optional()?;
    let Some(data) = found else { return Ok(None) };
    if data.is_some() {
        return Ok(data);
    }
    let mut body = tx.prepare_cached("SELECT data FROM body WHERE seq = ?1")?;
    let body = body.query_row([seq], |row| row.get(0)).optional()?;
    Ok(Some(body.unwrap_or_default()))
}

fn origin_of(row: &SqlRow<'_>) -> rusqlite::Result<HandleOrigin> {
    Ok(HandleOrigin(row.get::<_, i64>(2)?.cast_unsigned()))
}

/// Reports whether a group of batches may use the space that is reserved for a full disk.
fn is_small(group: &[WaitingBatch]) -> bool {
    let updates = group.iter().flat_map(|waiting| &waiting.batch.updates);
    updates.map(|(_, data)| data.len() + 64).sum::<usize>() <= SMALL_BATCH_BYTES
}

fn sorted(names: HashMap<DocName, u32>) -> Vec<(DocName, u32)> {
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|(_, number)| *number);
    names
}
