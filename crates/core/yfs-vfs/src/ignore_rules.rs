//! The rules of ignore files, with the semantics of git: the one matcher for imports, mirrors and
//! searches.
//!
//! A rule is a line of a `.gitignore`. Git matches bytes, so this does, too: a line that is not
//! UTF-8 excludes the name of the same bytes. `git check-ignore` is the oracle of the tests.
//!
//! # Cost
//!
//! A match takes time proportional to the length of the path times that of the pattern, whatever
//! the pattern: rules of other writers cannot stop a mirror.

mod pattern;

use self::pattern::{PatternTarget, WildcardPattern};

/// The names of files with rules; later ones take precedence over earlier ones.
pub const RULE_FILES: [&str; 2] = [".gitignore", ".yfsignore"];

/// The maximum length of a file with rules, in bytes. Longer ones are not read.
pub const MAX_RULES_LEN: u64 = 1 << 20;

/// The names of files that editors, office programs and file managers leave behind.
const LEFTOVERS: &[u8] = b"\
*~
.#*
\\#*#
.~lock.*#
~$*
.*.sw[a-p]
.sw[a-p]
.*.kate-swp
.goutputstream-*
*___jb_tmp___
*___jb_old___
.DS_Store
Thumbs.db
4913
.nfs[0-9a-f]*
.fuse_hidden*
";

/// What a rule says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreVerdict {
    /// The path is excluded.
    Excluded,
    /// The path is included although an earlier rule excludes it.
    Included,
}

/// The rules of the ignore files of one directory.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct IgnoreRuleList {
    rules: Vec<IgnoreRule>,
}

/// One line of an ignore file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IgnoreRule {
    verdict: IgnoreVerdict,
    only_directories: bool,
    pattern: WildcardPattern,
}

impl IgnoreRuleList {
    /// Reads the text of an ignore file.
    pub fn parse(text: &[u8]) -> Self {
        let mut list = Self::default();
        list.add_text(text);
        list
    }

    /// Adds the rules of another text, which take precedence over those before.
    pub fn add_text(&mut self, text: &[u8]) {
        self.rules.extend(lines(text).filter_map(IgnoreRule::parse));
    }

    /// Reports whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns what the last matching rule says of a path, relative to the directory of the rules;
    /// none if no rule matches. A directory above the path may be excluded all the same: the caller
    /// asks for it first.
    pub fn verdict(&self, path: &[u8], is_directory: bool) -> Option<IgnoreVerdict> {
        let matching = |rule: &&IgnoreRule| {
            (is_directory || !rule.only_directories) && rule.pattern.matches(path)
        };
        self.rules.iter().rev().find(matching).map(|rule| rule.verdict)
    }

    /// Reports whether the last matching rule excludes a path.
    pub fn excludes(&self, path: &[u8], is_directory: bool) -> bool {
        self.verdict(path, is_directory) == Some(IgnoreVerdict::Excluded)
    }

    /// Reports whether the rules exclude a path or a directory above it.
    pub fn excludes_below(&self, path: &[u8], is_directory: bool) -> bool {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| &path[..at]).any(|above| self.excludes(above, true))
            || self.excludes(path, is_directory)
    }
}

impl IgnoreRule {
    /// Parses a line; none for comments, blank lines and what matches nothing.
    fn parse(line: &[u8]) -> Option<Self> {
        if line.first() == Some(&b'#') {
            return None;
        }
        let mut text = trim_trailing_blanks(line);
        let mut verdict = IgnoreVerdict::Excluded;
        if let [b'!', rest @ ..] = text {
            (verdict, text) = (IgnoreVerdict::Included, rest);
        }
        let mut only_directories = false;
        if let [rest @ .., b'/'] = text {
            (only_directories, text) = (true, rest);
        }
        if text.is_empty() {
            return None;
        }
        let target = match text.contains(&b'/') {
            true => PatternTarget::Path,
            false => PatternTarget::Name,
        };
        let pattern = WildcardPattern::parse(text, target)?;
        Some(Self { verdict, only_directories, pattern })
    }
}

/// Reports whether a line is a rule that matches some path, a comment or blank.
pub fn is_valid_line(line: &str) -> bool {
    let text = trim_trailing_blanks(line.as_bytes());
    text.is_empty() || text.starts_with(b"#") || IgnoreRule::parse(text).is_some()
}

/// Reports whether editors, office programs or file managers leave files of this name behind. A
/// mirror and an import leave out such files, unless a rule includes them or the workspace has the
/// file.
pub fn is_leftover(name: &[u8]) -> bool {
    static LIST: std::sync::LazyLock<IgnoreRuleList> =
        std::sync::LazyLock::new(|| IgnoreRuleList::parse(LEFTOVERS));
    LIST.excludes(name, false)
}

/// Reports whether a changed text excludes all that the text before it excluded, whatever the other
/// files of rules say: it includes nothing, or only adds lines that exclude.
pub fn only_excludes_more(old: &[u8], new: &[u8]) -> bool {
    let rules_of = |text| lines(text).filter_map(IgnoreRule::parse).collect::<Vec<_>>();
    let (old, new) = (rules_of(old), rules_of(new));
    let includes = |rule: &IgnoreRule| rule.verdict == IgnoreVerdict::Included;
    if !new.iter().any(includes) {
        return old.iter().all(|rule| includes(rule) || new.contains(rule));
    }
    let mut rest = old.iter().peekable();
    for rule in &new {
        if rest.peek() == Some(&rule) {
            rest.next();
        } else if includes(rule) {
            return false;
        }
    }
    rest.next().is_none()
}

/// Returns the lines of an ignore file without their ends, and without a byte order mark.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Removes the blanks at the end of a line, except for one that a backslash escapes.
fn trim_trailing_blanks(line: &[u8]) -> &[u8] {
    let (mut len, mut at) = (0, 0);
    while let Some(byte) = line.get(at) {
        at += match byte {
            b'\\' => 2,
            _ => 1,
        };
        if *byte != b' ' {
            len = at.min(line.len());
        }
    }
    &line[..len]
}

#[cfg(test)]
mod tests;
