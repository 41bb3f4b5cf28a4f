//! What a replica does next: a random line of a script, drawn from what it sees.

use rand::{RngExt, rngs::ChaCha8Rng, seq::IndexedRandom};
use yfs_vfs::{FileContent, FileKind};

use super::{ledger::Ledger, ledger::count, view::View};

const NAMES: [&str; 8] = ["a", "b", "c.txt", "d.md", "é", "src", ".env", "😀.rs"];

/// What a replica knows when it chooses.
#[derive(Debug)]
pub struct Chooser<'a> {
    /// Decides.
    pub rng: &'a mut ChaCha8Rng,
    /// Makes marks.
    pub ledger: &'a mut Ledger,
    /// What is there.
    pub view: &'a View,
    /// What it has read, by path.
    pub read: &'a std::collections::BTreeMap<String, FileContent>,
    /// The ids of what is in the trash.
    pub trash: Vec<String>,
    /// Counts up, so that each written value is a new one.
    pub number: u32,
}

impl Chooser<'_> {
    /// Draws a line.
    pub fn line(&mut self) -> String {
        let number = self.number;
        match self.rng.random_range(0..100) {
            0..16 => self.write(),
            16..22 => format!("append {} = {}", self.file(), self.new_line()),
            22..30 => self.edit(),
            30..35 => format!("read {}", self.file()),
            35..42 => self.write_seen(),
            42..47 => format!("mkdir -p {}", self.new_path(3)),
            47..50 => format!("mkdir {}", self.new_path(2)),
            50..62 => format!("mv {} {}", self.any(), self.destination()),
            62..65 => format!("cp {} {}", self.any(), self.destination()),
            65..72 => format!("rm {}", self.any()),
            72..78 => self.trashed("restore"),
            78..80 => self.trashed("purge"),
            80..83 => format!("ln {} {}", self.any(), self.new_path(2)),
            83..88 => format!("chmod {} {}", number % 0o1000, self.any()),
            88..91 => format!("utimes {} {}", 1_600_000_000_000 + u64::from(number), self.any()),
            91..94 => format!("meta k{} v{number} {}", self.rng.random_range(0..3), self.any()),
            _ => format!("bytes {} {number}", self.file()),
        }
    }

    /// Replaces a file's text, or creates it.
    fn write(&mut self) -> String {
        let at = if self.rng.random_ratio(60, 100) { self.file() } else { self.new_path(3) };
        let old = self.view.get(&at).and_then(|item| item.content.clone()).unwrap_or_default();
        let text = self.rewritten(&old);
        format!("write {at} = {text}")
    }

    /// Writes over a text that the player read some steps ago.
    fn write_seen(&mut self) -> String {
        let read: Vec<(&String, &FileContent)> = self.read.iter().collect();
        let Some((at, content)) = read.choose(self.rng).copied() else { return self.write() };
        let text = self.rewritten(&content.data);
        let how = if self.rng.random_ratio(50, 100) { "write-base" } else { "write-seen" };
        format!("{how} {at} = {text}")
    }

    /// Changes some lines of a text.
    fn rewritten(&mut self, old: &[u8]) -> String {
        let old = str::from_utf8(old).unwrap_or_default();
        let mut lines: Vec<String> =
            old.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect();
        if !lines.is_empty() && self.rng.random_ratio(35, 100) {
            lines.remove(self.rng.random_range(0..lines.len()));
        }
        if !lines.is_empty() && self.rng.random_ratio(25, 100) {
            let at = self.rng.random_range(0..lines.len());
            lines[at].push_str(" more");
        }
        for _ in 0..self.rng.random_range(0..3) {
            let at = self.rng.random_range(0..=lines.len());
            let line = self.new_line();
            lines.insert(at, line.trim_end_matches('|').to_owned());
        }
        lines.iter().map(|line| format!("{line}|")).collect()
    }

    fn edit(&mut self) -> String {
        let at = self.file();
        let old = self.view.get(&at).and_then(|item| item.content.clone()).unwrap_or_default();
        let once: Vec<char> =
            count(&old).into_iter().filter(|(_, n)| *n == 1).map(|(mark, _)| mark).collect();
        let Some(old) = once.choose(self.rng).copied() else { return format!("read {at}") };
        let new = self.ledger.new_mark();
        if self.rng.random_ratio(50, 100) {
            format!("edit {at} = {old} -> {old} and {new}")
        } else {
            format!("edit {at} = {old} -> {new}")
        }
    }

    fn new_line(&mut self) -> String {
        let word = ["the", "of", "a word", "é́"][self.rng.random_range(0..4)];
        format!("{word} {}|", self.ledger.new_mark())
    }

    fn trashed(&mut self, call: &str) -> String {
        match self.trash.choose(self.rng) {
            Some(id) => format!("{call} {id}"),
            None => format!("rm {}", self.any()),
        }
    }

    fn file(&mut self) -> String {
        let files = self.paths(|kind| kind == FileKind::File);
        files.choose(self.rng).cloned().unwrap_or_else(|| self.new_path(3))
    }

    fn any(&mut self) -> String {
        let all = self.paths(|_| true);
        all.choose(self.rng).cloned().unwrap_or_else(|| self.new_path(1))
    }

    fn destination(&mut self) -> String {
        if self.rng.random_ratio(25, 100) { self.any() } else { self.new_path(3) }
    }

    /// Returns a path that may or may not be there, below a folder that is.
    fn new_path(&mut self, depth: usize) -> String {
        let folders = self.paths(|kind| kind == FileKind::Directory);
        let mut path = match self.rng.random_ratio(60, 100) {
            true => folders.choose(self.rng).cloned().unwrap_or_default(),
            false => String::new(),
        };
        for _ in 0..=self.rng.random_range(0..depth) {
            path = format!("{path}/{}", NAMES[self.rng.random_range(0..NAMES.len())]);
        }
        path
    }

    /// Returns paths that a line can hold.
    fn paths(&self, wanted: impl Fn(FileKind) -> bool) -> Vec<String> {
        let found = self.view.iter().filter(|(path, item)| wanted(item.kind) && path.len() < 60);
        // Names that look like two words are listed in the view and not played with.
        found.map(|(path, _)| path.clone()).filter(|path| !path.contains(' ')).collect()
    }
}
