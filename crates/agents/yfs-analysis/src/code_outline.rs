//! The names of the functions of source code, line by line.
//!
//! These are hints, not a parse: a definition that begins in the middle of a line, or in a comment
//! or string that looks like code, is missed or counted.

use crate::file_stats::TextStructure;

/// The most names that are listed.
const MAX_FUNCTIONS: usize = 4_096;

/// The words before a definition that say more about it.
const MODIFIERS: &[&str] = &[
    "abstract",
    "async",
    "const",
    "default",
    "export",
    "extern",
    "fileprivate",
    "final",
    "inline",
    "internal",
    "local",
    "mutating",
    "open",
    "override",
    "private",
    "protected",
    "pub",
    "public",
    "pub(crate)",
    "pub(super)",
    "static",
    "suspend",
    "unsafe",
    "virtual",
];

/// The words that begin statements which look like definitions.
const STATEMENTS: &[&str] = &[
    "catch", "case", "do", "else", "for", "foreach", "if", "new", "return", "sizeof", "switch",
    "throw", "using", "while",
];

/// Finds the functions of a text in one language.
#[derive(Debug)]
pub(crate) struct FunctionFinder {
    language: &'static str,
    style: DefinitionStyle,
    names: Vec<String>,
    has_more: bool,
}

/// How a language writes a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefinitionStyle {
    /// A word, then the name.
    Word(&'static str),
    /// As in JavaScript: `function name(`, and a name that becomes a function.
    Script,
    /// A type, the name, parameters and `{`.
    Braces,
    /// `name() {` or `function name`.
    Shell,
    /// `func (receiver) name(`
    Receiver,
    /// Nothing that is a function.
    None,
}

impl FunctionFinder {
    pub(crate) fn new(language: &'static str) -> Self {
        let style = match language {
            "Rust" | "Zig" => DefinitionStyle::Word("fn"),
            "Python" | "Ruby" | "Scala" | "Elixir" => DefinitionStyle::Word("def"),
            "Kotlin" => DefinitionStyle::Word("fun"),
            "Swift" => DefinitionStyle::Word("func"),
            "Lua" | "PHP" => DefinitionStyle::Word("function"),
            "Perl" => DefinitionStyle::Word("sub"),
            "Go" => DefinitionStyle::Receiver,
            "JavaScript" | "TypeScript" => DefinitionStyle::Script,
            "C" | "C++" | "C#" | "Java" | "Dart" => DefinitionStyle::Braces,
            "Shell" => DefinitionStyle::Shell,
            _ => DefinitionStyle::None,
        };
        Self { language, style, names: Vec::new(), has_more: false }
    }

    pub(crate) fn add_line(&mut self, line: &str) {
        let Some(name) = self.find_name(line) else { return };
        match self.names.len() < MAX_FUNCTIONS {
            true => self.names.push(name.to_owned()),
            false => self.has_more = true,
        }
    }

    pub(crate) fn finish(self, notes: &mut Vec<String>) -> TextStructure {
        if self.has_more {
            notes.push(format!("only the first {MAX_FUNCTIONS} functions are listed"));
        }
        TextStructure::CodeFile { language: self.language.to_owned(), functions: self.names }
    }

    fn find_name<'a>(&self, line: &'a str) -> Option<&'a str> {
        let line = line.trim_start();
        match self.style {
            DefinitionStyle::Word(word) => name_after(skip_modifiers(line), word),
            DefinitionStyle::Receiver => {
                let rest = line.strip_prefix("func ")?.trim_start();
                let rest = match rest.strip_prefix('(') {
                    Some(receiver) => receiver.split_once(')')?.1.trim_start(),
                    None => rest,
                };
                name_at(rest)
            }
            DefinitionStyle::Script => {
                let rest = skip_modifiers(line);
                let named = name_after(rest, "function");
                named.or_else(|| name_after(rest, "function*")).or_else(|| assigned_function(line))
            }
            DefinitionStyle::Shell => match name_after(line, "function") {
                Some(name) => Some(name),
                None => {
                    let (name, rest) = line.split_once("()")?;
                    let is_definition = matches!(rest.trim(), "" | "{") || rest.contains('{');
                    name_at(name).filter(|found| *found == name.trim_end() && is_definition)
                }
            },
            DefinitionStyle::Braces => braced_function(line),
            DefinitionStyle::None => None,
        }
    }
}

fn skip_modifiers(mut line: &str) -> &str {
    while let Some((word, rest)) = line.split_once(' ') {
        // The quotes are those of `extern "C"`.
        if !MODIFIERS.contains(&word) && !word.starts_with('"') {
            break;
        }
        line = rest.trim_start();
    }
    line
}

fn name_after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    rest.starts_with([' ', '\t']).then(|| name_at(rest.trim_start())).flatten()
}

/// Returns the name with which a text begins.
fn name_at(text: &str) -> Option<&str> {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$' | '.' | '-');
    let end = text.find(|char| !is_part(char)).unwrap_or(text.len());
    let name = text[..end].trim_end_matches(['.', '-']);
    let begins = name.chars().next().is_some_and(|char| !char.is_numeric() && char != '-');
    begins.then_some(name)
}

/// Returns the name to which a line of JavaScript assigns a function.
fn assigned_function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let words = ["const ", "let ", "var "];
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    let (target, value) = rest.split_once('=')?;
    let value = value.trim_start().trim_start_matches("async ").trim_start();
    let is_arrow = value.contains("=>") && (value.starts_with('(') || name_at(value).is_some());
    let is_function = value.starts_with("function") || is_arrow;
    name_at(target.trim()).filter(|_| is_function)
}

/// Returns the name of a function that a line of C, Java or the like begins to define.
fn braced_function(line: &str) -> Option<&str> {
    let trimmed = line.trim_end();
    let is_open = trimmed.ends_with('{') || trimmed.ends_with(')');
    let first = name_at(line)?;
    if !is_open || STATEMENTS.contains(&first) {
        return None;
    }
    let before = trimmed.split_once('(')?.0.trim_end();
    let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '~';
    let start = before
        .rfind(|char| !is_part(char))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let (above, name) = before.split_at(start);
    // A call has nothing before the name, and an expression has an operator.
    let is_type = !above.trim().is_empty()
        && !above.contains(['=', '.', '(', '"', '#', '!', ';'])
        && !above.trim_start().starts_with(['/', '*']);
    let is_statement = STATEMENTS.contains(&name);
    (is_type && !is_statement && !name.is_empty()).then_some(name)
}
