//! Parses update v1, as far as that needs no document.
//!
//! The parser walks the bytes once, without recursion, and allocates nothing but one
//! [`UpdateStruct`] for every struct that is present. It accepts all output of present and past
//! versions of Yjs and yrs; input that only an attacker would write is rejected here.
//!
//! # Cost
//!
//! Linear in the bytes.

use super::{GateRejection, json, limits::GateLimits, update_scan::IdRange};
use crate::{
    id::{ClientId, ItemId},
    lib0::{AnyLimits, Lib0Error, Lib0Reader, skip_any},
};

/// The kinds of structs, numbered as in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum StructKind {
    Gc = 0,
    Deleted = 1,
    Json = 2,
    Binary = 3,
    String = 4,
    Embed = 5,
    Format = 6,
    Type = 7,
    Any = 8,
    Doc = 9,
    Skip = 10,
}

/// The parent that an item states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemParent<'a> {
    /// The parent of its origin, or else of its right origin.
    Inherited,
    /// A root.
    Root(&'a str),
    /// The type that an item holds.
    Item(ItemId),
}

/// One struct of an update.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateStruct<'a> {
    pub(crate) clock: u32,
    pub(crate) len: u32,
    pub(crate) kind: StructKind,
    /// The key of an entry of a map, if the struct states it.
    pub(crate) key: Option<&'a str>,
    pub(crate) parent: ItemParent<'a>,
    pub(crate) origin: Option<ItemId>,
    pub(crate) right: Option<ItemId>,
    /// Its start in the update.
    pub(crate) at: usize,
    /// The start of its content in the update.
    pub(crate) content_at: usize,
    /// Its end in the update.
    pub(crate) end: usize,
}

/// The structs of one client.
#[derive(Debug, Clone)]
pub(crate) struct ClientRun {
    pub(crate) client: ClientId,
    /// The index of its first struct in [`ParsedUpdate::structs`].
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// A parsed update.
#[derive(Debug)]
pub(crate) struct ParsedUpdate<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) runs: Vec<ClientRun>,
    pub(crate) structs: Vec<UpdateStruct<'a>>,
    /// Sorted and disjoint.
    pub(crate) deletes: Vec<IdRange>,
    /// Whether yrs would misread it unchanged, so that it must be rewritten.
    pub(crate) rewrite: bool,
    /// Whether values are nested more deeply than is allowed in the roots that the engine reads.
    pub(crate) is_deep: bool,
}

/// Parses an update.
///
/// # Errors
///
/// If it is malformed, or beyond the limits; those of a message are checked if `is_message`.
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    limits: &GateLimits,
    is_message: bool,
) -> Result<ParsedUpdate<'a>, GateRejection> {
    let mut parser = UpdateParser {
        reader: Lib0Reader::new(bytes),
        limits,
        is_message,
        n_values: 0,
        parsed: ParsedUpdate {
            bytes,
            runs: Vec::new(),
            structs: Vec::new(),
            deletes: Vec::new(),
            rewrite: false,
            is_deep: false,
        },
    };
    if is_message {
        check("the message", bytes.len(), limits.message_bytes)?;
    }
    parser.update()?;
    Ok(parser.parsed)
}

struct UpdateParser<'a, 'l> {
    reader: Lib0Reader<'a>,
    limits: &'l GateLimits,
    is_message: bool,
    n_values: usize,
    parsed: ParsedUpdate<'a>,
}

impl<'a> UpdateParser<'a, '_> {
    fn update(&mut self) -> Result<(), GateRejection> {
        let n_clients = self.count(4)?;
        if self.is_message {
            check("the number of clients", n_clients, self.limits.message_clients)?;
        }
        for _ in 0..n_clients {
            self.run()?;
        }
        self.check_clients_differ()?;
        self.deletes()?;
        if !self.reader.is_empty() {
            return Err(self.malformed(Lib0Error::Parts));
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), GateRejection> {
        let n_structs = self.count(2)?;
        let client = self.client()?;
        let mut clock = self.u32()?;
        let first = self.parsed.structs.len();
        if n_structs == 0 {
            self.parsed.rewrite = true;
        }
        if self.is_message {
            let all = first + n_structs;
            check("the number of structs", all, self.limits.message_structs)?;
        }
        self.parsed.structs.reserve(n_structs);
        for _ in 0..n_structs {
            let next = self.next_struct(client, clock)?;
            let id = ItemId::new(client, clock);
            let end = clock.checked_add(next.len).filter(|end| *end < self.limits.clock);
            let Some(end) = end else {
                let is = u64::from(clock) + u64::from(next.len);
                return Err(GateRejection::TooLarge {
                    what: "a clock",
                    is,
                    limit: u64::from(self.limits.clock),
                });
            };
            if next.len == 0 {
                if matches!(next.kind, StructKind::Gc | StructKind::Skip) {
                    return Err(GateRejection::Nonsense { what: "an empty struct", id });
                }
                // Old versions of yrs wrote items without content. They are ignored.
                self.parsed.rewrite = true;
                continue;
            }
            clock = end;
            self.parsed.structs.push(next);
        }
        let end = self.parsed.structs.len();
        if end > first {
            self.parsed.runs.push(ClientRun { client, first, end });
        } else {
            self.parsed.rewrite = true;
        }
        Ok(())
    }

    fn next_struct(
        &mut self,
        client: ClientId,
        clock: u32,
    ) -> Result<UpdateStruct<'a>, GateRejection> {
        let at = self.reader.position();
        let info = self.byte()?;
        let mut found = UpdateStruct {
            clock,
            len: 0,
            kind: StructKind::Gc,
            key: None,
            parent: ItemParent::Inherited,
            origin: None,
            right: None,
            at,
            content_at: at + 1,
            end: at,
        };
        if info == StructKind::Gc as u8 || info == StructKind::Skip as u8 {
            found.kind = if info == 0 { StructKind::Gc } else { StructKind::Skip };
            found.len = self.u32()?;
        } else {
            let id = ItemId::new(client, clock);
            found.kind = kind_of_item(info)
                .ok_or(GateRejection::Nonsense { what: "a struct of an unknown kind", id })?;
            self.links(info, &mut found)?;
            found.content_at = self.reader.position();
            found.len = self.content(found.kind, id)?;
        }
        found.end = self.reader.position();
        Ok(found)
    }

    fn links(&mut self, info: u8, found: &mut UpdateStruct<'a>) -> Result<(), GateRejection> {
        if info & 0x80 != 0 {
            found.origin = Some(self.item_id()?);
        }
        if info & 0x40 != 0 {
            found.right = Some(self.item_id()?);
        }
        if info & 0xc0 == 0 {
            found.parent = match self.u32()? {
                1 => ItemParent::Root(self.name("the name of a root")?),
                0 => ItemParent::Item(self.item_id()?),
                _ => return Err(self.malformed(Lib0Error::Number)),
            };
            if info & 0x20 != 0 {
                found.key = Some(self.name("a key")?);
            }
        }
        Ok(())
    }

    /// Skips the content of an item and returns its length in clocks.
    fn content(&mut self, kind: StructKind, id: ItemId) -> Result<u32, GateRejection> {
        match kind {
            StructKind::Deleted => self.u32(),
            StructKind::Json => {
                // yrs reads one text too many.
                self.parsed.rewrite = true;
                let n_texts = self.count(1)?;
                for _ in 0..n_texts {
                    self.json(id)?;
                }
                self.clocks(n_texts)
            }
            StructKind::Binary => {
                self.reader.buffer().map_err(|source| self.malformed(source))?;
                Ok(1)
            }
            StructKind::String => {
                let text = self.reader.string().map_err(|source| self.malformed(source))?;
                self.clocks(utf16_len(text))
            }
            StructKind::Embed => self.json(id).map(|()| 1),
            StructKind::Format => {
                self.name("a mark")?;
                self.json(id).map(|()| 1)
            }
            StructKind::Type => {
                match self.byte()? {
                    0 | 1 | 2 | 4 | 6 => {}
                    3 => {
                        self.name("the name of an element")?;
                    }
                    // XML hooks and weak links, which yrs cannot read, are among them.
                    _ => return Err(GateRejection::Nonsense { what: "an unknown type", id }),
                }
                Ok(1)
            }
            StructKind::Any => {
                let n_values = self.count(1)?;
                for _ in 0..n_values {
                    self.skip_any(id)?;
                }
                self.clocks(n_values)
            }
            StructKind::Doc => {
                self.name("the guid of a document")?;
                self.skip_any(id)?;
                Ok(1)
            }
            StructKind::Gc | StructKind::Skip => Ok(0),
        }
    }

    fn skip_any(&mut self, id: ItemId) -> Result<(), GateRejection> {
        let limit = if self.is_message { self.limits.message_values } else { usize::MAX };
        let at = self.reader.position();
        let mut limits = AnyLimits { depth: self.limits.value_depth, parts: limit - self.n_values };
        let mut skipped = skip_any(&mut self.reader, limits);
        if skipped == Err(Lib0Error::Depth) {
            self.parsed.is_deep = true;
            self.reader = Lib0Reader::at(self.parsed.bytes, at);
            limits.depth = self.limits.carried_depth;
            skipped = skip_any(&mut self.reader, limits);
        }
        self.n_values += skipped.map_err(|error| match error {
            Lib0Error::Depth => GateRejection::TooDeep { id },
            Lib0Error::Parts => GateRejection::TooLarge {
                what: "the number of values",
                is: limit as u64 + 1,
                limit: limit as u64,
            },
            source => self.malformed(source),
        })?;
        Ok(())
    }

    fn json(&mut self, id: ItemId) -> Result<(), GateRejection> {
        let text = self.reader.string().map_err(|source| self.malformed(source))?;
        let depth = json::depth(text);
        if depth > self.limits.json_depth {
            return Err(GateRejection::TooDeep { id });
        }
        self.parsed.is_deep |= depth > self.limits.value_depth;
        self.parsed.rewrite |= json::has_surrogates(text);
        Ok(())
    }

    fn deletes(&mut self) -> Result<(), GateRejection> {
        let n_clients = self.count(3)?;
        let mut deletes = Vec::new();
        let mut clients = Vec::with_capacity(n_clients);
        for _ in 0..n_clients {
            let client = self.client()?;
            clients.push(client);
            let n_ranges = self.count(2)?;
            self.parsed.rewrite |= n_ranges == 0;
            for _ in 0..n_ranges {
                let (start, len) = (self.u32()?, self.u32()?);
                let end = u64::from(start) + u64::from(len);
                check("a clock", end as usize, self.limits.clock as usize)?;
                if len > 0 {
                    deletes.push(IdRange { client, start, len });
                } else {
                    self.parsed.rewrite = true;
                }
            }
            if self.is_message {
                let limit = self.limits.message_deletes;
                check("the number of deleted ranges", deletes.len(), limit)?;
            }
        }
        // Of two groups of one client yrs would drop the first.
        clients.sort_unstable();
        self.parsed.rewrite |= clients.windows(2).any(|pair| pair[0] == pair[1]);
        self.parsed.rewrite |= normalise(&mut deletes);
        self.parsed.deletes = deletes;
        Ok(())
    }

    /// Every implementation writes the structs of a client in one run.
    fn check_clients_differ(&self) -> Result<(), GateRejection> {
        let runs = &self.parsed.runs;
        if runs.windows(2).all(|pair| pair[0].client > pair[1].client) {
            return Ok(());
        }
        let mut clients: Vec<ClientId> = runs.iter().map(|run| run.client).collect();
        clients.sort_unstable();
        match clients.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let id = ItemId::new(pair[0], 0);
                Err(GateRejection::Nonsense { what: "a second run of a client", id })
            }
            None => Ok(()),
        }
    }

    /// Reads a count of entries of at least `least` bytes each.
    fn count(&mut self, least: usize) -> Result<usize, GateRejection> {
        let count = self.reader.var_uint().map_err(|source| self.malformed(source))?;
        if count > (self.reader.remaining() / least) as u64 {
            return Err(self.malformed(Lib0Error::End));
        }
        Ok(count as usize)
    }

    fn clocks(&self, count: usize) -> Result<u32, GateRejection> {
        u32::try_from(count).map_err(|_| self.malformed(Lib0Error::Number))
    }

    fn client(&mut self) -> Result<ClientId, GateRejection> {
        let number = self.reader.var_uint().map_err(|source| self.malformed(source))?;
        ClientId::new(number).map_err(|_| self.malformed(Lib0Error::Number))
    }

    fn item_id(&mut self) -> Result<ItemId, GateRejection> {
        Ok(ItemId::new(self.client()?, self.u32()?))
    }

    fn name(&mut self, what: &'static str) -> Result<&'a str, GateRejection> {
        let name = self.reader.string().map_err(|source| self.malformed(source))?;
        check(what, name.len(), self.limits.name_bytes)?;
        Ok(name)
    }

    fn byte(&mut self) -> Result<u8, GateRejection> {
        self.reader.u8().map_err(|source| self.malformed(source))
    }

    fn u32(&mut self) -> Result<u32, GateRejection> {
        self.reader.var_u32().map_err(|source| self.malformed(source))
    }

    fn malformed(&self, source: Lib0Error) -> GateRejection {
        GateRejection::Malformed { at: self.reader.position(), source }
    }
}

fn kind_of_item(info: u8) -> Option<StructKind> {
    if info & 0x10 != 0 {
        return None;
    }
    Some(match info & 0x0f {
        1 => StructKind::Deleted,
        2 => StructKind::Json,
        3 => StructKind::Binary,
        4 => StructKind::String,
        5 => StructKind::Embed,
        6 => StructKind::Format,
        7 => StructKind::Type,
        8 => StructKind::Any,
        9 => StructKind::Doc,
        _ => return None,
    })
}

pub(crate) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

fn check(what: &'static str, is: usize, limit: usize) -> Result<(), GateRejection> {
    if is <= limit {
        Ok(())
    } else {
        Err(GateRejection::TooLarge { what, is: is as u64, limit: limit as u64 })
    }
}

/// Sorts ranges and joins those that touch. Reports whether they were out of order within a client.
pub(crate) fn normalise(ranges: &mut Vec<IdRange>) -> bool {
    let in_order = ranges
        .windows(2)
        .all(|pair| pair[0].client != pair[1].client || pair[0].end() < pair[1].start);
    ranges.sort_unstable();
    ranges.dedup_by(|next, previous| {
        let touch = next.client == previous.client && next.start <= previous.end();
        if touch {
            previous.len = previous.end().max(next.end()) - previous.start;
        }
        touch
    });
    !in_order
}
