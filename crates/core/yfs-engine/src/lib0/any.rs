//! Values of the type that Yjs calls `any`, read without recursion.

use std::{collections::HashMap, sync::Arc};

use yrs::{Any, any::Number};

use super::{Lib0Error, Lib0Reader};

/// The tags of the values that have a length.
pub(super) const BUFFER: u8 = 116;
pub(super) const ARRAY: u8 = 117;
pub(super) const MAP: u8 = 118;
pub(super) const STRING: u8 = 119;

/// Limits on the cost of a value.
#[derive(Debug, Clone, Copy)]
pub struct AnyLimits {
    /// The greatest depth of arrays and maps.
    pub depth: usize,
    /// The greatest number of values, those inside arrays and maps included.
    pub parts: usize,
}

impl Default for AnyLimits {
    fn default() -> Self {
        Self { depth: 64, parts: 1 << 20 }
    }
}

/// An array or map that is being read.
enum OpenContainer {
    Array { items: Vec<Any>, missing: usize },
    Map { entries: HashMap<String, Any>, key: String, missing: usize },
}

/// Returns a number of any kind.
pub fn as_number(value: &Any) -> Option<f64> {
    match value {
        Any::Number(Number::Int(number)) => Some(*number as f64),
        Any::Number(Number::Float(number)) => Some(*number),
        _ => None,
    }
}

/// Reads one value.
///
/// # Errors
///
/// If the bytes are not a value, or the value is beyond `limits`. The allocation is bounded by the
/// bytes that are present, whatever lengths they claim.
pub fn read_any(reader: &mut Lib0Reader<'_>, limits: AnyLimits) -> Result<Any, Lib0Error> {
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut parts = 0;
    loop {
        parts += 1;
        if parts > limits.parts {
            return Err(Lib0Error::Parts);
        }
        let mut value = match reader.u8()? {
            ARRAY => {
                let missing = read_len(reader, 1)?;
                if missing > 0 {
                    push(&mut open, OpenContainer::Array { items: Vec::new(), missing }, limits)?;
                    continue;
                }
                Any::Array(Arc::from([]))
            }
            MAP => {
                let missing = read_len(reader, 2)?;
                if missing > 0 {
                    let key = reader.string()?.to_owned();
                    let entries = HashMap::with_capacity(missing.min(64));
                    push(&mut open, OpenContainer::Map { entries, key, missing }, limits)?;
                    continue;
                }
                Any::Map(Arc::default())
            }
            tag => read_leaf(reader, tag)?,
        };
        // Closes every level that this value completes.
        loop {
            match open.pop() {
                None => return Ok(value),
                Some(OpenContainer::Array { mut items, missing }) => {
                    items.push(value);
                    if missing > 1 {
                        open.push(OpenContainer::Array { items, missing: missing - 1 });
                        break;
                    }
                    value = Any::Array(items.into());
                }
                Some(OpenContainer::Map { mut entries, key, missing }) => {
                    entries.insert(key, value);
                    if missing > 1 {
                        let key = reader.string()?.to_owned();
                        open.push(OpenContainer::Map { entries, key, missing: missing - 1 });
                        break;
                    }
                    value = Any::Map(Arc::new(entries));
                }
            }
        }
    }
}

/// Skips one value, checks it as [`read_any`] does, and returns the number of its parts.
///
/// # Errors
///
/// As [`read_any`].
pub fn skip_any(reader: &mut Lib0Reader<'_>, limits: AnyLimits) -> Result<usize, Lib0Error> {
    // The number of missing values on each open level; maps are marked.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut parts = 0;
    loop {
        parts += 1;
        if parts > limits.parts {
            return Err(Lib0Error::Parts);
        }
        let tag = reader.u8()?;
        if tag == ARRAY || tag == MAP {
            let is_map = tag == MAP;
            let missing = read_len(reader, if is_map { 2 } else { 1 })?;
            if missing > 0 {
                if open.len() >= limits.depth {
                    return Err(Lib0Error::Depth);
                }
                open.push((missing, is_map));
                if is_map {
                    reader.string()?;
                }
                continue;
            }
        } else {
            skip_leaf(reader, tag)?;
        }
        loop {
            let Some((missing, is_map)) = open.last_mut() else { return Ok(parts) };
            *missing -= 1;
            if *missing > 0 {
                if *is_map {
                    reader.string()?;
                }
                break;
            }
            open.pop();
        }
    }
}

fn push(
    open: &mut Vec<OpenContainer>,
    level: OpenContainer,
    limits: AnyLimits,
) -> Result<(), Lib0Error> {
    if open.len() >= limits.depth {
        return Err(Lib0Error::Depth);
    }
    open.push(level);
    Ok(())
}

/// Reads the length of an array or map whose elements take at least `least` bytes each.
fn read_len(reader: &mut Lib0Reader<'_>, least: usize) -> Result<usize, Lib0Error> {
    let len = reader.var_uint()?;
    if len > (reader.remaining() / least) as u64 {
        return Err(Lib0Error::End);
    }
    Ok(len as usize)
}

pub(super) fn read_leaf(reader: &mut Lib0Reader<'_>, tag: u8) -> Result<Any, Lib0Error> {
    Ok(match tag {
        127 => Any::Undefined,
        126 => Any::Null,
        125 => Any::Number(Number::Int(reader.var_int()?)),
        124 => {
            let bytes = reader.take(4)?.try_into().map_err(|_| Lib0Error::End)?;
            Any::Number(Number::Float(f64::from(f32::from_be_bytes(bytes))))
        }
        123 => {
            let bytes = reader.take(8)?.try_into().map_err(|_| Lib0Error::End)?;
            Any::Number(Number::Float(f64::from_be_bytes(bytes)))
        }
        122 => {
            let bytes = reader.take(8)?.try_into().map_err(|_| Lib0Error::End)?;
            Any::Number(Number::Int(i64::from_be_bytes(bytes)))
        }
        121 => Any::Bool(false),
        120 => Any::Bool(true),
        STRING => Any::String(reader.string()?.into()),
        BUFFER => Any::Buffer(reader.buffer()?.into()),
        _ => return Err(Lib0Error::Tag(tag)),
    })
}

fn skip_leaf(reader: &mut Lib0Reader<'_>, tag: u8) -> Result<(), Lib0Error> {
    match tag {
        120 | 121 | 126 | 127 => {}
        125 => {
            reader.var_int()?;
        }
        124 => {
            reader.take(4)?;
        }
        122 | 123 => {
            reader.take(8)?;
        }
        STRING => {
            reader.string()?;
        }
        BUFFER => {
            reader.buffer()?;
        }
        _ => return Err(Lib0Error::Tag(tag)),
    }
    Ok(())
}
