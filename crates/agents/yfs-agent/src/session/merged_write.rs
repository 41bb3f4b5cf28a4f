//! Writing a whole file as a change of what the agent has read.

use bytes::Bytes;
use similar::TextDiff;
use thiserror::Error;
use yfs_types::{actor::Actor, path::VPath};
use yfs_vfs::{
    CreateMode, EditOverlap, FsCode, FsError, VersionBase, VersionToken, WriteOptions, WriteOutcome,
};

use super::{MergeConflict, RememberedRead, merge_texts};
use crate::tool_call::{KnownFile, ToolCall};

/// How often a write is merged again because another writer was faster. Each time, one of the
/// others has finished.
const MAX_ATTEMPTS: usize = 1_000;

/// The most bytes of other writers' changes that a report shows.
const MAX_REPORT_LEN: usize = 4_000;

/// The result of writing a file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct MergedWrite {
    /// Whether the write created the file.
    pub created: bool,
    /// The size of the file afterwards, in bytes.
    pub size: u64,
    /// What else changed since the agent read the file, and was kept.
    pub others: Option<OtherChanges>,
    /// Whether the write replaced a file that a [shared](crate::AgentSessionBuilder::shared)
    /// session has not read.
    pub replaced_unread: bool,
}

/// Changes by others that a write kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherChanges {
    /// A unified diff from what the agent wrote to what the file contains; cut if it is long.
    pub diff: String,
    /// Lines that both changed, in the file as it is afterwards.
    pub overlaps: Vec<OverlapLines>,
}

/// A range of lines that two writers changed at the same time; both changes are in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OverlapLines {
    /// The first line, counted from 1.
    pub first_line: usize,
    /// The last line.
    pub last_line: usize,
    /// The other writer, if known.
    pub actor: Option<Actor>,
}

/// The reason why a write was rejected. Nothing changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum WriteFailure {
    /// The filesystem rejected it.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The file changed since the agent read it, and the changes cannot be merged.
    #[error("'{path}' was changed by others since it was read: {conflict}; read it again")]
    Conflict {
        /// The file.
        path: VPath,
        /// Why the changes cannot be merged.
        conflict: WriteConflict,
    },
}

/// The reason why a write cannot be merged with the changes of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteConflict {
    /// Both changed the same lines, and the backend cannot keep both.
    #[error(transparent)]
    Lines(#[from] MergeConflict),
    /// The content that was read is no longer known.
    #[error("the content that was read is no longer known")]
    Forgotten,
    /// One of the contents is not text.
    #[error("it is not text, and cannot be merged")]
    NotText,
    /// Others change the file all the time.
    #[error("others keep changing it")]
    Busy,
}

impl ToolCall {
    /// Replaces the content of a file, as a change of what the agent has read of it.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::write`](yfs_vfs::FileSystem::write) does, or with a
    /// [`WriteFailure::Conflict`].
    pub(crate) async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        create: CreateMode,
    ) -> Result<MergedWrite, WriteFailure> {
        let author = Some(self.author().clone());
        let options = WriteOptions { create, author, ..WriteOptions::default() };
        let known = match create {
            CreateMode::New => None,
            _ => self.known_at(path).await,
        };
        let Some(KnownFile { id, read: last, is_same }) = known else {
            let written = self.fs().write(path, data.clone(), &options).await?;
            let is_unread = !written.created && self.session().memory().lock().is_shared;
            let done = self.finish_write(path, data, written).await;
            return Ok(MergedWrite { replaced_unread: is_unread, ..done });
        };
        let base = self.base_of_write(&id, last, &data);
        let written = match (is_same, &base.content) {
            (true, _) => self.write_based(path, &base, data, options).await?,
            // Another file has taken the path of the one that was read.
            (false, Some(read)) => self.write_merged(path, read, data, &options).await?,
            (false, None) => {
                let conflict = WriteConflict::Forgotten;
                return Err(WriteFailure::Conflict { path: path.clone(), conflict });
            }
        };
        self.session().memory().lock().close_read(&id, &base);
        Ok(written)
    }

    /// Replaces the content of a file, as a change of a read.
    pub(crate) async fn write_based(
        &self,
        path: &VPath,
        known: &RememberedRead,
        data: Bytes,
        options: WriteOptions,
    ) -> Result<MergedWrite, WriteFailure> {
        let conflict = |conflict| WriteFailure::Conflict { path: path.clone(), conflict };
        if known.is_lost() {
            return Err(conflict(WriteConflict::Forgotten));
        }
        let RememberedRead { version, content } = known.clone();
        let by_version = version.map(VersionBase::Version);
        let by_content = content.clone().map(VersionBase::Content);
        for base in by_version.into_iter().chain(by_content) {
            let options = WriteOptions { base: Some(base), ..options.clone() };
            match self.fs().write(path, data.clone(), &options).await {
                Ok(written) => return Ok(self.finish_write(path, data, written).await),
                Err(error) if error.code == FsCode::ESTALE => (),
                Err(error) => return Err(error.into()),
            }
        }
        let base = content.ok_or_else(|| conflict(WriteConflict::Forgotten))?;
        self.write_merged(path, &base, data, &options).await
    }

    /// Merges and writes the text of a file in a backend that cannot merge.
    async fn write_merged(
        &self,
        path: &VPath,
        base: &Bytes,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<MergedWrite, WriteFailure> {
        let conflict = |conflict| WriteFailure::Conflict { path: path.clone(), conflict };
        for _ in 0..MAX_ATTEMPTS {
            let current = self.fs().read(path).await?;
            let merged = match current.data == *base {
                true => data.clone(),
                false => merged_bytes(base, &current.data, &data).map_err(conflict)?,
            };
            let is_merged = merged != data;
            let expected_version = Some(current.version);
            let options = WriteOptions { expected_version, ..options.clone() };
            match self.fs().write(path, merged, &options).await {
                Ok(written) => {
                    let mut written = written;
                    written.merged = is_merged;
                    // The agent has not seen the content of this version.
                    written.version = written.version.filter(|_| !is_merged);
                    return Ok(self.finish_write(path, data, written).await);
                }
                Err(error) if error.code == FsCode::ESTALE => (),
                Err(error) => return Err(error.into()),
            }
        }
        Err(conflict(WriteConflict::Busy))
    }

    /// Changes the text of a file by a function, which is called again if another writer was
    /// faster. Its result is computed from the current content.
    ///
    /// # Errors
    ///
    /// Fails as the function does, and as reading and writing do; with `EINVAL` if the file is not
    /// UTF-8 text.
    pub(crate) async fn rewrite<T, E>(
        &self,
        path: &VPath,
        change: impl Fn(&str) -> Result<(String, T), E> + Send + Sync,
    ) -> Result<(MergedWrite, T), E>
    where
        T: Send,
        E: From<WriteFailure> + Send,
    {
        let fail = |error: FsError| E::from(WriteFailure::Fs(error));
        for _ in 0..MAX_ATTEMPTS {
            let current = self.fs().read(path).await.map_err(fail)?;
            let Ok(text) = std::str::from_utf8(&current.data) else {
                let refusal = yfs_vfs::EditRefusal::NotText;
                return Err(fail(FsError::edit_refused(path, refusal)));
            };
            let (changed, value) = change(text)?;
            if changed == text {
                let size = changed.len() as u64;
                return Ok((MergedWrite { size, ..MergedWrite::default() }, value));
            }
            let options = WriteOptions {
                create: CreateMode::Never,
                expected_version: Some(current.version),
                author: Some(self.author().clone()),
                ..WriteOptions::default()
            };
            let before = options.expected_version.clone();
            let changed = Bytes::from(changed);
            match self.fs().write(path, changed.clone(), &options).await {
                Ok(written) => {
                    let again = |text: &str| change(text).ok().map(|(text, _)| text);
                    if let Some(before) = before {
                        self.remember_rewrite(path, &written, &before, changed, again);
                    }
                    let (created, size) = (written.created, written.size);
                    let done = MergedWrite { created, size, ..MergedWrite::default() };
                    return Ok((done, value));
                }
                Err(error) if error.code == FsCode::ESTALE => (),
                Err(error) => return Err(fail(error)),
            }
        }
        let conflict = WriteConflict::Busy;
        Err(E::from(WriteFailure::Conflict { path: path.clone(), conflict }))
    }

    /// Remembers a file whose current content was changed by a function, as far as the agent has
    /// seen it.
    fn remember_rewrite(
        &self,
        path: &VPath,
        written: &WriteOutcome,
        before: &VersionToken,
        changed: Bytes,
        change: impl Fn(&str) -> Option<String> + Send,
    ) {
        let file = (path, &written.id);
        let Some(known) = self.session().memory().lock().get_at(path, &written.id) else { return };
        if known.version.as_ref() == Some(before) {
            return self.remember(file, written.version.clone(), Some(changed));
        }
        // The agent has not seen what others wrote; without the change in what it has seen, its
        // next write would make the change twice.
        let text = known.content.as_ref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        self.remember(file, None, text.and_then(change).map(Bytes::from));
    }

    async fn finish_write(&self, path: &VPath, data: Bytes, written: WriteOutcome) -> MergedWrite {
        self.remember((path, &written.id), written.version, Some(data.clone()));
        let (created, size) = (written.created, written.size);
        let mut others = None;
        if written.merged {
            let now = self.fs().read(path).await.map(|content| content.data).unwrap_or_default();
            others = Some(OtherChanges {
                diff: short_diff(&data, &now),
                overlaps: written.overlaps.iter().map(|range| lines_of(range, &now)).collect(),
            });
        }
        MergedWrite { created, size, others, replaced_unread: false }
    }
}

impl MergedWrite {
    /// Returns a text that says what else changed; empty if nothing did.
    pub(crate) fn note(&self) -> String {
        if self.replaced_unread {
            return "\n\nThe file existed, and this session has not read it: its content was \
                    replaced. Read a file before you write it, so that the changes of others are \
                    kept."
                .to_owned();
        }
        let Some(others) = &self.others else { return String::new() };
        let mut note = String::from(
            "\n\nOthers changed the file since you read it; their changes are kept:\n",
        );
        note.push_str(&others.diff);
        for lines in &others.overlaps {
            let by = lines.actor.as_ref().map_or("another writer".to_owned(), Actor::to_string);
            note.push_str(&format!(
                "\nLines {}-{} were changed by {by} as well: check them.",
                lines.first_line, lines.last_line
            ));
        }
        note
    }
}

/// Returns a text with the changes of two writers.
fn merged_bytes(base: &[u8], theirs: &[u8], ours: &[u8]) -> Result<Bytes, WriteConflict> {
    let texts = [base, theirs, ours].map(std::str::from_utf8);
    let [Ok(base), Ok(theirs), Ok(ours)] = texts else { return Err(WriteConflict::NotText) };
    Ok(merge_texts(base, theirs, ours)?.into())
}

fn short_diff(written: &[u8], now: &[u8]) -> String {
    let (written, now) = (String::from_utf8_lossy(written), String::from_utf8_lossy(now));
    let mut config = TextDiff::configure();
    let diff = config.timeout(std::time::Duration::from_secs(1)).diff_lines(&*written, &*now);
    let mut text = diff.unified_diff().context_radius(0).to_string();
    if text.len() > MAX_REPORT_LEN {
        let mut end = MAX_REPORT_LEN;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("\n... [diff truncated; read the file]");
    }
    text
}

fn lines_of(range: &EditOverlap, content: &[u8]) -> OverlapLines {
    let bounded = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
    let newlines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    let start = bounded(range.offset);
    let changed = &content[start..bounded(range.offset.saturating_add(range.len)).max(start)];
    // The newline that ends the range belongs to its last line.
    let changed = changed.strip_suffix(b"\n").unwrap_or(changed);
    let first_line = newlines(&content[..start]) + 1;
    let last_line = first_line + newlines(changed);
    OverlapLines { first_line, last_line, actor: range.actor.clone() }
}
