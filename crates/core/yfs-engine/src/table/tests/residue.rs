//! Checks that a million small writes leave nothing behind that grows.

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

use super::{
    super::{FileRow, NodeKind, RowChanges, RowWrite},
    peers::{Ours, file_id},
};
use crate::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateSource},
    id::FileId,
    time::Millis,
};

pub(super) fn id_of(number: usize) -> FileId {
    file_id(&format!("id{number:013}"))
}

pub(super) fn create(number: usize) -> RowWrite {
    let name = format!("file {number}.txt");
    let row = FileRow::new(id_of(number), &name, None, NodeKind::File, Millis(1_700_000_000_000));
    RowWrite::Create { row, derived: false }
}

pub(super) fn rename(number: usize, to: usize) -> RowWrite {
    let changes = RowChanges { name: Some(format!("name {to}").into()), ..RowChanges::default() };
    RowWrite::Update { id: id_of(number), changes }
}

pub(super) fn touch(number: usize, size: u64) -> RowWrite {
    let changes = RowChanges { size: Some(size), ..RowChanges::default() };
    RowWrite::Update { id: id_of(number), changes }
}

/// Counts the structs of the document as it would be stored, and its bytes.
pub(super) fn weigh(doc: &GatedDoc) -> (usize, usize) {
    let state = doc.encode_state();
    let mut fresh =
        GatedDoc::new(&file_id("x"), DocRole::Main, super::peers::client(1), GateLimits::default());
    let received = fresh.receive(&state, UpdateSource::Store).unwrap();
    (received.scans[0].n_structs, state.len())
}

/// Makes a table of two writers that take turns.
pub(super) fn populate(n_rows: usize) -> (Ours, Ours) {
    let (mut left, mut right) = (Ours::new(1), Ours::new(2));
    let numbers: Vec<usize> = (0..n_rows).collect();
    for (turn, chunk) in numbers.chunks(100).enumerate() {
        let writes: Vec<RowWrite> = chunk.iter().map(|number| create(*number)).collect();
        let (from, to) =
            if turn % 2 == 0 { (&mut left, &mut right) } else { (&mut right, &mut left) };
        let update = from.table.plan(&from.doc, &writes, Millis(1_700_000_000_000)).unwrap();
        from.commit(&update);
        to.receive(&update);
    }
    (left, right)
}

/// Lets two writers take turns to write to rows at random.
pub(super) fn churn(left: &mut Ours, right: &mut Ours, n_rows: usize, n_writes: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for turn in 0..n_writes {
        let number = rng.random_range(0..n_rows);
        let write =
            if turn % 4 < 2 { rename(number, turn) } else { touch(number, turn as u64 + 1) };
        let now = Millis(1_700_000_001_000 + turn as i64);
        let (from, to) =
            if turn % 2 == 0 { (&mut *left, &mut *right) } else { (&mut *right, &mut *left) };
        let update = from.table.plan(&from.doc, &[write], now).unwrap();
        from.commit(&update);
        to.receive(&update);
    }
}

#[test]
fn writing_again_and_again_leaves_no_growing_residue() {
    let (mut left, mut right) = populate(100);
    churn(&mut left, &mut right, 100, 2_000);
    let (structs, bytes) = weigh(&left.doc);
    churn(&mut left, &mut right, 100, 6_000);
    let (more_structs, more_bytes) = weigh(&left.doc);
    // At most one dead run beside each live element, of rows and of cells.
    assert!(more_structs <= 2 * 300 + 8, "{more_structs} structs");
    assert!(more_structs < structs + 100, "{structs} structs became {more_structs}");
    // Cells remember up to four values, and not all have met so many yet.
    assert!(more_bytes < bytes + 4_000, "{bytes} bytes became {more_bytes}");
    left.check_invariants();
    assert_eq!(left.entries(), right.entries());
}

#[test]
fn deleting_everything_leaves_a_handful_of_structs() {
    let (mut left, mut right) = populate(1_000);
    churn(&mut left, &mut right, 1_000, 1_000);
    let deletes: Vec<_> = (0..1_000).map(|number| RowWrite::Delete { id: id_of(number) }).collect();
    left.write(&deletes, 0).unwrap();
    let (structs, bytes) = weigh(&left.doc);
    assert!(left.table.is_empty());
    assert!(structs <= 8 && bytes < 300, "{structs} structs, {bytes} bytes");
}
