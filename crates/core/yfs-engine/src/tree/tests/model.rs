//! The rules as documented, computed from scratch each time: slow, short, and without any state.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::name::{NodeName, split_extension};

/// The place and the name of each entry.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Model {
    /// The effective parent.
    pub(super) homes: BTreeMap<FileId, Option<FileId>>,
    /// The display names of entries that are not themselves trashed.
    pub(super) names: BTreeMap<FileId, String>,
    pub(super) visible: BTreeSet<FileId>,
    /// For each trashed entry, the stranded ids in it.
    pub(super) stranded: BTreeMap<FileId, Vec<FileId>>,
}

/// Compares a tree with the model of the same entries.
#[track_caller]
pub(super) fn compare(tree: &TreeIndex, entries: &[RowHistory]) {
    let model = Model::new(entries);
    assert_eq!(of_tree(tree), model);
    for (id, path) in paths(&model) {
        assert_eq!(tree.path_of(&id).unwrap().as_str(), path);
        let found = tree.lookup(&VPath::parse(&path).unwrap()).unwrap();
        assert_eq!(found.id(), Some(&id), "{path}");
    }
    let directories = entries.iter().filter(|entry| entry.row.kind == NodeKind::Directory).count();
    assert_eq!((tree.n_directories(), tree.n_files()), (directories, entries.len() - directories));
}

fn of_tree(tree: &TreeIndex) -> Model {
    let mut model = Model::default();
    for node in tree.nodes() {
        let id = node.id().unwrap().clone();
        model.homes.insert(id.clone(), node.parent().unwrap().id().cloned());
        if node.is_visible() {
            model.visible.insert(id.clone());
        }
        if node.is_trashed() {
            model.stranded.insert(id, node.stranded());
        } else {
            model.names.insert(id, node.name().to_owned());
        }
    }
    model
}

fn paths(model: &Model) -> BTreeMap<FileId, String> {
    let path = |id: &FileId| {
        let mut path = String::new();
        let mut at = Some(id);
        while let Some(id) = at {
            path = format!("/{}{path}", model.names[id]);
            at = model.homes[id].as_ref();
        }
        path
    };
    model.visible.iter().map(|id| (id.clone(), path(id))).collect()
}

type Entries<'a> = BTreeMap<&'a FileId, &'a RowHistory>;

impl Model {
    pub(super) fn new(entries: &[RowHistory]) -> Self {
        let entries: Entries<'_> = entries.iter().map(|entry| (&entry.row.id, entry)).collect();
        let homes = homes(&entries);
        let names = names(&entries, &homes);
        let hider = |id: &FileId| {
            let chain = std::iter::successors(Some(id), |id| homes[*id].as_ref());
            chain.skip(1).find(|id| entries[*id].row.trashed_at.is_some()).cloned()
        };
        let trashed = |id: &FileId| entries[id].row.trashed_at.is_some();
        let mut stranded = BTreeMap::new();
        for id in entries.keys().copied().filter(|id| trashed(id)) {
            let late = |other: &&FileId| {
                !trashed(other)
                    && entries[*other].row.meta.is_none()
                    && hider(other).as_ref() == Some(id)
                    && entries[*other].structural_ts > entries[id].trashed_ts
            };
            stranded.insert(id.clone(), entries.keys().copied().filter(late).cloned().collect());
        }
        let visible = |id: &&FileId| !trashed(id) && hider(id).is_none();
        let visible = entries.keys().copied().filter(visible).cloned().collect();
        Self { names, visible, stranded, homes }
    }
}

fn homes(entries: &Entries<'_>) -> BTreeMap<FileId, Option<FileId>> {
    let is_directory =
        |id: &FileId| entries.get(id).is_some_and(|e| e.row.kind == NodeKind::Directory);
    let mut homes = BTreeMap::new();
    for (id, entry) in entries {
        homes.insert((*id).clone(), entry.row.parent.clone().filter(|parent| is_directory(parent)));
    }
    let mut breakers = BTreeSet::new();
    for start in entries.keys() {
        let mut cycle = vec![(*start).clone()];
        while let Some(next) = homes[cycle.last().unwrap()].clone() {
            if next == **start {
                let time = |id: &FileId| (entries[id].parent_ts as i64, id.clone());
                breakers.insert(cycle.iter().map(time).max().unwrap());
                break;
            }
            if cycle.contains(&next) {
                break;
            }
            cycle.push(next);
        }
    }
    for (_, breaker) in &breakers {
        let reaches_root = |candidate: &&Option<FileId>| {
            let mut seen = BTreeSet::from([breaker.clone()]);
            let mut at = (*candidate).clone();
            while let Some(id) = at {
                if !is_directory(&id)
                    || entries[&id].row.trashed_at.is_some()
                    || !seen.insert(id.clone())
                {
                    return false;
                }
                at = homes[&id].clone();
            }
            true
        };
        let mut prev = entries[breaker].prev_parents.iter();
        let home = prev.find(reaches_root).cloned().flatten();
        homes.insert(breaker.clone(), home);
    }
    homes
}

fn names(
    entries: &Entries<'_>,
    homes: &BTreeMap<FileId, Option<FileId>>,
) -> BTreeMap<FileId, String> {
    let wanted = |entry: &RowHistory| {
        let name = entry.row.name.as_str();
        let valid = NodeName::new(name).is_ok() && name.len() <= 255;
        if valid { name.to_owned() } else { format!("_invalid~{}", entry.row.id) }
    };
    let mut directories: BTreeMap<&Option<FileId>, Vec<(String, Millis, &FileId)>> =
        BTreeMap::new();
    for (id, entry) in entries.iter().filter(|(_, entry)| entry.row.trashed_at.is_none()) {
        let place = (wanted(entry), entry.row.created_at, *id);
        directories.entry(&homes[*id]).or_default().push(place);
    }
    let mut names = BTreeMap::new();
    for siblings in directories.values_mut() {
        siblings.sort();
        let mut used: BTreeSet<String> = siblings.iter().map(|sibling| sibling.0.clone()).collect();
        let mut claimed = BTreeSet::new();
        for (name, _, id) in siblings {
            let display = if claimed.insert(name.clone()) {
                name.clone()
            } else {
                let (base, ext) = split_extension(name);
                let mut candidates = (1..).map(|i| format!("{base} ({i}){ext}"));
                let free = candidates.find(|candidate| !used.contains(candidate)).unwrap();
                if free.len() <= 255 { free } else { cut(name, id) }
            };
            used.insert(display.clone());
            names.insert((*id).clone(), display);
        }
    }
    names
}

/// No entry in these tests stores a name of this form.
fn cut(name: &str, id: &FileId) -> String {
    let (base, ext) = split_extension(name);
    let digest = blake3::hash(id.as_str().as_bytes()).to_hex();
    let suffix = format!(" (~{}){ext}", &digest[..32]);
    let end = (0..=255 - suffix.len()).rev().find(|end| base.is_char_boundary(*end)).unwrap();
    format!("{}{suffix}", &base[..end])
}
