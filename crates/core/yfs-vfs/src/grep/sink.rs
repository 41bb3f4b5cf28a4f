//! Receivers of the results of a search.

use std::ops::ControlFlow;

use super::FileMatches;

/// A receiver of the results of a search; see [`FileSystem::grep_each`](crate::FileSystem).
pub trait GrepSink: Send {
    /// Receives the next lines of a file. The files come in the order of
    /// [`FileSystem::walk`](crate::FileSystem::walk), and the lines in their order.
    ///
    /// A file with many lines comes in several parts; the number of matches of a part is that of
    /// its lines. `is_last` is set for the last part, which may have no lines. If the call breaks,
    /// the search ends.
    fn add(&mut self, part: FileMatches, is_last: bool) -> ControlFlow<()>;
}

/// A sink that collects the results.
#[derive(Debug, Default)]
pub(super) struct GrepCollector {
    pub(super) files: Vec<FileMatches>,
}

impl GrepSink for GrepCollector {
    fn add(&mut self, part: FileMatches, _is_last: bool) -> ControlFlow<()> {
        // Without a limit of the lines in memory, each file comes in one part.
        self.files.push(part);
        ControlFlow::Continue(())
    }
}
