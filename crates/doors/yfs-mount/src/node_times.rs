//! Times of objects that the workspace does not keep: last access, last change of attributes, and
//! the part of a modification time below a millisecond. They last as long as the mount, and no
//! longer than until [`MAX_OBJECTS`] have changed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dashmap::DashMap;
use yfs_types::time::Millis;

/// The most objects whose times are kept.
const MAX_OBJECTS: usize = 200_000;

/// The times of objects that were changed by this mount, by inode number.
#[derive(Debug, Default)]
pub(crate) struct NodeTimes {
    times: DashMap<u64, KnownTimes>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownTimes {
    pub(crate) accessed: Option<SystemTime>,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) changed: Option<SystemTime>,
}

impl NodeTimes {
    /// Returns what is known of an object.
    pub(crate) fn get(&self, number: u64) -> KnownTimes {
        self.times.get(&number).map(|times| *times).unwrap_or_default()
    }

    /// Sets times of an object. Its attributes have changed with them.
    pub(crate) fn set(&self, number: u64, set: impl FnOnce(&mut KnownTimes)) {
        if self.times.len() >= MAX_OBJECTS {
            self.times.clear();
        }
        let mut times = self.times.entry(number).or_default();
        times.changed = Some(SystemTime::now());
        set(&mut times);
    }

    /// Records that an entry of a directory has changed.
    pub(crate) fn touch(&self, number: u64) {
        self.set(number, |times| times.modified = times.changed);
    }
}

/// Converts a time of the workspace.
pub(crate) fn system_time(time: Millis) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(time.0).unwrap_or(0))
}

/// Converts a time to one of the workspace. Times before 1970 become 1970.
pub(crate) fn millis(time: SystemTime) -> Millis {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
