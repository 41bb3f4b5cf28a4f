//! Ids of threads, and the names of their directories.
//!
//! The name of a directory is the id, with `%` and two hexadecimal digits for each byte that a name
//! cannot keep as it is. Different ids have different names, and each name leads back to its id.

use std::fmt;

use smol_str::SmolStr;
use thiserror::Error;
use yfs_types::name::{MAX_NAME_LEN, NodeName};

/// The greatest length of a directory's name, which leaves room for a mark at its end.
const MAX_ENCODED_LEN: usize = MAX_NAME_LEN - 1;

/// The id of a thread or a task, or another part of a namespace.
///
/// Invariant: not empty, not `.` or `..`, without `/`, `*`, `?` and control characters, and its
/// directory name is a name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(SmolStr);

/// The reason why a text is not the id of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadThreadId {
    /// The id, or a part of an address, is empty.
    #[error("the id of a thread is empty")]
    Empty,
    /// The id is `.` or `..`.
    #[error("{0:?} is not the id of a thread")]
    Dots(String),
    /// The id has a character that ids never have.
    #[error("the id of a thread has the character {character:?}: {id:?}")]
    Character {
        /// The character.
        character: char,
        /// The id, cut to the length of a name.
        id: String,
    },
    /// The id is too long for the name of a directory.
    #[error("the id of a thread is too long: {0} bytes, as the name of a directory")]
    TooLong(usize),
    /// The address has another number of parts than the namespaces of this strategy.
    #[error("a thread has {expected} parts here, and {given:?} has another number")]
    Parts {
        /// The number of parts.
        expected: usize,
        /// The address.
        given: String,
    },
    /// A context lacks the value of a placeholder.
    #[error("the namespace needs a value for {0:?}")]
    Missing(String),
}

impl ThreadId {
    /// Checks an id.
    pub fn new(text: &str) -> Result<Self, BadThreadId> {
        if text.is_empty() {
            return Err(BadThreadId::Empty);
        }
        let shown = || text.chars().take(MAX_NAME_LEN).collect::<String>();
        if text == "." || text == ".." {
            return Err(BadThreadId::Dots(shown()));
        }
        let is_bad =
            |character: &char| matches!(character, '/' | '*' | '?') || character.is_control();
        if let Some(character) = text.chars().find(is_bad) {
            return Err(BadThreadId::Character { character, id: shown() });
        }
        // Escaping only makes it longer.
        let encoded_len =
            if text.len() > MAX_ENCODED_LEN { text.len() } else { encode(text).len() };
        if encoded_len > MAX_ENCODED_LEN {
            return Err(BadThreadId::TooLong(encoded_len));
        }
        Ok(Self(text.into()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the directory.
    pub fn directory_name(&self) -> String {
        encode(&self.0)
    }

    /// Returns the id whose directory has a name; `None` if no id's directory has it.
    pub fn of_directory_name(name: &str) -> Option<Self> {
        let id = Self::new(&decode(name)?).ok()?;
        (id.directory_name() == name).then_some(id)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Writes an id as the name of a directory.
fn encode(text: &str) -> String {
    let keeps_form = is_form_c(text);
    let mut name = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        // A leading dot would hide the directory, `+` marks directories of namespaces.
        let is_kept = match character {
            '%' | '\\' | '+' => false,
            '.' => at > 0,
            // A name in another normalization form would be stored in form C.
            character => character.is_ascii() || keeps_form,
        };
        if is_kept {
            name.push(character);
            continue;
        }
        let mut bytes = [0; 4];
        for byte in character.encode_utf8(&mut bytes).bytes() {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    name
}

/// Reports whether a text is in normalization form C.
fn is_form_c(text: &str) -> bool {
    // A backslash is in no name, and does not combine with anything.
    let text = text.replace('\\', "_");
    NodeName::new(&text).is_ok_and(|name| name.as_str() == text)
}

fn decode(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = behind;
            continue;
        }
        let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &behind[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(id: &str, name: Expect) {
        let shown = match ThreadId::new(id) {
            Ok(id) => id.directory_name(),
            Err(error) => error.to_string(),
        };
        name.assert_eq(&shown);
    }

    #[test]
    fn ids_become_names() {
        check("thread_01H-a.b:c@d", expect!["thread_01H-a.b:c@d"]);
        check(".hidden", expect!["%2Ehidden"]);
        check("50%+1\\2", expect!["50%25%2B1%5C2"]);
        check("größe", expect!["größe"]);
        // The same word in another normalization form is another id.
        check("gro\u{308}ße", expect!["gro%CC%88%C3%9Fe"]);
        check("a b", expect!["a b"]);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        check("", expect!["the id of a thread is empty"]);
        check(".", expect![[r#""." is not the id of a thread"#]]);
        check("..", expect![[r#"".." is not the id of a thread"#]]);
        check("a/b", expect![[r#"the id of a thread has the character '/': "a/b""#]]);
        check("../x", expect![[r#"the id of a thread has the character '/': "../x""#]]);
        check("a*", expect![[r#"the id of a thread has the character '*': "a*""#]]);
        check("a?", expect![[r#"the id of a thread has the character '?': "a?""#]]);
        check("a\nb", expect![[r#"the id of a thread has the character '\n': "a\nb""#]]);
        check("a\u{0}", expect![[r#"the id of a thread has the character '\0': "a\0""#]]);
        check("a\u{85}", expect![[r#"the id of a thread has the character '\u{85}': "a\u{85}""#]]);
        let long = expect!["the id of a thread is too long: 400 bytes, as the name of a directory"];
        check(&"x".repeat(400), long);
        let long = expect!["the id of a thread is too long: 270 bytes, as the name of a directory"];
        check(&"%".repeat(90), long);
    }

    proptest! {
        #[test]
        fn every_id_comes_back(text in "\\PC{1,60}") {
            if let Ok(id) = ThreadId::new(&text) {
                let name = id.directory_name();
                prop_assert!(NodeName::new(&name).is_ok_and(|checked| checked.as_str() == name));
                prop_assert!(!name.starts_with('.') && !name.contains('+'));
                prop_assert_eq!(ThreadId::of_directory_name(&name), Some(id));
            }
        }

        #[test]
        fn a_name_is_of_one_id(name in "[%+.a-c0-9CÄ]{1,12}") {
            if let Some(id) = ThreadId::of_directory_name(&name) {
                prop_assert_eq!(id.directory_name(), name);
            }
        }
    }
}
