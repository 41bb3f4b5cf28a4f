//! The columns of version 2: values packed by runs, as the encoders of lib0 write them.

use crate::lib0::{Lib0Error, Lib0Reader};

/// Bytes with how often each is repeated; the last is repeated for ever.
pub(super) struct Runs<'a> {
    reader: Lib0Reader<'a>,
    value: u8,
    /// The number of times that the value is still to be returned; `None` means for ever.
    n_left: Option<u64>,
}

/// Numbers; one that is repeated is written negative, with how often.
pub(super) struct Numbers<'a> {
    reader: Lib0Reader<'a>,
    value: u64,
    n_left: u64,
}

/// Numbers, each as the difference from the one before; one that is repeated is written with how
/// often.
pub(super) struct Differences<'a> {
    reader: Lib0Reader<'a>,
    value: i64,
    difference: i64,
    n_left: u64,
}

/// Strings: one that holds all, and the lengths of each in UTF-16 code units.
pub(super) struct Strings<'a> {
    text: &'a str,
    lens: Numbers<'a>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Lib0Reader::new(bytes), value: 0, n_left: Some(0) }
    }

    pub(super) fn next(&mut self) -> Result<u8, Lib0Error> {
        if self.n_left == Some(0) {
            self.value = self.reader.u8()?;
            self.n_left = match self.reader.is_empty() {
                true => None,
                false => Some(self.reader.var_uint()?.saturating_add(1)),
            };
        }
        self.n_left = self.n_left.map(|n_left| n_left - 1);
        Ok(self.value)
    }
}

impl<'a> Numbers<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Lib0Reader::new(bytes), value: 0, n_left: 0 }
    }

    pub(super) fn next(&mut self) -> Result<u64, Lib0Error> {
        if self.n_left == 0 {
            // Zero may be negative.
            let is_repeated = self.reader.clone().u8()? & 0x40 != 0;
            self.value = self.reader.var_int()?.unsigned_abs();
            self.n_left = if is_repeated { repeated(&mut self.reader)? } else { 1 };
        }
        self.n_left -= 1;
        Ok(self.value)
    }
}

impl<'a> Differences<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Lib0Reader::new(bytes), value: 0, difference: 0, n_left: 0 }
    }

    pub(super) fn next(&mut self) -> Result<u64, Lib0Error> {
        if self.n_left == 0 {
            let packed = self.reader.var_int()?;
            // The lowest bit is set if a count follows.
            self.difference = packed.div_euclid(2);
            self.n_left = if packed & 1 != 0 { repeated(&mut self.reader)? } else { 1 };
        }
        self.n_left -= 1;
        self.value = self.value.checked_add(self.difference).ok_or(Lib0Error::Number)?;
        u64::try_from(self.value).map_err(|_| Lib0Error::Number)
    }
}

fn repeated(reader: &mut Lib0Reader<'_>) -> Result<u64, Lib0Error> {
    Ok(reader.var_uint()?.saturating_add(2))
}

impl<'a> Strings<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Lib0Error> {
        let mut reader = Lib0Reader::new(bytes);
        // The column of a document without strings is empty.
        let text = if reader.is_empty() { "" } else { reader.string()? };
        let lens = Numbers::new(reader.take(reader.remaining())?);
        Ok(Self { text, lens })
    }

    pub(super) fn next(&mut self) -> Result<&'a str, Lib0Error> {
        let mut n_units = self.lens.next()?;
        let mut end = 0;
        let mut chars = self.text.chars();
        while n_units > 0 {
            let char = chars.next().ok_or(Lib0Error::End)?;
            n_units = n_units.checked_sub(char.len_utf16() as u64).ok_or(Lib0Error::Utf8)?;
            end += char.len_utf8();
        }
        let (next, rest) = self.text.split_at(end);
        self.text = rest;
        Ok(next)
    }
}
