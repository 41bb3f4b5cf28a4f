//! Documents of the other schema, and documents that hold everything twice.

use crate::{
    content::{replica::ContentReplica, rich},
    kind::SchemaProfile,
    rich::{LiveChild, live, nodes},
};

/// A body of fewer blocks than this may well be meant to repeat.
const MIN_DOUBLED: usize = 2;

/// Returns the profile that the names in the document imply, if any.
pub(in crate::content) fn evident_profile(replica: &ContentReplica) -> Option<SchemaProfile> {
    replica.gate.read(|txn| rich::evident_profile(&live(txn, SchemaProfile::Gfm)))
}

/// Reports whether a document holds everything twice.
pub(in crate::content) fn is_doubled(replica: &ContentReplica, profile: SchemaProfile) -> bool {
    replica.gate.read(|txn| half_of(&live(txn, profile)).is_some())
}

/// Returns one half of a document that holds everything twice, as a file.
pub(in crate::content) fn first_half(
    replica: &ContentReplica,
    profile: SchemaProfile,
) -> Option<String> {
    replica.gate.read(|txn| {
        let kids = live(txn, profile);
        let half = half_of(&kids)?;
        let memory = rich::RichMemory::read(txn);
        Some(rich::file_of(nodes(&kids[..half]), &memory, profile).text)
    })
}

/// Returns where the second half begins, if it equals the first and another client wrote it.
fn half_of(kids: &[LiveChild]) -> Option<usize> {
    let half = kids.len() / 2;
    if kids.len() != 2 * half || half < MIN_DOUBLED {
        return None;
    }
    let (first, second) = kids.split_at(half);
    let client = |kid: &LiveChild| kid.ids().next().map(|id| id.client);
    let by_others = first.iter().zip(second).all(|(one, other)| client(one) != client(other));
    (by_others && rich::have_equal_content(first, second)).then_some(half)
}
