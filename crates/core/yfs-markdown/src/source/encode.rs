//! A memory as entries of text, each small and of its own.
//!
//! ```text
//! style        1 lf mark open defs          writer's version, line end, and what else holds
//! l<leaf>      records                      a leaf's lines
//! g<leaf><leaf> records                     the lines between two leaves
//!
//! record       <hint> <lines> <prefix>,<prefix>…       then that many lines; = for the usual ones
//! prefix       = where usual, or <first>|<rest>
//! line         one letter, then the text: a after the prefixes, A whole; b, c, d (B, C, D) the
//!              same for a line that ends with LF, CR LF or CR unlike most
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::{
    FileStyle, SourceMap, SourceRecord, WRITER_VERSION,
    key::{LeafKey, TEXT_LEN},
    prefixes::MAX_PREFIX,
};
use crate::write::emit::{LineEnd, OutputLine};

/// The key of the file's style.
const STYLE: &str = "style";

impl SourceMap {
    /// Returns the memory as entries, in order of key.
    pub fn entries(&self) -> BTreeMap<String, String> {
        let mut entries = BTreeMap::new();
        if self.style != FileStyle::default() {
            entries.insert(STYLE.to_owned(), self.style.to_text());
        }
        for (key, records) in &self.leaves {
            entries.insert(format!("l{}", key.to_text()), records_to_text(records));
        }
        for ((before, after), records) in &self.gaps {
            let key = format!("g{}{}", before.to_text(), after.to_text());
            entries.insert(key, records_to_text(records));
        }
        entries
    }

    /// Reads entries from an untrusted document. Unreadable entries are ignored.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut map = Self::default();
        for (key, value) in entries {
            if key == STYLE {
                map.style = FileStyle::from_text(value);
            } else if let Some(leaf) = key.strip_prefix('l').and_then(LeafKey::from_text) {
                map.leaves.extend(records_from_text(value).map(|records| (leaf, records)));
            } else if let Some(pair) =
                key.strip_prefix('g').and_then(|keys| keys.split_at_checked(TEXT_LEN))
                && let (Some(before), Some(after)) =
                    (LeafKey::from_text(pair.0), LeafKey::from_text(pair.1))
            {
                let records = records_from_text(value);
                map.gaps.extend(records.map(|records| ((before, after), records)));
            }
        }
        map
    }

    /// Returns the edits that turn these entries into those of `new`: a value to set, or `None` to
    /// delete. Entries that are the same are left out.
    pub fn changes(&self, new: &Self) -> Vec<(String, Option<String>)> {
        let (old, mut new) = (self.entries(), new.entries());
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let changed = keys.into_iter().filter(|key| old.get(*key) != new.get(*key));
        let changed: Vec<String> = changed.cloned().collect();
        changed.into_iter().map(|key| (key.clone(), new.remove(&key))).collect()
    }

    /// Reports whether nothing is remembered: the text is in the usual style.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl FileStyle {
    fn to_text(self) -> String {
        let mut text = WRITER_VERSION.to_string();
        text.push_str(match self.end {
            LineEnd::Lf => " lf",
            LineEnd::CrLf => " crlf",
            LineEnd::Cr => " cr",
        });
        let flags = [
            (self.has_mark, " mark"),
            (self.is_open, " open"),
            (self.has_definitions, " defs"),
            (self.has_templates, " like"),
        ];
        text.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name));
        text
    }

    fn from_text(text: &str) -> Self {
        let mut style = Self::default();
        for word in text.split(' ').skip(1) {
            match word {
                "crlf" => style.end = LineEnd::CrLf,
                "cr" => style.end = LineEnd::Cr,
                "mark" => style.has_mark = true,
                "open" => style.is_open = true,
                "defs" => style.has_definitions = true,
                "like" => style.has_templates = true,
                _ => {}
            }
        }
        style
    }
}

fn records_to_text(records: &[SourceRecord]) -> String {
    let mut text = String::new();
    for record in records {
        let prefixes = record.prefixes.iter().map(|prefix| match prefix {
            Some((first, rest)) => format!("{first}|{rest}"),
            None => "=".to_owned(),
        });
        let prefixes = prefixes.collect::<Vec<_>>().join(",");
        let lines = record.lines.as_deref();
        let n_lines = lines.map_or("=".to_owned(), |lines| lines.len().to_string());
        text.push_str(&format!("{} {n_lines} {prefixes}\n", record.hint));
        for line in lines.unwrap_or_default() {
            text.push(match (line.is_whole, line.end) {
                (false, None) => 'a',
                (false, Some(LineEnd::Lf)) => 'b',
                (false, Some(LineEnd::CrLf)) => 'c',
                (false, Some(LineEnd::Cr)) => 'd',
                (true, None) => 'A',
                (true, Some(LineEnd::Lf)) => 'B',
                (true, Some(LineEnd::CrLf)) => 'C',
                (true, Some(LineEnd::Cr)) => 'D',
            });
            text.push_str(&line.text);
            text.push('\n');
        }
    }
    text
}

fn records_from_text(text: &str) -> Option<Vec<SourceRecord>> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    let mut records = Vec::new();
    while let Some(head) = lines.next() {
        let mut fields = head.splitn(3, ' ');
        let hint = fields.next()?.parse().ok()?;
        let n_lines = fields.next()?;
        let prefixes = prefixes_from_text(fields.next()?)?;
        if n_lines == "=" {
            records.push(SourceRecord { hint, prefixes, lines: None });
            continue;
        }
        let n_lines: usize = n_lines.parse().ok()?;
        let lines: Vec<OutputLine> =
            lines.by_ref().take(n_lines).map(line_from_text).collect::<Option<_>>()?;
        if lines.len() != n_lines {
            return None;
        }
        records.push(SourceRecord { hint, prefixes, lines: Some(lines) });
    }
    Some(records)
}

fn prefixes_from_text(text: &str) -> Option<Vec<Option<(String, String)>>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let is_sound = |prefix: &str| {
        prefix.len() <= MAX_PREFIX
            && prefix
                .chars()
                .all(|character| " \t>-+*.)".contains(character) || character.is_ascii_digit())
    };
    let read = |prefix: &str| match prefix.split_once('|') {
        None => (prefix == "=").then_some(None),
        Some((first, rest)) => {
            let (first_is_sound, rest_is_sound) = (is_sound(first), is_sound(rest));
            (first_is_sound && rest_is_sound).then(|| Some((first.to_owned(), rest.to_owned())))
        }
    };
    text.split(',').map(read).collect()
}

fn line_from_text(text: &str) -> Option<OutputLine> {
    let (is_whole, end) = match text.chars().next()? {
        'a' => (false, None),
        'b' => (false, Some(LineEnd::Lf)),
        'c' => (false, Some(LineEnd::CrLf)),
        'd' => (false, Some(LineEnd::Cr)),
        'A' => (true, None),
        'B' => (true, Some(LineEnd::Lf)),
        'C' => (true, Some(LineEnd::CrLf)),
        'D' => (true, Some(LineEnd::Cr)),
        _ => return None,
    };
    let text = &text[1..];
    (!text.contains('\r')).then(|| OutputLine { text: text.to_owned(), is_whole, end })
}
