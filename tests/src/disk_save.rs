//! Every way in which programs save a file on disk.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    thread,
    time::Duration,
};

use rand::{RngExt, rngs::ChaCha8Rng};

/// What programs write in place must have a place: as many characters as a word has.
const SLOT: &str = "........";

/// A way of saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskSaveKind {
    /// Truncated and written at once.
    Whole,
    /// Truncated and written in two parts, between which other things happen.
    TwoParts,
    /// Appended, as by `>>`.
    Append,
    /// Written in place, as long as what stood there.
    InPlace,
    /// Written beside, and renamed over.
    RenameOver,
    /// Read and written again under an `flock`.
    Locked,
    /// Read, and written again after a while.
    Late,
}

/// A save whose second part has not been written yet.
#[derive(Debug)]
pub struct HalfSave {
    file: File,
    rest: Vec<u8>,
    /// What it adds.
    pub word: String,
}

/// What became of a save.
#[derive(Debug)]
pub enum DiskSaved {
    /// It is done.
    Whole,
    /// Its second part is to come.
    Half(HalfSave),
}

impl DiskSaveKind {
    /// Every way.
    pub const ALL: [Self; 7] = [
        Self::Whole,
        Self::TwoParts,
        Self::Append,
        Self::InPlace,
        Self::RenameOver,
        Self::Locked,
        Self::Late,
    ];

    /// Puts a word into the file at a path, in this way; nothing if it is no text.
    pub fn save(self, path: &Path, word: &str, rng: &mut ChaCha8Rng) -> Option<DiskSaved> {
        path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        let at = rng.random_range(0..8);
        match self {
            Self::Whole => fs::write(path, with_line(&read(path)?, at, word)).ok()?,
            Self::TwoParts => {
                let text = with_line(&read(path)?, at, word);
                let (first, rest) = text.as_bytes().split_at(rng.random_range(0..text.len()));
                let mut file = File::options().write(true).truncate(true).open(path).ok()?;
                file.write_all(first).ok()?;
                let (rest, word) = (rest.to_vec(), word.to_owned());
                return Some(DiskSaved::Half(HalfSave { file, rest, word }));
            }
            Self::Append => append(path, &format!("{word}\n"))?,
            Self::InPlace => {
                let file = File::options().read(true).write(true).open(path).ok()?;
                let mut text = String::new();
                (&file).read_to_string(&mut text).ok()?;
                match text.find(SLOT) {
                    Some(at) => {
                        let filled = format!("{word:.<width$}", width = SLOT.len());
                        file.write_all_at(filled.as_bytes(), at as u64).ok()?;
                    }
                    None => append(path, &format!("{word}\n{SLOT}\n"))?,
                }
            }
            Self::RenameOver => {
                let text = with_line(&read(path)?, at, word);
                let beside = path.with_file_name(format!(".{word}tmp"));
                fs::write(&beside, text).ok()?;
                // Where it became a directory the word stays in the file beside.
                fs::rename(&beside, path).ok();
            }
            Self::Locked => {
                let mut file = File::options().read(true).write(true).open(path).ok()?;
                file.lock().ok()?;
                let mut text = String::new();
                file.read_to_string(&mut text).ok()?;
                file.seek(SeekFrom::Start(0)).ok()?;
                file.set_len(0).ok()?;
                file.write_all(with_line(&text, at, word).as_bytes()).ok()?;
            }
            Self::Late => {
                let text = read(path)?;
                thread::sleep(Duration::from_micros(rng.random_range(0..150_000)));
                // Not where it was deleted or renamed meanwhile: that would make another file.
                let mut file = File::options().write(true).truncate(true).open(path).ok()?;
                file.write_all(with_line(&text, at, word).as_bytes()).ok()?;
            }
        }
        Some(DiskSaved::Whole)
    }
}

impl HalfSave {
    /// Writes the second part. Reports whether it did: not if the file was deleted on disk.
    ///
    /// # Panics
    ///
    /// Panics if the host refuses.
    pub fn finish(mut self) -> bool {
        let is_there = self.file.metadata().expect("it is open").nlink() > 0;
        if is_there {
            self.file.write_all(&self.rest).expect("it can be written");
        }
        is_there
    }

    /// Reports whether it is the file at a path.
    pub fn is_at(&self, path: &Path) -> bool {
        let place = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let own = self.file.metadata().map(place).expect("it is open");
        path.symlink_metadata().is_ok_and(|meta| place(meta) == own)
    }
}

/// Returns a text with a line more.
pub fn with_line(text: &str, at: usize, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let at = at.min(lines.len());
    lines.insert(at, line);
    lines.join("\n") + "\n"
}

fn append(path: &Path, text: &str) -> Option<()> {
    let mut file = File::options().append(true).open(path).ok()?;
    file.write_all(text.as_bytes()).ok()
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}
