//! The totals of all visible files, without a walk over them.

use super::MainDoc;
use crate::table::NodeKind;

/// The number and size of all visible files and directories.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct VisibleTotals {
    /// Files, without links.
    pub n_files: u64,
    /// Symbolic links.
    pub n_links: u64,
    /// Directories, without the root.
    pub n_directories: u64,
    /// The sizes of the files in bytes, as their rows report them.
    pub n_bytes: u64,
}

impl MainDoc {
    /// Returns the totals of all visible files.
    ///
    /// # Cost
    ///
    /// A walk of the trash: what it hides is subtracted from the totals of all rows.
    pub fn visible_totals(&self) -> VisibleTotals {
        let rows = self.files.base_facts();
        let mut hidden = VisibleTotals::default();
        for node in self.tree.hidden() {
            let Some(row) = node.id().and_then(|id| self.files.get(id)).map(|entry| entry.row)
            else {
                continue;
            };
            match row.kind {
                NodeKind::Directory => hidden.n_directories += 1,
                NodeKind::File if row.is_link() => hidden.n_links += 1,
                NodeKind::File => hidden.n_files += 1,
            }
            hidden.n_bytes = hidden.n_bytes.wrapping_add(row.content_size());
        }
        let n_files = (self.tree.n_files() as u64).wrapping_sub(rows.n_links);
        VisibleTotals {
            n_files: n_files.wrapping_sub(hidden.n_files),
            n_links: rows.n_links.wrapping_sub(hidden.n_links),
            n_directories: (self.tree.n_directories() as u64).wrapping_sub(hidden.n_directories),
            n_bytes: rows.n_bytes.wrapping_sub(hidden.n_bytes),
        }
    }
}
