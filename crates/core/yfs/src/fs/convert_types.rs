//! The one place that converts the engine's types to those of the filesystem trait, and errors to
//! codes.

use bytes::Bytes;
use smol_str::format_smolstr;
use yfs_engine::{
    content::ContentError,
    id::FileId,
    main_doc::MainDoc,
    name::MAX_NAME_LEN,
    path::VPath,
    table::{BlobRef, FileRow, NodeKind, RowAttributes},
    tree::{FinalLink, LookupError, NodeRef},
};
use yfs_store::{DocHead, HandleOrigin, Seq, StoreError};
use yfs_vfs::{
    FileKind, FsCode, FsError, Op, VersionToken,
    stat::{DEFAULT_DIRECTORY_MODE, DEFAULT_FILE_MODE, SYMLINK_MODE},
};

use crate::error::WorkspaceError;

/// The place where a file's bytes are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentLocation {
    /// In the text of its document.
    Text,
    /// In the store, as a blob.
    Blob(BlobRef),
}

/// The result of resolving the path of a file.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedFile {
    pub(crate) id: FileId,
    pub(crate) location: ContentLocation,
}

impl ContentLocation {
    pub(crate) fn of(row: &FileRow) -> Self {
        row.blob.map_or(Self::Text, Self::Blob)
    }
}

/// Resolves a path.
pub(crate) fn resolve<'a>(
    main: &'a MainDoc,
    op: Op,
    path: &VPath,
    follow: FinalLink,
) -> Result<NodeRef<'a>, FsError> {
    check_lengths(op, path)?;
    main.tree().resolve(path, follow).map_err(|error| lookup_error(error, op, path))
}

/// Rejects components that are longer than any name.
pub(crate) fn check_lengths(op: Op, path: &VPath) -> Result<(), FsError> {
    // Only a long path can have one.
    let is_long = path.as_str().len() > MAX_NAME_LEN
        && path.components().any(|component| component.len() > MAX_NAME_LEN);
    if is_long { Err(FsError::new(FsCode::ENAMETOOLONG, op, path)) } else { Ok(()) }
}

/// Resolves the path of a file, through links.
pub(crate) fn resolve_file(main: &MainDoc, op: Op, path: &VPath) -> Result<ResolvedFile, FsError> {
    let node = resolve(main, op, path, FinalLink::Yes)?;
    let file = node.id().filter(|_| !node.is_directory());
    let row = file.and_then(|id| Some((id, main.files().attributes(id)?)));
    let Some((id, row)) = row else {
        return Err(FsError::new(FsCode::EISDIR, op, path));
    };
    let location = row.blob.map_or(ContentLocation::Text, |blob| ContentLocation::Blob(*blob));
    Ok(ResolvedFile { location, id: id.clone() })
}

pub(crate) fn lookup_error(error: LookupError, op: Op, path: &VPath) -> FsError {
    let code = match error {
        LookupError::NotADirectory { .. } => FsCode::ENOTDIR,
        LookupError::Loop { .. } => FsCode::ELOOP,
        LookupError::TooLong { .. } => FsCode::ENAMETOOLONG,
        _ => FsCode::ENOENT,
    };
    FsError::new(code, op, path)
}

/// Converts an error of the workspace to an error of the trait.
pub(crate) fn fs_error(error: WorkspaceError, op: Op, path: &VPath) -> FsError {
    let code = match &error {
        WorkspaceError::Fs(_) => {
            let WorkspaceError::Fs(error) = error else { unreachable!("matched above") };
            return error;
        }
        WorkspaceError::ReadOnly => FsCode::EROFS,
        WorkspaceError::ContentMoved(_) => FsCode::ESTALE,
        WorkspaceError::Content(error) => content_code(error),
        WorkspaceError::Store(StoreError::Full { .. }) => FsCode::ENOSPC,
        WorkspaceError::Store(StoreError::ReadOnly { .. }) => FsCode::EROFS,
        WorkspaceError::Store(StoreError::Locked { .. }) => FsCode::EBUSY,
        _ => FsCode::EIO,
    };
    FsError::new(code, op, path).caused_by(error)
}

fn content_code(error: &ContentError) -> FsCode {
    match error {
        ContentError::TooLarge { .. } | ContentError::TooHeavy => FsCode::EFBIG,
        ContentError::UnknownVersion { .. } | ContentError::Redacted => FsCode::ESTALE,
        ContentError::NotText | ContentError::Refused(_) => FsCode::EIO,
        _ => FsCode::EINVAL,
    }
}

/// Returns the token of a state of a file: the last record of its document, and the blob if there
/// is one.
pub(crate) fn version_token(head: DocHead, location: &ContentLocation) -> VersionToken {
    let DocHead { seq, origin } = head;
    match location {
        ContentLocation::Text => VersionToken::new(format_smolstr!("{seq}-{:x}", origin.0)),
        ContentLocation::Blob(blob) => {
            let hash = blob.hash.to_string();
            VersionToken::new(format!("{seq}-{:x}.{}", origin.0, &hash[..16]))
        }
    }
}

/// Reports whether a token is of a state in which the file was a blob, so that its text was not
/// read.
pub(crate) fn is_of_blob(token: &VersionToken) -> bool {
    token.as_str().contains('.')
}

/// Parses the record that a token names.
pub(crate) fn head_of_token(token: &VersionToken) -> Option<DocHead> {
    let (seq, origin) = token.as_str().split('.').next()?.split_once('-')?;
    let origin = u64::from_str_radix(origin, 16).ok()?;
    Some(DocHead { seq: Seq(seq.parse().ok()?), origin: HandleOrigin(origin) })
}

pub(crate) fn file_kind(row: &RowAttributes<'_>) -> FileKind {
    match row.kind {
        NodeKind::Directory => FileKind::Directory,
        NodeKind::File if row.link.is_some() => FileKind::Symlink,
        NodeKind::File => FileKind::File,
    }
}

pub(crate) fn mode_of(row: &RowAttributes<'_>) -> u32 {
    match file_kind(row) {
        FileKind::Symlink => SYMLINK_MODE,
        FileKind::Directory => row.mode.unwrap_or(DEFAULT_DIRECTORY_MODE),
        _ => row.mode.unwrap_or(DEFAULT_FILE_MODE),
    }
}

/// Shares a text as bytes, without copying it.
pub(crate) fn bytes_of(text: std::sync::Arc<str>) -> Bytes {
    struct WorkspaceState(std::sync::Arc<str>);
    impl AsRef<[u8]> for WorkspaceState {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }
    Bytes::from_owner(WorkspaceState(text))
}
