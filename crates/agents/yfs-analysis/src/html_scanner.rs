//! HTML as a stream of tags and texts, from chunks that end anywhere.
//!
//! The rules are those of the HTML standard for tags, attributes, comments, and elements whose
//! content is no markup. Nothing is malformed: every text is some HTML. Libraries for this either
//! read the whole document at once or build the tree of it.
//!
//! # Cost
//!
//! 1,024 bytes for the current name, attribute or value; what is longer is cut.

use memchr::{memchr, memchr2};

/// The most bytes of a name or value.
const MAX_TEXT_LEN: usize = 1_024;

/// The most bytes of a character reference.
const MAX_REFERENCE_LEN: usize = 40;

/// The most attributes of a tag.
const MAX_ATTRIBUTES: usize = 64;

/// A part of an HTML text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HtmlEvent<'a> {
    /// A start tag.
    StartTag(&'a HtmlTag),
    /// The name of an end tag.
    EndTag(&'a str),
    /// Text outside of tags, or a part of it, with character references replaced.
    Text(&'a str),
}

/// A start tag.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct HtmlTag {
    /// The name, in lower case.
    pub name: String,
    /// The attributes: name in lower case, and value.
    pub attributes: Vec<(String, String)>,
}

impl HtmlTag {
    /// Returns the value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// The scanner. See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct HtmlScanner {
    state: ScanState,
    tag: HtmlTag,
    is_end_tag: bool,
    /// The current name, value, reference or keyword.
    text: String,
    /// The element whose content is no markup.
    raw_element: Option<&'static str>,
    /// Whether the last character of a comment was `-`, or the last two.
    n_dashes: u8,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    #[default]
    Text,
    /// After `&`.
    Reference,
    /// After `<`.
    TagOpen,
    /// After `</`.
    EndTagOpen,
    TagName,
    BeforeAttribute,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    Value(char),
    UnquotedValue,
    /// After `/` in a tag.
    SelfClosing,
    /// After `<!`.
    Declaration,
    Comment,
    /// A comment or declaration that ends at the first `>`.
    Bogus,
    /// In an element whose content is no markup.
    Raw,
    /// After `<` there.
    RawTagOpen,
    /// After `</` there, with the name so far in `text`.
    RawEndTag,
}

/// The elements whose content is no markup.
const RAW_ELEMENTS: [&str; 7] =
    ["script", "style", "textarea", "title", "iframe", "noembed", "xmp"];

impl HtmlScanner {
    /// Reads a chunk and passes its events to `receive`.
    pub(crate) fn push(&mut self, chunk: &str, receive: &mut impl FnMut(HtmlEvent<'_>)) {
        let mut rest = chunk;
        while let Some(char) = rest.chars().next() {
            let n_read = match self.state {
                ScanState::Text => self.read_text(rest, receive),
                ScanState::Raw => self.read_raw(rest, receive),
                ScanState::Comment | ScanState::Bogus => self.read_comment(rest),
                _ => match self.read_char(char, receive) {
                    true => char.len_utf8(),
                    false => 0,
                },
            };
            rest = &rest[n_read..];
        }
    }

    /// Ends the text.
    pub(crate) fn finish(&mut self, receive: &mut impl FnMut(HtmlEvent<'_>)) {
        match self.state {
            ScanState::Reference => self.end_reference(receive),
            ScanState::TagOpen | ScanState::RawTagOpen => receive(HtmlEvent::Text("<")),
            ScanState::EndTagOpen => receive(HtmlEvent::Text("</")),
            ScanState::RawEndTag => self.give_up_raw_end(receive),
            _ => (),
        }
    }

    fn read_text(&mut self, rest: &str, receive: &mut impl FnMut(HtmlEvent<'_>)) -> usize {
        let end = memchr2(b'<', b'&', rest.as_bytes());
        let plain = &rest[..end.unwrap_or(rest.len())];
        if !plain.is_empty() {
            receive(HtmlEvent::Text(plain));
        }
        let Some(end) = end else { return rest.len() };
        if rest.as_bytes()[end] == b'<' {
            self.state = ScanState::TagOpen;
        } else {
            self.text.clear();
            self.state = ScanState::Reference;
        }
        end + 1
    }

    fn read_raw(&mut self, rest: &str, receive: &mut impl FnMut(HtmlEvent<'_>)) -> usize {
        let has_references = matches!(self.raw_element, Some("title" | "textarea"));
        let end = match has_references {
            true => memchr2(b'<', b'&', rest.as_bytes()),
            false => memchr(b'<', rest.as_bytes()),
        };
        let plain = &rest[..end.unwrap_or(rest.len())];
        if !plain.is_empty() {
            receive(HtmlEvent::Text(plain));
        }
        let Some(end) = end else { return rest.len() };
        self.text.clear();
        self.state = match rest.as_bytes()[end] {
            b'<' => ScanState::RawTagOpen,
            _ => ScanState::Reference,
        };
        end + 1
    }

    fn read_comment(&mut self, rest: &str) -> usize {
        if self.state == ScanState::Bogus {
            let Some(end) = memchr(b'>', rest.as_bytes()) else { return rest.len() };
            self.state = ScanState::Text;
            return end + 1;
        }
        for (at, byte) in rest.bytes().enumerate() {
            match byte {
                b'-' => self.n_dashes = (self.n_dashes + 1).min(2),
                b'>' if self.n_dashes == 2 => {
                    self.state = ScanState::Text;
                    return at + 1;
                }
                b'!' if self.n_dashes == 2 => (),
                _ => self.n_dashes = 0,
            }
        }
        rest.len()
    }

    /// Reads one character of a tag or reference; returns whether it was consumed.
    fn read_char(&mut self, char: char, receive: &mut impl FnMut(HtmlEvent<'_>)) -> bool {
        match self.state {
            ScanState::Reference => return self.read_reference(char, receive),
            ScanState::RawTagOpen if char == '/' => {
                self.text.clear();
                self.state = ScanState::RawEndTag;
            }
            ScanState::RawTagOpen => {
                receive(HtmlEvent::Text("<"));
                self.state = ScanState::Raw;
                return false;
            }
            ScanState::RawEndTag => return self.read_raw_end(char, receive),
            ScanState::TagOpen | ScanState::EndTagOpen => return self.open_tag(char, receive),
            ScanState::Declaration => match (char, self.text.as_str()) {
                ('-', "") => self.text.push('-'),
                ('-', _) => {
                    // `<!-->` is a whole comment.
                    self.n_dashes = 2;
                    self.state = ScanState::Comment;
                }
                _ => {
                    self.state = ScanState::Bogus;
                    return false;
                }
            },
            _ => return self.read_in_tag(char, receive),
        }
        true
    }

    fn open_tag(&mut self, char: char, receive: &mut impl FnMut(HtmlEvent<'_>)) -> bool {
        let is_end = self.state == ScanState::EndTagOpen;
        match char {
            'a'..='z' | 'A'..='Z' => {
                self.is_end_tag = is_end;
                self.tag.name.clear();
                self.tag.attributes.clear();
                self.state = ScanState::TagName;
                return false;
            }
            '/' if !is_end => self.state = ScanState::EndTagOpen,
            '!' if !is_end => {
                self.text.clear();
                self.state = ScanState::Declaration;
            }
            '?' if !is_end => self.state = ScanState::Bogus,
            '>' if is_end => self.state = ScanState::Text,
            _ if is_end => {
                self.state = ScanState::Bogus;
                return false;
            }
            _ => {
                receive(HtmlEvent::Text("<"));
                self.state = ScanState::Text;
                return false;
            }
        }
        true
    }

    fn read_in_tag(&mut self, char: char, receive: &mut impl FnMut(HtmlEvent<'_>)) -> bool {
        let is_space = matches!(char, ' ' | '\t' | '\n' | '\r' | '\u{c}');
        match self.state {
            ScanState::Value(quote) => match char == quote {
                true => self.end_attribute(),
                false => push_bounded(&mut self.text, char),
            },
            ScanState::UnquotedValue if is_space => self.end_attribute(),
            ScanState::UnquotedValue if char == '>' => {
                self.end_attribute();
                return false;
            }
            ScanState::UnquotedValue => push_bounded(&mut self.text, char),
            ScanState::BeforeValue if is_space => (),
            ScanState::BeforeValue => {
                self.text.clear();
                self.state = match char {
                    '"' | '\'' => ScanState::Value(char),
                    _ => ScanState::UnquotedValue,
                };
                return matches!(char, '"' | '\'');
            }
            ScanState::SelfClosing if char == '>' => self.end_tag(receive),
            ScanState::SelfClosing => {
                self.state = ScanState::BeforeAttribute;
                return false;
            }
            _ if char == '>' => self.end_tag(receive),
            _ if char == '/' => self.state = ScanState::SelfClosing,
            ScanState::TagName if is_space => self.state = ScanState::BeforeAttribute,
            ScanState::TagName => push_bounded(&mut self.tag.name, char.to_ascii_lowercase()),
            ScanState::AttributeName if is_space => self.state = ScanState::AfterAttributeName,
            ScanState::AttributeName | ScanState::AfterAttributeName if char == '=' => {
                self.state = ScanState::BeforeValue;
            }
            ScanState::BeforeAttribute | ScanState::AfterAttributeName if is_space => (),
            ScanState::BeforeAttribute | ScanState::AfterAttributeName => {
                self.tag.attributes.truncate(MAX_ATTRIBUTES);
                self.tag.attributes.push(<(String, String)>::default());
                self.state = ScanState::AttributeName;
                self.push_to_name(char);
            }
            _ => self.push_to_name(char),
        }
        true
    }

    fn push_to_name(&mut self, char: char) {
        if let Some((name, _)) = self.tag.attributes.last_mut() {
            push_bounded(name, char.to_ascii_lowercase());
        }
    }

    fn end_attribute(&mut self) {
        if let Some((_, value)) = self.tag.attributes.last_mut() {
            *value = replace_references(&self.text);
        }
        self.state = ScanState::BeforeAttribute;
    }

    fn end_tag(&mut self, receive: &mut impl FnMut(HtmlEvent<'_>)) {
        self.state = ScanState::Text;
        if self.is_end_tag {
            receive(HtmlEvent::EndTag(&self.tag.name));
            return;
        }
        receive(HtmlEvent::StartTag(&self.tag));
        self.raw_element = RAW_ELEMENTS.into_iter().find(|name| *name == self.tag.name);
        if self.raw_element.is_some() {
            self.state = ScanState::Raw;
        }
    }

    fn read_raw_end(&mut self, char: char, receive: &mut impl FnMut(HtmlEvent<'_>)) -> bool {
        let element = self.raw_element.unwrap_or_default();
        let is_end = matches!(char, ' ' | '\t' | '\n' | '\r' | '\u{c}' | '/' | '>');
        if is_end && self.text.eq_ignore_ascii_case(element) {
            self.is_end_tag = true;
            self.tag.name.clear();
            self.tag.name.push_str(element);
            self.tag.attributes.clear();
            self.raw_element = None;
            self.state = ScanState::TagName;
            return false;
        }
        if char.is_ascii_alphabetic() && self.text.len() < element.len() {
            self.text.push(char);
            return true;
        }
        self.give_up_raw_end(receive);
        false
    }

    /// Passes on as text what began like an end tag.
    fn give_up_raw_end(&mut self, receive: &mut impl FnMut(HtmlEvent<'_>)) {
        receive(HtmlEvent::Text("</"));
        if !self.text.is_empty() {
            receive(HtmlEvent::Text(&self.text));
        }
        self.state = ScanState::Raw;
    }

    fn read_reference(&mut self, char: char, receive: &mut impl FnMut(HtmlEvent<'_>)) -> bool {
        let is_part = char.is_ascii_alphanumeric() || (char == '#' && self.text.is_empty());
        if is_part && self.text.len() < MAX_REFERENCE_LEN {
            self.text.push(char);
            return true;
        }
        if char == ';' {
            self.text.push(';');
        }
        self.end_reference(receive);
        char == ';'
    }

    fn end_reference(&mut self, receive: &mut impl FnMut(HtmlEvent<'_>)) {
        self.state = if self.raw_element.is_some() { ScanState::Raw } else { ScanState::Text };
        match decode_reference(&self.text) {
            Some(decoded) => receive(HtmlEvent::Text(&decoded)),
            None => {
                receive(HtmlEvent::Text("&"));
                if !self.text.is_empty() {
                    receive(HtmlEvent::Text(&self.text));
                }
            }
        }
    }
}

fn push_bounded(text: &mut String, char: char) {
    if text.len() < MAX_TEXT_LEN {
        text.push(char);
    }
}

/// Returns a text with its character references replaced.
fn replace_references(text: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        replaced.push_str(&rest[..at]);
        let name = &rest[at + 1..];
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '#';
        let mut len = name.find(|char| !is_part(char)).unwrap_or(name.len());
        if name[len..].starts_with(';') {
            len += 1;
        }
        match decode_reference(&name[..len]) {
            Some(decoded) => replaced.push_str(&decoded),
            None => replaced.push_str(&rest[at..at + 1 + len]),
        }
        rest = &name[len..];
    }
    replaced.push_str(rest);
    replaced
}

/// Returns the text of a character reference, given what follows `&`.
///
/// Names without `;` are those that pages of old leave so.
fn decode_reference(text: &str) -> Option<String> {
    let name = text.strip_suffix(';');
    let plain = match name.unwrap_or(text) {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "nbsp" => "\u{a0}",
        "copy" => "©",
        "reg" => "®",
        other => return decode_rare_reference(other, name.is_some()),
    };
    Some(plain.to_owned())
}

fn decode_rare_reference(name: &str, is_closed: bool) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        let code = code.ok().filter(|code| *code != 0);
        let digits = number.trim_start_matches(['x', 'X']);
        if digits.is_empty() {
            return None;
        }
        let char = code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        return Some(windows_char(char).to_string());
    }
    if !is_closed {
        return None;
    }
    // Markdown has the same references, and its parser the whole table of names.
    let reference = format!("&{name};");
    let mut events = pulldown_cmark::Parser::new(&reference);
    let decoded = events.find_map(|event| match event {
        pulldown_cmark::Event::Text(text) => Some(text.into_string()),
        _ => None,
    });
    decoded.filter(|decoded| *decoded != reference && !decoded.starts_with('&'))
}

/// Returns the character for which pages write a number from 128 to 159: that of Windows-1252.
fn windows_char(char: char) -> char {
    match u8::try_from(u32::from(char)) {
        Ok(byte @ 0x80..=0x9F) => {
            let bytes = [byte];
            let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes);
            text.chars().next().unwrap_or(char)
        }
        _ => char,
    }
}
