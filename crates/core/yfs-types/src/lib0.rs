//! The bytes of lib0, the encoding of Yjs: variable-length integers, strings, and buffers.
//!
//! [`Lib0Reader`] reads bytes of unknown origin: it checks each length against the remaining bytes
//! before it allocates, checks UTF-8, and never recurses. The writing functions produce the bytes
//! that JavaScript's lib0 produces.

use thiserror::Error;

/// Why bytes are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Lib0Error {
    /// The bytes end before the value does.
    #[error("the bytes end too early")]
    End,
    /// A number does not fit, or is written with more digits than it can have.
    #[error("a number is too large")]
    Number,
    /// A string is not UTF-8.
    #[error("a string is not UTF-8")]
    Utf8,
    /// A value has a tag that lib0 does not define.
    #[error("a value has the unknown tag {0}")]
    Tag(u8),
    /// A value is nested deeper than the limit.
    #[error("a value is nested too deeply")]
    Depth,
    /// A value has more parts than the limit.
    #[error("a value has too many parts")]
    Parts,
}

/// Reads lib0 values from bytes that anybody may have sent.
#[derive(Debug, Clone)]
pub struct Lib0Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Lib0Reader<'a> {
    /// Reads `bytes` from their start.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Reads `bytes` from `position`.
    pub fn at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position: position.min(bytes.len()) }
    }

    /// Returns how many bytes have been read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns how many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Returns the bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// Tells whether every byte has been read.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Reads one byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Lib0Error> {
        let byte = *self.bytes.get(self.position).ok_or(Lib0Error::End)?;
        self.position += 1;
        Ok(byte)
    }

    /// Reads `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Lib0Error> {
        if len > self.remaining() {
            return Err(Lib0Error::End);
        }
        let taken = &self.bytes[self.position..self.position + len];
        self.position += len;
        Ok(taken)
    }

    /// Reads an unsigned integer of variable length.
    #[inline]
    pub fn var_uint(&mut self) -> Result<u64, Lib0Error> {
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.u8()?;
            let digit = u64::from(byte & 0x7f);
            if shift > 63 || (shift == 63 && digit > 1) {
                return Err(Lib0Error::Number);
            }
            number |= digit << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    /// Reads an unsigned integer of variable length that must fit into 32 bits.
    #[inline]
    pub fn var_u32(&mut self) -> Result<u32, Lib0Error> {
        u32::try_from(self.var_uint()?).map_err(|_| Lib0Error::Number)
    }

    /// Reads a signed integer of variable length; negative zero reads as zero.
    pub fn var_int(&mut self) -> Result<i64, Lib0Error> {
        let first = self.u8()?;
        let negative = first & 0x40 != 0;
        let mut number = u64::from(first & 0x3f);
        let mut shift = 6;
        let mut more = first & 0x80 != 0;
        while more {
            let byte = self.u8()?;
            let digit = u64::from(byte & 0x7f);
            if shift > 62 || (shift == 62 && digit > 1) {
                return Err(Lib0Error::Number);
            }
            number |= digit << shift;
            shift += 7;
            more = byte & 0x80 != 0;
        }
        let number = i64::try_from(number).map_err(|_| Lib0Error::Number)?;
        Ok(if negative { -number } else { number })
    }

    /// Reads bytes that are preceded by their length.
    #[inline]
    pub fn buffer(&mut self) -> Result<&'a [u8], Lib0Error> {
        let len = usize::try_from(self.var_uint()?).map_err(|_| Lib0Error::End)?;
        self.take(len)
    }

    /// Reads a string that is preceded by its length in bytes.
    #[inline]
    pub fn string(&mut self) -> Result<&'a str, Lib0Error> {
        std::str::from_utf8(self.buffer()?).map_err(|_| Lib0Error::Utf8)
    }
}

/// Appends an unsigned integer of variable length.
pub fn write_var_uint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed integer of variable length.
pub fn write_var_int(out: &mut Vec<u8>, number: i64) {
    let mut rest = number.unsigned_abs();
    let sign = if number < 0 { 0x40 } else { 0 };
    let more = |rest: u64| if rest > 0 { 0x80 } else { 0 };
    let first = rest as u8 & 0x3f;
    rest >>= 6;
    out.push(more(rest) | sign | first);
    while rest > 0 {
        let digit = rest as u8 & 0x7f;
        rest >>= 7;
        out.push(more(rest) | digit);
    }
}

/// Appends a string, preceded by its length in bytes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    write_buffer(out, text.as_bytes());
}

/// Appends bytes, preceded by their number.
pub fn write_buffer(out: &mut Vec<u8>, bytes: &[u8]) {
    write_var_uint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
