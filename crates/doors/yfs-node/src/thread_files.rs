//! The files of a thread.

use tokio::runtime::Handle;
use yfs_engine::id::FileId;
use yfs_threads::{FileRecord, Thread, ThreadAddress, ThreadFileError, ThreadFiles, ThumbnailBox};
use yfs_vfs::{FsError, Metadata, StreamOptions};
use yfs_wire::{ThreadFileJson, ThreadFileRequest, UnixMillis};

use crate::{
    prelude::*,
    thread_streams::{NativeFileStream, NativeUpload},
    threads::ThreadAccess,
};

/// The files of a thread.
#[derive(Debug)]
#[napi]
pub struct NativeThread {
    access: ThreadAccess,
    address: ThreadAddress,
    /// The directory of the thread, which stays the same if it is deleted and another one is made.
    directory: FileId,
}

/// A picture of an image.
#[expect(missing_debug_implementations, reason = "the bytes of napi have none")]
#[napi(object)]
pub struct NativeThumbnail {
    pub data: Uint8Array,
    pub mime_type: String,
    pub width: u32,
    pub height: u32,
}

impl NativeThread {
    pub(crate) fn new(access: ThreadAccess, thread: &Thread) -> Self {
        let directory = thread.rooted().directory().clone();
        Self { access, address: thread.address().clone(), directory }
    }

    fn files(&self) -> napi::Result<ThreadFiles> {
        let threads = self.access.threads()?;
        Ok(threads.thread_in(self.address.clone(), self.directory.clone()).files())
    }
}

#[napi]
impl NativeThread {
    /// The id of the thread.
    #[napi(getter)]
    pub fn id(&self) -> String {
        self.address.to_string()
    }

    /// Serves a request for the files.
    #[napi]
    pub fn call(&self, request: String) -> napi::Result<OwnedFuture<String>> {
        let request: ThreadFileRequest = message::request(&request)?;
        let files = self.files()?;
        Ok(OwnedFuture::calling(async move || {
            request.serve::<UnixMillis>(&files).await.map(|served| message::json(&served))
        }))
    }

    #[napi]
    pub fn write_file(
        &self,
        at: String,
        data: Uint8ArraySlice<'_>,
        mime: Option<String>,
        metadata: Option<String>,
    ) -> napi::Result<OwnedFuture<String>> {
        let (files, data, metadata) = (self.files()?, data.to_vec(), members(metadata)?);
        Ok(OwnedFuture::calling(async move || {
            let written = files.write_file(&at, data.into(), mime.as_deref(), metadata).await;
            written.map(|record| describe(&record))
        }))
    }

    /// Begins an upload.
    #[napi]
    pub fn upload(&self) -> napi::Result<NativeUpload> {
        self.access.slot().get()?;
        NativeUpload::new()
    }

    /// Writes what was uploaded.
    #[napi]
    pub fn finish_upload(
        &self,
        at: String,
        upload: &NativeUpload,
        mime: Option<String>,
        metadata: Option<String>,
    ) -> napi::Result<OwnedFuture<String>> {
        let (files, mut file, metadata) = (self.files()?, upload.take()?, members(metadata)?);
        Ok(OwnedFuture::calling(async move || {
            let failed = |error| ThreadFileError::Fs(FsError::io(Op::Write, &at, error));
            file.rewind().map_err(failed)?;
            let written = files.write_file_from(&at, &mut file, mime.as_deref(), metadata).await;
            written.map(|record| describe(&record))
        }))
    }

    #[napi]
    pub fn read_file(&self, at: String) -> napi::Result<OwnedFuture<Option<Uint8Array>>> {
        let files = self.files()?;
        Ok(OwnedFuture::calling(async move || {
            let data = files.read_file(&at).await;
            data.map(|data| data.map(|data| Uint8Array::new(data.to_vec())))
        }))
    }

    #[napi]
    pub fn read_file_stream(
        &self,
        at: String,
    ) -> napi::Result<OwnedFuture<Option<NativeFileStream>>> {
        let (files, slot) = (self.files()?, self.access.slot().clone());
        Ok(OwnedFuture::blocking(move || {
            let options = StreamOptions::default();
            let stream = Handle::current().block_on(files.read_file_stream(&at, &options));
            let stream = stream.map_err(error::of)?;
            stream.map(|stream| NativeFileStream::new(slot, stream, options.cancel)).transpose()
        }))
    }

    #[napi]
    pub fn thumbnail(
        &self,
        at: String,
        max_side: u32,
    ) -> napi::Result<OwnedFuture<Option<NativeThumbnail>>> {
        let files = self.files()?;
        Ok(OwnedFuture::calling(async move || {
            let made = files.thumbnail(&at, ThumbnailBox::square(max_side)).await;
            made.map(|made| {
                made.map(|made| NativeThumbnail {
                    data: Uint8Array::new(made.data.to_vec()),
                    mime_type: made.mime_type.to_owned(),
                    width: made.width,
                    height: made.height,
                })
            })
        }))
    }
}

/// Parses metadata.
fn members(text: Option<String>) -> napi::Result<Option<Metadata>> {
    text.as_deref().map(message::request).transpose()
}

fn describe(record: &FileRecord) -> String {
    message::json(&ThreadFileJson::from(record))
}
