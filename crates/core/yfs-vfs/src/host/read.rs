//! Reading from the host's disk.

use std::{ffi::CString, fs::File, io::Read, os::unix::fs::FileExt, sync::Arc};

use bytes::Bytes;
use futures::stream;
use rustix::{
    fd::OwnedFd,
    fs::{Dir, Mode, OFlags, openat},
};
use tokio::task;
use yfs_types::path::VPath;

use super::{
    HostStat,
    host_lookup::{HostDisk, HostEntry, HostError, HostFinalLink},
    names::{TEMPORARY, from_host},
};
use crate::{
    error::{FsCode, FsError, Op},
    file_system::FileContent,
    options::StreamOptions,
    stat::{DirEntry, FileKind, Stat},
    stream::{ChunkStream, FileChunk, n_chunks},
};

/// A file that is open for reading, and its attributes when it was opened.
#[derive(Debug)]
pub(super) struct OpenedFile {
    pub(super) file: File,
    pub(super) facts: HostStat,
}

impl HostDisk {
    pub(super) fn read(&self, path: &VPath) -> Result<FileContent, HostError> {
        let OpenedFile { mut file, facts } = self.open_file(path)?;
        let mut data = Vec::with_capacity(facts.size as usize);
        file.read_to_end(&mut data)?;
        Ok(FileContent { data: data.into(), version: facts.version() })
    }

    pub(super) fn read_range(
        &self,
        path: &VPath,
        offset: u64,
        len: u64,
    ) -> Result<Bytes, HostError> {
        let OpenedFile { file, facts } = self.open_file(path)?;
        let len = len.min(facts.size.saturating_sub(offset));
        let mut data = vec![0; len as usize];
        let n_read = read_at(&file, &mut data, offset)?;
        data.truncate(n_read);
        Ok(data.into())
    }

    pub(super) fn open_file(&self, path: &VPath) -> Result<OpenedFile, HostError> {
        open_place(&self.find(path, HostFinalLink::Follow)?)
    }

    pub(super) fn stat(&self, path: &VPath, last: HostFinalLink) -> Result<Stat, HostError> {
        let place = self.find(path, last)?;
        let size = self.size(&place.dir, &place.name, &place.facts)?;
        Ok(place.facts.stat(place.path.file_name().unwrap_or_default(), size))
    }

    pub(super) fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, HostError> {
        self.list(&self.find(path, HostFinalLink::Follow)?)
    }

    /// Lists a directory in the order of names. Entries that vanish meanwhile are left out.
    pub(super) fn list(&self, place: &HostEntry) -> Result<Vec<DirEntry>, HostError> {
        if place.facts.kind != FileKind::Directory {
            return Err(FsCode::ENOTDIR.into());
        }
        let fd = place.open_dir(OFlags::RDONLY)?;
        let mut entries = Vec::new();
        for item in Dir::read_from(&fd)? {
            let item = item?;
            let name = item.file_name();
            if matches!(name.to_bytes(), b"." | b"..") || is_temporary(name.to_bytes()) {
                continue;
            }
            let Ok(facts) = HostStat::at(&fd, name) else { continue };
            let Ok(size) = self.size(&fd, &name.to_owned(), &facts) else { continue };
            entries.push(facts.entry(&from_host(name.to_bytes()), size));
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    pub(super) fn readlink(&self, path: &VPath) -> Result<String, HostError> {
        let place = self.find(path, HostFinalLink::Keep)?;
        if place.facts.kind != FileKind::Symlink {
            return Err(FsCode::EINVAL.into());
        }
        // The target of a link that leads outside is no secret: other programs can read it on the
        // disk.
        let outside = || {
            let bytes = rustix::fs::readlinkat(&place.dir, &place.name, Vec::new())?;
            Ok(String::from_utf8_lossy(bytes.as_bytes()).into_owned())
        };
        self.target(&place.dir, &place.name)?.map_or_else(outside, Ok)
    }
}

/// Opens a regular file only: opening a fifo could block, and opening a device could act on it.
pub(super) fn open_place(place: &HostEntry) -> Result<OpenedFile, HostError> {
    open_at(&place.dir, &place.name, &place.facts)
}

pub(super) fn open_at(
    dir: &OwnedFd,
    name: &CString,
    facts: &HostStat,
) -> Result<OpenedFile, HostError> {
    check_file(facts)?;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = openat(dir, name, flags, Mode::empty())?;
    // Another object may have the name by now.
    let facts = HostStat::of(&fd)?;
    check_file(&facts)?;
    Ok(OpenedFile { file: fd.into(), facts })
}

pub(super) fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMPORARY.as_bytes())
}

pub(super) fn check_file(facts: &HostStat) -> Result<(), HostError> {
    match facts.kind {
        FileKind::File => Ok(()),
        FileKind::Directory => Err(FsCode::EISDIR.into()),
        FileKind::Symlink | FileKind::Other => Err(FsCode::EINVAL.into()),
    }
}

/// Returns a stream over an open file. It fails with `ESTALE` if a process changes the file in
/// place.
pub(super) fn stream(opened: OpenedFile, path: VPath, options: StreamOptions) -> ChunkStream {
    let chunk_len = options.chunk_len.max(1) as u64;
    let total_chunks = n_chunks(opened.facts.size, chunk_len as usize);
    let opened = Arc::new(opened);
    Box::pin(stream::unfold(Some(0), move |state| {
        let (opened, path, cancel) = (opened.clone(), path.clone(), options.cancel.clone());
        async move {
            let index = state?;
            let fail = |fail: HostError| fail.on(Op::Read, &path);
            if cancel.is_cancelled() {
                return Some((Err(fail(FsCode::ECANCELED.into())), None));
            }
            let read =
                task::spawn_blocking(move || read_chunk(&opened, index * chunk_len, chunk_len));
            let data = match read.await {
                Ok(Ok(data)) => data,
                Ok(Err(error)) => return Some((Err(fail(error)), None)),
                Err(error) => {
                    let stopped = FsError::new(FsCode::ECANCELED, Op::Read, &path);
                    return Some((Err(stopped.caused_by(error)), None));
                }
            };
            let is_last = index + 1 == total_chunks;
            let chunk = FileChunk { data, index, total_chunks, is_last };
            Some((Ok(chunk), (!is_last).then_some(index + 1)))
        }
    }))
}

fn read_chunk(opened: &OpenedFile, offset: u64, chunk_len: u64) -> Result<Bytes, HostError> {
    let len = chunk_len.min(opened.facts.size - offset);
    let mut data = vec![0; len as usize];
    let n_read = read_at(&opened.file, &mut data, offset)?;
    let now = HostStat::of(&opened.file)?;
    let same = (now.size, now.mtime_ns) == (opened.facts.size, opened.facts.mtime_ns);
    if same && n_read == data.len() { Ok(data.into()) } else { Err(FsCode::ESTALE.into()) }
}

/// Fills `data` from an offset in a file, and returns the number of bytes read.
fn read_at(file: &File, data: &mut [u8], offset: u64) -> Result<usize, HostError> {
    let mut n_read = 0;
    while n_read < data.len() {
        match file.read_at(&mut data[n_read..], offset + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(n_read)
}
