//! Replacing pieces that were damaged on the disk, when their content is put again.

use rusqlite::{Connection, OptionalExtension};
use yfs_types::hash::ContentHash;

use super::{
    blobs::{BlobPiece, decode_piece},
    seal::ValueSeal,
};

const FIND: &str = "SELECT n FROM chunk WHERE hash = ?1";

/// A stored piece: its hash, compression and data.
type StoredPiece = ([u8; 32], u8, Vec<u8>);

/// Returns the number under which a piece is stored, if it is stored and sound.
///
/// A piece whose stored bytes are damaged is replaced, so that all blobs that list it can be read
/// again: what is put must be readable.
pub(super) fn find_sound_piece(
    tx: &Connection,
    seal: &ValueSeal,
    piece: &BlobPiece,
) -> rusqlite::Result<Option<i64>> {
    let Some(n) = find_piece(tx, piece)? else { return Ok(None) };
    let stored = read_stored(tx, n)?;
    if stored.as_ref().is_some_and(|stored| is_sound(seal, stored, piece)) {
        return Ok(Some(n));
    }
    if stored.as_ref().is_some_and(|(hash, ..)| *hash == piece.hash) {
        replace_data(tx, n, piece)?;
        return Ok(Some(n));
    }
    // The index and the row disagree: one of them is damaged.
    tx.execute_batch("REINDEX chunk")?;
    if let Some(n) = find_piece(tx, piece)? {
        return Ok(Some(n));
    }
    if !stored.is_some_and(|stored| has_content(seal, &stored, piece)) {
        return Ok(None);
    }
    tx.execute("UPDATE chunk SET hash = ?2 WHERE n = ?1", (n, &piece.hash))?;
    Ok(Some(n))
}

fn find_piece(tx: &Connection, piece: &BlobPiece) -> rusqlite::Result<Option<i64>> {
    tx.prepare_cached(FIND)?.query_row([&piece.hash], |row| row.get(0)).optional()
}

fn read_stored(tx: &Connection, n: i64) -> rusqlite::Result<Option<StoredPiece>> {
    let find = "SELECT hash, codec, data FROM chunk WHERE n = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    tx.prepare_cached(find)?.query_row([n], read).optional()
}

/// Reports whether a stored piece has the hash and the content of a piece. The same program
/// compresses the same content to the same bytes, so that most pieces of a plain store need not be
/// decoded.
fn is_sound(seal: &ValueSeal, stored: &StoredPiece, piece: &BlobPiece) -> bool {
    let (hash, codec, data) = stored;
    let is_same = *codec == piece.codec && *data == piece.data;
    *hash == piece.hash && (is_same || has_content(seal, stored, piece))
}

/// Reports whether the data of a stored piece has the content of a piece.
fn has_content(seal: &ValueSeal, (_, codec, data): &StoredPiece, piece: &BlobPiece) -> bool {
    decode_piece(seal, &piece.hash, *codec, data.clone())
        .is_ok_and(|data| seal.stored_hash(&ContentHash::of(&data)) == piece.hash)
}

fn replace_data(tx: &Connection, n: i64, piece: &BlobPiece) -> rusqlite::Result<()> {
    let update = "UPDATE chunk SET len = ?2, codec = ?3, data = ?4 WHERE n = ?1";
    tx.execute(update, (n, piece.len, piece.codec, &piece.data)).map(drop)
}
