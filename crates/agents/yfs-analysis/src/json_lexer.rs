//! JSON as a stream of events, from chunks that end anywhere.
//!
//! The lexer checks the whole grammar. It accepts several values one after the other, as in JSON
//! lines, and half of a surrogate pair, as Python does.
//!
//! # Cost
//!
//! One bit for each level of nesting, and `MAX_VALUE_LEN` bytes of the current string or number;
//! the rest of a longer one only enters its hash.

use std::fmt;

use memchr::{memchr_iter, memchr2, memrchr};

use crate::cardinality::ValueHasher;

/// The most bytes of a key, string or number that an event has.
pub(crate) const MAX_VALUE_LEN: usize = 1_024;

/// The most levels of nesting.
pub const MAX_DEPTH: usize = 1 << 20;

/// A part of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonEvent<'a> {
    /// `{`
    BeginObject,
    /// `}`
    EndObject,
    /// `[`
    BeginArray,
    /// `]`
    EndArray,
    /// The key of the member whose value follows.
    Key(LexedText<'a>),
    /// A string.
    String(LexedText<'a>),
    /// A number, as written.
    Number(LexedText<'a>),
    /// `true` or `false`.
    Boolean(bool),
    /// `null`
    Null,
}

/// The text of a key, string or number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LexedText<'a> {
    /// The text, or its beginning.
    pub text: &'a str,
    /// Whether there was more.
    pub is_cut: bool,
    /// The hash of the whole text.
    pub hash: u64,
}

/// The place where a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonSyntaxError {
    /// The offset in bytes of UTF-8.
    pub offset: u64,
    /// The line, from 1.
    pub line: u64,
    /// The character in its line, from 1.
    pub column: u64,
    /// What is wrong there.
    pub reason: &'static str,
}

impl fmt::Display for JsonSyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, reason, .. } = self;
        write!(f, "not JSON at line {line}, column {column}: {reason}")
    }
}

impl std::error::Error for JsonSyntaxError {}

/// Returns the first place where a text is not JSON: one value, or several one after the other.
pub fn find_syntax_error(text: &[u8]) -> Option<JsonSyntaxError> {
    let mut lexer = JsonLexer::default();
    lexer.push(text, &mut |_| ()).and_then(|()| lexer.finish(&mut |_| ())).err()
}

/// The lexer. See the module's documentation.
#[derive(Debug)]
pub(crate) struct JsonLexer {
    state: LexerState,
    /// Whether each open level is an object.
    levels: Vec<u64>,
    depth: usize,
    /// The current string or number.
    value: Vec<u8>,
    is_cut: bool,
    hasher: ValueHasher,
    /// The first half of a surrogate pair.
    high_surrogate: Option<u16>,
    offset: u64,
    /// The number of newlines in the chunks before.
    n_newlines: u64,
    /// The number of characters after the last one.
    n_characters: u64,
    error: Option<JsonSyntaxError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LexerState {
    /// Before a value. At the top level, the text may end here.
    Value,
    /// After `[`.
    FirstElement,
    /// After `{`.
    FirstKey,
    /// After `,` in an object.
    NextKey,
    Colon,
    /// After a value in an array or object.
    Comma,
    Text {
        is_key: bool,
    },
    Escape {
        is_key: bool,
    },
    Unicode {
        is_key: bool,
        n_digits: u8,
        code: u16,
    },
    Number(NumberState),
    Literal {
        word: &'static [u8],
        n_read: usize,
    },
    /// After a top-level number or literal, which a separator must follow.
    Separator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberState {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl NumberState {
    fn is_complete(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::ExponentDigits)
    }

    fn after(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => {
                Self::ExponentDigits
            }
            _ => return None,
        })
    }
}

impl Default for JsonLexer {
    fn default() -> Self {
        Self {
            state: LexerState::Value,
            levels: Vec::new(),
            depth: 0,
            value: Vec::new(),
            is_cut: false,
            hasher: ValueHasher::new(),
            high_surrogate: None,
            offset: 0,
            n_newlines: 0,
            n_characters: 0,
            error: None,
        }
    }
}

impl JsonLexer {
    /// Reads a chunk of UTF-8 and passes its events to `receive`.
    ///
    /// # Errors
    ///
    /// Fails where the text is not JSON, and from then on.
    pub(crate) fn push(
        &mut self,
        chunk: &[u8],
        receive: &mut impl FnMut(JsonEvent<'_>),
    ) -> Result<(), JsonSyntaxError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut rest = chunk;
        while let Some(byte) = rest.first() {
            let result = match self.state {
                LexerState::Text { is_key } => self.read_text(rest, is_key, receive),
                _ => self.read_byte(*byte, receive),
            };
            match result {
                Ok(n_read) => {
                    self.offset += n_read as u64;
                    rest = &rest[n_read..];
                }
                Err(reason) => {
                    self.pass_over(&chunk[..chunk.len() - rest.len()]);
                    let error = self.error_here(reason);
                    self.error = Some(error);
                    return Err(error);
                }
            }
        }
        self.pass_over(chunk);
        Ok(())
    }

    /// Counts the lines and characters of a text that was read.
    fn pass_over(&mut self, text: &[u8]) {
        let mut last_line = text;
        if let Some(at) = memrchr(b'\n', text) {
            self.n_newlines += memchr_iter(b'\n', text).count() as u64;
            self.n_characters = 0;
            last_line = &text[at + 1..];
        }
        let begins = |byte: &&u8| **byte & 0xC0 != 0x80;
        self.n_characters += last_line.iter().filter(begins).count() as u64;
    }

    fn error_here(&self, reason: &'static str) -> JsonSyntaxError {
        let (line, column) = (self.n_newlines + 1, self.n_characters + 1);
        JsonSyntaxError { offset: self.offset, line, column, reason }
    }

    /// Ends the text.
    ///
    /// # Errors
    ///
    /// Fails if a value is not complete.
    pub(crate) fn finish(
        &mut self,
        receive: &mut impl FnMut(JsonEvent<'_>),
    ) -> Result<(), JsonSyntaxError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if let LexerState::Number(number) = self.state
            && number.is_complete()
        {
            self.emit_number(receive);
        }
        let is_between = matches!(self.state, LexerState::Value | LexerState::Separator);
        match is_between && self.depth == 0 {
            true => Ok(()),
            false => Err(self.error_here("the text ends early")),
        }
    }

    /// Reads one byte outside the plain part of a string; returns how many bytes were read.
    fn read_byte(
        &mut self,
        byte: u8,
        receive: &mut impl FnMut(JsonEvent<'_>),
    ) -> Result<usize, &'static str> {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            LexerState::Text { .. } => Ok(0),
            LexerState::Escape { is_key } => self.read_escape(byte, is_key),
            LexerState::Unicode { is_key, n_digits, code } => {
                self.read_unicode(byte, is_key, n_digits, code)
            }
            LexerState::Number(number) => match number.after(byte) {
                Some(next) => {
                    self.state = LexerState::Number(next);
                    self.add_to_value(&[byte]);
                    Ok(1)
                }
                None if number.is_complete() => {
                    self.emit_number(receive);
                    Ok(0)
                }
                None => Err("a number is malformed"),
            },
            LexerState::Literal { word, n_read } => self.read_literal(byte, word, n_read, receive),
            LexerState::Separator if is_space => {
                self.state = LexerState::Value;
                Ok(1)
            }
            LexerState::Separator => Err("a value follows without a separator"),
            _ if is_space => Ok(1),
            LexerState::Colon if byte == b':' => {
                self.state = LexerState::Value;
                Ok(1)
            }
            LexerState::Colon => Err("a colon is missing"),
            LexerState::FirstKey | LexerState::NextKey if byte == b'"' => {
                self.begin_text(true);
                Ok(1)
            }
            LexerState::FirstKey if byte == b'}' => self.close(true, receive),
            LexerState::FirstKey | LexerState::NextKey => Err("a key is missing"),
            LexerState::FirstElement if byte == b']' => self.close(false, receive),
            LexerState::FirstElement | LexerState::Value => self.begin_value(byte, receive),
            LexerState::Comma => match (byte, self.is_in_object()) {
                (b',', true) => self.go_on(LexerState::NextKey),
                (b',', false) => self.go_on(LexerState::Value),
                (b'}', true) => self.close(true, receive),
                (b']', false) => self.close(false, receive),
                _ => Err("a comma or the end of an array or object is missing"),
            },
        }
    }

    fn go_on(&mut self, state: LexerState) -> Result<usize, &'static str> {
        self.state = state;
        Ok(1)
    }

    fn begin_value(
        &mut self,
        byte: u8,
        receive: &mut impl FnMut(JsonEvent<'_>),
    ) -> Result<usize, &'static str> {
        let literal = |word| LexerState::Literal { word, n_read: 1 };
        match byte {
            b'{' => {
                self.open(true)?;
                receive(JsonEvent::BeginObject);
                self.state = LexerState::FirstKey;
            }
            b'[' => {
                self.open(false)?;
                receive(JsonEvent::BeginArray);
                self.state = LexerState::FirstElement;
            }
            b'"' => self.begin_text(false),
            b'-' | b'0'..=b'9' => {
                self.clear_value();
                self.add_to_value(&[byte]);
                self.state = LexerState::Number(match byte {
                    b'-' => NumberState::Minus,
                    b'0' => NumberState::Zero,
                    _ => NumberState::Whole,
                });
            }
            b't' => self.state = literal(b"true"),
            b'f' => self.state = literal(b"false"),
            b'n' => self.state = literal(b"null"),
            _ => return Err("a value is missing"),
        }
        Ok(1)
    }

    fn read_literal(
        &mut self,
        byte: u8,
        word: &'static [u8],
        n_read: usize,
        receive: &mut impl FnMut(JsonEvent<'_>),
    ) -> Result<usize, &'static str> {
        if word.get(n_read) != Some(&byte) {
            return Err("a word is not true, false or null");
        }
        if n_read + 1 < word.len() {
            return self.go_on(LexerState::Literal { word, n_read: n_read + 1 });
        }
        receive(match word {
            b"null" => JsonEvent::Null,
            _ => JsonEvent::Boolean(word == b"true"),
        });
        self.end_value(LexerState::Separator);
        Ok(1)
    }

    /// Reads the plain part of a string; returns how many bytes were read.
    fn read_text(
        &mut self,
        rest: &[u8],
        is_key: bool,
        receive: &mut impl FnMut(JsonEvent<'_>),
    ) -> Result<usize, &'static str> {
        let end = memchr2(b'"', b'\\', rest);
        let plain = &rest[..end.unwrap_or(rest.len())];
        if plain.iter().any(|byte| *byte < 0x20) {
            return Err("a string has a control character");
        }
        if !plain.is_empty() {
            self.end_surrogate();
            self.add_to_value(plain);
        }
        let Some(end) = end else { return Ok(rest.len()) };
        if rest[end] == b'\\' {
            self.state = LexerState::Escape { is_key };
            return Ok(end + 1);
        }
        self.end_surrogate();
        let text = self.lexed_text();
        receive(if is_key { JsonEvent::Key(text) } else { JsonEvent::String(text) });
        if is_key {
            self.state = LexerState::Colon;
        } else {
            self.end_value(LexerState::Value);
        }
        Ok(end + 1)
    }

    fn read_escape(&mut self, byte: u8, is_key: bool) -> Result<usize, &'static str> {
        let char = match byte {
            b'u' => return self.go_on(LexerState::Unicode { is_key, n_digits: 0, code: 0 }),
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            _ => return Err("a string has an unknown escape"),
        };
        self.end_surrogate();
        self.add_to_value(&[char]);
        self.go_on(LexerState::Text { is_key })
    }

    fn read_unicode(
        &mut self,
        byte: u8,
        is_key: bool,
        n_digits: u8,
        code: u16,
    ) -> Result<usize, &'static str> {
        let digit = (byte as char).to_digit(16).ok_or("a string has a malformed escape")?;
        let code = code << 4 | digit as u16;
        if n_digits < 3 {
            return self.go_on(LexerState::Unicode { is_key, n_digits: n_digits + 1, code });
        }
        match (self.high_surrogate.take(), code) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let pair = char::decode_utf16([high, code]).next();
                self.add_char(pair.and_then(Result::ok));
            }
            (high, 0xD800..=0xDBFF) => {
                self.high_surrogate = high;
                self.end_surrogate();
                self.high_surrogate = Some(code);
            }
            (high, _) => {
                self.high_surrogate = high;
                self.end_surrogate();
                self.add_char(char::from_u32(u32::from(code)));
            }
        }
        self.go_on(LexerState::Text { is_key })
    }

    fn add_char(&mut self, char: Option<char>) {
        let mut buffer = [0; 4];
        let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
        self.add_to_value(char.encode_utf8(&mut buffer).as_bytes());
    }

    /// Replaces the first half of a surrogate pair that has no second half.
    fn end_surrogate(&mut self) {
        if self.high_surrogate.take().is_some() {
            self.add_char(None);
        }
    }

    fn begin_text(&mut self, is_key: bool) {
        self.clear_value();
        self.state = LexerState::Text { is_key };
    }

    fn clear_value(&mut self) {
        self.value.clear();
        self.is_cut = false;
        self.hasher = ValueHasher::new();
    }

    fn add_to_value(&mut self, bytes: &[u8]) {
        self.hasher.add(bytes);
        let n_free = MAX_VALUE_LEN - self.value.len();
        self.is_cut |= bytes.len() > n_free;
        self.value.extend_from_slice(&bytes[..bytes.len().min(n_free)]);
    }

    fn lexed_text(&self) -> LexedText<'_> {
        LexedText {
            text: valid_prefix(&self.value),
            is_cut: self.is_cut,
            hash: self.hasher.finish(),
        }
    }

    fn emit_number(&mut self, receive: &mut impl FnMut(JsonEvent<'_>)) {
        receive(JsonEvent::Number(self.lexed_text()));
        self.end_value(LexerState::Separator);
    }

    /// Goes on after a value; `at_top` is the state if it is not in an array or object.
    fn end_value(&mut self, at_top: LexerState) {
        self.state = if self.depth == 0 { at_top } else { LexerState::Comma };
    }

    fn open(&mut self, is_object: bool) -> Result<(), &'static str> {
        if self.depth == MAX_DEPTH {
            return Err("arrays and objects are nested too deeply");
        }
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.levels.len() {
            self.levels.push(0);
        }
        self.levels[word] &= !(1 << bit);
        self.levels[word] |= u64::from(is_object) << bit;
        self.depth += 1;
        Ok(())
    }

    fn close(
        &mut self,
        is_object: bool,
        receive: &mut impl FnMut(JsonEvent<'_>),
    ) -> Result<usize, &'static str> {
        receive(if is_object { JsonEvent::EndObject } else { JsonEvent::EndArray });
        self.depth -= 1;
        self.end_value(LexerState::Value);
        Ok(1)
    }

    fn is_in_object(&self) -> bool {
        let top = self.depth.saturating_sub(1);
        self.levels.get(top / 64).is_some_and(|word| word >> (top % 64) & 1 == 1)
    }
}

/// Returns the longest prefix that is UTF-8.
pub(crate) fn valid_prefix(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}
