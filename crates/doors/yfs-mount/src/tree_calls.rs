//! The calls on names and attributes.

use std::{
    ffi::OsStr,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use fuser::{Errno, FileAttr, FileHandle, FopenFlags, INodeNo, OpenFlags, RenameFlags, TimeOrNow};
use futures::executor::block_on;
use yfs::PinnedContent;
use yfs_types::{id::FileId, name::MAX_NAME_LEN, path::VPath, time::Millis};
use yfs_vfs::{
    CopyOptions, CreateMode, DirEntry, FileAttribute, FileKind, FileSystem, FsCode, MkdirOptions,
    MoveOptions, Op, RemoveOptions, VersionBase,
};

use crate::{
    attributes::{LASTING, NEVER, attributes},
    errno::{CallResult, errno},
    mount::MountedTree,
    node_table::path_by_id,
    node_times::millis,
    open_node::NodeContent,
    program_name::label_of,
    read_log::process_of,
};

/// An object in an answer: how long the kernel may keep the attributes, and what they are.
pub(crate) type Described = (Duration, FileAttr);

/// Attributes that a program sets.
#[derive(Debug, Default)]
pub(crate) struct NewAttributes {
    pub(crate) mode: Option<u32>,
    pub(crate) owner: (Option<u32>, Option<u32>),
    pub(crate) size: Option<u64>,
    pub(crate) accessed: Option<TimeOrNow>,
    pub(crate) modified: Option<TimeOrNow>,
}

impl MountedTree {
    /// Returns the id of a node that is not the root.
    pub(crate) fn id_of(&self, number: INodeNo) -> CallResult<FileId> {
        self.nodes.id(number).ok_or(Errno::EISDIR)
    }

    /// Returns the inode number of a node, by which its times are kept.
    pub(crate) fn inode_number(&self, number: INodeNo) -> INodeNo {
        self.nodes.id(number).map_or(number, |id| self.nodes.number(&id))
    }

    /// Returns the path of a name in a directory.
    pub(crate) fn child_path(&self, parent: INodeNo, name: &OsStr) -> CallResult<VPath> {
        let parent = self.nodes.path(parent).ok_or(Errno::ESTALE)?;
        let name = name.to_str().ok_or(Errno::EILSEQ)?;
        if name.len() > MAX_NAME_LEN {
            return Err(Errno::ENAMETOOLONG);
        }
        Ok(parent.join(name))
    }

    /// Describes an object at a path.
    fn entry(&self, path: &VPath) -> CallResult<(DirEntry, Millis)> {
        let (mut entry, created) = self.fs.entry(path, Op::Lstat).map_err(errno)?;
        if let Some(file) = self.handles.find_file(&entry.id) {
            file.lock().show_pending(&mut entry);
        }
        Ok((entry, created))
    }

    /// Returns the size of a file without what is pending.
    pub(crate) fn stored_size(&self, id: &FileId) -> CallResult<u64> {
        let path = path_by_id(id);
        Ok(self.fs.entry(&path, Op::Lstat).map_err(errno)?.0.size)
    }

    /// Returns the attributes of an entry as an answer.
    pub(crate) fn describe(&self, number: INodeNo, entry: &DirEntry, created: Millis) -> Described {
        let known = self.times.get(self.nodes.number(&entry.id).0);
        let attributes = attributes(number, entry, created, known, self.options.owner);
        let is_first = number == INodeNo::ROOT || number == self.nodes.number(&entry.id);
        let is_lasting = is_first && self.handles.node(number).is_none();
        (if is_lasting { LASTING } else { NEVER }, attributes)
    }

    fn describe_new(&self, path: &VPath) -> CallResult<Described> {
        let (entry, created) = self.entry(path)?;
        let number = self.node_to_open(&entry.id);
        self.nodes.look_up(number, &entry.id, entry.size);
        Ok(self.describe(number, &entry, created))
    }

    pub(crate) fn lookup(&self, parent: INodeNo, name: &OsStr) -> CallResult<Described> {
        self.describe_new(&self.child_path(parent, name)?)
    }

    /// Returns attributes. Those of an open file are of the content that its readers see.
    pub(crate) fn getattr(&self, number: INodeNo) -> CallResult<Described> {
        let path = self.nodes.path(number).ok_or(Errno::ESTALE)?;
        let Some(node) = self.handles.node(number) else {
            let (entry, created) = self.entry(&path)?;
            self.nodes.note_size(number, entry.size);
            let (ttl, mut attributes) = self.describe(number, &entry, created);
            if number != INodeNo::ROOT {
                attributes.ino = self.nodes.number(&entry.id);
            }
            return Ok((ttl, attributes));
        };
        let state = node.file.lock();
        let mut reading = node.lock();
        self.show_written(&state, &mut reading);
        let is_newest = self.is_newest(&state, &reading);
        reading.note_stat();
        let NodeContent { view, entry: old, created, .. } = reading.content.clone();
        drop(reading);
        let now = self.fs.entry(&path, Op::Lstat).map(|(entry, _)| entry);
        let mut entry = now.clone().unwrap_or(old.clone());
        if !is_newest {
            entry.mtime = old.mtime;
        }
        entry.size = view.size();
        state.show_pending(&mut entry);
        drop(state);
        self.nodes.note_size(number, entry.size);
        let (ttl, mut attributes) = self.describe(number, &entry, created);
        attributes.ino = self.nodes.number(&entry.id);
        attributes.nlink = u32::from(now.is_ok());
        Ok((ttl, attributes))
    }

    /// Sets attributes.
    pub(crate) fn setattr(
        &self,
        number: INodeNo,
        new: &NewAttributes,
        handle: Option<FileHandle>,
        pid: u32,
    ) -> CallResult<Described> {
        self.check_writable()?;
        let path = self.nodes.path(number).ok_or(Errno::ESTALE)?;
        let (uid, gid) = self.options.owner;
        if new.owner.0.is_some_and(|new| new != uid) || new.owner.1.is_some_and(|new| new != gid) {
            return Err(Errno::EPERM);
        }
        if let Some(size) = new.size {
            self.resize(number, handle, size, pid)?;
        }
        let is_link = self.entry(&path).is_ok_and(|(entry, _)| entry.kind == FileKind::Symlink);
        if let Some(mode) = new.mode.filter(|_| !is_link) {
            let mode = FileAttribute::Mode(mode & 0o7777);
            block_on(self.fs.set_attribute(&path, mode)).map_err(errno)?;
        }
        let [accessed, modified] = [new.accessed, new.modified].map(|time| time.map(instant));
        if let Some(modified) = modified.filter(|_| !is_link) {
            if let Some(id) = self.nodes.id(number) {
                // What was written before has its time from this call.
                self.apply_open(&id)?;
            }
            let time = FileAttribute::Mtime(millis(modified));
            block_on(self.fs.set_attribute(&path, time)).map_err(errno)?;
        }
        self.times.set(self.inode_number(number).0, |times| {
            times.accessed = accessed.or(times.accessed);
            // A time that was set before is older than the write that changed the size.
            times.modified = modified.or(times.modified.filter(|_| new.size.is_none()));
        });
        self.getattr(number)
    }

    fn resize(
        &self,
        number: INodeNo,
        handle: Option<FileHandle>,
        size: u64,
        pid: u32,
    ) -> CallResult {
        if let Some(handle) = handle {
            return self.files().set_size(handle, size);
        }
        let (handle, _) = self.files().open(number, OpenFlags(libc::O_WRONLY), pid)?;
        let resized = self.files().set_size(handle, size).and_then(|()| self.files().flush(handle));
        self.files().release(handle);
        resized
    }

    /// Creates a file and opens it.
    pub(crate) fn create(
        &self,
        (parent, name): (INodeNo, &OsStr),
        mode: u32,
        flags: OpenFlags,
        pid: u32,
    ) -> CallResult<(Described, FileHandle, FopenFlags)> {
        self.check_writable()?;
        let label = label_of(pid);
        let described =
            self.make_file((parent, name), mode, flags.0 & libc::O_EXCL != 0, &label)?;
        let number = described.1.ino;
        let (handle, open_flags) =
            self.files().open_node(number, &self.id_of(number)?, flags, pid)?;
        Ok(((NEVER, described.1), handle, open_flags))
    }

    /// Creates a file, or finds one unless it must be new.
    pub(crate) fn make_file(
        &self,
        (parent, name): (INodeNo, &OsStr),
        mode: u32,
        is_exclusive: bool,
        label: &smol_str::SmolStr,
    ) -> CallResult<Described> {
        self.check_writable()?;
        let path = self.child_path(parent, name)?;
        let mut options = self.write_options(label);
        (options.create, options.mode) = (CreateMode::New, Some(mode & 0o7777));
        match block_on(self.fs.write(&path, Bytes::new(), &options)) {
            Ok(_) => self.times.touch(parent.0),
            Err(error) if error.code == FsCode::EEXIST && !is_exclusive => (),
            Err(error) => return Err(errno(error)),
        }
        self.describe_new(&path)
    }

    pub(crate) fn mkdir(&self, parent: INodeNo, name: &OsStr, mode: u32) -> CallResult<Described> {
        self.check_writable()?;
        let path = self.child_path(parent, name)?;
        let options = MkdirOptions { recursive: false, mode: Some(mode & 0o7777) };
        block_on(self.fs.mkdir(&path, &options)).map_err(errno)?;
        self.times.touch(parent.0);
        self.describe_new(&path)
    }

    pub(crate) fn symlink(
        &self,
        parent: INodeNo,
        name: &OsStr,
        target: &OsStr,
    ) -> CallResult<Described> {
        self.check_writable()?;
        let path = self.child_path(parent, name)?;
        let target = target.to_str().ok_or(Errno::EILSEQ)?;
        block_on(self.fs.symlink(target, &path)).map_err(errno)?;
        self.times.touch(parent.0);
        self.describe_new(&path)
    }

    /// Makes a hard link, which is a copy (decision 17).
    pub(crate) fn link(
        &self,
        number: INodeNo,
        parent: INodeNo,
        name: &OsStr,
    ) -> CallResult<Described> {
        self.check_writable()?;
        let path = self.child_path(parent, name)?;
        let id = self.id_of(number)?;
        let from = path_by_id(&id);
        self.apply_open(&id)?;
        let options = CopyOptions { recursive: false, replace: false, parents: false };
        block_on(self.fs.cp(&from, &path, &options)).map_err(errno)?;
        self.times.touch(parent.0);
        self.describe_new(&path)
    }

    pub(crate) fn readlink(&self, number: INodeNo) -> CallResult<String> {
        let path = self.nodes.path(number).ok_or(Errno::ESTALE)?;
        block_on(self.fs.readlink(&path)).map_err(errno)
    }

    /// Removes a name: that of a directory, or that of anything else.
    pub(crate) fn remove(&self, parent: INodeNo, name: &OsStr, is_directory: bool) -> CallResult {
        self.check_writable()?;
        let path = self.child_path(parent, name)?;
        let (entry, _) = self.entry(&path)?;
        match (entry.kind == FileKind::Directory, is_directory) {
            (true, false) => return Err(Errno::EISDIR),
            (false, true) => return Err(Errno::ENOTDIR),
            _ => (),
        }
        // What is pending is in the trash with the rest, unless the disk is full.
        self.apply_open(&entry.id).ok();
        block_on(self.fs.rm(&path, &RemoveOptions::default())).map_err(errno)?;
        if let Some(file) = self.handles.find_file(&entry.id) {
            file.lock().is_unlinked = true;
        }
        self.times.set(self.nodes.number(&entry.id).0, |_| ());
        self.times.touch(parent.0);
        Ok(())
    }

    /// Renames an object. One that replaces a file gives it its content: the file keeps its id, its
    /// history and its open editors.
    pub(crate) fn rename(
        &self,
        (parent, name): (INodeNo, &OsStr),
        (new_parent, new_name): (INodeNo, &OsStr),
        flags: RenameFlags,
        pid: u32,
    ) -> CallResult {
        self.check_writable()?;
        let from = self.child_path(parent, name)?;
        let to = self.child_path(new_parent, new_name)?;
        if flags.contains(RenameFlags::RENAME_EXCHANGE) {
            return Err(Errno::EINVAL);
        }
        let (source, _) = self.entry(&from)?;
        let replaced = self.fs.entry(&to, Op::Lstat).ok().map(|(entry, _)| entry);
        self.apply_open(&source.id)?;
        let replace = !flags.contains(RenameFlags::RENAME_NOREPLACE);
        let options = MoveOptions { replace, parents: false };
        // The content that replaces another one is what the program knows from then on.
        let over = replaced.as_ref().filter(|replaced| {
            [&source, replaced].iter().all(|entry| entry.kind == FileKind::File)
                && source.id != replaced.id
                && replace
        });
        let content = match over {
            Some(_) => Some(self.fs.pin(&from).map_err(errno)?),
            None => None,
        };
        let data = content.as_ref().and_then(PinnedContent::in_memory);
        let process = process_of(pid);
        let is_merged = match (over, data) {
            (Some(replaced), Some(data)) => {
                let known = self.read_log.get(process, &replaced.id);
                self.merge_into((&source, data), replaced, known, pid)?
            }
            _ => false,
        };
        if !is_merged {
            block_on(self.fs.mv(&from, &to, &options)).map_err(errno)?;
        }
        match (over, data) {
            (Some(replaced), Some(data)) => {
                self.read_log.note(process, &replaced.id, VersionBase::Content(data.clone()));
            }
            (Some(replaced), None) => self.read_log.forget(process, &replaced.id),
            _ => (),
        }
        let replaced = replaced.filter(|replaced| replaced.id != source.id);
        if let Some(replaced) = replaced.filter(|entry| entry.kind != FileKind::Directory) {
            self.nodes.redirect(&source.id, &replaced.id);
            self.handles.redirect(&source.id, &replaced.id);
            self.forget_name(new_parent, new_name);
        }
        self.times.touch(parent.0);
        self.times.touch(new_parent.0);
        self.times.set(self.nodes.number(&source.id).0, |_| ());
        Ok(())
    }

    /// Puts the content of a file into the place of another one that others have changed since the
    /// program read it, so that their changes stay. Reports whether that was so.
    fn merge_into(
        &self,
        (source, data): (&DirEntry, &Bytes),
        replaced: &DirEntry,
        known: Option<VersionBase>,
        pid: u32,
    ) -> CallResult<bool> {
        let (from, to) = (path_by_id(&source.id), path_by_id(&replaced.id));
        let is_current = |known: &VersionBase| {
            let VersionBase::Version(known) = known else { return false };
            self.fs.version(&to).is_ok_and(|now| now == *known)
        };
        let Some(known) = known.filter(|known| !is_current(known)) else { return Ok(false) };
        let mut options = self.write_options(&label_of(pid));
        (options.base, options.mode) = (Some(known), Some(source.mode));
        match block_on(self.fs.write(&to, data.clone(), &options)) {
            Err(error) if error.code == FsCode::ESTALE => return Ok(false),
            written => drop(written.map_err(errno)?),
        }
        block_on(self.fs.rm(&from, &RemoveOptions::default())).map_err(errno)?;
        Ok(true)
    }

    pub(crate) fn check_writable(&self) -> CallResult {
        if self.options.is_read_only { Err(Errno::EROFS) } else { Ok(()) }
    }
}

fn instant(time: TimeOrNow) -> SystemTime {
    match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    }
}
