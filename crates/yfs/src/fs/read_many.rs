//! Reading many small files, as a search does.

use bytes::Bytes;
use yfs_engine::{
    id::FileId,
    path::VPath,
    tree::{FinalLink, NodeRef},
};
use yfs_store::DocName;
use yfs_vfs::{FsError, Op};

use super::WorkspaceFs;
use crate::{error::Result, state::WorkspaceState};

impl WorkspaceFs {
    /// Returns the contents of files, each as [`read_now`](Self::read_now) does.
    pub(crate) fn read_many_now(&self, paths: &[VPath]) -> Vec<Result<Bytes, FsError>> {
        // A file for which this fails or finds nothing is read by itself.
        let found = self.refresh_if_unfollowed(Op::Open).map(|()| self.find_documents(paths));
        let texts = self.state.single_texts(&found.unwrap_or_default()).unwrap_or_default();
        let texts = texts.into_iter().chain(std::iter::repeat(None));
        let read = |(path, text): (&VPath, Option<Bytes>)| match text {
            Some(text) => Ok(text),
            None => Ok(self.read_now(path)?.data),
        };
        paths.iter().zip(texts).map(read).collect()
    }

    /// Returns the ids of those files at paths whose content is in their documents.
    fn find_documents(&self, paths: &[VPath]) -> Vec<Option<FileId>> {
        let main = self.state.main.read();
        let (mut known, mut directory) = (None, None);
        let mut found = Vec::with_capacity(paths.len());
        for path in paths {
            let Some((above, name)) = path.as_str().rsplit_once('/') else {
                found.push(None);
                continue;
            };
            if known != Some(above) {
                known = Some(above);
                directory = path.parent().and_then(|parent| {
                    let node = self.resolve(&main, Op::Open, &parent, FinalLink::Yes).ok();
                    node.filter(NodeRef::is_directory).map(|node| node.id().cloned())
                });
            }
            let id = directory.as_ref().and_then(|id| main.document_in(id.as_ref(), name));
            found.push(id);
        }
        found
    }
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
