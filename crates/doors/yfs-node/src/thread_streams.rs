//! Contents of threads in pieces: out of a file, and into one.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures::StreamExt;
use yfs::SpoolFile;
use yfs_vfs::{CancellationToken, ChunkStream, FsCode, FsError};

use crate::{prelude::*, workspace_slot::SharedStream};

/// A content that is read chunk by chunk. It stays that of one version.
#[expect(missing_debug_implementations, reason = "a stream has none")]
#[napi]
pub struct NativeFileStream {
    slot: WorkspaceSlot,
    stream: Weak<SharedStream>,
    cancel: CancellationToken,
}

/// A chunk of a content.
#[expect(missing_debug_implementations, reason = "the bytes of napi have none")]
#[napi(object)]
pub struct NativeChunk {
    pub data: Uint8Array,
    pub index: f64,
    pub total_chunks: f64,
    pub is_last: bool,
}

/// A content that arrives in pieces, and waits in a file of the host that has no name and is
/// encrypted with a key that only this process has.
#[derive(Debug)]
#[napi]
pub struct NativeUpload {
    file: Arc<Mutex<Option<SpoolFile>>>,
}

impl NativeFileStream {
    pub(crate) fn new(
        slot: WorkspaceSlot,
        stream: ChunkStream,
        cancel: CancellationToken,
    ) -> napi::Result<Self> {
        let stream = slot.keep(SharedStream(Mutex::new(stream)))?;
        Ok(Self { slot, stream, cancel })
    }
}

#[napi]
impl NativeFileStream {
    /// Returns the next chunk; nothing after the last, or once the stream is closed.
    #[napi]
    pub fn next(&self) -> napi::Result<OwnedFuture<Option<NativeChunk>>> {
        let Some(stream) = self.stream.upgrade() else {
            // It was closed, or the workspace was.
            self.slot.get()?;
            return Ok(OwnedFuture::blocking(|| Ok(None)));
        };
        Ok(OwnedFuture::blocking(move || {
            let mut stream = stream.0.lock().unwrap_or_else(PoisonError::into_inner);
            let next = tokio::runtime::Handle::current().block_on(stream.next());
            let chunk = match next.transpose() {
                Err(error) if error.code == FsCode::ECANCELED => None,
                chunk => chunk.map_err(error::of)?,
            };
            Ok(chunk.map(|chunk| NativeChunk {
                data: Uint8Array::new(chunk.data.to_vec()),
                index: chunk.index as f64,
                total_chunks: chunk.total_chunks as f64,
                is_last: chunk.is_last,
            }))
        }))
    }

    /// Ends the reading.
    #[napi]
    pub fn close(&self) {
        self.cancel.cancel();
        self.slot.release(&self.stream);
    }
}

impl Drop for NativeFileStream {
    fn drop(&mut self) {
        self.close();
    }
}

impl NativeUpload {
    pub(crate) fn new() -> napi::Result<Self> {
        let file = SpoolFile::new().map_err(|error| failed(&error))?;
        Ok(Self { file: Arc::new(Mutex::new(Some(file))) })
    }

    /// Takes the file out, once.
    pub(crate) fn take(&self) -> napi::Result<SpoolFile> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        file.ok_or_else(|| error::invalid("an upload that is not finished", ""))
    }
}

#[napi]
impl NativeUpload {
    /// Adds a piece.
    #[napi]
    pub fn push(&self, data: Uint8ArraySlice<'_>) -> napi::Result<OwnedFuture<()>> {
        let (file, data) = (self.file.clone(), data.to_vec());
        Ok(OwnedFuture::blocking(move || {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let finished = || error::invalid("an upload that is not finished", "");
            let file = file.as_mut().ok_or_else(finished)?;
            file.write_all(&data).map_err(|error| failed(&error))
        }))
    }

    /// Gives the upload up.
    #[napi]
    pub fn close(&self) {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn failed(error: &io::Error) -> napi::Error {
    let code = FsCode::of_io(error);
    error::of(FsError::bare(code, Op::Write))
}
