//! What an editor must know of a file to open it, and the upkeep of how contents are kept.

use std::sync::Arc;

use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    id::FileId,
    kind::{ContentRoot, FileCategory, SchemaProfile},
    path::VPath,
    table::NodeKind,
};
use yfs_vfs::Op;

use super::conflicts::rich_files;
use crate::{
    DocHandle, DocPort, Maintenance,
    commit::ChangeEffect,
    error::Result,
    fs::{ContentLocation, WorkspaceFs, resolve_file},
    state::WorkspaceState,
    workspace::Workspace,
};

/// What an editor must know of a file to open it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentInfo {
    /// The guid of its document, which is the file's id.
    pub guid: FileId,
    /// What its name promises.
    pub category: FileCategory,
    /// How its content is kept; nothing if that is not in the document but a blob.
    pub kind: Option<ContentRoot>,
}

impl DocumentInfo {
    fn new(guid: FileId, kind: ContentRoot, is_text: bool) -> Self {
        let category = match kind {
            ContentRoot::Rich(_) => FileCategory::RichText,
            _ => FileCategory::Text,
        };
        Self { guid, category, kind: is_text.then_some(kind) }
    }

    /// Returns the root of the document that an editor binds to.
    pub fn root(&self) -> Option<&'static str> {
        self.kind.map(|kind| match kind {
            ContentRoot::Rich(_) => yfs_engine::rich::ROOT,
            _ => "text",
        })
    }
}

/// What converting a workspace to another profile came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfileReport {
    /// How many files of rich text there are.
    pub n_files: u64,
    /// How many of them were converted.
    pub n_converted: u64,
}

impl WorkspaceFs {
    /// Returns what an editor must know of a file, as [`Documents::info`] does.
    ///
    /// # Errors
    ///
    /// As reading the file: `EACCES` if it is outside the scope.
    pub fn document(&self, path: &VPath) -> Result<DocumentInfo> {
        let found = self.found(Op::Open, path)?;
        let main = self.state().main.read();
        let kind = main.content_kind(&found.id).unwrap_or(ContentRoot::Text);
        Ok(DocumentInfo::new(found.id, kind, found.holds == ContentLocation::Text))
    }
}

/// The content documents of a workspace, as editors and servers use them
/// ([`Workspace::documents`](crate::Workspace::documents)).
#[derive(Debug, Clone, Copy)]
pub struct Documents<'w> {
    pub(crate) state: &'w Arc<WorkspaceState>,
}

impl Documents<'_> {
    /// Opens a document for a server of the sync protocol: the main document by the workspace's id,
    /// or a file's content by the file's id.
    pub fn port(&self, guid: &str) -> Result<DocPort> {
        DocPort::open(self.state, guid)
    }

    /// Returns how many content documents are in memory, and their estimated size in bytes.
    pub fn usage(&self) -> (usize, u64) {
        self.state.documents.usage()
    }

    /// Returns a handle that keeps a file's content document in memory (seed 001, `acquire`).
    ///
    /// # Errors
    ///
    /// As looking up a path; [`NoFile`](crate::WorkspaceError::NoFile) for what has no document.
    pub fn acquire(&self, path: &VPath) -> Result<DocHandle> {
        let id = self.file_id(path)?;
        Ok(self.state.documents.acquire(&id))
    }

    /// Returns a handle if the content document is in memory (seed 001, `peek`).
    pub fn peek(&self, path: &VPath) -> Result<Option<DocHandle>> {
        let id = self.file_id(path)?;
        Ok(self.state.documents.peek(&id))
    }

    /// Reads a file's text into the cache and returns it; the document does not stay (seed 001,
    /// `loadAndCache`).
    pub fn load_and_cache(&self, path: &VPath) -> Result<Arc<str>> {
        let id = self.file_id(path)?;
        Ok(self.state.text(&id)?.content)
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::of(self.state.clone())
    }

    fn file_id(&self, path: &VPath) -> Result<FileId> {
        self.state.refresh()?;
        Ok(self.state.resolve_file(path)?)
    }

    /// Tells what an editor must know of a file. When a file is renamed its guid stays; ask again after each
    /// [`Moved`](yfs_vfs::ChangeKind::Moved), since the root to bind to may be another.
    pub fn info(&self, path: &VPath) -> Result<DocumentInfo> {
        self.workspace().fs().document(path)
    }

    /// Tells the same of a file by its id, which costs no look-up of a path. Answers nothing of what is no file.
    pub fn info_of(&self, id: &FileId) -> Option<DocumentInfo> {
        let main = self.state.main.read();
        let attributes = main.files().attributes(id)?;
        let kind = main.content_kind(id).filter(|_| attributes.kind == NodeKind::File)?;
        Some(DocumentInfo::new(id.clone(), kind, attributes.blob.is_none()))
    }
}

impl Maintenance<'_> {
    /// Puts a content where its file's name says, once: merges what was written where it no longer is, and keeps one
    /// half of a body that is there twice. Answers whether there was anything to do.
    ///
    /// # Errors
    ///
    /// As looking up a path, or as a write.
    pub fn repair(&self, path: &VPath) -> Result<bool> {
        self.state.refresh()?;
        let found = resolve_file(&self.state.main.read(), Op::Open, path)?;
        if found.holds != ContentLocation::Text {
            return Ok(false);
        }
        let author =
            RunAuthor::new(self.state.options.actor.clone(), self.state.now()).with_label("repair");
        let mut is_changed = false;
        for step in 0..3 {
            let by = Some(&author.actor);
            let repair = |doc: &mut ContentDoc| {
                let update = match step {
                    0 => doc.repair()?,
                    1 => doc.undouble(&author)?,
                    _ => doc.put_back(&author)?,
                };
                Ok(update.into_iter().collect())
            };
            is_changed |=
                self.state.change_document(&found.id, by, ChangeEffect::Edit, repair)?.is_changed;
        }
        Ok(is_changed)
    }

    /// Makes the rich text of the workspace keep another schema. Nobody must have any of it open in an
    /// editor meanwhile: editors delete what they cannot build. It may be run again where it was stopped.
    ///
    /// `progress` is told how many files are done, and of how many.
    pub fn convert_profile(
        &self,
        profile: SchemaProfile,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ProfileReport> {
        self.state.check_writable()?;
        self.state.catch_up()?;
        let files = rich_files(&self.state.main.read());
        let n_files = files.len() as u64;
        let mut report = ProfileReport { n_files, n_converted: 0 };
        if self.state.main.read().profile() != profile {
            self.state.set_profile(profile)?;
        }
        for (done, id) in files.iter().enumerate() {
            progress(done as u64, n_files);
            let by = Some(&self.state.options.actor);
            let convert =
                |doc: &mut ContentDoc| Ok(doc.keep_profile(profile)?.into_iter().collect());
            let converted = self.state.change_document(id, by, ChangeEffect::Edit, convert)?;
            report.n_converted += u64::from(converted.is_changed);
        }
        progress(n_files, n_files);
        Ok(report)
    }
}
