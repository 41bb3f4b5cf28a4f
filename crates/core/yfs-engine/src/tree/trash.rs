//! The trash: a view of trashed nodes, with the nodes that they hide.
//!
//! A directory is trashed by one write and hides all its content. Work that others did in it
//! afterwards, without knowing, is *stranded*: it is listed first, so that cleaning up loses no
//! other user's work.

use smol_str::SmolStr;
use yrs::Any;

use super::{NodeRef, TreeIndex, visibility::HidingAncestors};
use crate::{
    id::FileId,
    path::VPath,
    table::{FileRow, NodeKind, PURGE_KEY},
    time::Millis,
};

/// A node that was put into the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashItem {
    /// The trashed node.
    pub id: FileId,
    /// File or directory.
    pub kind: NodeKind,
    /// Its stored name.
    pub name: SmolStr,
    /// The time of trashing, by the clock of the peer that did it.
    pub trashed_at: Millis,
    /// Its former path. If its parent was trashed too, the path that it had.
    pub original: VPath,
    /// The trashed directory that it is in, if there is one.
    pub inside: Option<FileId>,
    /// Whether it was purged.
    pub purged: bool,
    /// Nodes in it that changed place or name after it was trashed and are not themselves trashed
    /// or purged, by id.
    pub stranded: Vec<FileId>,
}

impl TreeIndex {
    /// Lists the trash: first the nodes with stranded work, then the most recently trashed.
    ///
    /// Purged nodes are left out, unless work is stranded in them. Costs a walk of the hidden
    /// nodes.
    pub fn trash(&self) -> Vec<TrashItem> {
        let mut items = self.trash_and_purged();
        items.retain(|item| !item.purged || !item.stranded.is_empty());
        items
    }

    /// Lists the trash as [`trash`](Self::trash) does, with the purged nodes that are not deleted
    /// yet. Nodes that were trashed in one millisecond are in the order of their ids; the table
    /// knows [their order](crate::main_doc::MainDoc::removal_order).
    pub fn trash_and_purged(&self) -> Vec<TrashItem> {
        let mut hiding = HidingAncestors::new(self);
        let items = self.trashed().map(|node| node.trash_item(&mut hiding));
        let mut items: Vec<TrashItem> = items.collect();
        items.sort_by(|a, b| {
            let order = a.stranded.is_empty().cmp(&b.stranded.is_empty());
            order.then(b.trashed_at.cmp(&a.trashed_at)).then_with(|| a.id.cmp(&b.id))
        });
        items
    }

    /// Returns the trashed nodes, without the nodes that they hide, in no order.
    pub fn trashed(&self) -> impl Iterator<Item = NodeRef<'_>> {
        let of_base = self.trashed_of_base().into_iter();
        let slots = self.trashed.iter().copied().chain(of_base);
        slots.map(|slot| self.node_at(slot))
    }

    /// Returns the number of trashed nodes, without the nodes that they hide.
    pub fn n_trashed(&self) -> usize {
        self.n_trashed
    }
}

impl<'a> NodeRef<'a> {
    fn trash_item(&self, hiding: &mut HidingAncestors<'_>) -> TrashItem {
        let raw = self.raw();
        let inside = hiding.of(raw.shown_in);
        TrashItem {
            id: raw.id.clone(),
            kind: self.kind(),
            name: raw.name.clone(),
            trashed_at: self.trashed_at().unwrap_or_default(),
            original: self.path(),
            inside: inside.map(|slot| self.tree.nodes.arena[slot].id.clone()),
            purged: raw.purged,
            stranded: self.stranded(),
        }
    }

    /// Returns the nodes below this trashed node that are not themselves trashed or purged, but
    /// were moved, renamed or made after the trashing. In order of id.
    pub fn stranded(&self) -> Vec<FileId> {
        let Some(rare) = self.raw().rare.as_ref().filter(|_| self.is_trashed()) else {
            return Vec::new();
        };
        let trashed_ts = rare.trashed_ts;
        let is_late = |node: &Self| !node.is_purged() && node.raw().structural_ts > trashed_ts;
        let late = self.covered().filter(is_late);
        let mut ids: Vec<FileId> = late.map(|node| node.raw().id.clone()).collect();
        ids.sort();
        ids
    }

    /// Returns the number of nodes below this trashed one that only it hides.
    pub fn n_hidden(&self) -> usize {
        self.covered().count()
    }

    /// Returns the directory that a restore puts it into: its own directory if that is visible,
    /// else the nearest visible one above.
    pub(crate) fn restore_destination(&self) -> Self {
        let mut home = self.parent().unwrap_or(*self);
        while let Some(hidden_by) = home.trashed_ancestor() {
            home = hidden_by.parent().unwrap_or(*self);
        }
        home
    }

    /// Returns the trashed node that hides this one, and the path from there; `None` if this is
    /// visible.
    pub fn path_in_trash(&self) -> Option<(FileId, String)> {
        let root = self.trashed_ancestor()?;
        let mut names: Vec<&str> = std::iter::once(*self)
            .chain(self.ancestors())
            .take_while(|node| *node != root)
            .map(|node| node.name())
            .collect();
        names.reverse();
        Some((root.id()?.clone(), names.join("/")))
    }
}

/// Reports whether a purge marked the row.
pub(super) fn is_purged(row: &FileRow) -> bool {
    match &row.meta {
        Some(Any::Map(meta)) => matches!(meta.get(PURGE_KEY), Some(Any::String(_))),
        _ => false,
    }
}
