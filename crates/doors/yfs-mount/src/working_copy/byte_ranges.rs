//! A set of bytes of a file, as ranges that do not touch.

use std::{collections::BTreeMap, ops::Range};

/// A set of ranges.
#[derive(Debug, Default)]
pub(crate) struct ByteRanges {
    /// The end of each range, by its start.
    ends: BTreeMap<u64, u64>,
}

impl ByteRanges {
    /// Adds a range.
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        // Ranges that overlap the new one or touch it become part of it.
        while let Some((&other, &other_end)) = self.ends.range(..=end).next_back() {
            if other_end < start {
                break;
            }
            self.ends.remove(&other);
            (start, end) = (start.min(other), end.max(other_end));
        }
        self.ends.insert(start, end);
    }

    /// Removes all from a byte on.
    pub(crate) fn truncate(&mut self, size: u64) {
        self.ends.split_off(&size);
        if let Some(mut last) = self.ends.last_entry() {
            let end = (*last.get()).min(size);
            last.insert(end);
        }
    }

    /// Reports whether all bytes of a range are in the set.
    pub(crate) fn contains(&self, range: Range<u64>) -> bool {
        let before = self.ends.range(..=range.start).next_back();
        before.is_some_and(|(_, &end)| end >= range.end)
    }

    /// Returns the parts of a range that are in the set, in order.
    pub(crate) fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let first = self.ends.range(..=range.start).next_back();
        let later = self.ends.range(range.start.saturating_add(1)..range.end.max(range.start + 1));
        let clip = move |(&start, &end): (&u64, &u64)| start.max(range.start)..end.min(range.end);
        first.into_iter().chain(later).map(clip).filter(|part| !part.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a set of one range is meant")]
    fn ranges_join_where_they_meet() {
        let mut ranges = ByteRanges::default();
        for range in [10..20, 30..40, 50..60, 0..0] {
            ranges.insert(range);
        }
        ranges.insert(20..30);
        let all = |ranges: &ByteRanges| ranges.within(0..100).collect::<Vec<_>>();
        assert_eq!(all(&ranges), [10..40, 50..60]);
        assert!(ranges.contains(12..40) && !ranges.contains(39..51));
        assert_eq!(ranges.within(15..55).collect::<Vec<_>>(), [15..40, 50..55]);
        ranges.truncate(35);
        assert_eq!(all(&ranges), [10..35]);
        ranges.insert(0..100);
        assert_eq!(all(&ranges), [0..100]);
    }
}
