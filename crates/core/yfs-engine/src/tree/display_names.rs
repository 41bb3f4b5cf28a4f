//! Display names: one rule that cannot give two siblings the same one.
//!
//! Among the entries of a directory that are not themselves trashed, every stored name belongs to
//! the entry that is first in (created, id). The others that store it, in that order, are shown as
//! `base (i).ext`, with the least `i` that no sibling stores.
//!
//! The rule works on one name at a time, because `base (i).ext` determines `base`, `i` and `ext`: a
//! name assigned for one stored name is never a candidate for another. So when a name is added or
//! removed, only the siblings that store it are affected, and those that store the name it was
//! derived from.

use std::collections::BTreeMap;

use smol_str::{SmolStr, format_smolstr};

use super::{
    TreeNodes,
    arena::{ArenaNode, NodeSlot, ROOT},
};
use crate::{
    id::FileId,
    name::{MAX_NAME_LEN, NodeName, split_extension},
    time::Millis,
};

/// The longest extension that is kept when a name is cut to make room for a suffix.
const MAX_KEPT_EXTENSION_LEN: usize = 64;

/// The text before the digest in the suffix of a shortened name.
const CUT_MARK: &str = " (~";

/// The displayed entries of a directory.
#[derive(Debug, Default, Clone)]
pub(super) struct DirectoryNames {
    /// Display name to entry. Invariant: an entry that stores a name is under it.
    pub(super) names: BTreeMap<SmolStr, NodeSlot>,
    /// The names that several entries store, and all of those entries.
    pub(super) groups: BTreeMap<SmolStr, NameGroup>,
    /// Entries that are themselves trashed. They have no display name.
    pub(super) trashed: BTreeMap<FileId, NodeSlot>,
}

/// The entries of a directory that store one name, by seniority: the first has the name.
pub(super) type NameGroup = BTreeMap<(Millis, FileId), NodeSlot>;

impl DirectoryNames {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.groups.is_empty() && self.trashed.is_empty()
    }
}

impl TreeNodes {
    /// Adds a node to a directory.
    pub(super) fn enter(&mut self, slot: NodeSlot, home: NodeSlot) {
        self.note_moved(slot);
        let node = &mut self.arena[slot];
        node.shown_in = home;
        let wanted = requested_name(node);
        let id = node.id.clone();
        let (trashed, valid) = (node.trashed, node.valid);
        let dir = self.dir_mut(home).get_or_insert_default();
        if trashed {
            dir.trashed.insert(id, slot);
            self.arena[slot].set_display((!valid).then_some(wanted));
            return;
        }
        let holder = dir.names.get(&wanted).copied();
        match holder {
            Some(holder) if requested_name(&self.arena[holder]) == wanted => {
                let [member, first] =
                    [slot, holder].map(|slot| (self.arena[slot].seniority(), slot));
                let dir = self.dir_mut(home).get_or_insert_default();
                dir.groups.entry(wanted.clone()).or_default().extend([member, first]);
                self.crowded.insert((home, wanted));
                return;
            }
            Some(holder) => {
                // The name was assigned to an entry that stores another name, and must now be
                // freed.
                let other = requested_name(&self.arena[holder]);
                self.arena[holder].set_display(None);
                self.crowded.insert((home, other));
            }
            None => (),
        }
        let dir = self.dir_mut(home).get_or_insert_default();
        dir.names.insert(wanted.clone(), slot);
        self.arena[slot].set_display((!valid).then_some(wanted));
    }

    /// Removes a node from its directory.
    pub(super) fn leave(&mut self, slot: NodeSlot) {
        let home = self.arena[slot].shown_in;
        self.dir(home);
        let node = &mut self.arena[slot];
        let wanted = requested_name(node);
        let display = node.display().clone();
        node.set_display(None);
        let (id, seniority) = (node.id.clone(), node.seniority());
        let trashed = node.trashed;
        let dir = self.dir_mut(home).as_mut().expect("a node is in its directory");
        if trashed {
            dir.trashed.remove(&id);
        } else {
            for name in [&display, &wanted] {
                if dir.names.get(name) == Some(&slot) {
                    dir.names.remove(name);
                }
            }
            let members = dir.groups.get_mut(&wanted);
            let heir = members.and_then(|members| {
                members.remove(&seniority);
                members.first_key_value().map(|(_, heir)| *heir)
            });
            if let Some(heir) = heir {
                dir.names.entry(wanted.clone()).or_insert(heir);
                self.crowded.insert((home, wanted));
            } else {
                dir.groups.remove(&wanted);
                self.freed(home, &wanted);
            }
        }
        self.dir_mut(home).take_if(|dir| dir.is_empty());
    }

    /// Returns every entry of a directory, in no order; some twice while a batch is running.
    pub(super) fn entries_of(&self, slot: NodeSlot) -> impl Iterator<Item = NodeSlot> {
        self.dir(slot).into_iter().flat_map(|dir| {
            let named = dir.names.values().chain(dir.groups.values().flat_map(NameGroup::values));
            named.chain(dir.trashed.values()).copied()
        })
    }

    /// Assigns the names that became free.
    pub(super) fn assign_names(&mut self) {
        for home in std::mem::take(&mut self.freed_cuts) {
            let names = self.dir(home).into_iter().flat_map(|dir| dir.groups.keys());
            let long = names.filter(|name| name.len() > MAX_NAME_LEN / 2);
            #[cfg(test)]
            let long = long.inspect(|_| crate::steps::count(1));
            let long: Vec<_> = long.map(|name| (home, name.clone())).collect();
            self.crowded.extend(long);
        }
        while let Some((home, name)) = self.crowded.pop_first() {
            self.assign_group(home, &name);
        }
    }

    /// Notes that no entry of the directory stores `name` any more: others may move up to it.
    fn freed(&mut self, home: NodeSlot, name: &SmolStr) {
        let Some(dir) = self.dir(home) else { return };
        if dir.groups.is_empty() {
            return;
        }
        if let Some(source) = suffix_source(name)
            && dir.groups.contains_key(&source)
        {
            self.crowded.insert((home, source));
        }
        if name.contains(CUT_MARK) {
            self.freed_cuts.insert(home);
        }
    }

    fn assign_group(&mut self, home: NodeSlot, name: &SmolStr) {
        let Some(dir) = self.dir_mut(home) else { return };
        let Some(members) = dir.groups.remove(name) else { return };
        // Stale names first, so that a name that is still in the way is really stored by another
        // entry.
        for &member in members.values() {
            let display = self.arena[member].display().clone();
            let dir = self.dir_mut(home).get_or_insert_default();
            if dir.names.get(&display) == Some(&member) {
                dir.names.remove(&display);
            }
            self.arena[member].set_display(None);
        }
        let mut number = 0;
        for (at, &member) in members.values().enumerate() {
            #[cfg(test)]
            crate::steps::count(1);
            let display = if at == 0 {
                name.clone()
            } else {
                self.next_name(home, name, member, &mut number)
            };
            self.note_moved(member);
            let node = &mut self.arena[member];
            node.set_display((display != node.name).then(|| display.clone()));
            let dir = self.dir_mut(home).get_or_insert_default();
            dir.names.insert(display, member);
        }
        let dir = self.dir_mut(home).get_or_insert_default();
        if members.len() > 1 {
            dir.groups.insert(name.clone(), members);
        }
    }

    /// Returns the next free name for an entry that did not get its stored one.
    fn next_name(&self, home: NodeSlot, name: &str, slot: NodeSlot, number: &mut u32) -> SmolStr {
        let taken = |name: &SmolStr| self.dir(home).is_some_and(|dir| dir.names.contains_key(name));
        loop {
            *number += 1;
            match suffixed(name, *number) {
                Some(candidate) if taken(&candidate) => (),
                Some(candidate) => return candidate,
                None => break,
            }
        }
        let cut = (0..).map(|number| suffixed_and_cut(name, &self.arena[slot].id, number));
        let mut free = cut.skip_while(taken);
        free.next().expect("a directory has fewer entries than there are numbers")
    }

    /// Finds an entry of a directory by a name that is not shown: an alias, or an invalid stored
    /// name.
    pub(super) fn find_unlisted(&self, home: NodeSlot, component: &str) -> Option<NodeSlot> {
        // Most names that are not found are just missing, and need no other look.
        let dir = if is_valid(component) && !component.contains('~') {
            return None;
        } else {
            self.dir(home)?
        };
        let senior = |a: &NodeSlot, b: &NodeSlot| {
            self.arena[*a].seniority().cmp(&self.arena[*b].seniority())
        };
        if !is_valid(component) {
            let stores = |slot: &NodeSlot| self.arena[*slot].name == component;
            return dir.names.values().copied().filter(stores).min_by(senior);
        }
        let names = component.match_indices('~').flat_map(|(tilde, _)| {
            let (base, rest) = (&component[..tilde], &component[tilde + 1..]);
            let cuts = (1..=ALIAS_ID_LEN.min(rest.len())).filter(|at| rest.is_char_boundary(*at));
            cuts.map(move |at| format_smolstr!("{base}{}", &rest[at..]))
        });
        let holders = names.flat_map(|name| {
            let alone = dir.names.get(&name).copied();
            let group = dir.groups.get(&name).into_iter().flat_map(NameGroup::values).copied();
            alone.into_iter().chain(group)
        });
        holders.filter(|slot| self.arena[*slot].alias() == component).min_by(senior)
    }

    /// Finds an entry of a directory by display name: unchanged, then in normalization form C.
    pub(super) fn find_name(&self, home: NodeSlot, component: &str) -> Option<NodeSlot> {
        let find =
            |name: &str| self.find_listed(home, name).or_else(|| self.find_unlisted(home, name));
        find(component).or_else(|| {
            let name = NodeName::new(component).ok().filter(|name| name.as_str() != component)?;
            find(name.as_str())
        })
    }

    /// Reports whether the slot is a directory.
    pub(super) fn is_directory(&self, slot: NodeSlot) -> bool {
        slot == ROOT || self.arena[slot].kind == super::arena::SlotKind::Directory
    }
}

/// The number of characters of its id in an alias.
const ALIAS_ID_LEN: usize = 8;

impl ArenaNode {
    /// Returns the name that finds the node independent of the names of its siblings:
    /// `base~id.ext`.
    pub(super) fn alias(&self) -> SmolStr {
        let wanted = requested_name(self);
        let (base, extension) = split_extension(&wanted);
        let id = self.id.as_str();
        format_smolstr!("{base}~{}{extension}", &id[..id.len().min(ALIAS_ID_LEN)])
    }
}

/// Reports whether a stored name may be displayed unchanged.
pub(super) fn is_valid(name: &str) -> bool {
    name.len() <= MAX_NAME_LEN && NodeName::new(name).is_ok()
}

/// Returns the name that a node requests: the stored one, or the escaped form of an invalid one.
pub(super) fn requested_name(node: &ArenaNode) -> SmolStr {
    if node.valid { node.name.clone() } else { format_smolstr!("_invalid~{}", node.id) }
}

/// Returns `base (i).ext`, unless that is too long.
fn suffixed(name: &str, number: u32) -> Option<SmolStr> {
    let (base, extension) = split_extension(name);
    let name = format_smolstr!("{base} ({number}){extension}");
    (name.len() <= MAX_NAME_LEN).then_some(name)
}

/// Returns the name that `name` would be a suffixed form of.
pub(super) fn suffix_source(name: &str) -> Option<SmolStr> {
    let (base, extension) = split_extension(name);
    let (source, number) = base.strip_suffix(')')?.rsplit_once(" (")?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    plain.then(|| format_smolstr!("{source}{extension}"))
}

/// Shortens a name for a suffix that no other entry can get.
fn suffixed_and_cut(name: &str, id: &FileId, number: u32) -> SmolStr {
    let (mut base, mut extension) = split_extension(name);
    if extension.len() > MAX_KEPT_EXTENSION_LEN {
        (base, extension) = (name, "");
    }
    let digest = blake3::hash(id.as_str().as_bytes()).to_hex();
    let again = if number == 0 { String::new() } else { format!("-{number}") };
    let suffix = format!("{CUT_MARK}{}{again}){extension}", &digest[..32]);
    let mut end = base.len().min(MAX_NAME_LEN - suffix.len());
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format_smolstr!("{}{suffix}", &base[..end])
}
