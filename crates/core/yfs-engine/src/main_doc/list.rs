//! Listing a directory without keeping what is listed in memory.

use std::ops::ControlFlow;

use super::MainDoc;
use crate::{
    id::FileId,
    table::{ListedChild, ListedKind, RowAttributes},
    tree::NodeRef,
};

/// The number of entries between two that are wanted above which the second is looked up.
/// Tests have small directories.
const MAX_OTHERS: usize = if cfg!(test) { 2 } else { 8 };

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
        if let Some(base) = self.tree.nodes.base_of_unread(directory) {
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

    /// Calls `each` with each entry of a directory (`None`: the root), in byte order of the names.
    /// It costs less than [`for_each_child`](Self::for_each_child): on a checkpoint, no row is
    /// read.
    pub fn for_each_listed(
        &self,
        directory: Option<&FileId>,
        mut each: impl FnMut(ListedChild<'_>),
    ) {
        let Some(base) = self.tree.nodes.base_of_unread(directory) else {
            return self.for_each_child(directory, |id, name, row| {
                each(ListedChild { id: id.as_str(), name, kind: ListedKind::of(&row) });
            });
        };
        base.each_listed(directory, &mut |child| {
            if let Some(kind) = self.files.kind_on(child.id, child.kind) {
                each(ListedChild { kind, ..child });
            }
        });
    }

    /// Returns the ids of the files with these display names in a directory (`None`: the root)
    /// whose contents are in their documents; `None` for other entries. On a checkpoint, the nodes
    /// of an unchanged directory are read without keeping them.
    pub fn documents_in(&self, directory: Option<&FileId>, names: &[&str]) -> Vec<Option<FileId>> {
        let mut documents = vec![None; names.len()];
        let Some(base) = self.tree.nodes.base_of_unread(directory) else {
            let node = match directory {
                Some(id) => self.tree.node(id),
                None => Some(self.tree.root()),
            };
            for (document, name) in documents.iter_mut().zip(names) {
                *document = node.and_then(|node| self.document_of(self.tree.child(node, name)?));
            }
            return documents;
        };
        let mut wanted: Vec<usize> = (0..names.len()).collect();
        wanted.sort_by_key(|at| names[*at]);
        let last = wanted.last().map_or("", |at| names[*at]);
        let mut wanted = wanted.into_iter().peekable();
        // As the names of a walk do, most follow each other.
        while let Some(first) = wanted.peek().map(|at| names[*at]) {
            let mut n_others = 0;
            base.each_listed_in(directory, [first, last], &mut |ListedChild { id, name, kind }| {
                while wanted.next_if(|at| names[*at] < name).is_some() {}
                n_others += 1;
                while let Some(at) = wanted.next_if(|at| names[*at] == name) {
                    let kind = self.files.kind_on(id, kind);
                    let is_document = matches!(kind, Some(ListedKind::File { .. }));
                    documents[at] = FileId::parse(id).ok().filter(|_| is_document);
                    n_others = 0;
                }
                match wanted.peek() {
                    Some(_) if n_others < MAX_OTHERS => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                }
            });
            // A search for the next name begins there; one that is not there has no other.
            if n_others < MAX_OTHERS {
                break;
            }
        }
        documents
    }

    fn document_of(&self, node: NodeRef<'_>) -> Option<FileId> {
        let id = node.id()?;
        let kind = ListedKind::of(&self.files.attributes(id)?);
        matches!(kind, ListedKind::File { .. }).then(|| id.clone())
    }
}
