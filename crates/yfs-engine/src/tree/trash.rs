//! The trash: a view of what is trashed, with what it hides.
//!
//! A folder is trashed by one write and takes all that is in it out of sight. What others did in
//! there afterwards, not knowing, is *stranded*: it is listed first, so that nobody's work is lost
//! by somebody else's cleaning up.

use smol_str::SmolStr;
use yrs::Any;

use super::{NodeRef, TreeIndex, arena::NodeSlot, visibility::Hiders};
use crate::{
    id::FileId,
    path::VPath,
    table::{FileRow, NodeKind},
    time::Millis,
};

/// The member of a row's `meta` that holds the id of the purge that marked it.
pub const PURGE_KEY: &str = "purge";

/// Something that was put into the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashItem {
    /// What was trashed.
    pub id: FileId,
    /// File or folder.
    pub kind: NodeKind,
    /// Its stored name.
    pub name: SmolStr,
    /// When it was trashed, by the clock of who did it.
    pub trashed_at: Millis,
    /// Where it was. If what held it was trashed too, the path that it had.
    pub original: VPath,
    /// The trashed folder that it is in, if there is one.
    pub inside: Option<FileId>,
    /// Whether it was purged, and is only listed for what is stranded in it.
    pub purged: bool,
    /// What changed place or name in it after it was trashed and is not itself trashed or purged, by
    /// id.
    pub stranded: Vec<FileId>,
}

impl TreeIndex {
    /// Lists the trash: first what holds stranded work, then what was trashed last.
    ///
    /// What was purged is left out, unless work is stranded in it. Costs a walk of what is hidden.
    pub fn trash(&self) -> Vec<TrashItem> {
        let mut hiders = Hiders::new(self);
        let items = self.trashed.iter().map(|slot| self.trash_item(*slot, &mut hiders));
        let mut items: Vec<TrashItem> =
            items.filter(|item| !item.purged || !item.stranded.is_empty()).collect();
        items.sort_by(|a, b| {
            let order = a.stranded.is_empty().cmp(&b.stranded.is_empty());
            order.then(b.trashed_at.cmp(&a.trashed_at)).then_with(|| a.id.cmp(&b.id))
        });
        items
    }

    /// Returns the number of trashed nodes, not counting what they hide.
    pub fn n_trashed(&self) -> usize {
        self.trashed.len()
    }

    fn trash_item(&self, slot: NodeSlot, hiders: &mut Hiders<'_>) -> TrashItem {
        let node = self.node_at(slot);
        let raw = node.raw();
        let inside = hiders.of(raw.shown_in);
        TrashItem {
            id: raw.id.clone(),
            kind: node.kind(),
            name: raw.name.clone(),
            trashed_at: node.trashed_at().unwrap_or_default(),
            original: node.path(),
            inside: inside.map(|slot| self.arena[slot].id.clone()),
            purged: raw.purged,
            stranded: node.stranded(),
        }
    }
}

impl<'a> NodeRef<'a> {
    /// Returns what is below this trashed node and not itself trashed or purged, but was moved,
    /// renamed or made after the trashing. In order of id.
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

    /// Returns the folder that it comes back to when it is restored: the one that it is in, if that
    /// is visible, else the nearest above that is.
    pub fn restore_destination(&self) -> Self {
        let mut home = self.parent().unwrap_or(*self);
        while let Some(hidden_by) = home.trashed_ancestor() {
            home = hidden_by.parent().unwrap_or(*self);
        }
        home
    }

    /// Returns the trashed node that hides this one, and the path from there; nothing if this is
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

/// Tells whether a purge marked the row.
pub(super) fn is_purged(row: &FileRow) -> bool {
    match &row.meta {
        Some(Any::Map(meta)) => matches!(meta.get(PURGE_KEY), Some(Any::String(_))),
        _ => false,
    }
}
