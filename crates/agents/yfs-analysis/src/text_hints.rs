//! Signs of logs, configurations and source code.

use std::collections::HashMap;

use crate::file_stats::ConfigFormat;

/// The lines after which a text counts as a log or not.
const N_TRIAL_LINES: usize = 200;

/// The levels of logs, as counted, with the words for each.
const LEVELS: [(&str, &[&str]); 7] = [
    ("TRACE", &["TRACE"]),
    ("DEBUG", &["DEBUG"]),
    ("INFO", &["INFO"]),
    ("NOTICE", &["NOTICE"]),
    ("WARN", &["WARN", "WARNING"]),
    ("ERROR", &["ERROR", "ERR"]),
    ("FATAL", &["FATAL", "CRITICAL", "CRIT", "EMERG", "PANIC"]),
];

/// The bytes of a line in which a level is found.
const MAX_LEVEL_OFFSET: usize = 160;

/// Programming languages, with their extensions.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("C", &["c", "h"]),
    ("C++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
    ("C#", &["cs"]),
    ("CSS", &["css", "less", "scss"]),
    ("Dart", &["dart"]),
    ("Elixir", &["ex", "exs"]),
    ("Go", &["go"]),
    ("Haskell", &["hs"]),
    ("Java", &["java"]),
    ("JavaScript", &["cjs", "js", "jsx", "mjs"]),
    ("Kotlin", &["kt", "kts"]),
    ("Lua", &["lua"]),
    ("Perl", &["pl", "pm"]),
    ("PHP", &["php"]),
    ("Python", &["py", "pyi", "pyw"]),
    ("R", &["r"]),
    ("Ruby", &["rb"]),
    ("Rust", &["rs"]),
    ("Scala", &["scala"]),
    ("Shell", &["bash", "sh", "zsh"]),
    ("SQL", &["sql"]),
    ("Swift", &["swift"]),
    ("TypeScript", &["cts", "mts", "ts", "tsx"]),
    ("Zig", &["zig"]),
];

/// Counts the levels of a log's lines, for as long as the text seems to be one.
#[derive(Debug)]
pub(crate) struct LogFinder {
    is_named_log: bool,
    n_lines: usize,
    n_log_lines: usize,
    n_by_level: [usize; LEVELS.len()],
}

impl LogFinder {
    pub(crate) fn new(name: &str) -> Self {
        let is_named_log = extension_of(name).is_some_and(|extension| extension == "log");
        Self { is_named_log, n_lines: 0, n_log_lines: 0, n_by_level: [0; LEVELS.len()] }
    }

    /// Reports whether further lines matter.
    pub(crate) fn goes_on(&self) -> bool {
        self.n_lines < N_TRIAL_LINES || self.is_log()
    }

    pub(crate) fn add_line(&mut self, line: &str) {
        if !self.goes_on() || line.trim().is_empty() {
            return;
        }
        let level = find_level(line);
        if let Some(level) = level {
            self.n_by_level[level] += 1;
        }
        if self.n_lines < N_TRIAL_LINES {
            self.n_lines += 1;
            self.n_log_lines += usize::from(level.is_some() || begins_with_time(line));
        }
    }

    /// Returns the number of lines of each level, if the text is a log.
    pub(crate) fn finish(self) -> Option<HashMap<String, usize>> {
        let counted = LEVELS.iter().zip(self.n_by_level).filter(|(_, count)| *count > 0);
        self.is_log()
            .then(|| counted.map(|((level, _), count)| ((*level).to_owned(), count)).collect())
    }

    fn is_log(&self) -> bool {
        // Traces between the lines of a log have no level of their own.
        let n_needed = if self.is_named_log { 1 } else { (self.n_lines / 2).max(3) };
        self.n_log_lines >= n_needed
    }
}

/// Returns the level that a line has, as an index: a word in capitals, or in brackets or after
/// `level` in any case.
fn find_level(line: &str) -> Option<usize> {
    let mut end = line.len().min(MAX_LEVEL_OFFSET);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let bytes = line.as_bytes();
    let mut start = 0;
    for word in line[..end].split(|char: char| !char.is_ascii_alphabetic()) {
        let at = start;
        start += word.len() + line[start + word.len()..].chars().next().map_or(0, char::len_utf8);
        if !(3..=8).contains(&word.len()) {
            continue;
        }
        let before = at.checked_sub(1).map(|index| bytes[index]);
        let is_marked = matches!(before, Some(b'[' | b'=' | b'<' | b'"'));
        let is_level = |name: &str| match is_marked {
            true => word.eq_ignore_ascii_case(name),
            false => word == name,
        };
        let found = LEVELS.iter().position(|(_, words)| words.iter().any(|name| is_level(name)));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Reports whether a line begins with a date or time, perhaps in brackets, or has one as servers
/// of the web log it.
fn begins_with_time(line: &str) -> bool {
    let bytes = line.trim_start_matches(['[', '(', '<']).as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is = |at: usize, marks: &[u8]| bytes.get(at).is_some_and(|byte| marks.contains(byte));
    let is_date = digits(0..4) && is(4, b"-/") && digits(5..7) && is(7, b"-/") && digits(8..10);
    let is_time = digits(0..2) && is(2, b":") && digits(3..5) && is(5, b":") && digits(6..8);
    let months = ["Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct "];
    let is_month = months.iter().chain(&["Nov ", "Dec "]).any(|month| line.starts_with(month));
    let is_syslog = is_month && line.get(4..15).is_some_and(|rest| rest.contains(':'));
    let is_access = line.contains(" - [") || line.contains(" - - [");
    is_date || is_time || is_syslog || is_access
}

/// Returns the extension of a name, in lower case.
pub(crate) fn extension_of(name: &str) -> Option<String> {
    let base = name.rsplit('/').next().unwrap_or_default();
    let (stem, extension) = base.rsplit_once('.')?;
    (!stem.is_empty()).then(|| extension.to_ascii_lowercase())
}

/// Returns the programming language of a text, by its name or by its first line.
pub(crate) fn language_of(name: &str, head: &str) -> Option<&'static str> {
    if let Some(extension) = extension_of(name) {
        let found =
            LANGUAGES.iter().find(|(_, extensions)| extensions.contains(&extension.as_str()));
        if let Some((language, _)) = found {
            return Some(language);
        }
    }
    let base = name.rsplit('/').next().unwrap_or_default();
    match base {
        "Makefile" | "makefile" | "GNUmakefile" => return Some("Make"),
        "Dockerfile" | "Containerfile" => return Some("Dockerfile"),
        _ => (),
    }
    let interpreter = head.strip_prefix("#!")?.lines().next()?;
    let words = ["python", "node", "ruby", "perl", "php", "lua", "bash", "zsh", "sh"];
    let languages =
        ["Python", "JavaScript", "Ruby", "Perl", "PHP", "Lua", "Shell", "Shell", "Shell"];
    let found = words.iter().position(|word| interpreter.contains(word))?;
    Some(languages[found])
}

/// Returns the format of a configuration, by its name.
pub(crate) fn config_by_name(name: &str) -> Option<ConfigFormat> {
    let base = name.rsplit('/').next().unwrap_or_default();
    let by_name = match base {
        ".env" => Some(ConfigFormat::Env),
        ".gitconfig" | ".editorconfig" | ".npmrc" => Some(ConfigFormat::Ini),
        "Cargo.lock" | "poetry.lock" | "uv.lock" => Some(ConfigFormat::Toml),
        _ => None,
    };
    by_name.or_else(|| match extension_of(name)?.as_str() {
        "yaml" | "yml" => Some(ConfigFormat::Yaml),
        "toml" => Some(ConfigFormat::Toml),
        "ini" | "cfg" | "conf" => Some(ConfigFormat::Ini),
        "env" => Some(ConfigFormat::Env),
        "properties" => Some(ConfigFormat::Properties),
        "xml" | "plist" | "xsd" | "xslt" | "csproj" => Some(ConfigFormat::Xml),
        "json" | "json5" | "jsonc" => Some(ConfigFormat::Json),
        _ => None,
    })
}

/// Returns the format of a configuration, by the form of its lines.
pub(crate) fn config_by_content(head: &str) -> Option<ConfigFormat> {
    let is_key = |key: &str| {
        let is_part = |char: char| char.is_ascii_alphanumeric() || "_-.\"'".contains(char);
        !key.is_empty() && key.chars().all(is_part)
    };
    let (mut n_lines, mut n_sections, mut n_quoted, mut n_assigned) = (0, 0, 0, 0);
    let (mut n_mapped, mut n_variables) = (0, 0);
    // The last line of the head may be cut.
    for line in head.lines().map(str::trim).take(200) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        n_lines += 1;
        if line.starts_with('[') && line.ends_with(']') {
            n_sections += 1;
        } else if let Some((key, value)) = line.split_once('=')
            && is_key(key.trim())
        {
            let value = value.trim();
            n_assigned += 1;
            n_quoted += usize::from(value.starts_with(['"', '[', '{']));
            let is_variable =
                |char: char| char.is_ascii_uppercase() || "_0123456789".contains(char);
            n_variables += usize::from(key.chars().all(is_variable));
        } else if line == "---" || line.starts_with("- ") || is_mapping(line) {
            n_mapped += 1;
        }
    }
    let is_most = |count: usize| n_lines >= 3 && count * 10 >= n_lines * 8;
    if head.trim_start().starts_with("<?xml") {
        Some(ConfigFormat::Xml)
    } else if n_variables == n_assigned && is_most(n_variables) {
        Some(ConfigFormat::Env)
    } else if is_most(n_sections + n_assigned) && n_assigned > 0 {
        let is_toml = n_quoted * 2 >= n_assigned;
        match (is_toml, n_sections) {
            (true, _) => Some(ConfigFormat::Toml),
            (false, 0) => Some(ConfigFormat::Properties),
            (false, _) => Some(ConfigFormat::Ini),
        }
    } else if is_most(n_mapped) && head.lines().any(|line| is_mapping(line.trim())) {
        Some(ConfigFormat::Yaml)
    } else {
        None
    }
}

/// Reports whether a line has a key of YAML: one word, a colon, and a space or the end.
fn is_mapping(line: &str) -> bool {
    let line = line.strip_prefix("- ").unwrap_or(line);
    let Some((key, value)) = line.split_once(':') else { return false };
    let is_part = |char: char| char.is_ascii_alphanumeric() || "_-./\"'".contains(char);
    !key.is_empty() && key.chars().all(is_part) && (value.is_empty() || value.starts_with(' '))
}
