//! Plain words of YAML 1.2 (core schema), as npm `yaml` resolves them.

use crate::tree::AttributeValue;

/// Returns the value of a plain scalar.
pub(super) fn resolve(word: &str) -> AttributeValue {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return AttributeValue::Null,
        "true" | "True" | "TRUE" => return AttributeValue::Bool(true),
        "false" | "False" | "FALSE" => return AttributeValue::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return AttributeValue::Number(f64::NAN),
        _ => {}
    }
    number(word).map_or_else(|| AttributeValue::string(word), AttributeValue::Number)
}

fn number(word: &str) -> Option<f64> {
    let radix = |digits: &str, radix| {
        let is_digit = |digit: char| digit.is_digit(radix);
        (!digits.is_empty() && digits.chars().all(is_digit)).then(|| {
            digits.chars().fold(0.0, |sum, digit| {
                sum * f64::from(radix) + f64::from(digit.to_digit(radix).unwrap_or_default())
            })
        })
    };
    if let Some(digits) = word.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = word.strip_prefix("0x") {
        return radix(digits, 16);
    }
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    let sign = if word.starts_with('-') { -1.0 } else { 1.0 };
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Some(sign * f64::INFINITY);
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let are_digits = |text: &str| !text.is_empty() && all_digits(text);
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => are_digits(fraction),
        Some((whole, fraction)) => are_digits(whole) && all_digits(fraction),
        None => are_digits(mantissa),
    };
    let is_exponent =
        exponent.is_none_or(|digits| are_digits(digits.strip_prefix(['-', '+']).unwrap_or(digits)));
    // Beyond the largest number lies infinity, as in JavaScript.
    (is_mantissa && is_exponent)
        .then(|| unsigned.parse::<f64>().ok().map(|number| sign * number))
        .flatten()
}

/// Reports whether text without quotes reads back as itself.
pub(super) fn may_be_plain(text: &str) -> bool {
    // Words that YAML 1.1 reads as other values: some readers still do.
    const OTHERS: [&str; 7] = ["yes", "no", "on", "off", "y", "n", "<<"];
    const STARTS: &[char] = &[
        '-', '?', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '=',
        '.',
    ];
    let is_word = !text.is_empty()
        && text.trim() == text
        && matches!(resolve(text), AttributeValue::String(_))
        && !text.contains([
            ':', '#', '[', ']', '{', '}', ',', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}',
        ])
        && !text.chars().any(char::is_control)
        && !text.starts_with(STARTS)
        && !OTHERS.contains(&text.to_ascii_lowercase().as_str());
    is_word || is_date(text)
}

/// A date is text here, and is usually written without quotes.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
