//! The change that an update makes to the state of a document; with it the earlier state can be
//! computed from the later one.

use super::{doc::ReceiveOutcome, update_scan::IdRange};
use crate::{
    id::ClientId,
    lib0::{Lib0Error, Lib0Reader, write_var_uint},
};

/// The items that an update added to a document, and the items that it deleted.
///
/// It names items without their content.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// The items that were added.
    pub grown: Vec<IdRange>,
    /// The items that were deleted; some may be among those that were added.
    pub deleted: Vec<IdRange>,
}

impl StateChange {
    /// Returns the changes that an update made to a document.
    pub fn of(received: ReceiveOutcome) -> Self {
        let mut change = Self::default();
        for scan in received.scans {
            change.grown.extend(scan.grown);
            change.deleted.extend(scan.deleted);
            change.deleted.extend(scan.implied);
        }
        change
    }

    /// Encodes the change; an empty change is zero bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.grown.is_empty() && self.deleted.is_empty() {
            return bytes;
        }
        for ranges in [&self.grown, &self.deleted] {
            write_var_uint(&mut bytes, ranges.len() as u64);
            for range in ranges {
                write_var_uint(&mut bytes, range.client.get());
                write_var_uint(&mut bytes, range.start.into());
                write_var_uint(&mut bytes, range.len.into());
            }
        }
        bytes
    }

    /// Decodes a change from untrusted bytes.
    ///
    /// # Errors
    ///
    /// If the bytes are not a change.
    pub fn decode(bytes: &[u8]) -> Result<Self, Lib0Error> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut reader = Lib0Reader::new(bytes);
        let (grown, deleted) = (read_ranges(&mut reader)?, read_ranges(&mut reader)?);
        if !reader.is_empty() {
            return Err(Lib0Error::Number);
        }
        Ok(Self { grown, deleted })
    }
}

fn read_ranges(reader: &mut Lib0Reader<'_>) -> Result<Vec<IdRange>, Lib0Error> {
    let n_ranges = reader.var_uint()?;
    // A range takes at least three bytes.
    if n_ranges > (reader.remaining() / 3) as u64 {
        return Err(Lib0Error::End);
    }
    let mut ranges = Vec::with_capacity(n_ranges as usize);
    for _ in 0..n_ranges {
        let client = ClientId::new(reader.var_uint()?).map_err(|_| Lib0Error::Number)?;
        let (start, len) = (reader.var_u32()?, reader.var_u32()?);
        start.checked_add(len).filter(|_| len > 0).ok_or(Lib0Error::Number)?;
        ranges.push(IdRange { client, start, len });
    }
    Ok(ranges)
}
