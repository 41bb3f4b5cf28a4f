//! Reports by inotify: one instance for all handles of a process, because a user may have only 128
//! of them, and the thread that reads it.

use std::{
    collections::{BTreeSet, HashMap},
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::Path,
    sync::{Arc, OnceLock, Weak},
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    io::Errno,
};

use super::super::append_watch::Growth;

/// The longest event is a header of 16 bytes: those of a file have no name.
const BUFFER_LEN: usize = 4096;

/// The pause after each report: many writes cause few of them. A thread that was woken polls for
/// much longer than this.
const BURST: Duration = Duration::from_millis(5);

/// A registration of one handle, which gets reports until it is dropped.
#[derive(Debug)]
pub(in super::super) struct LogFileEvents {
    watch: i32,
    growth: Weak<Growth>,
}

impl LogFileEvents {
    /// Starts reports of writes to the file that is at this path now; `None` if there are none.
    pub(in super::super) fn start(log_file: &Path, growth: &Arc<Growth>) -> Option<Self> {
        let watch = InotifyThread::of_process()?.add(log_file, growth)?;
        Some(Self { watch, growth: Arc::downgrade(growth) })
    }

    /// Registers again if the path has another file now. Reports whether there is one.
    pub(in super::super) fn renew(&mut self, log_file: &Path) -> bool {
        let (Some(thread), Some(growth)) = (InotifyThread::of_process(), self.growth.upgrade())
        else {
            return false;
        };
        let Some(watch) = thread.add(log_file, &growth) else { return false };
        if watch != self.watch {
            thread.remove(self.watch, &self.growth);
            self.watch = watch;
        }
        true
    }
}

impl Drop for LogFileEvents {
    fn drop(&mut self) {
        if let Some(thread) = InotifyThread::of_process() {
            thread.remove(self.watch, &self.growth);
        }
    }
}

/// The handles to wake, by watch descriptor.
#[derive(Debug)]
struct InotifyThread {
    inotify: OwnedFd,
    watched: Mutex<HashMap<i32, Vec<Weak<Growth>>>>,
}

impl InotifyThread {
    /// Returns the one of this process, which lives as long; `None` if the host gives none.
    fn of_process() -> Option<&'static Self> {
        static THREAD: OnceLock<Option<InotifyThread>> = OnceLock::new();
        let mut is_new = false;
        let thread = THREAD.get_or_init(|| {
            is_new = true;
            let inotify = inotify::init(CreateFlags::CLOEXEC).ok()?;
            Some(Self { inotify, watched: Mutex::default() })
        });
        let thread = thread.as_ref()?;
        if is_new {
            // Without it, no handle gets a report, and each notices that.
            thread::Builder::new().name("yfs-log-events".to_owned()).spawn(|| thread.run()).ok();
        }
        Some(thread)
    }

    /// Adds a handle unless it is there. The same file has the same descriptor.
    fn add(&self, file: &Path, growth: &Arc<Growth>) -> Option<i32> {
        // Held throughout, because another thread may remove the last handle of this file.
        let mut watched = self.watched.lock();
        let watch = inotify::add_watch(&self.inotify, file, WatchFlags::MODIFY).ok()?;
        let handles = watched.entry(watch).or_default();
        if !handles.iter().any(|handle| handle.as_ptr() == Arc::as_ptr(growth)) {
            handles.push(Arc::downgrade(growth));
        }
        Some(watch)
    }

    fn remove(&self, watch: i32, growth: &Weak<Growth>) {
        let mut watched = self.watched.lock();
        let Some(handles) = watched.get_mut(&watch) else { return };
        handles.retain(|handle| !handle.ptr_eq(growth));
        if handles.is_empty() {
            watched.remove(&watch);
            // A file that was removed has no watch any more.
            inotify::remove_watch(&self.inotify, watch).ok();
        }
    }

    fn run(&self) {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_LEN];
        let mut events = Reader::new(&self.inotify, &mut buffer);
        let mut written = BTreeSet::new();
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => return,
            };
            if event.events().contains(ReadFlags::IGNORED) {
                self.watched.lock().remove(&event.wd());
            } else if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                written.extend(self.watched.lock().keys());
            } else {
                written.insert(event.wd());
            }
            if events.is_buffer_empty() {
                for watch in std::mem::take(&mut written) {
                    self.report(watch);
                }
                thread::sleep(BURST);
            }
        }
    }

    fn report(&self, watch: i32) {
        let handles = self.watched.lock().get(&watch).cloned().unwrap_or_default();
        for handle in handles {
            if let Some(growth) = handle.upgrade() {
                growth.record_write();
            }
        }
    }
}
