//! The creations, renames, moves, restores and mode changes of a row, as entries of a history.

use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    path::VPath,
    table::{NodeKind, RowRecord, row_records},
};
use yfs_vfs::stat::{DEFAULT_DIRECTORY_MODE, DEFAULT_FILE_MODE};

use super::change_list::{HistoryChange, HistoryEntry, RowPlace, kind_and_location};

/// The values of a row that records give back.
struct FormerRow {
    place: RowPlace,
    mode: u32,
}

/// Returns the recorded changes of a row, whose present or former path is given.
pub(super) fn row_changes(main: &MainDoc, id: &FileId, path: &VPath) -> Vec<HistoryEntry> {
    let is_recorded = |id| {
        let row = main.files().attributes(id)?;
        let records = row_records(row.meta, row.created_at);
        (!records.is_empty()).then_some(records)
    };
    let Some(records) = is_recorded(id) else { return Vec::new() };
    let (Some(entry), Some((kind, _))) = (main.files().get(id), kind_and_location(main, id)) else {
        return Vec::new();
    };
    let row = entry.row;
    let default_mode = match row.kind {
        NodeKind::Directory => DEFAULT_DIRECTORY_MODE,
        NodeKind::File => DEFAULT_FILE_MODE,
    };
    let mode = row.mode.unwrap_or(default_mode);
    let place = RowPlace { name: row.name, parent: row.parent };
    let mut after = FormerRow { place, mode };
    let entries = records.into_iter().map(|record| {
        let change = change_of(&record);
        let before = FormerRow {
            place: RowPlace {
                name: record.name.unwrap_or_else(|| after.place.name.clone()),
                parent: record.parent.unwrap_or_else(|| after.place.parent.clone()),
            },
            mode: record.mode.map_or(after.mode, |mode| mode.unwrap_or(default_mode)),
        };
        let is_moved = matches!(change, HistoryChange::Renamed | HistoryChange::Moved);
        let places = is_moved.then(|| [before.place.clone(), after.place.clone()]);
        let entry = HistoryEntry {
            at: record.at,
            id: id.clone(),
            path: path.clone(),
            kind,
            change,
            actor: record.actor,
            label: record.label,
            step: record.step,
            version: None,
            names: Vec::new(),
            is_redacted: false,
            paths: places.as_ref().map(|places| places.each_ref().map(|place| shown(place, main))),
            modes: (before.mode != after.mode).then_some([before.mode, after.mode]),
            places,
            removal: None,
        };
        after = before;
        entry
    });
    entries.collect()
}

fn change_of(record: &RowRecord) -> HistoryChange {
    match record {
        RowRecord { is_creation: true, .. } => HistoryChange::Created,
        RowRecord { is_restore: true, .. } => HistoryChange::Restored,
        RowRecord { parent: Some(_), .. } => HistoryChange::Moved,
        RowRecord { name: Some(_), .. } => HistoryChange::Renamed,
        _ => HistoryChange::ModeChanged,
    }
}

/// Returns the path of a place, with the present path of the directory.
fn shown(place: &RowPlace, main: &MainDoc) -> VPath {
    let directory = place.parent.as_ref().and_then(|id| main.tree().node(id));
    directory.map_or_else(VPath::root, |node| node.path()).join(&place.name)
}
