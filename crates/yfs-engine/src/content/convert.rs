//! Moving content between plain text and rich text, when a file's name comes to promise the other.
//!
//! Several peers may do that at once, and each of them must not add the content once more. So a conversion is made
//! under a client id that is a hash of what is converted: whoever converts the same state makes the same items, and Yjs
//! merges them to one. Where conversions of different states meet and nobody has touched their results, what they were
//! made from is converted again; else the one that somebody touched stays, and what the others knew
//! is merged into it as text.
//!
//! The root `Y.Map("fs:conv")` lists conversions. The latest says where the content is; the name only says where it
//! is to be. The rules are in `docs/format/content-document.md`.

mod profile;
mod repair;
#[cfg(test)]
mod tests;

use yrs::{
    Any, GetString as _, Map as _, Out, ReadTxn as _, Text as _, Update, WriteTxn as _,
    updates::decoder::Decode as _,
};

use super::{ContentDoc, ContentError, TEXT, Version, diff::utf16_len, rich};
use crate::{
    gate::{GatedDoc, IdRange, Limits, Source, origins},
    id::ClientId,
    kind::ContentKind,
    lib0::{as_number, write_string, write_var_uint},
    rich::{Inserter, Parent, ROOT, live},
};

/// The root that lists conversions, by the client ids that they were made under.
pub(crate) const CONVERSIONS: &str = "fs:conv";

/// Changes whenever the same content is converted into other items.
const VERSION: &str = "yfs conversion 1";

/// Client ids of conversions have this bit, which ids that are drawn at random never have.
const MARK: u64 = 1 << 52;

/// Tells whether updates, which are all of a document's, hold nothing but rich text and history of one client. Then
/// there is nothing to settle: nobody converted it, and nothing is there twice. It needs no document.
pub fn is_rich_of_one<'a>(updates: impl IntoIterator<Item = &'a [u8]>, limits: &Limits) -> bool {
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

/// One conversion, or a later note about it: that has no length.
#[derive(Debug, Clone)]
struct Conversion {
    client: ClientId,
    /// How many conversions it knew of, and itself.
    number: u64,
    is_to_rich: bool,
    /// How many items its result is.
    len: u32,
    /// What the document was.
    from: Version,
}

/// The items of one conversion that are still there.
struct Copy {
    conversion: Conversion,
    is_touched: bool,
}

impl ContentDoc {
    /// Tells how what the document holds is kept, which is not what its name promises where nobody has
    /// converted it yet.
    pub fn held(&self) -> ContentKind {
        let has_rich = self.gate.has_root(ROOT);
        let has_text = self.gate.has_root(TEXT);
        let is_rich = match (has_rich, has_text) {
            (false, false) => return self.kind,
            (has_rich, false) => has_rich,
            (false, true) => false,
            (true, true) => match self.conversions().last() {
                Some(last) => last.is_to_rich,
                None => matches!(self.kind, ContentKind::Rich(_)),
            },
        };
        match (is_rich, self.kind) {
            (true, ContentKind::Text) => {
                ContentKind::Rich(self.gate.read(|txn| rich::profile_of(txn)))
            }
            (true, kind) => kind,
            (false, _) => ContentKind::Text,
        }
    }

    /// Tells whether the content is not where the name says, or is there several times or out of date and nobody
    /// has touched it since.
    pub fn needs_conversion(&self) -> bool {
        is_rich(self.held()) != is_rich(self.kind) || self.is_untidy()
    }

    fn is_untidy(&self) -> bool {
        if !self.gate.has_root(CONVERSIONS) {
            return false;
        }
        let copies = self.copies();
        match copies.iter().filter(|copy| copy.is_touched).count() {
            0 => copies.len() > 1 || !copies.is_empty() && self.late().is_some(),
            n_touched => copies.len() > n_touched,
        }
    }

    /// Tells whether the content was ever converted.
    pub fn was_converted(&self) -> bool {
        self.gate.has_root(CONVERSIONS)
    }

    /// Notes that somebody writes to a copy that nobody has noted yet.
    pub(super) fn note_touch(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        if !self.was_converted() {
            return Ok(None);
        }
        // What has come late must be merged before it is noted.
        let is_new = self.kept().is_some_and(|kept| kept.len > 0);
        if is_new && self.late().is_none() { self.note() } else { Ok(None) }
    }

    /// Tells whether a version knows of the last conversion.
    pub(super) fn is_of_now(&self, version: &Version) -> bool {
        let last = self.conversions().into_iter().rfind(|it| it.len > 0);
        last.is_none_or(|last| version.knows(last.client, last.len))
    }

    /// Puts the content where the name says, once. Answers nothing where it is.
    ///
    /// Everybody who sees the same state does the same, so it does no harm that several do it.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn convert(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        let mut updates = Vec::new();
        if self.is_untidy() {
            self.tidy(&mut updates)?;
        }
        if is_rich(self.held()) != is_rich(self.kind) {
            // What came late would go with what the content is put in place of.
            updates.extend(self.merge_by_rule()?);
            let text = self.text();
            updates.push(self.make(&text)?);
        }
        merged(updates)
    }

    /// Makes one of several copies, as far as nobody has touched them.
    fn tidy(&mut self, updates: &mut Vec<Vec<u8>>) -> Result<(), ContentError> {
        let copies = self.copies();
        if copies.iter().any(|copy| copy.is_touched) {
            let untouched = untouched(&copies);
            if !untouched.is_empty() {
                updates.push(self.delete(untouched)?);
            }
        } else if let Some(copy) = copies.first()
            && (copies.len() > 1 || self.late().is_some())
        {
            let source = self.source_now(copy.conversion.is_to_rich)?;
            let held = self.held();
            let kind = std::mem::replace(&mut self.kind, held);
            let made = self.make(&source);
            self.kind = kind;
            self.file.take();
            updates.push(made?);
        }
        Ok(())
    }

    /// Converts a text to where the name says, in place of what is there.
    fn make(&mut self, text: &str) -> Result<Vec<u8>, ContentError> {
        let version = self.version();
        let number = self.conversions().last().map_or(0, |last| last.number) + 1;
        let client = self.client_of(text, number, &version);
        let mut clone = self.clone_for(client)?;
        let update = match self.kind {
            ContentKind::Text => clone.gate.edit(|txn| {
                let root = txn.get_or_insert_text(TEXT);
                root.remove_range(txn, 0, root.len(txn));
                root.push(txn, text);
                note(txn, client, utf16_len(text), number, false, &version);
            }),
            ContentKind::Rich(profile) => {
                let (document, memory) = rich::file_parts(text, profile);
                clone.gate.edit(|txn| {
                    let there = live(txn, profile);
                    let mut inserter = Inserter::new(client, 0);
                    let right = there.first().and_then(|kid| kid.ids().next());
                    inserter.insert(Parent::Root, None, right, &document.children);
                    let len = inserter.clock();
                    let ids = there.iter().flat_map(crate::rich::Kid::ids);
                    let gone = ids.map(|id| IdRange { client: id.client, start: id.clock, len: 1 });
                    let update = inserter.finish(gone.collect());
                    let update = Update::decode_v1(&update).expect("we built a valid update");
                    txn.apply_update(update).expect("we built a valid update");
                    rich::Memory::read(txn).edit_to(&memory).make(txn);
                    note(txn, client, len, number, true, &version);
                })
            }
        };
        clone.gate.health()?;
        let update = update.1.unwrap_or_default();
        self.receive(&update, Source::Store)?;
        Ok(update)
    }

    /// Returns the id that the conversion of a state is made under.
    fn client_of(&self, text: &str, number: u64, version: &Version) -> ClientId {
        let mut bytes = Vec::with_capacity(text.len() + 256);
        write_string(&mut bytes, VERSION);
        write_string(&mut bytes, self.id.as_str());
        write_string(&mut bytes, text);
        write_var_uint(&mut bytes, number);
        write_var_uint(&mut bytes, is_rich(self.kind).into());
        bytes.extend(version.encode_in_order());
        id_of(&bytes)
    }

    fn delete(&mut self, ranges: Vec<IdRange>) -> Result<Vec<u8>, ContentError> {
        let update = Inserter::new(self.client, 0).finish(ranges);
        self.receive(&update, Source::Store)?;
        Ok(update)
    }

    /// Returns what stands in the root that the content came from. Copies of the content that others put there
    /// are not what it came from.
    fn source_now(&self, was_to_rich: bool) -> Result<String, ContentError> {
        let strays = self.strays();
        if !strays.is_empty() {
            let gone = strays.iter().map(|stray| stray.conversion.items());
            let version = self.version().but_for(gone);
            return self.source_text_at(&version, !was_to_rich);
        }
        Ok(self.gate.read(|txn| source_text(txn, !was_to_rich)))
    }

    /// Returns what stood in a root at a version, but for what was erased since.
    fn source_text_at(&self, version: &Version, is_rich: bool) -> Result<String, ContentError> {
        self.check_known_clocks(version)?;
        let fork = self.fork_of(&self.masked(version))?;
        Ok(fork.read(|txn| source_text(txn, is_rich)))
    }

    /// Returns what the source of the content said when it was converted and what it says now, if
    /// somebody who did not know of the conversion has changed it.
    fn late(&self) -> Option<(String, String)> {
        let last = self.kept()?;
        let now = self.source_now(last.is_to_rich).ok()?;
        // Where all that it came from was given up, only what is new is somebody's work.
        let is_given_up = self.is_gone(&self.living_at(&last.from, !last.is_to_rich));
        let before = if is_given_up && !self.strays_and_heir().1 {
            String::new()
        } else {
            self.source_text_at(&last.from, !last.is_to_rich).ok()?
        };
        (before != now).then_some((before, now))
    }

    /// Returns the last thing that is known of the conversion that is kept: itself, or what was noted since.
    fn kept(&self) -> Option<Conversion> {
        let conversions = self.conversions();
        let to_rich = conversions.last()?.is_to_rich;
        // What was not kept says nothing about what is there.
        let is_live = |client: ClientId| {
            let made = conversions.iter().find(|it| it.client == client && it.len > 0);
            made.is_some_and(|made| self.gate.n_live(client, made.len) > 0)
        };
        let here = || conversions.iter().filter(|it| it.is_to_rich == to_rich);
        here().rfind(|it| is_live(it.client)).or_else(|| here().next_back()).cloned()
    }

    /// Returns what the document was for each conversion whose result is where the content is; nothing where none
    /// was made.
    pub(super) fn sources(&self) -> Option<Vec<Version>> {
        let kept = self.kept()?;
        let conversions = self.conversions();
        let last = |copy: &Copy| {
            let client = copy.conversion.client;
            conversions.iter().rfind(|it| it.client == client).map(|last| last.from.clone())
        };
        Some(self.copies().iter().filter_map(last).chain([kept.from]).collect())
    }

    /// Returns each state that content was converted from or was just converted to, and whether that was rich text.
    pub(super) fn bodies(&self) -> Vec<(Version, bool)> {
        let mut bodies = Vec::new();
        for Conversion { client, is_to_rich, len, from, .. } in self.conversions() {
            if len > 0 {
                let gone = self.living_at(&from, is_to_rich);
                bodies
                    .push((from.and_all_of(client, self.gate.clock_of(client), &gone), is_to_rich));
            }
            bodies.push((from, !is_to_rich));
        }
        bodies
    }

    /// Tells whether the content was rich text at a version; nothing where nobody had converted it.
    pub(super) fn was_rich_at(&self, version: &Version) -> Option<bool> {
        let conversions = self.conversions();
        let last = conversions.iter().rfind(|it| it.len > 0 && version.knows(it.client, it.len));
        last.map(|last| last.is_to_rich)
    }

    /// Returns the conversions whose results are where the content is, in order.
    fn copies(&self) -> Vec<Copy> {
        let conversions = self.conversions();
        let Some(to_rich) = conversions.last().map(|last| last.is_to_rich) else {
            return Vec::new();
        };
        self.copies_among(&conversions, |it| it.is_to_rich == to_rich)
    }

    /// Returns the conversions whose results are where the content came from, beside what it came from: they were
    /// made by others at the same time.
    fn strays(&self) -> Vec<Copy> {
        self.strays_and_heir().0
    }

    /// Returns the strays, and whether one more took the place of what the content came from, which is none then.
    fn strays_and_heir(&self) -> (Vec<Copy>, bool) {
        let conversions = self.conversions();
        // Whoever converted once has not converted back.
        let Some(kept) = self.kept().filter(|_| conversions.len() > 1) else {
            return (Vec::new(), false);
        };
        let is_stray = |it: &Conversion| {
            it.is_to_rich != kept.is_to_rich && !kept.from.knows(it.client, it.len)
        };
        let mut strays = self.copies_among(&conversions, is_stray);
        if strays.is_empty() {
            return (strays, false);
        }
        let source = self.living_at(&kept.from, !kept.is_to_rich);
        let is_gone = self.is_gone(&source);
        let took_place = |stray: &Copy| {
            let gone = self.living_at(&stray.conversion.from, !kept.is_to_rich);
            !source.intersect(&gone).is_empty()
        };
        let order = |stray: &Copy| (stray.conversion.number, stray.conversion.client);
        let heirs = strays.iter().filter(|it| took_place(it)).map(order).max();
        let heir = heirs.or_else(|| strays.iter().map(order).max().filter(|_| is_gone));
        strays.retain(|stray| Some(order(stray)) != heir);
        (strays, heir.is_some())
    }

    fn copies_among(
        &self,
        conversions: &[Conversion],
        is_one: impl Fn(&Conversion) -> bool,
    ) -> Vec<Copy> {
        let made = conversions.iter().filter(|it| it.len > 0 && is_one(it));
        let mut copies: Vec<Copy> = made
            .filter_map(|conversion| {
                let Conversion { client, len, .. } = *conversion;
                let n_live = self.gate.n_live(client, len);
                if n_live == 0 {
                    return None;
                }
                // Whoever writes to a copy notes that, so that the rest is seldom asked.
                let is_noted = conversions.iter().any(|it| it.client == client && it.len == 0);
                let is_touched = is_noted || n_live < len || self.has_guests(client);
                Some(Copy { conversion: conversion.clone(), is_touched })
            })
            .collect();
        copies.sort_by_key(|copy| copy.conversion.client);
        copies
    }

    /// Tells whether anybody has put something beside the items of a conversion: then what they put there
    /// cannot be had without these.
    fn has_guests(&self, client: ClientId) -> bool {
        let without = self.fork_of(&self.version().without(client));
        without.is_ok_and(|without| !without.parked().is_empty())
    }

    /// Returns all conversions, in order.
    fn conversions(&self) -> Vec<Conversion> {
        if !self.gate.has_root(CONVERSIONS) {
            return Vec::new();
        }
        let mut conversions = self.gate.read(|txn| {
            let Some(map) = txn.get_map(CONVERSIONS) else { return Vec::new() };
            map.iter(txn).filter_map(|(key, value)| parse(key, &value)).collect::<Vec<_>>()
        });
        conversions.sort_by_key(|it| (it.number, it.client));
        conversions
    }

    fn clone_for(&self, client: ClientId) -> Result<Self, ContentError> {
        self.clone_of(&self.gate, client)
    }

    fn clone_of(&self, gate: &GatedDoc, client: ClientId) -> Result<Self, ContentError> {
        let mut clone = Self::new(&self.id, client, self.limits);
        clone.kind = self.kind;
        clone.receive(&gate.encode_state(), Source::Store)?;
        Ok(clone)
    }
}

impl Conversion {
    /// Returns the items that its result is.
    fn items(&self) -> IdRange {
        IdRange { client: self.client, start: 0, len: self.len }
    }
}

/// Returns the items of copies that nobody has touched.
fn untouched(copies: &[Copy]) -> Vec<IdRange> {
    let untouched = copies.iter().filter(|copy| !copy.is_touched);
    untouched.map(|copy| copy.conversion.items()).collect()
}

fn source_text(txn: &impl yrs::ReadTxn, is_rich: bool) -> String {
    match is_rich {
        false => txn.get_text(TEXT).map(|it| it.get_string(txn)).unwrap_or_default(),
        true => rich::read_file(txn, rich::profile_of(txn)).text,
    }
}

/// Returns the client id that stands for some bytes.
fn id_of(bytes: &[u8]) -> ClientId {
    let hash = blake3::hash(bytes);
    let hash = u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 bytes"));
    ClientId::new(MARK | (hash >> 12)).expect("53 bits")
}

fn is_rich(kind: ContentKind) -> bool {
    matches!(kind, ContentKind::Rich(_))
}

/// Makes one update of several that follow each other.
pub(super) fn merged(mut updates: Vec<Vec<u8>>) -> Result<Option<Vec<u8>>, ContentError> {
    if updates.len() < 2 {
        return Ok(updates.pop());
    }
    let merged = yrs::merge_updates_v1(&updates);
    Ok(Some(merged.expect("our own updates follow each other")))
}

fn note(
    txn: &mut yrs::TransactionMut<'_>,
    client: ClientId,
    len: u32,
    number: u64,
    is_to_rich: bool,
    version: &Version,
) {
    let map = txn.get_or_insert_map(CONVERSIONS);
    map.insert(txn, client.to_string(), value(number, is_to_rich, len, version));
}

fn value(number: u64, is_to_rich: bool, len: u32, from: &Version) -> Any {
    let number_any = |number: f64| Any::Number(yrs::Number::try_i64(number));
    let values = vec![
        number_any(number as f64),
        Any::from(if is_to_rich { ROOT } else { TEXT }),
        number_any(len.into()),
        Any::Buffer(from.encode_in_order().into()),
    ];
    Any::Array(values.into())
}

fn parse(key: &str, value: &Out) -> Option<Conversion> {
    let Out::Any(Any::Array(values)) = value else { return None };
    let [number, to, len, Any::Buffer(from)] = &values[..] else { return None };
    let Any::String(to) = to else { return None };
    let client = key.split(':').next()?;
    let number = as_number(number).filter(|it| (0.0..=9_007_199_254_740_991.0).contains(it))?;
    let len = as_number(len).filter(|it| (0.0..=f64::from(u32::MAX)).contains(it))?;
    let is_to_rich = match &**to {
        ROOT => true,
        TEXT => false,
        _ => return None,
    };
    Some(Conversion {
        client: ClientId::new(client.parse().ok()?).ok()?,
        number: number as u64,
        is_to_rich,
        len: len as u32,
        from: Version::decode(from).ok()?,
    })
}
