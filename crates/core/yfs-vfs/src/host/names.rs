//! Conversion between names of the host, which are bytes, and names of this filesystem, which are
//! text.
//!
//! A name that is UTF-8 without a backslash stays as it is. In other names a backslash is written
//! `\\`, and a byte that is not UTF-8 `\xNN`. No name that this filesystem creates holds a
//! backslash, so the two sets are disjoint.

use std::borrow::Cow;

use smol_str::SmolStr;

/// The prefix of the names of temporary files.
pub(super) const TEMPORARY: &str = ".yfs-tmp-";

/// Converts a name of the host.
pub(super) fn from_host(name: &[u8]) -> SmolStr {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains('\\') => SmolStr::new(text),
        _ => {
            let mut shown = String::new();
            for chunk in name.utf8_chunks() {
                shown.push_str(&chunk.valid().replace('\\', r"\\"));
                chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02X}")));
            }
            SmolStr::new(shown)
        }
    }
}

/// Returns the host's name for a name of this filesystem, or `None` if there can be none.
pub(super) fn to_host(name: &str) -> Option<Cow<'_, [u8]>> {
    if !name.contains('\\') {
        return Some(Cow::Borrowed(name.as_bytes()));
    }
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'\\', [b'\\', after @ ..]) => {
                bytes.push(b'\\');
                rest = after;
            }
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = after;
            }
            (b'\\', _) => return None,
            (byte, _) => bytes.push(*byte),
        }
    }
    // A second spelling of a name would be a second path of the same file.
    (from_host(&bytes) == name && !bytes.contains(&b'/') && !bytes.contains(&0))
        .then_some(Cow::Owned(bytes))
}
