//! Anchors: places in a file that stay where they are while others write.
//!
//! An anchor is bytes that editors know as a relative position (`Y.encodeRelativePosition`), with the id
//! of its file. It holds across renames, moves, restarts and compaction, for as long as the file keeps
//! its id.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use yfs_engine::{
    content::{Anchor, AnchorError, AnchorSide},
    id::FileId,
    path::VPath,
};
use yfs_vfs::{FsCode, FsError, Op};

use crate::{History, error::Result, fs::ContentLocation};

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnchorTarget {
    /// So many bytes from the beginning.
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
    /// The place in it.
    pub anchor: Anchor,
}

/// Where an anchor is now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedFileAnchor {
    /// Where the file is.
    pub path: VPath,
    /// Where in its text, in bytes.
    pub offset: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// Whether the character that it stands beside is still there. If not, this is where it was.
    pub exact: bool,
}

impl History<'_> {
    /// Anchors a place in a file. It stays with the character behind it, or with the one before it.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such place, or it is inside of a character; `EPERM` if the file holds
    /// no text.
    pub fn anchor(
        &self,
        path: &VPath,
        spot: AnchorTarget,
        stick: AnchorSide,
    ) -> Result<FileAnchor> {
        let (found, bad) = (self.found(path)?, || FsError::new(FsCode::EINVAL, Op::Read, path));
        if found.holds != ContentLocation::Text {
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

    /// Finds where an anchor is now; if what it stood beside is gone, where that was.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the file is gone; [`WorkspaceError::Anchor`](crate::WorkspaceError::Anchor) if the
    /// anchor is of another text.
    pub fn resolve_anchor(&self, anchor: &FileAnchor) -> Result<ResolvedFileAnchor> {
        self.state.refresh()?;
        let gone = || FsError::new(FsCode::ENOENT, Op::Read, format!("/.id/{}", anchor.file));
        let shown = self.state.main.read().tree().path_of(&anchor.file);
        let path = shown.ok_or_else(gone)?;
        let found = self.found(&path)?;
        if found.holds != ContentLocation::Text {
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
        // An id may hold a colon; base64 holds none.
        let (file, anchor) = text.rsplit_once(':').ok_or_else(|| malformed(0))?;
        let bytes = URL_SAFE_NO_PAD.decode(anchor).map_err(|_| malformed(file.len() + 1))?;
        let file = FileId::parse(file).map_err(|_| malformed(0))?;
        Ok(Self { file, anchor: Anchor::decode(&bytes)? })
    }
}

/// Returns where a line begins. Behind the last end of a line is one more, which may be empty.
fn start_of(text: &str, line: usize) -> Option<usize> {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).nth(line.checked_sub(1)?)
}
