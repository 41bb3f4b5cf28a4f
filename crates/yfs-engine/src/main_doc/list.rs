//! Listing a directory without keeping what is listed in memory.

use super::MainDoc;
use crate::{
    id::FileId,
    table::{ListedKind, RowAttributes},
};

impl MainDoc {
    /// Calls `each` with the id, display name and attributes of each entry of a directory (`None`:
    /// the root), in byte order of the names. A file has none.
    ///
    /// On a checkpoint, an unchanged directory is read without keeping its nodes, so a
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
    /// Calls `each` with the id, display name and kind of each entry of a directory (`None`: the
    /// root), in byte order of the names. It costs less than
    /// [`for_each_child`](Self::for_each_child): on a checkpoint, rows are not decoded.
    pub fn for_each_child_kind(
        &self,
        directory: Option<&FileId>,
        mut each: impl FnMut(&FileId, &str, ListedKind),
    ) {
        let Some(base) = self.tree.base_of_unread(directory) else {
            return self
                .for_each_child(directory, |id, name, row| each(id, name, ListedKind::of(&row)));
        };
        base.each_kind(directory, &mut |id, name, row| {
            if let Some(kind) = self.files.kind_on(id, &row) {
                each(id, name, kind);
            }
        });
    }
    /// Returns the id of the file with a display name in a directory (`None`: the root), if its
    /// content is in its document. On a checkpoint, the node of an unchanged directory is read
    /// without keeping it.
    pub fn document_in(&self, directory: Option<&FileId>, name: &str) -> Option<FileId> {
        if let Some(base) = self.tree.base_of_unread(directory) {
            let mut document = None;
            base.find_kind(directory, name, &mut |id, row| {
                let kind = self.files.kind_on(id, &row);
                document = matches!(kind, Some(ListedKind::File { .. })).then(|| id.clone());
            });
            return document;
        }
        let node = match directory {
            Some(id) => self.tree.node(id)?,
            None => self.tree.root(),
        };
        let id = self.tree.child(node, name)?.id()?;
        let kind = ListedKind::of(&self.files.attributes(id)?);
        matches!(kind, ListedKind::File { .. }).then(|| id.clone())
    }
}
