//! One letter is typed into each text of many documents: every other byte of the file stays.

use std::{fs, path::Path};

use yfs_markdown::{
    front_matter::split,
    schema::SchemaProfile,
    source::{SourceMap, remember, render},
    tree::{MarkdownNode, TreeElement},
};

/// A letter that no document has.
const LETTER: char = '\u{291}';

/// Texts are changed in this many rounds, so that the neighbors of each stay.
const N_ROUNDS: usize = 4;

/// Documents that are longer take long in debug builds, in bytes.
const MAX_LEN: usize = 12_000;

/// Where in a text the letter is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypingPlace {
    Start,
    Middle,
    End,
}

/// The number of letters typed, and those that changed other bytes.
#[derive(Debug, Default)]
pub(crate) struct KeystrokeCount {
    pub(crate) n_typed: usize,
    pub(crate) n_wrong: usize,
    /// The text that came out wrong, by document.
    pub(crate) wrong: Vec<String>,
}

/// Types into the texts of an element that `is_chosen` holds for. Counts texts in `at`.
fn type_into(
    element: &mut TreeElement,
    place: TypingPlace,
    at: &mut usize,
    is_chosen: &dyn Fn(usize) -> bool,
) -> usize {
    let mut n_typed = 0;
    for child in &mut element.children {
        match child {
            MarkdownNode::Element(element) => n_typed += type_into(element, place, at, is_chosen),
            MarkdownNode::Text(run) => {
                *at += 1;
                if !is_chosen(*at - 1) {
                    continue;
                }
                let offset = match place {
                    TypingPlace::Start => 0,
                    TypingPlace::End => run.text.len(),
                    TypingPlace::Middle => {
                        let half = run.text.len() / 2;
                        let is_boundary = |at: &usize| run.text.is_char_boundary(*at);
                        (0..=half).rev().find(is_boundary).unwrap_or_default()
                    }
                };
                run.text.insert(offset, LETTER);
                n_typed += 1;
            }
        }
    }
    n_typed
}

struct TypedDocument<'a> {
    text: &'a str,
    document: TreeElement,
    map: SourceMap,
    profile: SchemaProfile,
}

impl TypedDocument<'_> {
    /// Types into some texts, and returns how many, and the file.
    fn typed(&self, place: TypingPlace, is_chosen: &dyn Fn(usize) -> bool) -> (usize, String) {
        let mut document = self.document.clone();
        let n_typed = type_into(&mut document, place, &mut 0, is_chosen);
        (n_typed, render(&document, &self.map, self.profile))
    }

    fn is_right(&self, n_typed: usize, file: &str) -> bool {
        file.matches(LETTER).count() == n_typed && file.replace(LETTER, "") == self.text
    }

    fn count(&self, place: TypingPlace, count: &mut KeystrokeCount) {
        for round in 0..N_ROUNDS {
            let (n_typed, file) = self.typed(place, &|at| at % N_ROUNDS == round);
            count.n_typed += n_typed;
            if !self.is_right(n_typed, &file) {
                for index in (0..n_typed).map(|at| round + at * N_ROUNDS) {
                    let (_, file) = self.typed(place, &|at| at == index);
                    if !self.is_right(1, &file) {
                        count.n_wrong += 1;
                        count.wrong.push(difference(self.text, &file));
                    }
                }
            }
        }
    }
}

/// Returns the lines that differ.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let n_before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let n_behind =
        old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let part = |lines: &[&str], sign: &str| {
        let end = lines.len().saturating_sub(n_behind).max(n_before);
        let lines = lines[n_before..end].iter().take(6).map(|line| format!("{sign}{line}\n"));
        lines.collect::<String>()
    };
    part(&old, "-") + &part(&new, "+")
}

/// Types one letter into each text of a document, at each place.
pub(crate) fn count_keystrokes(text: &str, profile: SchemaProfile, count: &mut KeystrokeCount) {
    let text = split(text).body;
    if text.contains(LETTER) {
        return;
    }
    let (document, map) = remember(text, profile);
    let typed = TypedDocument { text, document, map, profile };
    for place in [TypingPlace::Start, TypingPlace::Middle, TypingPlace::End] {
        typed.count(place, count);
    }
}

/// Returns the documents of a directory and below.
pub(crate) fn documents(directory: &Path, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|name| name == "md") {
            found.extend(fs::read_to_string(&path));
        }
    }
}

#[test]
fn one_letter_changes_one_letter_of_the_file() {
    let cases = [
        "> [!NOTE]\n> Read this.\n",
        "> [!WARNING]\n> **Bold** text\n",
        ">[!TIP]\n>Tight *quote*\n",
        "[[Note]]\nnext\n",
        "As shown [@smith2020]\nthis holds.\n",
        "[TODO]\ncall Ben\n",
        "a [b]**c** d\n",
        "a [b]`c` d\n",
        "Set $\\{x\\}$ and $x\\,y$, then\n",
        "$$\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}$$ is it\n",
        "Let $a*b*c$ and $x_i^*$ be\n",
        "$$\n\\alpha_{i_j}\n$$\n",
        "Inline \\(a_b\\) here\n",
        "A line  \nwith two blanks,\\\na backslash, <br> and &nbsp; an entity &copy; here\n",
        "See [the guide][guide] and [![badge]][ci].\n\n[guide]: /g\n[badge]: /b.svg\n[ci]: /c\n",
        "|  a   | b |\n|:-----|--:|\n|  one | `x \\| y` |\n| two |   |\n",
        "a | b\n--|--\n1 | 2\n",
        "Title\n=====\n\nOther title\n---\ntext\n",
        "## Closed ##\ntight\n### Closed ##\n\ntight\n",
        "* one\n\n+ [ ]  task\n\n1) x\n1) y\n1) z\n",
        "~~~ rust title\nlet x = 1;\n\n  y\n~~~\n\n    indented\n\ttabbed\n",
        "Text\r\nof two lines  \r\nand __more__\r\n\r\n*  item\r\n",
        "A note[^1] and a [^1]\n\n[^1]: said *so*\n",
    ];
    let mut wrong = String::new();
    for text in cases {
        for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
            let (document, map) = remember(text, profile);
            let typed = TypedDocument { text, document, map, profile };
            let mut count = KeystrokeCount::default();
            typed.count(TypingPlace::Middle, &mut count);
            for change in count.wrong {
                wrong += &format!("{profile:?}, {text:?}:\n{change}");
            }
        }
    }
    assert_eq!(wrong, "");
}

/// All texts of the guides, the pages on formats and the handbook of this repository, one
/// letter at the start, in the middle and at the end of each. What remains wrong cannot be right:
/// the text of a link that is its own label, an address that is its own text, `_`, which is no
/// emphasis beside a letter, and the blank of a code span that begins with a backtick.
#[test]
fn typing_into_any_text_of_a_document_keeps_every_other_byte() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut texts = Vec::new();
    for directory in ["docs/guides", "docs/format", "fixtures/handbook"] {
        documents(&root.join(directory), &mut texts);
    }
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        let mut count = KeystrokeCount::default();
        for text in texts.iter().filter(|text| text.len() < MAX_LEN) {
            count_keystrokes(text, profile, &mut count);
        }
        let other: Vec<&String> =
            count.wrong.iter().filter(|change| !is_inherent(change)).collect();
        assert!(other.is_empty(), "{profile:?}: {other:#?}");
        assert!(count.n_typed > 1_000, "{profile:?}: {} texts", count.n_typed);
        assert!(50 * count.n_wrong < count.n_typed, "{profile:?}: {count:?}");
    }
}

/// Deletes a word with the blank before it from the text with a number; returns both.
fn delete_word(element: &mut TreeElement, at: &mut usize, index: usize) -> Option<String> {
    for child in &mut element.children {
        match child {
            MarkdownNode::Element(element) => {
                if let Some(word) = delete_word(element, at, index) {
                    return Some(word);
                }
            }
            MarkdownNode::Text(run) => {
                *at += 1;
                if *at - 1 != index {
                    continue;
                }
                let blanks: Vec<usize> = run.text.match_indices(' ').map(|(at, _)| at).collect();
                let words = blanks.iter().filter_map(|start| {
                    let rest = &run.text[start + 1..];
                    let end = rest.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(rest.len());
                    (end > 0).then_some(*start..start + 1 + end)
                });
                let words: Vec<_> = words.collect();
                let range = words.get(words.len() / 2)?.clone();
                let word = run.text[range.clone()].to_owned();
                run.text = [&run.text[..range.start], &run.text[range.end..]].concat();
                return Some(word);
            }
        }
    }
    None
}

/// Reports whether a text is another one without one occurrence of a word.
fn is_without(old: &str, new: &str, word: &str) -> bool {
    let n_before = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    let n_behind =
        old.bytes().rev().zip(new.bytes().rev()).take_while(|(old, new)| old == new).count();
    new.len() + word.len() == old.len() && n_before + n_behind >= new.len()
}

/// The same documents: one word is deleted from each text that has several.
#[test]
fn deleting_a_word_of_any_text_keeps_every_other_byte() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut texts = Vec::new();
    for directory in ["docs/guides", "docs/format", "fixtures/handbook"] {
        documents(&root.join(directory), &mut texts);
    }
    let (mut n_deleted, mut wrong) = (0, Vec::new());
    for text in texts.iter().filter(|text| text.len() < MAX_LEN) {
        let body = split(text).body;
        let (document, map) = remember(body, SchemaProfile::Gfm);
        let mut count = 0;
        type_into(&mut document.clone(), TypingPlace::Start, &mut count, &|_| false);
        for index in (0..count).step_by(3) {
            let mut document = document.clone();
            let Some(word) = delete_word(&mut document, &mut 0, index) else { continue };
            n_deleted += 1;
            let file = render(&document, &map, SchemaProfile::Gfm);
            if !is_without(body, &file, &word) {
                wrong.push(difference(body, &file));
            }
        }
    }
    // What is left of a heading may look like a number of a list, and gets a backslash.
    assert!(500 * wrong.len() < n_deleted, "{} of {n_deleted}: {wrong:#?}", wrong.len());
    assert!(n_deleted > 500, "{n_deleted}");
}

/// Reports whether a change of other bytes cannot be avoided.
fn is_inherent(change: &str) -> bool {
    let new: Vec<&str> = change.lines().filter(|line| line.contains(LETTER)).collect();
    new.iter().any(|line| {
        let (before, behind) = line.split_once(LETTER).unwrap_or_default();
        let target = behind.split_once(']').is_some_and(|(_, rest)| rest.starts_with(['(', '[']));
        let begins_code = before.ends_with('`') && behind.starts_with('`');
        let is_beside_sign = before.ends_with('*') || behind.starts_with('*');
        before.contains('[') && target || is_beside_sign || begins_code
    })
}
