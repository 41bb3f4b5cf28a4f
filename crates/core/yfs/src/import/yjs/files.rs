//! Reads files that contain updates.

use std::{
    fs,
    path::{Path, PathBuf},
};

use yfs_engine::{
    gate::{GateLimits, GateRejection, from_v2},
    id::FileId,
};

use super::YjsImportError;
use crate::error::{Result, WorkspaceError};

/// The name of the main document's file, without its extension.
const MAIN: &str = "main";

/// A file that contains an update.
pub(super) struct UpdateFile {
    pub(super) path: PathBuf,
    pub(super) n_bytes: u64,
    /// The update, in version 1.
    pub(super) update: Vec<u8>,
}

/// The role of the document in a file.
pub(super) enum DocumentRole {
    Main,
    Content(FileId),
}

/// Reads the files of a directory with the names of documents: `main.bin`, `<guid>.bin`. A `.v1` or
/// `.v2` before the extension is ignored.
pub(super) fn read_directory(
    from: &Path,
    limits: &GateLimits,
) -> Result<Vec<(DocumentRole, UpdateFile)>> {
    let failed = |source| WorkspaceError::Host { action: "read", path: from.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some(role) = role_of(&path).filter(|_| path.is_file()) {
            paths.push((path, role));
        }
    }
    paths.sort_by(|left, right| left.0.cmp(&right.0));
    paths.into_iter().map(|(path, role)| Ok((role, read_file(&path, limits)?))).collect()
}

fn role_of(path: &Path) -> Option<DocumentRole> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".bin")?;
    let stem = stem.strip_suffix(".v1").or_else(|| stem.strip_suffix(".v2")).unwrap_or(stem);
    if stem == MAIN {
        return Some(DocumentRole::Main);
    }
    let id = FileId::within_guid(stem).unwrap_or(stem);
    FileId::parse(id).ok().map(DocumentRole::Content)
}

/// Reads one file.
pub(super) fn read_file(path: &Path, limits: &GateLimits) -> Result<UpdateFile> {
    let failed = |source| WorkspaceError::Host { action: "read", path: path.to_owned(), source };
    let n_bytes = fs::metadata(path).map_err(failed)?.len();
    let refused = |refusal: GateRejection| YjsImportError::Refused(refusal).in_file(path);
    let limit = limits.message_bytes as u64;
    if n_bytes > limit {
        return Err(refused(GateRejection::TooLarge { what: "the file", is: n_bytes, limit }));
    }
    let bytes = fs::read(path).map_err(failed)?;
    let update = from_v2(&bytes, limits).map_err(refused)?.unwrap_or(bytes);
    Ok(UpdateFile { path: path.to_owned(), n_bytes, update })
}
