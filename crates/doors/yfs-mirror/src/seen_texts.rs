//! The texts that files of the directory had, as bases of later saves.
//!
//! A program reads a file, the mirror writes text of others into it, and the program saves the text
//! that it read together with its own changes. Compared with the latest text on disk, the save
//! deletes the text of the others. So the mirror keeps the texts before, also while it does not
//! run, and takes a save for an edit of the one from which it differs least. A save that is exactly
//! an earlier text is a revert. What others wrote and a save takes out is reported.
//!
//! # Cost
//!
//! Only files that the mirror wrote to have texts here: 32 of each, 1 MiB of each, 2,048 files and
//! 32 MiB in total. Longer texts than 256 KiB are not kept.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use yfs_engine::{content::diff::diff_chars, id::FileId};

use crate::mirror_state::EditBase;

const MAX_TEXTS: usize = 32;
const MAX_LEN: usize = 256 << 10;
const MAX_FILE_LEN: usize = 1 << 20;
const MAX_FILES: usize = 2_048;
const MAX_TOTAL_LEN: usize = 32 << 20;

/// A text that was on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenText {
    /// Its place in the order of the texts of the file.
    pub(crate) number: i64,
    pub(crate) text: Arc<str>,
    /// The text as the base of a write.
    pub(crate) base: EditBase,
    /// Whether a program of this machine wrote it, rather than the mirror.
    pub(crate) is_local: bool,
    /// Whether a program may have read it.
    pub(crate) is_read: bool,
}

/// What a save is an edit of.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct SaveOrigin {
    /// An earlier text than the one on disk.
    pub(crate) base: Option<EditBase>,
    /// Words that others wrote since the text that the save shows, and that it takes out.
    pub(crate) lost: BTreeSet<String>,
}

/// The texts of all files.
#[derive(Debug, Default)]
pub(crate) struct SeenTexts {
    files: HashMap<FileId, VecDeque<SeenText>>,
    /// The files, the one that changed last at the end.
    order: VecDeque<FileId>,
    /// The files whose rows are to be written.
    changed: HashSet<FileId>,
}

impl SeenTexts {
    /// Restores the texts of a file, which come in their order.
    pub(crate) fn restore(&mut self, id: FileId, text: SeenText) {
        if !self.files.contains_key(&id) {
            self.order.push_back(id.clone());
        }
        self.files.entry(id).or_default().push_back(text);
    }

    /// Returns the files whose rows are to be written.
    pub(crate) fn take_changed(&mut self) -> HashSet<FileId> {
        std::mem::take(&mut self.changed)
    }

    pub(crate) fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Returns the texts of a file, oldest first.
    pub(crate) fn of(&self, id: &FileId) -> impl Iterator<Item = &SeenText> {
        self.files.get(id).into_iter().flatten()
    }

    /// Notes that the mirror replaces the bytes of a file.
    pub(crate) fn note_written(
        &mut self,
        id: &FileId,
        old: (&[u8], &EditBase),
        new: (&[u8], &EditBase),
    ) {
        self.add(id, old, true);
        self.add(id, new, false);
    }

    /// Notes that a program saved a file that has texts here.
    pub(crate) fn note_saved(&mut self, id: &FileId, data: &[u8], base: &EditBase) {
        if self.files.contains_key(id) {
            self.add(id, (data, base), true);
        }
    }

    /// Notes that a program may have read the text that is on disk.
    pub(crate) fn note_read(&mut self, id: &FileId) {
        let last = self.files.get_mut(id).and_then(VecDeque::back_mut);
        if let Some(last) = last.filter(|last| !last.is_read) {
            last.is_read = true;
            self.changed.insert(id.clone());
        }
    }

    /// Forgets the texts of a file.
    pub(crate) fn forget(&mut self, id: &FileId) {
        if self.files.remove(id).is_some() {
            self.order.retain(|other| other != id);
            self.changed.insert(id.clone());
        }
    }

    /// Decides which text a save is an edit of.
    pub(crate) fn origin_of_save(&self, id: &FileId, saved: &[u8]) -> SaveOrigin {
        let (Some(texts), Ok(saved)) = (self.files.get(id), std::str::from_utf8(saved)) else {
            return SaveOrigin::default();
        };
        let Some(current) = texts.back() else { return SaveOrigin::default() };
        let earlier = || texts.iter().enumerate().rev().skip(1);
        let reverted = earlier().find(|(_, seen)| *seen.text == *saved).map(|(at, _)| at);
        if reverted.is_none() {
            let mut best = (cost(&current.text, saved, usize::MAX), None);
            for (_, seen) in earlier() {
                let cost = cost(&seen.text, saved, best.0);
                if cost < best.0 && is_mostly_kept(&seen.text, saved) {
                    best = (cost, Some(seen));
                }
            }
            if let Some(seen) = best.1 {
                let base = Some(seen.base.clone());
                return SaveOrigin { base, lost: BTreeSet::new() };
            }
        }
        let last_local = || texts.iter().rposition(|seen| seen.is_local);
        let from = reverted.or_else(last_local).unwrap_or_default();
        let lost = words_of_others(texts.iter().skip(from), &current.text, saved);
        SaveOrigin { base: None, lost }
    }

    fn add(&mut self, id: &FileId, (data, base): (&[u8], &EditBase), is_local: bool) {
        let Ok(text) = std::str::from_utf8(data) else { return self.forget(id) };
        if text.len() > MAX_LEN {
            return self.forget(id);
        }
        let texts = self.files.entry(id.clone()).or_default();
        if texts.back().is_some_and(|last| *last.text == *text) {
            return;
        }
        let number = texts.back().map_or(0, |last| last.number + 1);
        let base = match base {
            EditBase::Unknown => EditBase::Bytes(data.into()),
            base => base.clone(),
        };
        let is_read = is_local;
        texts.push_back(SeenText { number, text: text.into(), base, is_local, is_read });
        while texts.len() > MAX_TEXTS || len_of(texts) > MAX_FILE_LEN {
            drop_one(texts);
        }
        self.changed.insert(id.clone());
        self.order.retain(|other| other != id);
        self.order.push_back(id.clone());
        self.drop_oldest_files();
    }

    fn drop_oldest_files(&mut self) {
        let mut total: usize = self.files.values().map(len_of).sum();
        while self.order.len() > 1 && (self.order.len() > MAX_FILES || total > MAX_TOTAL_LEN) {
            let Some(oldest) = self.order.pop_front() else { return };
            total -= self.files.remove(&oldest).as_ref().map_or(0, len_of);
            self.changed.insert(oldest);
        }
    }
}

fn len_of(texts: &VecDeque<SeenText>) -> usize {
    texts.iter().map(|seen| seen.text.len()).sum()
}

/// Drops one text before the last: one that no program read, or else the one whose neighbors are
/// closest for its age, so that old texts are kept at growing distances.
fn drop_one(texts: &mut VecDeque<SeenText>) {
    let n_earlier = texts.len() - 1;
    let unread = texts.iter().take(n_earlier).position(|seen| !seen.is_read);
    let last = texts.back().map_or(0, |seen| seen.number);
    let distance = |at: usize| {
        let gap = texts[at + 1].number - texts[at - 1].number;
        gap * 1_000_000 / (last - texts[at].number + 1)
    };
    let closest = || (1..n_earlier).min_by_key(|at| distance(*at));
    let at = unread.or_else(closest).unwrap_or_default();
    texts.remove(at);
}

/// Returns the words that the mirror brought in these texts, that the current text has, and that a
/// save does not.
fn words_of_others<'a>(
    texts: impl Iterator<Item = &'a SeenText>,
    current: &str,
    saved: &str,
) -> BTreeSet<String> {
    let words = |text: &'a str| text.split_whitespace().collect::<HashSet<&str>>();
    let current: HashSet<&str> = current.split_whitespace().collect();
    let saved: HashSet<&str> = saved.split_whitespace().collect();
    let mut before: Option<HashSet<&str>> = None;
    let mut lost = BTreeSet::new();
    for seen in texts {
        let now = words(&seen.text);
        if let Some(before) = before.filter(|_| !seen.is_local) {
            let new = now.difference(&before).filter(|word| current.contains(*word));
            lost.extend(new.filter(|word| !saved.contains(*word)).map(ToString::to_string));
        }
        before = Some(now);
    }
    lost
}

/// Reports whether a save has more than half of an earlier text. One that has not was written anew,
/// and says nothing of what its writer had read: the nearest text would be the shortest one.
fn is_mostly_kept(old: &str, saved: &str) -> bool {
    let removed: usize = diff_chars(old, saved).iter().map(|splice| splice.old.len()).sum();
    removed * 2 < old.len()
}

/// Returns the number of bytes in the differences of two texts, or `most` if there are as many.
fn cost(old: &str, new: &str, most: usize) -> usize {
    if old.len().abs_diff(new.len()) >= most {
        return most;
    }
    diff_chars(old, new).iter().map(|splice| splice.old.len() + splice.new.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> FileId {
        FileId::parse("a").unwrap()
    }

    /// Texts on disk: those that begin with `!` a program saved, the others the mirror wrote.
    fn texts(script: &[&str]) -> SeenTexts {
        let mut texts = SeenTexts::default();
        for text in script {
            let (text, is_local) = match text.strip_prefix('!') {
                Some(text) => (text, true),
                None => (*text, false),
            };
            texts.add(&id(), (text.as_bytes(), &EditBase::Unknown), is_local);
        }
        texts
    }

    fn origin(script: &[&str], saved: &str) -> String {
        let SaveOrigin { base, lost } = texts(script).origin_of_save(&id(), saved.as_bytes());
        let base = match base {
            Some(EditBase::Bytes(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            _ => "current".to_owned(),
        };
        format!("{base}; lost: {}", lost.into_iter().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_save_is_an_edit_of_the_text_that_it_differs_least_from() {
        let script = ["!one two", "one ann two", "one ann two bob"];
        for (saved, expected) in [
            ("one two three", "one two; lost: "),
            ("one ann two bob three", "current; lost: "),
            ("one ann two three", "one ann two; lost: "),
            ("one two", "current; lost: ann bob"),
            ("one ann two", "current; lost: bob"),
            ("one two bob", "current; lost: ann"),
        ] {
            assert_eq!(origin(&script, saved), expected, "{saved}");
        }
    }

    /// The nearest text of one that was written anew was the shortest one, so all that others had
    /// written since was put back behind it.
    #[test]
    fn a_text_that_is_written_anew_replaces_the_current_one() {
        let script = ["!from home\n", "from home\nfrom away\n"];
        assert_eq!(origin(&script, "on disk\n"), "current; lost: away");
        assert_eq!(origin(&["", "ann"], "mine"), "current; lost: ann");
    }

    #[test]
    fn words_of_the_own_saves_are_not_those_of_others() {
        let script = ["!one", "one ann", "!one ann mine"];
        assert_eq!(origin(&script, "one ann"), "current; lost: ");
        assert_eq!(origin(&script, "one"), "current; lost: ann");
        assert_eq!(origin(&script, "one mine"), "current; lost: ");
    }

    #[test]
    fn texts_that_programs_read_are_kept_at_growing_distances() {
        let mut texts = texts(&["!begin"]);
        for number in 0..1_000 {
            texts.add(&id(), (format!("text {number}").as_bytes(), &EditBase::Unknown), false);
            texts.note_read(&id());
        }
        let kept: Vec<i64> = texts.of(&id()).map(|seen| seen.number).collect();
        assert_eq!((kept.len(), kept.last()), (MAX_TEXTS, Some(&1_000)));
        assert!(kept[0] == 0 && kept[3] < 600 && kept[MAX_TEXTS - 4] > 990, "{kept:?}");
    }
}
