//! The recorded settlements of a document, and what follows from them alone.

use yrs::{Any, IdSet, Out, updates::encoder::Encode as _};

use crate::{
    content::{TEXT, Version, replica::ContentReplica, version::read_deletes},
    id::ClientId,
    kind::ContentRoot,
    lib0::{Lib0Reader, as_number},
    rich::ROOT,
};

/// A record of a settlement.
#[derive(Debug, Clone)]
pub(super) struct ConversionSettlement {
    pub(super) client: ClientId,
    /// One more than the greatest number of the settlements that it knew.
    pub(super) number: u64,
    /// Whether it made rich text current.
    pub(super) is_to_rich: bool,
    /// The number of items that it made before the record itself.
    pub(super) len: u32,
    /// The version of the document before it.
    pub(super) from: Version,
    /// The items that it deleted.
    pub(super) gone: IdSet,
    /// Whether it is a note of version 1, which only records up to where late edits were merged.
    pub(super) is_note: bool,
}

/// All settlements of a document, in order.
#[derive(Debug, Default)]
pub(in crate::content) struct SettlementList {
    pub(super) all: Vec<ConversionSettlement>,
}

/// The roots that a document has content in.
#[derive(Debug, Clone, Copy)]
pub(in crate::content) struct RootPresence {
    /// Whether there is plain text.
    has_text: bool,
    /// Whether there is rich text.
    has_rich: bool,
    /// Whether only roots of the reference implementation hold text.
    is_reference: bool,
}

impl RootPresence {
    /// Returns the roots of a document; the caller knows whether it is one of the reference
    /// implementation.
    pub(in crate::content) fn of_document(replica: &ContentReplica, is_reference: bool) -> Self {
        let (has_text, has_rich) = (replica.has_text(), replica.has_rich());
        Self { has_text, has_rich, is_reference }
    }
}

impl SettlementList {
    /// Reports whether rich text is current in a document whose name implies a root.
    pub(in crate::content) fn is_rich_current(
        &self,
        roots: RootPresence,
        wanted: ContentRoot,
    ) -> bool {
        match (roots.has_rich, roots.has_text, self.last()) {
            (_, _, Some(last)) => last.is_to_rich,
            (has_rich, has_text, None) if has_rich != has_text => has_rich,
            _ => is_rich(wanted),
        }
    }

    /// Reports whether a settlement has to make another root current or to merge concurrent
    /// settlements.
    pub(in crate::content) fn needs_conversion(
        &self,
        roots: RootPresence,
        wanted: ContentRoot,
    ) -> bool {
        self.is_rich_current(roots, wanted) != is_rich(wanted)
            || self.has_concurrent()
            || roots.is_reference
    }

    /// Reports whether a version was read from the root that is current now.
    pub(in crate::content) fn is_of_current_root(&self, version: &Version) -> bool {
        let Some(last) = self.last() else { return true };
        if self.had_concurrent_at(version) {
            return false;
        }
        if last.is_known_to(version) {
            return true;
        }
        let before = self.was_rich_at(version).unwrap_or_else(|| self.was_rich_first());
        before == last.is_to_rich
    }

    /// Reports whether a version has the record of the last settlement, if there is one.
    pub(in crate::content) fn is_last_known_to(&self, version: &Version) -> bool {
        self.last().is_none_or(|last| last.is_known_to(version))
    }

    /// Returns the versions that the roots are compared with; `None` if the content was never
    /// converted.
    pub(in crate::content) fn sources(&self) -> Option<Vec<Version>> {
        let last = self.last()?;
        Some(self.concurrent().iter().chain([last]).map(ConversionSettlement::after).collect())
    }

    /// Returns each state that content was converted from or was just converted to, and whether
    /// that was rich text.
    pub(in crate::content) fn converted_states(&self) -> Vec<(Version, bool)> {
        let mut states = Vec::new();
        for settlement in &self.all {
            let (from, after) = (settlement.from.clone(), settlement.after());
            states.extend([(from.clone(), true), (from, false)]);
            states.extend([(after.clone(), true), (after, false)]);
        }
        states
    }

    /// Reports whether the content was rich text at a version; `None` if it was never converted
    /// before.
    pub(in crate::content) fn was_rich_at(&self, version: &Version) -> Option<bool> {
        let is_known = |settlement: &&ConversionSettlement| {
            !settlement.is_note && settlement.is_known_to(version)
        };
        self.all.iter().rfind(is_known).map(|last| last.is_to_rich)
    }

    /// Reports whether the content was rich text before the first conversion.
    fn was_rich_first(&self) -> bool {
        self.all.first().is_some_and(|first| !first.is_to_rich)
    }

    pub(super) fn last(&self) -> Option<&ConversionSettlement> {
        self.all.last()
    }

    /// Returns the settlements that the last one did not know of.
    pub(super) fn concurrent(&self) -> Vec<ConversionSettlement> {
        let Some((last, others)) = self.all.split_last() else { return Vec::new() };
        others.iter().filter(|other| other.is_concurrent_with(last)).cloned().collect()
    }

    pub(in crate::content) fn has_concurrent(&self) -> bool {
        let Some((last, others)) = self.all.split_last() else { return false };
        others.iter().any(|other| other.is_concurrent_with(last))
    }

    /// Reports whether peers had settled the document at the same time when it was at a version.
    fn had_concurrent_at(&self, version: &Version) -> bool {
        let known: Vec<&ConversionSettlement> =
            self.all.iter().filter(|settlement| settlement.is_known_to(version)).collect();
        let Some((last, others)) = known.split_last() else { return false };
        others.iter().any(|other| other.is_concurrent_with(last))
    }
}

impl ConversionSettlement {
    /// Parses an entry of the map of settlements.
    pub(super) fn parse(replica: &ContentReplica, key: &str, value: &Out) -> Option<Self> {
        let Out::Any(Any::Array(values)) = value else { return None };
        let (is_note, key) = match key.split_once(':') {
            None => (false, key),
            Some((key, _)) => (true, key),
        };
        let client = ClientId::new(key.parse().ok()?).ok()?;
        let [number, to, len, Any::Buffer(from), rest @ ..] = &values[..] else { return None };
        let Any::String(to) = to else { return None };
        let number =
            as_number(number).filter(|number| (0.0..=9_007_199_254_740_991.0).contains(number))?;
        let len = as_number(len).filter(|len| (0.0..=f64::from(u32::MAX)).contains(len))? as u32;
        let is_to_rich = match &**to {
            ROOT => true,
            TEXT => false,
            _ => return None,
        };
        let from = Version::decode(from).ok()?;
        let gone = match rest {
            [Any::Buffer(gone), ..] => {
                let mut reader = Lib0Reader::new(gone);
                read_deletes(&mut reader).ok()?
            }
            // Version 1 replaced all that the root held.
            _ if is_note => IdSet::new(),
            _ => replica.items_at(&from, is_to_rich),
        };
        let number = number as u64;
        Some(Self { client, number, is_to_rich, len, from, gone, is_note })
    }

    /// Returns the version of the document just after the settlement.
    pub(super) fn after(&self) -> Version {
        match self.is_note {
            true => self.from.clone(),
            false => self.from.and_all_of(self.client, self.len, &self.gone),
        }
    }

    /// Reports whether a version has the record of the settlement.
    pub(super) fn is_known_to(&self, version: &Version) -> bool {
        version.knows(self.client, self.len.saturating_add(1))
    }

    /// Reports whether a settlement was made apart from a later one.
    fn is_concurrent_with(&self, last: &Self) -> bool {
        !self.is_note && self.client != last.client && !self.is_known_to(&last.from)
    }

    /// Returns the record as the document lists it.
    pub(super) fn to_any(&self) -> Any {
        let number = |number: f64| Any::Number(yrs::Number::try_i64(number));
        let values = vec![
            number(self.number as f64),
            Any::from(if self.is_to_rich { ROOT } else { TEXT }),
            number(self.len.into()),
            Any::Buffer(self.from.encode_in_order().into()),
            Any::Buffer(self.gone.encode_v1().into()),
        ];
        Any::Array(values.into())
    }
}

pub(super) fn is_rich(root: ContentRoot) -> bool {
    matches!(root, ContentRoot::Rich(_))
}
