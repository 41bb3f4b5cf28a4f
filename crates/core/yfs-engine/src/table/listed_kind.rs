//! What a listing shows of an object without its row.

use super::{
    FilesTable, RowAttributes,
    base::{BaseRow, NodeView},
    row::NodeKind,
};

/// The kind of an object in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    /// A file whose content is in its document.
    File {
        /// Its length in bytes, as its last editor reported it.
        size: u64,
    },
    /// A file whose content is a blob.
    Blob {
        /// Its length in bytes.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// An entry of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedChild<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its display name.
    pub name: &'a str,
    /// Its kind.
    pub kind: ListedKind,
}

impl ListedKind {
    /// Returns the kind of a row.
    pub fn of(row: &RowAttributes<'_>) -> Self {
        match row.kind {
            NodeKind::Directory => Self::Directory,
            NodeKind::File if row.link.is_some() => Self::Link,
            NodeKind::File => match row.blob {
                Some(blob) => Self::Blob { size: blob.size },
                None => Self::File { size: row.size },
            },
        }
    }
}

impl BaseRow {
    /// Returns the kind, if there is a readable row.
    pub(crate) fn listed_kind(&self) -> Option<ListedKind> {
        self.attributes().map(|row| ListedKind::of(&row))
    }
}

impl FilesTable {
    /// Returns the kind of a row that has the given one in the base, as it is now.
    pub(crate) fn kind_on(&self, id: &str, base: ListedKind) -> Option<ListedKind> {
        let Some(ix) = self.find(id) else { return Some(base) };
        Some(ListedKind::of(&self.attributes_in(NodeView::Changed(self.nodes.get(ix)))?))
    }
}
