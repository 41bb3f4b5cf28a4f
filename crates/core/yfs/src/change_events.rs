//! The events of what happened to rows and contents.

use std::collections::BTreeSet;

use parking_lot::RwLock;
use yfs_engine::{
    actor::Actor,
    id::FileId,
    main_doc::{MainDoc, MainDocChanges as RowChanges},
    path::VPath,
    table::NodeKind,
    time::Millis,
};
use yfs_vfs::{ChangeKind, FileChange, FileKind};

/// Returns the events of row changes.
pub(crate) fn row_events(main: &MainDoc, changes: &RowChanges, at: Millis) -> Vec<FileChange> {
    let changed = changes.ids.iter().enumerate();
    let mut paths = main.tree().path_resolver();
    let events = changed.filter_map(|(index, id)| {
        let before = changes.before.get(index).and_then(Option::as_ref);
        row_event(main, id, before, paths.path_of(id), at)
    });
    events.collect()
}

/// Returns the event of a content change, with the visible path of its file.
pub(crate) fn content_event(
    main: &MainDoc,
    id: &FileId,
    at: Millis,
    by: Option<&Actor>,
) -> Option<FileChange> {
    let path = main.tree().path_of(id)?;
    let mut event = FileChange::new(ChangeKind::Changed, path, id.clone(), FileKind::File, at);
    event.actor = by.cloned();
    Some(event)
}

fn row_event(
    main: &MainDoc,
    id: &FileId,
    before: Option<&VPath>,
    after: Option<VPath>,
    at: Millis,
) -> Option<FileChange> {
    let (kind, path) = match (before, after) {
        (None, None) => return None,
        (None, Some(path)) => (ChangeKind::Created, path),
        (Some(path), None) => (ChangeKind::Removed, path.clone()),
        (Some(from), Some(to)) if *from != to => (ChangeKind::Moved { from: from.clone() }, to),
        (Some(_), Some(path)) => (ChangeKind::Changed, path),
    };
    let file_kind = main.files().get(id).map_or(FileKind::File, |entry| kind_of(&entry.row));
    Some(FileChange::new(kind, path, id.clone(), file_kind, at))
}

/// Returns the kind of object that a row stands for.
pub(crate) fn kind_of(row: &yfs_engine::table::FileRow) -> FileKind {
    match row.kind {
        NodeKind::Directory => FileKind::Directory,
        NodeKind::File if row.link.is_some() => FileKind::Symlink,
        NodeKind::File => FileKind::File,
    }
}

/// Adds the changes of contents to those of rows, with one event per file.
pub(crate) fn add_content_events(
    main: &RwLock<MainDoc>,
    now: Millis,
    ids: &[FileId],
    by: Option<&Actor>,
    events: &mut Vec<FileChange>,
) {
    let mut ids: BTreeSet<&FileId> = ids.iter().collect();
    for event in events.iter_mut() {
        let is_reported = matches!(event.kind, ChangeKind::Created | ChangeKind::Changed);
        if is_reported && ids.remove(&event.id) {
            event.actor = by.cloned();
        }
    }
    if !ids.is_empty() {
        let main = main.read();
        events.extend(ids.into_iter().filter_map(|id| content_event(&main, id, now, by)));
    }
}
