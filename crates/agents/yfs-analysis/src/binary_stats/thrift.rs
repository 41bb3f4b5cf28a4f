//! A reader of Thrift's compact protocol, for descriptions that may lie.
//!
//! # Invariants
//!
//! - It reads nothing beyond its bytes, and at most [`MAX_VALUES`] values. A number that a
//!   description states is neither a length to allocate nor one to loop without reading.

/// The most values of one description: fields, elements, and ends of structures.
const MAX_VALUES: usize = 1_000_000;

/// How deep values that are skipped may be nested.
const MAX_DEPTH: usize = 16;

/// A reader of values. Every method returns `None` for bytes that are no such value.
pub(super) struct ThriftReader<'a> {
    bytes: &'a [u8],
    /// The values that may still be read.
    n_left: usize,
}

/// The type of a value, as the protocol numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThriftType {
    True,
    False,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List,
    Set,
    Struct,
}

/// The header of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FieldHeader {
    pub(super) id: i16,
    pub(super) kind: ThriftType,
}

impl ThriftType {
    fn of_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            1 => Self::True,
            2 => Self::False,
            3 => Self::Byte,
            4 => Self::I16,
            5 => Self::I32,
            6 => Self::I64,
            7 => Self::Double,
            8 => Self::Binary,
            9 => Self::List,
            10 => Self::Set,
            12 => Self::Struct,
            _ => return None,
        })
    }
}

impl<'a> ThriftReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, n_left: MAX_VALUES }
    }

    fn read_byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    fn read_number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a whole number of any width but a byte.
    pub(super) fn read_signed(&mut self) -> Option<i64> {
        let number = self.read_number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn read_bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.read_number()?).ok()?;
        let (bytes, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(bytes)
    }

    /// Reads a structure: calls `read` with each field, which must read its value, or skip it.
    pub(super) fn read_struct(
        &mut self,
        mut read: impl FnMut(&mut Self, FieldHeader) -> Option<()>,
    ) -> Option<()> {
        let mut before = 0;
        loop {
            self.n_left = self.n_left.checked_sub(1)?;
            let byte = self.read_byte()?;
            if byte == 0 {
                return Some(());
            }
            let id = match byte >> 4 {
                0 => i16::try_from(self.read_signed()?).ok()?,
                delta => i16::checked_add(before, i16::from(delta))?,
            };
            before = id;
            read(self, FieldHeader { id, kind: ThriftType::of_bits(byte & 15)? })?;
        }
    }

    /// Reads a list or a set: calls `read` for each element, which must read it, or skip it.
    pub(super) fn read_list(
        &mut self,
        mut read: impl FnMut(&mut Self, ThriftType, u64) -> Option<()>,
    ) -> Option<u64> {
        let byte = self.read_byte()?;
        let len = match byte >> 4 {
            15 => self.read_number()?,
            len => u64::from(len),
        };
        if len == 0 {
            // Some writers give the elements of an empty list no type.
            return Some(0);
        }
        let kind = ThriftType::of_bits(byte & 15)?;
        for index in 0..len {
            self.n_left = self.n_left.checked_sub(1)?;
            read(self, kind, index)?;
        }
        Some(len)
    }

    /// Skips the value of a field.
    pub(super) fn skip_field(&mut self, field: FieldHeader) -> Option<()> {
        match field.kind {
            // The type is the value.
            ThriftType::True | ThriftType::False => Some(()),
            kind => self.skip(kind, 0),
        }
    }

    fn skip(&mut self, kind: ThriftType, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            ThriftType::True | ThriftType::False | ThriftType::Byte => drop(self.read_byte()?),
            ThriftType::I16 | ThriftType::I32 | ThriftType::I64 => drop(self.read_number()?),
            ThriftType::Double => self.bytes = self.bytes.get(8..)?,
            ThriftType::Binary => drop(self.read_bytes()?),
            ThriftType::List | ThriftType::Set => {
                self.read_list(|reader, kind, _| reader.skip(kind, depth + 1))?;
            }
            ThriftType::Struct => self.read_struct(|reader, field| match field.kind {
                ThriftType::True | ThriftType::False => Some(()),
                kind => reader.skip(kind, depth + 1),
            })?,
        }
        Some(())
    }
}
