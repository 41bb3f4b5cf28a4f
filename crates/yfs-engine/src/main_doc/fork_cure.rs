//! Gives up forked ids of writers of rows: the values of both sides are written anew, under the
//! present ids, and the forked ones are deleted. Which value of a key wins depends on its
//! timestamp, not on its place.

use crate::{
    gate::{GateRejection, IdRange, RootIx},
    id::ItemId,
    table::TableError,
};

use super::MainDoc;

/// The values of both sides of a fork.
#[derive(Debug)]
pub struct ForkedRows {
    /// The encoded values, each once.
    values: Vec<(RootIx, Vec<u8>)>,
    /// The forked items.
    ranges: Vec<IdRange>,
}

impl MainDoc {
    /// Returns the rows and settings that both sides of a fork wrote: this document, and an update
    /// in which items have other values than here. `forks` has the first such item of each client.
    ///
    /// # Errors
    ///
    /// If one of both cannot be read.
    pub fn forked_rows(
        &self,
        forks: &[ItemId],
        arrived: &[u8],
    ) -> Result<ForkedRows, GateRejection> {
        let (state, mut values, mut ranges) = (self.encode_state(), Vec::new(), Vec::new());
        for fork in forks {
            let start = self.doc.fork_start(*fork)?;
            let Some(root) = self.doc.array_of(*fork) else { continue };
            let mut end = self.doc.clock_of(fork.client);
            let first = ItemId::new(fork.client, start);
            for update in [&state[..], arrived] {
                let (found, until) = self.doc.living_values(update, first)?;
                values.extend(found.into_iter().map(|value| (root, value)));
                end = end.max(until);
            }
            let len = end - start;
            ranges.push(IdRange { client: fork.client, start, len });
        }
        values.sort_unstable();
        values.dedup();
        Ok(ForkedRows { values, ranges })
    }

    /// Returns the update that writes the values of both sides anew. Changes nothing.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn plan_fork_cure(&self, rows: &ForkedRows) -> Result<Vec<u8>, TableError> {
        self.files.plan_copies(&self.doc, &rows.values, &rows.ranges)
    }
}
