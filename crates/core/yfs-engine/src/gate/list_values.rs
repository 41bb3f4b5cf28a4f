//! The elements of lists, read so that no content of a list can keep a reader busy for ever.
//!
//! The iterators and the index of arrays of yrs (`Array::iter`, `get`, `to_json`,
//! `XmlFragment::children`) never return from text with characters of two UTF-16 units
//! (`docs/decisions/0080-content-stays-in-its-kind-of-list.md`). The gate lets no such text into a
//! list that is read as an array; the functions here do not depend on that. All other modules read
//! lists with them.

use yrs::{
    Array as _, ArrayRef, GetString as _, Out, ReadTxn, Text as _, TextRef,
    branch::{Branch, BranchPtr},
    types::text::YChange,
};

/// Returns the shared types in a list, in order. Everything else in it is skipped.
pub(crate) fn types_in(txn: &impl ReadTxn, list: &Branch) -> impl Iterator<Item = Out> {
    // This walks the items one by one, and passes over values.
    let pieces = TextRef::from(BranchPtr::from(list)).diff(txn, YChange::identity);
    let pieces = pieces.into_iter().map(|piece| piece.insert);
    pieces.filter(|piece| !matches!(piece, Out::Any(_)))
}

/// Returns the values and types in an array, in order; none if there is text among them, which no
/// writer of an array leaves.
pub(crate) fn values_in<T: ReadTxn>(txn: &T, array: &ArrayRef) -> impl Iterator<Item = Out> {
    let text = TextRef::from(BranchPtr::from(array.as_ref()));
    let is_array = text.get_string(txn).is_empty();
    is_array.then(|| array.iter(txn)).into_iter().flatten()
}
