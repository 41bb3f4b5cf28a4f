//! Who made, renamed, moved or restored a row, or set its mode: recorded in the row itself
//! (decision 49).

use std::collections::HashSet;

use yfs_engine::{
    content::RunAuthor,
    id::FileId,
    main_doc::MainDoc,
    table::{RowWrite, may_need_record, needs_creation_record, record_changes, record_creation},
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
                RowWrite::Update { id, changes } if may_need_record(changes) => {
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
