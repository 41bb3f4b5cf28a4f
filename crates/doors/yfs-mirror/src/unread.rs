//! Watching for the first reader of each text that the mirror wrote.
//!
//! A text that no program has read is not what a later save began with, so it is the first that
//! [`SeenTexts`] drops. The mirror watches each inode that it wrote to. Texts of others that a
//! program reads meanwhile, or may have read while no mirror ran, are kept.

use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    mem::MaybeUninit,
    os::fd::AsRawFd,
};

use rustix::{
    fd::OwnedFd,
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
};
use yfs_engine::id::FileId;

use crate::{
    mirror_state::EditBase,
    seen_texts::{SaveOrigin, SeenTexts},
};

/// How many files are watched.
const MAX_FILES: usize = 512;

/// Bytes that the mirror is about to write, in an open inode that no program can have read yet.
pub(crate) struct NewText<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) base: EditBase,
    pub(crate) file: &'a File,
}

/// A watcher that detects the first reader of each file that the mirror wrote to.
#[derive(Debug)]
pub(crate) struct UnreadTexts {
    inotify: Option<OwnedFd>,
    by_watch: HashMap<i32, FileId>,
    watches: HashMap<FileId, i32>,
    order: VecDeque<FileId>,
    pub(crate) texts: SeenTexts,
}

impl UnreadTexts {
    /// Starts to watch. If the host has no inotify, every text counts as read.
    pub(crate) fn new(texts: SeenTexts) -> Self {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let (by_watch, watches, order) = (HashMap::new(), HashMap::new(), VecDeque::new());
        Self { inotify, by_watch, watches, order, texts }
    }

    /// Notes that a file gets other bytes.
    ///
    /// `old` is the text on disk until now. Call [`ignore_own`](Self::ignore_own) after the write.
    pub(crate) fn will_write(&mut self, id: &FileId, old: (&[u8], &EditBase), new: NewText<'_>) {
        self.take_events(None);
        self.stop_watching(id);
        self.texts.note_written(id, old, (new.data, &new.base));
        let flags = WatchFlags::ACCESS;
        let path = format!("/proc/self/fd/{}", new.file.as_raw_fd());
        let inotify = self.inotify.as_ref();
        let watch = inotify.and_then(|inotify| inotify::add_watch(inotify, path, flags).ok());
        // Without a watch the text counts as read.
        let Some(watch) = watch else { return self.texts.note_read(id) };
        self.by_watch.insert(watch, id.clone());
        self.watches.insert(id.clone(), watch);
        self.order.push_back(id.clone());
        while self.order.len() > MAX_FILES {
            let Some(oldest) = self.order.pop_front() else { break };
            self.texts.note_read(&oldest);
            self.stop_watching(&oldest);
        }
    }

    /// Reports whether the mirror watches for the first reader of a file.
    pub(crate) fn is_watched(&self, id: &FileId) -> bool {
        self.watches.contains_key(id)
    }

    /// Processes the events that programs caused until now.
    pub(crate) fn catch_up(&mut self) {
        self.take_events(None);
    }

    /// Drops the events of a file that the mirror itself caused since it caught up. No program
    /// could cause events meanwhile.
    pub(crate) fn ignore_own(&mut self, id: &FileId) {
        let watch = self.watches.get(id).copied();
        self.take_events(watch);
    }

    /// Decides which text a save is an edit of.
    pub(crate) fn origin_of_save(&mut self, id: &FileId, saved: &[u8]) -> SaveOrigin {
        self.take_events(None);
        self.texts.origin_of_save(id, saved)
    }

    /// Stops to watch a file, because a program wrote it.
    pub(crate) fn note_saved(&mut self, id: &FileId, data: &[u8], base: &EditBase) {
        self.stop_watching(id);
        self.texts.note_saved(id, data, base);
    }

    /// Forgets a file.
    pub(crate) fn forget(&mut self, id: &FileId) {
        self.stop_watching(id);
        self.texts.forget(id);
    }

    fn stop_watching(&mut self, id: &FileId) {
        let Some(watch) = self.watches.remove(id) else { return };
        self.order.retain(|other| other != id);
        self.by_watch.remove(&watch);
        if let Some(inotify) = &self.inotify {
            // The inode may be gone, and its watch with it.
            inotify::remove_watch(inotify, watch).ok();
        }
    }

    fn take_events(&mut self, ignored: Option<i32>) {
        let Some(inotify) = &self.inotify else { return };
        for (watch, flags) in pending(inotify) {
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.watches.keys().for_each(|id| self.texts.note_read(id));
            } else if Some(watch) != ignored
                && flags.contains(ReadFlags::ACCESS)
                && let Some(id) = self.by_watch.get(&watch)
            {
                self.texts.note_read(id);
            }
        }
    }
}

/// Reads the pending events.
fn pending(inotify: &OwnedFd) -> Vec<(i32, ReadFlags)> {
    let mut buffer = [MaybeUninit::uninit(); 4_096];
    let mut reader = Reader::new(inotify, &mut buffer);
    let mut events = Vec::new();
    // An error means that there are no more events at present.
    while let Ok(event) = reader.next() {
        events.push((event.wd(), event.events()));
    }
    events
}
