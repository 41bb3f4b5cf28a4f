//! The nodes that the kernel knows, by the numbers under which it knows them.
//!
//! The number of an object is a hash of its id, so that it is the same after a remount, and is also
//! its inode number. A file that changes while a program is in the middle of reading it gets
//! another number, for the programs that open it then: to the kernel these are two files with one
//! inode number.

use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use fuser::INodeNo;
use yfs_types::{id::FileId, path::VPath};

/// The number of nodes between the hash of an id and the number that it gets: for ids whose hashes
/// are equal.
const MAX_PROBES: u64 = 64;

/// The first number that is not a hash.
const FIRST_OTHER: u64 = 1 << 63;

/// The nodes that the kernel knows.
#[derive(Debug, Default)]
pub(crate) struct NodeTable {
    nodes: DashMap<u64, Node>,
    /// The numbers of files that have more than one.
    others: DashMap<FileId, Vec<u64>>,
    n_others: AtomicU64,
}

#[derive(Debug)]
struct Node {
    id: FileId,
    /// How often the kernel got the node in an answer, and has not forgotten it.
    n_lookups: u64,
    /// The number of bytes that the kernel surely knows the node to have at least.
    sure_size: u64,
}

impl NodeTable {
    /// Returns the path of a node, by its id.
    pub(crate) fn path(&self, number: INodeNo) -> Option<VPath> {
        if number == INodeNo::ROOT {
            return Some(VPath::root());
        }
        self.nodes.get(&number.0).map(|node| path_by_id(&node.id))
    }

    /// Returns the id of a node; none for the root.
    pub(crate) fn id(&self, number: INodeNo) -> Option<FileId> {
        self.nodes.get(&number.0).map(|node| node.id.clone())
    }

    /// Returns the inode number of an object, which the kernel need not know.
    pub(crate) fn number(&self, id: &FileId) -> INodeNo {
        let first = hash(id) & !FIRST_OTHER;
        let probes = (0..MAX_PROBES).map(|step| first.wrapping_add(step).max(2) & !FIRST_OTHER);
        let is_free = |number: &u64| match self.nodes.get(number) {
            Some(node) => node.id == *id,
            None => true,
        };
        INodeNo(probes.clone().find(is_free).unwrap_or(first))
    }

    /// Returns the numbers by which the kernel knows an object, its inode number first.
    pub(crate) fn known(&self, id: &FileId) -> Vec<INodeNo> {
        let others = self.others.get(id).map(|others| others.clone()).unwrap_or_default();
        let mut numbers = vec![self.number(id)];
        numbers.extend(others.into_iter().map(INodeNo));
        numbers.retain(|number| self.nodes.get(&number.0).is_some_and(|node| node.id == *id));
        numbers
    }

    /// Makes another number for a file.
    pub(crate) fn add_number(&self, id: &FileId) -> INodeNo {
        let number = FIRST_OTHER + self.n_others.fetch_add(1, Ordering::Relaxed);
        self.others.entry(id.clone()).or_default().push(number);
        INodeNo(number)
    }

    /// Counts that the kernel gets a node of an object in an answer, with a size.
    pub(crate) fn look_up(&self, number: INodeNo, id: &FileId, size: u64) {
        let new = || Node { id: id.clone(), n_lookups: 0, sure_size: size };
        let mut node = self.nodes.entry(number.0).or_insert_with(new);
        node.n_lookups += 1;
        node.sure_size = node.sure_size.min(size);
    }

    /// Records that the kernel gets a size of a node in an answer, which it may disregard.
    pub(crate) fn note_size(&self, number: INodeNo, size: u64) {
        if let Some(mut node) = self.nodes.get_mut(&number.0) {
            node.sure_size = node.sure_size.min(size);
        }
    }

    /// Records that the kernel knows a node to have at least so many bytes.
    pub(crate) fn note_stored(&self, number: INodeNo, size: u64) {
        if let Some(mut node) = self.nodes.get_mut(&number.0) {
            node.sure_size = node.sure_size.max(size);
        }
    }

    /// Returns the number of bytes that the kernel surely knows a node to have at least.
    pub(crate) fn sure_size(&self, number: INodeNo) -> u64 {
        self.nodes.get(&number.0).map_or(0, |node| node.sure_size)
    }

    /// Counts that the kernel has forgotten a node so many times.
    pub(crate) fn forget(&self, number: INodeNo, n_lookups: u64) {
        let gone = self.nodes.remove_if_mut(&number.0, |_, node| {
            node.n_lookups = node.n_lookups.saturating_sub(n_lookups);
            node.n_lookups == 0
        });
        if let Some((number, node)) = gone {
            self.others.remove_if_mut(&node.id, |_, others| {
                others.retain(|other| *other != number);
                others.is_empty()
            });
        }
    }

    /// Lets the numbers of an object stand for another one, which has taken its place.
    pub(crate) fn redirect(&self, from: &FileId, to: &FileId) {
        for number in self.known(from) {
            if let Some(mut node) = self.nodes.get_mut(&number.0) {
                node.id = to.clone();
            }
            self.others.entry(to.clone()).or_default().push(number.0);
        }
        self.others.remove(from);
    }

    /// Returns all nodes.
    pub(crate) fn all(&self) -> Vec<(INodeNo, FileId)> {
        self.nodes.iter().map(|entry| (INodeNo(*entry.key()), entry.id.clone())).collect()
    }
}

/// The path of an object by its id.
pub(crate) fn path_by_id(id: &FileId) -> VPath {
    VPath::root().join(".id").join(id.as_str())
}

/// FNV-1a of 64 bits (draft-eastlake-fnv): ids are random, and all of their bits count.
fn hash(id: &FileId) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    id.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, fold)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> FileId {
        FileId::parse(text).expect("an id")
    }

    fn look_up(table: &NodeTable, id: &FileId) -> INodeNo {
        let number = table.number(id);
        table.look_up(number, id, 0);
        number
    }

    #[test]
    fn a_node_lasts_until_the_kernel_has_forgotten_all_of_its_lookups() {
        let table = NodeTable::default();
        let (a, number) = (id("a"), look_up(&table, &id("a")));
        assert_eq!(look_up(&table, &a), number);
        table.forget(number, 1);
        assert_eq!(table.id(number), Some(a.clone()));
        table.forget(number, 1);
        assert_eq!((table.id(number), table.known(&a)), (None, vec![]));
        // The number depends on the id alone.
        assert_eq!(NodeTable::default().number(&a), number);
    }

    #[test]
    fn the_number_of_a_replaced_object_stands_for_what_replaced_it() {
        let table = NodeTable::default();
        let (temporary, document) = (id("temporary"), id("document"));
        let number = look_up(&table, &temporary);
        table.redirect(&temporary, &document);
        assert_eq!(table.known(&document), [number]);
        // An object that comes back gets another number meanwhile.
        assert_ne!(look_up(&table, &temporary), number);
        table.forget(number, 1);
        assert_eq!(table.known(&document), []);
    }

    #[test]
    fn a_file_has_as_many_numbers_as_are_in_use() {
        let (table, file) = (NodeTable::default(), id("file"));
        let first = look_up(&table, &file);
        let other = table.add_number(&file);
        table.look_up(other, &file, 0);
        assert_eq!(table.known(&file), [first, other]);
        table.forget(first, 1);
        assert_eq!(table.known(&file), [other]);
        table.forget(other, 1);
        assert_eq!((table.known(&file), table.others.len()), (vec![], 0));
    }
}
