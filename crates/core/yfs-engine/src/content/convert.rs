//! Converts content between plain text and rich text when a rename changes the kind that the file's
//! name implies.
//!
//! A document holds the file in up to two roots. One of them is *current*: readers get its content.
//! The other keeps the content of the last settlement, and editors that have not yet rebound go on
//! writing to it. A *settlement* merges the changes of both roots, writes the result to both, each
//! by its least edit, and is recorded in the root `Y.Map("fs:conv")`. A conversion is a settlement
//! that makes the other root current.
//!
//! Settlements are made under a client id that is a hash of the document's state, so peers in the
//! same state make the same items, and Yjs merges these to one. A settlement writes copies of work
//! that has items of its own. So if settlements of different states are merged, the one with the
//! greatest number wins, the copies of the others are deleted, and the work that it lacks is merged
//! again. The rules are in `docs/format/content-document.md`.
//!
//! [`settlement`] decides from the recorded settlements which root is current and whether a
//! conversion is needed. [`RootComparison`] finds the text that a settlement has to write. Both
//! only read. [`write_settlement`](fn@write_settlement) and [`write_profile`] apply the result to a
//! copy of the document, and return the update.

mod align_items;
mod history;
mod orphaned_edits;
mod profile;
mod root_comparison;
mod settlement;
mod status;
#[cfg(test)]
mod tests;
mod write_settlement;

pub use self::status::ConversionStatus;
pub(super) use self::{
    history::ConversionHistory,
    profile::{evident_profile, first_half},
    root_comparison::{MergedText, RootComparison, made_since},
    settlement::RootPresence,
    write_settlement::{write_profile, write_settlement},
};
pub(crate) use super::CONVERSIONS;
use super::{TEXT, reference, replica::ContentReplica, rule_client::is_rule_client};
use crate::{
    gate::{GateLimits, origins},
    rich::ROOT,
};

/// Reports whether all updates of a document contain only rich text and history of one client. Then
/// there is nothing to settle: the document was never converted and has no duplicates. It needs no
/// document.
pub fn is_rich_of_one<'a>(
    updates: impl IntoIterator<Item = &'a [u8]>,
    limits: &GateLimits,
) -> bool {
    let (mut writer, mut has_rich) = (None, false);
    for update in updates {
        let Some(origins) = origins(update, limits) else { return false };
        if has_merge_mark(update) {
            return false;
        }
        for client in origins.clients {
            if *writer.get_or_insert(client) != client {
                return false;
            }
        }
        for root in origins.roots {
            has_rich |= root == ROOT;
            if [TEXT, CONVERSIONS].contains(&root) {
                return false;
            }
        }
    }
    has_rich
}

/// Reports whether all updates of a document contain only plain text and its history, in the root
/// that plain text is read from. It needs no document.
pub fn is_only_text<'a>(updates: impl IntoIterator<Item = &'a [u8]>, limits: &GateLimits) -> bool {
    updates.into_iter().all(|update| {
        let Some(origins) = origins(update, limits) else { return false };
        !has_merge_mark(update)
            && !origins.roots.iter().any(|root| NOT_OF_TEXT.contains(root))
            // A rule separated words of several writers.
            && !origins.clients.iter().any(|client| is_rule_client(*client))
    })
}

/// Reports whether an update may have an entry that notes the state of one side of a merge.
fn has_merge_mark(update: &[u8]) -> bool {
    memchr::memmem::find(update, MERGE_LABEL).is_some()
}

/// The label [`LAST_OF_SIDE`](super::LAST_OF_SIDE) of an entry, as lib0 encodes the member of an
/// object.
const MERGE_LABEL: &[u8] = b"\x05label\x77\x05merge";

/// The roots that a document lacks if it was never anything but plain text.
const NOT_OF_TEXT: [&str; 4] = [ROOT, CONVERSIONS, reference::CONTENT, reference::TIMELINE];

/// Reports whether a document has only the root of plain text.
pub(super) fn has_only_text_root(replica: &ContentReplica) -> bool {
    !NOT_OF_TEXT.iter().any(|root| replica.gate.has_root(root))
}

/// Makes one update of several that follow each other.
pub(super) fn join_updates(mut updates: Vec<Vec<u8>>) -> Option<Vec<u8>> {
    if updates.len() < 2 {
        return updates.pop();
    }
    let joined = yrs::merge_updates_v1(&updates);
    Some(joined.expect("our own updates follow each other"))
}
