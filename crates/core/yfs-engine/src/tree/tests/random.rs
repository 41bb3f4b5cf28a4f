//! Random scripts over few ids and names, so that everything collides, compared with the model
//! after every step.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const IDS: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];

pub(super) const NAMES: [&str; 10] =
    ["x", "x (1)", "x (2)", "x.md", "x (1).md", ".x", ".x (1)", "..", "a/b", "x (1) (1)"];

#[derive(Debug, Clone)]
pub(super) enum Step {
    Put(Box<RowHistory>),
    /// The same place and name, written at another time or after other parents.
    Touch(FileId, i32, Vec<Option<FileId>>),
    Remove(FileId),
    Batch(Vec<(FileId, Option<RowHistory>)>),
}

pub(super) fn any_id() -> impl Strategy<Value = FileId> {
    prop::sample::select(&IDS[..]).prop_map(id)
}

fn any_parent() -> impl Strategy<Value = Option<FileId>> {
    prop_oneof![1 => Just(None), 4 => any_id().prop_map(Some)]
}

fn any_name() -> impl Strategy<Value = String> {
    let long = format!("{}.md", "x".repeat(250));
    prop_oneof![
        12 => prop::sample::select(&NAMES[..]).prop_map(str::to_owned),
        1 => Just(long),
        1 => Just("_invalid~a".to_owned()),
        1 => Just("y".repeat(300)),
    ]
}

prop_compose! {
    fn any_entry()(
        key in any_id(),
        name in any_name(),
        is_directory in prop::bool::weighted(0.85),
        parent in any_parent(),
        created_at in 0..3_i64,
        parent_ts in 0..4_i32,
        prev_parents in prop::collection::vec(any_parent(), 0..3),
        structural_ts in 0..4_i32,
        trashed in prop::option::weighted(0.15, 0..4_i32),
    ) -> RowHistory {
        let kind = if is_directory { NodeKind::Directory } else { NodeKind::File };
        let mut entry = entry(key.as_str(), &name, kind);
        entry.row.parent = parent;
        entry.row.created_at = Millis(created_at);
        entry.row.trashed_at = trashed.map(|ts| Millis(ts.into()));
        entry.parent_ts = parent_ts.into();
        entry.prev_parents = prev_parents;
        entry.structural_ts = structural_ts.into();
        entry.trashed_ts = trashed.unwrap_or_default().into();
        entry
    }
}

fn any_change() -> impl Strategy<Value = (FileId, Option<RowHistory>)> {
    prop_oneof![
        4 => any_entry().prop_map(|entry| (entry.row.id.clone(), Some(entry))),
        1 => any_id().prop_map(|id| (id, None)),
    ]
}

pub(super) fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any_entry().prop_map(|entry| Step::Put(Box::new(entry))),
        3 => (any_id(), 0..4_i32, prop::collection::vec(any_parent(), 0..3))
            .prop_map(|(id, parent_ts, prev)| Step::Touch(id, parent_ts, prev)),
        2 => any_id().prop_map(Step::Remove),
        2 => prop::collection::vec(any_change(), 0..12).prop_map(Step::Batch),
    ]
}

pub(super) fn apply_step(
    tree: &mut TreeIndex,
    rows: &mut BTreeMap<FileId, RowHistory>,
    step: Step,
) {
    match step {
        Step::Put(entry) => {
            tree.upsert(&entry);
            rows.insert(entry.row.id.clone(), *entry);
        }
        Step::Touch(id, parent_ts, prev_parents) => {
            let Some(entry) = rows.get_mut(&id) else { return };
            entry.parent_ts = parent_ts.into();
            entry.prev_parents = prev_parents;
            tree.upsert(entry);
        }
        Step::Remove(id) => {
            tree.remove(&id);
            rows.remove(&id);
        }
        Step::Batch(changes) => {
            tree.apply(changes.iter().map(|(id, entry)| (id, entry.as_ref())));
            for (id, entry) in changes {
                match entry {
                    Some(entry) => drop(rows.insert(id, entry)),
                    None => drop(rows.remove(&id)),
                }
            }
        }
    }
}

/// Checks that earlier finds are found at their present place, and nowhere if they were removed.
fn check_guesses(tree: &TreeIndex, paths: &mut BTreeSet<VPath>) {
    let visible = tree.nodes().filter(NodeRef::is_visible);
    paths.extend(visible.map(|node| node.path()));
    for path in paths.iter() {
        for _ in 0..2 {
            let Some(found) = tree.resolve_plain(path) else { continue };
            assert_eq!(tree.lookup(path).unwrap().id(), found.id(), "{path}");
        }
    }
}

proptest! {
    /// The index follows from the entries by the rules, independent of its history.
    #[test]
    fn index_is_the_model(steps in prop::collection::vec(any_step(), 0..40)) {
        let (mut tree, mut rows) = (TreeIndex::new(id("w")), BTreeMap::new());
        let mut paths = BTreeSet::new();
        for step in steps {
            apply_step(&mut tree, &mut rows, step);
            check_guesses(&tree, &mut paths);
            let entries: Vec<RowHistory> = rows.values().cloned().collect();
            model::compare(&tree, &entries);
        }
        let entries: Vec<RowHistory> = rows.values().cloned().collect();
        prop_assert_eq!(show(&tree), show(&build(&entries)));
    }

    /// The order of entries does not change the tree.
    #[test]
    fn order_of_arrival_does_not_matter(
        rows in prop::collection::btree_map(any_id(), any_entry(), 0..10),
        order in prop::collection::vec(any::<prop::sample::Index>(), 10),
    ) {
        let with_id = |(id, mut entry): (FileId, RowHistory)| {
            entry.row.id = id;
            entry
        };
        let entries: Vec<RowHistory> = rows.into_iter().map(with_id).collect();
        let mut shuffled = entries.clone();
        for (at, other) in order.iter().enumerate().take(entries.len()) {
            shuffled.swap(at, other.index(entries.len()));
        }
        let mut batch = TreeIndex::new(id("w"));
        batch.apply(shuffled.iter().map(|entry| (&entry.row.id, Some(entry))));
        prop_assert_eq!(show(&build(&entries)), show(&build(&shuffled)));
        prop_assert_eq!(show(&build(&entries)), show(&batch));
    }

    /// Nothing is left behind when everything is gone.
    #[test]
    fn removing_everything_leaves_nothing(steps in prop::collection::vec(any_step(), 0..40)) {
        let (mut tree, mut rows) = (TreeIndex::new(id("w")), BTreeMap::new());
        for step in steps {
            apply_step(&mut tree, &mut rows, step);
        }
        for id in IDS.map(id) {
            tree.remove(&id);
        }
        prop_assert!(tree.waiting.is_empty() && tree.detached.is_empty());
        prop_assert!(tree.trashed.is_empty() && tree.nodes.crowded.is_empty());
        prop_assert_eq!(tree.nodes.arena.n_used(), 0);
        prop_assert!(tree.nodes.dir(ROOT).is_none());
    }
}
