//! The statistics of text, and what it is structured as.
//!
//! # Cost
//!
//! The first [`MAX_LINE_LEN`] bytes of the current line, and the first [`MAX_PROSE_LEN`] bytes of
//! the text.

use whatlang::detect;

use crate::{
    code_outline::FunctionFinder,
    file_stats::{ConfigFormat, TextStats, TextStructure},
    text_hints::{LogFinder, config_by_content, config_by_name, language_of},
};

/// The most bytes of a line that are examined.
const MAX_LINE_LEN: usize = 2_048;

/// The bytes of a text from which its language is guessed.
const MAX_PROSE_LEN: usize = 4_096;

/// The fewest words from which a language is guessed.
const MIN_PROSE_WORDS: usize = 12;

/// The pass over a text.
#[derive(Debug)]
pub(crate) struct TextPass {
    encoding: &'static str,
    config: Option<ConfigFormat>,
    code: Option<FunctionFinder>,
    logs: LogFinder,
    n_newlines: usize,
    n_words: usize,
    n_chars: usize,
    ends_in_word: bool,
    ends_in_line: bool,
    line: String,
    prose: String,
}

impl TextPass {
    /// Begins a pass over a text with this name and beginning.
    pub(crate) fn new(name: &str, head: &str, encoding: &'static str) -> Self {
        let language = language_of(name, head);
        let config = match language {
            Some(_) => None,
            None => config_by_name(name),
        };
        Self {
            encoding,
            config,
            code: language.map(FunctionFinder::new),
            logs: LogFinder::new(name),
            n_newlines: 0,
            n_words: 0,
            n_chars: 0,
            ends_in_word: false,
            ends_in_line: false,
            line: String::new(),
            prose: String::new(),
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.count(text);
        if self.prose.len() < MAX_PROSE_LEN {
            push_prefix(&mut self.prose, text, MAX_PROSE_LEN);
        }
        if !self.examines_lines() {
            return;
        }
        for part in text.split_inclusive('\n') {
            let (line, is_ended) = match part.strip_suffix('\n') {
                Some(line) => (line, true),
                None => (part, false),
            };
            push_prefix(&mut self.line, line, MAX_LINE_LEN);
            if is_ended {
                self.end_line();
            }
        }
    }

    fn count(&mut self, text: &str) {
        self.ends_in_line = !text.ends_with('\n');
        if text.is_ascii() {
            self.n_chars += text.len();
            for byte in text.bytes() {
                let is_space = matches!(byte, b'\t'..=b'\r' | b' ' | 0x1c..=0x1f);
                self.n_newlines += usize::from(byte == b'\n');
                self.n_words += usize::from(!is_space && !self.ends_in_word);
                self.ends_in_word = !is_space;
            }
            return;
        }
        for char in text.chars() {
            let is_space = char.is_whitespace() || matches!(char, '\u{1c}'..='\u{1f}');
            self.n_chars += 1;
            self.n_newlines += usize::from(char == '\n');
            self.n_words += usize::from(!is_space && !self.ends_in_word);
            self.ends_in_word = !is_space;
        }
    }

    fn examines_lines(&self) -> bool {
        self.code.is_some() || self.logs.goes_on()
    }

    fn end_line(&mut self) {
        let line = self.line.trim_end_matches('\r');
        match &mut self.code {
            Some(code) => code.add_line(line),
            None => self.logs.add_line(line),
        }
        self.line.clear();
    }

    pub(crate) fn finish(mut self, notes: &mut Vec<String>) -> TextStats {
        if !self.line.is_empty() {
            self.end_line();
        }
        let is_data = self.config.is_some() || self.code.is_some();
        let structure_hints = match (self.code, self.config) {
            (Some(code), _) => code.finish(notes),
            (None, Some(format)) => TextStructure::ConfigFile { format },
            (None, None) => match self.logs.finish() {
                Some(log_level_counts) => TextStructure::LogFile { log_level_counts },
                None => config_by_content(&self.prose).map_or(TextStructure::PlainText, |format| {
                    TextStructure::ConfigFile { format }
                }),
            },
        };
        let is_prose = !is_data && structure_hints == TextStructure::PlainText;
        let language = (is_prose && self.n_words >= MIN_PROSE_WORDS)
            .then(|| detect(&self.prose))
            .flatten()
            .filter(whatlang::Info::is_reliable)
            .map(|found| found.lang().code().to_owned());
        TextStats {
            lines: self.n_newlines + usize::from(self.ends_in_line),
            words: self.n_words,
            characters: self.n_chars,
            encoding: self.encoding.to_owned(),
            language,
            structure_hints,
        }
    }
}

/// Appends as much of a text as fits in `max_len` bytes.
pub(crate) fn push_prefix(kept: &mut String, text: &str, max_len: usize) {
    let mut len = max_len.saturating_sub(kept.len()).min(text.len());
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    kept.push_str(&text[..len]);
}
