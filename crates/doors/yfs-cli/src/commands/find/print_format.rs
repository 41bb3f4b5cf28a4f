//! The formats of `find -printf`.

use yfs_vfs::FileKind;

use super::expression::FindCandidate;
use crate::{mode, parse_time};

/// A parsed format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrintFormat(Vec<FormatPart>);

/// A part of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FormatPart {
    /// Text to print as it is.
    Literal(String),
    /// A property of the object.
    Directive(FormatDirective),
}

/// A property of the object, such as `%p` or `%-8s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FormatDirective {
    letter: char,
    /// The letter after `%T`, else a space.
    time_letter: char,
    /// The least width in characters.
    width: usize,
    /// Whether the text is at the left of the width.
    left: bool,
}

/// The letters that a directive may have.
const LETTERS: &str = "pPHhfsmMyYldtTi";

/// The letters of times that are their own directives of `strftime`.
const TIME_LETTERS: &str = "YymBbhdeHIMpaAjZzFDRcx";

/// The greatest width of a directive in characters.
const MAX_WIDTH: usize = 4096;

impl PrintFormat {
    /// Parses a format.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    // `\c` ends the output of this action.
                    Some('c') => break,
                    Some('0') => literal.push('\0'),
                    Some('n') => literal.push('\n'),
                    Some('t') => literal.push('\t'),
                    Some('r') => literal.push('\r'),
                    Some('a') => literal.push('\u{7}'),
                    Some('\\') | None => literal.push('\\'),
                    Some(other) => literal.extend(['\\', other]),
                },
                '%' if chars.next_if_eq(&'%').is_some() => literal.push('%'),
                '%' => {
                    parts.push(FormatPart::Literal(std::mem::take(&mut literal)));
                    parts.push(FormatPart::Directive(FormatDirective::parse(&mut chars)?));
                }
                char => literal.push(char),
            }
        }
        parts.push(FormatPart::Literal(literal));
        Ok(Self(parts))
    }

    /// Reports whether the format prints targets of links.
    pub(super) fn reads_links(&self) -> bool {
        self.0.iter().any(|part| match part {
            FormatPart::Directive(directive) => matches!(directive.letter, 'l' | 'Y'),
            FormatPart::Literal(_) => false,
        })
    }

    /// Formats an object.
    pub(super) fn format(&self, candidate: &FindCandidate<'_>) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                FormatPart::Literal(literal) => text.push_str(literal),
                FormatPart::Directive(directive) => {
                    let value = directive.value(candidate);
                    let width = directive.width;
                    text += &match directive.left {
                        true => format!("{value:<width$}"),
                        false => format!("{value:>width$}"),
                    };
                }
            }
        }
        text
    }
}

impl FormatDirective {
    /// Parses a directive after its `%`.
    fn parse(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Self, String> {
        let left = chars.next_if_eq(&'-').is_some();
        let mut width = 0_usize;
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            let digit = digit.to_digit(10).map_or(0, |digit| digit as usize);
            width = (width * 10 + digit).min(MAX_WIDTH);
        }
        let letter = chars.next().ok_or("the format of -printf ends with '%'")?;
        if !LETTERS.contains(letter) {
            return Err(match letter {
                'u' | 'g' | 'U' | 'G' => {
                    format!("'%{letter}' of -printf is not supported: there are no owners")
                }
                _ => format!("unknown directive '%{letter}' of -printf"),
            });
        }
        let mut time_letter = ' ';
        if letter == 'T' {
            time_letter = chars.next().ok_or("the format of -printf ends with '%T'")?;
            if !TIME_LETTERS.contains(time_letter) && !"@+ST".contains(time_letter) {
                return Err(format!("unknown directive '%T{time_letter}' of -printf"));
            }
        }
        Ok(Self { letter, time_letter, width, left })
    }

    /// Returns the value of the property.
    fn value(self, candidate: &FindCandidate<'_>) -> String {
        let (shown, entry) = (candidate.shown, &candidate.item.entry);
        let trimmed = shown.trim_end_matches('/');
        let split = trimmed.rsplit_once('/');
        match self.letter {
            'p' => shown.to_owned(),
            'H' => candidate.root.to_owned(),
            'P' => {
                let below = shown.strip_prefix(candidate.root).unwrap_or(shown);
                below.trim_start_matches('/').to_owned()
            }
            'f' if trimmed.is_empty() => shown.to_owned(),
            'f' => split.map_or(trimmed, |(_, name)| name).to_owned(),
            'h' => split.map_or(".", |(above, _)| above).to_owned(),
            's' => entry.size.to_string(),
            'm' => format!("{:o}", entry.mode),
            'M' => mode::format_mode(entry.kind, entry.mode),
            'y' => kind_letter(entry.kind).to_owned(),
            'Y' if entry.kind == FileKind::Symlink => match &candidate.link {
                Some(link) if link.referent.is_none() => "N".to_owned(),
                _ => kind_letter(candidate.kind_followed()).to_owned(),
            },
            'Y' => kind_letter(entry.kind).to_owned(),
            'l' => candidate.link.as_ref().map_or(String::new(), |link| link.target.clone()),
            'd' => candidate.depth.to_string(),
            'i' => entry.id.to_string(),
            't' => {
                let fraction = fraction(entry.mtime.0);
                let date = parse_time::format(entry.mtime, "%a %b %e %H:%M:%S");
                format!("{date}{fraction} {}", parse_time::format(entry.mtime, "%Y"))
            }
            _ => self.time(candidate),
        }
    }

    /// Returns the time of the object as `%T` and a letter format it.
    fn time(self, candidate: &FindCandidate<'_>) -> String {
        let time = candidate.item.entry.mtime;
        match self.time_letter {
            '@' => format!("{}{}", time.0.div_euclid(1000), fraction(time.0)),
            '+' => parse_time::format(time, "%Y-%m-%d+%H:%M:%S") + &fraction(time.0),
            'T' => parse_time::format(time, "%H:%M:%S") + &fraction(time.0),
            'S' => parse_time::format(time, "%S") + &fraction(time.0),
            letter => parse_time::format(time, &format!("%{letter}")),
        }
    }
}

/// Returns the fraction of a second, with ten digits as GNU prints it.
fn fraction(millis: i64) -> String {
    format!(".{:03}0000000", millis.rem_euclid(1000))
}

fn kind_letter(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "f",
        FileKind::Directory => "d",
        FileKind::Symlink => "l",
        _ => "U",
    }
}
