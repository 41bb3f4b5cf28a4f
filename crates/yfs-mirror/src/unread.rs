//! The texts written by the mirror that no program has read yet.
//!
//! A program reads a file, the mirror writes text of others into it, and the program saves the text
//! that it read together with its own changes. Compared with the latest text on disk, the save
//! deletes the text of the others; compared with the text that the program read, it only adds its
//! own. So the mirror watches each inode that it wrote to: as long as no program has read it, a
//! save is an edit of an earlier text. Of the earlier texts that programs may know, the mirror
//! takes the one from which the save differs least. Once a program has read the inode, a save
//! deletes what it leaves out.

use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    mem::MaybeUninit,
    os::fd::AsRawFd,
    sync::Arc,
};

use rustix::{
    fd::OwnedFd,
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
};
use yfs_engine::{content::diff::diff_chars, id::FileId};

use crate::mirror_state::EditBase;

/// How many files are watched, how many texts are kept of each, and the maximum length of a text in
/// bytes.
const MAX_FILES: usize = 512;
const MAX_TEXTS: usize = 16;
const MAX_LEN: usize = 256 << 10;

/// A text that was on the disk, and its base for a write.
#[derive(Debug, Clone)]
struct EarlierText {
    text: Arc<str>,
    base: EditBase,
}

/// Whether programs used a text that the mirror wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// No program has read it.
    Unread,
    /// A program has read it.
    Read,
    /// A program wrote to the file, and no program had read it before.
    WrittenUnread,
}

/// A file that the mirror wrote to.
#[derive(Debug)]
struct WrittenFile {
    watch: i32,
    state: ReadState,
    written: Arc<str>,
    /// The texts before, from the last one that a program may have read, oldest first.
    earlier: VecDeque<EarlierText>,
}

/// A watcher that detects the first reader of each file that the mirror wrote to.
#[derive(Debug)]
pub(crate) struct UnreadTexts {
    inotify: Option<OwnedFd>,
    by_watch: HashMap<i32, FileId>,
    files: HashMap<FileId, WrittenFile>,
    order: VecDeque<FileId>,
}

impl UnreadTexts {
    /// Starts to watch. If the host has no inotify, every text counts as read.
    pub(crate) fn new() -> Self {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let (by_watch, files, order) = (HashMap::new(), HashMap::new(), VecDeque::new());
        Self { inotify, by_watch, files, order }
    }

    /// Notes that a file gets other bytes, in an open inode that no program can have read yet.
    ///
    /// `old` is the text on disk until now. Call [`ignore_own`](Self::ignore_own) after the write.
    pub(crate) fn will_write(&mut self, id: &FileId, old: (&[u8], &EditBase), new: (&[u8], &File)) {
        self.take_events(None);
        let (old, base) = old;
        let (new, file) = new;
        let known = self.forget(id);
        let is_small = old.len() <= MAX_LEN && new.len() <= MAX_LEN;
        let texts = (std::str::from_utf8(old), std::str::from_utf8(new));
        let (Some(inotify), true, (Ok(old), Ok(new))) = (&self.inotify, is_small, texts) else {
            return;
        };
        let mut earlier = match known {
            Some(known) if known.state == ReadState::Unread => known.earlier,
            _ => VecDeque::new(),
        };
        if earlier.len() >= MAX_TEXTS {
            // The first one stays, because programs have read it.
            earlier.remove(1);
        }
        earlier.push_back(EarlierText { text: old.into(), base: base.clone() });
        let flags = WatchFlags::ACCESS | WatchFlags::MODIFY;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // Without a watch the text counts as read.
        let Ok(watch) = inotify::add_watch(inotify, path, flags) else { return };
        let written = new.into();
        self.by_watch.insert(watch, id.clone());
        let entry = WrittenFile { watch, state: ReadState::Unread, written, earlier };
        self.files.insert(id.clone(), entry);
        self.order.push_back(id.clone());
        while self.order.len() > MAX_FILES {
            let Some(oldest) = self.order.pop_front() else { break };
            // The mirror may have written to it again since.
            if !self.order.contains(&oldest) {
                self.forget(&oldest);
            }
        }
    }

    /// Reports whether the mirror watches for the first reader of a file.
    pub(crate) fn is_watched(&self, id: &FileId) -> bool {
        self.files.contains_key(id)
    }

    /// Processes the events that programs caused until now.
    pub(crate) fn catch_up(&mut self) {
        self.take_events(None);
    }

    /// Drops the events of a file that the mirror itself caused since it caught up. No program
    /// could cause events meanwhile.
    pub(crate) fn ignore_own(&mut self, id: &FileId) {
        let watch = self.files.get(id).map(|file| file.watch);
        self.take_events(watch);
    }

    /// Returns the base of a save, if the program cannot have read what the mirror wrote last.
    pub(crate) fn base_of_save(&mut self, id: &FileId, saved: &[u8]) -> Option<EditBase> {
        self.take_events(None);
        let file = self.files.get(id).filter(|file| file.state != ReadState::Read)?;
        let saved = std::str::from_utf8(saved).ok()?;
        let mut best = (cost(&file.written, saved), None);
        for earlier in file.earlier.iter().rev() {
            let cost = cost(&earlier.text, saved);
            if cost < best.0 {
                best = (cost, Some(earlier));
            }
        }
        best.1.map(|earlier| earlier.base.clone())
    }

    /// Stops to watch a file, because a program knows its text.
    pub(crate) fn note_saved(&mut self, id: &FileId) {
        self.forget(id);
    }

    fn forget(&mut self, id: &FileId) -> Option<WrittenFile> {
        let file = self.files.remove(id)?;
        self.order.retain(|other| other != id);
        self.by_watch.remove(&file.watch);
        if let Some(inotify) = &self.inotify {
            // The inode may be gone, and its watch with it.
            inotify::remove_watch(inotify, file.watch).ok();
        }
        Some(file)
    }

    fn take_events(&mut self, ignored: Option<i32>) {
        let Some(inotify) = &self.inotify else { return };
        for (watch, flags) in pending(inotify) {
            if Some(watch) != ignored {
                self.apply(watch, flags);
            }
        }
    }

    fn apply(&mut self, watch: i32, flags: ReadFlags) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.files.values_mut().for_each(|file| file.state = ReadState::Read);
            return;
        }
        let file = self.by_watch.get(&watch).and_then(|id| self.files.get_mut(id));
        let Some(file) = file.filter(|file| file.state == ReadState::Unread) else { return };
        if flags.contains(ReadFlags::ACCESS) {
            file.state = ReadState::Read;
        } else if flags.contains(ReadFlags::MODIFY) {
            file.state = ReadState::WrittenUnread;
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

/// Returns the number of bytes in the differences of two texts.
fn cost(old: &str, new: &str) -> usize {
    diff_chars(old, new).iter().map(|splice| splice.old.len() + splice.new.len()).sum()
}
