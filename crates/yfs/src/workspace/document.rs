//! What an editor must know of a file to open it, and the upkeep of how contents are kept.

use yfs_engine::{
    content::Author,
    id::FileId,
    kind::{Category, ContentKind, Profile},
    path::VPath,
    table::NodeKind,
};
use yfs_vfs::{FsCode, FsError, Op};

use super::{Workspace, conflicts::rich_files};
use crate::{
    content::RawEdit,
    error::Result,
    fs::{Holds, resolve_file},
};

/// What an editor must know of a file to open it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentInfo {
    /// The guid of its document, which is the file's id.
    pub guid: FileId,
    /// What its name promises.
    pub category: Category,
    /// How its content is kept; nothing if that is not in the document but a blob.
    pub kind: Option<ContentKind>,
}

impl DocumentInfo {
    fn new(guid: FileId, kind: ContentKind, is_text: bool) -> Self {
        let category = match kind {
            ContentKind::Rich(_) => Category::RichText,
            _ => Category::Text,
        };
        Self { guid, category, kind: is_text.then_some(kind) }
    }

    /// Returns the root of the document that an editor binds to.
    pub fn root(&self) -> Option<&'static str> {
        self.kind.map(|kind| match kind {
            ContentKind::Rich(_) => yfs_engine::rich::ROOT,
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

impl Workspace {
    /// Tells what an editor must know of a file. When a file is renamed its guid stays; ask again after each
    /// [`Moved`](yfs_vfs::ChangeKind::Moved), since the root to bind to may be another.
    pub fn document(&self, path: &VPath) -> Result<DocumentInfo> {
        self.shared.refresh()?;
        let main = self.shared.main.read();
        let found = resolve_file(&main, Op::Open, path)?;
        let kind = main.content_kind(&found.id).unwrap_or(ContentKind::Text);
        Ok(DocumentInfo::new(found.id, kind, found.holds == Holds::Text))
    }

    /// Tells the same of a file by its id, which costs no look-up of a path. Answers nothing of what is no file.
    pub fn document_of(&self, id: &FileId) -> Option<DocumentInfo> {
        let main = self.shared.main.read();
        let attributes = main.files().attributes(id)?;
        let kind = main.content_kind(id).filter(|_| attributes.kind == NodeKind::File)?;
        Some(DocumentInfo::new(id.clone(), kind, attributes.blob.is_none()))
    }

    /// Puts a content where its file's name says, once: merges what was written where it no longer is, and keeps one
    /// half of a body that is there twice. Answers whether there was anything to do.
    ///
    /// # Errors
    ///
    /// As looking up a path, or as a write.
    pub fn repair(&self, path: &VPath) -> Result<bool> {
        self.shared.refresh()?;
        let found = resolve_file(&self.shared.main.read(), Op::Open, path)?;
        if found.holds != Holds::Text {
            return Ok(false);
        }
        let author =
            Author::new(self.shared.options.actor.clone(), self.shared.now()).with_label("repair");
        let mut is_changed = false;
        for is_second in [false, true] {
            let edited =
                self.shared.edit_text(&found.id, &author.actor, None, |doc| -> Result<_> {
                    let update = match is_second {
                        false => doc.repair()?,
                        true => doc.undouble(&author)?,
                    };
                    is_changed |= update.is_some();
                    Ok(RawEdit { update, value: () })
                })?;
            edited.ok_or_else(|| FsError::new(FsCode::ESTALE, Op::Edit, path))?;
        }
        Ok(is_changed)
    }

    /// Makes the rich text of the workspace keep another schema. Nobody must have any of it open in an
    /// editor meanwhile: editors delete what they cannot build. It may be run again where it was stopped.
    ///
    /// `progress` is told how many files are done, and of how many.
    pub fn convert_profile(
        &self,
        profile: Profile,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ProfileReport> {
        self.shared.check_writable()?;
        self.shared.catch_up()?;
        let files = rich_files(&self.shared.main.read());
        let n_files = files.len() as u64;
        let mut report = ProfileReport { n_files, n_converted: 0 };
        if self.profile() != profile {
            self.shared.set_profile(profile)?;
        }
        for (done, id) in files.iter().enumerate() {
            progress(done as u64, n_files);
            self.shared.edit_text(id, &self.shared.options.actor, None, |doc| -> Result<_> {
                let update = doc.keep_profile(profile)?;
                report.n_converted += u64::from(update.is_some());
                Ok(RawEdit { update, value: () })
            })?;
        }
        progress(n_files, n_files);
        Ok(report)
    }
}
