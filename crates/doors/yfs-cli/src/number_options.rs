//! Options that are numbers: `head -3`, `tail -3` and `grep -3`, as `-n3` and `-C3`.

use std::ffi::OsString;

/// The commands that have such options: the option that `-NUM` stands for, and the letters and
/// names of the options with a value, which may be a negative number.
const COMMANDS: [(&str, &str, &str, &[&str]); 3] = [
    ("head", "-n", "nc", &["--lines", "--bytes"]),
    ("tail", "-n", "nc", &["--lines", "--bytes"]),
    (
        "grep",
        "-C",
        "efABCm",
        &["--regexp", "--file", "--after-context", "--before-context", "--context", "--max-count"],
    ),
];

/// The options of every command that have a value.
const GLOBAL_VALUES: [&str; 5] =
    ["--workspace", "--actor", "--passphrase-file", "--key-file", "--color"];

/// Returns the index of the name of the command, behind the options of every command.
pub(crate) fn command_at(words: &[OsString]) -> usize {
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        if GLOBAL_VALUES.contains(&word) {
            at += 2;
        } else if word.starts_with('-') {
            at += 1;
        } else {
            break;
        }
    }
    at
}

/// Expands the options that are numbers.
pub(crate) fn expand(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let at = command_at(&words);
    let name = words.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    let Some((_, option, letters, names)) = COMMANDS.iter().find(|(command, ..)| *command == name)
    else {
        return words;
    };
    let mut is_value = false;
    for word in words.iter_mut().skip(at + 1) {
        let Some(text) = word.to_str() else {
            is_value = false;
            continue;
        };
        if std::mem::take(&mut is_value) {
            continue;
        }
        if text == "--" {
            break;
        }
        let digits = text.strip_prefix('-').filter(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        if let Some(digits) = digits {
            *word = format!("{option}{digits}").into();
        } else if text.starts_with("--") {
            is_value = names.contains(&text) || GLOBAL_VALUES.contains(&text);
        } else if let Some(cluster) = text.strip_prefix('-') {
            // The value follows if the first letter with a value is the last of the cluster.
            let first = cluster.find(|letter| letters.contains(letter));
            is_value = first.is_some_and(|first| first + 1 == cluster.len());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_expanded_where_an_option_may_be() {
        let cases = [
            ("yfs head -3 a", "yfs head -n3 a"),
            ("yfs --workspace head tail -q -12 a", "yfs --workspace head tail -q -n12 a"),
            ("yfs head -n -3 a", "yfs head -n -3 a"),
            ("yfs head --lines -3 a", "yfs head --lines -3 a"),
            ("yfs head -qc -3 a -- -4", "yfs head -qc -3 a -- -4"),
            ("yfs head -n3 -4", "yfs head -n3 -n4"),
            ("yfs grep -2 x", "yfs grep -C2 x"),
            ("yfs grep -e -2 x", "yfs grep -e -2 x"),
            ("yfs grep -ie -2 x", "yfs grep -ie -2 x"),
            ("yfs grep -ex -2 x", "yfs grep -ex -C2 x"),
            ("yfs ls -1", "yfs ls -1"),
            ("yfs", "yfs"),
        ];
        for (words, expected) in cases {
            let expanded = expand(words.split(' ').map(OsString::from));
            let expanded: Vec<&str> = expanded.iter().filter_map(|word| word.to_str()).collect();
            assert_eq!(expanded.join(" "), expected, "{words}");
        }
    }
}
