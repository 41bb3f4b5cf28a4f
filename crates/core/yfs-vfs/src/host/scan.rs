//! Finding changes on the host's disk: list the tree, and compare it with the previous list.
//!
//! A scan reads the attributes of every object. It reports each change of any process once. A file
//! that was rewritten is another inode at the same path; it is reported as changed.

use std::collections::BTreeMap;

use rustix::fs::OFlags;
use yfs_types::{id::FileId, path::VPath, time::Millis};

use super::{
    HostStat,
    host_lookup::{HostDisk, HostError, HostFinalLink},
};
use crate::{
    change_log::ChangeLog,
    changes::{ChangeCursor, ChangeKind, ChangePage, FileChange},
    error::{FsCode, FsError, Op},
    memory::system_clock,
    stat::FileKind,
};

/// The number of changes that the log keeps.
const MAX_CHANGES: usize = 100_000;

/// The last list, and the log of differences.
#[derive(Debug)]
pub(super) struct ChangeScanner {
    log: ChangeLog,
    /// The objects found by the last scan; `None` before the first.
    seen: Option<BTreeMap<VPath, ScannedObject>>,
}

/// The attributes of an object that scans compare.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ScannedObject {
    id: FileId,
    kind: FileKind,
    state: (i128, u64, u32),
}

impl ChangeScanner {
    pub(super) fn new() -> Self {
        Self { log: ChangeLog::new(MAX_CHANGES), seen: None }
    }

    /// Compares the tree with the last list, and records the differences.
    fn compare(&mut self, now: BTreeMap<VPath, ScannedObject>, at: Millis) {
        let Some(before) = self.seen.replace(now.clone()) else { return };
        let place_of = |list: &BTreeMap<VPath, ScannedObject>| -> BTreeMap<FileId, VPath> {
            list.iter().map(|(path, seen)| (seen.id.clone(), path.clone())).collect()
        };
        let (old_places, new_places) = (place_of(&before), place_of(&now));
        let mut tell = |kind, path: &VPath, seen: &ScannedObject| {
            self.log.push(FileChange::new(kind, path.clone(), seen.id.clone(), seen.kind, at));
        };
        for (path, seen) in &before {
            let replaced = now.contains_key(path);
            let parent_went = path.parent().is_some_and(|parent| {
                before.get(&parent).is_some_and(|seen| !new_places.contains_key(&seen.id))
                    && !now.contains_key(&parent)
            });
            if !new_places.contains_key(&seen.id) && !replaced && !parent_went {
                tell(ChangeKind::Removed, path, seen);
            }
        }
        for (path, seen) in &now {
            let Some(from) = old_places.get(&seen.id) else { continue };
            if from != path && !moved_along(from, path, &before, &now) {
                tell(ChangeKind::Moved { from: from.clone() }, path, seen);
            }
        }
        for (path, seen) in &now {
            let old = old_places.get(&seen.id).and_then(|from| before.get(from));
            match (old, before.get(path)) {
                (None, Some(other)) if other.kind == seen.kind => {
                    tell(ChangeKind::Changed, path, seen);
                }
                (None, _) => tell(ChangeKind::Created, path, seen),
                (Some(old), _) if old.state != seen.state && seen.kind != FileKind::Directory => {
                    tell(ChangeKind::Changed, path, seen);
                }
                _ => (),
            }
        }
    }
}

/// Reports whether an object moved only because its directory moved.
fn moved_along(
    from: &VPath,
    to: &VPath,
    before: &BTreeMap<VPath, ScannedObject>,
    now: &BTreeMap<VPath, ScannedObject>,
) -> bool {
    let same_name = from.file_name() == to.file_name();
    let parents = from.parent().zip(to.parent());
    let same_parent = parents.is_some_and(|(old, new)| {
        let ids = before.get(&old).zip(now.get(&new));
        ids.is_some_and(|(old, new)| old.id == new.id)
    });
    same_name && same_parent
}

impl HostDisk {
    pub(super) fn cursor(&self) -> Result<ChangeCursor, HostError> {
        let mut scanner = self.scanner.lock();
        self.look(&mut scanner)?;
        Ok(scanner.log.cursor(scanner.log.end()))
    }

    pub(super) fn changes(
        &self,
        since: &ChangeCursor,
        limit: usize,
    ) -> Result<ChangePage, FsError> {
        let mut scanner = self.scanner.lock();
        scanner.log.position(since)?;
        self.look(&mut scanner).map_err(|fail| fail.on(Op::Watch, "/"))?;
        scanner.log.since(since, limit)
    }

    /// Scans the tree. Writers through this filesystem wait meanwhile.
    fn look(&self, scanner: &mut ChangeScanner) -> Result<(), HostError> {
        let _scanning = self.changing.write();
        let mut now = BTreeMap::new();
        let mut pending = vec![VPath::root()];
        while let Some(dir) = pending.pop() {
            let listed = self
                .find(&dir, HostFinalLink::Keep)
                .and_then(|place| self.list_states(&place.path));
            let entries = match listed {
                // It was removed during the scan.
                Err(fail) if matches!(fail.code(), FsCode::ENOENT | FsCode::ENOTDIR) => continue,
                entries => entries?,
            };
            for (path, facts) in entries {
                if facts.kind == FileKind::Directory {
                    pending.push(path.clone());
                }
                let state = (facts.mtime_ns, facts.size, facts.mode);
                now.insert(path, ScannedObject { id: facts.id(), kind: facts.kind, state });
            }
        }
        scanner.compare(now, system_clock()());
        Ok(())
    }

    fn list_states(&self, dir: &VPath) -> Result<Vec<(VPath, HostStat)>, HostError> {
        let place = self.find(dir, HostFinalLink::Keep)?;
        let fd = place.open_dir(OFlags::RDONLY)?;
        let mut states = Vec::new();
        for item in rustix::fs::Dir::read_from(&fd)? {
            let item = item?;
            let name = item.file_name();
            let bytes = name.to_bytes();
            if matches!(bytes, b"." | b"..") || super::read::is_temporary(bytes) {
                continue;
            }
            if let Ok(facts) = HostStat::at(&fd, name) {
                states.push((dir.join(&super::names::from_host(bytes)), facts));
            }
        }
        Ok(states)
    }
}
