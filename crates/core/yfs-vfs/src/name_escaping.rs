//! Translation of names between the host and the workspace.
//!
//! Most names are the same on both sides. A name that one side cannot store gets another spelling
//! on that side, which starts with a marker and can be decoded: `%_` on the host for a name of the
//! workspace, `%-` in the workspace for a name of the host. After the marker, each byte that cannot
//! be stored is written as `%XX`. The mirror's state records which names belong together; decoding
//! serves a directory whose state was lost, imports and exports.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use smol_str::SmolStr;
use unicode_normalization::UnicodeNormalization;
use yfs_types::name::{MAX_NAME_LEN, NodeName};

use crate::reserved_names::is_reserved;

/// The prefix of a spelling on the host.
const ON_HOST: &[u8] = b"%_";
/// The prefix of a spelling in the workspace.
const IN_WORKSPACE: &str = "%-";

/// Names that Windows reserves for devices, whatever follows their first dot.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// The names that a host can store.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct HostRules {
    /// Whether names that differ only in case are the same name.
    pub folds_case: bool,
    /// Whether names that differ only in Unicode normalization are the same name.
    pub folds_unicode: bool,
    /// Whether the host stores only names that Windows allows.
    pub windows: bool,
}

/// Reports whether a name of the workspace is, or looks like, the spelling of a name of a host.
pub fn is_spelling(name: &str) -> bool {
    name.starts_with(IN_WORKSPACE)
}

impl HostRules {
    /// Returns a key that is equal for names that the host considers the same.
    pub fn fold(self, name: &OsStr) -> Vec<u8> {
        let Some(text) = name.to_str() else { return name.as_bytes().to_owned() };
        let text: String = if self.folds_unicode { text.nfc().collect() } else { text.to_owned() };
        if self.folds_case { text.to_lowercase().into_bytes() } else { text.into_bytes() }
    }

    /// Reports whether the host considers some different names the same.
    pub fn folds(self) -> bool {
        self.folds_case || self.folds_unicode
    }

    /// Returns the host's name for a name of the workspace, or none if there is no such name.
    /// `is_taken` reports whether another object has a name on the host.
    pub fn to_host(self, name: &str, is_taken: &dyn Fn(&OsStr) -> bool) -> Option<OsString> {
        if let Some(host) = self.of_host(name).filter(|host| !is_taken(host)) {
            return Some(host);
        }
        let plain = OsString::from(name);
        if self.holds(&plain) && !name.as_bytes().starts_with(ON_HOST) && !is_taken(&plain) {
            return Some(plain);
        }
        let folded = self.fold(&plain);
        let is_twin = is_taken(&plain);
        let mut spelt = ON_HOST.to_vec();
        let mut n_escaped = 0;
        for (at, char) in name.char_indices() {
            let own_fold = self.fold(OsStr::new(&*char.to_string()));
            let is_folded = is_twin && own_fold != char.to_string().as_bytes();
            let is_last = at + char.len_utf8() == name.len();
            // A twin without a character that distinguishes it has its first character escaped.
            let is_forced = is_twin && at == 0 && folded == name.as_bytes();
            let is_first = at == 0 && !spelt.is_empty() && self.is_device(name);
            if is_folded || is_forced || is_first || self.is_escaped(char, is_last) {
                char.to_string().bytes().for_each(|byte| spelt.extend(escaped(byte).bytes()));
                n_escaped += 1;
            } else {
                spelt.extend_from_slice(char.to_string().as_bytes());
            }
        }
        let spelt = OsString::from_vec(spelt);
        let fits = spelt.len() <= MAX_NAME_LEN && n_escaped <= name.len() && !is_taken(&spelt);
        fits.then_some(spelt)
    }

    /// Returns the workspace's name for a name of the host, or none if there is no such name.
    /// `is_taken` reports whether another object has a name in the workspace.
    pub fn to_workspace(self, host: &OsStr, is_taken: &dyn Fn(&str) -> bool) -> Option<SmolStr> {
        if let Some(name) = spelt_by_host(host).filter(|name| !is_taken(name)) {
            return Some(name);
        }
        let text = host.to_str().filter(|text| self.of_host(text).is_none());
        let name = text.and_then(|text| NodeName::new(text).ok()).map(|name| name.to_smol_str());
        if let Some(name) = name.filter(|name| !is_taken(name) && name != ".id") {
            return Some(name);
        }
        let name = NodeName::new(&spelt_in_workspace(host.as_bytes())).ok()?.to_smol_str();
        (!is_taken(&name)).then_some(name)
    }

    /// Decodes a spelling in the workspace of a name that the host can store. Each such name has
    /// one spelling; all else is a plain name.
    fn of_host(self, name: &str) -> Option<OsString> {
        let bytes = unescape(name.strip_prefix(IN_WORKSPACE)?.as_bytes())?;
        let is_name = !bytes.is_empty() && !bytes.contains(&b'/') && !bytes.contains(&0);
        let is_spelling = is_name && spelt_in_workspace(&bytes) == name;
        let host = OsString::from_vec(bytes);
        // A name that the workspace can store has no spelling there. Otherwise a name that tools
        // obey could arrive in disguise.
        let is_plain = host.to_str().is_some_and(|text| {
            let same = NodeName::new(text).is_ok_and(|name| name.as_str() == text);
            // The text is shorter than its spelling, so this ends.
            same && self.of_host(text).is_none() || matches!(text, "." | "..") || is_reserved(text)
        });
        (is_spelling && !is_plain && self.holds(&host)).then_some(host)
    }

    /// Reports whether the host can store a name.
    fn holds(self, name: &OsStr) -> bool {
        let Some(text) = name.to_str() else { return !self.windows };
        let is_whole = text.chars().enumerate().all(|(at, char)| {
            !self.is_escaped(char, at + 1 == text.chars().count()) || char == '%'
        });
        name.len() <= MAX_NAME_LEN && is_whole && !self.is_device(text)
    }

    fn is_device(self, name: &str) -> bool {
        let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
        let number = stem.get(3..).unwrap_or_default();
        let is_numbered = matches!(number, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9");
        let device = stem.get(..3).unwrap_or_default();
        let numbers = matches!(device, "com" | "lpt");
        self.windows
            && DEVICES.contains(&device)
            && (if numbers { is_numbered } else { number.is_empty() })
    }

    fn is_escaped(self, char: char, is_last: bool) -> bool {
        let on_windows = matches!(char, '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\')
            || char.is_control()
            || is_last && matches!(char, '.' | ' ');
        matches!(char, '%' | '/' | '\0') || self.windows && on_windows
    }
}

/// Writes the spelling in the workspace of a name of the host.
fn spelt_in_workspace(host: &[u8]) -> String {
    let mut spelt = IN_WORKSPACE.to_owned();
    for byte in host {
        let stands = byte.is_ascii() && !matches!(byte, b'\\' | b'%' | 0..0x20 | 0x7f);
        if stands { spelt.push(char::from(*byte)) } else { spelt.push_str(&escaped(*byte)) }
    }
    spelt
}

/// Decodes a spelling on the host of a name of the workspace.
fn spelt_by_host(host: &OsStr) -> Option<SmolStr> {
    let bytes = unescape(host.as_bytes().strip_prefix(ON_HOST)?)?;
    let text = String::from_utf8(bytes).ok()?;
    let name = NodeName::new(&text).ok()?.to_smol_str();
    (name == text && !is_reserved(&name)).then_some(name)
}

fn escaped(byte: u8) -> String {
    format!("%{byte:02X}")
}

fn unescape(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            plain.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else { return None };
        // A number may also have a sign.
        let digits = [*high, *low];
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        plain.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        rest = after;
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: HostRules = HostRules { folds_case: true, folds_unicode: true, windows: false };
    const WINDOWS: HostRules = HostRules { folds_case: true, folds_unicode: false, windows: true };

    #[test]
    fn names_get_a_spelling_where_they_need_one() {
        let free = |_: &OsStr| false;
        let cases = [
            (HostRules::default(), "notes.md", "notes.md"),
            (HostRules::default(), "aux.txt", "aux.txt"),
            (HostRules::default(), "100%.txt", "100%.txt"),
            (HostRules::default(), "%_a", "%_%25_a"),
            (HostRules::default(), "%-caf%C3", "\u{fffd}"),
            (WINDOWS, "aux.txt", "%_%61ux.txt"),
            (WINDOWS, "com1", "%_%63om1"),
            (WINDOWS, "come", "come"),
            (WINDOWS, "a:b?", "%_a%3Ab%3F"),
            (WINDOWS, "dot.", "%_dot%2E"),
            (MAC, "dot.", "dot."),
        ];
        for (rules, name, expected) in cases {
            let host = rules.to_host(name, &free).unwrap();
            let shown = if host.to_str().is_some() { host.to_str().unwrap() } else { "\u{fffd}" };
            assert_eq!(shown, expected, "{name}");
            assert_eq!(rules.to_workspace(&host, &|_| false).unwrap(), name);
        }
    }

    #[test]
    fn twins_of_a_host_that_folds_are_told_apart() {
        for (first, second, expected) in [
            ("Readme", "README", "%_%52%45%41%44%4D%45"),
            ("Foo", "foo", "%_%66oo"),
            ("\u{e9}", "e\u{301}", "%_e%CC%81"),
        ] {
            let taken = |name: &OsStr| MAC.fold(name) == MAC.fold(OsStr::new(first));
            let host = MAC.to_host(second, &taken).unwrap();
            if second.is_ascii() {
                assert_eq!(host, expected);
                assert_eq!(MAC.to_workspace(&host, &|_| false).unwrap(), second);
            }
            assert_ne!(MAC.fold(&host), MAC.fold(OsStr::new(first)));
        }
    }

    #[test]
    fn what_the_workspace_cannot_hold_gets_a_spelling_there() {
        let rules = HostRules::default();
        for bytes in [&b"caf\xc3"[..], b"back\\slash", b"%-odd", b"\xff\xfe"] {
            let host = OsStr::from_bytes(bytes);
            let name = rules.to_workspace(host, &|_| false).unwrap();
            assert!(name.starts_with(IN_WORKSPACE), "{name}");
            assert_eq!(rules.to_host(&name, &|_| false).unwrap(), host, "{name}");
        }
        // Of two names with the same normalization, the second gets a spelling.
        let taken = |name: &str| name == "\u{e9}";
        let name = rules.to_workspace(OsStr::new("e\u{301}"), &taken).unwrap();
        assert_eq!(name, "%-e%CC%81");
    }

    #[test]
    fn no_spelling_leads_to_what_is_never_mirrored() {
        let rules = HostRules::default();
        for name in ["%-.git", "%-..", "%-a%2Fb", "%-.yfs%2Fx", "%-%2Eenvrc", "%-%2Egit"] {
            assert_eq!(rules.to_host(name, &|_| false).unwrap(), name, "kept as it is");
        }
        assert_eq!(rules.to_workspace(OsStr::new("%_.git"), &|_| false).unwrap(), "%_.git");
    }

    /// Names that begin like a spelling and are none, or not as it would be written, came back as
    /// other names: `%-` as `%-%25-`.
    #[test]
    fn names_that_only_look_like_spellings_come_back() {
        let names = [
            "%-",
            "%-a",
            "%-.git",
            "%-%25-",
            "%-%25-%5C",
            "%-%5c",
            "%-%5C",
            "%-%+A",
            "%-%4",
            "%_",
            "%_%+A",
            "%_%5c",
            "%-a:",
            "%-\u{e9}",
            "%-%-",
            "%_%-",
        ];
        for name in names {
            for rules in [HostRules::default(), MAC, WINDOWS] {
                let host = rules.to_host(name, &|_| false).unwrap();
                assert_eq!(rules.to_workspace(&host, &|_| false).unwrap(), name, "{host:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(
            name in "(%[-_])?([a-zA-Z%_.:éÉ \\-]|%[0-9A-Fa-f]{2}){1,10}",
            twin in any::<bool>(),
        ) {
            let Ok(name) = NodeName::new(&name) else { return Ok(()) };
            for rules in [HostRules::default(), MAC, WINDOWS] {
                let other = name.as_str().to_uppercase();
                let taken = |host: &OsStr| twin && rules.folds()
                    && rules.fold(host) == rules.fold(OsStr::new(&other));
                let Some(host) = rules.to_host(name.as_str(), &taken) else { continue };
                prop_assert!(!taken(&host));
                prop_assert_eq!(rules.to_workspace(&host, &|_| false).unwrap(), name.as_str());
            }
        }
    }
}
