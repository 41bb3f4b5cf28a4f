//! The words of a leaf, to find leaves that are like it.

/// The words of a text, and its beginning and end.
#[derive(Debug)]
pub(super) struct LeafWords {
    /// Hash and length of each word, sorted.
    words: Vec<(u64, usize)>,
    n_bytes: usize,
    /// All that is no blank.
    compact: Vec<char>,
}

/// The least similarity of a template, in thousandths.
const MIN_SIMILARITY: usize = 350;

/// The most letters and digits of a text that are compared one by one.
const MAX_COMPARED_CHARS: usize = 32;
/// The greatest size of a leaf whose words are also known as they are written.
const MAX_SHORT_SOURCE: usize = 256;

impl LeafWords {
    /// Returns the words of a leaf's lines: without the targets of links and references to
    /// characters, and if there are such, also as they are, since not all that has the form of a
    /// target is one.
    pub(super) fn of_source(source: &str) -> (Self, Option<Self>) {
        let meant = without_targets(&without_references(source));
        let written =
            (meant != source && source.len() <= MAX_SHORT_SOURCE).then(|| Self::new(source));
        (Self::new(&meant), written)
    }

    pub(super) fn new(text: &str) -> Self {
        let parts = text.split(|character: char| !character.is_alphanumeric());
        let mut words: Vec<_> = parts
            .filter(|word| !word.is_empty())
            .map(|word| (hash(b'w', word.bytes()), word.len()))
            .collect();
        words.sort_unstable();
        let n_bytes = words.iter().map(|word| word.1).sum();
        let mut compact: Vec<char> =
            text.chars().filter(|character| character.is_alphanumeric()).collect();
        if compact.is_empty() {
            compact = text.chars().filter(|character| !character.is_whitespace()).collect();
        }
        Self { words, n_bytes, compact }
    }

    /// Returns hashes of parts that a similar text is likely to have as well.
    pub(super) fn features(&self) -> Vec<u64> {
        let mut features: Vec<u64> = self.words.iter().map(|word| word.0).collect();
        for len in [1, 2, 4, 8] {
            if len <= self.compact.len() {
                let (start, end) =
                    (&self.compact[..len], &self.compact[self.compact.len() - len..]);
                let bytes = |part: &[char]| -> Vec<u8> {
                    part.iter().flat_map(|character| (*character as u32).to_le_bytes()).collect()
                };
                features.push(hash(b'a', bytes(start).into_iter()));
                features.push(hash(b'z', bytes(end).into_iter()));
            }
        }
        features.sort_unstable();
        features.dedup();
        features
    }

    /// Returns how much two texts share, in thousandths of the longer one; `None` if it is little.
    pub(super) fn similarity(&self, other: &Self) -> Option<usize> {
        let (mut left, mut right) = (self.words.iter().peekable(), other.words.iter().peekable());
        let mut shared = 0;
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => drop(left.next()),
                std::cmp::Ordering::Greater => drop(right.next()),
                std::cmp::Ordering::Equal => {
                    shared += a.1;
                    left.next();
                    right.next();
                }
            }
        }
        let (n_less, n_more) = (self.n_bytes.min(other.n_bytes), self.n_bytes.max(other.n_bytes));
        let by_words = if 2 * shared >= n_less { 1000 * shared / n_more.max(1) } else { 0 };
        let (n_less, n_more) = (
            self.compact.len().min(other.compact.len()),
            self.compact.len().max(other.compact.len()),
        );
        let is_same = |pair: &(&char, &char)| pair.0 == pair.1;
        let n_before = self.compact.iter().zip(&other.compact).take_while(is_same).count();
        let behind = self.compact.iter().rev().zip(other.compact.iter().rev());
        let n_behind = behind.take_while(is_same).count().min(n_less - n_before);
        let by_edges = 1000 * (n_before + n_behind) / n_more.max(1);
        let by_edges = if by_edges >= 500 { by_edges } else { 0 };
        let by_words_or_edges = by_words.max(by_edges);
        let similarity = match by_words_or_edges {
            0..MIN_SIMILARITY if n_more <= MAX_COMPARED_CHARS => self.by_characters(other),
            found => found,
        };
        Some(similarity).filter(|similarity| *similarity >= MIN_SIMILARITY)
    }

    /// Returns how many characters two short texts have in the same order, in thousandths of the
    /// longer one; 0 if it is less than half.
    fn by_characters(&self, other: &Self) -> usize {
        let mut row = vec![0; other.compact.len() + 1];
        for character in &self.compact {
            let mut diagonal = 0;
            for (at, theirs) in other.compact.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if theirs == character { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        let n_more = self.compact.len().max(other.compact.len());
        let shared = row.last().copied().unwrap_or_default();
        if 2 * shared >= n_more { 1000 * shared / n_more.max(1) } else { 0 }
    }
}

/// Returns a text without the targets of links.
fn without_targets(source: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(source.len()), source);
    while let Some(at) = rest.find(']') {
        text.push_str(&rest[..at]);
        text.push(' ');
        rest = &rest[at + 1..];
        let close = match rest.chars().next() {
            Some('(') => ')',
            Some('[') => ']',
            _ => continue,
        };
        rest = rest.find(close).map_or("", |end| &rest[end + 1..]);
    }
    text.push_str(rest);
    text
}

/// Returns a text without references to characters: `&amp;`, `&#38;`.
fn without_references(source: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(source.len()), source);
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '#';
        let name = rest.trim_start_matches(is_name);
        if let Some(behind) = name.strip_prefix(';') {
            rest = behind;
        }
    }
    text.push_str(rest);
    text
}

fn hash(seed: u8, bytes: impl Iterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    step(bytes.fold(0xcbf2_9ce4_8422_2325, step), seed)
}
