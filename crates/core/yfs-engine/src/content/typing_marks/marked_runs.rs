//! The runs of typing that this process marked.

use hashbrown::HashMap;

use super::super::RunAuthor;
use crate::{actor::Actor, time::Millis};

/// The greatest length of a run of typing, in milliseconds.
pub(crate) const MAX_RUN_MS: i64 = 5 * 60 * 1000;

/// The least length of a run of typing that another editor's typing ends, in milliseconds.
const MIN_RUN_MS: i64 = 10 * 1000;

/// The runs of typing that this process marked, and how much the log grew since.
#[derive(Debug, Default)]
pub(in super::super) struct TypingMarks {
    last: HashMap<Actor, LastMark>,
    pub(super) n_saves: u64,
    n_claims: u64,
}

/// The last mark of an actor.
#[derive(Debug)]
struct LastMark {
    at: Millis,
    /// The numbers of saves and claims in the log then.
    n_saves: u64,
    n_claims: u64,
}

impl TypingMarks {
    /// Counts an entry of the log.
    pub(in super::super) fn note_entry(&mut self, is_claim: bool) {
        if is_claim {
            self.n_claims += 1;
        } else {
            self.n_saves += 1;
        }
    }

    /// Notes that a mark of an author was added.
    pub(super) fn note_mark(&mut self, author: &RunAuthor) {
        let Self { n_saves, n_claims, .. } = *self;
        self.last.insert(author.actor.clone(), LastMark { at: author.at, n_saves, n_claims });
    }

    /// Reports whether the run of an actor goes on.
    pub(super) fn goes_on(&self, author: &RunAuthor) -> bool {
        self.last.get(&author.actor).is_some_and(|last| {
            let age = author.at.0.saturating_sub(last.at.0);
            let max = if last.n_claims == self.n_claims { MAX_RUN_MS } else { MIN_RUN_MS };
            last.n_saves == self.n_saves && (0..max).contains(&age)
        })
    }
}
