//! The properties of a file that an editor needs to open it, and repairs of contents.

use std::sync::Arc;

use yfs_engine::{
    content::{ContentDoc, LastRun, RunAuthor},
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
    replica::forks::forked_items,
    state::WorkspaceState,
    workspace::{Workspace, blob_conflicts::accept_bytes},
};

/// The properties of a file that an editor needs to open it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentInfo {
    /// The guid of its document, which is the file's id.
    pub guid: FileId,
    /// The category of its name.
    pub category: FileCategory,
    /// The root in which its content is kept; `None` if the content is a blob.
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

/// The result of converting a workspace to another profile.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfileReport {
    /// The number of rich text files.
    pub n_files: u64,
    /// The number of files that were converted.
    pub n_converted: u64,
}

impl WorkspaceFs {
    /// Returns the properties of a file as [`Documents::info`] does.
    ///
    /// # Errors
    ///
    /// Fails as reading the file does; with `EACCES` if it is outside the scope.
    pub fn document(&self, path: &VPath) -> Result<DocumentInfo> {
        let found = self.resolve_at(Op::Open, path)?;
        let main = self.state().main.read();
        let kind = main.content_kind(&found.id).unwrap_or(ContentRoot::Text);
        Ok(DocumentInfo::new(found.id, kind, found.location == ContentLocation::Text))
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

    /// Returns a handle that keeps a file's content document in memory (`docs/spec/filesystem.md`,
    /// `acquire`).
    ///
    /// # Errors
    ///
    /// Fails as looking up a path does; with [`NoFile`](crate::WorkspaceError::NoFile) for an
    /// object without a document.
    pub fn acquire(&self, path: &VPath) -> Result<DocHandle> {
        let id = self.file_id(path)?;
        let mut handle = self.state.documents.acquire(&id);
        handle.pin();
        handle.with(|_| ())?;
        Ok(handle)
    }

    /// Returns a handle if the content document is in memory (`docs/spec/filesystem.md`, `peek`).
    pub fn peek(&self, path: &VPath) -> Result<Option<DocHandle>> {
        let id = self.file_id(path)?;
        Ok(self.state.documents.peek(&id))
    }

    /// Reads a file's text into the cache and returns it; the document does not stay in memory
    /// (`docs/spec/filesystem.md`, `loadAndCache`).
    pub fn load_and_cache(&self, path: &VPath) -> Result<Arc<str>> {
        let id = self.file_id(path)?;
        Ok(self.state.texts.read_to_keep(self.state, &id)?.content)
    }

    /// Returns the last run of each author whose runs are wanted in the text of a file, and where
    /// it ended. The document does not stay in memory if it was not there.
    ///
    /// # Errors
    ///
    /// If the document cannot be read.
    pub fn last_runs(
        &self,
        id: &FileId,
        is_wanted: impl Fn(&RunAuthor) -> bool,
    ) -> Result<Vec<LastRun>> {
        self.state.documents.read_once(id, |loaded| LastRun::of_each(&loaded.doc, is_wanted))
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::of(self.state.clone())
    }

    fn file_id(&self, path: &VPath) -> Result<FileId> {
        self.state.refresh()?;
        Ok(self.state.resolve_file(path)?)
    }

    /// Returns the properties that an editor needs to open a file. The guid stays when a file is
    /// renamed; call this again after each [`Moved`](yfs_vfs::ChangeKind::Moved), because the root
    /// to bind may change.
    pub fn info(&self, path: &VPath) -> Result<DocumentInfo> {
        self.workspace().fs().document(path)
    }

    /// Returns the same for a file by its id, without looking up a path; `None` if the id is not a
    /// file's.
    pub fn info_of(&self, id: &FileId) -> Option<DocumentInfo> {
        let main = self.state.main.read();
        let attributes = main.files().attributes(id)?;
        let kind = main.content_kind(id).filter(|_| attributes.kind == NodeKind::File)?;
        Some(DocumentInfo::new(id.clone(), kind, attributes.blob.is_none()))
    }
}

impl Maintenance<'_> {
    /// Repairs a content once: merges edits that were made in a previous root, keeps one half of a
    /// body that is there twice, and writes a text anew that other peers have in another version,
    /// because its writer forked its log. Reports whether anything changed.
    ///
    /// If two peers repair a forked text, it has both versions, one behind the other.
    ///
    /// # Errors
    ///
    /// Fails as looking up a path or writing does.
    pub fn repair(&self, path: &VPath) -> Result<bool> {
        self.state.refresh()?;
        let found = resolve_file(&self.state.main.read(), Op::Open, path)?;
        if found.location != ContentLocation::Text {
            return Ok(false);
        }
        let author = self.state.author_now().with_label("repair");
        let forked = forked_items(self.state, &found.id)?;
        let mut is_changed = false;
        for step in 0..4 {
            let by = Some(&author.actor);
            let repair = |doc: &mut ContentDoc| {
                let update = match step {
                    0 => doc.repair()?,
                    1 => doc.undouble(&author)?,
                    2 => doc.rewrite_forked(&forked, &author)?,
                    _ => doc.put_back(&author)?,
                };
                Ok(update.into_iter().collect())
            };
            is_changed |=
                self.state.change_document(&found.id, by, ChangeEffect::Edit, repair)?.is_changed;
        }
        Ok(is_changed)
    }

    /// Ends the conflict of a file whose words several writers changed at the same time: keeps the
    /// one at an index of each group, or the last. Words that only meet are accepted as they are,
    /// and so are bytes that replaced a text while others typed into it. Returns whether there was
    /// such a conflict.
    ///
    /// # Errors
    ///
    /// Fails as looking up a path or writing does.
    pub fn keep_word(&self, path: &VPath, index: usize) -> Result<bool> {
        self.state.refresh()?;
        let found = resolve_file(&self.state.main.read(), Op::Open, path)?;
        if found.location != ContentLocation::Text {
            return accept_bytes(self.state, &found.id);
        }
        let author = self.state.author_now().with_label("resolve");
        let keep = |doc: &mut ContentDoc| {
            let kept = match doc.keep_word(index, &author)? {
                None => doc.settle_places(&author)?,
                kept => kept,
            };
            Ok(kept.into_iter().collect())
        };
        let by = Some(&author.actor);
        Ok(self.state.change_document(&found.id, by, ChangeEffect::Edit, keep)?.is_changed)
    }

    /// Converts the rich text of the workspace to another schema. No editor may have any of it open
    /// meanwhile: editors delete elements that their schema lacks. If it is interrupted, it may be
    /// run again.
    ///
    /// `progress` gets the number of files that are done, and their total.
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
