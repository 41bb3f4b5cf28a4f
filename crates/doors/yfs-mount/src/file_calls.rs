//! The calls on files: open, read, write, close.

use std::{ops::Deref, sync::Arc};

use bytes::Bytes;
use fuser::{Errno, FileHandle, FopenFlags, INodeNo, OpenAccMode, OpenFlags};
use parking_lot::Mutex;
use yfs_types::id::FileId;
use yfs_vfs::VersionBase;

use crate::{
    errno::CallResult,
    file_view::FileView,
    handles::Handle,
    mount::MountedTree,
    open_file::{FileState, MAX_APPENDED_BYTES, PendingWrites},
    open_node::OpenNode,
    program_name::Writer,
    read_log::process_of,
};

/// The flags of all open files: each handle reads its own content, which therefore cannot come from
/// the kernel's cache, and several may write at once.
const DIRECT: FopenFlags =
    FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

/// The most bytes that one `copy_file_range` copies.
const MAX_COPIED_BYTES: u64 = 4 << 20;

/// The calls on files of a mounted workspace.
#[derive(Debug)]
pub(crate) struct FileCalls<'a> {
    tree: &'a MountedTree,
}

impl MountedTree {
    /// Returns the calls on files.
    pub(crate) fn files(&self) -> FileCalls<'_> {
        FileCalls { tree: self }
    }
}

impl Deref for FileCalls<'_> {
    type Target = MountedTree;

    fn deref(&self) -> &MountedTree {
        self.tree
    }
}

impl FileCalls<'_> {
    /// Opens a file.
    pub(crate) fn open(
        &self,
        number: INodeNo,
        flags: OpenFlags,
        pid: u32,
    ) -> CallResult<(FileHandle, FopenFlags)> {
        let id = self.id_of(number)?;
        let can_write = flags.acc_mode() != OpenAccMode::O_RDONLY;
        if can_write {
            self.check_writable()?;
        }
        self.open_node(number, &id, flags, pid)
    }

    /// Opens a node of a file.
    pub(crate) fn open_node(
        &self,
        number: INodeNo,
        id: &FileId,
        flags: OpenFlags,
        thread: u32,
    ) -> CallResult<(FileHandle, FopenFlags)> {
        let mode = flags.acc_mode();
        let can_write = mode != OpenAccMode::O_RDONLY;
        if let Some(file) = self.handles.find_file(id) {
            self.apply_for_reader(&mut file.lock())?;
        }
        let make = || {
            let file = self.handles.file(id);
            let content = self.newest(&file.lock())?;
            self.extend_in_kernel(number, &content.view);
            Ok(OpenNode::new(number, file, content))
        };
        let handle = |node: Arc<OpenNode>| Handle {
            seen: Mutex::new(node.seen()),
            node,
            can_read: mode != OpenAccMode::O_WRONLY,
            writer: can_write.then(|| Writer::of(thread)),
            appends: flags.0 & libc::O_APPEND != 0,
            thread,
        };
        let handle = self.handles.add(number, make, handle)?;
        if can_write {
            self.handles.get(handle)?.node.file.lock().n_writers += 1;
        }
        // From now on the kernel asks for the attributes.
        self.forget_attributes(number);
        if can_write && flags.0 & libc::O_TRUNC != 0 {
            self.base_on_what_was_read(handle, id)?;
            self.set_size(handle, 0).inspect_err(|_| self.release(handle))?;
        }
        Ok((handle, if can_write { DIRECT } else { DIRECT | FopenFlags::FOPEN_NOFLUSH }))
    }

    /// Bases what a program writes that empties a file on the version that it has read before.
    fn base_on_what_was_read(&self, handle: FileHandle, id: &FileId) -> CallResult {
        let handle = self.handles.get(handle)?;
        let writer = handle.writer.as_ref().ok_or(Errno::EBADF)?;
        if let Some(known) = self.read_log.get(writer.process, id) {
            let (newest, generation) = handle.node.seen();
            *handle.seen.lock() = (Arc::new(FileView::Reread { known, newest }), generation);
        }
        Ok(())
    }

    /// Applies what programs wrote to a file, unless it was only emptied, and so is about to be
    /// written again.
    fn apply_for_reader(&self, state: &mut FileState) -> CallResult {
        match &state.pending {
            PendingWrites::Copy(copy) if copy.is_only_emptied => Ok(()),
            _ => self.apply(state),
        }
    }

    /// Reads from a file, for a program or into memory that a program has mapped.
    pub(crate) fn read(
        &self,
        number: FileHandle,
        (offset, len): (u64, u64),
        is_mapped: bool,
    ) -> CallResult<Bytes> {
        let handle = self.handles.get(number)?;
        if !handle.can_read {
            return Err(Errno::EBADF);
        }
        let node = &handle.node;
        let mut state = node.file.lock();
        if let PendingWrites::Appended { .. } = state.pending {
            self.apply(&mut state)?;
        }
        if let PendingWrites::Copy(copy) = &state.pending {
            return copy.read(offset, len);
        }
        let mut reading = node.lock();
        self.show_written(&state, &mut reading);
        if !is_mapped && reading.begins_pass(number, offset) {
            self.begin_pass(&state, &mut reading, number);
        }
        drop(state);
        let view = reading.content.view.clone();
        let had_read_all = reading.has_read_all(number);
        let n_read = reading.read(number, (offset, len), is_mapped);
        let has_read_all = reading.has_read_all(number) && !had_read_all;
        let id = reading.content.entry.id.clone();
        if handle.writer.is_some() {
            *handle.seen.lock() = (view.clone(), reading.content.generation);
        }
        drop(reading);
        if let (true, Some(version)) = (has_read_all, view.version()) {
            // Now and not when the program closes the file: the kernel reports that later.
            let known = VersionBase::Version(version.clone());
            self.read_log.note(process_of(handle.thread), &id, known);
        }
        view.read(offset, n_read)
    }

    /// Returns the size of a file as the programs see it that have a node open.
    fn size_in(&self, node: &OpenNode) -> u64 {
        let state = node.file.lock();
        if let Some(size) = state.pending_size() {
            return size;
        }
        let mut reading = node.lock();
        self.show_written(&state, &mut reading);
        reading.note_stat();
        reading.content.view.size()
    }

    /// Writes to a file, and returns the number of bytes written.
    pub(crate) fn write(&self, handle: FileHandle, offset: u64, data: &[u8]) -> CallResult<u32> {
        let handle = self.handles.get(handle)?;
        let writer = handle.writer.as_ref().ok_or(Errno::EBADF)?;
        let mut state = handle.node.file.lock();
        if handle.appends && !state.is_unlinked {
            self.append_pending(&handle, writer, &mut state, data)?;
        } else {
            let view = self.view_to_change(&handle, &state);
            let copy = self.working_copy(&mut state, &view, writer)?;
            let offset = if handle.appends { copy.size() } else { offset };
            copy.write(offset, data)?;
        }
        state.note_write();
        drop(state);
        self.note_pending();
        u32::try_from(data.len()).map_err(|_| Errno::EINVAL)
    }

    fn append_pending(
        &self,
        handle: &Handle,
        by: &Writer,
        state: &mut FileState,
        data: &[u8],
    ) -> CallResult {
        match &mut state.pending {
            PendingWrites::Copy(copy) => {
                let end = copy.size();
                copy.write(end, data)
            }
            PendingWrites::Appended { data: pending, writer, .. } => {
                pending.extend_from_slice(data);
                *writer = by.clone();
                if pending.len() >= MAX_APPENDED_BYTES { self.apply(state) } else { Ok(()) }
            }
            PendingWrites::None => {
                let size_before = match self.stored_size(&state.id) {
                    Ok(size) => size,
                    Err(_) => handle.node.lock().content.view.size(),
                };
                let (data, writer) = (data.to_vec(), by.clone());
                state.pending = PendingWrites::Appended { data, size_before, writer };
                Ok(())
            }
        }
    }

    /// Returns the content that the program of a handle changes: the one that it has read or
    /// opened, or the last one that programs of this mount wrote.
    fn view_to_change(&self, handle: &Handle, state: &FileState) -> Arc<FileView> {
        let mut seen = handle.seen.lock();
        if seen.1 != state.generation {
            let written = state.sent.clone();
            let view = written.unwrap_or_else(|| {
                let mut reading = handle.node.lock();
                self.show_written(state, &mut reading);
                reading.content.view.clone()
            });
            *seen = (view, state.generation);
        }
        seen.0.clone()
    }

    /// Cuts or extends a file.
    pub(crate) fn set_size(&self, handle: FileHandle, size: u64) -> CallResult {
        let handle = self.handles.get(handle)?;
        let writer = handle.writer.as_ref().ok_or(Errno::EBADF)?;
        let mut state = handle.node.file.lock();
        let view = self.view_to_change(&handle, &state);
        if state.pending_size().unwrap_or(view.size()) == size {
            return Ok(());
        }
        self.working_copy(&mut state, &view, writer)?.set_size(size)?;
        state.note_write();
        drop(state);
        self.note_pending();
        Ok(())
    }

    /// Makes what a handle wrote an edit. A file that was only emptied waits for what follows: a
    /// shell closes one of two descriptors before it runs the program that writes.
    pub(crate) fn flush(&self, handle: FileHandle) -> CallResult {
        let handle = self.handles.get(handle)?;
        if handle.writer.is_none() {
            return Ok(());
        }
        self.apply_for_reader(&mut handle.node.file.lock())
    }

    /// Makes what a handle wrote an edit that survives a power cut.
    pub(crate) fn fsync(&self, handle: FileHandle) -> CallResult {
        self.flush(handle)?;
        self.apply(&mut self.handles.get(handle)?.node.file.lock())?;
        self.workspace().flush().map_err(crate::errno::workspace_errno)
    }

    /// Closes a handle.
    pub(crate) fn release(&self, handle: FileHandle) {
        let Some(handle) = self.handles.remove(handle) else { return };
        if handle.writer.is_some() {
            let mut state = handle.node.file.lock();
            state.n_writers = state.n_writers.saturating_sub(1);
            // What is pending is of the other programs, if there are any: the kernel reports the
            // end of a handle late, when another program may just have emptied the file.
            if state.n_writers == 0 {
                self.apply_or_rescue(&mut state);
            }
        }
        self.handles.close(handle);
    }

    /// Reserves or removes space, as `fallocate(2)` does: its modes are bits.
    pub(crate) fn allocate(
        &self,
        handle: FileHandle,
        offset: u64,
        len: u64,
        mode: i32,
    ) -> CallResult {
        const ZEROES: usize = 64 << 10;
        let keeps_size = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
        let end = offset.checked_add(len).ok_or(Errno::EFBIG)?;
        let size = self.size_in(&self.handles.get(handle)?.node);
        match mode & !libc::FALLOC_FL_KEEP_SIZE {
            0 => (),
            libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_PUNCH_HOLE => {
                let (mut at, end) = (offset, end.min(size));
                while at < end {
                    let n_bytes = (end - at).min(ZEROES as u64);
                    self.write(handle, at, &[0; ZEROES][..n_bytes as usize])?;
                    at += n_bytes;
                }
            }
            _ => return Err(Errno::EOPNOTSUPP),
        }
        if !keeps_size && end > size { self.set_size(handle, end) } else { Ok(()) }
    }

    /// Finds data or a hole, as `lseek(2)` does: all of a file is data.
    pub(crate) fn seek(&self, handle: FileHandle, offset: i64, whence: i32) -> CallResult<i64> {
        let size = i64::try_from(self.size_in(&self.handles.get(handle)?.node))
            .map_err(|_| Errno::EOVERFLOW)?;
        match whence {
            _ if offset < 0 || offset >= size => Err(Errno::ENXIO),
            libc::SEEK_DATA => Ok(offset),
            libc::SEEK_HOLE => Ok(size),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Copies a part of one file into another, and returns the number of bytes copied.
    pub(crate) fn copy_range(
        &self,
        from: (FileHandle, u64),
        to: (FileHandle, u64),
        len: u64,
    ) -> CallResult<u32> {
        let data = self.read(from.0, (from.1, len.min(MAX_COPIED_BYTES)), false)?;
        if data.is_empty() { Ok(0) } else { self.write(to.0, to.1, &data) }
    }
}
