//! The cases of the fuzz targets: each takes any bytes, and panics if the code under it is wrong.
//!
//! `fuzz_targets/` has a program for each case, which libFuzzer runs. The test `fuzz_cases` of the
//! repository includes this file, and runs every case over its seeds and changes of them, so that
//! the cases compile and hold with a stable compiler as well.

use std::borrow::Cow;

pub mod analysis;
pub mod artifact_reference;
pub mod engine_records;
pub mod front_matter;
pub mod gate;
pub mod image_header;
pub mod kept_analysis;
pub mod key_record;
pub mod markdown;
pub mod name;
pub mod path;
pub mod peer_message;
pub mod query_document;
pub mod scanner;
pub mod thread_address;

/// A case: code that any bytes must not break.
#[derive(Debug, Clone, Copy)]
pub struct FuzzCase {
    /// The name of the case and of its target.
    pub name: &'static str,
    /// Runs the case.
    pub run: fn(&[u8]),
    /// Inputs that reach far into the code.
    pub seeds: &'static [&'static [u8]],
}

/// Makes a case of a module.
macro_rules! case {
    ($name:ident) => {
        FuzzCase { name: stringify!($name), run: $name::run, seeds: $name::SEEDS }
    };
}

/// All cases.
pub const CASES: &[FuzzCase] = &[
    case!(analysis),
    case!(artifact_reference),
    case!(engine_records),
    case!(front_matter),
    case!(gate),
    case!(image_header),
    case!(kept_analysis),
    case!(key_record),
    case!(markdown),
    case!(name),
    case!(path),
    case!(peer_message),
    case!(query_document),
    case!(scanner),
    case!(thread_address),
];

/// Takes the parts of an input.
#[derive(Debug)]
pub struct FuzzInput<'a>(pub &'a [u8]);

impl<'a> FuzzInput<'a> {
    /// Takes a byte; 0 at the end.
    pub fn take_byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        }
    }

    /// Takes a piece whose length is before it in two bytes, or what is left of it.
    pub fn take_piece(&mut self) -> &'a [u8] {
        let len = usize::from(u16::from_le_bytes([self.take_byte(), self.take_byte()]));
        let (piece, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        piece
    }

    /// Takes a piece as text.
    pub fn take_text(&mut self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.take_piece())
    }

    /// Returns what is left as text.
    pub fn rest_as_text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}
