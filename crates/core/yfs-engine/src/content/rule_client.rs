//! Client ids of items that a rule makes, and no writer: all peers that apply the rule to the same
//! items make the same update, because its client id is a hash of what the rule was applied to.

use crate::id::ClientId;

/// Client ids of rules have this bit, which ids that are drawn at random never have.
const RULE_BIT: u64 = 1 << 52;

/// Returns the client id of what a rule makes of its input. The input begins with the name and the
/// version of the rule.
pub(super) fn rule_client(input: &[u8]) -> ClientId {
    let hash = blake3::hash(input);
    let hash = u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 bytes"));
    ClientId::new(RULE_BIT | (hash >> 12)).expect("53 bits")
}

/// Reports whether a client id is one of a rule.
pub(super) fn is_rule_client(client: ClientId) -> bool {
    client.get() & RULE_BIT != 0
}
