//! Reading many small files, as a search does.

use bytes::Bytes;
use yfs_engine::{
    id::FileId,
    path::VPath,
    tree::{FinalLink, NodeRef},
};
use yfs_store::DocName;
use yfs_vfs::{FsError, Op};

use super::read::FileContentReader;
use crate::{error::Result, state::WorkspaceState};

impl FileContentReader<'_> {
    /// Returns the contents of files, each as [`read`](Self::read) does.
    pub(crate) fn read_many(&self, paths: &[VPath]) -> Vec<Result<Bytes, FsError>> {
        // A file for which this fails or finds nothing is read by itself.
        let found = self.refresh_if_unfollowed(Op::Open).map(|()| self.find_documents(paths));
        let texts = self.state.single_texts(&found.unwrap_or_default()).unwrap_or_default();
        let texts = texts.into_iter().chain(std::iter::repeat(None));
        let read = |(path, text): (&VPath, Option<Bytes>)| match text {
            Some(text) => Ok(text),
            None => Ok(self.read(path)?.data),
        };
        paths.iter().zip(texts).map(read).collect()
    }

    /// Returns the ids of those files at paths whose content is in their documents.
    fn find_documents(&self, paths: &[VPath]) -> Vec<Option<FileId>> {
        let main = self.state.main.read();
        let mut found = Vec::with_capacity(paths.len());
        for siblings in paths.chunk_by(|a, b| directory_of(a) == directory_of(b)) {
            let parent = siblings[0].parent();
            let node =
                parent.and_then(|at| self.resolve(&main, Op::Open, &at, FinalLink::Yes).ok());
            let Some(node) = node.filter(NodeRef::is_directory) else {
                found.extend(siblings.iter().map(|_| None));
                continue;
            };
            let names = siblings.iter().map(|path| path.as_str().rsplit('/').next());
            let names: Vec<&str> = names.map(Option::unwrap_or_default).collect();
            found.extend(main.documents_in(node.id(), &names));
        }
        found
    }
}

/// Returns the part of a path before its last name.
fn directory_of(path: &VPath) -> &str {
    path.as_str().rsplit_once('/').map_or("", |(above, _)| above)
}

impl WorkspaceState {
    /// Returns the texts of files that were written once, without building their documents; `None`
    /// for all others.
    pub(crate) fn single_texts(&self, ids: &[Option<FileId>]) -> Result<Vec<Option<Bytes>>> {
        let is_loaded = |id: &FileId| self.documents.has_slot(id);
        let wanted: Vec<(usize, DocName)> = ids
            .iter()
            .enumerate()
            .filter_map(|(at, id)| Some((at, id.as_ref().filter(|id| !is_loaded(id))?)))
            .map(|(at, id)| (at, DocName::from(id)))
            .collect();
        let (places, names): (Vec<usize>, Vec<DocName>) = wanted.into_iter().unzip();
        let mut texts = vec![None; ids.len()];
        for (at, record) in places.into_iter().zip(self.store.load_single(&names)?) {
            let Some(record) = record else { continue };
            let update = Bytes::from(record.data);
            let text = yfs_engine::content::single_text(&update);
            texts[at] = text.map(|text| update.slice_ref(text.as_bytes()));
        }
        Ok(texts)
    }
}
