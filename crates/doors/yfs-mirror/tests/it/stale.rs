//! Editors that hold a text while others write, and save it later.

use std::{fs, ops::Range};

use yfs_engine::path::VPath;

use crate::support::Pair;

/// An editor that has read a file once.
struct Editor {
    path: &'static str,
    buffer: String,
}

impl Editor {
    fn open(pair: &Pair, path: &'static str) -> Self {
        Self { path, buffer: pair.text(path) }
    }

    /// Changes the buffer and saves it, without reading the file again.
    fn save(&mut self, pair: &Pair, old: &str, new: &str) {
        self.buffer = self.buffer.replace(old, new);
        pair.put(self.path, &self.buffer);
        pair.settle();
    }
}

const FILES: [&str; 2] = ["plan.txt", "plan.md"];

/// Returns a mirrored file of eight lines.
fn pair_with(path: &str) -> Pair {
    let pair = Pair::new();
    let lines = (0..8).map(|number| format!("line {number} river stone cloud maple\n"));
    pair.put(path, lines.collect::<Vec<_>>().join("\n"));
    pair.check();
    pair
}

/// Others write a word into one line after the other. Each text arrives on disk.
fn others_write(pair: &Pair, path: &str, numbers: Range<usize>, read: bool) {
    for number in numbers {
        let (work, line) = (format!("/{path}"), number % 8);
        let text = pair.read(&work);
        let (old, new) =
            (format!("line {line} river"), format!("line {line} river ann{number}word"));
        pair.write(&work, text.replacen(&old, &new, 1));
        pair.settle();
        if read {
            assert!(pair.text(path).contains(&format!("ann{number}word")));
        }
    }
}

fn restart(pair: &mut Pair) {
    pair.stop();
    pair.start();
    pair.settle();
}

#[test]
fn a_buffer_that_is_saved_after_a_restart_takes_nothing_away() {
    for path in FILES {
        for n_words in [6, 40] {
            let mut pair = pair_with(path);
            let mut editor = Editor::open(&pair, path);
            others_write(&pair, path, 0..n_words / 2, false);
            restart(&mut pair);
            others_write(&pair, path, n_words / 2..n_words, false);
            restart(&mut pair);
            editor.save(&pair, "line 6 river", "line 6 rio SAVED");
            pair.check();
            let text = pair.read(&format!("/{path}"));
            assert!(text.contains("SAVED"), "{text}");
            for number in 0..n_words {
                let word = format!("ann{number}word");
                assert_eq!(text.matches(&word).count(), 1, "{path} {word}: {text}");
            }
            assert!(pair.conflicts(path).iter().all(|what| !what.contains("yfs undo")));
        }
    }
}

/// A search or an indexer has read each text before.
#[test]
fn a_buffer_that_is_saved_after_others_read_the_file_takes_nothing_away() {
    for path in FILES {
        let mut pair = pair_with(path);
        let mut editor = Editor::open(&pair, path);
        others_write(&pair, path, 0..6, true);
        pair.text(path);
        editor.save(&pair, "line 7 river", "line 7 rio SAVED");
        // The editor still has its buffer, and saves it again, after another restart.
        others_write(&pair, path, 6..7, true);
        restart(&mut pair);
        editor.save(&pair, "line 5 river", "line 5 rio AGAIN");
        pair.check();
        let text = pair.read(&format!("/{path}"));
        for word in ["SAVED", "AGAIN", "ann1word", "ann2word", "ann3word", "ann6word"] {
            assert_eq!(text.matches(word).count(), 1, "{path} {word}: {text}");
        }
    }
}

#[test]
fn an_exact_earlier_text_is_a_revert_that_is_reported_and_undone() {
    let path = "plan.txt";
    let mut pair = pair_with(path);
    let before = pair.text(path);
    others_write(&pair, path, 0..3, true);
    restart(&mut pair);
    pair.put(path, &before);
    pair.check();
    assert_eq!(pair.read("/plan.txt"), before);
    let conflicts = pair.conflicts(path);
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    let what = &conflicts[0];
    assert!(what.contains("ann0word ann1word ann2word"), "{what}");
    let (_, label) = what.split_once("--label '").unwrap();
    let label = label.trim_end_matches('\'');
    let history = pair.workspace.history();
    let entries = history.changes(&VPath::root()).unwrap();
    let mut entries = entries.map(Result::unwrap);
    let entry = entries.find(|entry| entry.label.as_deref() == Some(label)).unwrap();
    history.undo(&entry).unwrap();
    pair.check();
    for word in ["ann0word", "ann1word", "ann2word"] {
        assert!(pair.text(path).contains(word), "{word}");
    }
    assert!(pair.conflicts(path).is_empty());
}

/// The removal counts at once, and is reported.
#[test]
fn a_removal_of_what_others_wrote_just_before_is_a_conflict() {
    let path = "plan.txt";
    let pair = pair_with(path);
    others_write(&pair, path, 0..2, true);
    let text = pair.text(path).replace(" ann1word", "");
    pair.put(path, text);
    pair.check();
    assert!(!pair.read("/plan.txt").contains("ann1word"));
    assert_eq!(pair.conflicts(path).len(), 1);
}

/// The texts lie in the private database of the mirror.
#[test]
fn the_texts_are_kept_with_the_state_of_the_mirror() {
    let pair = pair_with("plan.txt");
    others_write(&pair, "plan.txt", 0..3, true);
    let meta = fs::metadata(pair.at(".yfs/mirror.db")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&meta) & 0o777, 0o600);
}
