//! Documents of the other schema, and documents that hold everything twice.

use super::super::{ContentDoc, ContentError, RunAuthor, rich};
use crate::{
    kind::{ContentRoot, SchemaProfile},
    rich::{LiveChild, live, nodes},
};

/// A body of fewer blocks than this may well be meant to repeat.
const MIN_DOUBLED: usize = 2;

impl ContentDoc {
    /// Returns the profile that the names in the document imply, if any.
    pub fn evident_profile(&self) -> Option<SchemaProfile> {
        self.gate.read(|txn| rich::evident_profile(&live(txn, SchemaProfile::Gfm)))
    }

    /// Converts a document of rich text that keeps the other profile. Editors of the other profile
    /// must not have it open: they would delete elements that they cannot build.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn keep_profile(
        &mut self,
        profile: SchemaProfile,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        let evident = self.evident_profile();
        let is_rich = matches!(self.held(), ContentRoot::Rich(_));
        let Some(other) = evident.filter(|it| is_rich && *it != profile) else { return Ok(None) };
        self.set_kind(ContentRoot::Rich(other));
        let text = match self.pending()? {
            Some(pending) => pending.text,
            None => self.text(),
        };
        self.set_kind(ContentRoot::Rich(profile));
        self.rebuild(&text, profile)
    }

    /// Reports whether the document holds everything twice, as it does after two peers without
    /// these rules converted it at once: each half by another client.
    pub fn is_doubled(&self) -> bool {
        let ContentRoot::Rich(profile) = self.held() else { return false };
        self.gate.read(|txn| half_of(&live(txn, profile)).is_some())
    }

    /// Keeps one half of a document that holds everything twice. Returns `None` if it does not.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn undouble(&mut self, author: &RunAuthor) -> Result<Option<Vec<u8>>, ContentError> {
        let ContentRoot::Rich(profile) = self.held() else { return Ok(None) };
        let file = self.gate.read(|txn| {
            let kids = live(txn, profile);
            let half = half_of(&kids)?;
            Some(rich::file_of(nodes(&kids[..half]), &rich::RichMemory::read(txn), profile))
        });
        match file {
            Some(file) => Ok(self.write(&file.text, None, author)?.update),
            None => Ok(None),
        }
    }
}

/// Returns where the second half begins, if it equals the first and another client wrote it.
fn half_of(kids: &[LiveChild]) -> Option<usize> {
    let half = kids.len() / 2;
    if kids.len() != 2 * half || half < MIN_DOUBLED {
        return None;
    }
    let (first, second) = kids.split_at(half);
    let client = |kid: &LiveChild| kid.ids().next().map(|id| id.client);
    let by_others = first.iter().zip(second).all(|(one, other)| client(one) != client(other));
    (by_others && rich::have_equal_content(first, second)).then_some(half)
}
