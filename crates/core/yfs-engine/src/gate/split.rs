//! Splits an update into several, for messages of bounded size.
//!
//! The parts are to be applied in their order: a struct comes after those that it needs, as far as
//! they are in the update. So a receiver that has what the whole update needs parks nothing.
//!
//! # Cost
//!
//! Linear in the update.

use std::ops::Range;

use hashbrown::HashMap;

use super::{
    GateRejection,
    limits::GateLimits,
    parse::{ItemParent, ParsedUpdate, StructKind, UpdateStruct, parse},
    rewrite::write_deletes,
    role::DocRole,
    struct_content::{write_content, write_links},
    update_scan::IdRange,
};
use crate::{
    id::{ClientId, ItemId},
    lib0::write_var_uint,
};

/// The size of the parts of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitSize {
    /// The size above which a part gets no further structs, in bytes. A struct is split only if it
    /// holds several values, so a part may be larger by one struct.
    pub bytes: usize,
    /// The greatest number of structs in a part.
    pub structs: usize,
}

/// Splits an update of a document into parts that have the same effect when they are applied in
/// their order. An update that is not larger than a part is returned as it is.
///
/// A deletion is in the part that has the last of the structs that it deletes. The deletions of a
/// main document are all in the last part: a row is deleted when it is replaced, and without its
/// replacement the file would be gone.
///
/// # Errors
///
/// If the update is malformed.
pub fn split(role: DocRole, update: &[u8], size: SplitSize) -> Result<Vec<Vec<u8>>, GateRejection> {
    let parsed = parse(update, &GateLimits::default(), false)?;
    if update.len() <= size.bytes && parsed.structs.len() <= size.structs {
        return Ok(vec![update.to_vec()]);
    }
    let mut splitter = UpdateSplitter::new(role, &parsed, size);
    for nth in StructOrder::new(&parsed).collect() {
        splitter.add(nth)?;
    }
    Ok(splitter.finish())
}

/// The order in which the structs of an update can be integrated.
struct StructOrder<'p, 'a> {
    parsed: &'p ParsedUpdate<'a>,
    /// The run of each client.
    run_of: HashMap<ClientId, usize>,
    /// The next struct of each run.
    next: Vec<usize>,
    is_open: Vec<bool>,
}

/// A struct, and the run that it is in.
#[derive(Debug, Clone, Copy)]
struct StructAt {
    run: usize,
    index: usize,
}

impl<'p, 'a> StructOrder<'p, 'a> {
    fn new(parsed: &'p ParsedUpdate<'a>) -> Self {
        let runs = parsed.runs.iter().enumerate();
        Self {
            parsed,
            run_of: runs.map(|(nth, run)| (run.client, nth)).collect(),
            next: parsed.runs.iter().map(|run| run.first).collect(),
            is_open: vec![false; parsed.runs.len()],
        }
    }

    /// Visits all structs, those that another needs before it. Structs that need each other come in
    /// any order: the receiver decides.
    fn collect(mut self) -> Vec<StructAt> {
        let mut order = Vec::with_capacity(self.parsed.structs.len());
        for first in 0..self.parsed.runs.len() {
            // Each run, and the clock up to which it is visited for the one below.
            let mut stack = vec![(first, u32::MAX)];
            while let Some((run, upto)) = stack.last().copied() {
                let index = self.next[run];
                let item = self.parsed.structs[..self.parsed.runs[run].end].get(index);
                let Some(item) = item.filter(|item| item.clock <= upto) else {
                    self.is_open[run] = false;
                    stack.pop();
                    continue;
                };
                self.is_open[run] = true;
                match self.needs(item) {
                    Some(needed) => stack.push(needed),
                    None => {
                        order.push(StructAt { run, index });
                        self.next[run] += 1;
                    }
                }
            }
        }
        order
    }

    /// Returns a run that must be visited before a struct, and up to which clock.
    fn needs(&self, item: &UpdateStruct<'_>) -> Option<(usize, u32)> {
        let parent = match item.parent {
            ItemParent::Item(id) => Some(id),
            _ => None,
        };
        let needed = [item.origin, item.right, parent].into_iter().flatten();
        needed.filter_map(|id| Some((self.unvisited(id)?, id.clock))).next()
    }

    /// Returns the run of an item that the update has and that was not visited, if its turn may
    /// come now.
    fn unvisited(&self, id: ItemId) -> Option<usize> {
        let run = *self.run_of.get(&id.client)?;
        let next = self.parsed.structs[..self.parsed.runs[run].end].get(self.next[run])?;
        (next.clock <= id.clock && !self.is_open[run] && self.run_end(run) > id.clock)
            .then_some(run)
    }

    fn run_end(&self, run: usize) -> u32 {
        let run = &self.parsed.runs[run];
        self.parsed.structs[run.first..run.end].last().map_or(0, |item| item.clock + item.len)
    }
}

/// Collects structs into parts.
struct UpdateSplitter<'p, 'a> {
    role: DocRole,
    parsed: &'p ParsedUpdate<'a>,
    size: SplitSize,
    parts: Vec<Vec<u8>>,
    /// What the part that is being collected has of each run.
    runs: Vec<PartRun>,
    /// Where each run is in `runs`.
    run_at: HashMap<usize, usize>,
    n_bytes: usize,
    n_structs: usize,
    /// The deletions that no part has yet, sorted.
    deletes: Vec<IdRange>,
}

/// Structs of one client that follow each other.
struct PartRun {
    client: ClientId,
    clocks: Range<u32>,
    n_structs: usize,
    structs: Vec<u8>,
}

impl<'p, 'a> UpdateSplitter<'p, 'a> {
    fn new(role: DocRole, parsed: &'p ParsedUpdate<'a>, size: SplitSize) -> Self {
        Self {
            role,
            parsed,
            size,
            parts: Vec::new(),
            runs: Vec::new(),
            run_at: HashMap::new(),
            n_bytes: 0,
            n_structs: 0,
            deletes: parsed.deletes.clone(),
        }
    }

    /// Adds a struct to the current part, or its values to several.
    fn add(&mut self, StructAt { run, index }: StructAt) -> Result<(), GateRejection> {
        let item = self.parsed.structs[index];
        if item.kind == StructKind::Skip {
            return Ok(());
        }
        let n_pieces = match item.kind {
            StructKind::Any => (item.end - item.at).div_ceil(self.size.bytes.max(1)) as u32,
            _ => 1,
        };
        let step = item.len.div_ceil(n_pieces.max(1)).max(1);
        let mut clock = item.clock;
        while clock < item.clock + item.len {
            let end = clock.saturating_add(step).min(item.clock + item.len);
            self.add_piece(run, &item, clock..end)?;
            clock = end;
        }
        Ok(())
    }

    fn add_piece(
        &mut self,
        run: usize,
        item: &UpdateStruct<'a>,
        clocks: Range<u32>,
    ) -> Result<(), GateRejection> {
        let client = self.parsed.runs[run].client;
        let mut bytes = Vec::new();
        if clocks.start == item.clock && clocks.end == item.clock + item.len {
            bytes.extend_from_slice(&self.parsed.bytes[item.at..item.end]);
        } else {
            write_links(&mut bytes, self.parsed, client, item, clocks.start, item.kind);
            write_content(&mut bytes, self.parsed, item, &clocks)?;
        }
        let is_full = self.n_bytes > 0 && self.n_bytes + bytes.len() > self.size.bytes;
        // Structs of one client in one part follow each other.
        let at = self.run_at.get(&run).copied();
        let has_gap = at.is_some_and(|at| self.runs[at].clocks.end != clocks.start);
        if is_full || has_gap || self.n_structs >= self.size.structs {
            self.end_part();
        }
        self.n_bytes += bytes.len();
        self.n_structs += 1;
        let n_runs = self.runs.len();
        let at = *self.run_at.entry(run).or_insert(n_runs);
        if at == n_runs {
            let clocks = clocks.start..clocks.start;
            self.runs.push(PartRun { client, clocks, n_structs: 0, structs: Vec::new() });
        }
        let part = &mut self.runs[at];
        part.clocks.end = clocks.end;
        part.n_structs += 1;
        part.structs.append(&mut bytes);
        Ok(())
    }

    /// Ends the current part. It gets the deletions of what it has.
    fn end_part(&mut self) {
        let deletes = match self.role {
            DocRole::Main => Vec::new(),
            DocRole::Content => self.take_deletes(),
        };
        self.write_part(&deletes);
    }

    /// Returns the rest, with all deletions that are left, as the last part.
    fn finish(mut self) -> Vec<Vec<u8>> {
        let deletes = std::mem::take(&mut self.deletes);
        self.write_part(&deletes);
        self.parts
    }

    fn write_part(&mut self, deletes: &[IdRange]) {
        self.run_at.clear();
        (self.n_bytes, self.n_structs) = (0, 0);
        let runs = std::mem::take(&mut self.runs);
        let mut out = Vec::new();
        write_var_uint(&mut out, runs.len() as u64);
        for run in runs {
            write_var_uint(&mut out, run.n_structs as u64);
            write_var_uint(&mut out, run.client.get());
            write_var_uint(&mut out, u64::from(run.clocks.start));
            out.extend_from_slice(&run.structs);
        }
        write_deletes(&mut out, deletes);
        self.parts.push(out);
    }

    /// Removes and returns the deletions that end in the structs of the current part.
    fn take_deletes(&mut self) -> Vec<IdRange> {
        let ends: HashMap<ClientId, u32> =
            self.runs.iter().map(|run| (run.client, run.clocks.end)).collect();
        let is_within =
            |range: &IdRange| ends.get(&range.client).is_some_and(|end| range.end() <= *end);
        let (taken, left) = self.deletes.iter().partition(|range| is_within(range));
        self.deletes = left;
        taken
    }
}
