//! Patterns with wildcards, as git's `wildmatch` reads them.

/// What a pattern is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternTarget {
    /// The last component of a path.
    Name,
    /// The whole path, relative to the directory of the rule.
    Path,
}

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WildcardPattern {
    target: PatternTarget,
    /// The bytes before the first wildcard.
    prefix: Vec<u8>,
    rest: PatternRest,
}

/// The part of a pattern from its first wildcard on.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternRest {
    /// `*` and then bytes without wildcards, for a name without a prefix.
    Suffix(Vec<u8>),
    Tokens(Vec<PatternToken>),
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternToken {
    Byte(u8),
    /// `?`.
    AnyByte,
    /// `[…]`, as one bit for each byte.
    Set([u64; 4]),
    /// `*`.
    Star,
    /// `**` at the end, or before an escaped slash.
    DeepStar,
    /// Before [`Directories`](Self::Directories), which may be left out.
    MaybeDirectories,
    /// `**/`: one or more directories.
    Directories,
}

impl WildcardPattern {
    /// Parses a pattern, without the slash at its end. Returns none if it matches nothing.
    pub(super) fn parse(text: &[u8], target: PatternTarget) -> Option<Self> {
        let text = match target {
            PatternTarget::Path => text.strip_prefix(b"/").unwrap_or(text),
            PatternTarget::Name => text,
        };
        let is_special = |byte: &u8| b"*?[\\".contains(byte);
        let n_plain = text.iter().position(is_special).unwrap_or(text.len());
        let (prefix, rest) = text.split_at(n_plain);
        let rest = match rest {
            [b'*', suffix @ ..]
                if target == PatternTarget::Name
                    && prefix.is_empty()
                    && !suffix.iter().any(is_special) =>
            {
                PatternRest::Suffix(suffix.to_owned())
            }
            _ => PatternRest::Tokens(PatternParser { text: rest, at: 0 }.parse(target)?),
        };
        Some(Self { target, prefix: prefix.to_owned(), rest })
    }

    /// Reports whether a path matches.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let text = match self.target {
            PatternTarget::Path => path,
            PatternTarget::Name => path.rsplit(|byte| *byte == b'/').next().unwrap_or(path),
        };
        let Some(text) = text.strip_prefix(&self.prefix[..]) else { return false };
        match &self.rest {
            PatternRest::Suffix(suffix) => text.ends_with(suffix),
            PatternRest::Tokens(tokens) if tokens.is_empty() => text.is_empty(),
            PatternRest::Tokens(tokens) => match_tokens(tokens, text),
        }
    }
}

/// Matches a text by following all positions of the pattern at once.
fn match_tokens(tokens: &[PatternToken], text: &[u8]) -> bool {
    let mut now = vec![false; tokens.len() + 1];
    let mut next = now.clone();
    now[0] = true;
    for byte in text {
        follow_empty(tokens, &mut now);
        next.fill(false);
        let mut any = false;
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| now[*at]) {
            let (stays, goes_on) = token.step(*byte);
            next[at] |= stays;
            next[at + 1] |= goes_on;
            any |= stays || goes_on;
        }
        if !any {
            return false;
        }
        std::mem::swap(&mut now, &mut next);
    }
    follow_empty(tokens, &mut now);
    now[tokens.len()]
}

/// Adds the positions behind tokens that match no byte.
fn follow_empty(tokens: &[PatternToken], positions: &mut [bool]) {
    for (at, token) in tokens.iter().enumerate() {
        let reached = match token {
            PatternToken::Star | PatternToken::DeepStar => 1,
            PatternToken::MaybeDirectories => 2,
            _ => 0,
        };
        for behind in at + 1..=at + reached {
            positions[behind] |= positions[at];
        }
    }
}

impl PatternToken {
    /// Returns whether the token may go on after a byte, and whether it may end with it.
    fn step(&self, byte: u8) -> (bool, bool) {
        let is_slash = byte == b'/';
        match self {
            Self::Byte(expected) => (false, byte == *expected),
            Self::AnyByte => (false, !is_slash),
            Self::Set(bits) => (false, !is_slash && has_bit(bits, byte)),
            Self::Star => (!is_slash, false),
            Self::DeepStar => (true, false),
            Self::MaybeDirectories => (false, false),
            Self::Directories => (true, is_slash),
        }
    }
}

fn has_bit(bits: &[u64; 4], byte: u8) -> bool {
    bits[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
}

fn set_bit(bits: &mut [u64; 4], byte: u8) {
    bits[usize::from(byte >> 6)] |= 1 << (byte & 63);
}

/// A parser of the part of a pattern from its first wildcard on.
struct PatternParser<'a> {
    text: &'a [u8],
    at: usize,
}

impl PatternParser<'_> {
    fn parse(mut self, target: PatternTarget) -> Option<Vec<PatternToken>> {
        let mut tokens = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                b'?' => tokens.push(PatternToken::AnyByte),
                b'[' => tokens.push(PatternToken::Set(self.parse_set()?)),
                b'*' => self.parse_stars(target, &mut tokens),
                b'\\' => tokens.push(PatternToken::Byte(self.next()?)),
                byte => tokens.push(PatternToken::Byte(byte)),
            }
        }
        Some(tokens)
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.text.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn parse_stars(&mut self, target: PatternTarget, tokens: &mut Vec<PatternToken>) {
        let start = self.at - 1;
        while self.peek() == Some(b'*') {
            self.at += 1;
        }
        let begins_name = start == 0 || self.text[start - 1] == b'/';
        let is_deep = target == PatternTarget::Path && self.at - start > 1 && begins_name;
        match &self.text[self.at..] {
            [] | [b'\\', b'/', ..] if is_deep => tokens.push(PatternToken::DeepStar),
            [b'/', ..] if is_deep => {
                self.at += 1;
                tokens.extend([PatternToken::MaybeDirectories, PatternToken::Directories]);
            }
            _ => tokens.push(PatternToken::Star),
        }
    }

    /// Parses a set after its bracket; none if it is malformed.
    fn parse_set(&mut self) -> Option<[u64; 4]> {
        let mut bits = [0; 4];
        let is_negated = matches!(self.peek(), Some(b'!' | b'^'));
        self.at += usize::from(is_negated);
        let mut before: Option<u8> = None;
        let mut byte = self.next()?;
        loop {
            before = match byte {
                b'\\' => {
                    let escaped = self.next()?;
                    set_bit(&mut bits, escaped);
                    Some(escaped)
                }
                b'-' if before.is_some() && !matches!(self.peek(), None | Some(b']')) => {
                    let mut last = self.next()?;
                    if last == b'\\' {
                        last = self.next()?;
                    }
                    (before?..=last).for_each(|byte| set_bit(&mut bits, byte));
                    None
                }
                b'[' if self.peek() == Some(b':') => self.parse_class(&mut bits)?,
                byte => {
                    set_bit(&mut bits, byte);
                    Some(byte)
                }
            };
            byte = self.next()?;
            if byte == b']' {
                break;
            }
        }
        if is_negated {
            bits = bits.map(|bits: u64| !bits);
        }
        Some(bits)
    }

    /// Parses `[:name:]` after its bracket; none if it has no end or an unknown name. What has
    /// another end is a bracket in the set.
    fn parse_class(&mut self, bits: &mut [u64; 4]) -> Option<Option<u8>> {
        let start = self.at + 1;
        let len = self.text[start..].iter().position(|byte| *byte == b']')?;
        let inner = &self.text[start..start + len];
        let Some(name) = inner.strip_suffix(b":") else {
            set_bit(bits, b'[');
            return Some(Some(b'['));
        };
        let is_in: fn(&u8) -> bool = match name {
            b"alnum" => u8::is_ascii_alphanumeric,
            b"alpha" => u8::is_ascii_alphabetic,
            b"blank" => |byte| matches!(byte, b' ' | b'\t'),
            b"cntrl" => u8::is_ascii_control,
            b"digit" => u8::is_ascii_digit,
            b"graph" => u8::is_ascii_graphic,
            b"lower" => u8::is_ascii_lowercase,
            b"print" => |byte| matches!(byte, 0x20..=0x7e),
            b"punct" => u8::is_ascii_punctuation,
            b"space" => |byte| matches!(byte, b' ' | b'\t'..=b'\r'),
            b"upper" => u8::is_ascii_uppercase,
            b"xdigit" => u8::is_ascii_hexdigit,
            _ => return None,
        };
        (0..=u8::MAX).filter(is_in).for_each(|byte| set_bit(bits, byte));
        self.at = start + len + 1;
        Some(None)
    }
}
