//! Reads YAML as values, by the events of saphyr-parser.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};
use smol_str::SmolStr;

use super::{Entries, FrontMatterError, MAX_DEPTH, MAX_LEN, comment_lines::is_above, scalar};
use crate::tree::AttributeValue;

/// The greatest integer up to which JavaScript represents all exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// A mapping, with the place of each entry in its text.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlMapping {
    /// The values by key, in order.
    pub entries: Entries,
    /// The lines of each entry, comments above included.
    pub(super) places: Vec<Range<usize>>,
    /// The bytes of each value that is a scalar on its own.
    pub(super) scalars: Vec<Option<(Range<usize>, ScalarQuotes)>>,
    /// Whether two entries share a line, or there are braces around.
    pub(super) is_flow: bool,
    /// Whether a value has an anchor, to which aliases may refer.
    pub(super) has_anchor: bool,
}

/// The quotes around a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarQuotes {
    None,
    Single,
    Double,
}

/// Reads YAML as npm `yaml` does, if a shared map can represent it.
///
/// # Errors
///
/// Returns the reason why it must be kept as text.
pub fn read(yaml: &str) -> Result<YamlMapping, FrontMatterError> {
    if yaml.len() > MAX_LEN {
        return Err(FrontMatterError::TooLarge);
    }
    let byte_of: Vec<usize> = yaml.char_indices().map(|(at, _)| at).chain([yaml.len()]).collect();
    let mut reader = YamlReader {
        parser: Parser::new_from_str(yaml),
        unsuited: None,
        has_anchor: false,
        byte_of,
    };
    let mapping = reader.document(yaml)?;
    match reader.unsuited {
        Some(what) => Err(FrontMatterError::Unsuited(what)),
        None => Ok(mapping),
    }
}

struct YamlReader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// A value that a shared map cannot represent. Reading goes on: it may be no YAML at all.
    unsuited: Option<&'static str>,
    has_anchor: bool,
    byte_of: Vec<usize>,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), FrontMatterError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(FrontMatterError::Invalid(error.to_string())),
            None => Err(FrontMatterError::Invalid("it ends too early".to_owned())),
        }
    }

    fn document(&mut self, yaml: &str) -> Result<YamlMapping, FrontMatterError> {
        let (mut entries, mut starts, mut scalars) = (Entries::new(), Vec::new(), Vec::new());
        let mut is_flow = false;
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_), _) => {}
                (Event::StreamEnd, _) => break,
                (Event::DocumentEnd, _) => match self.next()?.0 {
                    Event::StreamEnd => break,
                    _ => return Err(FrontMatterError::Invalid("it is two documents".to_owned())),
                },
                // An empty document is one null.
                (Event::Scalar(text, ScalarStyle::Plain, ..), _) if text.is_empty() => {}
                (Event::MappingStart(_, tag), span) => {
                    self.note_tag(tag.is_some());
                    is_flow = yaml[self.byte(span.start.index())..].starts_with('{');
                    loop {
                        let (event, span) = self.next()?;
                        if matches!(event, Event::MappingEnd) {
                            break;
                        }
                        starts.push(span.start.line().saturating_sub(1));
                        let key = self.key(event, &entries)?;
                        let (event, span) = self.next()?;
                        scalars.push(self.scalar_place(&event, span, yaml));
                        let value = self.value(event, 1)?;
                        entries.push((key, value));
                    }
                }
                _ => return self.not_mapping(),
            }
        }
        is_flow |= starts.windows(2).any(|pair| pair[0] == pair[1]);
        let places = places(yaml, &starts);
        let has_anchor = self.has_anchor;
        Ok(YamlMapping { entries, places, scalars, is_flow, has_anchor })
    }

    /// Continues to the end: text that is no YAML is no scalar either.
    fn not_mapping(&mut self) -> Result<YamlMapping, FrontMatterError> {
        while !matches!(self.next()?.0, Event::StreamEnd) {}
        Err(FrontMatterError::NotMapping)
    }

    fn byte(&self, char_index: usize) -> usize {
        let last = self.byte_of.len() - 1;
        self.byte_of[char_index.min(last)]
    }

    fn scalar_place(
        &self,
        event: &Event<'_>,
        span: Span,
        yaml: &str,
    ) -> Option<(Range<usize>, ScalarQuotes)> {
        let Event::Scalar(text, style, anchor, tag) = event else { return None };
        let quotes = match style {
            ScalarStyle::Plain if !text.is_empty() => ScalarQuotes::None,
            ScalarStyle::SingleQuoted => ScalarQuotes::Single,
            ScalarStyle::DoubleQuoted => ScalarQuotes::Double,
            _ => return None,
        };
        let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
        // The parser includes the text after the quotes, comments as well.
        let range = start..start + quoted_len(yaml.get(start..end)?, quotes)?;
        (*anchor == 0 && tag.is_none()).then_some((range, quotes))
    }

    fn note_tag(&mut self, has_tag: bool) {
        if has_tag {
            self.unsuited = Some("a tag");
        }
    }

    fn key(
        &mut self,
        event: Event<'_>,
        before: &[(SmolStr, AttributeValue)],
    ) -> Result<SmolStr, FrontMatterError> {
        let Event::Scalar(text, style, _, tag) = event else {
            return Err(FrontMatterError::Unsuited("a key that is no text"));
        };
        self.note_tag(tag.is_some());
        if style == ScalarStyle::Plain
            && !matches!(scalar::resolve(&text), AttributeValue::String(_))
        {
            self.unsuited = Some("a key that is no text");
        }
        if style == ScalarStyle::Plain && text == "<<" {
            self.unsuited = Some("a merge");
        }
        if before.iter().any(|(key, _)| *key == *text) {
            return Err(FrontMatterError::Invalid(format!("{text:?} stands there twice")));
        }
        Ok(SmolStr::new(&text))
    }

    fn value(
        &mut self,
        event: Event<'_>,
        depth: usize,
    ) -> Result<AttributeValue, FrontMatterError> {
        if depth > MAX_DEPTH {
            return Err(FrontMatterError::TooLarge);
        }
        Ok(match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.note_tag(tag.is_some());
                self.has_anchor |= anchor > 0;
                match style {
                    ScalarStyle::Plain => self.plain(&text),
                    _ => AttributeValue::string(&*text),
                }
            }
            Event::Alias(_) => {
                self.unsuited = Some("an alias");
                AttributeValue::Null
            }
            Event::SequenceStart(anchor, tag) => {
                self.note_tag(tag.is_some());
                self.has_anchor |= anchor > 0;
                let mut values = Vec::new();
                loop {
                    match self.next()?.0 {
                        Event::SequenceEnd => break AttributeValue::Array(values),
                        event => values.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(anchor, tag) => {
                self.note_tag(tag.is_some());
                self.has_anchor |= anchor > 0;
                let mut entries = Entries::new();
                loop {
                    match self.next()?.0 {
                        Event::MappingEnd => break AttributeValue::Object(entries),
                        event => {
                            let key = self.key(event, &entries)?;
                            let event = self.next()?.0;
                            let value = self.value(event, depth + 1)?;
                            entries.push((key, value));
                        }
                    }
                }
            }
            _ => return Err(FrontMatterError::Invalid("a value is missing".to_owned())),
        })
    }

    fn plain(&mut self, text: &str) -> AttributeValue {
        let value = scalar::resolve(text);
        if let AttributeValue::Number(number) = value
            && number.is_finite()
            && number.abs() > MAX_SAFE
            && (text.starts_with("0x") || !text.contains(['.', 'e', 'E']))
        {
            self.unsuited = Some("a number too large to be exact");
        }
        value
    }
}

/// Returns the length of the scalar that the text begins with.
pub(super) fn quoted_len(text: &str, quotes: ScalarQuotes) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    match quotes {
        ScalarQuotes::None => Some(text.len()),
        ScalarQuotes::Single => loop {
            match (bytes.get(at)?, bytes.get(at + 1)) {
                (b'\'', Some(b'\'')) => at += 2,
                (b'\'', _) => return Some(at + 1),
                _ => at += 1,
            }
        },
        ScalarQuotes::Double => loop {
            match bytes.get(at)? {
                b'\\' => at += 2,
                b'"' => return Some(at + 1),
                _ => at += 1,
            }
        },
    }
}

/// Returns the lines of each entry. Comments and blank lines right above belong to it.
fn places(yaml: &str, starts: &[usize]) -> Vec<Range<usize>> {
    let lines: Vec<&str> = yaml.split_inclusive('\n').collect();
    let mut offsets = vec![0];
    for line in &lines {
        offsets.push(offsets[offsets.len() - 1] + line.len());
    }
    let mut firsts = starts.to_vec();
    for index in (0..firsts.len()).rev() {
        let lowest = if index == 0 { 0 } else { starts[index - 1] + 1 };
        while firsts[index] > lowest
            && lines.get(firsts[index] - 1).is_some_and(|line| is_above(line))
        {
            firsts[index] -= 1;
        }
    }
    let offset = |line: Option<&usize>| {
        line.and_then(|line| offsets.get(*line)).copied().unwrap_or(yaml.len())
    };
    (0..firsts.len()).map(|n| offset(firsts.get(n))..offset(firsts.get(n + 1))).collect()
}
