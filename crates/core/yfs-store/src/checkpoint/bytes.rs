//! Bounded reading and writing of numbers and byte strings.

use crate::checkpoint::{CheckpointError, Result};

/// Appends a number as LEB128.
pub(crate) fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of `bytes`, and `bytes`.
pub(crate) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A reader that never goes beyond its slice.
#[derive(Debug, Clone)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the number of bytes that were not read.
    pub(crate) fn n_left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(crate) fn read_exact(&mut self, n_bytes: usize) -> Result<&'a [u8]> {
        let (bytes, rest) =
            self.rest.split_at_checked(n_bytes).ok_or(CheckpointError::Damaged("a short value"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn read_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.read_exact(N)?.try_into();
        bytes.map_err(|_| CheckpointError::Damaged("a short value"))
    }

    #[inline]
    pub(crate) fn read_varint(&mut self) -> Result<u64> {
        match self.rest.split_first() {
            Some((byte, rest)) if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.read_long_varint(),
        }
    }

    fn read_long_varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.read_array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(CheckpointError::Damaged("a number"))
    }

    /// Reads what [`write_bytes`] wrote.
    #[inline]
    pub(crate) fn read_bytes(&mut self) -> Result<&'a [u8]> {
        let n_bytes = self.read_varint()?;
        self.read_exact(usize::try_from(n_bytes).unwrap_or(usize::MAX))
    }
}
