//! The gate: nothing that did not originate in this process reaches yrs except through it.
//!
//! Stock yrs can be hung by twelve bytes, aborted by nesting, made to allocate without bound, and
//! left with a state that no longer decodes. So an iterative parser first reads an update and
//! checks it against [`GateLimits`]; then the update is resolved against the document: the list of
//! each item, and whether all items that it refers to exist. yrs decodes and applies only updates
//! that pass both, in one transaction. Structs and deletions that need missing items are parked,
//! outside the document. The gate rejects input that can hang, exhaust or poison, and content that
//! does not belong into its list (`list_shape.rs`); a log that has such content is read without it.
//! Unknown roots are kept but not read, because a rejected struct makes all later work of its
//! author incomplete.
//!
//! # Invariants
//!
//! * The yrs document never has a hole, a `Skip` block, or anything pending.
//! * `ItemLists` has the list of every item in the document.
//! * The yrs document of a main document may be made late (`lazy.rs`); the gate knows its items
//!   before.
//! * After a panic inside yrs the document is never touched again: it is
//!   [`GateRejection::Poisoned`].
//!
//! The format that is accepted and written is described in `docs/format/updates.md`.

mod base_items;
mod canonical;
mod change;
mod doc;
mod erase;
mod inspect;
mod item_contents;
mod item_lists;
mod item_origins;
mod item_set;
mod json;
mod lazy;
mod limits;
mod list_shape;
mod list_values;
mod live_content;
mod merge;
mod misplaced;
mod parked;
mod parse;
mod receive;
mod refusal;
mod resolve;
mod rewrite;
mod role;
mod run_segment;
mod sibling_order;
mod split;
mod stored_state;
mod struct_content;
mod text_edit;
mod text_order;
mod unit_content;
mod update;
mod update_scan;
mod version2;

pub use base_items::LoggedUpdates;
#[cfg(test)]
pub(crate) use canonical::canonical;
pub use change::StateChange;
pub(crate) use doc::read_state_vector;
pub use doc::{ClientTail, GatedDoc, ReceiveOutcome};
pub(crate) use erase::deleted_by;
pub use erase::{ErasableItems, content_of_update, erase};
pub(crate) use inspect::origins;
pub use inspect::{InspectedUpdate, inspect, named_items, writers};
pub use item_contents::{ForkedItems, share_items};
pub use item_lists::ItemLists;
pub(crate) use item_lists::{RecentChanges, uncovered};
pub(crate) use item_origins::{ItemOrigins, origins_of_items};
pub use item_set::ItemSet;
pub use limits::GateLimits;
pub(crate) use list_values::{types_in, values_in};
pub(crate) use live_content::atoms_of;
pub(crate) use live_content::{LiveContent, LivingContent};
pub use merge::{MergedUpdate, merge};
pub use misplaced::find_misplaced;
pub use parked::{ParkedSet, ParkedTotals, ParkedUpdate};
pub(crate) use parse::{ItemParent, StructKind, UpdateStruct, parse};
pub use refusal::GateRejection;
pub use role::{DocRole, UpdateSource};
pub use split::{SplitSize, split};
pub(crate) use text_edit::{RecordedChange, TextChange, byte_offset};
pub use update::UpdateBuilder;
pub(crate) use update::write_delete_set;
pub use update_scan::{IdRange, RootIx, ScannedElement, UpdateScan};
pub use version2::from_v2;

#[cfg(test)]
mod random_edits;
#[cfg(test)]
mod tests;
