//! Rules about paths: ordered, the first match decides, and what no rule matches is allowed.
//! Several sets of rules may bind together: the strictest of their answers decides.

use std::{collections::BTreeSet, fmt, sync::Arc};

use serde::Deserialize;
use thiserror::Error;
use unicode_normalization::{UnicodeNormalization, is_nfc};
use yfs_types::path::VPath;
use yfs_vfs::{GlobPattern, glob::BadPattern};

/// The most numbers or letters that one range in braces may expand to.
const MAX_RANGE: usize = 1_000;

/// The two kinds of access that rules distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// Reading a content or a description, listing, and finding.
    Read,
    /// Creating, changing, moving and removing.
    Write,
}

/// The effect of a rule, from the mildest to the strictest.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleMode {
    /// The access is allowed.
    #[default]
    Allow,
    /// The access is allowed if the [`ApprovalBroker`](super::ApprovalBroker) approves it.
    Interrupt,
    /// The access is refused.
    Deny,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionRule {
    /// The kinds of access that it is about.
    pub operations: Vec<AccessKind>,
    /// Absolute globs with braces and `**`; the rule matches a path that one of them matches.
    ///
    /// `/secret/**` matches all below `/secret`, but not the directory itself. Unlike in a search,
    /// hidden names need no dot in the pattern.
    pub paths: Vec<String>,
    /// The effect.
    #[serde(default)]
    pub mode: RuleMode,
}

/// Compiled rules: one or several sets, each in its order.
#[derive(Clone)]
pub struct PermissionRules {
    sets: Vec<RuleSet>,
}

/// Rules in their order.
#[derive(Debug, Clone)]
struct RuleSet {
    rules: Arc<[CompiledRule]>,
    /// The directories that alone are allowed, if the rules say so.
    served: Arc<[VPath]>,
}

#[derive(Debug)]
struct CompiledRule {
    operations: Vec<AccessKind>,
    patterns: Vec<GlobPattern>,
    /// The directories below which a pattern matches everything: `/a` for `/a/**`.
    covered: Vec<GlobPattern>,
    /// Whether a pattern is `/**`, which matches everything, and the root as well.
    covers_all: bool,
    /// Whether the rule matches the root as well, without a pattern.
    matches_root: bool,
    mode: RuleMode,
}

/// The reason why a rule was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadRule {
    /// The rule has no operation or no path, so that it would never match.
    #[error("a rule needs at least one operation and one path")]
    Empty,
    /// A path is not absolute.
    #[error("the path {0:?} of a rule does not begin with a slash")]
    NotAbsolute(String),
    /// A path ends with a slash.
    #[error("the path {0:?} of a rule ends with a slash; add ** for everything below")]
    TrailingSlash(String),
    /// A path has a component `.`.
    #[error("the path {0:?} of a rule has a component that is a dot")]
    Dot(String),
    /// A path has a named character class, such as `[[:alpha:]]`.
    #[error("the path {0:?} of a rule has a named character class")]
    NamedClass(String),
    /// Braces that are neither a list of alternatives nor a range of numbers or letters.
    #[error("the path {0:?} of a rule has braces without a comma or a range")]
    Braces(String),
    /// A path is not a pattern.
    #[error("malformed path {path:?} in a rule")]
    Pattern {
        /// The path.
        path: String,
        /// The reason.
        #[source]
        reason: BadPattern,
    },
}

impl PermissionRule {
    /// Makes a rule about one pattern.
    pub fn new(mode: RuleMode, operations: &[AccessKind], path: impl Into<String>) -> Self {
        Self { operations: operations.to_vec(), paths: vec![path.into()], mode }
    }

    /// Makes a rule about one path.
    pub fn exact(mode: RuleMode, operations: &[AccessKind], path: &VPath) -> Self {
        Self::new(mode, operations, escape_literal(path.as_str()))
    }

    /// Makes a rule about a directory itself and everything below it.
    pub fn subtree(mode: RuleMode, operations: &[AccessKind], directory: &VPath) -> Self {
        let literal = escape_literal(directory.as_str().trim_end_matches('/'));
        let below = format!("{literal}/**");
        let own = (!literal.is_empty()).then_some(literal);
        let paths = own.into_iter().chain([below]).collect();
        Self { operations: operations.to_vec(), paths, mode }
    }
}

impl PermissionRules {
    /// Compiles rules for a filesystem that distinguishes upper and lower case.
    pub fn new(rules: impl IntoIterator<Item = PermissionRule>) -> Result<Self, BadRule> {
        Self::compile(rules, false)
    }

    /// Makes the rules that allow what is in some directories, and nothing else but to see the way
    /// to them: a directory above one of them can be listed, and shows only this way.
    pub fn only_below(directories: &[VPath]) -> Result<Self, BadRule> {
        let both = [AccessKind::Read, AccessKind::Write];
        let allow = |directory| PermissionRule::subtree(RuleMode::Allow, &both, directory);
        let deny = PermissionRule::new(RuleMode::Deny, &both, "/**");
        let mut rules = Vec::new();
        for directory in directories {
            rules.push(CompiledRule::new(allow(directory), false)?);
        }
        let above = directories
            .iter()
            .flat_map(|directory| std::iter::successors(directory.parent(), VPath::parent));
        let above: BTreeSet<VPath> = above.collect();
        if !above.is_empty() {
            let paths = above.iter().filter(|path| !path.is_root());
            let paths = paths.map(|path| escape_literal(path.as_str())).collect();
            let (operations, mode) = (vec![AccessKind::Read], RuleMode::Allow);
            let rule = CompiledRule::new(PermissionRule { operations, paths, mode }, false)?;
            rules.push(CompiledRule { matches_root: true, ..rule });
        }
        rules.push(CompiledRule::new(deny, false)?);
        let set = RuleSet { rules: rules.into(), served: directories.into() };
        Ok(Self { sets: vec![set] })
    }

    /// Joins rules that bind together: an access needs to be allowed by all of them, and the
    /// strictest mode decides.
    pub(crate) fn all_of(rules: impl IntoIterator<Item = Self>) -> Self {
        Self { sets: rules.into_iter().flat_map(|rules| rules.sets).collect() }
    }

    /// Compiles rules for a filesystem that takes `/A` and `/a` for one path.
    pub fn ignoring_case(rules: impl IntoIterator<Item = PermissionRule>) -> Result<Self, BadRule> {
        Self::compile(rules, true)
    }

    fn compile(
        rules: impl IntoIterator<Item = PermissionRule>,
        ignore_case: bool,
    ) -> Result<Self, BadRule> {
        let compiled = rules.into_iter().map(|rule| {
            let is_empty = rule.operations.is_empty() || rule.paths.is_empty();
            if is_empty { Err(BadRule::Empty) } else { CompiledRule::new(rule, ignore_case) }
        });
        let rules = compiled.collect::<Result<_, _>>()?;
        Ok(Self { sets: vec![RuleSet { rules, served: Arc::new([]) }] })
    }

    /// Returns the mode of the first rule that matches the path as it is spelled, in each set; the
    /// strictest of several.
    ///
    /// A directory above those that alone are allowed shows only the way to them, so that reading
    /// it needs no approval.
    pub(crate) fn mode_at(&self, access: AccessKind, path: &VPath) -> RuleMode {
        let form_c = normalized(path);
        let path = form_c.as_ref().unwrap_or(path);
        let modes = self.sets.iter().map(|set| set.mode_at(access, path));
        match modes.max().unwrap_or(RuleMode::Allow) {
            RuleMode::Interrupt if access == AccessKind::Read && self.is_above_served(path) => {
                RuleMode::Allow
            }
            mode => mode,
        }
    }

    /// Reports whether a path lies above the directories that alone are allowed.
    pub(super) fn is_above_served(&self, path: &VPath) -> bool {
        self.sets.iter().any(|set| {
            set.served.iter().any(|served| served.starts_with(path))
                && !set.served.iter().any(|served| path.starts_with(served))
        })
    }

    /// Returns the directories that alone are allowed and lie below a path, but not below another.
    pub(super) fn served_below(&self, path: &VPath) -> Vec<VPath> {
        let served = self.sets.iter().flat_map(|set| set.served.iter());
        let mut below: Vec<VPath> =
            served.filter(|served| served.starts_with(path) && *served != path).cloned().collect();
        below.sort();
        below.dedup();
        below
    }

    /// Returns the directories that alone are allowed, unless a path is in one of them.
    pub(super) fn served_besides(&self, path: &VPath) -> Vec<VPath> {
        let holds_path = |set: &&RuleSet| {
            set.served.is_empty() || set.served.iter().any(|served| path.starts_with(served))
        };
        let outside = self.sets.iter().find(|set| !holds_path(set));
        outside.map_or_else(Vec::new, |set| set.served.to_vec())
    }

    /// Returns the strictest mode that a path below `directory` could have, whatever objects there
    /// are. A rule that matches everything below hides the rules after it.
    pub(crate) fn strictest_below(&self, access: AccessKind, directory: &VPath) -> RuleMode {
        let form_c = normalized(directory);
        let directory = form_c.as_ref().unwrap_or(directory);
        let strictest = self.sets.iter().map(|set| set.strictest_below(access, directory));
        strictest.max().unwrap_or(RuleMode::Allow)
    }

    /// Reports whether a rule restricts a path, or could restrict one below it.
    pub(super) fn may_restrict(&self, path: &VPath) -> bool {
        [AccessKind::Read, AccessKind::Write].iter().any(|access| {
            self.mode_at(*access, path) != RuleMode::Allow
                || self.strictest_below(*access, path) != RuleMode::Allow
        })
    }
}

impl RuleSet {
    fn mode_at(&self, access: AccessKind, path: &VPath) -> RuleMode {
        let mut matching = self.rules.iter().filter(|rule| rule.matches(access, path));
        matching.next().map_or(RuleMode::Allow, |rule| rule.mode)
    }

    fn strictest_below(&self, access: AccessKind, directory: &VPath) -> RuleMode {
        let mut strictest = RuleMode::Allow;
        for rule in self.rules.iter().filter(|rule| rule.operations.contains(&access)) {
            if rule.patterns.iter().any(|pattern| pattern.may_match_below(directory)) {
                strictest = strictest.max(rule.mode);
            }
            if rule.covers_below(directory) {
                break;
            }
        }
        strictest
    }
}

impl fmt::Debug for PermissionRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_rules: usize = self.sets.iter().map(|set| set.rules.len()).sum();
        f.debug_struct("PermissionRules").field("n_rules", &n_rules).finish()
    }
}

impl CompiledRule {
    fn new(rule: PermissionRule, ignore_case: bool) -> Result<Self, BadRule> {
        let PermissionRule { operations, paths, mode } = rule;
        let compile = |path: &str| compile_path(path, ignore_case);
        let globs = paths.iter().map(|path| compile(path));
        let above = paths.iter().filter_map(|path| path.strip_suffix("/**"));
        let above = above.filter(|directory| !matches!(*directory, "" | "/")).map(compile);
        let patterns = globs.collect::<Result<_, _>>()?;
        let covered = above.collect::<Result<_, _>>()?;
        let covers_all = paths.iter().any(|path| path == "/**");
        let matches_root = covers_all;
        Ok(Self { operations, patterns, covered, covers_all, matches_root, mode })
    }

    /// Reports whether the rule matches everything below a directory.
    fn covers_below(&self, directory: &VPath) -> bool {
        let root = VPath::root();
        let is_covered =
            |path: &VPath| self.covered.iter().any(|pattern| pattern.is_match(&root, path, true));
        let above = std::iter::successors(Some(directory.clone()), VPath::parent);
        self.covers_all || above.into_iter().any(|path| is_covered(&path))
    }

    fn matches(&self, access: AccessKind, path: &VPath) -> bool {
        let root = VPath::root();
        // The kind of the object does not matter: no pattern ends with a slash.
        let is_match = || {
            (self.matches_root && path.is_root())
                || self.patterns.iter().any(|pattern| pattern.is_match(&root, path, true))
        };
        self.operations.contains(&access) && is_match()
    }
}

fn compile_path(path: &str, ignore_case: bool) -> Result<GlobPattern, BadRule> {
    if !path.starts_with('/') {
        return Err(BadRule::NotAbsolute(path.to_owned()));
    }
    if path.ends_with('/') {
        return Err(BadRule::TrailingSlash(path.to_owned()));
    }
    if path.split('/').any(|name| name == ".") {
        return Err(BadRule::Dot(path.to_owned()));
    }
    if path.contains("[:") {
        return Err(BadRule::NamedClass(path.to_owned()));
    }
    let form_c: String = path.nfc().collect();
    let expanded = expand_ranges(&form_c).ok_or_else(|| BadRule::Braces(path.to_owned()))?;
    GlobPattern::new(&expanded, true, ignore_case)
        .map_err(|reason| BadRule::Pattern { path: path.to_owned(), reason })
}

/// Replaces each range in braces (`{1..3}`, `{a..c}`) by the list of its members. Returns `None`
/// for braces that are neither a range nor a list, and for ranges that are too long.
fn expand_ranges(pattern: &str) -> Option<String> {
    let mut expanded = String::new();
    let mut rest = pattern;
    while let Some(start) = rest.find('{') {
        let is_escaped = rest[..start].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2;
        let after = &rest[start + 1..];
        let inner = after.split(['{', '}']).next().unwrap_or_default();
        let is_innermost = after[inner.len()..].starts_with('}');
        if is_escaped == 0 && is_innermost && !inner.contains(',') {
            expanded.push_str(&rest[..start]);
            expanded.push('{');
            expanded.push_str(&range_members(inner)?.join(","));
        } else {
            expanded.push_str(&rest[..=start]);
            expanded.push_str(inner);
        }
        rest = &after[inner.len()..];
    }
    expanded.push_str(rest);
    Some(expanded)
}

fn range_members(range: &str) -> Option<Vec<String>> {
    let (first, last) = range.split_once("..")?;
    let members: Vec<String> = match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(low), Ok(high)) if low <= high && ((high - low) as usize) < MAX_RANGE => {
            (low..=high).map(|number| number.to_string()).collect()
        }
        _ => match (first.as_bytes(), last.as_bytes()) {
            ([low], [high]) if low.is_ascii_alphabetic() && high.is_ascii_alphabetic() => {
                (*low..=*high).map(|letter| char::from(letter).to_string()).collect()
            }
            _ => return None,
        },
    };
    (!members.is_empty()).then_some(members)
}

/// Returns the path in normalization form C, if it is in another form.
fn normalized(path: &VPath) -> Option<VPath> {
    if is_nfc(path.as_str()) {
        return None;
    }
    VPath::parse(&path.as_str().nfc().collect::<String>()).ok()
}

/// Escapes the characters that mean more than themselves in a pattern.
pub(crate) fn escape_literal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if r"*?[]{}\!".contains(char) {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}
