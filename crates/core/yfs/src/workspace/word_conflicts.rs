//! The words of one file that several writers changed without knowing of each other, with their
//! writers, and the decision of a person about them.

use std::ops::Range;

use yfs_engine::{
    actor::Actor,
    content::{BlamedText, ContentDoc, choose_word},
    path::VPath,
};
use yfs_vfs::{FsError, Op};

use crate::{
    WorkspaceFs,
    commit::ChangeEffect,
    error::Result,
    fs::{ContentLocation, ResolvedFile, fs_error},
};

/// A place of a text with words of several writers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WordConflict {
    /// The number of the line, from 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// The words, in the order of the text. One alone is a word that mixes the changes of its
    /// writers; it can only be accepted, or edited.
    pub words: Vec<ConflictWord>,
}

/// A word of a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConflictWord {
    /// The word.
    pub text: String,
    /// Its writers, if they are recorded.
    pub actors: Vec<Actor>,
}

impl WorkspaceFs {
    /// Returns the words of a text that several writers put into the place of one; if there are
    /// none, the words that mix changes of two writers.
    ///
    /// # Errors
    ///
    /// Fails as reading the file does.
    pub fn word_conflicts(&self, path: &VPath) -> Result<Vec<WordConflict>> {
        let found = self.resolve_at(Op::Read, path)?;
        if found.location != ContentLocation::Text {
            return Ok(Vec::new());
        }
        let handle = self.state().documents.acquire(&found.id);
        let listed = handle.with(|loaded| {
            loaded.check_readable(&found.id).map_err(|error| fs_error(error, Op::Read, path))?;
            Ok::<_, FsError>(list_words(&mut loaded.doc))
        })?;
        Ok(listed?)
    }

    /// Ends a conflict of words: keeps the word at an index, or all if `keep` is `None`. A conflict
    /// is named by its words, and by its index among those of the file, near which it is. A word
    /// that mixes changes is accepted, with all others of the file. Reports whether there was such
    /// a conflict.
    ///
    /// # Errors
    ///
    /// Fails as writing the file does.
    pub fn settle_words(
        &self,
        path: &VPath,
        index: usize,
        words: &[String],
        keep: Option<usize>,
    ) -> Result<bool> {
        let ResolvedFile { id, location } = self.resolve_at(Op::Write, path)?;
        if location != ContentLocation::Text {
            return Ok(false);
        }
        let author = self.own_content_author().with_label("resolve");
        let settle = |doc: &mut ContentDoc| match words {
            [_] => Ok(doc.settle_places(&author)?.into_iter().collect()),
            _ => Ok(choose_word(doc, index, words, keep, &author)?.into_iter().collect()),
        };
        let by = Some(&author.actor);
        Ok(self.state().change_document(&id, by, ChangeEffect::Edit, settle)?.is_changed)
    }
}

/// Returns the conflicts of words in a document.
fn list_words(doc: &mut ContentDoc) -> Vec<WordConflict> {
    let groups = doc.separated_words().unwrap_or_default();
    if !groups.is_empty() {
        let blamed = doc.blame();
        let list = groups.into_iter().map(|group| {
            let mut at = group.at;
            let words = group.words.into_iter().map(|text| {
                let actors = writers_of(&blamed, at..at + text.len());
                // A blank is between two words.
                at += text.len() + 1;
                ConflictWord { text, actors }
            });
            let words = words.collect();
            conflict_at(&blamed.text, group.at, words)
        });
        return list.collect();
    }
    let places = doc.mixed_places().unwrap_or_default();
    let text = doc.text();
    let list = places.into_iter().map(|place| {
        let word = ConflictWord { text: place.words, actors: place.by.to_vec() };
        conflict_at(&text, place.at, vec![word])
    });
    list.collect()
}

fn conflict_at(text: &str, at: usize, words: Vec<ConflictWord>) -> WordConflict {
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let text = text.lines().nth(line - 1).unwrap_or_default().to_owned();
    WordConflict { line, text, words }
}

/// Returns the writers of a range of a text, each once.
fn writers_of(blamed: &BlamedText, range: Range<usize>) -> Vec<Actor> {
    let mut writers = Vec::new();
    let pieces = blamed.pieces.iter();
    for piece in
        pieces.filter(|piece| piece.range.start < range.end && range.start < piece.range.end)
    {
        let Some(author) = &piece.author else { continue };
        if !writers.contains(&author.actor) {
            writers.push(author.actor.clone());
        }
    }
    writers
}
