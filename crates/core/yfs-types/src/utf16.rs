//! Text in UTF-16, which programs of Windows write: how it is recognized and decoded.
//!
//! Searches, statistics and queries take the same contents for UTF-16.
//!
//! ```
//! use yfs_types::utf16::Utf16Order;
//!
//! let content = b"\xff\xfeh\0i\0\n\0";
//! let order = Utf16Order::detect(content);
//! assert_eq!(order, Some(Utf16Order::LittleEndian));
//! assert_eq!(order.map(|order| order.decode(content)), Some("hi\n".to_owned()));
//! assert_eq!(Utf16Order::detect(b"hi\n"), None);
//! ```

/// The order of the two bytes of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utf16Order {
    /// The lower byte is first, as Windows has it.
    LittleEndian,
    /// The higher byte is first.
    BigEndian,
}

impl Utf16Order {
    /// The number of bytes at the beginning of a content that decide.
    pub const HEAD_LEN: usize = 64 * 1024;

    /// Returns the order of a content that is text in UTF-16, by its first
    /// [`HEAD_LEN`](Self::HEAD_LEN) bytes.
    ///
    /// Such text begins with U+FEFF, or at least 7 of 10 units have a zero in the higher byte, and
    /// at most 1 of 20 in the lower one. It has no U+0000, and few other control characters.
    pub fn detect(content: &[u8]) -> Option<Self> {
        let head = &content[..content.len().min(Self::HEAD_LEN)];
        let order = match head {
            [0xFF, 0xFE, ..] => Self::LittleEndian,
            [0xFE, 0xFF, ..] => Self::BigEndian,
            _ => Self::by_zeros(head)?,
        };
        let units = order.units(head);
        let n_units = units.len();
        let (mut n_control, mut has_zero) = (0, false);
        for unit in units {
            has_zero |= unit == 0;
            n_control += usize::from(matches!(unit, 1..=6 | 14..=26 | 28..=31 | 127));
        }
        (!has_zero && n_control * 50 <= n_units).then_some(order)
    }

    /// Returns the order by the place of zeros: most of the text is ASCII.
    fn by_zeros(head: &[u8]) -> Option<Self> {
        if head.len() < 4 || !head.contains(&0) {
            return None;
        }
        let n_zeros =
            |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
        let (n_even, n_odd, half) = (n_zeros(0), n_zeros(1), head.len() / 2);
        match (n_even * 10 >= half * 7, n_odd * 10 >= half * 7) {
            (true, false) if n_odd * 20 <= half => Some(Self::BigEndian),
            (false, true) if n_even * 20 <= half => Some(Self::LittleEndian),
            _ => None,
        }
    }

    fn units(self, content: &[u8]) -> impl ExactSizeIterator<Item = u16> {
        content.chunks_exact(2).map(move |pair| {
            let pair = [pair[0], pair[1]];
            match self {
                Self::LittleEndian => u16::from_le_bytes(pair),
                Self::BigEndian => u16::from_be_bytes(pair),
            }
        })
    }

    /// Decodes a whole content, without a mark at its beginning. What is no character becomes
    /// U+FFFD.
    pub fn decode(self, content: &[u8]) -> String {
        let units = self.units(content).enumerate();
        let units = units.filter(|(at, unit)| *at > 0 || *unit != 0xFEFF).map(|(_, unit)| unit);
        let characters = char::decode_utf16(units);
        let mut text: String =
            characters.map(|result| result.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if content.len() % 2 == 1 {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        text
    }
}
