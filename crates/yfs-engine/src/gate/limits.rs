//! What an update may cost.

/// The limits of the gate. The defaults are those of `docs/format/updates.md`.
///
/// Depths, lengths of names and clocks hold for every update. Sizes hold only for what live peers
/// send: a log or file of our own is as large as it has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateLimits {
    /// How deeply arrays and maps may be nested in one value, in roots that we read.
    pub value_depth: usize,
    /// How deeply arrays and maps may be nested in one value elsewhere. yrs calls itself for each
    /// level.
    pub carried_depth: usize,
    /// How deeply arrays and objects may be nested in a JSON text. The parser of yrs reads no
    /// deeper.
    pub json_depth: usize,
    /// How deeply shared types (XML elements, nested maps and arrays) may be nested.
    pub type_depth: u16,
    /// The greatest length of a name in bytes: of a root, an XML element or an attribute.
    pub name_bytes: usize,
    /// One more than the greatest clock.
    pub clock: u32,
    /// The greatest size of a message in bytes.
    pub message_bytes: usize,
    /// How many structs a message may hold.
    pub message_structs: usize,
    /// How many values a message may hold, those inside arrays and maps included.
    pub message_values: usize,
    /// How many deleted ranges a message may hold.
    pub message_deletes: usize,
    /// How many clients a message may name.
    pub message_clients: usize,
    /// How far beyond the clock that we know a message may go for one client.
    pub clock_jump: u32,
    /// How many steps yrs may need to order items of an update that all say they are the first of
    /// their list or key.
    pub conflict_steps: u64,
    /// How many steps yrs may need to order the items of a message among others with the same
    /// origin, those of the document included.
    pub ordering_steps: u64,
    /// How many bytes of memory what waits may take. When live peers exceed it, the oldest gives
    /// way.
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
            parked_bytes: 4 << 20,
        }
    }
}
