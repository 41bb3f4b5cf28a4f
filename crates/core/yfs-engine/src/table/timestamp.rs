//! The `ts` of an element, and how JavaScript compares two of them.
//!
//! Every peer must pick the same winner for every input, or two implementations each delete the
//! other's choice and the key is gone. The JavaScript class compares any value of `ts` with `<` and
//! `>`, so this code does the same: ECMAScript 2025, 7.2.13 IsLessThan. Numbers are the regular
//! case and cost one comparison; the rest of this file is for peers that wrote other values.
//!
//! Two things are out of reach, because an `Any` does not have them: a BigInt below 2^53 compares
//! with strings as the number does, and an object that hides `toString` is `"[object Object]"`.

use std::cmp::Ordering;

use yrs::{Any, any::Number};

use super::format::MAX_SAFE_INTEGER;
use crate::lib0::ValueView;

/// The value of `ts` of an element.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ElementTimestamp {
    /// A finite number, as every honest peer writes.
    Finite(f64),
    /// Any other value; `undefined` if there is none.
    Odd(Box<Any>),
}

/// A value after JavaScript's ToPrimitive, with `undefined`, null and booleans made numbers.
enum JsPrimitive {
    Float(f64),
    Int(i64),
    Text(String),
}

/// The depth to which arrays inside a stamp are followed. The gate rejects deeper ones.
const MAX_DEPTH: usize = 64;

impl ElementTimestamp {
    /// Reads a stamp from an element.
    pub(super) fn of(value: Option<ValueView<'_>>) -> Self {
        match value {
            Some(ValueView::Number(Number::Float(number))) if number.is_finite() => {
                Self::Finite(number)
            }
            Some(ValueView::Number(Number::Int(number)))
                if number as f64 as i128 == i128::from(number) =>
            {
                Self::Finite(number as f64)
            }
            value => Self::Odd(Box::new(value.map_or(Any::Undefined, ValueView::to_any))),
        }
    }

    /// Returns the number that a new stamp must exceed to beat this one for certain; `None` if no
    /// number does.
    pub(super) fn bound(&self) -> Option<f64> {
        match self {
            Self::Finite(number) => Some(*number),
            Self::Odd(value) => match primitive(value) {
                JsPrimitive::Float(number) => Some(number),
                JsPrimitive::Int(number) => Some(number as f64),
                JsPrimitive::Text(text) => Some(text_to_number(&text)),
            }
            .filter(|number| !number.is_nan()),
        }
    }

    /// Reports whether no timestamp of this implementation beats this one.
    pub(super) fn is_maximal(&self) -> bool {
        self.bound().is_none_or(|bound| bound >= MAX_SAFE_INTEGER)
    }

    /// Returns how JavaScript orders two stamps; equal also if neither is less.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        if let (Self::Finite(left), Self::Finite(right)) = (self, other) {
            return left.partial_cmp(right).unwrap_or(Ordering::Equal);
        }
        compare(&self.primitive(), &other.primitive())
    }

    /// Returns the stamp as the element holds it.
    pub(super) fn to_any(&self) -> Any {
        match self {
            Self::Finite(number) => Any::Number(Number::Float(*number)),
            Self::Odd(value) => (**value).clone(),
        }
    }

    fn primitive(&self) -> JsPrimitive {
        match self {
            Self::Finite(number) => JsPrimitive::Float(*number),
            Self::Odd(value) => primitive(value),
        }
    }
}

fn compare(left: &JsPrimitive, right: &JsPrimitive) -> Ordering {
    match (left, right) {
        (JsPrimitive::Text(left), JsPrimitive::Text(right)) => {
            left.encode_utf16().cmp(right.encode_utf16())
        }
        (JsPrimitive::Int(left), JsPrimitive::Int(right)) => left.cmp(right),
        (JsPrimitive::Int(left), right) => compare_int(*left, right.to_number()),
        (left, JsPrimitive::Int(right)) => compare_int(*right, left.to_number()).reverse(),
        (left, right) => {
            left.to_number().partial_cmp(&right.to_number()).unwrap_or(Ordering::Equal)
        }
    }
}

/// Compares by mathematical value, as JavaScript compares a BigInt with a number.
fn compare_int(int: i64, number: f64) -> Ordering {
    if number.is_nan() {
        return Ordering::Equal;
    }
    // Beyond the range of an i64 the cast saturates, and every i64 lies inside.
    if number >= i64::MAX as f64 {
        return Ordering::Less;
    }
    if number < i64::MIN as f64 {
        return Ordering::Greater;
    }
    let whole = number.floor();
    int.cmp(&(whole as i64)).then(if number > whole { Ordering::Less } else { Ordering::Equal })
}

impl JsPrimitive {
    fn to_number(&self) -> f64 {
        match self {
            Self::Float(number) => *number,
            Self::Int(number) => *number as f64,
            Self::Text(text) => text_to_number(text),
        }
    }
}

fn primitive(value: &Any) -> JsPrimitive {
    match value {
        Any::Undefined => JsPrimitive::Float(f64::NAN),
        Any::Null => JsPrimitive::Float(0.0),
        Any::Bool(value) => JsPrimitive::Float(f64::from(u8::from(*value))),
        Any::Number(Number::Float(number)) => JsPrimitive::Float(*number),
        Any::Number(Number::Int(number)) => JsPrimitive::Int(*number),
        Any::String(_) | Any::Buffer(_) | Any::Array(_) | Any::Map(_) => {
            let mut text = String::new();
            write_text(value, &mut text, 0);
            JsPrimitive::Text(text)
        }
    }
}

/// Writes what JavaScript's `String(value)` gives.
fn write_text(value: &Any, text: &mut String, depth: usize) {
    match value {
        Any::Undefined => text.push_str("undefined"),
        Any::Null => text.push_str("null"),
        Any::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Any::Number(Number::Float(number)) => write_number(*number, text),
        Any::Number(Number::Int(number)) => text.push_str(&number.to_string()),
        Any::String(value) => text.push_str(value),
        Any::Buffer(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            text.push_str(&bytes.join(","));
        }
        Any::Array(values) => {
            for (ix, value) in values.iter().enumerate() {
                if ix > 0 {
                    text.push(',');
                }
                if depth < MAX_DEPTH && !matches!(value, Any::Undefined | Any::Null) {
                    write_text(value, text, depth + 1);
                }
            }
        }
        Any::Map(_) => text.push_str("[object Object]"),
    }
}

/// Writes a number as JavaScript does (Number::toString, radix 10).
fn write_number(number: f64, text: &mut String) {
    if number.is_nan() {
        return text.push_str("NaN");
    }
    if number == 0.0 {
        return text.push('0');
    }
    if number < 0.0 {
        text.push('-');
    }
    if number.is_infinite() {
        return text.push_str("Infinity");
    }
    // The shortest digits that read back as the same number, as both languages require.
    let shortest = format!("{:e}", number.abs());
    let (mantissa, exponent) = shortest.split_once('e').expect("`{:e}` writes an exponent");
    let digits: String = mantissa.chars().filter(|digit| *digit != '.').collect();
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a number as exponent");
    let (n_digits, point) = (digits.len() as i32, exponent + 1);
    if n_digits <= point && point <= 21 {
        text.push_str(&digits);
        text.extend(std::iter::repeat_n('0', (point - n_digits) as usize));
    } else if 0 < point && point <= 21 {
        text.push_str(&digits[..point as usize]);
        text.push('.');
        text.push_str(&digits[point as usize..]);
    } else if -6 < point && point <= 0 {
        text.push_str("0.");
        text.extend(std::iter::repeat_n('0', -point as usize));
        text.push_str(&digits);
    } else {
        text.push_str(&digits[..1]);
        if n_digits > 1 {
            text.push('.');
            text.push_str(&digits[1..]);
        }
        text.push_str(if exponent < 0 { "e-" } else { "e+" });
        text.push_str(&exponent.abs().to_string());
    }
}

/// Reads a text as JavaScript's `Number(text)` does (StringToNumber).
fn text_to_number(text: &str) -> f64 {
    let text = text.trim_matches(is_javascript_space);
    let radix = |digits: &str, radix| {
        let legal = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        let value = digits.chars().filter_map(|digit| digit.to_digit(radix));
        let value = value.fold(0.0, |value, digit| value * f64::from(radix) + f64::from(digit));
        if legal { value } else { f64::NAN }
    };
    match text.get(..2) {
        Some("0x" | "0X") => return radix(&text[2..], 16),
        Some("0o" | "0O") => return radix(&text[2..], 8),
        Some("0b" | "0B") => return radix(&text[2..], 2),
        _ => (),
    }
    match text {
        "" => 0.0,
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // Rust also reads `inf` and `nan`, which JavaScript does not.
        _ if text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) =>
        {
            text.parse().unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

/// Reports whether JavaScript trims the character: WhiteSpace or LineTerminator.
fn is_javascript_space(character: char) -> bool {
    // U+0085 is white space in Unicode only, U+FEFF in JavaScript only.
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}
