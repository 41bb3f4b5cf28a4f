//! The calls of document 000 on the files of a thread.

use std::{io::Read, sync::Arc};

use bytes::Bytes;
use thiserror::Error;
use yfs_types::path::{PathError, VPath};
use yfs_vfs::{
    ChunkStream, FileKind, FileSystem, FileSystemExt, FsCode, FsError, GlobQuery, GrepQuery,
    GrepResult, Metadata, MkdirOptions, MoveOptions, Op, RemoveOptions, Stat, StreamOptions,
    TreeTotals, WriteOptions,
};

use crate::{
    external::{BadExternalFile, EXTERNAL, ExternalFailure, ExternalFile, ExternalResolver},
    file_record::{FileRecord, own_member},
    image_size::{HEADER_LENS, image_size},
    media_type::{HEAD_LEN, UNKNOWN, detect_media_type},
    thread::Thread,
    thumbnail::{ImageThumbnail, ThumbnailBox, ThumbnailError, cached_thumbnail},
};

/// The files of a thread.
///
/// Paths begin at the root of the thread; `/` in front may be left out. A call on a path that does
/// not exist fails with `ENOENT`, but reading returns `None`.
#[derive(Debug, Clone)]
pub struct ThreadFiles {
    thread: Thread,
    fs: Arc<dyn FileSystem>,
}

/// The failure of a call on the files of a thread.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ThreadFileError {
    /// The filesystem refused the call.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The metadata has a member that yfs keeps for itself.
    #[error("metadata cannot have the member {0:?}: names that begin with \"yfs.\" are reserved")]
    ReservedMember(String),
    /// The URL or hash of an external file is not valid.
    #[error(transparent)]
    BadExternal(#[from] BadExternalFile),
    /// The file is not external.
    #[error("{0} is not an external file")]
    NotExternal(VPath),
    /// The bytes of an external file could not be fetched, or are not those that its entry states.
    #[error(transparent)]
    External(#[from] ExternalFailure),
    /// There is no thumbnail of the image.
    #[error("cannot make a thumbnail of {path}")]
    Thumbnail {
        /// The image.
        path: VPath,
        /// The cause.
        source: ThumbnailError,
    },
}

/// Options of a search for lines.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FileSearch {
    /// Whether the pattern is a regular expression of the `regex` crate, and not literal text.
    pub regex: bool,
    /// Whether the search ignores case.
    pub ignore_case: bool,
    /// Globs of the files to search; all files if empty.
    pub include: Vec<String>,
    /// The greatest number of matching lines.
    pub limit: Option<usize>,
}

type Result<T> = std::result::Result<T, ThreadFileError>;

/// The longest line that a search returns, in bytes.
const MAX_LINE_LEN: usize = 64 << 10;

impl ThreadFiles {
    pub(crate) fn new(thread: Thread) -> Self {
        let fs = thread.fs();
        Self { thread, fs }
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Writes a file: creates it with missing directories, or replaces its content.
    ///
    /// The media type is `mime`, else that of the content and the name. The members of `metadata`
    /// are set, those that are null are removed, and others stay: writers that set different
    /// members at the same time keep both.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::write`].
    pub async fn write_file(
        &self,
        path: &str,
        data: Bytes,
        mime: Option<&str>,
        metadata: Option<Metadata>,
    ) -> Result<FileRecord> {
        let path = parse(Op::Open, path)?;
        let options = self.write_options(&path, &data, mime, metadata).await?;
        self.fs.write(&path, data, &options).await?;
        self.record_at(&path).await
    }

    /// Writes a file as [`write_file`](Self::write_file) does, from a reader. Large contents are
    /// never in memory as a whole. The call blocks while it reads.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::write`], and with `EIO` if the reader fails.
    pub async fn write_file_from(
        &self,
        path: &str,
        data: &mut (dyn Read + Send),
        mime: Option<&str>,
        metadata: Option<Metadata>,
    ) -> Result<FileRecord> {
        let path = parse(Op::Open, path)?;
        self.thread.check_writable(Op::Open, path.as_str())?;
        let mut head = Vec::new();
        let read = data.take(HEAD_LEN as u64).read_to_end(&mut head);
        read.map_err(|error| FsError::io(Op::Write, &path, error))?;
        let options = self.write_options(&path, &head, mime, metadata).await?;
        let mut whole = head.as_slice().chain(data);
        self.thread.rooted().write_from(&path, &mut whole, &options)?;
        self.record_at(&path).await
    }

    async fn write_options(
        &self,
        path: &VPath,
        head: &[u8],
        mime: Option<&str>,
        metadata: Option<Metadata>,
    ) -> Result<WriteOptions> {
        let mut metadata = metadata.unwrap_or_default();
        if let Some(own) = own_member(&metadata) {
            return Err(ThreadFileError::ReservedMember(own.to_owned()));
        }
        let old = self.stat_if_exists(path).await?;
        if old.is_some_and(|old| old.metadata.contains_key(EXTERNAL)) {
            metadata.insert(EXTERNAL.to_owned(), serde_json::Value::Null);
        }
        let detected = detect_media_type(path.file_name().unwrap_or_default(), head);
        let mime = mime.map_or(detected, Into::into);
        let metadata = (!metadata.is_empty()).then_some(metadata);
        Ok(WriteOptions { mime: Some(mime), metadata, ..WriteOptions::default() })
    }

    /// Makes an entry for a file whose bytes are elsewhere. Nothing is fetched.
    ///
    /// # Errors
    ///
    /// With `EEXIST` if the path exists; [`ThreadFileError::BadExternal`] if the URL or the hash is
    /// not valid.
    pub async fn link_file(
        &self,
        path: &str,
        external: &ExternalFile,
        mime: Option<&str>,
        metadata: Option<Metadata>,
    ) -> Result<FileRecord> {
        external.check()?;
        let path = parse(Op::Open, path)?;
        let mut options = self.write_options(&path, b"", mime, metadata).await?;
        options.create = yfs_vfs::CreateMode::New;
        let record = options.metadata.get_or_insert_default();
        record.insert(EXTERNAL.to_owned(), external.record());
        self.fs.write(&path, Bytes::new(), &options).await?;
        self.record_at(&path).await
    }

    /// Fetches the bytes of an external file through a resolver, and checks their size and hash.
    ///
    /// # Errors
    ///
    /// See [`ExternalFailure`].
    pub async fn fetch_external(
        &self,
        path: &str,
        resolver: &dyn ExternalResolver,
    ) -> Result<Bytes> {
        let path = parse(Op::Open, path)?;
        let external = ExternalFile::of(&self.fs.stat(&path).await?);
        let external = external.ok_or_else(|| ThreadFileError::NotExternal(path.clone()))?;
        Ok(external.fetch(resolver).await?)
    }

    /// Reads a file; `None` if it does not exist or is external.
    ///
    /// # Errors
    ///
    /// With `EISDIR` for a directory.
    pub async fn read_file(&self, path: &str) -> Result<Option<Bytes>> {
        let path = parse(Op::Open, path)?;
        if !self.has_bytes(&path).await? {
            return Ok(None);
        }
        Ok(present(self.fs.read(&path).await)?.map(|content| content.data))
    }

    /// Reads a file in chunks; `None` if it does not exist or is external.
    ///
    /// # Errors
    ///
    /// With `EISDIR` for a directory. The stream ends with `ECANCELED` after
    /// [`StreamOptions::cancel`].
    pub async fn read_file_stream(
        &self,
        path: &str,
        options: &StreamOptions,
    ) -> Result<Option<ChunkStream>> {
        let path = parse(Op::Open, path)?;
        if !self.has_bytes(&path).await? {
            return Ok(None);
        }
        Ok(present(self.fs.read_stream(&path, options).await)?)
    }

    /// Returns the record of a file or directory; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the filesystem fails.
    pub async fn stat_file(&self, path: &str) -> Result<Option<FileRecord>> {
        let path = parse(Op::Stat, path)?;
        match self.stat_if_exists(&path).await? {
            Some(stat) => Ok(Some(self.record_of(&path, &stat).await)),
            None => Ok(None),
        }
    }

    /// Sets members of the metadata of a file or directory; those that are null are removed.
    ///
    /// # Errors
    ///
    /// As [`FileSystemExt::set_metadata`].
    pub async fn patch_metadata(&self, path: &str, patch: &Metadata) -> Result<FileRecord> {
        let path = parse(Op::SetMetadata, path)?;
        if let Some(own) = own_member(patch) {
            return Err(ThreadFileError::ReservedMember(own.to_owned()));
        }
        self.thread.check_writable(Op::SetMetadata, path.as_str())?;
        self.thread.rooted().patch_metadata(&path, patch)?;
        self.record_at(&path).await
    }

    /// Creates a directory, with missing ones above it. One that exists is fine.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::mkdir`].
    pub async fn mkdir_file(&self, path: &str) -> Result<FileRecord> {
        let path = parse(Op::Mkdir, path)?;
        self.fs.mkdir(&path, &MkdirOptions::recursive()).await?;
        self.record_at(&path).await
    }

    /// Lists a directory, in the order of the names' code points.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::readdir`].
    pub async fn readdir_file(&self, path: &str) -> Result<Vec<FileRecord>> {
        let path = parse(Op::Scandir, path)?;
        let entries = self.fs.readdir(&path).await?;
        let mut records = Vec::with_capacity(entries.len());
        for entry in entries {
            let path = path.join(&entry.name);
            // It may be gone meanwhile; a link that leads nowhere is described itself.
            let stat = match self.stat_if_exists(&path).await? {
                Some(stat) => Some(stat),
                None => present(self.fs.lstat(&path).await)?,
            };
            if let Some(stat) = stat {
                records.push(self.record_of(&path, &stat).await);
            }
        }
        Ok(records)
    }

    /// Removes an empty directory. It goes to the trash.
    ///
    /// # Errors
    ///
    /// With `ENOTDIR` for anything else, and `ENOTEMPTY` if it has entries.
    pub async fn rmdir_file(&self, path: &str) -> Result<()> {
        let path = parse(Op::Rm, path)?;
        if !self.fs.lstat(&path).await?.is_directory() {
            return Err(FsError::new(FsCode::ENOTDIR, Op::Rm, &path).into());
        }
        Ok(self.fs.rm(&path, &RemoveOptions::default()).await?)
    }

    /// Deletes a file. It goes to the trash.
    ///
    /// # Errors
    ///
    /// With `EISDIR` for a directory.
    pub async fn unlink_file(&self, path: &str) -> Result<()> {
        let path = parse(Op::Rm, path)?;
        if self.fs.lstat(&path).await?.is_directory() {
            return Err(FsError::new(FsCode::EISDIR, Op::Rm, &path).into());
        }
        Ok(self.fs.rm(&path, &RemoveOptions::default()).await?)
    }

    /// Moves or renames a file or directory. Nothing is replaced.
    ///
    /// # Errors
    ///
    /// With `EEXIST` if the destination exists; as [`FileSystem::mv`].
    pub async fn move_file(&self, from: &str, to: &str) -> Result<FileRecord> {
        let (from, to) = (parse(Op::Rename, from)?, parse(Op::Rename, to)?);
        self.fs.mv(&from, &to, &MoveOptions { replace: false, parents: true }).await?;
        self.record_at(&to).await
    }

    /// Finds lines in the text files of the thread, hidden ones too.
    ///
    /// # Errors
    ///
    /// With `EINVAL` if the pattern or a glob is not valid.
    pub async fn grep_files(&self, pattern: &str, search: &FileSearch) -> Result<GrepResult> {
        let query = GrepQuery {
            literal: !search.regex,
            ignore_case: search.ignore_case,
            include: search.include.clone(),
            hidden: true,
            max_total: search.limit.unwrap_or(usize::MAX),
            max_line_len: MAX_LINE_LEN,
            ..GrepQuery::new(pattern)
        };
        Ok(self.fs.grep(&query).await?)
    }

    /// Finds files by a glob from the root of the thread: `*` stays in a directory, `**` does not.
    ///
    /// # Errors
    ///
    /// With `EINVAL` if the pattern is not valid.
    pub async fn find_files(&self, pattern: &str) -> Result<Vec<String>> {
        // Without a slash, a query finds names at any depth.
        let anchored = if pattern.starts_with('/') { "" } else { "/" };
        let query = GlobQuery::new(format!("{anchored}{pattern}"));
        let found = self.fs.glob(&query).await?;
        Ok(found.entries.into_iter().map(|entry| entry.path.to_string()).collect())
    }

    /// Returns the number and size of the files. Links to files count as files, and external files
    /// with the size that their entries state.
    ///
    /// # Errors
    ///
    /// If the filesystem fails.
    pub async fn file_stats(&self) -> Result<TreeTotals> {
        let found = self.fs.walk(&VPath::root(), &yfs_vfs::WalkOptions::default()).await?;
        let mut stats = TreeTotals::default();
        for found in found {
            match found.entry.kind {
                FileKind::Directory => stats.n_directories += 1,
                FileKind::File if found.entry.size == 0 => {
                    stats.n_files += 1;
                    let stat = present(self.fs.lstat(&found.path).await)?;
                    let external = stat.as_ref().and_then(ExternalFile::of);
                    stats.n_bytes += external.and_then(|file| file.size).unwrap_or(0);
                }
                FileKind::File => {
                    stats.n_files += 1;
                    stats.n_bytes += found.entry.size;
                }
                _ => stats.n_files += 1,
            }
        }
        Ok(stats)
    }

    /// Returns a small picture of an image that fits a box; `None` if the file does not exist, is
    /// external, or is no image that can be decoded here: PNG, JPEG, GIF, WebP, BMP.
    ///
    /// # Errors
    ///
    /// With [`ThreadFileError::Thumbnail`] if the image is damaged or too large.
    pub async fn thumbnail(
        &self,
        path: &str,
        size: ThumbnailBox,
    ) -> Result<Option<ImageThumbnail>> {
        let path = parse(Op::Open, path)?;
        if !self.has_bytes(&path).await? {
            return Ok(None);
        }
        let Some(content) = present(self.fs.read(&path).await)? else { return Ok(None) };
        let directory = self.thread.rooted().thumbnail_directory();
        let made = cached_thumbnail(directory, content.data, size);
        match made {
            Err(ThumbnailError::NotAnImage) => Ok(None),
            made => Ok(Some(made.map_err(|source| ThreadFileError::Thumbnail { path, source })?)),
        }
    }

    async fn stat_if_exists(&self, path: &VPath) -> Result<Option<Stat>> {
        Ok(present(self.fs.stat(path).await)?)
    }

    /// Reports whether a file exists and its bytes are here.
    async fn has_bytes(&self, path: &VPath) -> Result<bool> {
        let stat = self.stat_if_exists(path).await?;
        Ok(stat.is_some_and(|stat| ExternalFile::of(&stat).is_none()))
    }

    async fn record_at(&self, path: &VPath) -> Result<FileRecord> {
        let stat = self.fs.stat(path).await?;
        Ok(self.record_of(path, &stat).await)
    }

    /// Makes a record, with what its content says. A content that cannot be read says nothing.
    async fn record_of(&self, path: &VPath, stat: &Stat) -> FileRecord {
        let mut record = FileRecord::new(path, stat);
        if record.is_directory || record.is_external() || stat.size == 0 {
            return record;
        }
        if record.mime_type == UNKNOWN
            && let Ok(head) = self.fs.read_range(path, 0, HEAD_LEN as u64).await
        {
            record.mime_type = detect_media_type(&record.name, &head).into();
        }
        let is_image = record.mime_type.starts_with("image/");
        if is_image && (record.width.is_none() || record.height.is_none()) {
            for len in HEADER_LENS {
                let Ok(head) = self.fs.read_range(path, 0, len).await else { break };
                if let Some((width, height)) = image_size(&head) {
                    record.width.get_or_insert(width);
                    record.height.get_or_insert(height);
                    break;
                }
                if (head.len() as u64) < len {
                    break;
                }
            }
        }
        record
    }
}

/// Parses a path from the root of the thread.
fn parse(op: Op, text: &str) -> Result<VPath> {
    let bad = |error: PathError| ThreadFileError::Fs(FsError::bad_path(op, text, error));
    VPath::parse(text).map_err(bad)
}

/// Returns a result, or `None` if the path does not exist.
fn present<T>(result: std::result::Result<T, FsError>) -> std::result::Result<Option<T>, FsError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}
