//! Anchors: positions in a file that stay at their text while others write.
//!
//! An anchor is the bytes of a relative position of Yjs (`Y.encodeRelativePosition`), with the id
//! of its file. It stays valid across renames, moves, restarts and compaction, for as long as the
//! file keeps its id.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
pub use yfs_engine::content::AnchorSide;
use yfs_engine::{
    content::{Anchor, AnchorError},
    id::FileId,
    path::VPath,
};
use yfs_vfs::{FsCode, FsError, Op};

use crate::{History, error::Result, fs::ContentLocation};

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnchorTarget {
    /// A number of bytes from the beginning.
    Offset(usize),
    /// The beginning of a line, counted from 1.
    Line(usize),
}

/// An anchor and the file that it is in.
///
/// As text it is the id of the file, a colon, and the relative position in base64url.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAnchor {
    /// The file.
    pub file: FileId,
    /// The position in it.
    pub anchor: Anchor,
}

/// The current position of an anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedFileAnchor {
    /// The path of the file.
    pub path: VPath,
    /// The offset in its text, in bytes.
    pub offset: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// Whether the character beside the anchor still exists. If not, this is its former position.
    pub exact: bool,
}

impl History<'_> {
    /// Returns an anchor at a position in a file. It stays with the character after it, or with the
    /// one before it.
    ///
    /// # Errors
    ///
    /// Fails with `EINVAL` if there is no such position, or if it is inside a character; with
    /// `EPERM` if the file is not a text.
    pub fn anchor(
        &self,
        path: &VPath,
        spot: AnchorTarget,
        stick: AnchorSide,
    ) -> Result<FileAnchor> {
        let (found, bad) =
            (self.resolve_target(path)?, || FsError::new(FsCode::EINVAL, Op::Read, path));
        if found.location != ContentLocation::Text {
            return Err(FsError::new(FsCode::EPERM, Op::Read, path).into());
        }
        let anchor = self.state.documents.acquire(&found.id).with(|loaded| {
            let offset = match spot {
                AnchorTarget::Offset(offset) => offset,
                AnchorTarget::Line(line) => start_of(&loaded.doc.text(), line).ok_or_else(bad)?,
            };
            loaded.doc.anchor(offset, stick).map_err(|error| bad().caused_by(error))
        })??;
        Ok(FileAnchor { file: found.id, anchor })
    }

    /// Returns the current position of an anchor; if its character was deleted, the position that
    /// it had.
    ///
    /// # Errors
    ///
    /// Fails with `ENOENT` if the file is gone; with
    /// [`WorkspaceError::Anchor`](crate::WorkspaceError::Anchor) if the anchor is of another text.
    pub fn resolve_anchor(&self, anchor: &FileAnchor) -> Result<ResolvedFileAnchor> {
        self.state.refresh()?;
        let gone = || FsError::new(FsCode::ENOENT, Op::Read, format!("/.id/{}", anchor.file));
        let shown = self.state.main.read().tree().path_of(&anchor.file);
        let path = shown.ok_or_else(gone)?;
        let found = self.resolve_target(&path)?;
        if found.location != ContentLocation::Text {
            return Err(FsError::new(FsCode::EPERM, Op::Read, &path).into());
        }
        let handle = self.state.documents.acquire(&found.id);
        let resolved = handle.with(|loaded| loaded.doc.resolve(&anchor.anchor))??;
        let (offset, line, exact) = (resolved.offset, resolved.line, resolved.exact);
        Ok(ResolvedFileAnchor { path, offset, line, exact })
    }
}

impl fmt::Display for FileAnchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, URL_SAFE_NO_PAD.encode(self.anchor.encode()))
    }
}

impl FromStr for FileAnchor {
    type Err = AnchorError;

    fn from_str(text: &str) -> std::result::Result<Self, AnchorError> {
        let malformed = |at| AnchorError::Malformed { at };
        // An id may contain a colon; base64 does not.
        let (file, anchor) = text.rsplit_once(':').ok_or_else(|| malformed(0))?;
        let bytes = URL_SAFE_NO_PAD.decode(anchor).map_err(|_| malformed(file.len() + 1))?;
        let file = FileId::parse(file).map_err(|_| malformed(0))?;
        Ok(Self { file, anchor: Anchor::decode(&bytes)? })
    }
}

/// Returns the offset of a line. After the last line end there is one more line, which may be
/// empty.
fn start_of(text: &str, line: usize) -> Option<usize> {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).nth(line.checked_sub(1)?)
}
