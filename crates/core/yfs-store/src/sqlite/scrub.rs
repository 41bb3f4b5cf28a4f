//! Clearing of deleted content: the bytes of pages that no row uses.
//!
//! A deleted row stays in its page, and a freed page stays in the file. Where SQLite rebuilds a
//! page, copies of the moved rows stay. A pass reads the pages one after the other, without a lock,
//! and rewrites those with such bytes a few at a time, each time in a short transaction. So the
//! bytes written are proportional to the bytes deleted, and other writers can write in between.
//!
//! Overflow pages, most of a large store, are not read: `secure_delete` clears them when they are
//! freed, and SQLite fills them with zeros when it reuses them.
//!
//! The layout of pages is that of SQLite's file format (<https://www.sqlite.org/fileformat2.html>).
//! A page that does not match it is left unchanged.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension};

use super::{
    shared_connections::SharedConnections, store_error::store_error, transaction::SqliteTransaction,
};
use crate::StoreError;

const ACTION: &str = "wipe removed content";

/// The number of pages that are read in one view.
const PAGES_PER_VIEW: u32 = 512;

/// The number of pages that are rewritten in one transaction: about a millisecond.
const PAGES_PER_TRANSACTION: usize = 32;

/// The position of a pass that has read all pages.
const DONE: u32 = u32::MAX;

/// SQLite reserves the page with this byte for locks.
const PENDING_BYTE: usize = 0x4000_0000;

/// The kinds of pages in the pointer map.
const KIND_ROOT: u8 = 1;
const KIND_FREE: u8 = 2;
const KIND_TREE: u8 = 5;

/// The length of the file header, and the offsets of its fields in the first page.
const HEADER_LEN: usize = 100;
const HEADER_FIRST_TRUNK: usize = 32;

/// A pass over all pages.
pub(super) struct PageScrub<'a> {
    shared: &'a SharedConnections,
    next: u32,
    /// Pages in which unused bytes were found.
    dirty: Vec<u32>,
    has_written: bool,
}

/// The layout of the pages of a file.
#[derive(Debug, Clone, Copy)]
struct PageGeometry {
    page_len: usize,
    n_pages: u32,
}

impl<'a> PageScrub<'a> {
    pub(super) fn new(shared: &'a SharedConnections) -> Self {
        Self { shared, next: 1, dirty: Vec::new(), has_written: false }
    }

    /// Reports whether this SQLite can read and write single pages.
    pub(super) fn is_possible(connection: &Connection) -> bool {
        connection.prepare("SELECT data FROM sqlite_dbpage WHERE pgno = 1").is_ok()
    }

    /// Does one step: reads some pages, or clears some in one transaction. Reports whether there is
    /// more to do.
    pub(super) fn step(&mut self) -> Result<bool, StoreError> {
        self.has_written = !self.dirty.is_empty();
        if self.dirty.is_empty() {
            return self.scan_pages();
        }
        let n_left = self.dirty.len().saturating_sub(PAGES_PER_TRANSACTION);
        let pages = self.dirty.split_off(n_left);
        self.shared.write(ACTION, |tx| clear_pages(tx, &pages).map_err(store_error(ACTION)))?;
        Ok(self.next != DONE || !self.dirty.is_empty())
    }

    /// Reports whether the last step wrote.
    pub(super) fn has_written(&self) -> bool {
        self.has_written
    }

    /// Reads the next pages in one view and collects those to clear. Reports whether there is more
    /// to do.
    fn scan_pages(&mut self) -> Result<bool, StoreError> {
        if self.next == DONE {
            return Ok(false);
        }
        let reader = self.shared.reader()?;
        let first = self.next;
        let mut scan = || -> rusqlite::Result<u32> {
            let tx = SqliteTransaction::read(&reader)?;
            let geometry = PageGeometry::of(&tx)?;
            let end = first.saturating_add(PAGES_PER_VIEW).min(geometry.n_pages + 1);
            let mut map = MapCache::default();
            let mut trunks = None;
            for page in first..end {
                if needs_clearing(&tx, geometry, page, &mut map, &mut trunks)? {
                    self.dirty.push(page);
                }
            }
            Ok(if end > geometry.n_pages { DONE } else { end })
        };
        self.next = scan().map_err(store_error(ACTION))?;
        Ok(self.next != DONE || !self.dirty.is_empty())
    }
}

impl PageGeometry {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let number = |sql| connection.query_row(sql, [], |row| row.get::<_, u32>(0));
        let page_len = number("PRAGMA page_size")? as usize;
        Ok(Self { page_len, n_pages: number("PRAGMA page_count")? })
    }

    /// Returns the pointer-map page that has the entry of a page; for a pointer-map page, itself.
    fn map_page(self, page: u32) -> u32 {
        let per_map = (self.page_len / 5) as u32 + 1;
        let map = (page - 2) / per_map * per_map + 2;
        if map == self.pending_page() { map + 1 } else { map }
    }

    fn pending_page(self) -> u32 {
        (PENDING_BYTE / self.page_len) as u32 + 1
    }
}

/// The pointer-map page that was read last.
#[derive(Debug, Default)]
struct MapCache {
    page: u32,
    data: Vec<u8>,
}

impl MapCache {
    /// Returns the kind of a page, or `None` for pointer-map pages and the page for locks.
    fn kind(
        &mut self,
        connection: &Connection,
        geometry: PageGeometry,
        page: u32,
    ) -> rusqlite::Result<Option<u8>> {
        if page == 1 {
            return Ok(Some(KIND_ROOT));
        }
        let map = geometry.map_page(page);
        if page <= map || page == geometry.pending_page() {
            return Ok(None);
        }
        if self.page != map {
            self.data = read_page(connection, map)?.unwrap_or_default();
            self.page = map;
        }
        Ok(self.data.get(5 * (page - map - 1) as usize).copied())
    }
}

/// Reports whether a page has bytes that nothing uses.
fn needs_clearing(
    connection: &Connection,
    geometry: PageGeometry,
    page: u32,
    map: &mut MapCache,
    trunks: &mut Option<HashSet<u32>>,
) -> rusqlite::Result<bool> {
    let kind = map.kind(connection, geometry, page)?;
    if !matches!(kind, Some(KIND_ROOT | KIND_TREE | KIND_FREE)) {
        return Ok(false);
    }
    let Some(mut data) = read_page(connection, page)? else { return Ok(false) };
    if kind != Some(KIND_FREE) {
        return Ok(clear_tree_page(&mut data, page));
    }
    let trunks = match trunks {
        Some(trunks) => trunks,
        none => none.insert(read_trunks(connection, geometry)?),
    };
    Ok(clear_free_page(&mut data, trunks.contains(&page)))
}

/// Clears pages that were found to need it, in their current state.
fn clear_pages(tx: &Connection, pages: &[u32]) -> rusqlite::Result<()> {
    let geometry = PageGeometry::of(tx)?;
    let mut map = MapCache::default();
    let mut trunks = None;
    for page in pages.iter().copied().filter(|page| *page <= geometry.n_pages) {
        let kind = map.kind(tx, geometry, page)?;
        let Some(mut data) = read_page(tx, page)? else { continue };
        let changed = match kind {
            Some(KIND_ROOT | KIND_TREE) => clear_tree_page(&mut data, page),
            Some(KIND_FREE) => {
                let trunks = match &trunks {
                    Some(trunks) => trunks,
                    None => trunks.insert(read_trunks(tx, geometry)?),
                };
                clear_free_page(&mut data, trunks.contains(&page))
            }
            _ => false,
        };
        if changed {
            tx.prepare_cached("UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1")?
                .execute((page, data))?;
        }
    }
    Ok(())
}

fn read_page(connection: &Connection, page: u32) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")?
        .query_row([page], |row| row.get(0))
        .optional()
}

/// Returns the free pages that list the other free pages.
fn read_trunks(connection: &Connection, geometry: PageGeometry) -> rusqlite::Result<HashSet<u32>> {
    let mut trunks = HashSet::new();
    let first = read_page(connection, 1)?.unwrap_or_default();
    let mut next = u32_at(&first, HEADER_FIRST_TRUNK).unwrap_or(0);
    // Each page once, in case the list is damaged and cyclic.
    while (2..=geometry.n_pages).contains(&next) && trunks.insert(next) {
        let trunk = read_page(connection, next)?.unwrap_or_default();
        next = u32_at(&trunk, 0).unwrap_or(0);
    }
    Ok(trunks)
}

/// Clears a free page, and reports whether it had content.
fn clear_free_page(data: &mut [u8], is_trunk: bool) -> bool {
    let used = if is_trunk { 8 + 4 * u32_at(data, 4).unwrap_or(u32::MAX) as usize } else { 0 };
    data.get_mut(used..).is_some_and(clear)
}

/// Clears the parts of a page that no cell uses, and reports whether they had content. An
/// inconsistent page is left unchanged.
fn clear_tree_page(data: &mut [u8], page: u32) -> bool {
    let Some(unused) = unused_parts(data, page) else { return false };
    let mut changed = false;
    for (start, end) in unused {
        changed |= clear(&mut data[start..end]);
    }
    changed
}

/// Returns the parts of a tree page that no cell uses: between the list of cells and the first
/// cell, and the free blocks without their first four bytes, which are the chain.
fn unused_parts(data: &[u8], page: u32) -> Option<Vec<(usize, usize)>> {
    let header = if page == 1 { HEADER_LEN } else { 0 };
    let header_len = match data.get(header)? {
        0x02 | 0x05 => 12,
        0x0a | 0x0d => 8,
        _ => return None,
    };
    let n_cells = u16_at(data, header + 3)?;
    let first_cell = match u16_at(data, header + 5)? {
        0 => 0x1_0000,
        first => first,
    };
    let cells_end = header + header_len + 2 * n_cells;
    if cells_end > first_cell || first_cell > data.len() {
        return None;
    }
    let mut unused = vec![(cells_end, first_cell)];
    let mut block = u16_at(data, header + 1)?;
    let mut after = first_cell;
    while block != 0 {
        let (next, len) = (u16_at(data, block)?, u16_at(data, block + 2)?);
        // Blocks are in order, do not overlap, and lie within the cell area.
        if block < after || len < 4 || block + len > data.len() || next != 0 && next <= block {
            return None;
        }
        unused.push((block + 4, block + len));
        after = block + len;
        block = next;
    }
    Some(unused)
}

/// Fills a range with zeros, and reports whether it had other bytes.
fn clear(bytes: &mut [u8]) -> bool {
    let is_dirty = bytes.iter().any(|byte| *byte != 0);
    if is_dirty {
        bytes.fill(0);
    }
    is_dirty
}

fn u16_at(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..)?.first_chunk::<2>()?;
    Some(usize::from(u16::from_be_bytes(*bytes)))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use crate::UpdateLog;
    use yfs_types::time::Millis;

    use super::*;
    use crate::{AppendBatch, DocName, SqliteStore, Store};

    fn doc(name: &str) -> DocName {
        DocName::parse(name).expect("a name")
    }

    /// Otherwise whole files are rewritten: see `.cargo/config.toml`.
    #[test]
    fn single_pages_can_be_read_here() {
        assert!(PageScrub::is_possible(&Connection::open_in_memory().expect("open")));
    }

    /// Other writers can write between any two steps: a pass holds no lock for longer than a step.
    #[test]
    fn others_write_between_any_two_steps() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("store.db");
        let store = SqliteStore::create_new(&path).expect("create");
        let updates = (0..20_000_u32).map(|at| {
            let name = if at % 2 == 0 { "kept" } else { "gone" };
            (doc(name), format!("{name} {at} {}", "x".repeat(100)).into_bytes())
        });
        store.append(AppendBatch::new(updates.collect(), Millis(1))).expect("append");
        // Deletes as a program does that does not clear deleted content.
        let careless = Connection::open(&path).expect("open");
        careless.execute("DELETE FROM log WHERE seq % 2 = 0", []).expect("delete");
        let other = SqliteStore::open(&path).expect("open");
        let impatient = Connection::open(&path).expect("open");
        impatient.busy_timeout(std::time::Duration::ZERO).expect("set");
        let mut scrub = PageScrub::new(&store.shared);
        let (mut n_steps, mut n_writes) = (0, 0);
        while scrub.step().expect("step") {
            n_steps += 1;
            n_writes += usize::from(scrub.has_written());
            impatient.execute_batch("BEGIN IMMEDIATE; ROLLBACK").expect("nothing is locked");
            other.append(AppendBatch::one(doc("new"), vec![1], Millis(1))).expect("append");
        }
        assert!(n_writes > 10, "{n_writes} of {n_steps}: nothing was to be cleared");
        assert_eq!(other.load(&doc("new")).expect("load").updates.len(), n_steps);
        assert_eq!(other.load(&doc("kept")).expect("load").updates.len(), 10_000);
        drop((careless, impatient));
        assert_eq!(store.check().expect("check").problems, []);
        let mut again = PageScrub::new(&store.shared);
        while again.step().expect("step") {
            assert!(!again.has_written(), "it is all clear");
        }
    }

    #[test]
    fn pages_that_contradict_themselves_are_left_alone() {
        let mut leaf = vec![7; 4096];
        // A leaf with one cell at 4000, and a free block that points outside the page.
        leaf[..10].copy_from_slice(&[0x0d, 0x0f, 0xa0, 0, 1, 0x0f, 0xa0, 0, 0x0f, 0xa0]);
        let before = leaf.clone();
        assert!(!clear_tree_page(&mut leaf, 2), "the block is too long");
        leaf[1..3].fill(0);
        assert!(clear_tree_page(&mut leaf, 2));
        assert!(leaf[10..4000].iter().all(|byte| *byte == 0));
        assert!(leaf[4000..] == before[4000..]);
        for len in [0, 1, 7, 9] {
            assert!(!clear_tree_page(&mut before[..len].to_vec(), 2));
        }
        assert!(!clear_free_page(&mut [0, 0, 0, 9, 255, 255, 255, 255], true));
    }
}
