//! Appends to an array at constant cost, so that deleted elements leave nothing behind.
//!
//! yrs finds places by index in time linear in the array, so elements are placed by id: each after
//! the last one that this client wrote there, with the right neighbor that one had. That is also
//! the only shape in which the remains of deleted elements merge: adjacent in the array, adjacent
//! clocks, one right origin. The first element of a client goes where another client would have put
//! its next one (decision 20).
//!
//! Live elements in that shape merge too, and to delete one from the middle of a merged run copies
//! the run. So after [`MAX_RUN`] live elements comes one that is deleted as it is written. It keeps
//! the runs apart while they live, and merges with them when they are gone.

use yrs::Any;

use super::row::TableError;
use crate::{
    gate::{GatedDoc, RootIx, UpdateBuilder},
    id::{ClientId, ItemId},
    lib0::write_any,
};

/// How many live elements may merge into one run.
const MAX_RUN: usize = 64;

/// One more than the greatest clock that this process uses; the gate of every peer rejects 2^31.
const CLOCK_LIMIT: u32 = (1 << 31) - (1 << 16);

/// Elements as they go over the wire.
#[derive(Debug, Default)]
pub(super) struct EncodedElements {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl EncodedElements {
    /// Adds one element, which `write` writes.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn slice(&self, from: usize, to: usize) -> &[u8] {
        let start = from.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[to - 1]]
    }
}

/// Appends `values` to what `client` wrote to an array. `run_before` counts the live elements of
/// the client with adjacent clocks before one, up to a number.
pub(super) fn append(
    update: &mut UpdateBuilder,
    doc: &GatedDoc,
    run_before: impl Fn(u32, usize) -> usize,
    client: ClientId,
    root: RootIx,
    values: &EncodedElements,
) -> Result<(), TableError> {
    if values.len() == 0 {
        return Ok(());
    }
    let mut clock = doc.clock_of(client);
    let own = doc.items().last_item(client).filter(|tail| tail.root == Some(root));
    let tail = own.or_else(|| doc.newest_tail(root));
    let (mut origin, right) = (tail.map(|tail| tail.id), tail.and_then(|tail| tail.right));
    let mut n_run = run_before(clock, MAX_RUN);
    let mut done = 0;
    while done < values.len() {
        if values.len() >= (CLOCK_LIMIT.saturating_sub(clock)) as usize {
            return Err(TableError::ClocksExhausted(client));
        }
        let id = ItemId::new(client, clock);
        if n_run == MAX_RUN {
            let mut nothing = Vec::new();
            write_any(&mut nothing, &Any::Null);
            update.array_run_encoded(id, origin, right, root.name(), 1, &nothing);
            update.delete(id);
            (clock, origin, n_run) = (clock + 1, Some(id), 0);
            continue;
        }
        let n_now = (MAX_RUN - n_run).min(values.len() - done);
        let bytes = values.slice(done, done + n_now);
        update.array_run_encoded(id, origin, right, root.name(), n_now, bytes);
        clock += u32::try_from(n_now).expect("at most MAX_RUN");
        origin = Some(ItemId::new(client, clock - 1));
        (done, n_run) = (done + n_now, n_run + n_now);
    }
    Ok(())
}
