//! Limits on the cost of an update.

use crate::content::DEFAULT_TEXT_BYTES;

/// The limits of the gate. The defaults are those of `docs/format/updates.md`.
///
/// Depths, lengths of names and clocks hold for every update. Sizes hold only for messages of live
/// peers: the local log and files may be larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateLimits {
    /// The greatest depth of arrays and maps in one value, in roots that the engine reads.
    pub value_depth: usize,
    /// The greatest depth of arrays and maps in one value elsewhere. yrs recurses once for each
    /// level.
    pub carried_depth: usize,
    /// The greatest depth of arrays and objects in a JSON text. The parser of yrs reads no deeper.
    pub json_depth: usize,
    /// The greatest depth of shared types (XML elements, nested maps and arrays).
    pub type_depth: u16,
    /// The greatest length of a name in bytes: of a root, an XML element or an attribute.
    pub name_bytes: usize,
    /// One more than the greatest clock.
    pub clock: u32,
    /// The greatest size of a message in bytes.
    pub message_bytes: usize,
    /// The greatest number of structs in a message.
    pub message_structs: usize,
    /// The greatest number of values in a message, those inside arrays and maps included.
    pub message_values: usize,
    /// The greatest number of deleted ranges in a message.
    pub message_deletes: usize,
    /// The greatest number of clients in a message.
    pub message_clients: usize,
    /// The greatest distance from the known clock of a client to the clocks in a message.
    pub clock_jump: u32,
    /// The greatest number of steps that yrs may need to order items of an update that all claim to
    /// be the first of their list or key.
    pub conflict_steps: u64,
    /// The greatest number of steps that yrs may need to order the items of a message among others
    /// with the same origin, those of the document included.
    pub ordering_steps: u64,
    /// The greatest size of a text that this replica writes as text, in bytes; at most
    /// [`MAX_TEXT_BYTES`](crate::content::MAX_TEXT_BYTES). Peers may write longer texts, which can
    /// be edited here.
    pub text_bytes: usize,
    /// The memory for parked structs, in bytes. When live peers exceed it, the oldest are dropped.
    pub parked_bytes: usize,
}

impl Default for GateLimits {
    fn default() -> Self {
        Self {
            value_depth: 64,
            carried_depth: 1000,
            json_depth: 120,
            type_depth: 128,
            name_bytes: 64 << 10,
            clock: 1 << 31,
            message_bytes: 64 << 20,
            message_structs: 1 << 20,
            message_values: 8 << 20,
            message_deletes: 1 << 20,
            message_clients: 1 << 17,
            clock_jump: 1 << 28,
            conflict_steps: 1 << 24,
            ordering_steps: 1 << 22,
            text_bytes: DEFAULT_TEXT_BYTES,
            parked_bytes: 4 << 20,
        }
    }
}
