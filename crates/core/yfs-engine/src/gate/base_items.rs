//! What the gate knows of the items of a main document, as bytes, for a checkpoint: a document that
//! begins with it needs the yrs document only where it would anyway.
//!
//! The bytes are, in unsigned integers of lib0 unless said otherwise: the number of structs; the
//! lists but the first, each depth, then 1 and its name, or the number of its shape times 4, plus 2
//! if the engine reads its root, and the place of that root; the places of
//! types (client, clock, place); the clients, each with its id, end, last right origin (0, or 1,
//! client and clock), ranges of places (distance of the start, tag) and deleted ranges (distance
//! from the last end, length); and the client that wrote last to each of the arrays (index,
//! client).

use std::{fmt, sync::Arc};

use hashbrown::HashMap;

use super::{
    doc::GatedDoc,
    item_lists::{ClientItems, ItemList, ItemLists, ListTag},
    lazy::LazyDoc,
    limits::GateLimits,
    list_shape::ListShape,
    role::{DocRole, UpdateSource},
    update_scan::RootIx,
};
use crate::{
    id::{ClientId, FileId, ItemId},
    lib0::{Lib0Error, Lib0Reader, write_string, write_var_uint},
};

/// The arrays of a main document that the engine reads.
const ARRAYS: [RootIx; 3] = [RootIx::Files, RootIx::Cells, RootIx::Meta];

/// The logged updates of a document.
pub trait LoggedUpdates: fmt::Debug + Send + Sync {
    /// Returns updates that together hold at least all that the document has received.
    ///
    /// # Errors
    ///
    /// Returns the reason as text.
    fn updates(&self) -> Result<Vec<Vec<u8>>, String>;
}

impl GatedDoc {
    /// Makes a main document that holds the items of [`write_items`](Self::write_items), and reads
    /// the updates themselves when it needs the yrs document.
    ///
    /// # Errors
    ///
    /// If the bytes are malformed.
    pub(crate) fn on_base(
        guid: &FileId,
        client: ClientId,
        limits: GateLimits,
        items: &mut Lib0Reader<'_>,
        source: Arc<dyn LoggedUpdates>,
    ) -> Result<Self, Lib0Error> {
        let places = read_places(items)?;
        let mut newest = HashMap::new();
        for _ in 0..items.var_uint()? {
            let root = ARRAYS.get(items.var_uint()? as usize).ok_or(Lib0Error::Number)?;
            newest.insert(*root, read_client(items)?);
        }
        let mut doc = Self::new(guid, DocRole::Main, client, limits);
        doc.doc = LazyDoc::on_base(guid, client, limits, source);
        (doc.places, doc.newest) = (places, newest);
        Ok(doc)
    }

    /// Writes what is known of the items. Parked structs are not part of it.
    pub(crate) fn write_items(&self, out: &mut Vec<u8>) {
        write_places(out, &self.places);
        write_var_uint(out, self.newest.len() as u64);
        for (ix, root) in ARRAYS.iter().enumerate() {
            if let Some(client) = self.newest.get(root) {
                write_var_uint(out, ix as u64);
                write_var_uint(out, client.get());
            }
        }
    }
}

/// Makes the yrs document of a log. What the gate rejects is left out, as when it was received.
pub(super) fn from_log(
    guid: &FileId,
    client: ClientId,
    limits: GateLimits,
    log: &dyn LoggedUpdates,
) -> Result<yrs::Doc, String> {
    let mut doc = GatedDoc::new(guid, DocRole::Main, client, limits);
    for update in log.updates()? {
        doc.receive(&update, UpdateSource::Store).ok();
    }
    doc.health().map_err(|failure| failure.to_string())?;
    doc.doc.into_made()
}

fn write_places(out: &mut Vec<u8>, places: &ItemLists) {
    write_var_uint(out, places.n_structs);
    write_var_uint(out, places.table.len() as u64 - 1);
    for list in &places.table[1..] {
        write_var_uint(out, u64::from(list.depth));
        match &list.root {
            Some(name) => {
                write_var_uint(out, 1);
                write_string(out, name);
            }
            None => {
                write_var_uint(out, u64::from(list.is_ours) << 1 | list.shape.number() << 2);
                write_var_uint(out, u64::from(list.top));
            }
        }
    }
    write_var_uint(out, places.types.len() as u64);
    for (item, place) in &places.types {
        write_item(out, *item);
        write_var_uint(out, u64::from(*place));
    }
    write_var_uint(out, places.clients.len() as u64);
    for (id, client) in &places.clients {
        write_var_uint(out, id.get());
        write_client(out, client);
    }
}

fn write_client(out: &mut Vec<u8>, client: &ClientItems) {
    write_var_uint(out, u64::from(client.end));
    write_var_uint(out, u64::from(client.last_right.is_some()));
    if let Some(right) = client.last_right {
        write_item(out, right);
    }
    write_var_uint(out, client.spans.len() as u64);
    let mut last = 0;
    for (start, tag) in &client.spans {
        write_var_uint(out, u64::from(start - last));
        write_var_uint(out, u64::from(tag.bits()));
        last = *start;
    }
    write_var_uint(out, client.deleted.len() as u64);
    let mut last = 0;
    for (start, end) in &client.deleted {
        write_var_uint(out, u64::from(start - last));
        write_var_uint(out, u64::from(end - start));
        last = *end;
    }
}

fn write_item(out: &mut Vec<u8>, item: ItemId) {
    write_var_uint(out, item.client.get());
    write_var_uint(out, u64::from(item.clock));
}

fn read_places(reader: &mut Lib0Reader<'_>) -> Result<ItemLists, Lib0Error> {
    let mut places = ItemLists { n_structs: reader.var_uint()?, ..ItemLists::default() };
    for ix in 1..=reader.var_u32()? {
        let depth = u16::try_from(reader.var_uint()?).map_err(|_| Lib0Error::Number)?;
        let form = reader.var_uint()?;
        let list = if form == 1 {
            let name = reader.string()?;
            places.roots.insert(name.into(), ix);
            ItemList::of_root(DocRole::Main, name)
        } else {
            let shape = ListShape::of_number(form >> 2);
            ItemList::of_type(depth, form & 2 != 0, reader.var_u32()?, shape)
        };
        places.table.push(list);
    }
    for _ in 0..reader.var_uint()? {
        let item = read_item(reader)?;
        places.types.insert(item, reader.var_u32()?);
    }
    for _ in 0..reader.var_uint()? {
        let id = read_client(reader)?;
        let client = read_client_items(reader, places.table.len())?;
        places.n_deleted_ranges += client.deleted.len();
        places.clients.insert(id, client);
    }
    Ok(places)
}

fn read_client_items(
    reader: &mut Lib0Reader<'_>,
    n_lists: usize,
) -> Result<ClientItems, Lib0Error> {
    let mut client = ClientItems { end: reader.var_u32()?, ..ClientItems::default() };
    if reader.var_uint()? == 1 {
        client.last_right = Some(read_item(reader)?);
    }
    let mut at = 0_u32;
    for _ in 0..reader.var_uint()? {
        at = at.checked_add(reader.var_u32()?).ok_or(Lib0Error::Number)?;
        let tag = ListTag::from_bits(reader.var_u32()?);
        if tag.place() as usize >= n_lists {
            return Err(Lib0Error::Number);
        }
        client.spans.push((at, tag));
    }
    let (mut deleted, mut at) = (Vec::new(), 0_u32);
    for _ in 0..reader.var_uint()? {
        let start = at.checked_add(reader.var_u32()?).ok_or(Lib0Error::Number)?;
        at = start.checked_add(reader.var_u32()?).ok_or(Lib0Error::Number)?;
        deleted.push((start, at));
    }
    client.deleted = deleted.into_iter().collect();
    Ok(client)
}

fn read_item(reader: &mut Lib0Reader<'_>) -> Result<ItemId, Lib0Error> {
    Ok(ItemId::new(read_client(reader)?, reader.var_u32()?))
}

fn read_client(reader: &mut Lib0Reader<'_>) -> Result<ClientId, Lib0Error> {
    ClientId::new(reader.var_uint()?).map_err(|_| Lib0Error::Number)
}
