//! Compares two sequences of tokens, in bounded time.
//!
//! imara-diff is quadratic on some inputs: its histogram reads the rest of a text again after every
//! piece that it finds equal, and its Myers weighs frequent tokens by reading everything around
//! them. So it only ever sees short sequences. Long ones are first pinned together at tokens that
//! occur once on either side, as patience diff does; a stretch between two pins that is still long
//! has hardly a unique token, and counts as replaced.

use std::ops::Range;

use hashbrown::HashMap;
use imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, InternedInput};

use super::{
    ByteChange, common_prefix, common_suffix,
    tokens::{TokenLevel, TokenList},
};

/// The longest sequence that imara-diff gets to see, in tokens.
const MAX_LEN: usize = 2_000;

/// The longest sequence of lines that is compared by histogram.
const MAX_HISTOGRAM_LEN: usize = 1_000;

/// How often the space between two pins is pinned again, by tokens that are unique only there.
const MAX_DEPTH: usize = 4;

/// Compares two texts, cut into tokens of the given level, and returns the changes, in bytes.
pub(super) fn compare(old: &str, new: &str, level: TokenLevel) -> Vec<ByteChange> {
    let comparison = TokenComparison {
        old: TokenSequence::cut(old, level),
        new: TokenSequence::cut(new, level),
        level,
    };
    let mut hunks = Vec::new();
    let (n_old, n_new) = (comparison.old.tokens.len(), comparison.new.tokens.len());
    comparison.region(0..n_old, 0..n_new, 0, &mut hunks);
    let bytes = |hunk: TokenHunk| ByteChange {
        old: comparison.old.bytes(hunk.old),
        new: comparison.new.bytes(hunk.new),
    };
    hunks.into_iter().map(bytes).collect()
}

/// A change, in tokens.
struct TokenHunk {
    old: Range<usize>,
    new: Range<usize>,
}

struct TokenComparison<'a> {
    old: TokenSequence<'a>,
    new: TokenSequence<'a>,
    level: TokenLevel,
}

struct TokenSequence<'a> {
    tokens: Vec<&'a str>,
    /// Where each token begins, and where the last one ends.
    starts: Vec<usize>,
}

impl TokenComparison<'_> {
    fn region(&self, old: Range<usize>, new: Range<usize>, depth: usize, out: &mut Vec<TokenHunk>) {
        let (before, after) = (&self.old.tokens[old.clone()], &self.new.tokens[new.clone()]);
        let prefix = common_prefix(before, after);
        let suffix = common_suffix(&before[prefix..], &after[prefix..]);
        let middle = |range: &Range<usize>| range.start + prefix..range.end - suffix;
        let (old_middle, new_middle) = (middle(&old), middle(&new));
        let (n_old, n_new) = (old_middle.len(), new_middle.len());
        if n_old == 0 && n_new == 0 {
            // Equal.
        } else if n_old == 1 && n_new == 1 {
            out.push(TokenHunk { old: old_middle, new: new_middle });
        } else if before.len().max(after.len()) <= MAX_LEN {
            // With the equal tokens around it, over which a change may slide.
            self.leaf(old, new, out);
        } else if n_old.max(n_new) <= MAX_LEN || n_old == 0 || n_new == 0 {
            self.leaf(old_middle, new_middle, out);
        } else {
            self.pinned(old_middle, new_middle, depth, out);
        }
    }

    /// Compares the stretches between tokens that occur once on either side.
    fn pinned(&self, old: Range<usize>, new: Range<usize>, depth: usize, out: &mut Vec<TokenHunk>) {
        let pins = if depth < MAX_DEPTH { self.pins(&old, &new) } else { Vec::new() };
        if pins.is_empty() {
            return out.push(TokenHunk { old, new });
        }
        let (mut old_start, mut new_start) = (old.start, new.start);
        for (old_pin, new_pin) in pins {
            self.region(old_start..old_pin, new_start..new_pin, depth + 1, out);
            (old_start, new_start) = (old_pin + 1, new_pin + 1);
        }
        self.region(old_start..old.end, new_start..new.end, depth + 1, out);
    }

    /// Returns the longest row of tokens, in order on both sides, that are unique on both sides.
    fn pins(&self, old: &Range<usize>, new: &Range<usize>) -> Vec<(usize, usize)> {
        const TWICE: usize = usize::MAX;
        // The position of a token on either side, if it occurs once.
        let mut places: HashMap<&str, [Option<usize>; 2]> = HashMap::with_capacity(old.len());
        let sides = [(&self.old, old), (&self.new, new)];
        for (side, (sequence, range)) in sides.into_iter().enumerate() {
            for at in range.clone() {
                let place = &mut places.entry(sequence.tokens[at]).or_default()[side];
                *place = Some(if place.is_some() { TWICE } else { at });
            }
        }
        let mut pairs = places
            .into_values()
            .filter_map(|places| match places {
                [Some(old), Some(new)] if old != TWICE && new != TWICE => Some((old, new)),
                _ => None,
            })
            .collect::<Vec<_>>();
        pairs.sort_unstable();
        longest_increasing(&pairs)
    }

    fn leaf(&self, old: Range<usize>, new: Range<usize>, out: &mut Vec<TokenHunk>) {
        if old.is_empty() || new.is_empty() {
            return out.push(TokenHunk { old, new });
        }
        let mut input = InternedInput::default();
        input.update_before(self.old.tokens[old.clone()].iter().copied());
        input.update_after(self.new.tokens[new.clone()].iter().copied());
        let by_lines = self.level == TokenLevel::Line;
        let small = old.len().max(new.len()) <= MAX_HISTOGRAM_LEN;
        let histogram = by_lines && small;
        let algorithm = if histogram { Algorithm::Histogram } else { Algorithm::Myers };
        let mut diff = Diff::compute(algorithm, &input);
        if by_lines {
            diff.postprocess_with_heuristic(
                &input,
                IndentHeuristic::new(|token| {
                    IndentLevel::for_ascii_line(input.interner[token].bytes(), 8)
                }),
            );
        } else {
            diff.postprocess_no_heuristic(&input);
        }
        let shift =
            |range: Range<u32>, by: usize| range.start as usize + by..range.end as usize + by;
        out.extend(diff.hunks().map(|hunk| TokenHunk {
            old: shift(hunk.before, old.start),
            new: shift(hunk.after, new.start),
        }));
    }
}

impl<'a> TokenSequence<'a> {
    fn cut(text: &'a str, level: TokenLevel) -> Self {
        let tokens: Vec<_> = TokenList::new(text, level).collect();
        let mut starts = Vec::with_capacity(tokens.len() + 1);
        let mut start = 0;
        for token in &tokens {
            starts.push(start);
            start += token.len();
        }
        starts.push(start);
        Self { tokens, starts }
    }

    fn bytes(&self, tokens: Range<usize>) -> Range<usize> {
        self.starts[tokens.start]..self.starts[tokens.end]
    }
}

/// Returns a longest subsequence in which the second parts increase, too.
pub(in crate::content) fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair that ends a row of that length soonest; for each pair, the one
    // before it in its row.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        previous.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut row = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        row.push(pairs[index]);
        next = previous[index];
    }
    row.reverse();
    row
}
