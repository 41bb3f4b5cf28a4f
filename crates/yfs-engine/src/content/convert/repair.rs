//! Merging what was written to copies of the content, or where it no longer is.
//!
//! It is made under a client id that is a hash of the document's state, and one mark at a time: peers in the same state
//! make the same items, which Yjs merges to one. Peers in different states may merge the same work twice.

use yrs::{Any, Map as _, Out, ReadTxn as _, Text as _, WriteTxn as _, types::text::YChange};

use super::{
    super::{
        Author, Base, ContentDoc, ContentError, TEXT, Version, Written, diff::utf16_len, rich,
    },
    CONVERSIONS, Conversion, id_of, is_rich, merged, value,
};
use crate::{
    actor::{Actor, ActorKind},
    gate::{IdRange, Source},
    id::ClientId,
    kind::ContentKind,
    lib0::write_string,
    rich::{Kid, live, nodes},
    time::Millis,
};

impl ContentDoc {
    /// Tells whether the content is there several times, each changed by somebody, or somebody wrote where it no
    /// longer is.
    pub fn needs_repair(&self) -> bool {
        self.was_converted()
            && (self.copies().len() > 1 || !self.strays().is_empty() || self.late().is_some())
    }

    /// Merges all that was written to copies of the content into one. Answers nothing where there is nothing
    /// to do.
    ///
    /// It does no harm that several peers do it, as long as they have heard the same.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn repair(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        let converted = self.convert()?;
        let repaired = self.merge_by_rule()?;
        merged(converted.into_iter().chain(repaired).collect())
    }

    /// Returns a copy of the document, [repaired](Self::repair), to be looked at; nothing where there is nothing to do.
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

    /// Merges what was written to copies, or where the content no longer is, as the same items whoever does it.
    pub(super) fn merge_by_rule(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        if !self.needs_repair() {
            return Ok(None);
        }
        let mut clone = self.clone_for(self.repairer())?;
        clone.by_rule = true;
        // What is done by rule is nobody's.
        let author = Author::new(Actor::new(ActorKind::System, "yfs"), Millis(0));
        let mut updates = Vec::new();
        clone.merge_copies(&author, &mut updates)?;
        let repaired = merged(updates)?;
        if let Some(update) = &repaired {
            self.receive(update, Source::Store)?;
        }
        Ok(repaired)
    }

    fn merge_copies(
        &mut self,
        author: &Author,
        updates: &mut Vec<Vec<u8>>,
    ) -> Result<(), ContentError> {
        for copy in self.copies().iter().skip(1) {
            let client = copy.conversion.client;
            // What of its source is in it comes from the source.
            let last = self.conversions().into_iter().rfind(|it| it.client == client);
            let from = last.map_or_else(|| copy.conversion.from.clone(), |last| last.from);
            // Whoever listed it may have listed anything.
            let before = self.source_text_at(&from, !copy.conversion.is_to_rich);
            let Ok(before) = before else { continue };
            self.take(&copy.conversion, &before, author, updates)?;
        }
        for stray in self.strays() {
            // What both it and the content come from.
            let Some(kept) = self.kept() else { continue };
            let Ok(before) = self.content_at(&stray.conversion.from.meet(&kept.from)) else {
                continue;
            };
            self.take(&stray.conversion, &before, author, updates)?;
        }
        if let Some((before, now)) = self.late() {
            let written = self.write_where_it_is(&now, Some(Base::Text(&before)), author)?;
            updates.extend(written.update);
            updates.extend(self.note()?);
        }
        Ok(())
    }

    /// Merges a copy of a text into the content, and deletes it.
    fn take(
        &mut self,
        copy: &Conversion,
        before: &str,
        author: &Author,
        updates: &mut Vec<Vec<u8>>,
    ) -> Result<(), ContentError> {
        let (said, update) = match copy.is_to_rich {
            true => self.take_blocks(copy.client)?,
            false => self.take_text(copy.client)?,
        };
        updates.push(update);
        let written = self.write_where_it_is(&said, Some(Base::Text(before)), author)?;
        updates.extend(written.update);
        Ok(())
    }

    /// Returns what the content was at a version, but for what was erased since.
    fn content_at(&self, version: &Version) -> Result<String, ContentError> {
        let mut version = self.masked(version);
        let mut made = self.conversions().into_iter();
        if let Some(last) = made.rfind(|it| it.len > 0 && version.knows(it.client, it.len))
            && version.deletes(last.items())
        {
            // Each of two who did not know of each other has put something in its place.
            version = version.with(last.items());
        }
        let mut then = self.clone_of(&self.fork_of(&version)?, self.client)?;
        then.kind = self.kind;
        Ok(then.text())
    }

    /// Returns the id that a state is repaired under.
    fn repairer(&self) -> ClientId {
        let mut bytes = Vec::new();
        write_string(&mut bytes, "yfs repair 1");
        write_string(&mut bytes, self.id.as_str());
        bytes.extend(self.version().encode_in_order());
        id_of(&bytes)
    }

    /// Deletes the blocks of a conversion with all that was put into them, and returns what they said.
    fn take_blocks(&mut self, client: ClientId) -> Result<(String, Vec<u8>), ContentError> {
        let (said, ranges) = self.gate.read(|txn| {
            let profile = rich::profile_of(txn);
            let mut kids = live(txn, profile);
            kids.retain(|kid| kid.ids().all(|id| id.client == client));
            let ids = kids.iter().flat_map(Kid::ids);
            let ranges: Vec<_> =
                ids.map(|id| IdRange { client, start: id.clock, len: 1 }).collect();
            (rich::file_of(nodes(&kids), &rich::Memory::read(txn), profile), ranges)
        });
        Ok((said.text, self.delete(ranges)?))
    }

    /// Deletes the text of a conversion with all that was put between its characters, and returns it.
    fn take_text(&mut self, client: ClientId) -> Result<(String, Vec<u8>), ContentError> {
        let (said, update) = self.gate.edit(|txn| {
            let text = txn.get_or_insert_text(TEXT);
            let (now, before) = (txn.snapshot(), yrs::Snapshot::default());
            // Beside nothing, everything was added, and is told with its item.
            let pieces = text.diff_range(txn, Some(&now), Some(&before), YChange::identity);
            let (mut at, mut start, mut said, mut pending) =
                (0, None, String::new(), String::new());
            for piece in pieces {
                let Out::Any(Any::String(piece_text)) = piece.insert else { continue };
                let is_own = piece.ychange.is_some_and(|it| it.id.client.get() == client.get());
                if is_own {
                    start.get_or_insert(at);
                    said.push_str(&std::mem::take(&mut pending));
                    said.push_str(&piece_text);
                } else if start.is_some() {
                    pending.push_str(&piece_text);
                }
                at += utf16_len(&piece_text);
            }
            text.remove_range(txn, start.unwrap_or(0), utf16_len(&said));
            said
        });
        self.finish(update, []).map(|update| (said, update.unwrap_or_default()))
    }

    fn write_where_it_is(
        &mut self,
        new: &str,
        base: Option<Base<'_>>,
        author: &Author,
    ) -> Result<Written, ContentError> {
        match self.held() {
            ContentKind::Text => self.write_text(new, base, author),
            ContentKind::Rich(profile) => self.write_whole(new, base, profile, author),
        }
    }

    /// Notes of the conversion that is kept that what came late has been taken in.
    pub(super) fn note(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        let Some(kept) = self.kept().map(|kept| kept.client) else { return Ok(None) };
        let number = self.conversions().last().map_or(0, |last| last.number) + 1;
        let (client, version) = (self.client, self.version());
        let is_to_rich = is_rich(self.held());
        self.transact_with(None, |txn| {
            let value = value(number, is_to_rich, 0, &version);
            txn.get_or_insert_map(CONVERSIONS).insert(
                txn,
                format!("{kept}:{client}:{number}"),
                value,
            );
        })
    }
}
