//! Listing a directory without keeping what is listed in memory.

use super::MainDoc;
use crate::{id::FileId, table::RowAttributes};

impl MainDoc {
    /// Calls `each` with the id, display name and attributes of each entry of a directory (`None`:
    /// the root), in byte order of the names. A file has none.
    ///
    /// On a checkpoint, a directory without changes is read without keeping its nodes, so a
    /// walk over a whole workspace needs the memory of one directory.
    pub fn for_each_child(
        &self,
        directory: Option<&FileId>,
        mut each: impl FnMut(&FileId, &str, RowAttributes<'_>),
    ) {
        if let Some(base) = self.tree.base_of_unread(directory) {
            base.each_entry(directory, &mut |id, name, row| {
                if let Some(attributes) = self.files.attributes_on(id, row) {
                    each(id, name, attributes);
                }
            });
            return;
        }
        let node = match directory {
            Some(id) => self.tree.node(id),
            None => Some(self.tree.root()),
        };
        for (_, child) in node.into_iter().flat_map(|node| node.children()) {
            if let Some(id) = child.id()
                && let Some(attributes) = self.files.attributes(id)
            {
                each(id, child.name(), attributes);
            }
        }
    }
}
