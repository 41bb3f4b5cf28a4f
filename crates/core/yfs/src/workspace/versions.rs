//! The versions of a file: its content after each edit, and where a version was named.
//!
//! The engine finds them: see `yfs_engine::content::PastVersion`. A file that is a blob has the
//! versions that its document lists.

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_engine::{
    actor::Actor,
    content::{BlobVersion, ContentDoc, ContentError, PastVersion},
    path::VPath,
    step::StepId,
    time::Millis,
};
use yfs_vfs::{FsCode, FsError, Op, WriteOptions, WriteOutcome};

use super::Workspace;
use crate::{
    History,
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
    fs::{ContentLocation, ResolvedFile, WorkspaceFs, fs_error, resolve_file},
};

/// One version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionInfo {
    /// Its number, counted from 1. Numbers may change when work of others arrives late.
    pub number: u64,
    /// When the run of edits began that made it.
    pub at: Millis,
    /// Its author.
    pub actor: Option<Actor>,
    /// The label of the run.
    pub label: Option<SmolStr>,
    /// The step that the run is part of.
    pub step: Option<StepId>,
    /// The names that people gave it.
    pub names: Vec<SmolStr>,
    /// Whether some of it was erased for good, so that it cannot be read.
    pub redacted: bool,
    /// Whether it is the current content.
    pub current: bool,
}

/// A selector of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionSelector {
    /// The version with this number.
    Number(u64),
    /// The latest version with this name.
    Name(SmolStr),
    /// The last version whose run began at or before this time.
    At(Millis),
}

/// The place of a version's content.
pub(super) enum StoredVersion {
    Past(usize),
    Blob(Box<BlobVersion>),
}

impl History<'_> {
    /// Lists the versions of a file, oldest first; the last is the current content.
    pub fn versions(&self, path: &VPath) -> Result<Vec<VersionInfo>> {
        Workspace::of(self.state.clone()).fs().versions(path)
    }

    /// Finds a version of a file, or returns `None`.
    pub fn find_version(
        &self,
        path: &VPath,
        which: &VersionSelector,
    ) -> Result<Option<VersionInfo>> {
        let mut listed = self.versions(path)?.into_iter();
        Ok(match which {
            VersionSelector::Number(number) => listed.find(|info| info.number == *number),
            VersionSelector::Name(name) => listed.rfind(|info| info.names.contains(name)),
            VersionSelector::At(time) => listed.rfind(|info| info.at <= *time),
        })
    }

    /// Returns the content of a version.
    ///
    /// # Errors
    ///
    /// Fails as [`WorkspaceFs::version_content`] does.
    pub fn version_content(&self, path: &VPath, number: u64) -> Result<Bytes> {
        Workspace::of(self.state.clone()).fs().version_content(path, number)
    }

    /// Makes a version the current content of its file again, as the least edit; no history is
    /// removed, and concurrent edits are kept.
    pub fn restore_version(&self, path: &VPath, number: u64) -> Result<WriteOutcome> {
        let data = self.version_content(path, number)?;
        let fs =
            Workspace::of(self.state.clone()).fs().labelled(&format!("restore version {number}"));
        Ok(fs.writer().write(path, &data, &WriteOptions::default())?)
    }

    /// Names the current content of a file, on behalf of
    /// [`WorkspaceOptions::actor`](crate::WorkspaceOptions::actor).
    ///
    /// # Errors
    ///
    /// Fails with [`ContentError::BadLabel`] if the name is empty, too long or has several lines.
    pub fn name_version(&self, path: &VPath, name: &str) -> Result<()> {
        let found = self.resolve_target(path)?;
        let author = self.author();
        self.state.annotate(&found.id, |doc| {
            let blob = match &found.location {
                ContentLocation::Text => None,
                ContentLocation::Blob(shown) => {
                    let mut blobs = doc.blobs().versions().into_iter();
                    blobs.rfind(|blob| blob.hash == shown.hash).map(|blob| blob.id)
                }
            };
            Ok(doc.edit_registers().add_label(name, blob, &author)?)
        })?;
        Ok(())
    }

    /// Removes a name from the versions of a file that have it; reports whether any had.
    pub fn unname_version(&self, path: &VPath, name: &str) -> Result<bool> {
        let found = self.resolve_target(path)?;
        self.state.annotate(&found.id, |doc| Ok(doc.edit_registers().remove_label(name)?))
    }

    pub(super) fn resolve_target(&self, path: &VPath) -> Result<ResolvedFile> {
        self.state.refresh()?;
        Ok(resolve_file(&self.state.main.read(), Op::Open, path)?)
    }
}

impl WorkspaceFs {
    /// Lists the versions of a file, oldest first; the last is the current content.
    ///
    /// # Errors
    ///
    /// Fails as reading the file does, also if the file is damaged; with `EACCES` if it is outside
    /// the scope.
    pub fn versions(&self, path: &VPath) -> Result<Vec<VersionInfo>> {
        let found = self.resolve_at(Op::Open, path)?;
        let handle = self.state().documents.acquire(&found.id);
        let listed = handle.with(|loaded| {
            loaded.check_readable(&found.id)?;
            Ok(list(&loaded.doc, &found))
        })?;
        let listed = listed.map_err(|error| fs_error(error, Op::Read, path))?;
        Ok(listed.into_iter().map(|(info, _)| info).collect())
    }

    /// Returns the content of a version.
    ///
    /// # Errors
    ///
    /// Fails as reading the file does; with `EINVAL` if there is no version with that number; with
    /// [`WorkspaceError::Redacted`] if some of it was erased for good.
    pub fn version_content(&self, path: &VPath, number: u64) -> Result<Bytes> {
        let found = self.resolve_at(Op::Open, path)?;
        version_content(self.state(), &found, number, path)
    }
}

/// Returns the content of a version of a file, which errors name by `path`.
pub(super) fn version_content(
    core: &WorkspaceCore,
    found: &ResolvedFile,
    number: u64,
    path: &VPath,
) -> Result<Bytes> {
    let no_such = || FsError::new(FsCode::EINVAL, Op::Read, path);
    let redacted = || WorkspaceError::Redacted { path: path.to_string(), number };
    let damaged = |error| fs_error(error, Op::Read, path);
    let read = core.documents.acquire(&found.id).with(|loaded| {
        loaded.check_readable(&found.id).map_err(damaged)?;
        let mut listed = list(&loaded.doc, found).into_iter();
        let (info, stored) = listed.find(|(info, _)| info.number == number).ok_or_else(no_such)?;
        if info.redacted {
            return Err(redacted());
        }
        let index = match stored {
            StoredVersion::Blob(blob) => return Ok(Err(*blob)),
            StoredVersion::Past(index) => index,
        };
        let version = loaded.doc.timeline().version(index).ok_or_else(no_such)?;
        match loaded.doc.text_at(&version) {
            Ok(text) => Ok(Ok(text)),
            Err(ContentError::Redacted) => Err(redacted()),
            Err(error) => Err(FsError::new(FsCode::EIO, Op::Read, path).caused_by(error).into()),
        }
    })??;
    match read {
        Ok(text) => Ok(text.into()),
        Err(blob) => Ok(core.store.read_blob(&blob.hash, 0..blob.size)?.into()),
    }
}

/// Lists the versions of a document in the order of time, so that they keep their numbers when the
/// file becomes a blob or a text again. The last is the current content.
pub(super) fn list(doc: &ContentDoc, found: &ResolvedFile) -> Vec<(VersionInfo, StoredVersion)> {
    let (mut former, now) = match &found.location {
        ContentLocation::Text => (blobs(doc), texts(doc)),
        ContentLocation::Blob(_) => (texts(doc), blobs(doc)),
    };
    for (info, _) in &mut former {
        info.current = false;
    }
    let mut listed = in_order_of_time(former, now);
    for (number, (info, _)) in (1..).zip(&mut listed) {
        info.number = number;
    }
    listed
}

/// Merges two lists; each keeps its order. The last of `now` is the last.
fn in_order_of_time(
    former: Vec<(VersionInfo, StoredVersion)>,
    now: Vec<(VersionInfo, StoredVersion)>,
) -> Vec<(VersionInfo, StoredVersion)> {
    let mut listed = Vec::with_capacity(former.len() + now.len());
    let (mut former, n_now) = (former.into_iter().peekable(), now.len());
    for (at, version) in now.into_iter().enumerate() {
        let is_last = at + 1 == n_now;
        // Of equal times, texts come first, whatever the present form is.
        let is_before = |(info, stored): &(VersionInfo, StoredVersion)| {
            let is_text = matches!(stored, StoredVersion::Past(_));
            is_last || info.at < version.0.at || is_text && info.at == version.0.at
        };
        while let Some(before) = former.next_if(is_before) {
            listed.push(before);
        }
        listed.push(version);
    }
    listed.extend(former);
    listed
}

/// Returns the numbers of the versions that are texts, in their order in the timeline.
pub(super) fn numbers_of_texts(doc: &ContentDoc, found: &ResolvedFile) -> Vec<u64> {
    let is_text = |stored: &StoredVersion| matches!(stored, StoredVersion::Past(_));
    let texts = list(doc, found).into_iter().filter(|(_, stored)| is_text(stored));
    texts.map(|(info, _)| info.number).collect()
}

fn texts(doc: &ContentDoc) -> Vec<(VersionInfo, StoredVersion)> {
    if !doc.conversion().was_text() {
        return Vec::new();
    }
    let past = doc.timeline().versions().into_iter().enumerate();
    past.map(|(index, past)| (of_text(past), StoredVersion::Past(index))).collect()
}

fn of_text(past: PastVersion) -> VersionInfo {
    let (actor, at, label, step) = match past.author {
        Some(author) => (Some(author.actor), author.at, author.label, author.step),
        None => (None, Millis(0), None, None),
    };
    let PastVersion { names, redacted, current, .. } = past;
    VersionInfo { number: 0, at, actor, label, step, names, redacted, current }
}

fn blobs(doc: &ContentDoc) -> Vec<(VersionInfo, StoredVersion)> {
    let labels = doc.labels().in_order();
    let mut listed: Vec<_> = Vec::new();
    for blob in doc.blobs().versions() {
        let names = labels.iter().filter(|label| label.blob == Some(blob.id));
        let info = VersionInfo {
            number: 0,
            at: blob.at,
            actor: blob.actor.clone(),
            label: blob.label.clone(),
            step: blob.step.clone(),
            names: names.map(|label| label.name.clone()).collect(),
            redacted: doc.redactions().names_blob(blob.id),
            current: false,
        };
        listed.push((info, StoredVersion::Blob(Box::new(blob))));
    }
    if let Some((info, _)) = listed.last_mut() {
        info.current = true;
    }
    listed
}

impl From<WorkspaceError> for FsError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Fs(error) => error,
            error => Self::bare(FsCode::EIO, Op::Read).caused_by(error),
        }
    }
}
