//! What an update says, for the roots that we read.

use std::ops::Range;

use super::role::DocRole;
use crate::{
    id::{ClientId, ItemId},
    lib0::ValueView,
};

/// What an update says.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct UpdateScan {
    /// The values that it adds to the arrays that we read, in the order of the update. Those that the
    /// document already held are left out.
    pub elements: Vec<ScannedElement>,
    /// The values of the elements, one behind the other.
    pub(super) values: Vec<u8>,
    /// What it deletes, also outside the roots that we read.
    pub deleted: Vec<IdRange>,
    /// What yrs deleted beside that: entries of maps that were replaced, and what was in deleted
    /// types.
    pub implied: Vec<IdRange>,
    /// The items that it adds, those of each client in one range.
    pub grown: Vec<IdRange>,
    /// How many structs it holds.
    pub n_structs: usize,
}

/// One value of an array that we read.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannedElement {
    /// Its item.
    pub id: ItemId,
    /// The array.
    pub root: RootIx,
    /// Where its value is among those of the update.
    pub(super) value: Range<usize>,
}

/// A run of items of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdRange {
    /// The client.
    pub client: ClientId,
    /// The clock of the first item.
    pub start: u32,
    /// How many there are; at least one.
    pub len: u32,
}

/// The arrays whose values the gate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RootIx {
    /// `table:files` of the main document.
    Files,
    /// `fs:cells` of the main document.
    Cells,
    /// `fs:meta` of the main document.
    Meta,
    /// `fs:log` of a content document.
    Log,
    /// `fs:blobs` of a content document.
    Blobs,
    /// `fs:labels` of a content document.
    Labels,
    /// `fs:redactions` of a content document.
    Redactions,
}

impl UpdateScan {
    /// Returns the elements with their values.
    pub fn values(&self) -> impl Iterator<Item = (&ScannedElement, ValueView<'_>)> {
        self.elements.iter().map(|element| (element, self.value(element)))
    }

    /// Returns the value of one of the elements.
    pub fn value(&self, element: &ScannedElement) -> ValueView<'_> {
        ValueView::whole(self.values.get(element.value.clone()).unwrap_or_default())
    }
}

impl RootIx {
    /// Returns the name of the root.
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "table:files",
            Self::Cells => "fs:cells",
            Self::Meta => "fs:meta",
            Self::Log => "fs:log",
            Self::Blobs => "fs:blobs",
            Self::Labels => "fs:labels",
            Self::Redactions => "fs:redactions",
        }
    }

    /// Tells which array a root of a document is, if it is one that we read.
    pub fn of(role: DocRole, name: &str) -> Option<Self> {
        let roots: &[Self] = match role {
            DocRole::Main => &[Self::Files, Self::Cells, Self::Meta],
            DocRole::Content => &[Self::Log, Self::Blobs, Self::Labels, Self::Redactions],
        };
        roots.iter().copied().find(|root| root.name() == name)
    }
}

impl IdRange {
    /// Returns the clock after the last item.
    pub fn end(self) -> u32 {
        self.start + self.len
    }
}
