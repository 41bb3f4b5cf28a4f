//! What the roots and the settlements of a document imply for its conversion. It only reads.

use super::{
    ConversionHistory, RootPresence, has_only_text_root,
    profile::{evident_profile, is_doubled},
    root_comparison::RootComparison,
};
use crate::{
    content::{log::AuthorLog, reference, replica::ContentReplica, rich},
    kind::{ContentRoot, SchemaProfile},
};

/// A view of a document that answers which root is current, and what is left to convert.
#[derive(Debug, Clone, Copy)]
pub struct ConversionStatus<'a> {
    pub(in crate::content) replica: &'a ContentReplica,
    pub(in crate::content) conversions: &'a ConversionHistory,
    /// The items that redactions name.
    pub(in crate::content) redacted: &'a yrs::IdSet,
    /// The authors of the document.
    pub(in crate::content) log: &'a AuthorLog,
    /// The root that the file's name implies.
    pub(in crate::content) wanted: ContentRoot,
    /// Whether words arrived in deleted blocks and are not recorded yet.
    pub(in crate::content) has_unrecorded: bool,
}

impl<'a> ConversionStatus<'a> {
    /// Returns the root that holds the current content. It differs from the root that the name
    /// implies until the document is converted.
    pub fn current_root(self) -> ContentRoot {
        let settlements = self.conversions.settlements(self.replica);
        let roots = RootPresence::of_document(self.replica, false);
        match (settlements.is_rich_current(roots, self.wanted), self.wanted) {
            (true, ContentRoot::Text) => {
                ContentRoot::Rich(self.replica.gate.read(|txn| rich::profile_of(txn)))
            }
            (true, wanted) => wanted,
            (false, _) => ContentRoot::Text,
        }
    }

    /// Reports whether the current content is rich text.
    pub fn is_rich(self) -> bool {
        matches!(self.current_root(), ContentRoot::Rich(_))
    }

    /// Reports whether the document was ever written to as a text, rich or plain.
    pub fn was_text(self) -> bool {
        self.replica.has_text() || self.replica.has_rich()
    }

    /// Reports whether the document is plain text that was never anything else, and was never
    /// merged with work that did not know all of it.
    pub fn is_only_text(self) -> bool {
        self.wanted == ContentRoot::Text
            && !self.log.has_marks()
            && has_only_text_root(self.replica)
    }

    /// Reports whether the document was ever converted.
    pub fn was_converted(self) -> bool {
        ConversionHistory::is_begun(self.replica)
    }

    /// Reports whether the current root is not the one that the name implies, or peers settled the
    /// document at the same time, so that it may hold work twice, or a later version of the
    /// reference implementation wrote it.
    pub fn needs_conversion(self) -> bool {
        let is_reference = reference::read_reference_text(self.replica).is_some();
        let settlements = self.conversions.settlements(self.replica);
        let roots = RootPresence::of_document(self.replica, is_reference);
        settlements.needs_conversion(roots, self.wanted)
    }

    /// Reports whether there are edits that the current root lacks: in the other root, in blocks
    /// that were deleted, or among settlements that peers made at the same time.
    pub fn needs_repair(self) -> bool {
        self.has_unrecorded || self.has_late_edits()
    }

    /// Reports whether there are edits that the current root lacks in the other root, or among
    /// settlements that peers made at the same time.
    pub(in crate::content) fn has_late_edits(self) -> bool {
        self.merged_text().is_some()
    }

    /// Reports whether a write has to settle the document first, so that it starts from what
    /// readers get.
    pub(in crate::content) fn needs_settlement(self) -> bool {
        self.needs_conversion() || self.has_late_edits()
    }

    /// Returns the text of the file with all edits merged that the current root lacks; `None`
    /// without any.
    pub(in crate::content) fn merged_text(self) -> Option<&'a str> {
        self.conversions.merged_text(self.comparison())
    }

    /// Returns the comparison of both roots, without redacted items.
    pub(in crate::content) fn comparison(self) -> RootComparison<'a> {
        let is_author = |client| self.log.writes_entries(client);
        let is_rich_beside_text =
            self.conversions.is_rich_beside_text(self.replica, self.wanted, is_author);
        let comparison = self.conversions.comparison(self.replica, self.redacted);
        comparison.with_separate_roots(is_rich_beside_text)
    }

    /// Returns the profile that the names in the document imply, if any.
    pub fn evident_profile(self) -> Option<SchemaProfile> {
        evident_profile(self.replica)
    }

    /// Reports whether the document holds everything twice, as it does after two peers without
    /// these rules converted it at once: each half by another client.
    pub fn is_doubled(self) -> bool {
        let ContentRoot::Rich(profile) = self.current_root() else { return false };
        is_doubled(self.replica, profile)
    }
}
