//! The contents of an update, for the roots that the engine reads.

use std::ops::Range;

use super::role::DocRole;
use crate::{
    id::{ClientId, ItemId},
    lib0::ValueView,
};

/// The contents of an update.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct UpdateScan {
    /// The values that it adds to the arrays that the engine reads, in the order of the update.
    /// Values that the document already held are left out.
    pub elements: Vec<ScannedElement>,
    /// The values of the elements, one behind the other.
    pub(super) values: Vec<u8>,
    /// The items that it deletes, also outside the roots that the engine reads.
    pub deleted: Vec<IdRange>,
    /// The items that yrs deleted beside those: entries of maps that were replaced, and children of
    /// deleted types.
    pub implied: Vec<IdRange>,
    /// The items that it adds, those of each client in one range.
    pub grown: Vec<IdRange>,
    /// The number of its structs.
    pub n_structs: usize,
}

/// One value of an array that the engine reads.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannedElement {
    /// Its item.
    pub id: ItemId,
    /// The array.
    pub root: RootIx,
    /// The range of its value among the values of the update.
    pub(super) value: Range<usize>,
}

/// A run of items of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdRange {
    /// The client.
    pub client: ClientId,
    /// The clock of the first item.
    pub start: u32,
    /// The number of items; at least one.
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

    /// Returns the array that a root of a document is, if the engine reads it.
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
