//! Two states of one root as files, aligned by the items that both show.
//!
//! A comparison of the texts may take one letter for another that reads the same. The items are
//! exact; only text that belongs to no item, such as `#` and `**`, is compared as text.

use std::ops::Range;

use hashbrown::HashMap;

use super::super::{
    diff::{diff_chars, utf16_len},
    item_spans::{ItemSpan, bytes_of},
    rebase::{RunAlignment, TextLength, TextSide},
};
use crate::id::ClientId;

/// Text that both files show as the same items: its offset in each, and its length in bytes.
pub(super) struct SharedItemRange {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) len: usize,
}

/// Aligns two files that are made of items of one document.
pub(super) fn beside(
    old: &str,
    old_spans: &[ItemSpan],
    new: &str,
    new_spans: &[ItemSpan],
) -> RunAlignment {
    let shared = shared(old, old_spans, new, new_spans);
    lay(old, new, shared, |runs, old_gap, new_gap| {
        // Text of other items is different text, even if it reads the same.
        let n_before = n_before(old_spans, &old_gap).min(n_before(new_spans, &new_gap));
        let (gap, other) = (&old[old_gap.clone()], &new[new_gap.clone()]);
        let pairs = gap
            .char_indices()
            .zip(other.chars())
            .take_while(|((at, c), other)| c == other && at + c.len_utf8() <= n_before);
        let start = pairs.last().map_or(0, |((at, c), _)| at + c.len_utf8());
        let n_behind = n_behind(old_spans, &old_gap).min(n_behind(new_spans, &new_gap));
        let (gap_rest, other_rest) = (&gap[start..], &other[start..]);
        let mut n_end = 0;
        for (c, other) in gap_rest.chars().rev().zip(other_rest.chars().rev()) {
            if c != other || n_end + c.len_utf8() > n_behind {
                break;
            }
            n_end += c.len_utf8();
        }
        runs.push(TextSide::Both, TextLength::of(&gap[..start]));
        let gone = &gap_rest[..gap_rest.len() - n_end];
        let come = &other_rest[..other_rest.len() - n_end];
        if n_before == gap.len().min(other.len()) {
            compare(runs, gone, come);
        } else {
            runs.push(TextSide::Old, TextLength::of(gone));
            runs.push(TextSide::New, TextLength::of(come));
        }
        runs.push(TextSide::Both, TextLength::of(&gap_rest[gap_rest.len() - n_end..]));
    })
}

/// Returns how many bytes of a part of a file belong to no item, at its beginning.
fn n_before(spans: &[ItemSpan], part: &Range<usize>) -> usize {
    let first = spans.partition_point(|span| span.at + span.len <= part.start);
    let first = spans.get(first).map_or(part.end, |span| span.at);
    first.clamp(part.start, part.end) - part.start
}

/// Returns how many bytes of a part of a file belong to no item, at its end.
fn n_behind(spans: &[ItemSpan], part: &Range<usize>) -> usize {
    let last = spans.partition_point(|span| span.at < part.end);
    let last = last.checked_sub(1).map_or(part.start, |last| spans[last].at + spans[last].len);
    part.end - last.clamp(part.start, part.end)
}

/// Aligns two files that share some text, in order.
pub(super) fn beside_at(
    old: &str,
    new: &str,
    shared: impl IntoIterator<Item = SharedItemRange>,
) -> RunAlignment {
    lay(old, new, shared, |runs, old_gap, new_gap| compare(runs, &old[old_gap], &new[new_gap]))
}

fn lay(
    old: &str,
    new: &str,
    shared: impl IntoIterator<Item = SharedItemRange>,
    mut lay_gap: impl FnMut(&mut RunAlignment, Range<usize>, Range<usize>),
) -> RunAlignment {
    let mut runs = RunAlignment::default();
    let (mut old_at, mut new_at) = (0, 0);
    for shared in shared {
        if shared.old < old_at || shared.new < new_at {
            continue;
        }
        lay_gap(&mut runs, old_at..shared.old, new_at..shared.new);
        runs.push(TextSide::Both, TextLength::of(&old[shared.old..shared.old + shared.len]));
        (old_at, new_at) = (shared.old + shared.len, shared.new + shared.len);
    }
    lay_gap(&mut runs, old_at..old.len(), new_at..new.len());
    runs
}

fn compare(runs: &mut RunAlignment, old: &str, new: &str) {
    if !old.is_empty() || !new.is_empty() {
        runs.extend(RunAlignment::of_texts(old, new, diff_chars));
    }
}

/// Returns the text that is made of the same items, in the order of the newer file.
fn shared(
    old: &str,
    old_spans: &[ItemSpan],
    new: &str,
    new_spans: &[ItemSpan],
) -> Vec<SharedItemRange> {
    let mut by_client: HashMap<ClientId, Vec<&ItemSpan>> = HashMap::new();
    for span in old_spans {
        by_client.entry(span.item.client).or_default().push(span);
    }
    for spans in by_client.values_mut() {
        spans.sort_by_key(|span| span.item.clock);
    }
    let mut shared = Vec::new();
    for span in new_spans {
        let Some(known) = by_client.get(&span.item.client) else { continue };
        let end = span.item.clock + span.n_units;
        let first = known.partition_point(|old| old.item.clock + old.n_units <= span.item.clock);
        for before in known[first..].iter().take_while(|old| old.item.clock < end) {
            let from = span.item.clock.max(before.item.clock);
            let to = end.min(before.item.clock + before.n_units);
            let part = |text: &str, span: &ItemSpan| {
                let said = text.get(span.at..span.at + span.len)?;
                let start = bytes_of(said, from - span.item.clock);
                let end = bytes_of(said, to - span.item.clock);
                Some(span.at + start..span.at + end)
            };
            let (Some(old_part), Some(new_part)) = (part(old, before), part(new, span)) else {
                continue;
            };
            let said = &old[old_part.clone()];
            if said == &new[new_part.clone()] && utf16_len(said) == to - from {
                shared.push(SharedItemRange {
                    old: old_part.start,
                    new: new_part.start,
                    len: said.len(),
                });
            }
        }
    }
    shared
}
