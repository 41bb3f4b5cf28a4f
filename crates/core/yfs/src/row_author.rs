//! Who made, renamed, moved or restored a row, or set its mode: recorded in the row itself
//! (decision 49).

use std::collections::HashSet;

use yfs_engine::{
    content::RunAuthor,
    id::FileId,
    main_doc::MainDoc,
    table::{
        RowChanges, RowWrite, may_need_record, needs_creation_record, record_changes,
        record_creation,
    },
};

use crate::commit::{MainChange, Transaction};

impl<T> Transaction<'_, T> {
    /// Returns the transaction with a record of its author in each row that it makes, renames,
    /// moves or restores, or whose mode it sets.
    pub(crate) fn by(mut self, main: &MainDoc, by: &RunAuthor) -> Self {
        let with_content: HashSet<&FileId> =
            self.new_documents.iter().map(|document| &document.id).collect();
        let MainChange::Rows(writes) = &mut self.main else { return self };
        for write in writes {
            match write {
                RowWrite::Create { row, .. }
                    if needs_creation_record(row, with_content.contains(&row.id)) =>
                {
                    record_creation(row, by);
                }
                RowWrite::Update { id, changes }
                    if may_need_record(changes) && !is_shown_so(main, id, changes) =>
                {
                    if let Some(entry) = main.files().get(id) {
                        record_changes(&entry.row, changes, by);
                    }
                }
                _ => (),
            }
        }
        self
    }
}

/// Reports whether a change only stores the name under which an object is shown: that is no rename
/// ([`keep_names_of_others`](yfs_engine::ops::keep_names_of_others)).
fn is_shown_so(main: &MainDoc, id: &FileId, changes: &RowChanges) -> bool {
    let only_name = RowChanges { name: changes.name.clone(), ..RowChanges::default() };
    let node = main.tree().node(id).filter(|_| *changes == only_name);
    node.is_some_and(|node| changes.name.as_deref() == Some(node.name()))
}
