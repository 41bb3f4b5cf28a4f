//! Receivers of the results of a search.

use std::{fmt, ops::ControlFlow};

use yfs_types::{id::FileId, path::VPath};

use super::{FileMatches, GrepResult};

/// A receiver of the results of a search; see [`FileSystem::grep_each`](crate::FileSystem).
pub trait GrepSink: Send {
    /// Receives the next lines of a file. The files come in the order of
    /// [`FileSystem::walk_batches`](crate::FileSystem::walk_batches), and the lines in their order.
    ///
    /// A file with many lines comes in several parts; the number of matches of a part is that of
    /// its lines. `is_last` is set for the last part, which may have no lines. If the call breaks,
    /// the search ends.
    fn add(&mut self, part: FileMatches, is_last: bool) -> ControlFlow<()>;

    /// Reports whether the sink holds all lines in memory anyway. Then each file comes in one part.
    fn holds_all(&self) -> bool {
        false
    }
}

/// A sink that converts the paths, and the ids of files, for another.
pub struct PathConverter<'a, C> {
    sink: &'a mut dyn GrepSink,
    convert: C,
}

impl<'a, C: Fn(&mut VPath, Option<&mut FileId>)> PathConverter<'a, C> {
    /// Makes a sink in front of another.
    pub fn new(sink: &'a mut dyn GrepSink, convert: C) -> Self {
        Self { sink, convert }
    }

    /// Converts the paths in the result of a search.
    pub fn convert_result(&self, mut result: GrepResult) -> GrepResult {
        result.binary_paths.iter_mut().for_each(|path| (self.convert)(path, None));
        result
    }
}

impl<C: Fn(&mut VPath, Option<&mut FileId>) + Send> GrepSink for PathConverter<'_, C> {
    fn add(&mut self, mut part: FileMatches, is_last: bool) -> ControlFlow<()> {
        (self.convert)(&mut part.path, Some(&mut part.id));
        self.sink.add(part, is_last)
    }

    fn holds_all(&self) -> bool {
        self.sink.holds_all()
    }
}

impl<C> fmt::Debug for PathConverter<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathConverter").finish_non_exhaustive()
    }
}

/// A sink that collects the results.
#[derive(Debug, Default)]
pub struct GrepCollector {
    files: Vec<FileMatches>,
}

impl GrepCollector {
    /// Returns the result of a search with the files that were found.
    pub fn complete(self, result: GrepResult) -> GrepResult {
        GrepResult { files: self.files, ..result }
    }
}

impl GrepSink for GrepCollector {
    fn add(&mut self, part: FileMatches, _is_last: bool) -> ControlFlow<()> {
        self.files.push(part);
        ControlFlow::Continue(())
    }

    fn holds_all(&self) -> bool {
        true
    }
}
