//! Decides what to pass on between the rows of a directory and those of its share. Reads both main
//! documents and writes nothing.
//!
//! Per field, the side that changed since both agreed wins; if both changed, the later one. Places
//! are those that the trees show, so that what a side could not resolve (an orphan, directories
//! moved into each other) never becomes a place outside of the directory.
//!
//! # Invariants
//!
//! - A row of the origin is written only if it is below the directory, and stays below it.
//! - An id that the origin has elsewhere is ignored, unless it was passed on before.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use yfs_engine::{
    Any,
    actor::Actor,
    content::RunAuthor,
    hash::ContentHash,
    id::FileId,
    main_doc::MainDoc,
    ops,
    table::{
        FieldTimes, FileRow, NodeKind, PURGE_KEY, REMOVAL_KEYS, RowChanges, RowWrite,
        record_changes, row_records,
    },
    time::Millis,
    tree::NodeRef,
};

use super::{
    bridge_records::{BridgeRecord, BridgeRecords, RecordState},
    bridged_row::{BridgedField, BridgedRow, RowPlacement},
};
use crate::{
    json_convert::{difference, from_json, to_json},
    workspace::left_copies::LEFT_LABEL,
};

/// What to write.
#[derive(Debug, Default)]
pub(super) struct RowPlan {
    pub(super) to_share: SidePlan,
    pub(super) to_origin: SidePlan,
    /// Records to store before the rows are written.
    pub(super) before: Vec<(FileId, BridgeRecord)>,
    /// Records to store once both sides are written.
    pub(super) after: Vec<(FileId, BridgeRecord)>,
    /// Files whose contents are to be exchanged once both sides have their rows.
    pub(super) contents: Vec<FileId>,
    /// Rows of the share that name contents which it does not have yet.
    pub(super) waiting: BTreeSet<FileId>,
}

/// What to write on one side.
#[derive(Debug, Default)]
pub(super) struct SidePlan {
    /// Rows to create, each directory before its entries.
    pub(super) creations: Vec<RowCreation>,
    /// Changes of rows.
    pub(super) changes: Vec<(RowWrite, Millis)>,
    /// Blobs that the changes name.
    pub(super) blobs: BTreeSet<ContentHash>,
}

/// A row to create.
#[derive(Debug)]
pub(super) struct RowCreation {
    pub(super) row: FileRow,
    pub(super) at: Millis,
    /// Who made it, as far as the other side knows; `None` if that is not recorded.
    pub(super) by: Option<RunAuthor>,
}

/// What the planner knows of both sides.
pub(super) struct RowPlanner<'p> {
    pub(super) origin: &'p MainDoc,
    pub(super) share: &'p MainDoc,
    pub(super) directory: &'p FileId,
    pub(super) records: &'p BridgeRecords,
    /// Rows whose metadata one side refused.
    pub(super) refused_meta: &'p BTreeSet<FileId>,
    /// Reports whether the share's store has a blob.
    pub(super) holds_blob: &'p dyn Fn(&ContentHash) -> bool,
    pub(super) actor: &'p Actor,
    pub(super) now: Millis,
    /// All nodes below the directory.
    pub(super) inside: BTreeSet<FileId>,
    /// Where the plan moves nodes of the origin to; `None` for the top.
    pub(super) moved: HashMap<FileId, Option<FileId>>,
    pub(super) made_in_origin: BTreeSet<FileId>,
    pub(super) made_in_share: BTreeSet<FileId>,
    pub(super) trashed_in_share: BTreeSet<FileId>,
    pub(super) plan: RowPlan,
}

/// A row that both sides have.
struct RowPair<'r> {
    id: &'r FileId,
    origin: BridgedRow,
    share: BridgedRow,
    origin_times: FieldTimes,
    share_times: FieldTimes,
}

/// The changes of one row on one side.
#[derive(Default)]
struct SideChanges {
    changes: RowChanges,
    at: Millis,
}

/// Whether a value of the share may be passed on.
enum Admission {
    Accepted,
    /// Not now.
    Waits,
    /// Never: the origin keeps its value, and the share gets it.
    Refused,
}

impl<'p> RowPlanner<'p> {
    /// Returns what to write; nothing if the directory does not exist.
    pub(super) fn plan(mut self) -> RowPlan {
        let (origin, share) = (self.origin, self.share);
        let Some(directory) = origin.tree().node(self.directory) else { return self.plan };
        let below: Vec<NodeRef<'p>> = directory.descendants().collect();
        self.inside = below.iter().filter_map(|node| node.id().cloned()).collect();
        for node in share.tree().root().descendants() {
            self.plan_node_of_share(node);
        }
        for node in below {
            self.plan_node_of_origin(node);
        }
        self.plan
    }

    fn plan_node_of_share(&mut self, node: NodeRef<'p>) {
        let Some(id) = node.id() else { return };
        // Main documents have these names.
        if [self.origin, self.share].iter().any(|main| main.tree().workspace() == id) {
            return;
        }
        let record = self.records.get(id);
        if self.inside.contains(id) {
            match self.origin.tree().node(id).filter(|node| self.is_in_sight(*node)) {
                Some(origin) => self.merge(id, origin, node, record),
                None => self.remove_from_share(id, node, record),
            }
            return;
        }
        if self.was_passed_on(record) || self.origin.files().contains(id) {
            self.remove_from_share(id, node, record);
        } else {
            self.create_in_origin(id, node);
        }
    }

    fn was_passed_on(&self, record: Option<BridgeRecord>) -> bool {
        record.is_some_and(|record| record.state != RecordState::ToOrigin)
    }

    /// Reports whether the share knows the directory in which the origin shows a node. If not, that
    /// is in the trash, and the node with it.
    fn is_in_sight(&self, node: NodeRef<'p>) -> bool {
        let parent = node.parent().and_then(|parent| parent.id());
        let is_known = |id: &FileId| self.share.files().contains(id);
        node.is_visible() || parent.is_none_or(|id| id == self.directory || is_known(id))
    }

    /// Trashes a node in the share that left the directory. A node that was never passed on is left
    /// alone, so that its author learns nothing of the origin.
    fn remove_from_share(&mut self, id: &FileId, node: NodeRef<'p>, record: Option<BridgeRecord>) {
        let Some(record) = record else { return };
        let is_hidden = node.is_trashed()
            || node.ancestors().filter_map(|node| node.id()).any(|ancestor| {
                self.trashed_in_share.contains(ancestor)
                    || self.share.tree().node(ancestor).is_some_and(|node| node.is_trashed())
            });
        if is_hidden {
            return;
        }
        self.plan.before.push((id.clone(), record.in_state(RecordState::Left)));
        let by = RunAuthor {
            label: Some(LEFT_LABEL.into()),
            ..RunAuthor::new(self.actor.clone(), self.now)
        };
        let writes = self.share.plan_trash_hidden(id, &by);
        let writes = writes.into_iter().map(|write| (write, self.now));
        self.plan.to_share.changes.extend(writes);
        self.trashed_in_share.insert(id.clone());
    }

    fn create_in_origin(&mut self, id: &FileId, node: NodeRef<'p>) {
        let Some(bridged) = BridgedRow::read(self.share, node, None) else { return };
        let is_placed = match &bridged.parent {
            None => bridged.placement != RowPlacement::Orphaned,
            Some(parent) => self.may_hold_entries(parent),
        };
        if !is_placed || !bridged.is_well_formed() {
            return;
        }
        if bridged.row.blob.is_some_and(|blob| !(self.holds_blob)(&blob.hash)) {
            self.plan.waiting.insert(id.clone());
            return;
        }
        let parent = bridged.parent.clone().or_else(|| Some(self.directory.clone()));
        self.made_in_origin.insert(id.clone());
        let record = self.records.new_record(RecordState::ToOrigin);
        self.plan_creation(id, bridged, parent, record, self.share, false);
    }

    fn plan_node_of_origin(&mut self, node: NodeRef<'p>) {
        let Some(id) = node.id() else { return };
        if self.share.files().contains(id) || !node.is_visible() {
            return;
        }
        let Some(bridged) = BridgedRow::read(self.origin, node, Some(self.directory)) else {
            return;
        };
        let is_placed = bridged.parent.as_ref().is_none_or(|parent| {
            self.made_in_share.contains(parent) || self.share.files().contains(parent)
        });
        if !is_placed {
            return;
        }
        let parent = bridged.parent.clone();
        self.made_in_share.insert(id.clone());
        let record = self.records.get(id).filter(|record| record.state != RecordState::ToOrigin);
        let record = record.unwrap_or_else(|| self.records.new_record(RecordState::ToShare));
        self.plan_creation(id, bridged, parent, record, self.origin, true);
    }

    fn plan_creation(
        &mut self,
        id: &FileId,
        bridged: BridgedRow,
        parent: Option<FileId>,
        record: BridgeRecord,
        source: &MainDoc,
        is_to_share: bool,
    ) {
        let written = source.files().field_times(id).map_or(self.now, |times| times.name);
        let is_recorded = !self.refused_meta.contains(id);
        let by = is_recorded.then(|| self.author_of(&bridged.row));
        self.plan.before.push((id.clone(), record));
        let agreed = record.agree_on_all(&bridged.hashes).in_state(RecordState::Both);
        self.plan.after.push((id.clone(), agreed));
        let meta = bridged.meta.filter(|_| is_recorded);
        let row = FileRow { parent, meta, ..bridged.row };
        let side = if is_to_share { &mut self.plan.to_share } else { &mut self.plan.to_origin };
        side.creations.push(RowCreation { row, at: written.min(self.now), by });
    }

    /// Reports whether a directory of the share is one below the directory of the origin as well.
    fn may_hold_entries(&self, id: &FileId) -> bool {
        let is_directory =
            |main: &MainDoc| main.tree().node(id).is_some_and(|node| node.is_directory());
        self.made_in_origin.contains(id) || self.inside.contains(id) && is_directory(self.origin)
    }

    fn merge(
        &mut self,
        id: &FileId,
        origin: NodeRef<'p>,
        share: NodeRef<'p>,
        record: Option<BridgeRecord>,
    ) {
        let top = Some(self.directory);
        let sides = BridgedRow::read(self.origin, origin, top)
            .zip(BridgedRow::read(self.share, share, None));
        let Some((origin, share)) = sides.filter(|(a, b)| a.row.kind == b.row.kind) else { return };
        let is_settled = record.is_some_and(|record| record.state == RecordState::Both);
        if is_settled && origin.hashes == share.hashes {
            let agreed = record.map(|record| record.agree_on_all(&origin.hashes));
            if let Some(agreed) = agreed.filter(|agreed| Some(*agreed) != record) {
                self.plan.after.push((id.clone(), agreed));
            }
            return;
        }
        let times = self.origin.files().field_times(id).zip(self.share.files().field_times(id));
        let Some((origin_times, share_times)) = times else { return };
        let pair = RowPair { id, origin, share, origin_times, share_times };
        if !is_settled && pair.origin.row.kind == NodeKind::File {
            self.plan.contents.push(id.clone());
        }
        self.merge_fields(&pair, record);
    }

    fn merge_fields(&mut self, pair: &RowPair<'_>, record: Option<BridgeRecord>) {
        let is_back = record.is_some_and(|record| record.state == RecordState::Left);
        let mut agreed = record.unwrap_or_else(|| self.records.new_record(RecordState::Both));
        let (mut to_share, mut to_origin) = (SideChanges::default(), SideChanges::default());
        for field in BridgedField::ALL {
            let hashes = [&pair.origin, &pair.share].map(|row| row.hashes[field as usize]);
            let [of_origin, of_share] = hashes;
            if of_origin == of_share {
                agreed.agree(field, of_origin);
                continue;
            }
            let admission = match pair.prefers_origin(field, agreed.agreed(field), is_back) {
                true => Admission::Refused,
                false => self.admit(pair, field),
            };
            match admission {
                Admission::Waits => {}
                Admission::Accepted => {
                    self.add_change(&mut to_origin, field, pair, false);
                    agreed.agree(field, of_share);
                }
                Admission::Refused if self.can_be_shown(pair, field) => {
                    self.add_change(&mut to_share, field, pair, true);
                    agreed.agree(field, of_origin);
                }
                Admission::Refused => {}
            }
        }
        let by_origin = self.author_of(&pair.origin.row);
        let by_share = self.author_of(&pair.share.row);
        let RowPlan { to_share: share_plan, to_origin: origin_plan, .. } = &mut self.plan;
        // A record of the change is metadata as well.
        let is_recorded = !self.refused_meta.contains(pair.id);
        let [by_origin, by_share] = [by_origin, by_share].map(|by| is_recorded.then_some(by));
        share_plan.add(pair.id, to_share, &pair.share.row, by_origin.as_ref());
        origin_plan.add(pair.id, to_origin, &pair.origin.row, by_share.as_ref());
        self.plan.after.push((pair.id.clone(), agreed.in_state(RecordState::Both)));
    }

    /// Decides whether the origin may get a value of the share.
    fn admit(&mut self, pair: &RowPair<'_>, field: BridgedField) -> Admission {
        let row = &pair.share;
        let is_accepted = match field {
            BridgedField::Name => row.has_valid_name(),
            BridgedField::Link => row.has_valid_link(),
            BridgedField::Meta => !self.refused_meta.contains(pair.id),
            BridgedField::Blob => {
                let is_held = row.row.blob.is_none_or(|blob| (self.holds_blob)(&blob.hash));
                if !is_held {
                    self.plan.waiting.insert(pair.id.clone());
                }
                is_held
            }
            BridgedField::Parent => return self.admit_parent(pair.id, row),
            _ => true,
        };
        if is_accepted { Admission::Accepted } else { Admission::Waits }
    }

    fn admit_parent(&mut self, id: &FileId, row: &BridgedRow) -> Admission {
        let is_known = match &row.parent {
            None => row.placement != RowPlacement::Orphaned,
            Some(parent) => self.may_hold_entries(parent),
        };
        if !is_known {
            let is_refused = row.parent.as_ref().is_some_and(|id| self.has_left(id));
            return if is_refused { Admission::Refused } else { Admission::Waits };
        }
        if self.would_be_within(row.parent.as_ref(), id) {
            return Admission::Refused;
        }
        self.moved.insert(id.clone(), row.parent.clone());
        Admission::Accepted
    }

    /// Reports whether a directory of the share left, or is below one that did. It takes no node
    /// along that a peer moved into it.
    fn has_left(&self, id: &FileId) -> bool {
        let Some(node) = self.share.tree().node(id) else { return false };
        let above = std::iter::once(node).chain(node.ancestors()).filter_map(|node| node.id());
        let is_gone =
            |id: &FileId| !self.inside.contains(id) && self.was_passed_on(self.records.get(id));
        above.into_iter().any(is_gone)
    }

    /// Reports whether a directory of the origin is a node or below it, once the plan was written.
    /// The tree could then show the node in a directory that it was in before, also outside.
    fn would_be_within(&self, directory: Option<&FileId>, id: &FileId) -> bool {
        let mut at = directory.cloned();
        // As many steps as there can be directories.
        for _ in 0..=self.inside.len() + self.made_in_origin.len() {
            let Some(current) = at else { return false };
            if current == *id {
                return true;
            }
            at = match self.moved.get(&current) {
                Some(parent) => parent.clone(),
                None => {
                    // A directory that the plan makes has its parent in the share.
                    let is_new = self.made_in_origin.contains(&current);
                    let tree = if is_new { self.share.tree() } else { self.origin.tree() };
                    let parent = tree.node(&current).and_then(|node| node.parent());
                    let parent = parent.and_then(|parent| parent.id());
                    parent.filter(|parent| *parent != self.directory).cloned()
                }
            };
        }
        true
    }

    /// Reports whether the share can get a value of the origin.
    fn can_be_shown(&self, pair: &RowPair<'_>, field: BridgedField) -> bool {
        match (field, &pair.origin.parent) {
            (BridgedField::Parent, Some(parent)) => {
                self.share.files().contains(parent)
                || self.made_in_share.contains(parent)
                // It is created after this pass.
                || self.origin.tree().node(parent).is_some_and(|node| node.is_visible())
            }
            (BridgedField::Meta, _) => !self.refused_meta.contains(pair.id),
            _ => true,
        }
    }

    /// Adds the value of one side to the changes of the other.
    fn add_change(
        &mut self,
        side: &mut SideChanges,
        field: BridgedField,
        pair: &RowPair<'_>,
        is_to_share: bool,
    ) {
        let (from, to, times, main) = match is_to_share {
            true => (&pair.origin, &pair.share, &pair.origin_times, self.share),
            false => (&pair.share, &pair.origin, &pair.share_times, self.origin),
        };
        side.at = side.at.max(field.time(times).min(self.now));
        let (row, changes) = (&from.row, &mut side.changes);
        match field {
            BridgedField::Name => changes.name = Some(row.name.clone()),
            BridgedField::Parent if is_to_share => changes.parent = Some(from.parent.clone()),
            BridgedField::Parent => {
                let parent = from.parent.clone().unwrap_or_else(|| self.directory.clone());
                changes.parent = Some(Some(parent));
            }
            BridgedField::Stat => {
                (changes.size, changes.updated_at) = (Some(row.size), Some(row.updated_at));
            }
            BridgedField::Mode => changes.mode = Some(row.mode),
            BridgedField::Link => changes.link = Some(row.link.clone()),
            BridgedField::Blob => {
                changes.blob = Some(row.blob);
                let plan =
                    if is_to_share { &mut self.plan.to_share } else { &mut self.plan.to_origin };
                plan.blobs.extend(row.blob.map(|blob| blob.hash));
            }
            BridgedField::Meta => {
                let [before, after] = [&to.meta, &from.meta]
                    .map(|meta| meta.as_ref().map_or(serde_json::json!({}), to_json));
                add_patch(changes, &from_json(&difference(&before, after)));
            }
            BridgedField::Trashed => {
                let by = ops::trashed_by(row).unwrap_or_else(|| self.author_of(row));
                let by = RunAuthor { label: None, step: None, ..by };
                let moved = match row.trashed_at {
                    Some(at) => removal(main, pair.id, &RunAuthor { at, ..by }),
                    None => restoration(),
                };
                changes.trashed_at = moved.trashed_at;
                if let Some(patch) = &moved.meta {
                    add_patch(changes, patch);
                }
            }
        }
    }

    /// Returns who changed a row last, as far as it says.
    fn author_of(&self, row: &FileRow) -> RunAuthor {
        let records = row_records(row.meta.as_ref(), row.created_at);
        let actor = records.into_iter().next().and_then(|record| record.actor);
        RunAuthor::new(actor.unwrap_or_else(|| self.actor.clone()), self.now)
    }
}

impl RowPair<'_> {
    /// Reports whether the origin's value of a field counts, given that on which both agreed.
    fn prefers_origin(&self, field: BridgedField, agreed: Option<u64>, is_back: bool) -> bool {
        let [of_origin, of_share] =
            [&self.origin, &self.share].map(|row| row.hashes[field as usize]);
        match agreed {
            _ if is_back && field == BridgedField::Trashed => true,
            Some(agreed) if agreed == of_share => true,
            Some(agreed) if agreed == of_origin => false,
            _ => field.time(&self.origin_times) >= field.time(&self.share_times),
        }
    }
}

impl SidePlan {
    fn add(&mut self, id: &FileId, side: SideChanges, row: &FileRow, by: Option<&RunAuthor>) {
        let SideChanges { mut changes, at } = side;
        if changes != RowChanges::default() {
            if let Some(by) = by {
                record_changes(row, &mut changes, by);
            }
            self.changes.push((RowWrite::Update { id: id.clone(), changes }, at));
        }
    }
}

/// Returns the changes that trash a node.
fn removal(main: &MainDoc, id: &FileId, by: &RunAuthor) -> RowChanges {
    let writes = main.plan_trash_hidden(id, by).into_iter();
    let mut changes = writes.filter_map(|write| match write {
        RowWrite::Update { changes, .. } => Some(changes),
        _ => None,
    });
    changes.next().unwrap_or_default()
}

/// Returns the changes that restore a node.
fn restoration() -> RowChanges {
    let gone = REMOVAL_KEYS.into_iter().chain([PURGE_KEY]);
    let patch: HashMap<String, Any> = gone.map(|key| (key.to_owned(), Any::Null)).collect();
    RowChanges { trashed_at: Some(None), meta: Some(Any::from(patch)), ..RowChanges::default() }
}

/// Adds members to the merge patch of a row's metadata.
fn add_patch(changes: &mut RowChanges, patch: &Any) {
    let members = |meta: Option<&Any>| match meta {
        Some(Any::Map(members)) => (**members).clone(),
        _ => HashMap::new(),
    };
    let mut all: BTreeMap<String, Any> = members(changes.meta.as_ref()).into_iter().collect();
    all.extend(members(Some(patch)));
    let all: HashMap<String, Any> = all.into_iter().collect();
    changes.meta = Some(Any::from(all));
}
