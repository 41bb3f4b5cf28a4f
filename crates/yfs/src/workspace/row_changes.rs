//! The renames, moves and mode changes of a row, as entries of a history.

use smol_str::SmolStr;
use yfs_engine::{id::FileId, main_doc::MainDoc, path::VPath, tree::NodeRef};

use super::change_list::{HistoryChange, HistoryEntry, kind_and_location};
use crate::row_record::{RowRecord, default_mode, records_of};

/// The values of a row that records give back.
struct FormerRow {
    name: SmolStr,
    parent: Option<FileId>,
    mode: u32,
}

/// Adds the recorded changes of a node's row to a history.
pub(super) fn add_row_changes(
    main: &MainDoc,
    node: NodeRef<'_>,
    path: &VPath,
    entries: &mut Vec<HistoryEntry>,
) {
    let Some(id) = node.id() else { return };
    let Some(row) = main.files().attributes(id) else { return };
    let records = records_of(row.meta, row.created_at);
    if records.is_empty() {
        return;
    }
    let Some((kind, _)) = kind_and_location(main, id) else { return };
    let stored = main.files().get(id).map(|entry| entry.row);
    let Some(stored) = stored else { return };
    let mode = stored.mode.unwrap_or_else(|| default_mode(stored.kind));
    let mut after = FormerRow { name: stored.name, parent: stored.parent, mode };
    for record in records {
        let change = change_of(&record);
        let before = FormerRow {
            name: record.name.unwrap_or_else(|| after.name.clone()),
            parent: record.parent.unwrap_or_else(|| after.parent.clone()),
            mode: record.mode.unwrap_or(after.mode),
        };
        let is_moved = change != HistoryChange::ModeChanged;
        entries.push(HistoryEntry {
            at: record.at,
            id: id.clone(),
            path: path.clone(),
            kind,
            change,
            actor: record.actor,
            label: record.label,
            version: None,
            names: Vec::new(),
            is_redacted: false,
            paths: is_moved.then(|| [before.path(main), after.path(main)]),
            modes: (before.mode != after.mode).then_some([before.mode, after.mode]),
        });
        after = before;
    }
}

fn change_of(record: &RowRecord) -> HistoryChange {
    match (&record.parent, &record.name) {
        (Some(_), _) => HistoryChange::Moved,
        (None, Some(_)) => HistoryChange::Renamed,
        (None, None) => HistoryChange::ModeChanged,
    }
}

impl FormerRow {
    /// Returns the path with the present path of the directory.
    fn path(&self, main: &MainDoc) -> VPath {
        let directory = self.parent.as_ref().and_then(|id| main.tree().node(id));
        directory.map_or_else(VPath::root, |node| node.path()).join(&self.name)
    }
}
