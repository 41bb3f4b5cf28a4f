//! Updates of version 2, which files may hold: rewritten as version 1, which the gate reads.
//!
//! Version 2 keeps the parts of structs in columns, packed by runs. A run of 2^53 values takes ten
//! bytes, so the output is bounded, not the input.
//!
//! # Cost
//!
//! Linear in the bytes that are written, at most [`GateLimits::message_bytes`].

mod columns;

use self::columns::{Differences, Numbers, Runs, Strings};
use super::{GateLimits, GateRejection, parse::parse};
use crate::lib0::{
    AnyLimits, Lib0Error, Lib0Reader, read_any, skip_any, write_buffer, write_string,
    write_var_uint,
};

/// The first byte of an update of version 2.
const FEATURES: u8 = 0;

const HAS_ORIGIN: u8 = 0x80;
const HAS_RIGHT: u8 = 0x40;
const HAS_KEY: u8 = 0x20;

/// Rewrites an update of version 2 as version 1. Returns `None` if the bytes are of version 1.
///
/// # Errors
///
/// If the bytes are of neither version, or the result would exceed the limits of a message.
pub fn from_v2(bytes: &[u8], limits: &GateLimits) -> Result<Option<Vec<u8>>, GateRejection> {
    match parse(bytes, limits, true) {
        Ok(_) => Ok(None),
        Err(refusal) if bytes.first() != Some(&FEATURES) => Err(refusal),
        Err(_) => {
            let rewritten = Rewriter::open(bytes, limits)
                .and_then(|mut rewriter| rewriter.update().map(|()| rewriter.out));
            let at = bytes.len();
            rewritten.map(Some).map_err(|source| GateRejection::Malformed { at, source })
        }
    }
}

struct Rewriter<'a, 'l> {
    limits: &'l GateLimits,
    key_clocks: Differences<'a>,
    clients: Numbers<'a>,
    left_clocks: Differences<'a>,
    right_clocks: Differences<'a>,
    infos: Runs<'a>,
    strings: Strings<'a>,
    parent_infos: Runs<'a>,
    type_refs: Numbers<'a>,
    lens: Numbers<'a>,
    rest: Lib0Reader<'a>,
    keys: Vec<&'a str>,
    out: Vec<u8>,
}

type Step<T = ()> = Result<T, Lib0Error>;

impl<'a, 'l> Rewriter<'a, 'l> {
    fn open(bytes: &'a [u8], limits: &'l GateLimits) -> Step<Self> {
        let mut reader = Lib0Reader::new(bytes);
        reader.u8()?;
        Ok(Self {
            limits,
            key_clocks: Differences::new(reader.buffer()?),
            clients: Numbers::new(reader.buffer()?),
            left_clocks: Differences::new(reader.buffer()?),
            right_clocks: Differences::new(reader.buffer()?),
            infos: Runs::new(reader.buffer()?),
            strings: Strings::new(reader.buffer()?)?,
            parent_infos: Runs::new(reader.buffer()?),
            type_refs: Numbers::new(reader.buffer()?),
            lens: Numbers::new(reader.buffer()?),
            rest: reader,
            keys: Vec::new(),
            out: Vec::with_capacity(bytes.len()),
        })
    }

    fn update(&mut self) -> Step {
        let n_clients = self.copy_uint()?;
        for _ in 0..n_clients {
            let n_structs = self.copy_uint()?;
            let client = self.clients.next()?;
            self.uint(client)?;
            self.copy_uint()?;
            for _ in 0..n_structs {
                self.one_struct()?;
            }
        }
        self.deletes()?;
        if self.rest.is_empty() { Ok(()) } else { Err(Lib0Error::Parts) }
    }

    fn one_struct(&mut self) -> Step {
        let info = self.infos.next()?;
        self.out.push(info);
        match info & 0x1f {
            0 => self.copy_len().map(drop),
            10 => self.copy_uint().map(drop),
            kind => {
                self.neighbours(info)?;
                self.content(kind)
            }
        }
    }

    fn neighbours(&mut self, info: u8) -> Step {
        if info & HAS_ORIGIN != 0 {
            self.left_id()?;
        }
        if info & HAS_RIGHT != 0 {
            let (client, clock) = (self.clients.next()?, self.right_clocks.next()?);
            self.id(client, clock)?;
        }
        if info & (HAS_ORIGIN | HAS_RIGHT) != 0 {
            return Ok(());
        }
        if self.parent_infos.next()? == 1 {
            self.uint(1)?;
            self.copy_string()?;
        } else {
            self.uint(0)?;
            self.left_id()?;
        }
        if info & HAS_KEY != 0 { self.copy_string() } else { Ok(()) }
    }

    fn content(&mut self, kind: u8) -> Step {
        match kind {
            1 => self.copy_len().map(drop),
            2 => {
                let len = self.copy_len()?;
                (0..len).try_for_each(|_| self.copy_string())
            }
            3 => {
                let data = self.rest.buffer()?;
                write_buffer(&mut self.out, data);
                self.check()
            }
            4 => self.copy_string(),
            5 => self.json(),
            6 => {
                self.key()?;
                self.json()
            }
            7 => {
                let type_ref = self.type_refs.next()?;
                self.uint(type_ref)?;
                // Elements and hooks have a name.
                if matches!(type_ref, 3 | 5) { self.key() } else { Ok(()) }
            }
            8 => {
                let len = self.copy_len()?;
                (0..len).try_for_each(|_| self.copy_any())
            }
            9 => {
                self.copy_string()?;
                self.copy_any()
            }
            tag => Err(Lib0Error::Tag(tag)),
        }
    }

    fn deletes(&mut self) -> Step {
        let n_clients = self.copy_uint()?;
        for _ in 0..n_clients {
            self.copy_uint()?;
            let n_ranges = self.copy_uint()?;
            let mut clock = 0_u64;
            for _ in 0..n_ranges {
                let start = clock.checked_add(self.rest.var_uint()?).ok_or(Lib0Error::Number)?;
                let len = self.rest.var_uint()?.checked_add(1).ok_or(Lib0Error::Number)?;
                clock = start.checked_add(len).ok_or(Lib0Error::Number)?;
                self.uint(start)?;
                self.uint(len)?;
            }
        }
        Ok(())
    }

    fn left_id(&mut self) -> Step {
        let (client, clock) = (self.clients.next()?, self.left_clocks.next()?);
        self.id(client, clock)
    }

    fn id(&mut self, client: u64, clock: u64) -> Step {
        self.uint(client)?;
        self.uint(clock)
    }

    /// Writes a key that may have been used before.
    fn key(&mut self) -> Step {
        let clock = self.key_clocks.next()?;
        let known = usize::try_from(clock).ok().and_then(|clock| self.keys.get(clock)).copied();
        let key = match known {
            Some(key) => key,
            None => {
                let key = self.strings.next()?;
                self.keys.push(key);
                key
            }
        };
        write_string(&mut self.out, key);
        self.check()
    }

    /// Writes a value as the JSON text that it is in version 1.
    fn json(&mut self) -> Step {
        let limits = AnyLimits { depth: self.limits.json_depth, parts: self.limits.message_values };
        let mut json = String::new();
        read_any(&mut self.rest, limits)?.to_json(&mut json);
        write_string(&mut self.out, &json);
        self.check()
    }

    fn copy_any(&mut self) -> Step {
        let limits =
            AnyLimits { depth: self.limits.carried_depth, parts: self.limits.message_values };
        let mut end = self.rest.clone();
        skip_any(&mut end, limits)?;
        let value = self.rest.take(end.position() - self.rest.position())?;
        self.out.extend_from_slice(value);
        self.check()
    }

    fn copy_string(&mut self) -> Step {
        write_string(&mut self.out, self.strings.next()?);
        self.check()
    }

    fn copy_len(&mut self) -> Step<u64> {
        let len = self.lens.next()?;
        self.uint(len)?;
        Ok(len)
    }

    fn copy_uint(&mut self) -> Step<u64> {
        let number = self.rest.var_uint()?;
        self.uint(number)?;
        Ok(number)
    }

    fn uint(&mut self, number: u64) -> Step {
        write_var_uint(&mut self.out, number);
        self.check()
    }

    fn check(&self) -> Step {
        if self.out.len() > self.limits.message_bytes { Err(Lib0Error::Parts) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
