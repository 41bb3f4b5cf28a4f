//! A file that programs of this mount have open: what they are writing, shared by all of their
//! handles.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::{Mutex, MutexGuard};
use yfs_types::id::FileId;
use yfs_vfs::{DirEntry, VersionToken};

use crate::{
    file_view::FileView, node_times::millis, program_name::Writer, working_copy::WorkingCopy,
};

/// How long a program that keeps a file open must write nothing until what it wrote is applied.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// The most appended bytes that wait.
pub(crate) const MAX_APPENDED_BYTES: usize = 4 << 20;

/// An open file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    state: Mutex<FileState>,
}

/// What the handles of a file share.
#[derive(Debug)]
pub(crate) struct FileState {
    /// The file. It changes if a rename puts the file into the place of another, whose id stays.
    pub(crate) id: FileId,
    /// What programs have written and is not applied.
    pub(crate) pending: PendingWrites,
    /// Grows with each write of this mount, so that other handles take a new content.
    pub(crate) generation: u64,
    /// The last content that was applied, if it was whole: a program that has not read since goes
    /// on from there, also if changes of others were merged into it.
    pub(crate) sent: Option<Arc<FileView>>,
    /// The version that the last content became, if nothing was merged into it. The kernel knows
    /// it.
    pub(crate) own_version: Option<VersionToken>,
    /// The number of handles that can write.
    pub(crate) n_writers: usize,
    /// Whether a program of this mount has removed the file.
    pub(crate) is_unlinked: bool,
    /// When a program last wrote.
    pub(crate) written_at: Instant,
}

/// Writes that are not applied.
#[derive(Debug, Default)]
pub(crate) enum PendingWrites {
    /// None.
    #[default]
    None,
    /// Bytes for the end of the file, whatever it is then.
    Appended {
        /// The bytes.
        data: Vec<u8>,
        /// The size of the file before them.
        size_before: u64,
        /// The last program that appended.
        writer: Writer,
    },
    /// A new content.
    Copy(WorkingCopy),
}

impl OpenFile {
    pub(crate) fn new(id: FileId) -> Self {
        let state = FileState {
            id,
            pending: PendingWrites::None,
            generation: 0,
            sent: None,
            own_version: None,
            n_writers: 0,
            is_unlinked: false,
            written_at: Instant::now(),
        };
        Self { state: Mutex::new(state) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, FileState> {
        self.state.lock()
    }
}

impl FileState {
    /// Records that a program has written.
    pub(crate) fn note_write(&mut self) {
        self.generation += 1;
        self.written_at = Instant::now();
    }

    /// Reports whether the writes of a program that keeps the file open are due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let is_waiting = match &self.pending {
            PendingWrites::None => false,
            PendingWrites::Appended { .. } => true,
            // What follows is the new content.
            PendingWrites::Copy(copy) => !copy.is_only_emptied,
        };
        is_waiting && !self.is_unlinked && now.duration_since(self.written_at) >= QUIET
    }

    /// Lets an entry show what programs of this mount are writing.
    pub(crate) fn show_pending(&self, entry: &mut DirEntry) {
        if let Some(size) = self.pending_size() {
            entry.size = size;
            entry.mtime = entry.mtime.max(millis(SystemTime::now() - self.written_at.elapsed()));
        }
    }

    /// Returns the size that programs of this mount see, if they are writing.
    pub(crate) fn pending_size(&self) -> Option<u64> {
        match &self.pending {
            PendingWrites::None => None,
            PendingWrites::Appended { data, size_before, .. } => {
                Some(size_before + data.len() as u64)
            }
            PendingWrites::Copy(copy) => Some(copy.size()),
        }
    }
}
