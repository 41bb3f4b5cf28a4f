//! Blobs: split into pieces by content; each piece is stored once, compressed.
//!
//! A blob is a list of pieces. Pieces are found by the hash of their content, so a new version of a
//! large file costs only its changes. There are no reference counts: a sweep marks the pieces that
//! blobs list, and removes the others.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::HashSet,
    io::{Read, Write},
    ops::Range,
    sync::Arc,
    thread,
    time::SystemTime,
};

use fastcdc::v2020::{Error as CutError, StreamCDC};
use rusqlite::{Connection, OptionalExtension, Row};
use yfs_types::{hash::ContentHash, time::Millis};

use super::{
    blob_mend::find_sound_piece,
    seal::{ValuePlace, ValueSeal},
    shared_connections::SharedConnections,
    store_error::store_error,
    wipe::PAUSE,
};
use crate::{BlobInfo, BlobMark, HandleOrigin, StoreError};

/// The smallest, usual and greatest length of a piece, in bytes.
pub(super) const PIECE_LEN: [usize; 3] = [16 << 10, 64 << 10, 256 << 10];

/// Pieces are written in batches of this many bytes.
const BATCH_BYTES: usize = 4 << 20;

/// A sweep removes this many pieces per transaction, so that other writers can write in between.
const SWEEP_PIECES: usize = 64;

/// An upload that made no progress for this long loses its pieces to a sweep.
const ABANDONED_MS: i64 = 24 * 60 * 60 * 1000;

/// The pieces of blobs that are being put, by number, with their upload and its start time.
pub(super) const UPLOAD_TABLE: &str = "
CREATE TABLE upload (
    n INTEGER NOT NULL, id INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (n, id))
    STRICT, WITHOUT ROWID;
";

const COMPRESSION_LEVEL: i32 = 3;
const CODEC_RAW: u8 = 0;
const CODEC_ZSTD: u8 = 1;

const PUT: &str = "put a blob";
const READ: &str = "read a blob";
const REMOVE: &str = "remove blobs";

/// A piece, ready to be written.
pub(super) struct BlobPiece {
    /// The hash under which it is stored.
    pub(super) hash: [u8; 32],
    pub(super) len: u32,
    pub(super) codec: u8,
    pub(super) data: Vec<u8>,
}

/// A piece in the list of a blob: 12 bytes each, and a CRC-32 at the end of the list.
#[derive(Debug, Clone, Copy)]
struct ListedPiece {
    n: u64,
    len: u32,
}

/// The list of a blob.
struct PieceList {
    /// The hash of the content, which only the list of an encrypted store has.
    hash: Option<ContentHash>,
    pieces: Vec<ListedPiece>,
}

/// A callback that gets the offset of a piece in the blob, and its bytes.
type TakePiece<'a> = dyn FnMut(u64, &[u8]) -> Result<(), StoreError> + 'a;

/// The tables of blobs and their pieces.
pub(super) struct SqliteBlobs {
    pub(super) shared: Arc<SharedConnections>,
}

impl SqliteBlobs {
    pub(super) fn put_blob(
        &self,
        content: &mut dyn Read,
        at: Millis,
    ) -> Result<BlobInfo, StoreError> {
        let [least, usual, greatest] = PIECE_LEN;
        let upload =
            BlobUpload { shared: &self.shared, id: random_id(), has_pieces: Cell::new(false) };
        let mut hasher = blake3::Hasher::new();
        let (mut size, mut n_ready) = (0, 0);
        let (mut list, mut ready) = (Vec::new(), Vec::new());
        for cut in StreamCDC::new(content, least, usual, greatest) {
            let data = cut.map_err(stream_error)?.data;
            hasher.update(&data);
            size += data.len() as u64;
            n_ready += data.len();
            ready.push(BlobPiece::new(&self.shared.seal, data));
            if n_ready >= BATCH_BYTES {
                upload.has_pieces.set(true);
                self.shared.write(PUT, |tx| {
                    let listed =
                        put_pieces(tx, &self.shared.seal, &ready, at).map_err(store_error(PUT))?;
                    upload.record_pieces(tx, &listed).map_err(store_error(PUT))?;
                    list.extend(listed);
                    Ok(())
                })?;
                ready.clear();
                n_ready = 0;
            }
        }
        let hash = ContentHash::from_bytes(*hasher.finalize().as_bytes());
        let info = self.shared.write(PUT, |tx| {
            if !are_stored(tx, &list).map_err(store_error(PUT))? {
                return Err(StoreError::BlobInterrupted { hash });
            }
            list.extend(put_pieces(tx, &self.shared.seal, &ready, at).map_err(store_error(PUT))?);
            let info = put_list(tx, &self.shared.seal, &hash, size, at, &list)
                .map_err(store_error(PUT))?;
            upload.end_upload(tx).map_err(store_error(PUT))?;
            Ok(info)
        })?;
        upload.has_pieces.set(false);
        Ok(info)
    }

    pub(super) fn read_blob(
        &self,
        hash: &ContentHash,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        let mut content = Vec::new();
        self.for_each_piece(hash, range.clone(), &mut |at, piece| {
            let start = range.start.saturating_sub(at).min(piece.len() as u64) as usize;
            let end = range.end.saturating_sub(at).min(piece.len() as u64) as usize;
            content.extend(&piece[start..end]);
            Ok(())
        })?;
        Ok(content)
    }

    pub(super) fn copy_blob(
        &self,
        hash: &ContentHash,
        to: &mut dyn Write,
    ) -> Result<u64, StoreError> {
        let mut hasher = blake3::Hasher::new();
        let size = self.for_each_piece(hash, 0..u64::MAX, &mut |_, piece| {
            hasher.update(piece);
            to.write_all(piece).map_err(|source| StoreError::Stream { source: Arc::new(source) })
        })?;
        if hasher.finalize().as_bytes() != hash.as_bytes() {
            return Err(damaged_blob(hash, "its pieces have a wrong hash together"));
        }
        Ok(size)
    }

    /// Reads the pieces that overlap a range and passes each to `take` with its offset. Returns the
    /// blob's size.
    fn for_each_piece(
        &self,
        hash: &ContentHash,
        range: Range<u64>,
        take: &mut TakePiece<'_>,
    ) -> Result<u64, StoreError> {
        let reader = self.shared.reader()?;
        // Not one transaction: the callback may be slow, and SQLite cannot reuse its log while a
        // view is open. Pieces never change.
        let stored_hash = self.shared.seal.stored_hash(hash);
        let found: Option<(i64, Vec<u8>)> = reader
            .prepare_cached("SELECT size, chunks FROM blob WHERE hash = ?1")
            .and_then(|mut find| {
                find.query_row([&stored_hash], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(store_error(READ))?;
        let Some((size, list)) = found else { return Err(StoreError::NoBlob { hash: *hash }) };
        let size = size.cast_unsigned();
        let list = decode_list(&self.shared.seal, &stored_hash, list)
            .ok_or_else(|| damaged_blob(hash, "its list is damaged"))?
            .pieces;
        if list.iter().map(|piece| u64::from(piece.len)).sum::<u64>() != size {
            return Err(damaged_blob(hash, "its list has a wrong size"));
        }
        let mut at = 0;
        for listed in list {
            let end = at + u64::from(listed.len);
            if at < range.end && range.start < end {
                let piece = match read_piece(&reader, &self.shared.seal, hash, listed) {
                    // The blob was removed while it was read.
                    Err(_) if self.blob_info(hash)?.is_none() => {
                        return Err(StoreError::NoBlob { hash: *hash });
                    }
                    result => result?,
                };
                take(at, &piece)?;
            }
            at = end;
        }
        Ok(size)
    }

    pub(super) fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError> {
        let reader = self.shared.reader()?;
        let mut find = reader
            .prepare_cached("SELECT size, at FROM blob WHERE hash = ?1")
            .map_err(store_error(READ))?;
        let info = |row: &Row<'_>| {
            let size = row.get::<_, i64>(0)?.cast_unsigned();
            Ok(BlobInfo { hash: *hash, size, at: Millis(row.get(1)?) })
        };
        find.query_row([self.shared.seal.stored_hash(hash)], info)
            .optional()
            .map_err(store_error(READ))
    }

    pub(super) fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError> {
        let reader = self.shared.reader()?;
        let read = || -> rusqlite::Result<Vec<Option<BlobInfo>>> {
            let sql = format!("SELECT {} FROM blob ORDER BY n", self.info_columns());
            let mut statement = reader.prepare(&sql)?;
            statement.query_map([], |row| self.read_info(row))?.collect()
        };
        let blobs: Option<Vec<BlobInfo>> = read().map_err(store_error(READ))?.into_iter().collect();
        blobs.ok_or_else(|| damaged_lists(READ))
    }

    pub(super) fn blob_mark(&self) -> Result<BlobMark, StoreError> {
        let reader = self.shared.reader()?;
        let find = "SELECT seq FROM sqlite_sequence WHERE name = 'blob'";
        let last: Option<i64> =
            reader.query_row(find, [], |row| row.get(0)).optional().map_err(store_error(READ))?;
        Ok(BlobMark(last.unwrap_or(0).cast_unsigned()))
    }

    pub(super) fn remove_blobs(
        &self,
        mark: BlobMark,
        older_than: Millis,
        keep: &dyn Fn(&ContentHash) -> bool,
    ) -> Result<u64, StoreError> {
        let mut doomed = self.blobs_put_before(mark, older_than)?;
        doomed.retain(|(_, blob)| !keep(&blob.hash));
        let n_bytes = self.shared.write(REMOVE, |tx| {
            let mut n_bytes = 0;
            for (n, blob) in &doomed {
                // A blob that was put again since has another number.
                let n_rows = tx
                    .execute("DELETE FROM blob WHERE n = ?1", [n])
                    .map_err(store_error(REMOVE))?;
                n_bytes += if n_rows > 0 { blob.size } else { 0 };
            }
            Ok(n_bytes)
        })?;
        self.sweep(older_than)?;
        Ok(n_bytes)
    }

    fn blobs_put_before(
        &self,
        mark: BlobMark,
        older_than: Millis,
    ) -> Result<Vec<(i64, BlobInfo)>, StoreError> {
        let reader = self.shared.reader()?;
        let read = || -> rusqlite::Result<Vec<Option<(i64, BlobInfo)>>> {
            let columns = self.info_columns();
            let sql = format!("SELECT {columns}, n FROM blob WHERE n <= ?1 AND at < ?2");
            let mut statement = reader.prepare(&sql)?;
            let rows = statement.query_map((mark.0.cast_signed(), older_than.0), |row| {
                let n = row.get("n")?;
                Ok(self.read_info(row)?.map(|info| (n, info)))
            })?;
            rows.collect()
        };
        // A blob with a damaged list may be in use, and stays.
        Ok(read().map_err(store_error(REMOVE))?.into_iter().flatten().collect())
    }

    /// Returns the columns that [`read_info`](Self::read_info) reads. Only an encrypted store has
    /// the hash of the content in the list.
    fn info_columns(&self) -> &'static str {
        if self.shared.seal.data_key().is_some() {
            "hash, size, at, chunks"
        } else {
            "hash, size, at"
        }
    }

    /// Reads a row of `info_columns`; `None` if the sealed list of pieces is damaged.
    fn read_info(&self, row: &Row<'_>) -> rusqlite::Result<Option<BlobInfo>> {
        let stored_hash = row.get(0)?;
        let hash = match self.shared.seal.data_key() {
            None => Some(ContentHash::from_bytes(stored_hash)),
            Some(_) => {
                decode_list(&self.shared.seal, &stored_hash, row.get(3)?).and_then(|list| list.hash)
            }
        };
        let size = row.get::<_, i64>(1)?.cast_unsigned();
        let at = Millis(row.get(2)?);
        Ok(hash.map(|hash| BlobInfo { hash, size, at }))
    }

    /// Removes old pieces that no blob lists.
    fn sweep(&self, older_than: Millis) -> Result<(), StoreError> {
        let mut candidates: Vec<u64> = {
            let reader = self.shared.reader()?;
            let read = || -> rusqlite::Result<Vec<u64>> {
                let mut statement = reader.prepare("SELECT n FROM chunk WHERE at < ?1")?;
                let rows = statement.query_map([older_than.0], |row| row.get::<_, i64>(0))?;
                rows.map(|n| n.map(i64::cast_unsigned)).collect()
            };
            read().map_err(store_error(REMOVE))?
        };
        let mut marked = ReferencedPieces::default();
        while !candidates.is_empty() {
            let rest = candidates.split_off(candidates.len().min(SWEEP_PIECES));
            self.shared.write(REMOVE, |tx| {
                // Blobs may have been put since the last round.
                marked.mark(tx, &self.shared.seal)?;
                drop_abandoned(tx).map_err(store_error(REMOVE))?;
                let unlisted = candidates.iter().filter(|n| !marked.pieces.contains(n));
                delete_pieces(tx, unlisted).map_err(store_error(REMOVE))
            })?;
            candidates = rest;
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// A blob that is being put in several transactions. No sweep may remove its pieces meanwhile.
struct BlobUpload<'a> {
    shared: &'a SharedConnections,
    id: i64,
    /// Whether the upload may be registered in the store.
    has_pieces: Cell<bool>,
}

impl BlobUpload<'_> {
    fn record_pieces(&self, tx: &Connection, pieces: &[ListedPiece]) -> rusqlite::Result<()> {
        let sql = "INSERT OR IGNORE INTO upload (n, id, at) VALUES (?1, ?2, ?3)";
        let (mut insert, now) = (tx.prepare_cached(sql)?, now_ms());
        for piece in pieces {
            insert.execute((piece.n.cast_signed(), self.id, now))?;
        }
        Ok(())
    }

    fn end_upload(&self, tx: &Connection) -> rusqlite::Result<()> {
        if self.has_pieces.get() {
            tx.execute("DELETE FROM upload WHERE id = ?1", [self.id])?;
        }
        Ok(())
    }
}

impl Drop for BlobUpload<'_> {
    fn drop(&mut self) {
        if self.has_pieces.get() {
            // If that fails too, a sweep treats the upload as abandoned after a day.
            let end = |tx: &Connection| self.end_upload(tx).map_err(store_error(PUT));
            self.shared.write(PUT, end).ok();
        }
    }
}

/// Drops uploads that made no progress for a day: their process has died.
///
/// If one is still alive, for example because the clock was set, its put fails and nothing else is
/// affected.
fn drop_abandoned(tx: &Connection) -> rusqlite::Result<()> {
    let old = now_ms().saturating_sub(ABANDONED_MS);
    let sql = "DELETE FROM upload WHERE id IN
               (SELECT id FROM upload GROUP BY id HAVING max(at) < ?1)";
    tx.prepare_cached(sql)?.execute([old]).map(drop)
}

/// Returns the time of this machine. It is used only to compute how long an upload has been idle.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn random_id() -> i64 {
    HandleOrigin::random().0.cast_signed()
}

/// The set of pieces that blobs list.
#[derive(Default)]
struct ReferencedPieces {
    pieces: HashSet<u64>,
    /// The number up to which blobs were read.
    upto: i64,
}

impl ReferencedPieces {
    fn mark(&mut self, tx: &Connection, seal: &ValueSeal) -> Result<(), StoreError> {
        let mut statement = tx
            .prepare_cached("SELECT n, chunks, hash FROM blob WHERE n > ?1 ORDER BY n")
            .map_err(store_error(REMOVE))?;
        let mut rows = statement.query([self.upto]).map_err(store_error(REMOVE))?;
        while let Some(row) = rows.next().map_err(store_error(REMOVE))? {
            self.upto = row.get(0).map_err(store_error(REMOVE))?;
            let list: Vec<u8> = row.get(1).map_err(store_error(REMOVE))?;
            // A damaged list may name any piece, so nothing can be swept.
            let hash: [u8; 32] = row.get(2).map_err(store_error(REMOVE))?;
            let list = decode_list(seal, &hash, list).ok_or_else(|| StoreError::Corrupt {
                action: REMOVE,
                detail: format!("the list of blob {} is damaged", self.upto),
            })?;
            self.pieces.extend(list.pieces.iter().map(|listed| listed.n));
        }
        Ok(())
    }
}

impl BlobPiece {
    fn new(seal: &ValueSeal, data: Vec<u8>) -> Self {
        let (hash, len) = (seal.stored_hash(&ContentHash::of(&data)), data.len() as u32);
        let (codec, data) = match zstd::bulk::compress(&data, COMPRESSION_LEVEL) {
            Ok(smaller) if smaller.len() < data.len() - data.len() / 16 => (CODEC_ZSTD, smaller),
            _ => (CODEC_RAW, data),
        };
        let sealed = match seal.seal(ValuePlace::Piece(&hash), &data) {
            Cow::Owned(sealed) => Some(sealed),
            Cow::Borrowed(_) => None,
        };
        Self { hash, len, codec, data: sealed.unwrap_or(data) }
    }
}

fn put_pieces(
    tx: &Connection,
    seal: &ValueSeal,
    pieces: &[BlobPiece],
    at: Millis,
) -> rusqlite::Result<Vec<ListedPiece>> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO chunk (hash, at, len, codec, data) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut put = |piece: &BlobPiece| {
        let BlobPiece { hash, len, codec, data } = piece;
        let n = match find_sound_piece(tx, seal, piece)? {
            Some(n) => n,
            None => insert.insert((hash, at.0, len, codec, data))?,
        };
        Ok(ListedPiece { n: n.cast_unsigned(), len: *len })
    };
    pieces.iter().map(&mut put).collect()
}

/// Deletes pieces that no upload needs. Their pages are not cleared here, because that would write
/// all of them once more; `wipe` clears them on request.
fn delete_pieces<'a>(
    tx: &Connection,
    mut pieces: impl Iterator<Item = &'a u64>,
) -> rusqlite::Result<()> {
    tx.execute_batch("PRAGMA secure_delete = OFF")?;
    let delete = |pieces: &mut dyn Iterator<Item = &'a u64>| -> rusqlite::Result<()> {
        let mut delete = tx.prepare_cached(
            "DELETE FROM chunk WHERE n = ?1
             AND NOT EXISTS (SELECT 1 FROM upload WHERE upload.n = ?1)",
        )?;
        for n in pieces {
            delete.execute([n.cast_signed()])?;
        }
        Ok(())
    };
    let deleted = delete(&mut pieces);
    tx.execute_batch("PRAGMA secure_delete = ON")?;
    deleted
}

/// Reports whether all pieces written in earlier transactions are still stored.
fn are_stored(tx: &Connection, list: &[ListedPiece]) -> rusqlite::Result<bool> {
    let mut find = tx.prepare_cached("SELECT 1 FROM chunk WHERE n = ?1")?;
    for listed in list {
        if !find.exists([listed.n.cast_signed()])? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn put_list(
    tx: &Connection,
    seal: &ValueSeal,
    hash: &ContentHash,
    size: u64,
    at: Millis,
    list: &[ListedPiece],
) -> rusqlite::Result<BlobInfo> {
    let stored_hash = seal.stored_hash(hash);
    let found: Option<i64> = tx
        .prepare_cached("SELECT at FROM blob WHERE hash = ?1")?
        .query_row([&stored_hash], |row| row.get(0))
        .optional()?;
    let at = found.map_or(at, |before| at.max(Millis(before)));
    // A new number for each put: a removal that was decided earlier keeps the blob, and a sweep
    // that is under way reads its list.
    let sql = "INSERT OR REPLACE INTO blob (hash, size, at, chunks) VALUES (?1, ?2, ?3, ?4)";
    let list = encode_list(seal, &stored_hash, hash, list);
    tx.prepare_cached(sql)?.execute((&stored_hash, size.cast_signed(), at.0, list))?;
    Ok(BlobInfo { hash: *hash, size, at })
}

/// Gives a blob a new number, as putting it again does. Reports whether it is in the store.
pub(super) fn renew_blob(tx: &Connection, stored_hash: &[u8; 32]) -> rusqlite::Result<bool> {
    let sql = "INSERT OR REPLACE INTO blob (hash, size, at, chunks)
               SELECT hash, size, at, chunks FROM blob WHERE hash = ?1";
    Ok(tx.prepare_cached(sql)?.execute([stored_hash])? > 0)
}

fn read_piece(
    connection: &Connection,
    seal: &ValueSeal,
    blob: &ContentHash,
    listed: ListedPiece,
) -> Result<Vec<u8>, StoreError> {
    type Found = ([u8; 32], u8, Vec<u8>);
    let mut find = connection
        .prepare_cached("SELECT hash, codec, data FROM chunk WHERE n = ?1")
        .map_err(store_error(READ))?;
    let found: Option<Found> = find
        .query_row([listed.n.cast_signed()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()
        .map_err(store_error(READ))?;
    let Some((hash, codec, data)) = found else {
        return Err(damaged_blob(blob, "a piece is missing"));
    };
    let data = decode_piece(seal, &hash, codec, data).map_err(|what| damaged_blob(blob, what))?;
    if data.len() != listed.len as usize || seal.stored_hash(&ContentHash::of(&data)) != hash {
        return Err(damaged_blob(blob, "a piece has a wrong hash"));
    }
    Ok(data)
}

/// Encodes a list as it is stored. That of an encrypted store begins with the hash of the content.
fn encode_list(
    seal: &ValueSeal,
    stored_hash: &[u8; 32],
    hash: &ContentHash,
    list: &[ListedPiece],
) -> Vec<u8> {
    let list = encode_pieces(list);
    if seal.data_key().is_none() {
        return list;
    }
    let list = [&hash.as_bytes()[..], &list].concat();
    seal.seal(ValuePlace::PieceList(stored_hash), &list).into_owned()
}

/// Returns the content of a stored piece, or what is wrong with it. `hash` is the hash under which
/// the piece is stored.
pub(super) fn decode_piece(
    seal: &ValueSeal,
    hash: &[u8; 32],
    codec: u8,
    data: Vec<u8>,
) -> Result<Vec<u8>, &'static str> {
    let [_, _, greatest] = PIECE_LEN;
    let data = seal.open(ValuePlace::Piece(hash), data).ok_or("a piece cannot be decrypted")?;
    match codec {
        CODEC_RAW => Ok(data),
        CODEC_ZSTD => {
            zstd::bulk::decompress(&data, greatest).map_err(|_| "a piece cannot be decompressed")
        }
        _ => Err("a piece has an unknown compression"),
    }
}

/// Decodes a stored list; `None` if it is damaged.
fn decode_list(seal: &ValueSeal, stored_hash: &[u8; 32], stored: Vec<u8>) -> Option<PieceList> {
    if seal.data_key().is_none() {
        return Some(PieceList { hash: None, pieces: decode_pieces(&stored)? });
    }
    let list = seal.open(ValuePlace::PieceList(stored_hash), stored)?;
    let (hash, list) = list.split_first_chunk::<32>()?;
    Some(PieceList { hash: Some(ContentHash::from_bytes(*hash)), pieces: decode_pieces(list)? })
}

fn encode_pieces(list: &[ListedPiece]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(list.len() * 12 + 4);
    for ListedPiece { n, len } in list {
        bytes.extend(n.to_le_bytes());
        bytes.extend(len.to_le_bytes());
    }
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

fn decode_pieces(bytes: &[u8]) -> Option<Vec<ListedPiece>> {
    let (list, crc) = bytes.split_last_chunk::<4>()?;
    let (listed, rest) = list.as_chunks::<12>();
    if !rest.is_empty() || crc32fast::hash(list) != u32::from_le_bytes(*crc) {
        return None;
    }
    let decode = |bytes: &[u8; 12]| {
        let (n, len) = bytes.split_first_chunk::<8>()?;
        let len = len.first_chunk::<4>()?;
        Some(ListedPiece { n: u64::from_le_bytes(*n), len: u32::from_le_bytes(*len) })
    };
    listed.iter().map(decode).collect()
}

fn damaged_lists(action: &'static str) -> StoreError {
    StoreError::Corrupt { action, detail: "the list of a blob's pieces is damaged".to_owned() }
}

fn stream_error(error: CutError) -> StoreError {
    let source = match error {
        CutError::IoError(source) => source,
        other => std::io::Error::other(other),
    };
    StoreError::Stream { source: Arc::new(source) }
}

fn damaged_blob(hash: &ContentHash, detail: &str) -> StoreError {
    StoreError::CorruptBlob { hash: *hash, detail: detail.to_owned() }
}
