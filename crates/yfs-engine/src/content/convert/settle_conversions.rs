//! Settlements: merges the changes of both roots, and writes the result to both.

use yrs::{
    GetString as _, IdSet, Map as _, ReadTxn, Snapshot, Update, WriteTxn as _,
    updates::decoder::Decode as _,
};

use super::{
    super::{
        ContentDoc, ContentError, RunAuthor, TEXT, Version,
        diff::TextSplice,
        edit::applied,
        item_spans::spans_of,
        rebase::{RebaseOp, RunAlignment, TextLength, rebase_all},
        redact::{to_ranges, to_set, up_to},
        rich,
    },
    CONVERSIONS, ConversionSettlement, MARK,
    align_items::{SharedItemRange, beside, beside_at},
    is_rich,
    late::{ancestors, hidden_at, holds},
    merged, with_deleted,
};
use crate::{
    actor::{Actor, ActorKind},
    gate::{GatedDoc, IdRange, UpdateSource},
    id::{ClientId, ItemId},
    kind::{ContentRoot, DEFAULT_PROFILE, SchemaProfile},
    lib0::{write_string, write_var_uint},
    rich::{InsertParent, LiveChild, NodeInserter, ROOT, live},
    time::Millis,
};

/// A version that must change whenever the same state is settled by other items.
const VERSION: &str = "yfs settlement 3";

/// The text that a settlement is to write.
pub(super) struct PendingConversion {
    pub(super) text: String,
    /// The parts of it that the plain text already has as the original typists' items: offset in
    /// the file, offset in the plain text, and length in bytes.
    kept: Vec<(usize, usize, usize)>,
}

/// A root's text at the last settlement, its text now, and the alignment of the two.
struct RootChange {
    base: String,
    now: String,
    runs: RunAlignment,
    splices: Vec<TextSplice>,
}

impl ContentDoc {
    /// Merges late work, and makes the root current that the name implies.
    pub(super) fn settle(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        let PendingConversion { text, kept } = match self.pending()? {
            Some(pending) => pending,
            None => PendingConversion { text: self.text(), kept: Vec::new() },
        };
        let mut clone = self.clone_to_settle()?;
        let mut updates = Vec::new();
        let author = by_rule();
        if clone.gate.has_root(TEXT) || !is_rich(self.kind) {
            updates.extend(clone.put_text(&text, &kept, &author)?);
        }
        if clone.gate.has_root(ROOT) || is_rich(self.kind) {
            let profile = match self.kind {
                ContentRoot::Rich(profile) => profile,
                ContentRoot::Text => DEFAULT_PROFILE,
            };
            updates.extend(clone.write_rich(&text, None, profile, &author)?.update);
        }
        self.adopt(clone, updates).map(Some)
    }

    /// Replaces rich text by equal rich text of a profile.
    pub(super) fn rebuild(
        &mut self,
        text: &str,
        profile: SchemaProfile,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let mut clone = self.clone_to_settle()?;
        let client = clone.client;
        let mut updates = Vec::new();
        if clone.gate.has_root(TEXT) {
            updates.extend(clone.put_text(text, &[], &by_rule())?);
        }
        let (document, memory) = rich::file_parts(text, profile);
        let clock = clone.gate.clock_of(client);
        let (_, update) = clone.gate.edit(|txn| {
            let there = live(txn, profile);
            let mut inserter = NodeInserter::new(client, clock);
            let right = there.first().and_then(|kid| kid.ids().next());
            inserter.insert(InsertParent::Root, None, right, &document.children);
            let ids = there.iter().flat_map(LiveChild::ids);
            let gone = ids.map(|id| IdRange { client: id.client, start: id.clock, len: 1 });
            let update = Update::decode_v1(&inserter.finish(gone.collect()));
            txn.apply_update(update.expect("we built a valid update")).expect("it is valid");
            rich::RichMemory::read(txn).edit_to(&memory).make(txn);
        });
        clone.forget();
        updates.extend(update);
        self.adopt(clone, updates).map(Some)
    }

    /// Records the settlement of a copy, and applies it here.
    fn adopt(
        &mut self,
        mut clone: Self,
        mut updates: Vec<Vec<u8>>,
    ) -> Result<Vec<u8>, ContentError> {
        clone.gate.health()?;
        let from = self.version();
        let settlement = ConversionSettlement {
            client: clone.client,
            number: self.last_settlement().map_or(0, |last| last.number) + 1,
            is_to_rich: is_rich(self.kind),
            len: clone.gate.clock_of(clone.client),
            gone: clone.version().snapshot().delete_set.diff(&from.snapshot().delete_set),
            from,
            is_note: false,
        };
        let (_, update) = clone.gate.edit(|txn| {
            let map = txn.get_or_insert_map(CONVERSIONS);
            map.insert(txn, settlement.client.to_string(), settlement.value());
        });
        clone.gate.health()?;
        updates.extend(update);
        let update = merged(updates)?.expect("a settlement is recorded");
        self.receive(&update, UpdateSource::Store)?;
        Ok(update)
    }

    /// Returns a copy that writes under the client id that stands for this state.
    fn clone_to_settle(&self) -> Result<Self, ContentError> {
        let mut bytes = Vec::new();
        write_string(&mut bytes, VERSION);
        write_string(&mut bytes, self.id.as_str());
        let kind = match self.kind {
            ContentRoot::Text => 0,
            ContentRoot::Rich(SchemaProfile::CommonMark) => 1,
            ContentRoot::Rich(SchemaProfile::Gfm) => 2,
        };
        write_var_uint(&mut bytes, kind);
        bytes.extend(self.version().encode_in_order());
        let mut clone = self.clone_for(id_of(&bytes))?;
        clone.by_rule = true;
        Ok(clone)
    }

    /// Writes another text into the plain text root, whichever root is current.
    fn put_text(
        &mut self,
        text: &str,
        kept: &[(usize, usize, usize)],
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let current = self.plain_text();
        let kept = kept.iter().map(|&(new, old, len)| SharedItemRange { old, new, len });
        let splices = beside_at(&current, text, kept).splices();
        let (mut ops, mut at) = (Vec::new(), TextLength::default());
        for splice in splices {
            at += TextLength::of(&current[at.bytes..splice.old.start]);
            ops.push(RebaseOp {
                at,
                delete: TextLength { units: splice.delete, bytes: splice.old.len() },
                insert: splice.new,
            });
        }
        let kind = std::mem::replace(&mut self.kind, ContentRoot::Text);
        let update = self.apply(&current, text, &ops, author);
        self.kind = kind;
        update
    }

    /// Returns the text of the file with all late work merged; `None` if there is none.
    pub(super) fn pending(&self) -> Result<Option<PendingConversion>, ContentError> {
        let Some(last) = self.last_settlement() else { return Ok(None) };
        let rivals = self.rivals();
        let after = self.after(last);
        let now = self.without_rivals(&rivals, &after);
        let orphans = hidden_at(&now, self.orphans(&after, &rivals));
        let mut then = self.fork_at(&after)?;
        let is_stale_same = || {
            let base = then.read(|txn| root_text(txn, !last.is_to_rich));
            base == self.gate.read(|txn| root_text(txn, !last.is_to_rich))
        };
        if rivals.is_empty() && orphans.is_empty() && is_stale_same() {
            return Ok(None);
        }
        let mut here = self.fork_at(&now)?;
        let late = change_of(&mut then, &mut here, !last.is_to_rich);
        let current = change_of(&mut then, &mut here, last.is_to_rich);
        let runs = match late.base == current.base {
            true => current.runs,
            false => RunAlignment::of_texts(&late.base, &current.now),
        };
        let (ops, _) = rebase_all(&runs, &late.splices, &late.base, &current.now, &late.now);
        let mut merged = applied(&current.now, &late.now, &ops);
        let mut kept = Vec::new();
        if orphans.is_empty() && rivals.is_empty() {
            kept = match last.is_to_rich {
                true => inserted_at(&ops),
                false => kept_around(&ops, current.now.len()),
            };
        } else {
            merged = self.with_orphans(merged, &orphans, &rivals)?;
        }
        Ok(Some(PendingConversion { text: merged, kept }))
    }

    /// Returns the document without the rivals' writes and deletions on top of a version.
    fn without_rivals(&self, rivals: &[ConversionSettlement], after: &Version) -> Version {
        let now = self.version();
        let mut deleted = now.snapshot().delete_set.clone();
        for rival in rivals {
            deleted.diff_with(&rival.gone);
        }
        deleted.merge_with(after.snapshot().delete_set.clone());
        let known = up_to(&deleted.diff(&after.snapshot().delete_set), after);
        deleted.diff_with(&self.lost_to(rivals, &known));
        self.hide_items_of(rivals, &mut deleted);
        with_deleted(&now, deleted)
    }

    /// Deletes all items that some settlements made.
    fn hide_items_of(&self, settlements: &[ConversionSettlement], deleted: &mut IdSet) {
        for settlement in settlements {
            let client = yrs::ClientID::new(settlement.client.get());
            deleted.range_mut(client).insert(0..self.gate.clock_of(settlement.client));
        }
    }

    /// Returns each state from which the next settlement may have to begin: the work of people on
    /// top of one settlement and those that it knew of, or of none. A peer that has not sent its
    /// settlement yet may have built on any of them.
    pub(in crate::content) fn states_to_settle_from(&self) -> Vec<Version> {
        let settlements: Vec<&ConversionSettlement> =
            self.settlements().iter().filter(|it| !it.is_note).collect();
        let none = Version::noted(Snapshot::default());
        let mut states = vec![self.with_work_of_people(&none, |_| false)];
        for settlement in &settlements {
            let is_known = |other: &ConversionSettlement| {
                other.client == settlement.client || other.is_known_to(&settlement.from)
            };
            states.push(self.with_work_of_people(&self.after(settlement), is_known));
        }
        states
    }

    /// Returns what the document would be without the settlements that a version does not know of,
    /// work in blocks that only these deleted included.
    fn with_work_of_people(
        &self,
        after: &Version,
        is_known: impl Fn(&ConversionSettlement) -> bool,
    ) -> Version {
        let others = self.settlements().iter().filter(|it| !it.is_note && !is_known(it));
        let others: Vec<ConversionSettlement> = others.cloned().collect();
        let now = self.version();
        let mut deleted = now.snapshot().delete_set.clone();
        others.iter().for_each(|it| deleted.diff_with(&it.gone));
        deleted.merge_with(after.snapshot().delete_set.clone());
        let new = deleted.diff(&after.snapshot().delete_set);
        deleted.diff_with(&self.lost_to(&others, &new));
        self.hide_items_of(&others, &mut deleted);
        with_deleted(&now, deleted)
    }
}

impl ContentDoc {
    /// Returns the deleted items that Yjs deleted because rivals deleted their parent without
    /// knowing them.
    fn lost_to(&self, rivals: &[ConversionSettlement], lost: &IdSet) -> IdSet {
        if rivals.is_empty() || lost.is_empty() {
            return IdSet::new();
        }
        let mut parts = self.gate.parts_in(&to_ranges(lost), &[ROOT]);
        self.gate.read(|txn| {
            parts.retain(|part| {
                let around = ancestors(txn, ItemId::new(part.client, part.start));
                around.iter().any(|id| rivals.iter().any(|rival| holds(&rival.gone, *id)))
            });
        });
        to_set(&parts)
    }
}

/// Returns where changes insert text: the offset in the result, the offset in the inserted text,
/// and the length.
fn inserted_at(ops: &[RebaseOp]) -> Vec<(usize, usize, usize)> {
    let mut grown = 0_isize;
    let mut inserted = Vec::with_capacity(ops.len());
    for op in ops {
        let at = op.at.bytes.strict_add_signed(grown);
        inserted.push((at, op.insert.start, op.insert.len()));
        grown += op.insert.len() as isize - op.delete.bytes as isize;
    }
    inserted
}

/// Returns the parts of a text that changes keep: the offset in the result, the old offset, and the
/// length.
fn kept_around(ops: &[RebaseOp], len: usize) -> Vec<(usize, usize, usize)> {
    let (mut new, mut old) = (0, 0);
    let mut kept = Vec::with_capacity(ops.len() + 1);
    for op in ops {
        let n_kept = op.at.bytes - old;
        kept.push((new, old, n_kept));
        new += n_kept + op.insert.len();
        old = op.at.bytes + op.delete.bytes;
    }
    kept.push((new, old, len - old));
    kept.retain(|(.., len)| *len > 0);
    kept
}

/// Compares a root at a version with the root now.
fn change_of(then: &mut GatedDoc, here: &mut GatedDoc, is_rich: bool) -> RootChange {
    let ((base, old), (now, new)) = (spans_of(then, is_rich), spans_of(here, is_rich));
    let runs = beside(&base, &old, &now, &new);
    let splices = runs.splices();
    RootChange { base, now, runs, splices }
}

/// Returns one of the roots as a file.
pub(super) fn root_text(txn: &impl ReadTxn, is_rich: bool) -> String {
    match is_rich {
        false => txn.get_text(TEXT).map(|it| it.get_string(txn)).unwrap_or_default(),
        true => rich::read_file(txn, rich::profile_of(txn)).text,
    }
}

/// Returns the author of a settlement, which follows a rule and so has none of its own.
fn by_rule() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::System, "yfs"), Millis(0))
}

/// Returns the client id that stands for some bytes.
fn id_of(bytes: &[u8]) -> ClientId {
    let hash = blake3::hash(bytes);
    let hash = u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 bytes"));
    ClientId::new(MARK | (hash >> 12)).expect("53 bits")
}
