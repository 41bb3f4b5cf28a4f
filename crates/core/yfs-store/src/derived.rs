//! Labels of maps that are derived from the log and kept beside the store.
//!
//! A map holds what the log said at one position. A store can go back in time, for example when a
//! backup takes its place, and then its positions are given again to other records. So each map has
//! a random mark besides its position, and the store keeps the marks of the newest maps. A map
//! whose mark the store does not have is of another history, and is not used.
//!
//! The store gets the mark before the map appears, in the same file as the log. So a store that has
//! the mark has all records up to the position.

use crate::Seq;

/// The number of marks that a store keeps: a writer that was killed leaves one without a map.
const N_MARKS: usize = 4;

/// The position of the log that a derived map is of, and its random mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DerivedLabel {
    /// Every record up to this position is considered in the map.
    pub position: Seq,
    mark: u64,
}

impl DerivedLabel {
    /// Makes the label of a new map; `None` if the system has no random numbers.
    pub fn new(position: Seq) -> Option<Self> {
        Some(Self { position, mark: getrandom::u64().ok()? })
    }

    /// Returns the label as text: the position in decimal digits, a blank, and the mark in
    /// hexadecimal.
    pub fn encode(&self) -> Vec<u8> {
        format!("{} {:x}", self.position.0, self.mark).into_bytes()
    }

    /// Reads a label.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (position, mark) = std::str::from_utf8(bytes).ok()?.split_once(' ')?;
        let (position, mark) = (position.parse().ok()?, u64::from_str_radix(mark, 16).ok()?);
        Some(Self { position: Seq(position), mark })
    }

    /// Reports whether a setting of the store with the marks of its maps has this label.
    pub fn is_in(&self, marks: &[u8]) -> bool {
        parse_marks(marks).any(|mark| mark == *self)
    }

    /// Returns the setting with this label as the newest.
    pub fn add_to(&self, marks: &[u8]) -> Vec<u8> {
        let kept = parse_marks(marks).take(N_MARKS - 1);
        let all: Vec<Vec<u8>> =
            std::iter::once(*self).chain(kept).map(|mark| mark.encode()).collect();
        all.join(&b',')
    }
}

fn parse_marks(marks: &[u8]) -> impl Iterator<Item = DerivedLabel> {
    marks.split(|byte| *byte == b',').filter_map(DerivedLabel::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_keeps_the_newest_marks() {
        let labels: Vec<_> = (0..6).filter_map(|at| DerivedLabel::new(Seq(at))).collect();
        let marks = labels.iter().fold(Vec::new(), |marks, label| label.add_to(&marks));
        let kept: Vec<bool> = labels.iter().map(|label| label.is_in(&marks)).collect();
        assert_eq!(kept, [false, false, true, true, true, true]);
        assert_eq!(DerivedLabel::parse(&labels[5].encode()), Some(labels[5]));
        assert_eq!(DerivedLabel::parse(b"5"), None);
    }
}
