//! Notes of large imports: what a history shows of one without reading each of its files.
//!
//! An import logs the first record of each file that it creates, in runs without gaps. A file whose
//! last record is in such a run was not changed since, so its whole history is that creation. The
//! notes are local settings: a store that received the files from another has none, and reads them.

use serde_json::{Value, json};
use smol_str::SmolStr;
use yfs_engine::{actor::Actor, time::Millis};
use yfs_store::{DocName, Seq};

use crate::{History, core::WorkspaceCore, error::Result};

/// The setting of the store with the notes, the oldest first.
const SETTING: &str = "import.notes";

/// The least number of files of an import that is noted. It costs little to read fewer.
const MIN_FILES: u64 = 256;

/// The greatest number of notes. The oldest is dropped first.
const MAX_NOTES: usize = 32;

/// The number of records from which on the next ones begin another run.
const MAX_RUN: u64 = 1 << 14;

/// A large import, made by this store ([`History::noted_imports`]).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotedImport {
    /// When it began, by the clock of its author.
    pub begun_at: Millis,
    /// When it ended. No change of it is later.
    pub at: Millis,
    /// Its author.
    pub actor: Actor,
    /// The label of all its changes, which no other import has.
    pub label: SmolStr,
    /// The number of files and links that it created or changed.
    pub n_files: u64,
    /// The records that created files.
    pub(super) runs: Vec<LogRun>,
}

/// A run of records that created files: the only records that these files had when they were
/// logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogRun {
    pub(crate) first: Seq,
    pub(crate) last: Seq,
    /// The file whose record is the last. Its id is random, so it identifies the log.
    pub(crate) last_doc: DocName,
}

impl LogRun {
    pub(super) fn contains(&self, seq: Seq) -> bool {
        (self.first..=self.last).contains(&seq)
    }
}

impl NotedImport {
    /// Returns a note of an import that begins.
    pub(crate) fn begin(begun_at: Millis, actor: Actor, label: SmolStr) -> Self {
        Self { begun_at, at: begun_at, actor, label, n_files: 0, runs: Vec::new() }
    }

    /// Returns the name of the source; it is empty if it is not recorded.
    pub fn source(&self) -> &str {
        crate::import::label::source_of(&self.label).unwrap_or_default()
    }

    /// Adds the records of a transaction.
    pub(crate) fn add_run(&mut self, run: LogRun) {
        match self.runs.last_mut() {
            Some(before)
                if before.last.0 + 1 == run.first.0 && before.last.0 - before.first.0 < MAX_RUN =>
            {
                (before.last, before.last_doc) = (run.last, run.last_doc);
            }
            _ => self.runs.push(run),
        }
    }

    fn to_json(&self) -> Value {
        let run = |run: &LogRun| json!([run.first.0, run.last.0, run.last_doc.as_str()]);
        json!({
            "begun_at": self.begun_at.0,
            "at": self.at.0,
            "actor": self.actor.to_string(),
            "label": self.label.as_str(),
            "files": self.n_files,
            "runs": self.runs.iter().map(run).collect::<Vec<_>>(),
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let time = |key| Some(Millis(value.get(key)?.as_i64()?));
        let run = |run: &Value| {
            let seq = |at: usize| Some(Seq(run.get(at)?.as_u64()?));
            let last_doc = DocName::parse(run.get(2)?.as_str()?).ok()?;
            Some(LogRun { first: seq(0)?, last: seq(1)?, last_doc })
        };
        Some(Self {
            begun_at: time("begun_at")?,
            at: time("at")?,
            actor: value.get("actor")?.as_str()?.parse().ok()?,
            label: value.get("label")?.as_str()?.into(),
            n_files: value.get("files")?.as_u64()?,
            runs: value.get("runs")?.as_array()?.iter().map(run).collect::<Option<_>>()?,
        })
    }
}

impl History<'_> {
    /// Returns the large imports that this store made, the latest first, so that a list of changes
    /// shows each as one ([`HistoryEntries::skip_imports`]). Imports of fewer than 256 files, those
    /// of other stores, and all but the last 32, are not noted.
    ///
    /// [`HistoryEntries::skip_imports`]: super::change_list::HistoryEntries::skip_imports
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn noted_imports(&self) -> Result<Vec<NotedImport>> {
        noted_imports(self.state)
    }
}

/// Notes an import that has ended.
pub(crate) fn note_import(core: &WorkspaceCore, import: &NotedImport) -> Result<()> {
    if import.n_files < MIN_FILES || import.runs.is_empty() {
        return Ok(());
    }
    let mut notes = stored_notes(core)?;
    notes.push(import.clone());
    let excess = notes.len().saturating_sub(MAX_NOTES);
    let notes: Vec<Value> = notes[excess..].iter().map(NotedImport::to_json).collect();
    Ok(core.store.set_meta(SETTING, Value::from(notes).to_string().as_bytes())?)
}

/// Returns the imports that were noted, the latest first, as far as the log still is the one in
/// which they were logged.
pub(super) fn noted_imports(core: &WorkspaceCore) -> Result<Vec<NotedImport>> {
    let mut notes = Vec::new();
    for mut note in stored_notes(core)?.into_iter().rev() {
        let mut n_sound = note.runs.len();
        while n_sound > 0 && !has_record(core, &note.runs[n_sound - 1])? {
            n_sound -= 1;
        }
        note.runs.truncate(n_sound);
        if n_sound > 0 {
            notes.push(note);
        }
    }
    notes.sort_by_key(|note| std::cmp::Reverse(note.at));
    Ok(notes)
}

/// Reports whether the last record of a run is where it was. Then all before it is.
fn has_record(core: &WorkspaceCore, run: &LogRun) -> Result<bool> {
    let before = Seq(run.last.0.saturating_add(1));
    let last = core.store.documents_before(before, 1)?.unwrap_or_default();
    Ok(last.first().is_some_and(|(seq, doc)| *seq == run.last && *doc == run.last_doc))
}

fn stored_notes(core: &WorkspaceCore) -> Result<Vec<NotedImport>> {
    let stored = core.store.get_meta(SETTING)?.unwrap_or_default();
    let Ok(Value::Array(notes)) = serde_json::from_slice(&stored) else {
        return Ok(Vec::new());
    };
    Ok(notes.iter().filter_map(NotedImport::from_json).collect())
}
