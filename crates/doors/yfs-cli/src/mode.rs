//! Permission bits: the syntax of `chmod` and the format of `ls -l`.

use yfs_vfs::FileKind;

/// The bits that `+w` without a "who" leaves unchanged, as with a shell's usual umask.
const UMASK: u32 = 0o022;

/// A change of permission bits, in the syntax of `chmod`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModeChange {
    /// Set exactly these bits.
    Set(u32),
    /// Apply these changes in order.
    Clauses(Vec<ModeClause>),
}

/// One change such as `u+x`, `go-rw` or `a=r`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModeClause {
    /// The bits of the classes named: 0o4700, 0o2070, 0o1007, added up; 0 if the text names none.
    who: u32,
    sign: char,
    /// The permission letters.
    what: String,
}

impl ModeChange {
    /// Parses `0755`, `u+x`, `go-rwx,a+X`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("invalid mode: '{text}'");
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let bits = u32::from_str_radix(text, 8).map_err(|_| bad())?;
            return if bits <= 0o7777 { Ok(Self::Set(bits)) } else { Err(bad()) };
        }
        let mut clauses = Vec::new();
        for part in text.split(',') {
            let signs = |char: char| matches!(char, '+' | '-' | '=');
            let start = part.find(signs).ok_or_else(bad)?;
            let (who, mut rest) = part.split_at(start);
            let who = class_bits(who).ok_or_else(bad)?;
            while let Some(sign) = rest.chars().next() {
                rest = &rest[1..];
                let end = rest.find(signs).unwrap_or(rest.len());
                let what = rest[..end].to_owned();
                let copies = what.len() == 1 && "ugo".contains(&what);
                if !copies && !what.chars().all(|char| "rwxXst".contains(char)) {
                    return Err(bad());
                }
                clauses.push(ModeClause { who, sign, what });
                rest = &rest[end..];
            }
        }
        Ok(Self::Clauses(clauses))
    }

    /// Returns the bits after the change.
    pub(crate) fn apply(&self, mode: u32, is_directory: bool) -> u32 {
        match self {
            Self::Set(bits) => *bits,
            Self::Clauses(clauses) => {
                clauses.iter().fold(mode, |mode, clause| clause.apply(mode, is_directory))
            }
        }
    }
}

impl ModeClause {
    fn apply(&self, mode: u32, is_directory: bool) -> u32 {
        let named = self.who != 0;
        let who = if named { self.who } else { 0o7777 };
        let mut bits = 0;
        for letter in self.what.chars() {
            bits |= match letter {
                'r' => 0o444,
                'w' => 0o222,
                'x' => 0o111,
                'X' if is_directory || mode & 0o111 != 0 => 0o111,
                's' => 0o6000,
                't' => 0o1000,
                'u' => for_all_classes(mode >> 6),
                'g' => for_all_classes(mode >> 3),
                'o' => for_all_classes(mode),
                _ => 0,
            };
        }
        bits &= who;
        if !named {
            bits &= !UMASK;
        }
        match self.sign {
            '+' => mode | bits,
            '-' => mode & !bits,
            _ => (mode & !who) | bits,
        }
    }
}

/// Copies three bits to user, group and others.
fn for_all_classes(bits: u32) -> u32 {
    (bits & 0o7) * 0o111
}

/// Returns the bits of the classes that letters name, or none if a letter is unknown.
fn class_bits(who: &str) -> Option<u32> {
    who.chars().try_fold(0, |bits, char| {
        Some(
            bits | match char {
                'u' => 0o4700,
                'g' => 0o2070,
                'o' => 0o1007,
                'a' => 0o7777,
                _ => return None,
            },
        )
    })
}

/// Formats permission bits as `ls -l` does: `drwxr-xr-x`.
pub(crate) fn format_mode(kind: FileKind, mode: u32) -> String {
    let mut text = String::with_capacity(10);
    text.push(match kind {
        FileKind::File => '-',
        FileKind::Directory => 'd',
        FileKind::Symlink => 'l',
        _ => '?',
    });
    for (shift, special, letters) in [(6, 0o4000, "sS"), (3, 0o2000, "sS"), (0, 0o1000, "tT")] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (bits & 1 != 0, mode & special != 0) {
            (true, false) => 'x',
            (false, false) => '-',
            (true, true) => letters.as_bytes()[0] as char,
            (false, true) => letters.as_bytes()[1] as char,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_change_as_chmod_changes_them() {
        // Compared with GNU chmod under umask 022; the last two columns are before and after.
        let cases = [
            ("755", false, 0o644, 0o755),
            ("0", false, 0o644, 0),
            ("u+x", false, 0o644, 0o744),
            ("+x", false, 0o644, 0o755),
            ("+w", false, 0o444, 0o644),
            ("a+w", false, 0o444, 0o666),
            ("go-rwx", false, 0o755, 0o700),
            ("a=r", false, 0o755, 0o444),
            ("u=rwx,g=rx,o=", false, 0o666, 0o750),
            ("a+X", false, 0o644, 0o644),
            ("a+X", true, 0o644, 0o755),
            ("g=u", false, 0o740, 0o770),
            ("u+s", false, 0o755, 0o4755),
            ("+t", true, 0o755, 0o1755),
            ("u+r-w", false, 0o200, 0o400),
        ];
        for (text, is_directory, before, after) in cases {
            let change = ModeChange::parse(text).unwrap();
            assert_eq!(change.apply(before, is_directory), after, "{text} on {before:o}");
        }
        for bad in ["", "8", "77777", "z+x", "u+q", "u", "u+x,", "+gx"] {
            assert!(ModeChange::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn modes_are_formatted_as_by_ls() {
        assert_eq!(format_mode(FileKind::File, 0o644), "-rw-r--r--");
        assert_eq!(format_mode(FileKind::Directory, 0o1777), "drwxrwxrwt");
        assert_eq!(format_mode(FileKind::File, 0o4644), "-rwSr--r--");
    }
}
