//! Writes values, byte for byte as JavaScript's lib0 writes them.

use yrs::{Any, any::Number};

use super::{write_buffer, write_string, write_var_int, write_var_uint};

/// Appends a value.
///
/// Numbers are written as JavaScript stores them: an integer of at most 31 bits as such, any other
/// number as a float of 32 bits if that is exact, otherwise of 64 bits. Never as a `bigint`, which
/// JavaScript would read as another type. Keys of a map are sorted, so that equal values are equal
/// bytes. Recurses: the value was built here, or read by [`read_any`](super::read_any).
pub fn write_any(out: &mut Vec<u8>, value: &Any) {
    match value {
        Any::Undefined => out.push(127),
        Any::Null => out.push(126),
        Any::Bool(true) => out.push(120),
        Any::Bool(false) => out.push(121),
        Any::Number(Number::Int(number)) => write_number(out, *number as f64),
        Any::Number(Number::Float(number)) => write_number(out, *number),
        Any::String(text) => {
            out.push(119);
            write_string(out, text);
        }
        Any::Buffer(bytes) => {
            out.push(116);
            write_buffer(out, bytes);
        }
        Any::Array(values) => {
            out.push(117);
            write_var_uint(out, values.len() as u64);
            for value in values.iter() {
                write_any(out, value);
            }
        }
        Any::Map(entries) => {
            out.push(118);
            write_var_uint(out, entries.len() as u64);
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in entries {
                write_string(out, key);
                write_any(out, value);
            }
        }
    }
}

/// Appends a number, as [`write_any`] does.
pub(crate) fn write_number(out: &mut Vec<u8>, number: f64) {
    let is_zero_below = number == 0.0 && number.is_sign_negative();
    if number.trunc() == number && number.abs() <= f64::from(i32::MAX) && !is_zero_below {
        out.push(125);
        write_var_int(out, number as i64);
    } else if f64::from(number as f32) == number {
        out.push(124);
        out.extend_from_slice(&(number as f32).to_be_bytes());
    } else {
        out.push(123);
        out.extend_from_slice(&number.to_be_bytes());
    }
}
