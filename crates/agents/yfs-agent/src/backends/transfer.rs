//! Uploading and downloading many files at once, each with its own result.

use bytes::Bytes;
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FsCode, FsError, WriteOptions};

use super::local::is_foreign;
use crate::agent_path::parse_agent_path;

/// The reason why one file was not transferred, as a code that programs test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransferCode {
    /// There is no such file, or no such directory above it.
    FileNotFound,
    /// The backend refuses the access, or cannot store the file.
    PermissionDenied,
    /// A directory is at the path.
    IsDirectory,
    /// The text is not an absolute path of a file.
    InvalidPath,
}

/// The failure of one file.
#[derive(Debug, Clone)]
pub struct TransferFailure {
    /// The reason.
    pub code: TransferCode,
    /// The error of the filesystem, if the path got that far.
    pub source: Option<FsError>,
}

/// The result of uploading one file.
#[derive(Debug, Clone)]
pub struct UploadResult {
    /// The path as the caller passed it.
    pub path: String,
    /// The failure, if the file was not written.
    pub error: Option<TransferFailure>,
}

/// The result of downloading one file.
#[derive(Debug, Clone)]
pub struct DownloadResult {
    /// The path as the caller passed it.
    pub path: String,
    /// The content, or the failure.
    pub content: Result<Bytes, TransferFailure>,
}

impl TransferCode {
    /// Returns the code as the protocols of agents spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileNotFound => "file_not_found",
            Self::PermissionDenied => "permission_denied",
            Self::IsDirectory => "is_directory",
            Self::InvalidPath => "invalid_path",
        }
    }

    fn of(code: FsCode) -> Self {
        match code {
            FsCode::ENOENT => Self::FileNotFound,
            FsCode::EISDIR => Self::IsDirectory,
            FsCode::EINVAL | FsCode::ENAMETOOLONG | FsCode::ENOTDIR | FsCode::ELOOP => {
                Self::InvalidPath
            }
            _ => Self::PermissionDenied,
        }
    }
}

impl From<FsError> for TransferFailure {
    fn from(error: FsError) -> Self {
        Self { code: TransferCode::of(error.code), source: Some(error) }
    }
}

/// Returns the path of a text that is absolute, and means no place outside.
pub(super) fn transfer_path(text: &str) -> Result<VPath, TransferFailure> {
    let is_plain = text.starts_with('/') && !text.contains('\\') && !is_foreign(text);
    let path = parse_agent_path(text).ok().filter(|_| is_plain);
    path.ok_or(TransferFailure { code: TransferCode::InvalidPath, source: None })
}

/// Writes files, replacing those that exist. The results are in the order of the files, and the
/// failure of one does not stop the others.
pub async fn upload_files(fs: &dyn FileSystem, files: Vec<(String, Bytes)>) -> Vec<UploadResult> {
    let mut results = Vec::with_capacity(files.len());
    for (path, data) in files {
        let error = match transfer_path(&path) {
            Ok(parsed) => {
                let written = fs.write(&parsed, data, &WriteOptions::default()).await;
                written.err().map(TransferFailure::from)
            }
            Err(failure) => Some(failure),
        };
        results.push(UploadResult { path, error });
    }
    results
}

/// Reads files. The results are in the order of the paths, and the failure of one does not stop the
/// others.
pub async fn download_files(fs: &dyn FileSystem, paths: Vec<String>) -> Vec<DownloadResult> {
    let mut results = Vec::with_capacity(paths.len());
    for path in paths {
        let content = match transfer_path(&path) {
            Ok(parsed) => fs.read(&parsed).await.map(|content| content.data).map_err(Into::into),
            Err(failure) => Err(failure),
        };
        results.push(DownloadResult { path, content });
    }
    results
}
