//! Selects the files that a query reads.

use std::collections::HashSet;

use yfs_engine::{
    id::FileId,
    kind::profile_name,
    path::VPath,
    tree::{FinalLink, NodeRef},
};
use yfs_store::checkpoint::CheckpointError;
use yfs_vfs::{
    GrepQuery, GrepResult, GrepSelection, GrepSink, Op, WalkEntry,
    grep::{GrepCollector, grep_each_selected},
    work_meter::count_objects,
};

use super::{
    ContentForm, SearchIndexHome, SearchIndexes,
    binary_files::{BinaryFile, ChangedPlaces, NamedBinaryFiles},
    index_map::SearchMap,
    pattern::TrigramQuery,
};
use crate::{
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
    fs::{read::node_entry, resolve},
};

/// With so many changes after the index, or one for each so many files, all files are read.
const MAX_CHANGES: usize = 4096;
const FILES_PER_CHANGE: usize = 8;

/// An index that leaves more than this part of the files is not worth its reading.
const LEAST_EXCLUDED: usize = 2;

/// If one of so many files is left, their paths are found by their ids, without a walk.
const FILES_PER_LOOKUP: usize = 8;

fs_part! {
    /// The search in contents, which reads no file that the index excludes.
    IndexedSearch, searcher
}

impl IndexedSearch<'_> {
    /// Finds lines by pattern; reads no file that the index excludes.
    pub(crate) async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, yfs_vfs::FsError> {
        let mut collector = GrepCollector::default();
        let result = self.grep_each(query, &mut collector).await?;
        Ok(collector.complete(result))
    }

    /// Finds lines as [`search_contents`](Self::grep) does, and passes them to a sink.
    pub(crate) async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, yfs_vfs::FsError> {
        let reader = self.fs.reader();
        let read_many = |paths: &[VPath]| reader.read_many(paths);
        grep_each_selected(self.fs, query, self.select_files(query), Some(&read_many), sink).await
    }

    /// Returns the files that a query must read.
    fn select_files(&self, query: &GrepQuery) -> GrepSelection {
        let state = self.state();
        let Some(home) = state.search.home.as_ref().filter(|_| query.use_index) else {
            return GrepSelection::All;
        };
        let required = TrigramQuery::of(query);
        if required == TrigramQuery::Any {
            return GrepSelection::All;
        }
        // A failure of the store is reported by the search itself.
        let Ok(Some(candidates)) = state.search.candidates(state, home, &required, query.binary)
        else {
            return GrepSelection::All;
        };
        let n_files = state.main.read().tree().n_files();
        if let Some(selection) = self.name_selected(&candidates, query, n_files / FILES_PER_LOOKUP)
        {
            return selection;
        }
        let binary = candidates.binary.into_iter().map(|(id, _)| id).collect();
        GrepSelection::WithIds { ids: candidates.ids, binary }
    }

    /// Returns the files that a query must read, and those that are not text, without a walk;
    /// `None` if that would look up more than `max` files, or only a walk finds them.
    fn name_selected(
        &self,
        candidates: &SearchCandidates,
        query: &GrepQuery,
        max: usize,
    ) -> Option<GrepSelection> {
        let SearchCandidates { ids, binary, changed } = candidates;
        let max = max.checked_sub(ids.len())?;
        let named = {
            let main = self.state().main.read();
            NamedBinaryFiles::find(main.tree(), &query.root, binary, changed, max)?
        };
        let n_looked_up = ids.len() + named.looked_up.len() + named.n_directories;
        let files = self.locate(ids, query)?;
        let mut binary = self.locate(&named.looked_up, query)?;
        count_objects(n_looked_up as u64);
        binary.extend(named.files);
        Some(GrepSelection::Files { files, binary })
    }

    /// Returns the visible files of some ids below the root of a query; `None` if only a walk finds
    /// them as the query names them.
    fn locate(&self, ids: &HashSet<FileId>, query: &GrepQuery) -> Option<Vec<WalkEntry>> {
        let main = self.state().main.read();
        let root = resolve(&main, Op::Grep, &query.root, FinalLink::Yes).ok()?;
        if !root.is_directory() || root.path() != query.root {
            return None;
        }
        let (mut files, mut is_text) = (Vec::new(), Vec::new());
        for id in ids {
            let Some(node) = main.tree().node(id).filter(NodeRef::is_visible) else {
                continue;
            };
            let path = node.path();
            // A path that is too long is returned in another form, which has no directories.
            if path.as_str().starts_with("/.id/") {
                return None;
            }
            let Some((entry, of_text)) = node_entry(&main, node) else { continue };
            if entry.kind == yfs_vfs::FileKind::File && path.starts_with(&query.root) {
                files.push(WalkEntry::new(path, entry));
                is_text.push(of_text);
            }
        }
        drop(main);
        if query.max_file_len < u64::MAX {
            let entries = files.iter_mut().map(|found| &mut found.entry).zip(&is_text);
            self.state().measure_all(entries).ok()?;
        }
        Some(files)
    }
}

/// The files that a search needs to know of.
#[derive(Debug)]
struct SearchCandidates {
    /// The files that may have what a query requires.
    ids: HashSet<FileId>,
    /// Other files, which are not text, unless the query searches these.
    binary: Vec<(FileId, BinaryFile)>,
    /// What may have another place than the index has.
    changed: ChangedPlaces,
}

impl SearchIndexes {
    /// Returns the files that may have what a query requires; `None` if there is no index that
    /// excludes enough.
    fn candidates(
        &self,
        core: &WorkspaceCore,
        home: &SearchIndexHome,
        required: &TrigramQuery,
        with_binary: bool,
    ) -> Result<Option<SearchCandidates>> {
        core.refresh()?;
        let profile = core.main.read().profile();
        let index = home.open()?.filter(|index| index.head.profile == profile_name(profile));
        let Some(index) = index else {
            home.is_wanted.store(true, std::sync::atomic::Ordering::Relaxed);
            return Ok(None);
        };
        match self.candidates_of(core, &index, required, with_binary) {
            Err(WorkspaceError::CheckpointFiles(error)) => {
                home.note_failure(&error);
                Ok(None)
            }
            candidates => candidates,
        }
    }

    fn candidates_of(
        &self,
        core: &WorkspaceCore,
        index: &SearchMap,
        required: &TrigramQuery,
        with_binary: bool,
    ) -> Result<Option<SearchCandidates>> {
        let n_files = usize::try_from(index.head.n_files).unwrap_or(usize::MAX);
        let max_changes = MAX_CHANGES.max(n_files / FILES_PER_CHANGE);
        let max = n_files.saturating_sub(n_files / LEAST_EXCLUDED);
        let Some(tail) = self.changes_after(core, index.label.position, max_changes)? else {
            return Ok(None);
        };
        let found = index.candidates(required, with_binary, |n_ids| n_ids > max);
        let Some(mut ids) = found? else { return Ok(None) };
        let main = core.main.read();
        for id in &tail.rows {
            if self.is_outdated(index, &main, id)? {
                ids.insert(id.clone());
            }
        }
        ids.extend(tail.contents);
        let changed = ChangedPlaces::new(main.tree(), tail.rows);
        drop(main);
        let mut binary = Vec::new();
        if !with_binary {
            index.for_each_binary(|id, file| {
                if !ids.contains(&id) {
                    binary.push((id, file));
                }
                Ok(())
            })?;
        }
        Ok(Some(SearchCandidates { ids, binary, changed }))
    }

    /// Reports whether the row of a file gives its content another form than the index has.
    pub(super) fn is_outdated(
        &self,
        index: &SearchMap,
        main: &yfs_engine::main_doc::MainDoc,
        id: &FileId,
    ) -> Result<bool, CheckpointError> {
        let Some(form) = ContentForm::of(main, id) else { return Ok(false) };
        Ok(index.form(id)?.as_deref() != Some(&form.encode()))
    }
}
