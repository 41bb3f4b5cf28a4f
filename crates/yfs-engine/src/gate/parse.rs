//! Reading update v1: the part that needs no document.
//!
//! The parser walks the bytes once, without recursion, and allocates nothing but one [`Struct`] for
//! every struct that is really there. It accepts what Yjs and yrs write and have ever written; what
//! only an attacker would write is refused here.
//!
//! # Cost
//!
//! Linear in the bytes.

use super::{Refusal, json, limits::Limits, scan::IdRange};
use crate::{
    id::{ClientId, ItemId},
    lib0::{AnyLimits, Lib0Error, Reader, skip_any},
};

/// The kinds of structs, numbered as in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
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

/// Where an item says it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent<'a> {
    /// Where its origin, or else its right origin, is.
    Inherited,
    /// In a root.
    Root(&'a str),
    /// In the type that an item holds.
    Item(ItemId),
}

/// One struct of an update.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Struct<'a> {
    pub(crate) clock: u32,
    pub(crate) len: u32,
    pub(crate) kind: Kind,
    /// Under which key it is an entry of a map, as far as it says so itself.
    pub(crate) key: Option<&'a str>,
    pub(crate) parent: Parent<'a>,
    pub(crate) origin: Option<ItemId>,
    pub(crate) right: Option<ItemId>,
    /// Where in the update it begins.
    pub(crate) at: usize,
    /// Where in the update its content begins.
    pub(crate) content_at: usize,
    /// Where in the update it ends.
    pub(crate) end: usize,
}

/// The structs of one client.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) client: ClientId,
    /// Where its structs are in [`Parsed::structs`].
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// An update that was read.
#[derive(Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) runs: Vec<Run>,
    pub(crate) structs: Vec<Struct<'a>>,
    /// Sorted, without overlaps.
    pub(crate) deletes: Vec<IdRange>,
    /// Whether yrs would misread it as it stands, so that it must be written anew.
    pub(crate) rewrite: bool,
    /// Whether values are nested more deeply than is allowed in the roots that we read.
    pub(crate) is_deep: bool,
}

/// Reads an update.
///
/// # Errors
///
/// If it is malformed, or beyond the limits; those of a message are checked if `is_message`.
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    limits: &Limits,
    is_message: bool,
) -> Result<Parsed<'a>, Refusal> {
    let mut parser = Parser {
        reader: Reader::new(bytes),
        limits,
        is_message,
        n_values: 0,
        parsed: Parsed {
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

struct Parser<'a, 'l> {
    reader: Reader<'a>,
    limits: &'l Limits,
    is_message: bool,
    n_values: usize,
    parsed: Parsed<'a>,
}

impl<'a> Parser<'a, '_> {
    fn update(&mut self) -> Result<(), Refusal> {
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

    fn run(&mut self) -> Result<(), Refusal> {
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
                return Err(Refusal::TooLarge {
                    what: "a clock",
                    is,
                    limit: u64::from(self.limits.clock),
                });
            };
            if next.len == 0 {
                if matches!(next.kind, Kind::Gc | Kind::Skip) {
                    return Err(Refusal::Nonsense { what: "an empty struct", id });
                }
                // Old versions of yrs wrote items without content. They mean nothing.
                self.parsed.rewrite = true;
                continue;
            }
            clock = end;
            self.parsed.structs.push(next);
        }
        let end = self.parsed.structs.len();
        if end > first {
            self.parsed.runs.push(Run { client, first, end });
        } else {
            self.parsed.rewrite = true;
        }
        Ok(())
    }

    fn next_struct(&mut self, client: ClientId, clock: u32) -> Result<Struct<'a>, Refusal> {
        let at = self.reader.position();
        let info = self.byte()?;
        let mut found = Struct {
            clock,
            len: 0,
            kind: Kind::Gc,
            key: None,
            parent: Parent::Inherited,
            origin: None,
            right: None,
            at,
            content_at: at + 1,
            end: at,
        };
        if info == Kind::Gc as u8 || info == Kind::Skip as u8 {
            found.kind = if info == 0 { Kind::Gc } else { Kind::Skip };
            found.len = self.u32()?;
        } else {
            let id = ItemId::new(client, clock);
            found.kind = kind_of_item(info)
                .ok_or(Refusal::Nonsense { what: "a struct of an unknown kind", id })?;
            self.links(info, &mut found)?;
            found.content_at = self.reader.position();
            found.len = self.content(found.kind, id)?;
        }
        found.end = self.reader.position();
        Ok(found)
    }

    fn links(&mut self, info: u8, found: &mut Struct<'a>) -> Result<(), Refusal> {
        if info & 0x80 != 0 {
            found.origin = Some(self.item_id()?);
        }
        if info & 0x40 != 0 {
            found.right = Some(self.item_id()?);
        }
        if info & 0xc0 == 0 {
            found.parent = match self.u32()? {
                1 => Parent::Root(self.name("the name of a root")?),
                0 => Parent::Item(self.item_id()?),
                _ => return Err(self.malformed(Lib0Error::Number)),
            };
            if info & 0x20 != 0 {
                found.key = Some(self.name("a key")?);
            }
        }
        Ok(())
    }

    /// Reads past the content of an item and returns its length in clocks.
    fn content(&mut self, kind: Kind, id: ItemId) -> Result<u32, Refusal> {
        match kind {
            Kind::Deleted => self.u32(),
            Kind::Json => {
                // yrs reads one text too many.
                self.parsed.rewrite = true;
                let n_texts = self.count(1)?;
                for _ in 0..n_texts {
                    self.json(id)?;
                }
                self.clocks(n_texts)
            }
            Kind::Binary => {
                self.reader.buffer().map_err(|source| self.malformed(source))?;
                Ok(1)
            }
            Kind::String => {
                let text = self.reader.string().map_err(|source| self.malformed(source))?;
                self.clocks(utf16_len(text))
            }
            Kind::Embed => self.json(id).map(|()| 1),
            Kind::Format => {
                self.name("a mark")?;
                self.json(id).map(|()| 1)
            }
            Kind::Type => {
                match self.byte()? {
                    0 | 1 | 2 | 4 | 6 => {}
                    3 => {
                        self.name("the name of an element")?;
                    }
                    // XML hooks and weak links, which yrs cannot read, are among them.
                    _ => return Err(Refusal::Nonsense { what: "an unknown type", id }),
                }
                Ok(1)
            }
            Kind::Any => {
                let n_values = self.count(1)?;
                for _ in 0..n_values {
                    self.skip_any(id)?;
                }
                self.clocks(n_values)
            }
            Kind::Doc => {
                self.name("the guid of a document")?;
                self.skip_any(id)?;
                Ok(1)
            }
            Kind::Gc | Kind::Skip => Ok(0),
        }
    }

    fn skip_any(&mut self, id: ItemId) -> Result<(), Refusal> {
        let limit = if self.is_message { self.limits.message_values } else { usize::MAX };
        let at = self.reader.position();
        let mut limits = AnyLimits { depth: self.limits.value_depth, parts: limit - self.n_values };
        let mut skipped = skip_any(&mut self.reader, limits);
        if skipped == Err(Lib0Error::Depth) {
            self.parsed.is_deep = true;
            self.reader = Reader::at(self.parsed.bytes, at);
            limits.depth = self.limits.carried_depth;
            skipped = skip_any(&mut self.reader, limits);
        }
        self.n_values += skipped.map_err(|error| match error {
            Lib0Error::Depth => Refusal::TooDeep { id },
            Lib0Error::Parts => Refusal::TooLarge {
                what: "the number of values",
                is: limit as u64 + 1,
                limit: limit as u64,
            },
            source => self.malformed(source),
        })?;
        Ok(())
    }

    fn json(&mut self, id: ItemId) -> Result<(), Refusal> {
        let text = self.reader.string().map_err(|source| self.malformed(source))?;
        let depth = json::depth(text);
        if depth > self.limits.json_depth {
            return Err(Refusal::TooDeep { id });
        }
        self.parsed.is_deep |= depth > self.limits.value_depth;
        self.parsed.rewrite |= json::has_surrogates(text);
        Ok(())
    }

    fn deletes(&mut self) -> Result<(), Refusal> {
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
        // Of two groups of one client yrs would forget the first.
        clients.sort_unstable();
        self.parsed.rewrite |= clients.windows(2).any(|pair| pair[0] == pair[1]);
        self.parsed.rewrite |= normalise(&mut deletes);
        self.parsed.deletes = deletes;
        Ok(())
    }

    /// Every implementation writes the structs of a client in one run.
    fn check_clients_differ(&self) -> Result<(), Refusal> {
        let runs = &self.parsed.runs;
        if runs.windows(2).all(|pair| pair[0].client > pair[1].client) {
            return Ok(());
        }
        let mut clients: Vec<ClientId> = runs.iter().map(|run| run.client).collect();
        clients.sort_unstable();
        match clients.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let id = ItemId::new(pair[0], 0);
                Err(Refusal::Nonsense { what: "a second run of a client", id })
            }
            None => Ok(()),
        }
    }

    /// Reads a count of things that take at least `least` bytes each.
    fn count(&mut self, least: usize) -> Result<usize, Refusal> {
        let count = self.reader.var_uint().map_err(|source| self.malformed(source))?;
        if count > (self.reader.remaining() / least) as u64 {
            return Err(self.malformed(Lib0Error::End));
        }
        Ok(count as usize)
    }

    fn clocks(&self, count: usize) -> Result<u32, Refusal> {
        u32::try_from(count).map_err(|_| self.malformed(Lib0Error::Number))
    }

    fn client(&mut self) -> Result<ClientId, Refusal> {
        let number = self.reader.var_uint().map_err(|source| self.malformed(source))?;
        ClientId::new(number).map_err(|_| self.malformed(Lib0Error::Number))
    }

    fn item_id(&mut self) -> Result<ItemId, Refusal> {
        Ok(ItemId::new(self.client()?, self.u32()?))
    }

    fn name(&mut self, what: &'static str) -> Result<&'a str, Refusal> {
        let name = self.reader.string().map_err(|source| self.malformed(source))?;
        check(what, name.len(), self.limits.name_bytes)?;
        Ok(name)
    }

    fn byte(&mut self) -> Result<u8, Refusal> {
        self.reader.u8().map_err(|source| self.malformed(source))
    }

    fn u32(&mut self) -> Result<u32, Refusal> {
        self.reader.var_u32().map_err(|source| self.malformed(source))
    }

    fn malformed(&self, source: Lib0Error) -> Refusal {
        Refusal::Malformed { at: self.reader.position(), source }
    }
}

fn kind_of_item(info: u8) -> Option<Kind> {
    if info & 0x10 != 0 {
        return None;
    }
    Some(match info & 0x0f {
        1 => Kind::Deleted,
        2 => Kind::Json,
        3 => Kind::Binary,
        4 => Kind::String,
        5 => Kind::Embed,
        6 => Kind::Format,
        7 => Kind::Type,
        8 => Kind::Any,
        9 => Kind::Doc,
        _ => return None,
    })
}

pub(crate) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

fn check(what: &'static str, is: usize, limit: usize) -> Result<(), Refusal> {
    if is <= limit {
        Ok(())
    } else {
        Err(Refusal::TooLarge { what, is: is as u64, limit: limit as u64 })
    }
}

/// Sorts ranges and joins those that touch. Tells whether they were out of order within a client.
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
