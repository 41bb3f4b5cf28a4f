//! The manifest: the files of the newest version, and what they were derived from.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::checkpoint::{
    CheckpointError, Result,
    block_file::BlockFileSummary,
    bytes::{ByteReader, write_bytes, write_varint},
    checks::{checksum, hex},
    positioned::private_file,
};

const MAGIC: &[u8; 8] = b"yfsckp01";
const NAME: &str = "manifest";
const NEW_NAME: &str = "manifest.new";

/// The greatest number of files. Each is eight times as long as all newer ones together.
const MAX_LEVELS: u64 = 64;

/// The content of a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// What the caller recorded of the log.
    pub(crate) label: Vec<u8>,
    /// Newest first.
    pub(crate) levels: Vec<BlockFileSummary>,
}

impl Manifest {
    /// Reads the manifest, if there is one.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>> {
        let bytes = match fs::read(directory.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let damaged = || CheckpointError::Damaged("the manifest");
        let (body, check) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        if !body.starts_with(MAGIC) {
            return Err(CheckpointError::Foreign);
        }
        if checksum(&[body]) != u32::from_le_bytes(*check) {
            return Err(damaged());
        }
        let mut reader = ByteReader::new(&body[MAGIC.len()..]);
        let label = reader.read_bytes()?.to_vec();
        let n_levels = reader.read_varint()?;
        if n_levels > MAX_LEVELS {
            return Err(damaged());
        }
        let levels = (0..n_levels).map(|_| read_summary(&mut reader)).collect::<Result<_>>()?;
        Ok(Some(Self { label, levels }))
    }

    /// Replaces the manifest, and syncs it.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        let mut bytes = MAGIC.to_vec();
        write_bytes(&mut bytes, &self.label);
        write_varint(&mut bytes, self.levels.len() as u64);
        for level in &self.levels {
            bytes.extend_from_slice(&level.id);
            write_varint(&mut bytes, level.n_bytes);
            bytes.extend_from_slice(&level.footer_checksum.to_le_bytes());
        }
        bytes.extend_from_slice(&checksum(&[&bytes]).to_le_bytes());
        let new = directory.join(NEW_NAME);
        let mut file = private_file().create(true).truncate(true).open(&new)?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        drop(file);
        Ok(fs::rename(new, directory.join(NAME))?)
    }
}

fn read_summary(reader: &mut ByteReader<'_>) -> Result<BlockFileSummary> {
    let (id, n_bytes) = (reader.read_array()?, reader.read_varint()?);
    let footer_checksum = u32::from_le_bytes(reader.read_array()?);
    Ok(BlockFileSummary { id, n_bytes, footer_checksum })
}

/// Returns the path of a file.
pub(crate) fn level_path(directory: &Path, id: &[u8; 16]) -> PathBuf {
    directory.join(format!("{}.level", hex(id)))
}

/// Takes the lock of the one writer; `None` if another process has it.
pub(crate) fn try_lock(directory: &Path) -> Result<Option<File>> {
    let lock = open_lock(directory)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Takes the lock of the one writer, and waits for it.
pub(crate) fn lock(directory: &Path) -> Result<File> {
    let lock = open_lock(directory)?;
    lock.lock()?;
    Ok(lock)
}

fn open_lock(directory: &Path) -> Result<File> {
    Ok(private_file().create(true).truncate(false).open(directory.join("lock"))?)
}

/// Removes all versions. The lock stays, since a process that waits for it has its file open.
pub(crate) fn clear(directory: &Path) -> Result<()> {
    for name in [NAME, NEW_NAME] {
        match fs::remove_file(directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    remove_unnamed(directory, &[])
}

/// Removes the files that no manifest names: those of merged levels, and of killed writers.
pub(crate) fn remove_unnamed(directory: &Path, levels: &[BlockFileSummary]) -> Result<()> {
    let named: Vec<PathBuf> = levels.iter().map(|level| level_path(directory, &level.id)).collect();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "level") || named.contains(&path) {
            continue;
        }
        match fs::remove_file(path) {
            // Windows keeps a file that a reader has open; the next writer removes it.
            Err(error) if error.kind() == io::ErrorKind::NotFound || cfg!(windows) => {}
            removed => removed?,
        }
    }
    Ok(())
}
