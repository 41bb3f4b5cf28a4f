//! Which structs of an update go together.

/// Structs of one run that can be integrated together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSegment {
    pub(crate) run: usize,
    /// Where they are in [`ParsedUpdate::structs`](super::parse::ParsedUpdate::structs).
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// The clock after the last item of the client that the document holds.
    pub(crate) known: u32,
}
