//! Markdown files as documents of editors, and as the bytes that other programs read and write.
//!
//! The document is `Y.XmlFragment("richtext")` in the layout of y-prosemirror; the parts of the
//! file's bytes that it cannot express are stored beside it (`memory`). Reading renders both;
//! writing finds the difference between the file that was read and the new one, block by block, and
//! makes only that edit.
//!
//! # Invariants
//!
//! * A read right after a write, without concurrent changes, returns the written bytes exactly.
//! * A write deletes nothing that its writer had not read.
//!
//! # Cost
//!
//! Reading parses the rendered text, to verify it. Writing parses the new file and compares
//! documents by the hashes of their blocks; inserting is linear, however many blocks there are.

mod blocks;
mod fingerprint;
mod merge;
mod pair_children;
mod plan;
mod stored_source;
#[cfg(test)]
mod tests;
mod text;
mod window;

use yfs_markdown::{
    front_matter::{SplitFile, split},
    parse::parse,
    schema::SchemaProfile,
    source::{RenderedText, remember, render_checked},
    tree::{MarkdownNode, TextMark, TreeElement},
};
use yrs::{
    Any, ReadTxn, Text as _, WriteTxn,
    types::text::YChange,
    updates::encoder::{Encoder as _, EncoderV1},
};

pub(super) use self::{
    blocks::FileCache,
    stored_source::{FRONT_MATTER, RichMemory, SOURCE},
};
use self::{
    plan::{BaseAlignment, RichEditPlan},
    stored_source::MemoryEdit,
};
use super::{
    ContentDoc, ContentError, ContentWriteResult, RunAuthor, TEXT, Version,
    classify::becomes_heavy,
    diff::{diff, utf16_len},
    rebase::TextOverlap,
    timeline::is_sweeping,
};
use crate::{
    gate::{DocRole, GatedDoc, RootIx, UpdateSource},
    id::ItemId,
    kind::DEFAULT_PROFILE,
    rich::{InsertParent, LiveChild, NodeInserter, glance, into_nodes, live, nodes},
};

/// A document as a file.
#[derive(Debug, Clone)]
pub(super) struct RichFile {
    pub(super) text: String,
    /// Whether the text expresses all of the document.
    is_exact: bool,
}

/// The state that a writer had read: document, memory and file.
struct RichReadState {
    kids: Vec<LiveChild>,
    memory: RichMemory,
    file: RichFile,
}

/// Reads a document as a file.
pub(super) fn read_file(txn: &impl ReadTxn, profile: SchemaProfile) -> RichFile {
    let kids = glance(txn, profile);
    let profile = evident_profile(&kids).unwrap_or(profile);
    file_of(into_nodes(kids), &RichMemory::read(txn), profile)
}

pub(super) fn file_of(
    nodes: Vec<MarkdownNode>,
    memory: &RichMemory,
    profile: SchemaProfile,
) -> RichFile {
    let document = TreeElement::new("doc").with_children(nodes);
    let RenderedText { text, is_exact } = render_checked(&document, &memory.source(), profile);
    RichFile { text: memory.front() + &text, is_exact }
}

/// Returns the document and the memory of a file.
pub(super) fn file_parts(text: &str, profile: SchemaProfile) -> (TreeElement, RichMemory) {
    let SplitFile { front, body } = split(text);
    let (document, source) = remember(body, profile);
    let memory = RichMemory::new(front, &source);
    (document, memory)
}

/// Returns the profile that the names in a document imply; `None` if both profiles have them.
pub(super) fn evident_profile(kids: &[LiveChild]) -> Option<SchemaProfile> {
    kids.iter().find_map(|kid| match kid {
        LiveChild::Element(element) => only_in(|profile| {
            let Some(spec) = profile.element(&element.name) else { return false };
            let is_known =
                |name: &str| spec.attributes.iter().any(|attribute| attribute.name == name);
            element.attributes.iter().all(|(name, _)| is_known(name))
        })
        .or_else(|| evident_profile(&element.kids)),
        LiveChild::Text(text) => text.runs.iter().find_map(|run| {
            let MarkdownNode::Text(run) = run else { return None };
            let named = |mark: &TextMark| {
                only_in(|profile| profile.marks().iter().any(|spec| spec.name == mark.name))
            };
            run.marks.iter().find_map(named)
        }),
    })
}

/// Reports whether two rows of blocks have the same content.
pub(super) fn have_equal_content(left: &[LiveChild], right: &[LiveChild]) -> bool {
    let mut scratch = Vec::new();
    let mut prints = |kids: &[LiveChild]| {
        kids.iter().map(|kid| fingerprint::of_kid(kid, &mut scratch)).collect::<Vec<_>>()
    };
    prints(left) == prints(right)
}

/// Returns the only profile that satisfies a condition.
fn only_in(is_in: impl Fn(SchemaProfile) -> bool) -> Option<SchemaProfile> {
    match (is_in(SchemaProfile::CommonMark), is_in(SchemaProfile::Gfm)) {
        (true, false) => Some(SchemaProfile::CommonMark),
        (false, true) => Some(SchemaProfile::Gfm),
        _ => None,
    }
}

/// Returns the profile for reading a document.
pub(super) fn profile_of(txn: &impl ReadTxn) -> SchemaProfile {
    evident_profile(&glance(txn, DEFAULT_PROFILE)).unwrap_or(DEFAULT_PROFILE)
}

impl ContentDoc {
    /// Writes `new` in place of the file that its writer had read at `base`, or of the current one.
    pub(super) fn write_rich(
        &mut self,
        new: &str,
        base: Option<&Version>,
        profile: SchemaProfile,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        if !self.by_rule && becomes_heavy(new, || self.text()) {
            return Err(ContentError::TooHeavy);
        }
        if base.is_none() && !self.by_rule && self.gate.is_blank() {
            return self.write_first(new, profile, author);
        }
        if base.is_none()
            && !self.by_rule
            && let Some(written) = self.write_window(new, profile, author)?
        {
            return Ok(written);
        }
        #[cfg(test)]
        self.blocks.note_whole_write();
        let fork = base.map(|version| self.fork_here(version)).transpose()?;
        let read = match &fork {
            None => {
                let current = self.file(profile);
                self.gate.read(|txn| RichReadState::of(txn, profile, Some(current)))
            }
            Some(fork) => fork.read(|txn| RichReadState::of(txn, profile, None)),
        };
        if new == read.file.text && !read.kids.is_empty() {
            return Ok(ContentWriteResult::default());
        }
        // A document keeps its schema: editors delete the elements of a document with both.
        let profile = evident_profile(&read.kids).unwrap_or(profile);
        let (document, memory) = file_parts(new, profile);
        let is_all = base.is_none() && read.is_said();
        let wanted = read.merge_blocks(document, profile);
        let edit = read.memory.edit_to(&memory);
        let entry = self.begin_run(author, is_rewrite(&read.file.text, new));
        let written = self.change(read, wanted, edit, base, profile, entry)?;
        if is_all {
            // The document and its memory are those of this file: no rendering is needed.
            debug_assert_eq!(self.gate.read(|txn| read_file(txn, profile)).text, new);
            self.file.set(RichFile { text: new.to_owned(), is_exact: true }).ok();
        }
        Ok(written)
    }

    /// Writes a file into a document that was never written, by one update that yrs applies later.
    fn write_first(
        &mut self,
        new: &str,
        profile: SchemaProfile,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        let (document, memory) = file_parts(new, profile);
        let entry = self.begin_run(author, false);
        let mut inserter = NodeInserter::new(self.client, 0);
        if let Some(entry) = &entry {
            inserter.element_of(RootIx::Log.name(), entry);
        }
        inserter.insert(InsertParent::Root, None, None, &document.children);
        RichMemory::default().edit_to(&memory).begin(&mut inserter);
        let update = inserter.finish(Vec::new());
        self.gate.begin_with(&update)?;
        let id = ItemId::new(self.client, 0);
        let update = self.finish(Some(update), entry.map(|entry| (RootIx::Log, id, entry)))?;
        debug_assert_eq!(self.copy()?.read(|txn| read_file(txn, profile)).text, new);
        self.file.set(RichFile { text: new.to_owned(), is_exact: true }).ok();
        Ok(ContentWriteResult { update, overlaps: Vec::new() })
    }

    /// Rewrites the document that was read, in the current document.
    fn change(
        &mut self,
        read: RichReadState,
        wanted: Vec<MarkdownNode>,
        memory: MemoryEdit,
        base: Option<&Version>,
        profile: SchemaProfile,
        entry: Option<Any>,
    ) -> Result<ContentWriteResult, ContentError> {
        let clock = self.gate.clock_of(self.client) + u32::from(entry.is_some());
        let mut plan = RichEditPlan::new(self.client, clock);
        let is_copy = self.by_rule;
        let (memory, _) = self.gate.edit(|txn| {
            let now;
            let (live, memory) = match base {
                None => (&read.kids, memory),
                Some(_) => {
                    now = live(txn, profile);
                    (&now, RichMemory::read(txn).still_to_do(&read.memory, memory))
                }
            };
            let version = base.map(Version::snapshot);
            let mut beside = BaseAlignment { txn, version, profile, is_copy };
            plan.document(&mut beside, &read.kids, live, &wanted);
            memory
        });
        self.gate.health()?;
        if plan.is_empty() && memory.is_empty() {
            return Ok(ContentWriteResult { update: None, overlaps: plan.overlaps });
        }
        let mut overlaps = std::mem::take(&mut plan.overlaps);
        let by_rule = self.by_rule.then_some(profile);
        let update = self.transact_with(entry, |txn| {
            // The plan requires that its items come first.
            plan.make(txn, by_rule).expect("we built a valid update");
            memory.make(txn);
        })?;
        self.place(&mut overlaps, profile);
        Ok(ContentWriteResult { update, overlaps })
    }

    /// Returns the document as a file.
    pub(super) fn file(&self, profile: SchemaProfile) -> RichFile {
        self.file.get_or_init(|| self.read_by_blocks(profile)).clone()
    }

    /// Returns the document at a version, for reading.
    pub(super) fn fork(&self, version: &Version) -> Result<GatedDoc, ContentError> {
        self.check_known(version)?;
        self.fork_of(version)
    }

    /// Returns the document at a version that it knows, even if parts of it were erased.
    pub(super) fn fork_of(&self, version: &Version) -> Result<GatedDoc, ContentError> {
        let state = state_at(&mut self.copy()?, version)?;
        self.of_state(&state)
    }

    /// Returns the document at a version, like [`fork`](Self::fork), without copying all of it.
    fn fork_here(&mut self, version: &Version) -> Result<GatedDoc, ContentError> {
        // A version from elsewhere may cut through a character, which would damage the document.
        if !version.was_taken_from(&self.id) {
            return self.fork(version);
        }
        self.check_known(version)?;
        let state = state_at(&mut self.gate, version)?;
        self.of_state(&state)
    }

    fn of_state(&self, state: &[u8]) -> Result<GatedDoc, ContentError> {
        let mut doc = GatedDoc::new(&self.id, DocRole::Content, self.client, self.limits);
        doc.receive(state, UpdateSource::Store)?;
        Ok(doc)
    }

    /// Finds the place of each overlap in the file.
    fn place(&self, overlaps: &mut [TextOverlap], profile: SchemaProfile) {
        if overlaps.is_empty() {
            return;
        }
        let text = self.file(profile).text;
        for overlap in overlaps {
            let said = [overlap.inserted.as_str(), overlap.theirs.as_str()];
            let found =
                said.iter().filter(|said| !said.is_empty()).find_map(|said| text.find(*said));
            overlap.at = found.unwrap_or(0);
        }
    }
}

/// Reports whether so much of a file is replaced that the edit is a run of its own in the log.
fn is_rewrite(old: &str, new: &str) -> bool {
    let is_same = |(old, new): &(u8, u8)| old == new;
    let n_before = old.bytes().zip(new.bytes()).take_while(is_same).count();
    let n_behind = old.bytes().rev().zip(new.bytes().rev()).take_while(is_same).count();
    // Most edits are in one place, and need no comparison.
    if 2 * (n_before + n_behind) >= old.len() {
        return false;
    }
    let deleted = diff(old, new).iter().map(|splice| splice.delete).sum();
    is_sweeping(deleted, utf16_len(old))
}

/// Returns the state of a document at a version, as an update.
fn state_at(gate: &mut GatedDoc, version: &Version) -> Result<Vec<u8>, ContentError> {
    let (encoded, _) = gate.edit(|txn| {
        let mut encoder = EncoderV1::new();
        // yrs 0.28.1 encodes a block wrongly if the version has only a part of it. So blocks are
        // cut first, which only a comparison does.
        let text = txn.get_or_insert_text(TEXT);
        let now = txn.snapshot();
        text.diff_range(txn, Some(&now), Some(version.snapshot()), YChange::identity);
        let encoded = txn.encode_state_from_snapshot(version.snapshot(), &mut encoder);
        encoded.map(|()| encoder.to_vec())
    });
    encoded.map_err(|_| ContentError::NotText)
}

impl RichReadState {
    fn of(txn: &impl ReadTxn, profile: SchemaProfile, file: Option<RichFile>) -> Self {
        let kids = live(txn, profile);
        let memory = RichMemory::read(txn);
        let kept = evident_profile(&kids).unwrap_or(profile);
        let file = file.unwrap_or_else(|| file_of(nodes(&kids), &memory, kept));
        Self { kids, memory, file }
    }

    /// Reports whether the file expresses all of the document. An empty document was never written.
    fn is_said(&self) -> bool {
        self.file.is_exact || self.kids.is_empty()
    }

    /// Returns the new blocks of the document when `document` is written as the file.
    fn merge_blocks(&self, document: TreeElement, profile: SchemaProfile) -> Vec<MarkdownNode> {
        if self.is_said() {
            return document.children;
        }
        let before = parse(split(&self.file.text).body, profile);
        merge::merged(&nodes(&self.kids), &before.children, &document.children)
    }
}
