//! Converts content between plain text and rich text when a rename changes the kind that the file's
//! name implies.
//!
//! A document holds the file in up to two roots. One of them is *current*: readers get its content.
//! The other keeps the content of the last settlement, and editors that have not yet rebound go on
//! writing to it. [`settle`](ContentDoc::settle) merges the changes of both roots, writes the
//! result to both, each by its least edit, and records that in the root `Y.Map("fs:conv")`. A
//! conversion is a settlement that makes the other root current.
//!
//! Settlements are made under a client id that is a hash of the document's state, so peers in the
//! same state make the same items, and Yjs merges these to one. A settlement writes copies of work
//! that has items of its own. So if settlements of different states are merged, the one with the
//! greatest number wins, the copies of the others are deleted, and the work that it lacks is merged
//! again. The rules are in `docs/format/content-document.md`.

mod align_items;
mod late;
mod profile;
mod settle_conversions;
#[cfg(test)]
mod tests;

use yrs::{Any, IdSet, Map as _, Out, ReadTxn as _, Snapshot, updates::encoder::Encode as _};

use super::{ContentDoc, ContentError, TEXT, Version, reference, rich, version::read_deletes};
use crate::{
    gate::{GateLimits, GatedDoc, UpdateSource, origins},
    id::ClientId,
    kind::ContentRoot,
    lib0::{Lib0Reader, as_number},
    rich::ROOT,
};

/// The root that lists settlements, by the client ids that they were made under.
pub(crate) const CONVERSIONS: &str = "fs:conv";

/// Client ids of settlements have this bit, which ids that are drawn at random never have.
const MARK: u64 = 1 << 52;

/// Reports whether all updates of a document contain only rich text and history of one client. Then
/// there is nothing to settle: the document was never converted and has no duplicates. It needs no
/// document.
pub fn is_rich_of_one<'a>(
    updates: impl IntoIterator<Item = &'a [u8]>,
    limits: &GateLimits,
) -> bool {
    let (mut writer, mut has_rich) = (None, false);
    for update in updates {
        let Some(origins) = origins(update, limits) else { return false };
        for client in origins.clients {
            if *writer.get_or_insert(client) != client {
                return false;
            }
        }
        for root in origins.roots {
            has_rich |= root == ROOT;
            if [TEXT, CONVERSIONS].contains(&root) {
                return false;
            }
        }
    }
    has_rich
}

/// Reports whether all updates of a document contain only plain text and its history, in the root
/// that plain text is read from. It needs no document.
pub fn is_only_text<'a>(updates: impl IntoIterator<Item = &'a [u8]>, limits: &GateLimits) -> bool {
    updates.into_iter().all(|update| {
        let Some(origins) = origins(update, limits) else { return false };
        !origins.roots.iter().any(|root| NOT_OF_TEXT.contains(root))
    })
}

/// The roots that a document lacks if it was never anything but plain text.
const NOT_OF_TEXT: [&str; 4] = [ROOT, CONVERSIONS, reference::CONTENT, reference::TIMELINE];

/// A record of a settlement.
#[derive(Debug, Clone)]
pub(super) struct ConversionSettlement {
    client: ClientId,
    /// One more than the greatest number of the settlements that it knew.
    number: u64,
    /// Whether it made rich text current.
    is_to_rich: bool,
    /// The number of items that it made before the record itself.
    len: u32,
    /// The version of the document before it.
    from: Version,
    /// The items that it deleted.
    gone: IdSet,
    /// Whether it is a note of version 1, which only records up to where late work was merged.
    is_note: bool,
}

impl ContentDoc {
    /// Returns how the current content is kept. It differs from the kind that the name implies
    /// until the document is converted.
    pub fn held(&self) -> ContentRoot {
        let has_rich = self.gate.has_root(ROOT);
        let has_text = self.gate.has_root(TEXT);
        let is_rich = match (has_rich, has_text, self.last_settlement()) {
            (_, _, Some(last)) => last.is_to_rich,
            (false, false, None) => return self.kind,
            (has_rich, has_text, None) if has_rich != has_text => has_rich,
            (..) => matches!(self.kind, ContentRoot::Rich(_)),
        };
        match (is_rich, self.kind) {
            (true, ContentRoot::Text) => {
                ContentRoot::Rich(self.gate.read(|txn| rich::profile_of(txn)))
            }
            (true, kind) => kind,
            (false, _) => ContentRoot::Text,
        }
    }

    /// Reports whether the current root is not the one that the name implies, or peers settled the
    /// document at the same time, so that it may hold work twice, or a later version of the
    /// reference implementation wrote it.
    pub fn needs_conversion(&self) -> bool {
        is_rich(self.held()) != is_rich(self.kind)
            || !self.rivals().is_empty()
            || self.reference_text().is_some()
    }

    /// Reports whether the document is plain text that was never anything else.
    pub fn is_only_text(&self) -> bool {
        self.kind == ContentRoot::Text && !NOT_OF_TEXT.iter().any(|root| self.gate.has_root(root))
    }

    /// Reports whether the document was ever converted.
    pub fn was_converted(&self) -> bool {
        self.gate.has_root(CONVERSIONS)
    }

    /// Reports whether there is work that the current root lacks: in the other root, in blocks that
    /// were deleted, or among settlements that peers made at the same time.
    pub fn needs_repair(&self) -> bool {
        !self.stranded.is_empty() || self.has_late_work()
    }

    fn has_late_work(&self) -> bool {
        self.was_converted()
            && *self.is_unsettled.get_or_init(|| self.pending().is_ok_and(|it| it.is_some()))
    }

    /// Makes the root current that the name implies. Returns `None` if it is already.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn convert(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        if self.needs_conversion() { self.settle() } else { Ok(None) }
    }

    /// Merges all late work into the root that the name implies, makes that root current, and
    /// records the words that were [set aside](Self::set_aside). Returns `None` if there is nothing
    /// to do.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn repair(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        let mut updates = Vec::new();
        if self.needs_conversion() || self.has_late_work() {
            updates.extend(self.settle()?);
        }
        updates.extend(self.record_aside()?);
        merged(updates)
    }

    /// Returns a [repaired](Self::repair) copy of the document, for reading only; `None` if there
    /// is nothing to do.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn repaired(&self) -> Result<Option<Self>, ContentError> {
        if !self.needs_conversion() && !self.needs_repair() {
            return Ok(None);
        }
        let mut copy = self.clone_for(self.client)?;
        copy.repair()?;
        Ok(Some(copy))
    }

    /// Returns the text of the file merged with all rival settlements; `None` if there are none.
    pub(super) fn text_of_rivals(&self) -> Option<String> {
        let merge = || {
            let is_merged = !self.rivals().is_empty() && self.gate.health().is_ok();
            let pending = is_merged.then(|| self.pending().ok()).flatten();
            pending.flatten().map(|pending| pending.text)
        };
        self.merged_text.get_or_init(merge).clone()
    }

    /// Reports whether a version was read from the root that is current now.
    pub(super) fn is_of_now(&self, version: &Version) -> bool {
        let Some(last) = self.last_settlement() else { return true };
        if self.had_rivals_at(version) {
            return false;
        }
        if last.is_known_to(version) {
            return true;
        }
        let before = self.was_rich_at(version).unwrap_or_else(|| self.was_rich_first());
        before == last.is_to_rich
    }

    /// Returns the versions that the roots are compared with; `None` if the content was never
    /// converted.
    pub(super) fn sources(&self) -> Option<Vec<Version>> {
        let last = self.last_settlement()?;
        let rivals = self.rivals();
        Some(rivals.iter().chain([last]).map(|it| self.after(it)).collect())
    }

    /// Returns each state that content was converted from or was just converted to, and whether
    /// that was rich text.
    pub(super) fn bodies(&self) -> Vec<(Version, bool)> {
        let mut bodies = Vec::new();
        for settlement in self.settlements() {
            let (from, after) = (settlement.from.clone(), self.after(settlement));
            bodies.extend([(from.clone(), true), (from, false)]);
            bodies.extend([(after.clone(), true), (after, false)]);
        }
        bodies
    }

    /// Reports whether the content was rich text at a version; `None` if it was never converted
    /// before.
    pub(super) fn was_rich_at(&self, version: &Version) -> Option<bool> {
        let mut settlements = self.settlements().iter();
        let last = settlements.rfind(|it| !it.is_note && it.is_known_to(version));
        last.map(|last| last.is_to_rich)
    }

    /// Reports whether the content was rich text before the first conversion.
    fn was_rich_first(&self) -> bool {
        self.settlements().first().is_some_and(|first| !first.is_to_rich)
    }

    /// Returns the version of the document just after a settlement.
    fn after(&self, settlement: &ConversionSettlement) -> Version {
        match settlement.is_note {
            true => settlement.from.clone(),
            false => {
                settlement.from.and_all_of(settlement.client, settlement.len, &settlement.gone)
            }
        }
    }

    fn last_settlement(&self) -> Option<&ConversionSettlement> {
        self.settlements().last()
    }

    /// Returns the settlements that the last one did not know of.
    fn rivals(&self) -> Vec<ConversionSettlement> {
        let Some((last, others)) = self.settlements().split_last() else { return Vec::new() };
        others.iter().filter(|it| it.is_rival_of(last)).cloned().collect()
    }

    /// Reports whether peers had settled the document at the same time when it was at a version.
    fn had_rivals_at(&self, version: &Version) -> bool {
        let known: Vec<&ConversionSettlement> =
            self.settlements().iter().filter(|it| it.is_known_to(version)).collect();
        let Some((last, others)) = known.split_last() else { return false };
        others.iter().any(|it| it.is_rival_of(last))
    }

    /// Returns all settlements, in order.
    fn settlements(&self) -> &[ConversionSettlement] {
        self.settlements.get_or_init(|| self.read_settlements())
    }

    fn read_settlements(&self) -> Vec<ConversionSettlement> {
        if !self.gate.has_root(CONVERSIONS) {
            return Vec::new();
        }
        let mut settlements = self.gate.read(|txn| {
            let Some(map) = txn.get_map(CONVERSIONS) else { return Vec::new() };
            map.iter(txn).filter_map(|(key, value)| self.parse(key, &value)).collect::<Vec<_>>()
        });
        // A peer may have listed anything.
        settlements.retain(|it| self.check_known_clocks(&it.from).is_ok());
        settlements.sort_by_key(|it| (it.number, it.client));
        settlements
    }

    fn parse(&self, key: &str, value: &Out) -> Option<ConversionSettlement> {
        let Out::Any(Any::Array(values)) = value else { return None };
        let (is_note, key) = match key.split_once(':') {
            None => (false, key),
            Some((key, _)) => (true, key),
        };
        let client = ClientId::new(key.parse().ok()?).ok()?;
        let [number, to, len, Any::Buffer(from), rest @ ..] = &values[..] else { return None };
        let Any::String(to) = to else { return None };
        let number = as_number(number).filter(|it| (0.0..=9_007_199_254_740_991.0).contains(it))?;
        let len = as_number(len).filter(|it| (0.0..=f64::from(u32::MAX)).contains(it))? as u32;
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
            _ => self.living_at(&from, is_to_rich),
        };
        Some(ConversionSettlement {
            client,
            number: number as u64,
            is_to_rich,
            len,
            from,
            gone,
            is_note,
        })
    }

    fn clone_for(&self, client: ClientId) -> Result<Self, ContentError> {
        let mut clone = Self::new(&self.id, client, self.limits);
        clone.kind = self.kind;
        clone.receive(&self.gate.encode_state(), UpdateSource::Store)?;
        Ok(clone)
    }

    /// Returns the document at a version without the content that was erased since, even if the
    /// document never was in that state.
    fn fork_at(&self, version: &Version) -> Result<GatedDoc, ContentError> {
        self.fork_of(&self.masked(version))
    }
}

impl ConversionSettlement {
    /// Reports whether a version has the record of the settlement.
    fn is_known_to(&self, version: &Version) -> bool {
        version.knows(self.client, self.len.saturating_add(1))
    }

    /// Reports whether a settlement was made apart from a later one.
    fn is_rival_of(&self, last: &Self) -> bool {
        !self.is_note && self.client != last.client && !self.is_known_to(&last.from)
    }

    /// Returns the record as the document lists it.
    fn value(&self) -> Any {
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

/// Returns a version of the same clocks with other deletions.
fn with_deleted(version: &Version, deleted: IdSet) -> Version {
    Version::noted(Snapshot::new(version.snapshot().state_map.clone(), deleted))
}

pub(super) fn is_by_rule(client: ClientId) -> bool {
    client.get() & MARK != 0
}

fn is_rich(kind: ContentRoot) -> bool {
    matches!(kind, ContentRoot::Rich(_))
}

/// Makes one update of several that follow each other.
pub(super) fn merged(mut updates: Vec<Vec<u8>>) -> Result<Option<Vec<u8>>, ContentError> {
    if updates.len() < 2 {
        return Ok(updates.pop());
    }
    let merged = yrs::merge_updates_v1(&updates);
    Ok(Some(merged.expect("our own updates follow each other")))
}
