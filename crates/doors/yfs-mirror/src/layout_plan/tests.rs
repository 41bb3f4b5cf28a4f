//! Tests of the plans against a naive model: a disk that rejects what a real disk rejects.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

type Tree = BTreeMap<u8, (Option<u8>, u8, bool)>;

fn id(number: u8) -> FileId {
    FileId::parse(&format!("f{number}")).unwrap()
}

fn number(id: &FileId) -> u8 {
    id.as_str()[1..].parse().unwrap()
}

/// Builds a tree from random values. An object goes into an earlier directory; names are few, so
/// that they collide.
fn tree(drawn: &[(u8, u8, u8)]) -> Tree {
    let mut tree = Tree::new();
    for (object, home, name) in drawn {
        let directories: Vec<u8> =
            tree.iter().filter(|(_, item)| item.2).map(|(id, _)| *id).collect();
        let home = directories.get(usize::from(*home) % (directories.len() + 1)).copied();
        // An object keeps its kind.
        let is_directory = object % 2 == 0;
        let is_free = tree.values().all(|item| (item.0, item.1) != (home, *name));
        if is_free && !tree.contains_key(object) {
            tree.insert(*object, (home, *name, is_directory));
        }
    }
    tree
}

fn depth(tree: &Tree, object: u8) -> usize {
    let mut at = tree[&object].0;
    std::iter::from_fn(|| {
        let here = at?;
        at = tree[&here].0;
        Some(())
    })
    .count()
}

fn place(of: &(Option<u8>, u8, bool)) -> ObjectLocation {
    ObjectLocation { parent: of.0.map(id), name: of.1.to_string().into() }
}

/// A disk modeled by paths, which does only what a real disk does.
#[derive(Debug, Default, PartialEq)]
struct Disk {
    places: BTreeMap<u8, ObjectLocation>,
}

impl PartialOrd for ObjectLocation {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectLocation {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.parent, &self.name).cmp(&(&other.parent, &other.name))
    }
}

impl Disk {
    fn of(tree: &Tree) -> Self {
        Self { places: tree.iter().map(|(id, item)| (*id, place(item))).collect() }
    }

    fn put(&mut self, object: u8, at: ObjectLocation) {
        assert!(!self.places.values().any(|place| *place == at), "{at:?} is free");
        let mut above = at.parent.as_ref().map(number);
        while let Some(directory) = above {
            assert_ne!(directory, object, "nothing is moved into itself");
            let there = self.places.get(&directory);
            above = there.expect("the directory is there").parent.as_ref().map(number);
        }
        self.places.insert(object, at);
    }

    fn run(&mut self, step: &LayoutStep) {
        match step {
            LayoutStep::Remove(object) | LayoutStep::RemoveDirectory(object) => {
                let is_empty =
                    self.places.values().all(|place| place.parent != Some(object.clone()));
                assert!(is_empty, "{object} is empty");
                self.places.remove(&number(object)).expect("it is there");
            }
            LayoutStep::Park(object) => {
                let parent = self.places[&number(object)].parent.clone();
                self.put(number(object), ObjectLocation { parent, name: parked_name(object) });
            }
            LayoutStep::Move(object, at) => {
                assert!(self.places.contains_key(&number(object)), "{object} is there");
                self.put(number(object), at.clone());
            }
            LayoutStep::Make(object, at) => {
                assert!(!self.places.contains_key(&number(object)), "{object} is not there");
                self.put(number(object), at.clone());
            }
        }
    }
}

fn steps_between(from: &Tree, to: &Tree) -> Vec<LayoutStep> {
    let objects: BTreeSet<u8> = from.keys().chain(to.keys()).copied().collect();
    let wanted = objects.iter().map(|object| TargetLocation {
        id: id(*object),
        place: to.get(object).map(place),
        depth: depth(if to.contains_key(object) { to } else { from }, *object),
        is_directory: object % 2 == 0,
    });
    let stands = |id: &FileId| from.get(&number(id)).map(place);
    let at = |wanted: &ObjectLocation| {
        let there = from.iter().find(|(_, item)| place(item) == *wanted);
        there.map(|(object, _)| id(*object))
    };
    plan_steps(wanted.collect(), &stands, &at)
}

/// Returns a configuration with `n_cases` cases, or with the number in `PROPTEST_CASES` if that
/// variable is set.
fn config(n_cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    if is_set { config } else { ProptestConfig { cases: n_cases, ..config } }
}

proptest! {
    #![proptest_config(config(1_000))]

    /// Any tree can be turned into any other. Each step is possible, and no step replaces an
    /// object.
    #[test]
    fn every_tree_becomes_every_other(
        from in prop::collection::vec((0u8..12, any::<u8>(), 0u8..4), 0..14),
        to in prop::collection::vec((0u8..12, any::<u8>(), 0u8..4), 0..14),
    ) {
        let (from, to) = (tree(&from), tree(&to));
        let mut disk = Disk::of(&from);
        for step in steps_between(&from, &to) {
            disk.run(&step);
        }
        prop_assert_eq!(disk, Disk::of(&to));
        prop_assert_eq!(steps_between(&to, &to), []);
    }
}

#[test]
fn two_directories_change_places() {
    let from = tree(&[(2, 0, 1), (4, 1, 2)]);
    let mut to = from.clone();
    (to.get_mut(&2).unwrap().1, to.get_mut(&4).unwrap().1) = (2, 1);
    let place = |name: &str| ObjectLocation { parent: None, name: name.into() };
    let expected = [
        LayoutStep::Park(id(4)),
        LayoutStep::Move(id(2), place("2")),
        LayoutStep::Move(id(4), place("1")),
    ];
    assert_eq!(steps_between(&from, &to), expected);
}
