//! A node that programs have open: the content that they read.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use fuser::{FileHandle, INodeNo};
use parking_lot::{Mutex, MutexGuard};
use yfs_types::time::Millis;
use yfs_vfs::DirEntry;

use crate::{
    file_view::{FileView, ReadingPhase},
    open_file::OpenFile,
};

/// How long the content stays after pages of it were mapped: the kernel does not say when a program
/// that maps a file has read all of it.
const MAPPED_FOR: Duration = Duration::from_secs(1);

/// An open node.
#[derive(Debug)]
pub(crate) struct OpenNode {
    pub(crate) number: INodeNo,
    /// What the programs write, which the other nodes of the file share.
    pub(crate) file: Arc<OpenFile>,
    reading: Mutex<NodeReading>,
}

/// What the programs that have a node open read.
#[derive(Debug)]
pub(crate) struct NodeReading {
    pub(crate) content: NodeContent,
    passes: HashMap<u64, Pass>,
    /// When a program first and last asked for the attributes of this content.
    stat_at: Option<(Instant, Instant)>,
}

/// Where a handle is.
#[derive(Debug)]
struct Pass {
    phase: ReadingPhase,
    /// When it last read.
    read_at: Option<Instant>,
    /// When pages were last read into memory that is mapped through it.
    mapped_at: Option<Instant>,
}

/// A content of a node, with its attributes.
#[derive(Debug, Clone)]
pub(crate) struct NodeContent {
    pub(crate) view: Arc<FileView>,
    /// The attributes of the file when it had this content, or just before.
    pub(crate) entry: DirEntry,
    pub(crate) created: Millis,
    /// The generation of the writes of this mount that the content has.
    pub(crate) generation: u64,
}

impl OpenNode {
    pub(crate) fn new(number: INodeNo, file: Arc<OpenFile>, content: NodeContent) -> Self {
        let reading = Mutex::new(NodeReading { content, passes: HashMap::new(), stat_at: None });
        Self { number, file, reading }
    }

    /// Returns the content, and the generation of the writes that it has.
    pub(crate) fn seen(&self) -> (Arc<FileView>, u64) {
        let reading = self.reading.lock();
        (reading.content.view.clone(), reading.content.generation)
    }

    /// Locks what is read. The lock of the file's writes is taken before it, if at all.
    pub(crate) fn lock(&self) -> MutexGuard<'_, NodeReading> {
        self.reading.lock()
    }
}

impl NodeReading {
    /// Adds a handle.
    pub(crate) fn add(&mut self, handle: FileHandle) {
        let phase = ReadingPhase::Fresh { end_before: None };
        self.passes.insert(handle.0, Pass { phase, read_at: None, mapped_at: None });
    }

    /// Reports whether a handle has read to the end.
    pub(crate) fn has_read_all(&self, handle: FileHandle) -> bool {
        self.passes.get(&handle.0).is_some_and(|pass| pass.phase.has_read_all())
    }

    /// Removes a handle, and reports whether it was the last one.
    pub(crate) fn remove(&mut self, handle: FileHandle) -> bool {
        self.passes.remove(&handle.0);
        self.passes.is_empty()
    }

    /// Reports whether no handle but one is in a pass, so that the content may change.
    pub(crate) fn is_free(&self, except: Option<FileHandle>) -> bool {
        let since_stat = self.stat_at.map(|(first, _)| first.elapsed());
        let mut others =
            self.passes.iter().filter(|(other, _)| Some(FileHandle(**other)) != except);
        others.all(|(_, pass)| {
            let is_mapped = pass.mapped_at.is_some_and(|at| at.elapsed() < MAPPED_FOR);
            pass.phase.is_between_passes(since_stat) && !is_mapped
        })
    }

    /// Records that a program asked for the attributes.
    pub(crate) fn note_stat(&mut self) {
        let now = Instant::now();
        self.stat_at = Some((self.stat_at.map_or(now, |(first, _)| first), now));
    }

    /// Reports whether a read of a handle begins a new pass. If a program has asked for the size
    /// since the last read, that was its beginning.
    pub(crate) fn begins_pass(&self, handle: FileHandle, offset: u64) -> bool {
        self.passes.get(&handle.0).is_some_and(|pass| {
            let stat_at = self.stat_at.map(|(_, last)| last);
            pass.phase.ends_before_read(offset) && stat_at <= pass.read_at
        })
    }

    /// Takes another content, with which all handles begin.
    pub(crate) fn replace(&mut self, content: NodeContent) {
        let size_before = self.content.view.size();
        (self.content, self.stat_at) = (content, None);
        for pass in self.passes.values_mut() {
            pass.phase = pass.phase.with_new_content(size_before);
        }
    }

    /// Returns how many bytes a read of a handle gets, and records it: a read of a program, or of
    /// the kernel into memory that a program has mapped.
    pub(crate) fn read(
        &mut self,
        handle: FileHandle,
        (offset, len): (u64, u64),
        is_mapped: bool,
    ) -> u64 {
        let size = self.content.view.size();
        let Some(pass) = self.passes.get_mut(&handle.0) else { return 0 };
        if is_mapped {
            pass.mapped_at = Some(Instant::now());
            return size.saturating_sub(offset).min(len);
        }
        let (n_read, next) = pass.phase.read(offset, len, size);
        (pass.phase, pass.read_at) = (next, Some(Instant::now()));
        n_read
    }
}
