//! The calls of the kernel: each is passed on, and its result is the answer.

use std::{ffi::OsStr, io, path::Path, sync::Arc, time::SystemTime};

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use yfs_vfs::{DirEntry, FileKind};

use crate::{
    attributes::file_type,
    errno::{CallResult, io_errno},
    listing::{Listing, N_DOTS},
    mount::MountedTree,
    program_name::label_of,
    tree_calls::{Described, NewAttributes},
};

/// Numbers are not used again for another object.
const GENERATION: Generation = Generation(0);

/// The most bytes of one write.
const MAX_WRITE_BYTES: u32 = 1 << 20;

/// What the kernel is asked to do, where it can: send creations that open as one call, send
/// truncating opens as one call, look up and read the entries of a directory at once, map files
/// that are not read from its cache, let several programs change one directory, keep the targets of
/// links, and forget contents only when it is asked to.
const CAPABILITIES: [InitFlags; 8] = [
    InitFlags::FUSE_ATOMIC_O_TRUNC,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_CACHE_SYMLINKS,
    InitFlags::FUSE_EXPLICIT_INVAL_DATA,
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
];

/// The calls of the kernel on a mounted workspace.
#[derive(Debug)]
pub(crate) struct KernelCalls {
    pub(crate) tree: Arc<MountedTree>,
}

macro_rules! answer {
    ($result:expr, $reply:ident, $value:pat => $answer:expr) => {
        match $result {
            Ok($value) => $answer,
            Err(error) => $reply.error(error),
        }
    };
}

fn answer_entry(result: CallResult<Described>, reply: ReplyEntry) {
    answer!(result, reply, (ttl, attributes) => {
        reply.entry_with_ttls(&ttl, &crate::attributes::LASTING, &attributes, GENERATION);
    });
}

fn answer_empty(result: CallResult, reply: ReplyEmpty) {
    answer!(result, reply, () => reply.ok());
}

fn answer_xattr(result: CallResult<Vec<u8>>, size: u32, reply: ReplyXattr) {
    let value = match result {
        Ok(value) => value,
        Err(error) => return reply.error(error),
    };
    match (u32::try_from(value.len()), size) {
        (Ok(len), 0) => reply.size(len),
        (Ok(len), size) if len <= size => reply.data(&value),
        _ => reply.error(Errno::ERANGE),
    }
}

impl Filesystem for KernelCalls {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for capability in CAPABILITIES {
            // An older kernel has not all of them.
            config.add_capabilities(capability).ok();
        }
        config.set_max_write(MAX_WRITE_BYTES).ok();
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer_entry(self.tree.lookup(parent, name), reply);
    }

    fn forget(&self, _: &Request, number: INodeNo, n_lookups: u64) {
        self.tree.nodes.forget(number, n_lookups);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        let found = self.tree.getattr(number);
        answer!(found, reply, (ttl, attributes) => reply.attr(&ttl, &attributes));
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _changed_at: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let new = NewAttributes { mode, owner: (uid, gid), size, accessed, modified };
        let set = self.tree.setattr(number, &new, handle, request.pid());
        answer!(set, reply, (ttl, attributes) => reply.attr(&ttl, &attributes));
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        answer!(self.tree.readlink(number), reply, target => reply.data(target.as_bytes()));
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        if mode & libc::S_IFMT != libc::S_IFREG {
            return reply.error(Errno::EPERM);
        }
        let label = label_of(request.pid());
        answer_entry(self.tree.make_file((parent, name), mode, true, &label), reply);
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        answer_entry(self.tree.mkdir(parent, name, mode), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(self.tree.remove(parent, name, false), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(self.tree.remove(parent, name, true), reply);
    }

    fn symlink(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        answer_entry(self.tree.symlink(parent, name, target.as_os_str()), reply);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = ((parent, name), (new_parent, new_name));
        let renamed = self.tree.rename(from, to, flags, request.pid());
        answer_empty(renamed, reply);
    }

    fn link(
        &self,
        _: &Request,
        number: INodeNo,
        new_parent: INodeNo,
        new_name: &OsStr,
        reply: ReplyEntry,
    ) {
        answer_entry(self.tree.link(number, new_parent, new_name), reply);
    }

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = self.tree.files().open(number, flags, request.pid());
        answer!(opened, reply, (handle, flags) => reply.opened(handle, flags));
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let created = self.tree.create((parent, name), mode, OpenFlags(flags), request.pid());
        answer!(created, reply, ((ttl, attributes), handle, flags) => {
            reply.created(&ttl, &attributes, GENERATION, handle, flags);
        });
    }

    fn read(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        // The kernel names the owner of locks with the reads of programs, not with those into
        // mapped memory (`fuse_send_read` of Linux).
        let is_mapped = lock_owner.is_none();
        let data = self.tree.files().read(handle, (offset, size.into()), is_mapped);
        answer!(data, reply, data => reply.data(&data));
    }

    fn write(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = self.tree.files().write(handle, offset, data);
        answer!(written, reply, n_bytes => reply.written(n_bytes));
    }

    fn flush(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        answer_empty(self.tree.files().flush(handle), reply);
    }

    fn fsync(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        answer_empty(self.tree.files().fsync(handle), reply);
    }

    fn release(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.tree.files().release(handle);
        reply.ok();
    }

    fn opendir(&self, _: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let Some(path) = self.tree.nodes.path(number) else { return reply.error(Errno::ESTALE) };
        let handle = self.tree.handles.add_directory(Listing::new(path));
        reply.opened(handle, FopenFlags::empty());
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let listed = self.list(number, handle, offset, |next, entry| {
            let number = self.tree.nodes.number(&entry.id);
            reply.add(number, next, file_type(entry.kind), entry.name.as_str())
        });
        answer_empty_directory(listed, reply);
    }

    fn readdirplus(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let listed = self
            .list(number, handle, offset, |next, entry| self.add_entry(entry, next, &mut reply));
        answer!(listed, reply, () => reply.ok());
    }

    fn releasedir(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.tree.handles.remove_directory(handle);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        _: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        let flushed = self.tree.workspace().flush().map_err(crate::errno::workspace_errno);
        answer_empty(flushed, reply);
    }

    fn statfs(&self, _: &Request, _number: INodeNo, reply: ReplyStatfs) {
        let found = rustix::fs::statvfs(self.tree.options.host_directory());
        let found = found.map_err(|error| io_errno(error.into()));
        answer!(found, reply, host => {
            let block = u32::try_from(host.f_frsize).unwrap_or(4096);
            let (files, free) = (host.f_files, host.f_ffree);
            let (blocks, available) = (host.f_blocks, host.f_bavail);
            reply.statfs(blocks, host.f_bfree, available, files, free, block, 255, block);
        });
    }

    fn setxattr(
        &self,
        _: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        answer_empty(self.tree.xattrs().setxattr(number, name, value, flags), reply);
    }

    fn getxattr(&self, _: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        answer_xattr(self.tree.xattrs().getxattr(number, name), size, reply);
    }

    fn listxattr(&self, _: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        answer_xattr(self.tree.xattrs().listxattr(number), size, reply);
    }

    fn removexattr(&self, _: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(self.tree.xattrs().removexattr(number, name), reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        answer_empty(self.tree.files().allocate(handle, offset, len, mode), reply);
    }

    fn lseek(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let found = self.tree.files().seek(handle, offset, whence);
        answer!(found, reply, found => reply.offset(found));
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _from: INodeNo,
        from_handle: FileHandle,
        from_offset: u64,
        _to: INodeNo,
        to_handle: FileHandle,
        to_offset: u64,
        len: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let (from, to) = ((from_handle, from_offset), (to_handle, to_offset));
        let copied = self.tree.files().copy_range(from, to, len);
        answer!(copied, reply, n_bytes => reply.written(n_bytes));
    }
}

fn answer_empty_directory(result: CallResult, reply: ReplyDirectory) {
    answer!(result, reply, () => reply.ok());
}

impl KernelCalls {
    /// Passes the entries of a directory from a position on to `add`, with the position after each,
    /// until it reports that the answer is full.
    fn list(
        &self,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut add: impl FnMut(u64, &DirEntry) -> bool,
    ) -> CallResult {
        let listing = self.tree.handles.directory(handle)?;
        let mut listing = listing.lock();
        let entries = listing.entries_from(&self.tree.fs, offset)?;
        let own = self.tree.nodes.id(number).unwrap_or_else(|| self.tree.workspace_root());
        for (position, name) in [(0, "."), (1, "..")] {
            let dot = DirEntry::new(name, own.clone(), FileKind::Directory);
            if offset <= position && add(position + 1, &dot) {
                return Ok(());
            }
        }
        let first = offset.max(N_DOTS);
        for (next, entry) in (first + 1..).zip(entries) {
            if add(next, entry) {
                break;
            }
        }
        Ok(())
    }

    /// Adds an entry with its attributes, and reports whether the answer is full.
    fn add_entry(&self, entry: &DirEntry, next: u64, reply: &mut ReplyDirectoryPlus) -> bool {
        let is_dot = entry.name == "." || entry.name == "..";
        let nodes = &self.tree.nodes;
        let number = if is_dot {
            nodes.number(&entry.id)
        } else {
            let number = self.tree.node_to_open(&entry.id);
            nodes.look_up(number, &entry.id, entry.size);
            number
        };
        let mut entry = entry.clone();
        let (ttl, attributes) = self.tree.describe(number, &entry, entry.mtime);
        let name = std::mem::take(&mut entry.name);
        let is_full = reply.add(number, next, name.as_str(), &ttl, &attributes, GENERATION);
        if is_full && !is_dot {
            nodes.forget(number, 1);
        }
        is_full
    }
}
