//! The versions of a file: what it said when somebody's run of edits ended.
//!
//! Each run of edits by one actor notes in `fs:log` what the document was when it began. So a version
//! is the state in which a run left the file: what the next run found, or what is there now.

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_engine::{
    actor::Actor,
    content::{BlobVersion, ContentDoc, LogEntry, Version},
    path::VPath,
    time::Millis,
};
use yfs_vfs::{FsCode, FsError, Op, WriteOptions, Written};

use super::Workspace;
use crate::{
    error::{Result, WorkspaceError},
    fs::{Found, Holds, resolve_file},
};

/// One version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionInfo {
    /// Its number: 1 is the first. Numbers may change when work of others arrives late.
    pub number: u64,
    /// When the run of edits began that made it.
    pub at: Millis,
    /// Who made it.
    pub actor: Option<Actor>,
    /// What for.
    pub label: Option<SmolStr>,
    /// Whether it is what the file holds now.
    pub current: bool,
}

/// Where the content of a version is.
enum Stored {
    Text(Version),
    Current,
    Blob(BlobVersion),
}

impl Workspace {
    /// Lists the versions of a file, oldest first; the last is what it holds now.
    pub fn versions(&self, path: &VPath) -> Result<Vec<VersionInfo>> {
        let found = self.found(path)?;
        let listed =
            self.shared.pool.acquire(&found.id).with(|loaded| list(&loaded.doc, &found))?;
        Ok(listed.into_iter().map(|(info, _)| info).collect())
    }

    /// Returns what a file said at a version.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no version of that number.
    pub fn version_content(&self, path: &VPath, number: u64) -> Result<Bytes> {
        let found = self.found(path)?;
        let no_such = || FsError::new(FsCode::EINVAL, Op::Read, path);
        let failed = |error| FsError::new(FsCode::EIO, Op::Read, path).caused_by(error);
        let read = self.shared.pool.acquire(&found.id).with(|loaded| {
            let mut listed = list(&loaded.doc, &found).into_iter();
            let (_, stored) = listed.find(|(info, _)| info.number == number).ok_or_else(no_such)?;
            match stored {
                Stored::Text(version) => loaded.doc.text_at(&version).map(Ok).map_err(failed),
                Stored::Current => Ok(Ok(loaded.doc.text())),
                Stored::Blob(blob) => Ok(Err(blob)),
            }
        })??;
        match read {
            Ok(text) => Ok(text.into()),
            Err(blob) => Ok(self.shared.store.read_blob(&blob.hash, 0..blob.size)?.into()),
        }
    }

    /// Makes a version the content of its file again, as the least edit; nothing is taken back.
    pub fn restore_version(&self, path: &VPath, number: u64) -> Result<Written> {
        let data = self.version_content(path, number)?;
        let fs = self.fs().labelled(&format!("restore version {number}"));
        Ok(fs.write_sync(path, &data, &WriteOptions::default())?)
    }

    fn found(&self, path: &VPath) -> Result<Found> {
        self.shared.refresh()?;
        Ok(resolve_file(&self.shared.main.read(), Op::Open, path)?)
    }
}

fn list(doc: &ContentDoc, found: &Found) -> Vec<(VersionInfo, Stored)> {
    let mut listed = if found.holds == Holds::Text { texts(doc) } else { blobs(doc) };
    for (number, (info, _)) in (1..).zip(&mut listed) {
        info.number = number;
    }
    if let Some((info, _)) = listed.last_mut() {
        info.current = true;
    }
    listed
}

fn texts(doc: &ContentDoc) -> Vec<(VersionInfo, Stored)> {
    let mut runs: Vec<LogEntry> = doc.log().into_iter().filter(|run| !run.claimed).collect();
    runs.sort_by_key(|run| (run.at, run.client, run.from));
    let mut listed = Vec::with_capacity(runs.len());
    for (at, run) in runs.iter().enumerate() {
        let stored = match runs.get(at + 1) {
            None => Stored::Current,
            Some(next) => match &next.before {
                Some(version) => Stored::Text(version.clone()),
                // Too large to be kept: the two runs count as one.
                None => continue,
            },
        };
        listed.push((info(run.at, Some(run.actor.clone()), run.label.clone()), stored));
    }
    if listed.is_empty() && !doc.is_empty() {
        listed.push((info(Millis(0), None, None), Stored::Current));
    }
    listed
}

fn blobs(doc: &ContentDoc) -> Vec<(VersionInfo, Stored)> {
    let versions = doc.blobs().into_iter();
    versions.map(|blob| (info(blob.at, blob.actor.clone(), None), Stored::Blob(blob))).collect()
}

fn info(at: Millis, actor: Option<Actor>, label: Option<SmolStr>) -> VersionInfo {
    VersionInfo { number: 0, at, actor, label, current: false }
}

impl From<WorkspaceError> for FsError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Fs(error) => error,
            error => Self::bare(FsCode::EIO, Op::Read).caused_by(error),
        }
    }
}
