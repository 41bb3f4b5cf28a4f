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
mod end_blanks;
mod fingerprint;
mod merge;
mod pair_children;
mod plan;
mod stored_source;
#[cfg(test)]
mod tests;
mod text;
mod window;

use std::sync::OnceLock;

use yfs_markdown::{
    front_matter::{SplitFile, split},
    parse::parse,
    schema::SchemaProfile,
    source::{RenderedText, remember, render_checked},
    tree::{MarkdownNode, TextMark, TreeElement},
};
use yrs::{Any, ReadTxn, TransactionMut};

pub(super) use self::stored_source::{FRONT_MATTER, RichMemory, SOURCE};
use self::{
    blocks::FileCache,
    plan::{BaseAlignment, RichEditPlan},
    stored_source::MemoryEdit,
};
use super::{
    ContentBase, ContentError, ContentWriteResult, Version,
    classify::becomes_heavy,
    diff::diff_chars,
    edit::check_len,
    rebase::{RunAlignment, TextOverlap, applied, rebase, separate_words},
    replica::{ContentReplica, LocalChange},
    writer::BodyWriter,
};
use crate::{
    gate::{IdRange, RootIx},
    id::ItemId,
    kind::DEFAULT_PROFILE,
    rich::{InsertParent, LiveChild, NodeInserter, ROOT, glance, into_nodes, live, nodes},
};

/// The greatest length of a file that debug builds read again after it was written.
const MAX_VERIFIED_LEN: usize = 32 << 10;

/// The roots of rich text.
pub(super) const RICH_ROOTS: &[&str] = &[ROOT, FRONT_MATTER, SOURCE];

/// A document as a file.
#[derive(Debug, Clone)]
pub(super) struct RichFile {
    pub(super) text: String,
    /// Whether the text expresses all of the document.
    is_exact: bool,
}

/// Rich text as the body of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct RichBody {
    pub(super) profile: SchemaProfile,
}

/// The rich text of a document as a file, kept from one change to the next.
#[derive(Debug, Default)]
pub(super) struct RichCache {
    /// The current file, rendered on first use.
    file: OnceLock<RichFile>,
    /// The file block by block, possibly outdated.
    pub(super) blocks: FileCache,
}

/// The parts of a document that an edit of its rich text changes.
pub(super) struct RichWriter<'a> {
    pub(super) body: BodyWriter<'a>,
    pub(super) cache: &'a mut RichCache,
}

/// The state that a writer had read: document, memory and file.
struct RichReadState {
    kids: Vec<LiveChild>,
    memory: RichMemory,
    file: RichFile,
}

/// Reports whether debug builds read a file again after it was written. The copy of a document that
/// this makes takes more memory than the document, so the programs that tests run would take more
/// than those that users run.
fn is_verified(text: &str) -> bool {
    cfg!(test) || text.len() <= MAX_VERIFIED_LEN
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

impl RichCache {
    /// Drops all cached state.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.file.take();
    }

    /// Drops the file, but not its blocks.
    pub(super) fn forget_file(&mut self) {
        self.file.take();
    }

    /// Notes a change of the document, and the items that it deleted, if they are known.
    pub(super) fn note_change(&mut self, deleted: Option<impl IntoIterator<Item = IdRange>>) {
        match deleted {
            Some(deleted) => self.blocks.note_deleted(deleted),
            None => self.blocks.clear(),
        }
        self.file.take();
    }

    /// Keeps the file that was written; it expresses all of the document.
    fn keep_written(&self, text: &str) {
        self.file.set(RichFile { text: text.to_owned(), is_exact: true }).ok();
    }
}

impl RichWriter<'_> {
    /// Edits the document in one transaction, as [`BodyWriter::commit`] does, and returns the
    /// update. The cache drops what the transaction changed, or all if the commit failed.
    fn commit(
        &mut self,
        entry: Option<Any>,
        edit: impl FnOnce(&mut TransactionMut<'_>),
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let change = self.body.commit(entry, edit).inspect_err(|_| self.cache.clear())?;
        self.cache.note_change(change.deleted);
        Ok(change.update)
    }

    /// Updates the cache and the log after a change whose log entry is an item, and returns the
    /// update.
    fn finish(
        &mut self,
        change: LocalChange,
        id: ItemId,
        entry: Option<Any>,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.cache.note_change(change.deleted);
        self.body.finish(id, entry)?;
        Ok(change.update)
    }
}

impl RichBody {
    /// Returns the document as a file.
    pub(super) fn file(self, replica: &ContentReplica, cache: &RichCache) -> RichFile {
        let read = || cache.blocks.read_file(replica, self.profile);
        cache.file.get_or_init(read).clone()
    }

    /// Writes `new` in place of the text that the writer had read. The caller has checked that the
    /// document knows the version.
    pub(super) fn write(
        self,
        writer: &mut RichWriter<'_>,
        new: &str,
        base: Option<ContentBase<'_>>,
    ) -> Result<ContentWriteResult, ContentError> {
        match base {
            None => self.write_file(writer, new, None),
            Some(ContentBase::Version(version)) => {
                let is_current = *version == writer.body.replica.version();
                self.write_file(writer, new, Some(version).filter(|_| !is_current))
            }
            Some(ContentBase::Text(base)) => self.merge_file(writer, new, base),
        }
    }

    /// Writes `new` in place of the file that its writer had read, by the differences of the files.
    fn merge_file(
        self,
        writer: &mut RichWriter<'_>,
        new: &str,
        base: &str,
    ) -> Result<ContentWriteResult, ContentError> {
        let current = self.file(writer.body.replica, writer.cache).text;
        let compare = writer.body.replica.save_comparison();
        let runs = RunAlignment::of_read_text(base, &current, compare);
        let (mut ops, mut overlaps) = rebase(&runs, &compare(base, new), base, &current, new);
        separate_words(&mut ops, &mut overlaps, &current, new);
        let merged = applied(&current, new, &ops);
        check_len(merged.len(), current.len(), &writer.body.replica.limits())?;
        let mut written = self.write_file(writer, &merged, None)?;
        written.overlaps.extend(overlaps);
        Ok(written)
    }

    /// Writes `new` in place of the file that its writer had read at `base`, or of the current one.
    pub(super) fn write_file(
        self,
        writer: &mut RichWriter<'_>,
        new: &str,
        base: Option<&Version>,
    ) -> Result<ContentWriteResult, ContentError> {
        let is_change =
            base.is_none() && !writer.body.is_by_rule() && !writer.body.replica.gate.is_blank();
        if is_change && let Some(written) = self.write_window(writer, new)? {
            return Ok(written);
        }
        let current = || self.file(writer.body.replica, writer.cache).text;
        if !writer.body.is_by_rule() && becomes_heavy(new, current) {
            return Err(ContentError::TooHeavy);
        }
        if base.is_none() && !writer.body.is_by_rule() && writer.body.replica.gate.is_blank() {
            return self.write_first(writer, new);
        }
        #[cfg(test)]
        writer.cache.blocks.note_whole_write();
        let fork = base.map(|version| writer.body.replica.fork_in_place(version)).transpose()?;
        let read = match &fork {
            None => {
                let current = self.file(writer.body.replica, writer.cache);
                writer
                    .body
                    .replica
                    .gate
                    .read(|txn| RichReadState::of(txn, self.profile, Some(current)))
            }
            Some(fork) => fork.read(|txn| RichReadState::of(txn, self.profile, None)),
        };
        if new == read.file.text && !read.kids.is_empty() {
            return Ok(ContentWriteResult::default());
        }
        // A document keeps its schema: editors delete the elements of a document with both.
        let profile = evident_profile(&read.kids).unwrap_or(self.profile);
        let (document, memory) = file_parts(new, profile);
        let is_all = base.is_none() && read.is_expressed();
        let wanted = read.merge_blocks(document, profile);
        let edit = read.memory.edit_to(&memory);
        let entry = writer.body.begin_run();
        let base_file = base.map(|_| read.file.text.clone()).unwrap_or_default();
        let written = Self { profile }.change(writer, read, wanted, edit, base, entry)?;
        let Some(written) = written else {
            return Self { profile }.merge_file(writer, new, &base_file);
        };
        if is_all {
            // The document and its memory are those of this file: no rendering is needed.
            debug_assert!(
                !is_verified(new)
                    || writer.body.replica.gate.read(|txn| read_file(txn, profile)).text == new,
                "the document is not the file"
            );
            writer.cache.keep_written(new);
        }
        Ok(written)
    }

    /// Writes a file into a document that was never written, by one update that yrs applies later.
    fn write_first(
        self,
        writer: &mut RichWriter<'_>,
        new: &str,
    ) -> Result<ContentWriteResult, ContentError> {
        let entry = writer.body.begin_run();
        let id = ItemId::new(writer.body.replica.client(), 0);
        let mut inserter = NodeInserter::new(id.client, 0);
        if let Some(entry) = &entry {
            inserter.element_of(RootIx::Log.name(), entry);
        }
        // The tree is dropped before the gate reads the update, which takes as much memory.
        {
            let (document, memory) = file_parts(new, self.profile);
            inserter.insert(InsertParent::Root, None, None, &document.children);
            RichMemory::default().edit_to(&memory).begin(&mut inserter);
        }
        let change = writer.body.replica.begin_with(inserter.finish(Vec::new()))?;
        let update = writer.finish(change, id, entry)?;
        debug_assert!(
            !is_verified(new)
                || writer.body.replica.copy()?.read(|txn| read_file(txn, self.profile)).text == new,
            "the document is not the file"
        );
        writer.cache.keep_written(new);
        Ok(ContentWriteResult { update, overlaps: Vec::new() })
    }

    /// Rewrites the document that was read, in the current document. Returns `None` and changes
    /// nothing if a block that the writer changed has become a part of another block.
    fn change(
        self,
        writer: &mut RichWriter<'_>,
        read: RichReadState,
        wanted: Vec<MarkdownNode>,
        memory: MemoryEdit,
        base: Option<&Version>,
        entry: Option<Any>,
    ) -> Result<Option<ContentWriteResult>, ContentError> {
        let profile = self.profile;
        let mut plan = RichEditPlan::behind(writer.body.replica.next_item(), entry.is_some());
        let is_copy = writer.body.is_by_rule();
        // A copy changes words in part, so that it keeps the items of those who typed them.
        let compare = if is_copy { diff_chars } else { writer.body.replica.save_comparison() };
        let ((memory, is_misplaced), _) = writer.body.replica.gate.edit(|txn| {
            let now;
            let (live, memory) = match base {
                None => (&read.kids, memory),
                Some(_) => {
                    now = live(txn, profile);
                    (&now, RichMemory::read(txn).still_to_do(&read.memory, memory))
                }
            };
            let version = base.map(Version::snapshot);
            let mut beside = BaseAlignment { txn, version, profile, is_copy, compare };
            plan.document(&mut beside, &read.kids, live, &wanted);
            (memory, !is_copy && plan.misses_its_block(live))
        });
        writer.body.replica.gate.health()?;
        if is_misplaced {
            return Ok(None);
        }
        if plan.is_empty() && memory.is_empty() {
            return Ok(Some(ContentWriteResult { update: None, overlaps: plan.overlaps }));
        }
        let mut overlaps = std::mem::take(&mut plan.overlaps);
        let by_rule = is_copy.then_some(profile);
        // The plan has what it needs of them, and yrs is about to make its items.
        drop((read, wanted));
        let update = writer.commit(entry, |txn| {
            // The plan requires that its items come first.
            plan.make(txn, by_rule).expect("we built a valid update");
            memory.make(txn);
        })?;
        self.place(writer, &mut overlaps);
        Ok(Some(ContentWriteResult { update, overlaps }))
    }

    /// Finds the place of each overlap in the file.
    fn place(self, writer: &RichWriter<'_>, overlaps: &mut [TextOverlap]) {
        if overlaps.is_empty() {
            return;
        }
        let text = self.file(writer.body.replica, writer.cache).text;
        for overlap in overlaps {
            let said = [overlap.inserted.as_str(), overlap.theirs.as_str()];
            let found =
                said.iter().filter(|said| !said.is_empty()).find_map(|said| text.find(*said));
            overlap.at = found.unwrap_or(0);
        }
    }
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
    fn is_expressed(&self) -> bool {
        self.file.is_exact || self.kids.is_empty()
    }

    /// Returns the new blocks of the document when `document` is written as the file.
    fn merge_blocks(&self, document: TreeElement, profile: SchemaProfile) -> Vec<MarkdownNode> {
        if self.is_expressed() {
            return document.children;
        }
        let before = parse(split(&self.file.text).body, profile);
        merge::merged(&nodes(&self.kids), &before.children, &document.children)
    }
}
