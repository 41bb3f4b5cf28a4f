//! Client ids that writers release for reuse.
//!
//! An id must never be used twice for the same clock: peers would have different content under
//! equal state vectors and never notice. So an id is reused only if every record written under it
//! is in this very file, and this is the file in which it was released:
//!
//! - A release is one transaction after the last append, and is on disk before the call returns. A
//!   writer that dies before that releases nothing.
//! - A claim is one transaction that is on disk before the call returns.
//! - A file beside the store contains a random number that changes with each claim. The store
//!   records that number, the identity of that file, the time of its last change by the system's
//!   clock, and the boot id of the machine. A copy, a restored backup or a disk that was set back
//!   while the machine was off differs in at least one of them, and then every released id is
//!   discarded.
//! - The machine has that number in its memory, too (`claim_witness.rs`), so that a volume that is
//!   set back while the machine runs is found out. A machine that is set back with its memory
//!   differs in nothing.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    path::PathBuf,
};

use rusqlite::{Connection, OptionalExtension};
use yfs_types::id::ClientId;

use super::{access::open_only_name, local::SqliteLocal, store_error::store_error};
use crate::{StoreError, WriterClaim, record::new_ids};

const CLAIM: &str = "claim client ids";
const RELEASE: &str = "release client ids";

/// The setting that holds the seal of the last claim.
const SEAL_KEY: &str = "store:claim-seal";

/// The number of released claims that are kept. More concurrent writers are rare.
const MAX_RELEASED: i64 = 64;

impl SqliteLocal {
    pub(super) fn claim_writer(&self) -> Result<WriterClaim, StoreError> {
        self.shared.ensure_writable(CLAIM)?;
        let any: Option<i64> = self
            .shared
            .reader()?
            .query_row("SELECT 1 FROM released LIMIT 1", [], |row| row.get(0))
            .optional()
            .map_err(store_error(CLAIM))?;
        let reused = if any.is_some() { self.claim_released()? } else { None };
        let [rows, cells, meta, content] = reused.unwrap_or_else(new_ids);
        Ok(WriterClaim { rows, cells, meta, content, reused: reused.is_some() })
    }

    fn claim_released(&self) -> Result<Option<[ClientId; 4]>, StoreError> {
        let mut writer = self.shared.writer(CLAIM)?;
        self.shared.syncer.ensure_sound()?;
        let tx = writer.begin(true, CLAIM)?;
        let sealed = read_seal(&tx).map_err(store_error(CLAIM))?;
        let sound = sealed.is_some() && self.seal().ok() == sealed;
        if !sound {
            tx.execute("DELETE FROM released", []).map_err(store_error(CLAIM))?;
        }
        let released = if sound { take_released(&tx).map_err(store_error(CLAIM))? } else { None };
        // From here on, an older state of the store does not match the file beside it.
        if let Ok(seal) = self.renew_seal() {
            write_seal(&tx, &seal).map_err(store_error(CLAIM))?;
        }
        tx.commit().map_err(store_error(CLAIM))?;
        Ok(released)
    }

    pub(super) fn release_writer(&self, claim: WriterClaim) -> Result<(), StoreError> {
        let mut writer = self.shared.writer(RELEASE)?;
        self.shared.syncer.ensure_sound()?;
        let tx = writer.begin(true, RELEASE)?;
        let sealed = read_seal(&tx).map_err(store_error(RELEASE))?;
        if sealed.is_none() || self.seal().ok() != sealed {
            tx.execute("DELETE FROM released", []).map_err(store_error(RELEASE))?;
            // Where seals are not available, no id is ever reused.
            let Ok(seal) = self.renew_seal() else { return Ok(()) };
            write_seal(&tx, &seal).map_err(store_error(RELEASE))?;
        }
        let [rows, cells, meta, content] =
            [claim.rows, claim.cells, claim.meta, claim.content].map(|id| id.get().cast_signed());
        tx.execute(
            "INSERT INTO released (rows, cells, meta, content)
             SELECT ?1, ?2, ?3, ?4 WHERE (SELECT count(*) FROM released) < ?5",
            (rows, cells, meta, content, MAX_RELEASED),
        )
        .map_err(store_error(RELEASE))?;
        tx.commit().map_err(store_error(RELEASE))
    }

    fn seal_path(&self) -> PathBuf {
        let mut path = self.shared.path.clone().into_os_string();
        path.push("-seal");
        path.into()
    }

    /// Returns the seal of the file beside the store as it is now.
    fn seal(&self) -> io::Result<Vec<u8>> {
        let mut file = open_only_name(&self.seal_path(), OpenOptions::new().read(true))?;
        let mut generation = [0; 16];
        file.read_exact(&mut generation)?;
        if !is_last(&file, &generation)? {
            return Err(io::Error::other("the machine knows a later claim, or none"));
        }
        describe(&file, &self.shared.path, generation)
    }

    /// Changes the file beside the store, and returns the new seal.
    fn renew_seal(&self) -> io::Result<Vec<u8>> {
        let mut generation = [0; 16];
        getrandom::fill(&mut generation).map_err(io::Error::other)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = open_only_name(&self.seal_path(), &mut options)?;
        file.rewind()?;
        file.write_all(&generation)?;
        file.sync_all()?;
        note_last(&file, &generation)?;
        describe(&file, &self.shared.path, generation)
    }
}

/// Reports whether the machine has this number as that of the last claim.
#[cfg(target_os = "linux")]
fn is_last(seal: &File, generation: &[u8; 16]) -> io::Result<bool> {
    super::claim_witness::ClaimWitness::of(seal)?.has(generation)
}

/// Notes the number of a claim in the memory of the machine.
#[cfg(target_os = "linux")]
fn note_last(seal: &File, generation: &[u8; 16]) -> io::Result<()> {
    super::claim_witness::ClaimWitness::of(seal)?.note(generation)
}

/// Other systems have no such memory.
#[cfg(not(target_os = "linux"))]
fn is_last(_: &File, _: &[u8; 16]) -> io::Result<bool> {
    Ok(false)
}

/// Other systems have no such memory.
#[cfg(not(target_os = "linux"))]
fn note_last(_: &File, _: &[u8; 16]) -> io::Result<()> {
    Ok(())
}

/// Returns the properties of the file that no copy of it shares.
#[cfg(target_os = "linux")]
fn describe(file: &File, store: &std::path::Path, generation: [u8; 16]) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::MetadataExt;
    let seal = file.metadata()?;
    let store = std::fs::metadata(store)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let numbers = [
        seal.dev(),
        seal.ino(),
        seal.ctime().cast_unsigned(),
        seal.ctime_nsec().cast_unsigned(),
        store.dev(),
        store.ino(),
    ];
    let mut bytes = generation.to_vec();
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(boot.trim().as_bytes());
    Ok(bytes)
}

/// Other systems report no such properties, so no id is ever reused.
#[cfg(not(target_os = "linux"))]
fn describe(_: &File, _: &std::path::Path, _: [u8; 16]) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

fn read_seal(tx: &Connection) -> rusqlite::Result<Option<Vec<u8>>> {
    let find = "SELECT value FROM meta WHERE key = ?1";
    tx.query_row(find, [SEAL_KEY], |row| row.get(0)).optional()
}

fn write_seal(tx: &Connection, seal: &[u8]) -> rusqlite::Result<()> {
    tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", (SEAL_KEY, seal))?;
    Ok(())
}

fn take_released(tx: &Connection) -> rusqlite::Result<Option<[ClientId; 4]>> {
    let sql = "DELETE FROM released WHERE n = (SELECT min(n) FROM released)
               RETURNING rows, cells, meta, content";
    let mut statement = tx.prepare(sql)?;
    let ids: Option<[i64; 4]> = statement
        .query_row([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
        .optional()?;
    Ok(ids.map(|ids| ids.map(|id| ClientId::from_random(id.cast_unsigned()))))
}
