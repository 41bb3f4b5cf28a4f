//! Writes a settlement: in a copy of the document, under the client id that its state determines.
//!
//! Two peers in the same state must write the same bytes. So a settlement has no author, no time
//! and no random number.

use yrs::{Map as _, ReadTxn as _, Update, WriteTxn as _, updates::decoder::Decode as _};

use super::{
    CONVERSIONS, RootComparison,
    align_items::{SharedItemRange, beside_at},
    join_updates,
    root_comparison::MergedText,
    settlement::{ConversionSettlement, is_rich},
};
use crate::{
    content::{
        ContentError, TEXT,
        diff::{TextSplice, utf16_len},
        plain::PlainBody,
        rebase::{RebaseOp, TextLength},
        replica::ContentReplica,
        rich::{self, RichBody, RichCache, RichWriter},
        rule_client::rule_client,
        typing_runs::{TypingRuns, slide, typing_runs},
        writer::{BodyWriter, EditOrigin},
    },
    gate::IdRange,
    id::ClientId,
    kind::{ContentRoot, DEFAULT_PROFILE, SchemaProfile},
    lib0::{write_string, write_var_uint},
    rich::{InsertParent, LiveChild, NodeInserter, live},
};

/// A version that must change whenever the same state is settled by other items.
const VERSION: &str = "yfs settlement 4";

/// The copy of a document in which a settlement is written.
struct SettlementWriter {
    replica: ContentReplica,
    rich: RichCache,
    updates: Vec<Vec<u8>>,
}

/// Writes a merged text to the roots of a document, makes the wanted root current, and returns the
/// update with the record. The document itself does not change.
pub(in crate::content) fn write_settlement(
    comparison: RootComparison<'_>,
    wanted: ContentRoot,
    merged: &MergedText,
) -> Result<Vec<u8>, ContentError> {
    let mut writer = SettlementWriter::begin(comparison.replica, wanted)?;
    if writer.replica.has_text() || !is_rich(wanted) {
        writer.write_plain(&merged.text, &merged.kept)?;
    }
    if writer.replica.has_rich() || is_rich(wanted) {
        let profile = match wanted {
            ContentRoot::Rich(profile) => profile,
            ContentRoot::Text => DEFAULT_PROFILE,
        };
        writer.write_rich(&merged.text, profile)?;
    }
    writer.finish(comparison, wanted)
}

/// Replaces rich text by equal rich text of a profile, as a settlement, and returns the update. The
/// document itself does not change.
pub(in crate::content) fn write_profile(
    comparison: RootComparison<'_>,
    text: &str,
    profile: SchemaProfile,
) -> Result<Vec<u8>, ContentError> {
    let wanted = ContentRoot::Rich(profile);
    let mut writer = SettlementWriter::begin(comparison.replica, wanted)?;
    if writer.replica.has_text() {
        writer.write_plain(text, &[])?;
    }
    writer.replace_rich(text, profile);
    writer.finish(comparison, wanted)
}

impl SettlementWriter {
    /// Copies a document under the client id that is derived from its state.
    fn begin(replica: &ContentReplica, wanted: ContentRoot) -> Result<Self, ContentError> {
        let replica = replica.copy_as(settlement_client(replica, wanted))?;
        Ok(Self { replica, rich: RichCache::default(), updates: Vec::new() })
    }

    fn body_writer(&mut self) -> BodyWriter<'_> {
        BodyWriter { replica: &mut self.replica, origin: EditOrigin::Rule }
    }

    /// Writes another text into the plain text root, and keeps the items of some parts of it.
    fn write_plain(
        &mut self,
        text: &str,
        kept: &[(usize, usize, usize)],
    ) -> Result<(), ContentError> {
        let current = self.replica.plain_text().to_owned();
        let kept = kept.iter().map(|&(new, old, len)| SharedItemRange { old, new, len });
        let mut splices = beside_at(&current, text, kept).splices();
        self.slide_deletions(&mut splices, &current, text);
        let (mut ops, mut at) = (Vec::new(), TextLength::default());
        for splice in splices {
            at += TextLength::of(&current[at.bytes..splice.old.start]);
            ops.push(RebaseOp {
                at,
                delete: TextLength { units: splice.delete, bytes: splice.old.len() },
                insert: splice.new,
                blanks: (false, false),
            });
        }
        let update = PlainBody.apply(&mut self.body_writer(), &current, text, &ops)?;
        self.updates.extend(update);
        Ok(())
    }

    /// Moves deletions in the plain text to where typing begins and ends, if the result is the
    /// same.
    fn slide_deletions(&mut self, splices: &mut [TextSplice], current: &str, text: &str) {
        if splices.iter().all(|splice| splice.delete == 0) {
            return;
        }
        let (typing, _) = self.replica.gate.edit(|txn| match txn.get_text(TEXT) {
            Some(text) => typing_runs(txn, &text),
            None => TypingRuns::default(),
        });
        let inside = |at: usize| {
            (1..current.len()).contains(&at) && typing.goes_on(utf16_len(&current[..at]))
        };
        for index in 0..splices.len() {
            let from = index.checked_sub(1).map_or(0, |before| splices[before].old.end);
            let to = splices.get(index + 1).map_or(current.len(), |behind| behind.old.start);
            if splices[index].delete > 0 {
                slide(&mut splices[index], current, text, from..to, inside);
            }
        }
    }

    /// Writes another text into the rich text root, by the least edit.
    fn write_rich(&mut self, text: &str, profile: SchemaProfile) -> Result<(), ContentError> {
        let body = BodyWriter { replica: &mut self.replica, origin: EditOrigin::Rule };
        let mut writer = RichWriter { body, cache: &mut self.rich };
        let written = RichBody { profile }.write_file(&mut writer, text, None)?;
        self.updates.extend(written.update);
        Ok(())
    }

    /// Replaces all that the rich text root holds.
    fn replace_rich(&mut self, text: &str, profile: SchemaProfile) {
        let (document, memory) = rich::file_parts(text, profile);
        let next = self.replica.next_item();
        let ((), change) = self.replica.edit(|txn| {
            let there = live(txn, profile);
            let mut inserter = NodeInserter::new(next.client, next.clock);
            let right = there.first().and_then(|kid| kid.ids().next());
            inserter.insert(InsertParent::Root, None, right, &document.children);
            let ids = there.iter().flat_map(LiveChild::ids);
            let gone = ids.map(|id| IdRange { client: id.client, start: id.clock, len: 1 });
            let update = Update::decode_v1(&inserter.finish(gone.collect()));
            txn.apply_update(update.expect("we built a valid update")).expect("it is valid");
            rich::RichMemory::read(txn).edit_to(&memory).make(txn);
        });
        self.rich.clear();
        self.updates.extend(change.update);
    }

    /// Records the settlement, and returns the whole update.
    fn finish(
        mut self,
        comparison: RootComparison<'_>,
        wanted: ContentRoot,
    ) -> Result<Vec<u8>, ContentError> {
        self.replica.gate.health()?;
        let from = comparison.replica.version();
        let last = comparison.settlements.last();
        let deleted = self.replica.version().snapshot().delete_set.clone();
        let next = self.replica.next_item();
        let settlement = ConversionSettlement {
            client: next.client,
            number: last.map_or(0, |last| last.number) + 1,
            is_to_rich: is_rich(wanted),
            len: next.clock,
            gone: deleted.diff(&from.snapshot().delete_set),
            from,
            is_note: false,
        };
        let ((), change) = self.replica.edit(|txn| {
            let map = txn.get_or_insert_map(CONVERSIONS);
            map.insert(txn, settlement.client.to_string(), settlement.to_any());
        });
        self.replica.gate.health()?;
        self.updates.extend(change.update);
        Ok(join_updates(self.updates).expect("a settlement is recorded"))
    }
}

/// Returns the client id that the state of a document and the root to make current determine.
fn settlement_client(replica: &ContentReplica, wanted: ContentRoot) -> ClientId {
    let mut bytes = Vec::new();
    write_string(&mut bytes, VERSION);
    write_string(&mut bytes, replica.id().as_str());
    let kind = match wanted {
        ContentRoot::Text => 0,
        ContentRoot::Rich(SchemaProfile::CommonMark) => 1,
        ContentRoot::Rich(SchemaProfile::Gfm) => 2,
    };
    write_var_uint(&mut bytes, kind);
    bytes.extend(replica.version().encode_in_order());
    rule_client(&bytes)
}
