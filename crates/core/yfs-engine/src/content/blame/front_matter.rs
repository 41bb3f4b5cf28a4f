//! The authors of the lines of front matter.
//!
//! Front matter is a map and the bytes that the map does not express, so no item is a line of it.
//! Its authors are found as other version controls find them: a line is of the version that first
//! has it. Only versions of runs that wrote front matter are read.

use hashbrown::HashMap;

use super::{
    super::{
        document::ContentDoc,
        rich::{FRONT_MATTER, SOURCE},
    },
    BlamePiece, push_piece,
};
use crate::{gate::IdRange, id::ItemId};

/// The greatest number of versions that are read; a line that is older is of the oldest of them.
const MAX_READ: usize = 12;

/// Attributes front matter.
pub(super) fn attribute_front(doc: &mut ContentDoc, front: &str) -> Vec<BlamePiece> {
    if front.is_empty() {
        return Vec::new();
    }
    let now = doc.version();
    let all = now.clocks().filter(|(_, end)| *end > 0);
    let all: Vec<IdRange> = all.map(|(client, len)| IdRange { client, start: 0, len }).collect();
    let parts = doc.replica.gate.items().parts_in(&all, &[FRONT_MATTER, SOURCE]);
    let versions = doc.timeline().versions();
    let places: HashMap<ItemId, usize> = versions
        .iter()
        .enumerate()
        .flat_map(|(place, version)| version.runs.iter().map(move |run| (*run, place)))
        .collect();
    let mut runs: Vec<(usize, ItemId)> = Vec::new();
    for part in parts {
        let mut clock = part.start;
        while clock < part.end() {
            let (run, upto) = doc.registers.log.run_of(ItemId::new(part.client, clock));
            runs.extend(run.and_then(|(run, _)| Some((*places.get(&run)?, run))));
            clock = upto;
        }
    }
    runs.sort_unstable();
    runs.dedup();
    let runs = runs.split_off(runs.len().saturating_sub(MAX_READ));
    let before: Vec<usize> = runs.iter().map(|(place, _)| place.wrapping_sub(1)).collect();
    let before = doc.timeline().versions_at(&before);
    let mut owners: Vec<Option<ItemId>> = front.split_inclusive('\n').map(|_| None).collect();
    for ((_, run), before) in runs.iter().zip(before).rev() {
        let text = before.and_then(|version| doc.text_at(&version).ok()).unwrap_or_default();
        let before = &text[..text.len() - super::split(&text).body.len()];
        claim_new_lines(front, before, *run, &mut owners);
    }
    let mut pieces = Vec::new();
    let mut at = 0;
    for (line, owner) in front.split_inclusive('\n').zip(owners) {
        let run = owner.or(runs.first().map(|(_, run)| *run));
        let author = run.and_then(|run| doc.registers.log.author_of_entry(run)).cloned();
        push_piece(&mut pieces, BlamePiece { range: at..at + line.len(), author, run });
        at += line.len();
    }
    pieces
}

/// Gives a run the lines that have no owner yet and that the text before it lacks.
fn claim_new_lines(front: &str, before: &str, run: ItemId, owners: &mut [Option<ItemId>]) {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in before.lines() {
        *known.entry(line).or_default() += 1;
    }
    for (line, owner) in front.lines().zip(owners) {
        match known.get_mut(line).filter(|n_left| **n_left > 0) {
            Some(n_left) => *n_left -= 1,
            None => *owner = owner.or(Some(run)),
        }
    }
}
