//! The rules that excluded files of this directory before other writers changed them.
//!
//! Other writers may exclude more, and what they include waits for a person: otherwise each of them
//! could have the mirror upload an `.env` that its owner excludes. Before the mirror writes their
//! rules to the directory it keeps the ones that were there, as a [`RuleView`]. What any view
//! excludes is not imported. A person who changes the files of rules in the directory changes the
//! views in the same lines; a person who accepts the rules of the others ends them.
//!
//! # Invariants
//!
//! - A view is in the database before the rules that replace it are on disk.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::ignore_rules::{IgnoreRuleList, IgnoreVerdict, RULE_FILES, lines, only_excludes_more};

use crate::ignores::outermost_first;

/// The number of views above which the newest two become one, which excludes what either does.
const MAX_VIEWS: usize = 8;

/// The texts of the files of rules, by path relative to the directory.
pub(crate) type RuleTexts = BTreeMap<PathBuf, Vec<u8>>;

/// Rules that the directory had.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RuleView {
    pub(crate) texts: RuleTexts,
    /// Mirrored objects that were excluded then.
    pub(crate) excluded: HashSet<FileId>,
}

/// The views of a directory.
#[derive(Debug, Default)]
pub(crate) struct HeldRules {
    /// Oldest first.
    views: Vec<RuleView>,
    /// The files of rules in the directory as the mirror last knew them, if there are views.
    known: RuleTexts,
    /// Whether the rules of others are being applied, so that the last view may be superfluous.
    is_applying: bool,
    /// Whether the database has other views.
    pub(crate) is_changed: bool,
    /// The rules of the views by directory.
    lists: Vec<HashMap<PathBuf, IgnoreRuleList>>,
}

impl HeldRules {
    /// Restores views.
    pub(crate) fn new(views: Vec<RuleView>, known: RuleTexts, is_applying: bool) -> Self {
        let mut held = Self { views, known, is_applying, ..Self::default() };
        held.parse();
        held.is_changed = false;
        held
    }

    /// Forgets all views: only the rules in the directory count.
    pub(crate) fn clear(&mut self) {
        *self = Self { is_changed: self.is_changed || !self.views.is_empty(), ..Self::default() };
    }

    pub(crate) fn views(&self) -> &[RuleView] {
        &self.views
    }

    pub(crate) fn known(&self) -> &RuleTexts {
        &self.known
    }

    pub(crate) fn is_applying(&self) -> bool {
        self.is_applying
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Reports whether a view excludes a path, or a directory above it.
    pub(crate) fn excludes(&self, path: &Path, is_dir: bool) -> bool {
        self.lists.iter().any(|lists| is_excluded(lists, path, is_dir))
    }

    /// Reports whether a mirrored object was excluded when others changed the rules.
    pub(crate) fn has_excluded(&self, id: &FileId) -> bool {
        self.views.iter().any(|view| view.excluded.contains(id))
    }

    /// Keeps the rules that are in the directory, because those of others are about to be applied.
    pub(crate) fn begin(&mut self, now: RuleTexts, excluded: HashSet<FileId>) {
        let view = RuleView { texts: now.clone(), excluded };
        if self.views.last() != Some(&view) {
            self.views.push(view);
        }
        (self.known, self.is_applying) = (now, true);
        self.parse();
    }

    /// Notes that the rules of others are in the directory now. The rules before are forgotten if
    /// the new ones exclude all that they did.
    pub(crate) fn end(&mut self, now: RuleTexts) {
        self.views.retain(|view| !excludes_more(&view.texts, &now));
        if self.views.len() > MAX_VIEWS {
            self.join_newest();
        }
        (self.known, self.is_applying) = (now, false);
        self.parse();
    }

    /// Repeats in the views what a person changed in the files of rules. Returns whether anything
    /// changed. `path_of` returns the path of a mirrored object.
    pub(crate) fn note_local(
        &mut self,
        now: RuleTexts,
        path_of: impl Fn(&FileId) -> PathBuf,
    ) -> bool {
        if self.views.is_empty() || self.known == now {
            return false;
        }
        let paths: HashSet<&PathBuf> = self.known.keys().chain(now.keys()).collect();
        for path in paths {
            let (old, new) = (self.known.get(path), now.get(path));
            let text = |text: Option<&Vec<u8>>| text.cloned().unwrap_or_default();
            let (old, new) = (text(old), text(new));
            if old == new {
                continue;
            }
            for view in &mut self.views {
                let changed = repeat_change(&text(view.texts.get(path)), &old, &new);
                view.texts.insert(path.clone(), changed);
            }
        }
        self.parse();
        for (view, lists) in self.views.iter_mut().zip(&self.lists) {
            view.excluded.retain(|id| is_excluded(lists, &path_of(id), false));
        }
        self.views.retain(|view| !excludes_more(&view.texts, &now));
        self.known = now;
        self.parse();
        true
    }

    /// Follows a directory that moved.
    pub(crate) fn rename(&mut self, old: &Path, new: &Path) {
        if self.views.is_empty() {
            return;
        }
        let rename = |texts: &mut RuleTexts| {
            let moved: Vec<PathBuf> =
                texts.keys().filter(|path| path.starts_with(old)).cloned().collect();
            for path in moved {
                if let (Some(text), Ok(below)) = (texts.remove(&path), path.strip_prefix(old)) {
                    texts.insert(new.join(below), text);
                }
            }
        };
        self.views.iter_mut().for_each(|view| rename(&mut view.texts));
        rename(&mut self.known);
        self.parse();
    }

    /// Identifies the rules that wait for a person: others than those that the person saw have
    /// another fingerprint. None if none wait.
    pub(crate) fn fingerprint(&self) -> Option<String> {
        if self.views.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        for (path, text) in self.views.iter().flat_map(|view| &view.texts).chain(&self.known) {
            for part in [path.as_os_str().as_bytes(), text] {
                bytes.extend((part.len() as u64).to_le_bytes());
                bytes.extend(part);
            }
        }
        Some(ContentHash::of(&bytes).to_string())
    }

    /// Joins the newest two views: the lines of both that exclude.
    fn join_newest(&mut self) {
        let (Some(newest), Some(view)) = (self.views.pop(), self.views.last_mut()) else { return };
        for (path, text) in newest.texts {
            let joined = view.texts.entry(path).or_default();
            joined.push(b'\n');
            joined.extend(text);
        }
        for text in view.texts.values_mut() {
            let excluding = lines(text).filter(|line| !line.starts_with(b"!"));
            *text = excluding.collect::<Vec<_>>().join(&b'\n');
        }
        view.excluded.extend(newest.excluded);
    }

    fn parse(&mut self) {
        self.is_changed = true;
        self.lists = self.views.iter().map(|view| lists_of(&view.texts)).collect();
    }
}

/// Reports whether rules exclude all that other rules excluded.
fn excludes_more(old: &RuleTexts, new: &RuleTexts) -> bool {
    let text = |texts: &RuleTexts, path| texts.get(path).cloned().unwrap_or_default();
    let excludes_nothing = |text: &Vec<u8>| only_excludes_more(text, b"");
    // Where nothing was excluded, nothing can be included.
    old.values().all(excludes_nothing)
        || old
            .keys()
            .chain(new.keys())
            .all(|path| only_excludes_more(&text(old, path), &text(new, path)))
}

/// Applies the lines that a change adds and removes to another text.
fn repeat_change(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let (before, after): (Vec<&[u8]>, Vec<&[u8]>) = (lines(old).collect(), lines(new).collect());
    let stays = |line: &&[u8]| after.contains(line) || !before.contains(line);
    let added = after.iter().copied().filter(|line| !before.contains(line));
    lines(text).filter(stays).chain(added).collect::<Vec<_>>().join(&b'\n')
}

fn lists_of(texts: &RuleTexts) -> HashMap<PathBuf, IgnoreRuleList> {
    let mut lists: HashMap<PathBuf, IgnoreRuleList> = HashMap::new();
    // `.git/info/exclude` comes before the others, and `.yfsignore` after `.gitignore`.
    for (path, text) in texts {
        let is_rules = path.file_name().is_some_and(|name| RULE_FILES.iter().any(|f| name == *f));
        let dir = match is_rules {
            true => path.parent().unwrap_or(Path::new("")),
            false => Path::new(""),
        };
        lists.entry(dir.to_owned()).or_default().add_text(text);
    }
    lists
}

fn is_excluded(lists: &HashMap<PathBuf, IgnoreRuleList>, path: &Path, is_dir: bool) -> bool {
    outermost_first(path).any(|at| {
        let verdict = at.ancestors().skip(1).find_map(|dir| {
            let relative = at.strip_prefix(dir).unwrap_or(at).as_os_str();
            lists.get(dir)?.verdict(OsStr::as_bytes(relative), is_dir || at != path)
        });
        verdict == Some(IgnoreVerdict::Excluded)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(root: &str) -> RuleTexts {
        RuleTexts::from([(".gitignore".into(), root.into())])
    }

    fn excludes(held: &HeldRules, path: &str) -> bool {
        held.excludes(Path::new(path), false)
    }

    #[test]
    fn what_others_include_stays_excluded_until_a_person_removes_the_line() {
        let mut held = HeldRules::default();
        held.begin(texts(".env\n*.pem\n"), HashSet::new());
        held.end(texts(".env\n*.pem\n!.env\n"));
        assert!(excludes(&held, ".env") && excludes(&held, "d/id.pem") && !excludes(&held, "a"));
        // Others include the rest, too.
        held.begin(texts(".env\n*.pem\n!.env\n"), HashSet::new());
        held.end(texts(""));
        assert!(excludes(&held, ".env") && excludes(&held, "d/id.pem"));
        // A person adds a rule, and removes it again.
        held.note_local(texts("*.log\n"), |_| PathBuf::new());
        assert!(excludes(&held, ".env") && excludes(&held, "a.log"));
        held.note_local(texts(""), |_| PathBuf::new());
        assert!(excludes(&held, ".env") && !excludes(&held, "a.log"));
        // A person writes the rule that others removed and removes that.
        held.note_local(texts(".env\n*.pem\n"), |_| PathBuf::new());
        assert!(held.is_empty(), "the rules of the directory exclude as much: {held:?}");
    }

    #[test]
    fn rules_that_exclude_more_need_no_person() {
        let mut held = HeldRules::default();
        for (old, new) in
            [("", "*.log\n!keep.log\n"), ("*.log\n!keep.log\n", "a\n*.log\n!keep.log\n")]
        {
            held.begin(texts(old), HashSet::new());
            assert!(held.is_applying());
            held.end(texts(new));
            assert!(held.is_empty() && !held.is_applying(), "{new}");
        }
    }

    #[test]
    fn many_changes_of_others_include_nothing() {
        let mut held = HeldRules::default();
        for number in 0..20 {
            held.begin(texts(&format!("{number}.txt\n!keep\n")), HashSet::new());
            held.end(texts("!*\n"));
        }
        assert!(held.views().len() <= MAX_VIEWS);
        assert!((0..20).all(|number| excludes(&held, &format!("{number}.txt"))));
    }

    #[test]
    fn a_directory_that_moves_takes_its_rules_along() {
        let mut held = HeldRules::default();
        let inner =
            |dir: &str| RuleTexts::from([(format!("{dir}/.yfsignore").into(), b"x".into())]);
        held.begin(inner("a"), HashSet::new());
        held.end(RuleTexts::new());
        held.rename(Path::new("a"), Path::new("b/c"));
        assert!(excludes(&held, "b/c/x") && !excludes(&held, "a/x"));
    }
}
