//! Items that a writer gave to other peers with other content.

use super::{ContentDoc, ContentError, RunAuthor, convert::join_updates};
use crate::gate::IdRange;

impl ContentDoc {
    /// Prepares the comparison of updates with the document, as [`GatedDoc::expect_updates`] does.
    ///
    /// [`GatedDoc::expect_updates`]: crate::gate::GatedDoc::expect_updates
    pub fn expect_updates(&mut self, updates: &[&[u8]]) {
        self.replica.gate.expect_updates(updates);
    }

    /// Writes the content anew if any of some items is part of it, so that peers in whose documents
    /// they are other items get the content as it is here. Returns the update.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn rewrite_forked(
        &mut self,
        items: &[IdRange],
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        if !self.gate().has_living(items) {
            return Ok(None);
        }
        let text = self.text();
        let cleared = self.write("", None, author)?.update;
        let written = self.write(&text, None, author)?.update;
        Ok(join_updates(cleared.into_iter().chain(written).collect()))
    }
}
