//! Parsing a line of a script into words.

use super::Expected;
use yfs_vfs::error::FsCode;

/// One operation, and its expected result.
#[derive(Debug)]
pub(super) struct ScriptLine {
    pub(super) op: String,
    pub(super) options: Vec<String>,
    pub(super) words: Vec<String>,
    pub(super) output: Option<String>,
    pub(super) code: Option<FsCode>,
}

/// Parses a line; returns `None` for an empty line or a comment.
pub(super) fn parse(text: &str) -> Result<Option<ScriptLine>, String> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let (command, (output, code)) = split_expected(text)?;
    let mut words = split_words(command)?.into_iter().peekable();
    let op = words.next().map(|word| word.text).unwrap_or_default();
    let mut options = Vec::new();
    while let Some(word) = words.next_if(|word| !word.quoted && word.text.starts_with('-')) {
        options.push(word.text);
    }
    let words = words.map(|word| word.text).collect();
    Ok(Some(ScriptLine { op, options, words, output, code }))
}

fn split_expected(text: &str) -> Result<(&str, Expected), String> {
    if let Some((command, output)) = text.split_once(" => ") {
        return Ok((command, (Some(output.trim().to_owned()), None)));
    }
    if let Some((command, code)) = text.split_once(" !! ") {
        let parsed = FsCode::parse(code.trim()).ok_or_else(|| format!("no such code: {code}"))?;
        return Ok((command, (None, Some(parsed))));
    }
    Ok((text, (None, None)))
}

struct ScriptWord {
    text: String,
    quoted: bool,
}

fn split_words(command: &str) -> Result<Vec<ScriptWord>, String> {
    let mut words = Vec::new();
    let mut rest = command.trim_start();
    while !rest.is_empty() {
        let (word, after) = if let Some(quoted) = rest.strip_prefix('"') {
            let (text, after) = unquote(quoted)?;
            (ScriptWord { text, quoted: true }, after)
        } else {
            let (bare, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
            (ScriptWord { text: repeat(bare)?, quoted: false }, after)
        };
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}

/// Parses up to the closing quote, and returns the text after it.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let mut unquoted = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next().ok_or("a quote is not closed")? {
            '"' => return Ok((unquoted, chars.as_str())),
            '\\' => unquoted.push(match chars.next().ok_or("a quote ends in a backslash")? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                'u' => {
                    let braced =
                        chars.as_str().strip_prefix('{').and_then(|rest| rest.split_once('}'));
                    let (digits, after) = braced.ok_or("\\u needs braces")?;
                    chars = after.chars();
                    let number =
                        u32::from_str_radix(digits, 16).map_err(|error| error.to_string())?;
                    char::from_u32(number).ok_or("no such character")?
                }
                char => char,
            }),
            char => unquoted.push(char),
        }
    }
}

/// Replaces `{x*300}` with 300 times `x`.
fn repeat(word: &str) -> Result<String, String> {
    let mut repeated = String::new();
    let mut rest = word;
    while let Some(((before, braced), after)) = rest
        .split_once('}')
        .and_then(|(head, after)| Some((head.rsplit_once('{')?, after)))
        .filter(|((_, braced), _)| {
            braced.contains('*') && braced.ends_with(|char: char| char.is_ascii_digit())
        })
    {
        let (unit, n_times) = braced.rsplit_once('*').ok_or("no star in braces")?;
        let n_times: usize = n_times.parse().map_err(|_| format!("bad repetition: {word}"))?;
        repeated.push_str(before);
        repeated.push_str(&unit.repeat(n_times));
        rest = after;
    }
    Ok(repeated + rest)
}
