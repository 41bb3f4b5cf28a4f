//! Workspace settings: one value per key, in root array `fs:meta`.
//!
//! The same elements and the same rule as the files table, without cells.

use std::collections::BTreeMap;

use yrs::Any;

use super::{
    append_chain::{self, EncodedElements},
    elements::{LiveElements, NONE, rank},
    format::write_setting_element,
    plan::next_ts,
    row::TableError,
    timestamp::ElementTimestamp,
    value_slab::ValueSlab,
};
use crate::{
    gate::{GatedDoc, RootIx, UpdateBuilder, UpdateScan},
    id::{ClientId, ItemId},
    lib0::{
        AnyLimits, Lib0Error, Lib0Reader, ObjectMembers, ValueView, read_any, write_any,
        write_string, write_var_uint,
    },
    time::Millis,
};

/// The settings of a workspace, as one main document has them.
#[derive(Debug)]
pub struct WorkspaceSettings {
    writer: ClientId,
    by_key: BTreeMap<String, u32>,
    /// The key of each group, and the head of its elements.
    groups: ValueSlab<(String, u32)>,
    elements: LiveElements<Any>,
}

impl WorkspaceSettings {
    /// Makes the settings of an empty document.
    pub fn new(writer: ClientId) -> Self {
        Self {
            writer,
            by_key: BTreeMap::new(),
            groups: ValueSlab::new(),
            elements: LiveElements::new(),
        }
    }

    /// Sets another id to write under.
    pub fn set_writer(&mut self, writer: ClientId) {
        self.writer = writer;
    }

    /// Returns the value of a setting.
    pub fn get(&self, key: &str) -> Option<&Any> {
        let (_, head) = self.groups.get(*self.by_key.get(key)?);
        Some(&self.elements.get(*head).value)
    }

    /// Writes all elements, for a checkpoint: their number, then each key, client, clock, `ts` and
    /// value.
    pub(crate) fn write_elements(&self, out: &mut Vec<u8>) {
        let groups = self.by_key.iter().map(|(key, group)| (key, self.groups.get(*group).1));
        let elements: Vec<_> = groups
            .flat_map(|(key, head)| self.elements.group(head).map(move |(_, one)| (key, one)))
            .collect();
        write_var_uint(out, elements.len() as u64);
        for (key, element) in elements {
            write_string(out, key);
            write_var_uint(out, element.id.client.get());
            write_var_uint(out, u64::from(element.id.clock));
            write_any(out, &element.stamp.to_any());
            write_any(out, &element.value);
        }
    }

    /// Reads what [`write_elements`](Self::write_elements) wrote.
    pub(crate) fn read_elements(
        writer: ClientId,
        doc: &GatedDoc,
        reader: &mut Lib0Reader<'_>,
    ) -> Result<Self, Lib0Error> {
        let mut settings = Self::new(writer);
        let mut touched = BTreeMap::new();
        for _ in 0..reader.var_uint()? {
            let key = reader.string()?;
            let client = ClientId::new(reader.var_uint()?).map_err(|_| Lib0Error::Number)?;
            let item = ItemId::new(client, reader.var_u32()?);
            let mut stamp = Vec::new();
            write_any(&mut stamp, &read_any(reader, AnyLimits::default())?);
            let stamp = ElementTimestamp::of(Some(ValueView::of(&stamp)?));
            let value = read_any(reader, AnyLimits::default())?;
            touched.insert(key.to_owned(), settings.add(key, item, stamp, value));
        }
        settings.elect_winners(doc, &touched);
        Ok(settings)
    }

    /// Returns all settings, in order of key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Any)> {
        self.by_key.iter().map(|(key, group)| {
            let (_, head) = self.groups.get(*group);
            (key.as_str(), &self.elements.get(*head).value)
        })
    }

    /// Absorbs an update that the document has just integrated, and returns the keys that it
    /// touched.
    pub fn absorb(&mut self, doc: &GatedDoc, scan: &UpdateScan) -> Vec<String> {
        let mut touched: BTreeMap<String, u32> = BTreeMap::new();
        for element in scan.elements.iter().filter(|element| element.root == RootIx::Meta) {
            let ValueView::Map(members) = scan.value(element) else { continue };
            let (Some(ValueView::String(key)), Some(value)) =
                (members.get("key"), members.get("val"))
            else {
                continue;
            };
            let stamp = ElementTimestamp::of(members.get("ts"));
            let group = self.add(key, element.id, stamp, value.to_any());
            touched.insert(key.to_string(), group);
        }
        for range in &scan.deleted {
            for ix in self.elements.take_range(range.client, range.start, range.len) {
                let unlinked = self.elements.unlink(ix);
                let (key, head) = self.groups.get_mut(unlinked.owner);
                *head = unlinked.replacement.unwrap_or(*head);
                touched.insert(key.clone(), unlinked.owner);
            }
        }
        self.elect_winners(doc, &touched);
        touched.into_keys().collect()
    }

    /// Adds an element and returns its group.
    fn add(&mut self, key: &str, item: ItemId, stamp: ElementTimestamp, value: Any) -> u32 {
        let group = match self.by_key.get(key) {
            Some(group) => *group,
            None => {
                let group = self.groups.insert((key.to_owned(), NONE));
                self.by_key.insert(key.to_owned(), group);
                group
            }
        };
        let head = self.groups.get(group).1;
        let head = self.elements.insert(head, item, group, stamp, value);
        self.groups.get_mut(group).1 = head;
        group
    }

    fn elect_winners(&mut self, doc: &GatedDoc, touched: &BTreeMap<String, u32>) {
        let mut ties = BTreeMap::new();
        for (key, group) in touched {
            let head = self.groups.get(*group).1;
            if head == NONE {
                self.by_key.remove(key);
                self.groups.remove(*group);
            } else if self.elements.needs_rank(head) {
                ties.insert(key.clone(), head);
            }
        }
        if !ties.is_empty() {
            let root = RootIx::Meta.name();
            let write = |_: &str, value: &Any, out: &mut Vec<u8>| write_any(out, value);
            let read = |_: &str, element: ObjectMembers<'_>| Some(element.get("val")?.to_any());
            rank(&mut self.elements, doc, root, &ties, read, write);
        }
        for group in touched.keys().filter_map(|key| self.by_key.get(key)) {
            let head = self.groups.get(*group).1;
            self.groups.get_mut(*group).1 = self.elements.elect(head);
        }
    }

    /// Returns the update that sets a value, or removes it. Changes nothing.
    pub fn plan(
        &self,
        doc: &GatedDoc,
        key: &str,
        value: Option<&Any>,
        now: Millis,
    ) -> Result<Vec<u8>, TableError> {
        let mut update = UpdateBuilder::new();
        let head = self.by_key.get(key).map_or(NONE, |group| self.groups.get(*group).1);
        let mut clock = f64::NEG_INFINITY;
        for (_, element) in self.elements.group(head) {
            clock = clock.max(element.stamp.bound().unwrap_or(f64::NEG_INFINITY));
            let is_finite = matches!(element.stamp, ElementTimestamp::Finite(_));
            if value.is_none() || is_finite || element.stamp.is_maximal() {
                update.delete(element.id);
            }
        }
        if let Some(value) = value {
            let ts = next_ts(clock, now);
            let mut values = EncodedElements::default();
            values.push(|out| write_setting_element(out, key, value, ts));
            let root = RootIx::Meta;
            let run = |clock, most| self.elements.run_before(self.writer, clock, most);
            append_chain::append(&mut update, doc, run, self.writer, root, &values)?;
        }
        Ok(update.finish())
    }
}
