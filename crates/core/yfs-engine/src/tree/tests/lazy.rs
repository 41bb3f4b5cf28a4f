//! Trees that begin with a base, compared with the model: at every moment, and whatever was read
//! before.

use std::{ops::ControlFlow, sync::Arc};

use proptest::prelude::*;

use crate::table::{BaseRow, ListedChild};

use super::{
    random::{NAMES, Step, any_id, any_step, apply_step},
    *,
};

/// The nodes of a tree.
#[derive(Debug)]
struct MemoryBase {
    nodes: BTreeMap<FileId, BaseNode>,
}

impl BaseTree for MemoryBase {
    fn node(&self, id: &str) -> Option<BaseNode> {
        self.nodes.get(id).cloned()
    }

    fn entry(&self, directory: Option<&FileId>, display: &str) -> Option<BaseNode> {
        let shown = |node: &&BaseNode| {
            let name = node.display.as_ref().unwrap_or(&node.entry.row.name);
            node.entry.row.trashed_at.is_none() && name == display
        };
        self.entries_of(directory).find(shown).cloned()
    }

    fn entries(&self, directory: Option<&FileId>) -> Vec<BaseNode> {
        self.entries_of(directory).cloned().collect()
    }

    fn each_entry(&self, _: Option<&FileId>, _: &mut dyn FnMut(&FileId, &str, &BaseRow)) {
        unreachable!("a tree alone lists no rows");
    }

    fn each_listed(&self, _: Option<&FileId>, _: &mut dyn FnMut(ListedChild<'_>)) {
        unreachable!("a tree alone lists no kinds");
    }

    fn each_listed_in(
        &self,
        _: Option<&FileId>,
        _: [&str; 2],
        _: &mut dyn FnMut(ListedChild<'_>) -> ControlFlow<()>,
    ) {
        unreachable!("a tree alone lists no kinds");
    }

    fn trashed(&self) -> Vec<FileId> {
        let trashed = self.nodes.values().filter(|node| node.entry.row.trashed_at.is_some());
        trashed.map(|node| node.entry.row.id.clone()).collect()
    }

    fn renamed(&self) -> Vec<FileId> {
        let is_renamed = |node: &&BaseNode| {
            !is_valid(&node.entry.row.name)
                || (node.entry.row.trashed_at.is_none() && node.display.is_some())
        };
        let renamed = self.nodes.values().filter(is_renamed);
        renamed.map(|node| node.entry.row.id.clone()).collect()
    }
}

impl MemoryBase {
    fn of(tree: &TreeIndex, rows: &BTreeMap<FileId, RowHistory>) -> Self {
        let nodes = tree.nodes().map(|node| {
            let id = node.id().unwrap();
            let entry = rows[id].clone();
            let shown_in = node.parent().unwrap().id().cloned();
            let display = node.raw().rare.as_ref().and_then(|rare| rare.display.clone());
            (id.clone(), BaseNode { entry, shown_in, display })
        });
        Self { nodes: nodes.collect() }
    }

    fn entries_of(&self, directory: Option<&FileId>) -> impl Iterator<Item = &BaseNode> {
        self.nodes.values().filter(move |node| node.shown_in.as_ref() == directory)
    }
}

/// Returns the same tree on a base that holds all of it.
fn rebased(tree: &TreeIndex, rows: &BTreeMap<FileId, RowHistory>) -> TreeIndex {
    let base = Arc::new(MemoryBase::of(tree, rows));
    TreeIndex::on_base(id("w"), base, &tree.base_facts())
}

#[derive(Debug, Clone)]
enum LazyStep {
    Change(Step),
    Rebase,
    FindId(FileId),
    FindPath(Vec<&'static str>),
    List(FileId),
    ListTrash,
}

fn any_lazy_step() -> impl Strategy<Value = LazyStep> {
    let name = prop::sample::select(&NAMES[..]);
    prop_oneof![
        4 => any_step().prop_map(LazyStep::Change),
        1 => Just(LazyStep::Rebase),
        1 => any_id().prop_map(LazyStep::FindId),
        1 => prop::collection::vec(name, 1..4).prop_map(LazyStep::FindPath),
        1 => any_id().prop_map(LazyStep::List),
        1 => Just(LazyStep::ListTrash),
    ]
}

fn lazy_step(tree: &mut TreeIndex, rows: &mut BTreeMap<FileId, RowHistory>, step: LazyStep) {
    match step {
        LazyStep::Change(step) => apply_step(tree, rows, step),
        LazyStep::Rebase => *tree = rebased(tree, rows),
        LazyStep::FindId(id) => assert_eq!(tree.node(&id).is_some(), rows.contains_key(&id)),
        LazyStep::FindPath(names) => {
            let Ok(path) = VPath::parse(&format!("/{}", names.join("/"))) else { return };
            let eager = build(&rows.values().cloned().collect::<Vec<_>>());
            let [found, expected] =
                [&*tree, &eager].map(|tree| tree.lookup(&path).map(|node| node.id().cloned()));
            assert_eq!(found, expected, "{path}");
        }
        LazyStep::List(id) => {
            let Some(node) = tree.node(&id) else { return };
            assert_eq!(node.children().count(), node.n_children());
        }
        LazyStep::ListTrash => {
            let trashed = rows.values().filter(|entry| entry.row.trashed_at.is_some()).count();
            assert_eq!((tree.trashed().count(), tree.n_trashed()), (trashed, trashed));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// A tree on a base is the tree of all rows, whatever of it was read.
    #[test]
    fn what_was_read_makes_no_difference(steps in prop::collection::vec(any_lazy_step(), 0..40)) {
        let (mut tree, mut rows) = (TreeIndex::new(id("w")), BTreeMap::new());
        for step in steps {
            lazy_step(&mut tree, &mut rows, step);
            let entries: Vec<RowHistory> = rows.values().cloned().collect();
            // The copy reads everything.
            let copy = tree.clone();
            model::compare(&copy, &entries);
            prop_assert_eq!(show(&copy), show(&build(&entries)));
        }
    }
}

#[test]
fn a_look_up_reads_no_directory() {
    let entries = parse("dir d; dir e in=d; file f x in=e; file g y in=e; file h z in=d");
    let rows: BTreeMap<FileId, RowHistory> =
        entries.iter().map(|entry| (entry.row.id.clone(), entry.clone())).collect();
    let tree = rebased(&build(&entries), &rows);
    assert_eq!(tree.lookup(&path("/d/e/x")).unwrap().id(), Some(&id("f")));
    assert!(tree.lookup(&path("/d/e/nothing")).is_err());
    assert_eq!(tree.nodes.arena.n_used(), 3, "the file and the directories above it");
    assert_eq!(tree.node(&id("h")).unwrap().path(), path("/d/z"));
    assert_eq!(tree.nodes.arena.n_used(), 4);
    let mut tree = tree;
    tree.upsert(&parse("file h z2 in=d").remove(0));
    assert_eq!(tree.nodes.arena.n_used(), 4, "a change reads the directories that it changes");
    assert!(tree.nodes.arena.find("g").is_none());
}
