//! Writes what the planner decided: one transaction on each side, on the condition that the rows
//! are still those that were read.

use std::{
    cell::Cell,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use yfs_engine::{
    gate::inspect,
    hash::ContentHash,
    id::FileId,
    table::{NodeKind, RowWrite, TableError, needs_creation_record, record_creation},
    time::Millis,
};
use yfs_store::{Seq, StoreExt};

use super::{
    DirectoryShare, ShareStep,
    row_plan::{RowCreation, RowPlan, RowPlanner, SidePlan},
};
use crate::{
    commit::{MainChange, NewDocument, StructureAccess, Transaction},
    error::{Result, WorkspaceError},
    replica::conversion_notes::{note_converted, note_redaction},
    settled_form::SettledForm,
    state::WorkspaceState,
    workspace::move_between::copy_blob,
};

/// How often rows are planned again because they changed meanwhile, or because the last plan made
/// more possible.
const MAX_ROUNDS: usize = 64;

/// The number of files that are created in one transaction, and the bytes of their contents after
/// which it ends.
const MAX_NEW_FILES: usize = 128;
const MAX_NEW_BYTES: usize = 4 << 20;

/// The last records of both main documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MainHeads {
    origin: Seq,
    share: Seq,
}

/// Whether a plan was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanOutcome {
    Written,
    /// Rows changed since they were read.
    Stale,
}

/// Rows and contents of one transaction.
#[derive(Default)]
struct CreationBatch {
    writes: Vec<(RowWrite, Millis)>,
    documents: Vec<NewDocument>,
    blobs: Vec<ContentHash>,
    n_bytes: usize,
}

/// The content of a file, to be created on the other side.
#[derive(Default)]
struct PackedContent {
    update: Vec<u8>,
    text_size: u64,
    settled: Option<SettledForm>,
    blobs: BTreeSet<ContentHash>,
    has_conversions: bool,
    has_redactions: bool,
    /// Whether the content is passed on in parts, once the file is there.
    is_unsent: bool,
}

impl DirectoryShare {
    /// Passes rows on in both directions until both sides agree.
    pub(super) fn exchange_rows(&mut self, step: &mut ShareStep) -> Result<()> {
        for _ in 0..MAX_ROUNDS {
            let (heads, plan) = self.plan_rows()?;
            let Some(plan) = plan else { return Ok(()) };
            self.waiting_rows.clone_from(&plan.waiting);
            let n_rows = plan.n_rows();
            let mut written = heads;
            match self.write_plan(plan, &mut written) {
                Ok(PlanOutcome::Written) => {}
                Ok(PlanOutcome::Stale) => continue,
                Err(WorkspaceError::Table(TableError::InvalidMeta(id)))
                    if self.refused_meta.insert(id.clone()) =>
                {
                    continue;
                }
                // It was made or removed since.
                Err(WorkspaceError::Table(TableError::Exists(_) | TableError::NotFound(_))) => {
                    continue;
                }
                Err(error) => return Err(error),
            }
            if written == heads {
                self.settled = Some(heads);
                return Ok(());
            }
            step.n_rows += n_rows;
        }
        // Other writers were faster each time; the next step goes on.
        step.is_unfinished = true;
        Ok(())
    }

    /// Reads both sides; returns no plan if neither changed since they agreed.
    fn plan_rows(&self) -> Result<(MainHeads, Option<RowPlan>)> {
        let (origin, share) = (&self.origin.state, &self.share.state);
        // A transaction of this process is either in the main document, or not in the log.
        let _origin_rows = origin.structure.read();
        let _share_rows = share.structure.read();
        origin.refresh()?;
        share.refresh()?;
        let heads = MainHeads {
            origin: origin.store.doc_head(&origin.main_name)?.seq,
            share: share.store.doc_head(&share.main_name)?.seq,
        };
        if self.settled == Some(heads) && self.waiting_rows.is_empty() {
            return Ok((heads, None));
        }
        let holds_blob = |hash: &ContentHash| share.store.has_blob(hash).unwrap_or(false);
        let (origin_main, share_main) = (origin.main.read(), share.main.read());
        let planner = RowPlanner {
            origin: &origin_main,
            share: &share_main,
            directory: &self.directory,
            records: &self.records,
            refused_meta: &self.refused_meta,
            holds_blob: &holds_blob,
            actor: &origin.options.actor,
            now: origin.now(),
            inside: BTreeSet::new(),
            moved: HashMap::new(),
            made_in_origin: BTreeSet::new(),
            made_in_share: BTreeSet::new(),
            trashed_in_share: BTreeSet::new(),
            plan: RowPlan::default(),
        };
        Ok((heads, Some(planner.plan())))
    }

    fn write_plan(&mut self, plan: RowPlan, heads: &mut MainHeads) -> Result<PlanOutcome> {
        let RowPlan { to_share, to_origin, before, after, contents, .. } = plan;
        before.into_iter().for_each(|(id, record)| self.records.set(&id, record));
        self.records.save()?;
        self.check_crash_point()?;
        let (mut deferred, mut unsent) = (BTreeSet::new(), BTreeSet::new());
        let [origin, share] = [&self.origin, &self.share].map(|side| side.state.clone());
        let is_written =
            write_side(&origin, &share, to_share, &mut heads.share, None, &mut unsent)?
                && self.check_crash_point().is_ok()
                && write_side(
                    &share,
                    &origin,
                    to_origin,
                    &mut heads.origin,
                    Some(&mut deferred),
                    &mut unsent,
                )?;
        self.check_crash_point()?;
        if !is_written {
            return Ok(PlanOutcome::Stale);
        }
        for (id, record) in after {
            if !deferred.contains(&id) {
                self.records.set(&id, record);
            }
        }
        self.waiting_rows.extend(deferred);
        self.dirty.extend(contents.into_iter().chain(unsent));
        self.records.save()?;
        Ok(PlanOutcome::Written)
    }
}

impl RowPlan {
    fn n_rows(&self) -> u64 {
        let n_rows = |side: &SidePlan| (side.creations.len() + side.changes.len()) as u64;
        n_rows(&self.to_share) + n_rows(&self.to_origin)
    }
}

/// Writes the rows of one side; false if the rows there are no longer those at `head`. Files whose
/// contents name blobs that the other side does not have are left out and added to `deferred`,
/// unless that is none. Files that are created without their contents, which are too large for one
/// update, are added to `unsent`.
fn write_side(
    from: &Arc<WorkspaceState>,
    to: &Arc<WorkspaceState>,
    plan: SidePlan,
    head: &mut Seq,
    mut deferred: Option<&mut BTreeSet<FileId>>,
    unsent: &mut BTreeSet<FileId>,
) -> Result<bool> {
    let mut batch = CreationBatch::default();
    let mut left_out: BTreeSet<FileId> = BTreeSet::new();
    for creation in plan.creations {
        let is_orphan = creation.row.parent.as_ref().is_some_and(|id| left_out.contains(id));
        let content = match creation.row.kind {
            _ if is_orphan => None,
            NodeKind::File if creation.row.link.is_none() => {
                pack_content(from, to, &creation.row.id)?
            }
            _ => Some(PackedContent::default()),
        };
        let is_complete = |content: &PackedContent| {
            deferred.is_none()
                || content.blobs.iter().all(|hash| from.store.has_blob(hash).unwrap_or(false))
        };
        let Some(content) = content.filter(is_complete) else {
            left_out.insert(creation.row.id);
            continue;
        };
        if content.is_unsent {
            unsent.insert(creation.row.id.clone());
        }
        batch.add(from, to, creation, content)?;
        let is_full = batch.documents.len() >= MAX_NEW_FILES || batch.n_bytes >= MAX_NEW_BYTES;
        if is_full && !std::mem::take(&mut batch).commit(to, head)? {
            return Ok(false);
        }
    }
    let changes = plan.changes.into_iter();
    batch.writes.extend(changes);
    batch.blobs.extend(copy_blobs(from, to, &plan.blobs)?);
    if let Some(deferred) = &mut deferred {
        deferred.append(&mut left_out);
    }
    batch.commit(to, head)
}

impl CreationBatch {
    fn add(
        &mut self,
        from: &Arc<WorkspaceState>,
        to: &Arc<WorkspaceState>,
        creation: RowCreation,
        mut content: PackedContent,
    ) -> Result<()> {
        let RowCreation { mut row, at, by } = creation;
        content.blobs.extend(row.blob.map(|blob| blob.hash));
        self.blobs.extend(copy_blobs(from, to, &content.blobs)?);
        // An empty document is two zero bytes.
        let has_content = content.update.len() > 2;
        if has_content {
            if content.has_conversions {
                note_converted(to, [&row.id])?;
            }
            if content.has_redactions {
                note_redaction(to)?;
            }
            self.n_bytes += content.update.len();
            let text_size = row.blob.is_none().then_some(content.text_size);
            let (id, update) = (row.id.clone(), content.update);
            self.documents.push(NewDocument { id, update, text_size, settled: content.settled });
        }
        if let Some(by) = by.filter(|_| needs_creation_record(&row, has_content)) {
            record_creation(&mut row, &by);
        }
        self.writes.push((RowWrite::Create { row, derived: false }, at));
        Ok(())
    }

    /// Logs the batch on the condition that the last record of the main document is `head`, which
    /// becomes that of the batch. Reports whether it was logged.
    fn commit(self, to: &WorkspaceState, head: &mut Seq) -> Result<bool> {
        if self.writes.is_empty() {
            return Ok(true);
        }
        let is_stale = Cell::new(false);
        let committed = to.commit(StructureAccess::Change, Some(&to.options.actor), |main| {
            is_stale.set(to.store.doc_head(&to.main_name)?.seq != *head);
            if is_stale.get() {
                return Ok(Transaction::of(()));
            }
            let main = MainChange::Local(main.plan_each(&self.writes)?);
            let (new_documents, blobs) = (self.documents.clone(), self.blobs.clone());
            Ok(Transaction { main, new_documents, blobs, ..Transaction::of(()) })
        })?;
        if let Some(seq) = committed.main {
            *head = seq;
        }
        Ok(!is_stale.get())
    }
}

/// Reads a content with its history; `None` if some of it is damaged.
fn pack_content(
    from: &WorkspaceState,
    to: &WorkspaceState,
    id: &FileId,
) -> Result<Option<PackedContent>> {
    from.documents.read_once(id, |loaded| {
        if loaded.check_whole(id).is_err() || loaded.doc.gate().health().is_err() {
            return None;
        }
        let is_text = loaded.doc.conversion().is_only_text();
        let update = loaded.doc.gate().encode_state();
        let blobs = super::content_exchange::named_blobs(&loaded.doc);
        let Ok(inspected) = inspect(&update, &to.options.limits) else {
            return Some(PackedContent { blobs, is_unsent: true, ..PackedContent::default() });
        };
        Some(PackedContent {
            update,
            text_size: loaded.doc.text().len() as u64,
            settled: is_text.then_some(SettledForm::PlainText),
            blobs,
            has_conversions: inspected.has_conversions,
            has_redactions: inspected.has_redactions,
            is_unsent: false,
        })
    })
}

/// Copies blobs to the other side, and returns those that it has now.
pub(super) fn copy_blobs(
    from: &WorkspaceState,
    to: &WorkspaceState,
    hashes: &BTreeSet<ContentHash>,
) -> Result<Vec<ContentHash>> {
    let mut held = Vec::new();
    for hash in hashes {
        if from.store.has_blob(hash)? {
            copy_blob(from, to, hash)?;
            held.push(*hash);
        } else if to.store.has_blob(hash)? {
            held.push(*hash);
        }
    }
    Ok(held)
}
