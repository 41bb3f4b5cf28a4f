//! Compares two states by their content.
//!
//! The same document can be written in many ways: a run of items as one struct or as several, the
//! keys of a map in any order. [`canonical`] removes such differences.

use yrs::Any;

use super::{
    GateRejection,
    limits::GateLimits,
    parse::{ClientRun, ParsedUpdate, StructKind, UpdateStruct, parse},
    rewrite::write_id,
    role::DocRole,
    update_scan::IdRange,
};
use crate::{
    id::ItemId,
    lib0::{AnyLimits, Lib0Reader, read_any, write_any, write_var_uint},
};

/// A state in canonical form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CanonicalState {
    deleted: Vec<IdRange>,
    /// For a document that drops deleted content, only the live structs.
    structs: Vec<u8>,
}

/// Brings a state into a form that depends only on its content.
pub(crate) fn canonical(role: DocRole, state: &[u8]) -> Result<CanonicalState, GateRejection> {
    let parsed = parse(state, &GateLimits::default(), false)?;
    let mut writer = CanonicalWriter { role, parsed: &parsed, out: Vec::new(), last: None };
    let mut runs: Vec<&ClientRun> = parsed.runs.iter().collect();
    runs.sort_unstable_by_key(|run| run.client);
    for run in runs {
        writer.last = None;
        for item in &parsed.structs[run.first..run.end] {
            writer.write(run, item)?;
        }
    }
    Ok(CanonicalState { structs: writer.out, deleted: parsed.deletes })
}

struct CanonicalWriter<'p, 'a> {
    role: DocRole,
    parsed: &'p ParsedUpdate<'a>,
    out: Vec<u8>,
    /// The last struct, if another may continue it.
    last: Option<(StructKind, ItemId, Option<ItemId>, bool)>,
}

impl CanonicalWriter<'_, '_> {
    fn write(&mut self, run: &ClientRun, item: &UpdateStruct<'_>) -> Result<(), GateRejection> {
        let id = ItemId::new(run.client, item.clock);
        let is_dead = self.is_dead(id);
        if is_dead && self.role == DocRole::Main {
            self.last = None;
            return Ok(());
        }
        let continues = self.last.is_some_and(|(kind, last, right, was_dead)| {
            let follows = item.kind == StructKind::Gc || item.origin == Some(last);
            kind == item.kind && follows && right == item.right && was_dead == is_dead
        });
        if !continues {
            self.out.push(0);
            write_id(&mut self.out, id);
            // Flags, neighbors, parent and key. Beside neighbors no key is written: the flag means
            // nothing there.
            let info = self.parsed.bytes[item.at];
            self.out.push(if info & 0xc0 == 0 { info } else { info & !0x20 });
            self.out.extend_from_slice(&self.parsed.bytes[item.at + 1..item.content_at]);
        }
        self.content(item)?;
        let can_grow = matches!(
            item.kind,
            StructKind::Gc | StructKind::Deleted | StructKind::String | StructKind::Any
        );
        let last = ItemId::new(run.client, item.clock + item.len - 1);
        self.last = can_grow.then_some((item.kind, last, item.right, is_dead));
        Ok(())
    }

    fn content(&mut self, item: &UpdateStruct<'_>) -> Result<(), GateRejection> {
        let malformed = |source| GateRejection::Malformed { at: item.content_at, source };
        let mut reader = Lib0Reader::at(self.parsed.bytes, item.content_at);
        let limits = AnyLimits { depth: usize::MAX, parts: usize::MAX };
        match item.kind {
            // The next struct and the state vector determine its end.
            StructKind::Gc | StructKind::Skip | StructKind::Deleted => {}
            StructKind::String => self.out.extend_from_slice(reader.buffer().map_err(malformed)?),
            StructKind::Any => {
                reader.var_uint().map_err(malformed)?;
                for _ in 0..item.len {
                    write_any(&mut self.out, &read_any(&mut reader, limits).map_err(malformed)?);
                }
            }
            StructKind::Doc => {
                self.out.extend_from_slice(reader.buffer().map_err(malformed)?);
                write_any(&mut self.out, &read_any(&mut reader, limits).map_err(malformed)?);
            }
            StructKind::Embed | StructKind::Format => {
                if item.kind == StructKind::Format {
                    self.out.extend_from_slice(reader.buffer().map_err(malformed)?);
                }
                let text = reader.string().map_err(malformed)?;
                let undecodable = |error: yrs::encoding::read::Error| GateRejection::Undecodable {
                    reason: error.to_string(),
                };
                write_any(&mut self.out, &Any::from_json(text).map_err(undecodable)?);
            }
            StructKind::Json | StructKind::Binary | StructKind::Type => {
                let bytes = &self.parsed.bytes[item.content_at..item.end];
                write_var_uint(&mut self.out, bytes.len() as u64);
                self.out.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn is_dead(&self, id: ItemId) -> bool {
        let deleted = &self.parsed.deletes;
        let after =
            deleted.partition_point(|range| (range.client, range.start) <= (id.client, id.clock));
        let before = after.checked_sub(1).map(|at| deleted[at]);
        before.is_some_and(|range| range.client == id.client && range.end() > id.clock)
    }
}
