//! Elements with one key and one timestamp: the last one in the array wins, whatever came first.

use std::collections::HashMap;

use yrs::Any;

use super::peers::{Ours, client, file_id};
use crate::{gate::UpdateBuilder, id::ItemId, time::Millis};

fn object<const N: usize>(members: [(&str, Any); N]) -> Any {
    Any::from(HashMap::from(members.map(|(name, value)| (name.to_owned(), value))))
}

/// Writes one element to the front of an array.
fn insert(writer: u64, root: &str, element: Any) -> Vec<u8> {
    let mut update = UpdateBuilder::new();
    update.array_run(ItemId::new(client(writer), 0), None, None, root, &[element]);
    update.finish()
}

/// Writes a cell that takes a file out of the trash, and superseded some times of trashing.
fn restored(writer: u64, superseded: &[f64]) -> Vec<u8> {
    let superseded: Vec<Any> = superseded.iter().map(|time| Any::from(*time)).collect();
    let members = [
        ("key", Any::from("k:trashedAt")),
        ("val", Any::Null),
        ("ts", Any::from(5.0)),
        ("o", Any::from(superseded)),
    ];
    insert(writer, "fs:cells", object(members))
}

/// Two cells differ only in what they superseded, and one of them the time that the row has.
#[test]
fn cells_that_differ_in_what_they_superseded_are_not_mistaken_for_each_other() {
    let row = [
        ("id", Any::from("k")),
        ("name", Any::from("k.txt")),
        ("type", Any::from("file")),
        ("trashedAt", Any::from(70.0)),
    ];
    let row = [("key", Any::from("k")), ("val", object(row)), ("ts", Any::from(9.0))];
    let row = insert(13, "table:files", object(row));
    for (first, last) in [(&[70.0, 60.0][..], &[60.0][..]), (&[60.0], &[70.0, 60.0])] {
        // Of elements at one place yrs puts the one of the smaller client first.
        let cells = [restored(15, first), restored(16, last)];
        let is_superseded = last.contains(&70.0);
        for order in [[0, 1], [1, 0]] {
            let mut ours = Ours::new(1);
            ours.receive(&row);
            order.iter().for_each(|nth| drop(ours.receive(&cells[*nth])));
            let shown = ours.table.get(&file_id("k")).expect("there is a row").row.trashed_at;
            let expected = (!is_superseded).then_some(Millis(70));
            assert_eq!(shown, expected, "{first:?} {last:?} {order:?}");
        }
    }
}
