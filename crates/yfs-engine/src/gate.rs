//! The gate: nothing that did not originate in this process reaches yrs except through it.
//!
//! Stock yrs can be hung by twelve bytes, aborted by nesting, made to allocate without bound, and
//! left with a state that no longer decodes. So an update is first read by an iterative parser of
//! our own, which checks it against [`Limits`]; then it is resolved against what the
//! document holds: which list each item belongs to, and whether everything it refers to is there.
//! Only what passed both is decoded by yrs and applied, in one transaction. Structs and deletions
//! that need what has not arrived are parked, outside the document. What is refused is what can
//! hang, exhaust or poison; roots and kinds that we do not know are carried and not read, because
//! whatever is refused makes all later work of its author incomplete.
//!
//! # Invariants
//!
//! * The yrs document never has a hole, a `Skip` block, or anything pending.
//! * `Places` says of every item in the document which list it belongs to.
//! * The yrs document of a main document may be made late (`lazy.rs`); what the gate says of its items
//!   holds before.
//! * After a panic inside yrs the document is never touched again: it is [`Refusal::Poisoned`].
//!
//! The format that is accepted and written is described in `docs/format/updates.md`.

mod change;
mod doc;
mod erase;
mod json;
mod lazy;
mod limits;
mod living;
mod merge;
mod parked;
mod parse;
mod places;
mod receive;
mod refusal;
mod resolve;
mod rewrite;
mod role;
mod same;
mod scan;
mod update;
mod writers;

pub use change::StateChange;
pub use doc::{GatedDoc, Received, Tail};
pub use erase::{Remains, deleted_by, erase};
pub use limits::Limits;
pub(crate) use living::atoms_of;
pub use living::{Living, LivingContent};
pub use merge::{Merged, merge};
pub use parked::Parked;
pub use refusal::Refusal;
pub use role::{DocRole, Source};
pub use scan::{Element, IdRange, RootIx, Scan};
pub use update::UpdateBuilder;
pub(crate) use update::write_delete_set;
pub(crate) use writers::origins;
pub use writers::{Inspected, inspect, writers};

#[cfg(test)]
mod tests;
