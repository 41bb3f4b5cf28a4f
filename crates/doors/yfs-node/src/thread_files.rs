//! The files of a thread.

use std::sync::Arc;

use napi::bindgen_prelude::{Uint8Array, Uint8ArraySlice};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use yfs_engine::id::FileId;
use yfs_threads::{
    ExternalFile, FileRecord, FileSearch, MatchedFile, Thread, ThreadAddress, ThreadFileError,
    ThreadFiles, ThumbnailBox,
};
use yfs_vfs::StreamOptions;

use crate::{
    error,
    owned_future::OwnedFuture,
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

/// Options of a search for lines.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct SearchOptions {
    regex: bool,
    ignore_case: bool,
    include: Vec<String>,
    limit: Option<usize>,
}

/// Where the bytes of an external file are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExternalOptions {
    url: String,
    size: Option<u64>,
    hash: Option<String>,
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

    /// Runs a call on another thread.
    fn ask<T: Send + 'static, F: Future<Output = Result<T, ThreadFileError>>>(
        &self,
        call: impl FnOnce(Arc<ThreadFiles>) -> F + Send + 'static,
    ) -> napi::Result<OwnedFuture<T>> {
        let files = Arc::new(self.files()?);
        Ok(OwnedFuture::blocking(move || {
            let done = Handle::current().block_on(call(files));
            done.map_err(|error| error::of_thread_files(&error))
        }))
    }
}

#[napi]
impl NativeThread {
    /// The id of the thread.
    #[napi(getter)]
    pub fn id(&self) -> String {
        self.address.to_string()
    }

    #[napi]
    pub fn write_file(
        &self,
        at: String,
        data: Uint8ArraySlice<'_>,
        mime: Option<String>,
        metadata: Option<String>,
    ) -> napi::Result<OwnedFuture<String>> {
        let (data, metadata) = (data.to_vec(), members(metadata.as_deref())?);
        self.ask(async move |files: Arc<ThreadFiles>| {
            let record = files.write_file(&at, data.into(), mime.as_deref(), metadata).await?;
            Ok(describe(&record).to_string())
        })
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
        let (mut file, metadata) = (upload.take()?, members(metadata.as_deref())?);
        self.ask(async move |files: Arc<ThreadFiles>| {
            let failed = |error| yfs_vfs::FsError::io(yfs_vfs::Op::Write, &at, error);
            file.rewind().map_err(failed)?;
            let record = files.write_file_from(&at, &mut file, mime.as_deref(), metadata).await?;
            Ok(describe(&record).to_string())
        })
    }

    #[napi]
    pub fn link_file(
        &self,
        at: String,
        external: String,
        mime: Option<String>,
        metadata: Option<String>,
    ) -> napi::Result<OwnedFuture<String>> {
        let given: ExternalOptions = serde_json::from_str(&external)
            .map_err(|_| error::invalid("an external file", &external))?;
        let ExternalOptions { url, size, hash } = given;
        let (external, metadata) =
            (ExternalFile { url, size, hash }, members(metadata.as_deref())?);
        self.ask(async move |files: Arc<ThreadFiles>| {
            let record = files.link_file(&at, &external, mime.as_deref(), metadata).await?;
            Ok(describe(&record).to_string())
        })
    }

    #[napi]
    pub fn patch_metadata(&self, at: String, patch: String) -> napi::Result<OwnedFuture<String>> {
        let patch = members(Some(&patch))?.unwrap_or_default();
        self.ask(async move |files: Arc<ThreadFiles>| {
            Ok(describe(&files.patch_metadata(&at, &patch).await?).to_string())
        })
    }

    #[napi]
    pub fn read_file(&self, at: String) -> napi::Result<OwnedFuture<Option<Uint8Array>>> {
        self.ask(async move |files: Arc<ThreadFiles>| {
            let data = files.read_file(&at).await?;
            Ok(data.map(|data| Uint8Array::new(data.to_vec())))
        })
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
            let stream = stream.map_err(|error| error::of_thread_files(&error))?;
            stream.map(|stream| NativeFileStream::new(slot, stream, options.cancel)).transpose()
        }))
    }

    #[napi]
    pub fn stat_file(&self, at: String) -> napi::Result<OwnedFuture<Option<String>>> {
        self.ask(async move |files: Arc<ThreadFiles>| {
            Ok(files.stat_file(&at).await?.map(|record| describe(&record).to_string()))
        })
    }

    #[napi]
    pub fn mkdir_file(&self, at: String) -> napi::Result<OwnedFuture<String>> {
        self.ask(async move |files: Arc<ThreadFiles>| {
            Ok(describe(&files.mkdir_file(&at).await?).to_string())
        })
    }

    #[napi]
    pub fn readdir_file(&self, at: String) -> napi::Result<OwnedFuture<String>> {
        self.ask(async move |files: Arc<ThreadFiles>| {
            let records = files.readdir_file(&at).await?;
            Ok(records.iter().map(describe).collect::<Value>().to_string())
        })
    }

    #[napi]
    pub fn rmdir_file(&self, at: String) -> napi::Result<OwnedFuture<()>> {
        self.ask(async move |files: Arc<ThreadFiles>| files.rmdir_file(&at).await)
    }

    #[napi]
    pub fn unlink_file(&self, at: String) -> napi::Result<OwnedFuture<()>> {
        self.ask(async move |files: Arc<ThreadFiles>| files.unlink_file(&at).await)
    }

    #[napi]
    pub fn move_file(&self, from: String, to: String) -> napi::Result<OwnedFuture<String>> {
        self.ask(async move |files: Arc<ThreadFiles>| {
            Ok(describe(&files.move_file(&from, &to).await?).to_string())
        })
    }

    #[napi]
    pub fn grep_files(
        &self,
        pattern: String,
        options: String,
    ) -> napi::Result<OwnedFuture<String>> {
        let given: SearchOptions = serde_json::from_str(&options)
            .map_err(|_| error::invalid("the options of a search", &options))?;
        let SearchOptions { regex, ignore_case, include, limit } = given;
        let search = FileSearch { regex, ignore_case, include, limit };
        self.ask(async move |files: Arc<ThreadFiles>| {
            let found = files.grep_files(&pattern, &search).await?;
            let described = json!({
                "files": found.files.iter().map(describe_matches).collect::<Value>(),
                "binary": found.n_binary,
                "binaryPaths": found.binary_paths,
            });
            Ok(described.to_string())
        })
    }

    #[napi]
    pub fn find_files(&self, pattern: String) -> napi::Result<OwnedFuture<Vec<String>>> {
        self.ask(async move |files: Arc<ThreadFiles>| files.find_files(&pattern).await)
    }

    #[napi]
    pub fn file_stats(&self) -> napi::Result<OwnedFuture<String>> {
        self.ask(async move |files: Arc<ThreadFiles>| {
            let stats = files.file_stats().await?;
            let described = json!({
                "fileCount": stats.file_count,
                "directoryCount": stats.directory_count,
                "totalSize": stats.total_size,
            });
            Ok(described.to_string())
        })
    }

    #[napi]
    pub fn thumbnail(
        &self,
        at: String,
        max_side: u32,
    ) -> napi::Result<OwnedFuture<Option<NativeThumbnail>>> {
        self.ask(async move |files: Arc<ThreadFiles>| {
            let made = files.thumbnail(&at, ThumbnailBox::square(max_side)).await?;
            Ok(made.map(|made| NativeThumbnail {
                data: Uint8Array::new(made.data.to_vec()),
                mime_type: made.mime_type.to_owned(),
                width: made.width,
                height: made.height,
            }))
        })
    }
}

/// Parses metadata.
fn members(text: Option<&str>) -> napi::Result<Option<Map<String, Value>>> {
    let parse = |text: &str| {
        serde_json::from_str(text).map_err(|_| error::invalid("an object of metadata", text))
    };
    text.map(parse).transpose()
}

/// Describes a file as document 000 does. A size in pixels is absent if there is none.
fn describe(record: &FileRecord) -> Value {
    let mut described = json!({
        "path": record.path.as_str(),
        "name": record.name,
        "mimeType": record.mime_type,
        "storage": record.storage,
        "size": record.size,
        "isDirectory": record.is_directory,
        "metadata": record.metadata,
    });
    for (name, pixels) in [("width", record.width), ("height", record.height)] {
        if let Some(pixels) = pixels {
            described[name] = pixels.into();
        }
    }
    described
}

fn describe_matches(file: &MatchedFile) -> Value {
    let lines = file.matches.iter();
    let lines = lines.map(|line| json!({ "line": line.line, "content": line.content }));
    json!({ "path": file.path, "matches": lines.collect::<Value>() })
}
