//! The runs of the log, and the last ones of actors.

use std::collections::BTreeMap;

use super::log::RunAuthor;
use crate::{
    actor::Actor,
    id::{ClientId, ItemId},
};

/// A run in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoggedRun<'a> {
    pub(super) author: &'a RunAuthor,
    pub(super) entry: ItemId,
    pub(super) client: ClientId,
    /// The clock of its first item, and the one after its last.
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Keeps the last run of each actor.
pub(super) fn keep_last<'a>(runs: impl Iterator<Item = LoggedRun<'a>>) -> Vec<LoggedRun<'a>> {
    let mut last: BTreeMap<&Actor, LoggedRun<'a>> = BTreeMap::new();
    for run in runs {
        let order = |run: &LoggedRun<'_>| (run.author.at, run.client, run.from);
        let is_last = last.get(&run.author.actor).is_none_or(|last| order(last) < order(&run));
        if is_last {
            last.insert(&run.author.actor, run);
        }
    }
    last.into_values().collect()
}
