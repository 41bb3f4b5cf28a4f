//! Imports of existing Yjs documents: those of a workspace, or one document as a file.
//!
//! The documents of a workspace are merged under the ids that they have, so their history stays and
//! clients may continue with their copies. A second import merges only new changes. A single
//! document becomes the content of a file, without its history.
//!
//! # Invariants
//!
//! - All documents are read and checked before the first is merged: one rejected document means
//!   that nothing changes.

mod files;
mod yjs_import_error;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use yfs_engine::{
    content::{ContentDoc, ReferenceContent},
    gate::{GateRejection, UpdateSource},
    id::FileId,
    kind::{ContentRoot, FileCategory},
    main_doc::MainDoc,
    path::VPath,
    table::{NodeKind, WriterIds},
};
use yfs_vfs::{VersionBase, WriteOptions};

use self::files::{DocumentRole, UpdateFile};
pub use self::yjs_import_error::YjsImportError;
use super::{SkipReason, SkippedPath, destination_of_file};
use crate::{
    Documents,
    error::{Result, WorkspaceError},
    replica::{ReceivedUpdates, ReplicaUpdate},
};

/// The result of an import of Yjs documents.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct YjsImportReport {
    /// Documents that brought new items or deletions.
    pub n_changed: u64,
    /// Documents that the workspace had already.
    pub n_unchanged: u64,
    /// Bytes of files that were read.
    pub n_bytes: u64,
    /// Objects that were left out, and the reasons.
    pub skipped: Vec<SkippedPath>,
}

impl YjsImportError {
    fn in_file(self, path: &Path) -> WorkspaceError {
        WorkspaceError::YjsImport { path: path.to_owned(), source: self }
    }
}

/// Content documents that were checked, with the content that older roots of each had before the
/// import.
type Contents = BTreeMap<FileId, ContentUpdate>;

struct ContentUpdate {
    update: Vec<u8>,
    before: Option<ReferenceContent>,
}

impl Documents<'_> {
    /// Merges the documents of a workspace that are in a directory: the main document in
    /// `main.bin`, contents in files that are named by their guid, `<guid>.bin`, all as update v1
    /// or v2. A guid `{workspace}.files.{id}.content` names the file `id`.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::YjsImport`] if a file is rejected, and with
    /// [`WorkspaceError::Host`] if one cannot be read. Then nothing has changed.
    pub fn import_directory(&self, from: &Path) -> Result<YjsImportReport> {
        self.state.check_writable()?;
        let mut report = YjsImportReport::default();
        let found = files::read_directory(from, &self.state.options.limits)?;
        report.n_bytes = found.iter().map(|(_, found)| found.n_bytes).sum();
        let (main, contents) = split_documents(found, from)?;
        let files = self.check_main(&main)?;
        let contents = self.check_contents(contents, &files, &mut report)?;
        let received = self.merge(&main, &contents)?;
        self.move_to_current_roots(&contents)?;
        let is_changed = |id: &FileId| received.changed.contains(id);
        let n_contents = contents.keys().filter(|id| is_changed(id)).count();
        let n_changed = n_contents as u64 + u64::from(!received.rows.is_empty());
        report.n_changed = n_changed;
        report.n_unchanged = 1 + contents.len() as u64 - n_changed;
        report.skipped.extend(received.refused.iter().map(|(id, refusal)| SkippedPath {
            path: id.to_string(),
            why: SkipReason::Failed(refusal.to_string()),
        }));
        Ok(report)
    }

    /// Imports the content of one document, in a file as update v1 or v2. The content is written to
    /// the file at `to`, or, if `to` is a directory, to the file in it that has the source's name
    /// without `.bin`. The content is read from `root`, a text or an editor's tree, or from the
    /// roots that files of a workspace use.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::YjsImport`] if the file is rejected or has no content, and
    /// otherwise as a write does. Then nothing has changed.
    pub fn import_file(
        &self,
        from: &Path,
        to: &VPath,
        root: Option<&str>,
    ) -> Result<YjsImportReport> {
        self.state.check_writable()?;
        let found = files::read_file(from, &self.state.options.limits)?;
        let fs = self.workspace().fs().for_import("");
        let name = from.file_name().and_then(|name| name.to_str());
        let name = name.map(|name| name.strip_suffix(".bin").unwrap_or(name));
        let to = &destination_of_file(&fs, name, to)?;
        let kind = ContentRoot::of(
            FileCategory::of(to.file_name().unwrap_or_default()),
            self.workspace().profile(),
        );
        let doc = self.load_scratch(&self.state.options.ids.file_id(), kind, &found)?;
        let content = match root {
            Some(root) => doc.reference().read_named(root).map(String::into_bytes),
            None => content_of(&doc),
        };
        let no_content = || {
            let roots = doc.gate().items().root_names();
            YjsImportError::NoContent { roots }.in_file(from)
        };
        let content = content.ok_or_else(no_content)?;
        let mut report = YjsImportReport { n_bytes: found.n_bytes, ..YjsImportReport::default() };
        if fs.reader().stat_if_exists(to)?.is_some() && fs.reader().has_content(to, &content)? {
            report.n_unchanged = 1;
        } else {
            fs.writer().write(to, &content, &WriteOptions::default())?;
            report.n_changed = 1;
        }
        Ok(report)
    }

    /// Checks the main document against the current one. Returns the ids of all files after the
    /// import.
    fn check_main(&self, main: &UpdateFile) -> Result<BTreeSet<FileId>> {
        self.state.refresh()?;
        let limits = self.state.options.limits;
        let random = || self.state.options.ids.client_id();
        let writer = || WriterIds { rows: random(), cells: random(), meta: random() };
        let refused = |refusal: GateRejection| YjsImportError::Refused(refusal).in_file(&main.path);
        let mut alone = MainDoc::new(&self.state.id, writer(), limits);
        let changes = alone.receive(&main.update, UpdateSource::Wire).map_err(refused)?;
        if changes.parked {
            return Err(YjsImportError::Incomplete.in_file(&main.path));
        }
        if alone.files().is_empty() {
            return Err(YjsImportError::NoFiles.in_file(&main.path));
        }
        let mut merged = MainDoc::new(&self.state.id, writer(), limits);
        merged
            .receive(&self.state.main.read().encode_state(), UpdateSource::Store)
            .map_err(refused)?;
        merged.receive(&main.update, UpdateSource::Wire).map_err(refused)?;
        let rows = merged.files().iter().map(|entry| entry.row);
        Ok(rows.filter(|row| row.kind == NodeKind::File).map(|row| row.id).collect())
    }

    /// Checks all content documents; those without a file are left out.
    fn check_contents(
        &self,
        found: Vec<(FileId, UpdateFile)>,
        files: &BTreeSet<FileId>,
        report: &mut YjsImportReport,
    ) -> Result<Contents> {
        let mut contents = Contents::new();
        for (id, found) in found {
            self.load_scratch(&id, ContentRoot::Text, &found)?;
            if !files.contains(&id) {
                let path = found.path.display().to_string();
                let why = SkipReason::Failed(format!("the main document has no file {id}"));
                report.skipped.push(SkippedPath { path, why });
                continue;
            }
            let before = match self.state.is_file(&id) {
                true => self.later_reference(&id)?,
                false => None,
            };
            let content = ContentUpdate { update: found.update, before };
            if contents.insert(id, content).is_some() {
                return Err(YjsImportError::Twice.in_file(&found.path));
            }
        }
        Ok(contents)
    }

    /// Reads a document into memory, separate from the workspace.
    fn load_scratch(
        &self,
        id: &FileId,
        kind: ContentRoot,
        found: &UpdateFile,
    ) -> Result<ContentDoc> {
        let in_file = |error: YjsImportError| error.in_file(&found.path);
        let client = self.state.options.ids.client_id();
        let mut doc = ContentDoc::new(id, client, self.state.options.limits);
        doc.set_kind(kind);
        let received = doc
            .receive(&found.update, UpdateSource::Wire)
            .map_err(|rejection| in_file(rejection.into()))?;
        doc.gate().health().map_err(|refusal| in_file(refusal.into()))?;
        if received.parked {
            return Err(in_file(YjsImportError::Incomplete));
        }
        Ok(doc)
    }

    fn merge(&self, main: &UpdateFile, contents: &Contents) -> Result<ReceivedUpdates> {
        let arrival = |doc: &FileId, update: &[u8]| ReplicaUpdate {
            doc: doc.clone(),
            update: update.to_vec(),
            is_new: false,
        };
        let mut arrivals = vec![arrival(&self.state.id, &main.update)];
        arrivals.extend(contents.iter().map(|(id, content)| arrival(id, &content.update)));
        let received = self.workspace().replication().receive(&arrivals)?;
        self.workspace().replication().settle_contents(&received)?;
        Ok(received)
    }

    fn later_reference(&self, id: &FileId) -> Result<Option<ReferenceContent>> {
        self.state.documents.acquire(id).with(|loaded| loaded.doc.reference().read_later())
    }

    /// Moves content that is in the roots of later versions to the root that readers and editors
    /// use: all of it, or, if the file had content there before, only its later changes.
    fn move_to_current_roots(&self, contents: &Contents) -> Result<()> {
        for (id, content) in contents {
            let Some(now) = self.later_reference(id)? else { continue };
            let is_new = self
                .state
                .documents
                .acquire(id)
                .with(|loaded| loaded.doc.reference().read().is_some())?;
            match (now, &content.before) {
                (ReferenceContent::Text(_), _) if is_new => self.state.settle_content(id)?,
                (now, Some(before)) if now != *before => {
                    self.rewrite(id, bytes_of(now), Some(bytes_of(before.clone())))?;
                }
                (now @ ReferenceContent::Bytes(_), None) => {
                    self.rewrite(id, bytes_of(now), None)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn rewrite(&self, id: &FileId, data: Vec<u8>, base: Option<Vec<u8>>) -> Result<()> {
        // Files in the trash stay unchanged.
        let Some(path) = self.workspace().nodes().path_of(id)? else { return Ok(()) };
        let base = base.map(|base| VersionBase::Content(base.into()));
        let options = WriteOptions { base, ..WriteOptions::default() };
        self.workspace().fs().for_import("").writer().write(&path, &data, &options)?;
        Ok(())
    }
}

/// Separates the main document from the contents.
fn split_documents(
    found: Vec<(DocumentRole, UpdateFile)>,
    from: &Path,
) -> Result<(UpdateFile, Vec<(FileId, UpdateFile)>)> {
    let (mut main, mut contents) = (None, Vec::new());
    for (role, found) in found {
        match role {
            DocumentRole::Content(id) => contents.push((id, found)),
            DocumentRole::Main if main.is_some() => {
                return Err(YjsImportError::Twice.in_file(&found.path));
            }
            DocumentRole::Main => main = Some(found),
        }
    }
    let main = main.ok_or_else(|| YjsImportError::NoMain.in_file(from))?;
    Ok((main, contents))
}

/// Returns the content of a document from the roots that files of a workspace use.
fn content_of(doc: &ContentDoc) -> Option<Vec<u8>> {
    match doc.reference().read() {
        Some(content) => Some(bytes_of(content)),
        None if doc.conversion().was_text() || doc.gate().items().root_names().is_empty() => {
            Some(doc.text().into_bytes())
        }
        None => None,
    }
}

fn bytes_of(content: ReferenceContent) -> Vec<u8> {
    match content {
        ReferenceContent::Text(text) => text.into_bytes(),
        ReferenceContent::Bytes(bytes) => bytes,
    }
}
