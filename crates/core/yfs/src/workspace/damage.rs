//! Damaged records: which files they concern, and the decision of a person about them.
//!
//! A workspace whose records cannot be read looks like one in which files were deleted and edits
//! reverted. A program that would carry that elsewhere, as a mirror or a server does, calls
//! [`Maintenance::check_damage`] first.
//!
//! A file with a damaged record is not read, because what is left of it must not be taken for the
//! file. Once the damaged records are set aside, it can be used again, and peers send what they
//! have of it as if they had never sent anything.

mod damage_marks;
mod table_damage;

use std::{collections::BTreeSet, sync::Arc};

use yfs_engine::{
    id::FileId,
    table::{FileRow, NodeKind},
};
use yfs_store::checkpoint::{CheckpointMap, CheckpointWriter};
use yfs_store::{CheckProblem, DocHead, DocName, Seq};

use self::damage_marks::{aside_key, lost_key};
pub(crate) use self::{
    damage_marks::{is_content_lost, was_set_aside},
    table_damage::TableDamage,
};
use crate::{
    Maintenance,
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
    state::WorkspaceState,
    workspace::conflict_report::path_of,
};

/// The setting that stores the accepted problems, one on each line.
const ACCEPTED_DAMAGE_KEY: &str = "damage.accepted";

/// The directories of the maps that are derived from the log, in that of the store's derived files.
const DERIVED_MAPS: [&str; 3] = ["log", "main", "search"];

/// A document with damaged records.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedDocument {
    /// The id of the file, or of the workspace.
    pub id: FileId,
    /// The path of the file; `None` if the damaged records are of the files table.
    pub path: Option<String>,
    /// The number of damaged records; a damaged snapshot is one.
    pub n_records: u64,
}

/// A file whose content is not in this store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingContent {
    /// The id of the file.
    pub id: FileId,
    /// Its path.
    pub path: String,
    /// Its size, as the last writer reported it, in bytes.
    pub size: u64,
    /// Whether the content was damaged and set aside, and no person accepted that.
    pub is_lost: bool,
}

impl Maintenance<'_> {
    /// Reads all records and snapshots, and fails if some are damaged, unless a person accepted
    /// that.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::DamagedLog`] if there is damage that was not accepted.
    pub fn check_damage(&self) -> Result<()> {
        let problems = self.find_problems()?;
        if problems.is_empty() {
            return Ok(());
        }
        let accepted = self.state.store.get_meta(ACCEPTED_DAMAGE_KEY)?.unwrap_or_default();
        let accepted = String::from_utf8_lossy(&accepted);
        let accepted: BTreeSet<&str> = accepted.lines().collect();
        let mut open = problems.iter().filter(|problem| !accepted.contains(problem.as_str()));
        match open.next() {
            None => Ok(()),
            Some(first) => {
                let n_problems = open.count() + 1;
                Err(WorkspaceError::DamagedLog { n_problems, first: first.clone() })
            }
        }
    }

    /// Accepts the present damage: the workspace is used without the records that cannot be read.
    /// Returns the number of problems.
    pub fn accept_damage(&self) -> Result<usize> {
        self.state.check_writable()?;
        let problems = self.find_problems()?;
        let lines: Vec<&str> = problems.iter().map(String::as_str).collect();
        self.state.store.set_meta(ACCEPTED_DAMAGE_KEY, lines.join("\n").as_bytes())?;
        self.state.store.flush()?;
        self.state.table_damage.set(None);
        Ok(problems.len())
    }

    /// Accepts that contents were set aside as damaged and have not come back: their files read as
    /// empty. Returns how many there are.
    pub fn accept_lost_contents(&self) -> Result<usize> {
        self.state.check_writable()?;
        let mut lost = self.missing_contents()?;
        lost.retain(|missing| missing.is_lost);
        for missing in &lost {
            note_replaced(self.state, &missing.id)?;
        }
        Ok(lost.len())
    }

    /// Returns the problems of the log, a line for each.
    fn find_problems(&self) -> Result<BTreeSet<String>> {
        self.state.check_open()?;
        let report = self.state.store.check_log()?;
        Ok(report.problems.iter().map(line_of).collect())
    }

    /// Finds the documents with damaged records. Reads the whole log.
    pub fn damaged_documents(&self) -> Result<Vec<DamagedDocument>> {
        let state = self.state;
        state.refresh_damaged()?;
        let mut found = Vec::new();
        for stats in state.store.documents()? {
            let n_records = state.store.load(&stats.doc)?.damaged.len() as u64;
            if n_records > 0 {
                let id = FileId::from(&stats.doc);
                let path = (id != state.id).then(|| path_of(&state.main.read(), &id));
                found.push(DamagedDocument { id, path, n_records });
            }
        }
        Ok(found)
    }

    /// Finds the files whose content is not in this store, also in the trash. On a replica it may
    /// still arrive.
    pub fn missing_contents(&self) -> Result<Vec<MissingContent>> {
        let state = self.state;
        state.refresh_damaged()?;
        let mut missing = Vec::new();
        {
            let main = state.main.read();
            // One at a time: there may be a million.
            let rows = main.files().iter().map(|entry| entry.row);
            // Contents are only lost where damage was set aside.
            let may_be_lost = state.store.get_meta(ACCEPTED_DAMAGE_KEY)?.is_some();
            for row in rows.filter(|row| row.kind == NodeKind::File && row.link.is_none()) {
                let is_lost = may_be_lost && row.blob.is_none() && is_loss_open(state, &row.id)?;
                if is_lost || !has_content_of(state, &row)? {
                    missing.push((row.id, row.size, is_lost));
                }
            }
        }
        let described = missing.into_iter().map(|(id, size, is_lost)| {
            let path = path_of(&state.main.read(), &id);
            MissingContent { id, path, size, is_lost }
        });
        Ok(described.collect())
    }

    /// Returns the ids of the contents that belong to no file: their files were deleted for good,
    /// or their rows were lost.
    pub fn contents_without_files(&self) -> Result<Vec<FileId>> {
        let state = self.state;
        state.refresh_damaged()?;
        let mut stored = state.store.documents()?;
        stored.retain(|stats| stats.n_records > 0 || stats.snapshot_bytes > 0);
        let main = state.main.read();
        let ids = stored.iter().map(|stats| FileId::from(&stats.doc));
        Ok(ids.filter(|id| *id != state.id && main.files().get(id).is_none()).collect())
    }

    /// Reads what is derived from the log and kept beside it, and returns the names of the maps
    /// that are damaged. They are not used: what they held is taken from the log.
    pub fn damaged_derived_maps(&self) -> Result<Vec<String>> {
        let Some(directory) = self.state.store.derived_directory() else { return Ok(Vec::new()) };
        let is_damaged = |name: &&str| match CheckpointMap::open(&directory.join(name), 1 << 20) {
            Ok(map) => map.is_some_and(|map| map.check().is_err()),
            Err(_) => true,
        };
        let names = DERIVED_MAPS.iter().copied().filter(is_damaged);
        Ok(names.map(str::to_owned).collect())
    }

    /// Removes a map that is derived from the log. A process that closes the workspace makes it
    /// anew.
    ///
    /// # Errors
    ///
    /// If the workspace is read-only, or the operating system fails.
    pub fn remove_derived_map(&self, name: &str) -> Result<()> {
        self.state.check_writable()?;
        let Some(directory) = self.state.store.derived_directory() else { return Ok(()) };
        if DERIVED_MAPS.contains(&name) {
            CheckpointWriter::remove_all(directory.join(name).path())?;
        }
        Ok(())
    }

    /// Moves all damaged records to the quarantine, so that their files can be used again, without
    /// what the records contained, and accepts the damage that is left. Returns the documents
    /// concerned.
    ///
    /// A text that has nothing left is not read as an empty file: reading fails with
    /// [`WorkspaceError::ContentLost`] until the content arrives, a caller writes the file anew, or
    /// [`accept_lost_contents`](Self::accept_lost_contents) is called.
    ///
    /// Replicas then exchange everything with this store again, and so bring back what they have.
    /// Client ids of this store are not used again, because the clocks of what was lost are
    /// unknown.
    pub fn set_damage_aside(&self) -> Result<Vec<DamagedDocument>> {
        let state = self.state;
        state.check_writable()?;
        state.store.repair_facts()?;
        let damaged = self.damaged_documents()?;
        if damaged.is_empty() {
            return Ok(damaged);
        }
        state.claim.lock().take();
        let keys: Vec<String> = damaged.iter().map(|document| aside_key(&document.id)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        // Recorded before anything is changed: an unnecessary note does no harm.
        state.store.note_first_seen(&keys, state.now())?;
        for DamagedDocument { id, .. } in &damaged {
            state.store.set_aside_damaged(&DocName::from(id), state.now())?;
            if *id != state.id {
                state.load_again(id)?;
                note_if_lost(state, id)?;
            }
        }
        state.compaction.discard_derived(state)?;
        state.marks.forget_replicas(state)?;
        // What belongs to no document cannot be set aside.
        self.accept_damage()?;
        Ok(damaged)
    }
}

/// Finds out whether damage of the files table was accepted. Called if some of its records
/// cannot be read.
pub(super) fn note_table_damage(state: &Arc<WorkspaceState>) -> Result<()> {
    match (Maintenance { state }).check_damage() {
        Err(WorkspaceError::DamagedLog { n_problems, first }) => {
            state.table_damage.set(Some((n_problems, first)));
            Ok(())
        }
        checked => checked,
    }
}

/// Notes damage if the log had records and the store finds none of them. Called if it finds
/// none of the files table.
pub(super) fn note_if_unreadable(core: &WorkspaceCore) -> Result<()> {
    if core.store.head()? > Seq::ZERO && core.store.documents()?.is_empty() {
        let description = "none of its records can be found".to_owned();
        core.table_damage.set(Some((1, description)));
    }
    Ok(())
}

/// Notes that the content of a file was lost if nothing is left of it.
fn note_if_lost(core: &WorkspaceCore, id: &FileId) -> Result<()> {
    let size = core.main.read().files().get(id).map_or(0, |entry| entry.row.size);
    let is_empty = core.documents.acquire(id).with(|loaded| loaded.doc.text().is_empty())?;
    if is_empty && size > 0 {
        core.store.note_first_seen(&[&lost_key(id)], core.now())?;
        // The next reader loads the document with the note.
        core.documents.acquire(id).lock_slot().evict();
    }
    Ok(())
}

/// Reports whether the content of a text was set aside as damaged and has not come back.
fn is_loss_open(core: &WorkspaceCore, id: &FileId) -> Result<bool> {
    // Without a note of the loss, the document need not be loaded.
    if !is_content_lost(&*core.store, id)? {
        return Ok(false);
    }
    match check_not_lost(core, id) {
        Err(WorkspaceError::ContentLost(_)) => Ok(true),
        checked => checked.map(|()| false),
    }
}

/// Fails with [`WorkspaceError::ContentLost`] if the content of a file was set aside as damaged
/// and has not come back.
pub(crate) fn check_not_lost(core: &WorkspaceCore, id: &FileId) -> Result<()> {
    core.documents.acquire(id).with(|loaded| loaded.check_not_lost(id))?
}

/// Forgets that the content of a file was lost: a caller replaced it.
pub(crate) fn note_replaced(core: &WorkspaceCore, id: &FileId) -> Result<()> {
    // The write has loaded the document: this asks the store nothing.
    if core.documents.acquire(id).with(|loaded| loaded.is_lost)? {
        core.store.clear_first_seen(&[&lost_key(id)])?;
        core.documents.acquire(id).lock_slot().evict();
    }
    Ok(())
}

/// Reports whether the content of a file is in the store.
fn has_content_of(core: &WorkspaceCore, row: &FileRow) -> Result<bool> {
    Ok(match &row.blob {
        Some(blob) => core.store.blob_info(&blob.hash)?.is_some(),
        // An empty text may have no document.
        None => {
            row.size == 0 || core.store.tailed_doc_head(&DocName::from(&row.id))? != DocHead::ZERO
        }
    })
}

fn line_of(problem: &CheckProblem) -> String {
    let line = match &problem.doc {
        Some(doc) => format!("{doc}: {}", problem.description),
        None => problem.description.clone(),
    };
    line.replace('\n', " ")
}
