//! Files that programs lock: the mirror locks them, too, and writes in place.
//!
//! Programs that cooperate by `flock` or `fcntl` locks rely on the inode, so no other inode may
//! replace it while some of them wait for the lock. The mirror waits for the lock like them,
//! imports the content, and writes the merged bytes to the same inode before it releases the lock.

use std::{
    fs::File,
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use yfs::workspace::nodes::DurableContent;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::confined_dir::{HostStat, open_file_facts, read_open_file};

use super::{
    disk_file_content::DiskFileContent, import_content::ContentImporter,
    mirror_context::MirrorContext, sync_pass::SyncPass,
};
use crate::{
    error::Result,
    lease::{self, ProgramLocks},
    mirror_state::{DiskStamp, EditBase, MirrorNode, database::WriteIntent},
    unread::NewText,
};

/// How long one pass tries to get a lock, and how often.
const TRY_FOR: Duration = Duration::from_millis(50);
const TRY_EVERY: Duration = Duration::from_micros(100);

/// The maximum length of a file written in place, in bytes: both texts are recorded before.
const MAX_LEN: u64 = 16 << 20;

/// Synchronizes files that programs lock.
pub(super) struct LockedFileMerger<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl LockedFileMerger<'_> {
    /// Synchronizes a file that programs lock while it holds their locks. Writes to the file only
    /// if `both_ways`. Returns whether it did: it does not if no program locks the file.
    pub(super) fn merge(&mut self, id: &FileId, both_ways: bool) -> Result<bool> {
        let Some(node) = self.context.state.get(id).cloned() else { return Ok(false) };
        let path = self.context.state.path(id);
        let dir = path.parent().map_or_else(
            || Ok(self.context.directory.root.root()),
            |dir| self.context.directory.root.dir(dir),
        );
        let Ok(file) = dir.and_then(|dir| dir.open_file(&node.name, true)) else {
            return Ok(false);
        };
        if !lease::is_locked(&file) {
            return Ok(false);
        }
        crate::crash_points::pause("locked");
        let Some(locks) = wait_for_locks(&file) else { return Ok(false) };
        let Ok((data, facts)) = self.read_locked(id, &file) else { return Ok(false) };
        let stamp = DiskStamp::of(&facts);
        let there = self.context.directory.facts(&path).ok().flatten();
        if !there.is_some_and(|there| stamp.is_same_inode(&DiskStamp::of(&there))) {
            return Ok(false);
        }
        let hash = ContentHash::of(&data);
        if hash != node.hash {
            let read =
                DiskFileContent { data: data.clone().into(), hash, stamp, has_writer: false };
            ContentImporter { context: self.context, pass: self.pass }
                .write_contents(vec![(id.clone(), read)])?;
        }
        if both_ways && let Ok(held) = self.context.workspace.nodes().read_durable(id) {
            let is_written = held.data != data && held.data.len() as u64 <= MAX_LEN;
            if is_written && let Err(error) = self.overwrite(&file, id, &data, held)? {
                self.pass.record_disk_failure(self.context, &path, &error);
            }
        }
        drop(locks);
        Ok(true)
    }

    /// Reads a file while its locks keep programs from it.
    fn read_locked(&mut self, id: &FileId, file: &File) -> io::Result<(Vec<u8>, HostStat)> {
        self.context.unread.catch_up();
        let read = read_open_file(file, MAX_LEN);
        self.context.unread.ignore_own(id);
        read
    }

    /// Writes the bytes of the workspace to a file, in the same inode.
    fn overwrite(
        &mut self,
        file: &File,
        id: &FileId,
        old: &[u8],
        held: DurableContent,
    ) -> Result<io::Result<()>> {
        let Some(node) = self.context.state.get(id).cloned() else { return Ok(Ok(())) };
        let intent = WriteIntent::Overwrite {
            version: held.version.as_str().to_owned(),
            base: held.base.clone(),
            old: old.into(),
            new: held.data[..].into(),
        };
        self.context.database.record_intents(&[(id.clone(), intent)])?;
        crate::crash_points::point("intended-overwrite");
        let text = NewText { data: &held.data, base: EditBase::Version(held.base.clone()), file };
        self.context.unread.will_write(id, (old, &node.base), text);
        let written = lease::overwrite(file, old, &held.data);
        self.context.unread.ignore_own(id);
        crate::crash_points::point("overwritten");
        let facts = match written.and_then(|()| open_file_facts(file)) {
            Ok(facts) => facts,
            Err(error) => return Ok(Err(error)),
        };
        let stamp = DiskStamp::of(&facts);
        self.context.state.update(id, |node| {
            (node.stamp, node.hash) = (stamp, ContentHash::of(&held.data));
            node.base = EditBase::Version(held.base);
            node.work.version = held.version.as_str().into();
        });
        self.pass.note_racy(id, &stamp);
        self.context.reporter.count_directory(|counts| counts.written += 1);
        self.context.commit(std::slice::from_ref(id))?;
        Ok(Ok(()))
    }

    /// Finds out how far an interrupted write in place got, and completes it if no other program
    /// wrote to the file since.
    pub(super) fn recover_overwrite(
        &mut self,
        node: &MirrorNode,
        version: &str,
        base: yfs_vfs::VersionToken,
        (old, new): (&[u8], &[u8]),
    ) -> Result<()> {
        let path = self.context.state.path(&node.id);
        let Ok(dir) = self.context.directory.root.dir(path.parent().unwrap_or(Path::new("")))
        else {
            return Ok(());
        };
        let Ok(file) = dir.open_file(&node.name, true) else { return Ok(()) };
        let Ok((here, _)) = read_open_file(&file, self.context.options.max_file_len) else {
            return Ok(());
        };
        // Unchanged bytes stay; bytes that another program wrote since are an edit of them.
        if here == old || !is_torn(&here, old, new) {
            return Ok(());
        }
        if lease::overwrite(&file, &here, new).is_ok() {
            self.context.state.update(&node.id, |node| {
                (node.hash, node.base) = (ContentHash::of(new), EditBase::Version(base));
                node.work.version = version.into();
                node.stamp.mtime_ns = 0;
            });
        }
        Ok(())
    }
}

fn wait_for_locks(file: &File) -> Option<ProgramLocks<'_>> {
    let deadline = Instant::now() + TRY_FOR;
    loop {
        match ProgramLocks::try_acquire(file, true) {
            None if Instant::now() < deadline => thread::sleep(TRY_EVERY),
            locks => return locks,
        }
    }
}

/// Reports whether bytes begin as the new ones and continue as the old ones, as after an
/// interrupted write.
fn is_torn(here: &[u8], old: &[u8], new: &[u8]) -> bool {
    let n_new = here.iter().zip(new).take_while(|(here, new)| here == new).count();
    let rest = &here[n_new..];
    rest.is_empty() || old.get(n_new..) == Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_write_is_recognized() {
        let (old, new) = (&b"one two three"[..], &b"ONE TWO"[..]);
        for here in [&b"ONE two three"[..], b"ONE TWO three", b"ONE TWO", b"one two three"] {
            assert!(is_torn(here, old, new), "{here:?}");
        }
        for here in [&b"ONE two three four"[..], b"another text", b"ONE TWO!"] {
            assert!(!is_torn(here, old, new), "{here:?}");
        }
    }
}
