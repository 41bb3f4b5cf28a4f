//! Disk space that is reserved for when the disk is full.
//!
//! Even a removal writes: first to the write-ahead log, and the space that it frees becomes usable
//! only later. So a separate file takes some space. When no other space is left, the file is
//! truncated, for small writes and for removals. It is filled again when there is room.

mod full_disk;

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    access::{open_only_name, temporary_file},
    location::beside,
};
use crate::StoreError;

/// The reserved space, in bytes.
pub(super) const RESERVE_BYTES: u64 = 2 << 20;

/// The part of the reserve that opening a store may use, in bytes: the write-ahead log, whose index
/// alone takes 32 KiB, is created again after the last process closed the store.
const OPENING_BYTES: u64 = 256 << 10;

/// The largest batch that may use the reserve, in bytes. Removals may use it as well.
pub(super) const SMALL_BATCH_BYTES: usize = 16 << 10;

/// Disk space that is reserved for when the disk is full.
#[derive(Debug)]
pub(super) struct DiskReserve {
    path: PathBuf,
    /// Whether the reserved part of a quota may be used now. See [`PageQuota`].
    is_open: Arc<AtomicBool>,
    has_quota: bool,
}

/// The size limit of the file for one handle.
#[derive(Debug, Clone)]
pub(super) struct PageQuota {
    n_pages: u32,
    /// Whether the reserved part may be used now.
    is_open: Arc<AtomicBool>,
}

impl DiskReserve {
    pub(super) fn new(path: &Path) -> Self {
        let is_open = Arc::new(AtomicBool::new(false));
        Self { path: beside(path, "-reserve"), is_open, has_quota: false }
    }

    /// Reserves part of a quota as well.
    pub(super) fn with_quota(mut self, n_pages: u32) -> (Self, PageQuota) {
        self.has_quota = true;
        let quota = PageQuota { n_pages, is_open: self.is_open.clone() };
        (self, quota)
    }

    /// Fills the reserve, if a good deal more space is free. If that fails, there is no reserve.
    pub(super) fn fill(&self) {
        let is_whole = |file: fs::Metadata| file.len() >= RESERVE_BYTES;
        if self.path.metadata().is_ok_and(is_whole) || !has_room(&self.path) {
            return;
        }
        let Ok((temporary, file)) = temporary_file(&self.path) else { return };
        if allocate(file).and_then(|()| fs::rename(&temporary, &self.path)).is_err() {
            fs::remove_file(&temporary).ok();
        }
    }

    /// Opens a store; on a full disk, with part of the reserve. The rest stays for removals.
    pub(super) fn open_with_room<T>(
        &self,
        mut open: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match open() {
            Err(StoreError::Full { .. }) if self.shrink().is_ok() => open(),
            opened => opened,
        }
    }

    /// Frees part of the reserve.
    fn shrink(&self) -> io::Result<()> {
        let file = open_only_name(&self.path, fs::File::options().write(true))?;
        let len = file.metadata()?.len();
        file.set_len(len.saturating_sub(OPENING_BYTES))
    }

    /// Frees the reserve, and reports whether there was any.
    fn release(&self) -> bool {
        self.is_open.store(true, Ordering::Relaxed);
        fs::remove_file(&self.path).is_ok() || self.has_quota
    }
}

impl PageQuota {
    /// Returns how many pages the file may have now.
    pub(super) fn n_pages(&self) -> u32 {
        let kept = (self.n_pages / 8).min((RESERVE_BYTES / 4096) as u32);
        let is_open = self.is_open.load(Ordering::Relaxed);
        self.n_pages - if is_open { 0 } else { kept }
    }
}

fn allocate(mut file: fs::File) -> io::Result<()> {
    #[cfg(unix)]
    if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, RESERVE_BYTES).is_ok() {
        return Ok(());
    }
    // Not all zeros: some filesystems allocate no space for those.
    let mut block = [0; 4096];
    for _ in 0..RESERVE_BYTES / block.len() as u64 {
        getrandom::fill(&mut block).map_err(io::Error::other)?;
        file.write_all(&block)?;
    }
    Ok(())
}

/// Reports whether so much space is free that the reserve takes nothing from other programs.
#[cfg(unix)]
fn has_room(path: &Path) -> bool {
    let directory = super::location::directory_of(path);
    rustix::fs::statvfs(directory)
        .is_ok_and(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) >= 2 * RESERVE_BYTES)
}

#[cfg(not(unix))]
fn has_room(_: &Path) -> bool {
    true
}
