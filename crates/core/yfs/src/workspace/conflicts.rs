//! Conflicts, reported for people: how each was resolved, and where the file is.

use std::collections::{BTreeSet, HashMap};

use smol_str::SmolStr;
use yfs_engine::{
    Any,
    content::{ContentDoc, MixedPlace, ReferenceContent, is_only_text, is_rich_of_one},
    hash::ContentHash,
    id::FileId,
    main_doc::MainDoc,
    table::{FileRow, HELD_KEY, MOVED_KEY, NodeKind, REPLACED_KEY},
    tree::{OrphanReason, TreeConflict},
};
use yfs_store::{DocFact, DocHead, DocName, Seq};

pub use super::conflict_report::{ConflictKind, ConflictReport};
use super::{Workspace, conflict_report::path_of};
use crate::{
    Replication,
    core::WorkspaceCore,
    directory_share::late_edits::late_share_edits,
    error::Result,
    replica::forks::fork_conflicts,
    settled_form::SettledForm,
    state::WorkspaceState,
    workspace::{
        blob_conflicts::blob_conflicts,
        lost_words::lost_word_conflicts,
        move_between::find_move_position,
        removals::{removal_conflicts, removal_conflicts_among},
    },
};

/// The number of texts that are checked at once.
const CHUNK: usize = 16_384;

/// A file in the trash whose content another file took over.
struct ReplacedFile {
    row: FileRow,
    by: FileId,
    /// The hash of the content that was taken over.
    taken_hash: String,
}

/// An object in the trash that was moved to another workspace.
struct MovedAway {
    id: FileId,
    /// The other workspace.
    home: String,
    /// The files that were moved with it.
    files: Vec<FileId>,
}

impl Workspace {
    /// Lists resolved conflicts and problems. Walks all rows, checks each text that peers wrote
    /// since its last check, and reads the files in the trash that were moved over other files.
    pub fn conflicts(&self) -> Result<Vec<ConflictReport>> {
        let state = &self.state;
        state.refresh()?;
        let now = state.now();
        let (mut conflicts, blobs, texts, replaced) = {
            let main = state.main.read();
            let mut settled = main.tree().conflicts(now);
            settled.retain(|conflict| !is_recorded(&main, conflict));
            let conflicts: Vec<ConflictReport> =
                settled.iter().flat_map(|conflict| describe(&main, conflict)).collect();
            let (blobs, texts) = visible_contents(&main);
            (conflicts, blobs, texts, replaced_files(&main))
        };
        conflicts.extend(removal_conflicts(state)?);
        conflicts.extend(fork_conflicts(state)?);
        conflicts.extend(late_share_edits(state)?);
        conflicts.extend(lost_word_conflicts(state)?);
        conflicts.extend(blob_conflicts(state, &blobs)?);
        conflicts.extend(unsettled_among(state, &texts)?);
        for file in replaced {
            if has_more_content(state, &file)? {
                let main = state.main.read();
                let (path, over) = (path_of(&main, &file.row.id), path_of(&main, &file.by));
                let detail = format!("changed after it was moved over {over}, which lacks that");
                conflicts.push(ConflictReport {
                    kind: ConflictKind::Late,
                    id: file.row.id,
                    path,
                    detail,
                });
            }
        }
        let moved = moved_away(&state.main.read());
        for moved in moved {
            conflicts.extend(written_after_move(state, &moved)?);
        }
        Ok(conflicts)
    }
}

/// Returns the files that were edited after they were moved to another workspace.
fn written_after_move(core: &WorkspaceCore, moved: &MovedAway) -> Result<Vec<ConflictReport>> {
    let Some(upto) = find_move_position(core, &moved.id)? else { return Ok(Vec::new()) };
    let mut conflicts = Vec::new();
    for id in &moved.files {
        if core.store.doc_head(&DocName::from(id))?.seq > upto {
            let path = path_of(&core.main.read(), id);
            let home = &moved.home;
            let detail =
                format!("changed after it was moved to workspace {home}, which lacks that");
            conflicts.push(ConflictReport {
                kind: ConflictKind::Late,
                id: id.clone(),
                path,
                detail,
            });
        }
    }
    Ok(conflicts)
}

impl Replication<'_> {
    /// Returns the conflicts in the contents of files, for example of those that
    /// [`receive`](Self::receive) changed, and of their removals. Files that do not exist have
    /// none.
    pub fn content_conflicts(&self, ids: &BTreeSet<FileId>) -> Result<Vec<ConflictReport>> {
        self.state.refresh_damaged()?;
        content_conflicts(self.state, ids)
    }
}

/// Returns the conflicts in the contents of some files, and those of removals.
fn content_conflicts(core: &WorkspaceCore, ids: &BTreeSet<FileId>) -> Result<Vec<ConflictReport>> {
    let texts: Vec<(FileId, SettledForm)> = {
        let main = core.main.read();
        let is_visible = |id: &&FileId| main.tree().node(id).is_some_and(|node| node.is_visible());
        ids.iter().filter(is_visible).filter_map(|id| text_file(&main, id)).collect()
    };
    let mut conflicts = unsettled_among(core, &texts)?;
    conflicts.extend(blob_conflicts(core, ids)?);
    conflicts.extend(removal_conflicts_among(core, ids)?);
    Ok(conflicts)
}

/// Returns the texts that have content outside their current root, or have it twice. Records
/// that the others are settled, until their next update.
fn unsettled_among(
    core: &WorkspaceCore,
    texts: &[(FileId, SettledForm)],
) -> Result<Vec<ConflictReport>> {
    let mut conflicts = Vec::new();
    // The store has facts in the order of ids.
    let mut by_id = texts.to_vec();
    by_id.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for some in by_id.chunks(CHUNK) {
        conflicts.extend(unsettled_in(core, some)?);
    }
    if conflicts.len() > 1 {
        let places = texts.iter().enumerate().map(|(place, (id, _))| (id, place));
        let places: HashMap<&FileId, usize> = places.collect();
        conflicts.sort_by_key(|conflict| places.get(&conflict.id));
    }
    Ok(conflicts)
}

fn unsettled_in(
    core: &WorkspaceCore,
    texts: &[(FileId, SettledForm)],
) -> Result<Vec<ConflictReport>> {
    let names: Vec<DocName> = texts.iter().map(|(id, _)| DocName::from(id)).collect();
    let facts = core.store.doc_facts(&names)?;
    let (mut conflicts, mut found) = (Vec::new(), Vec::new());
    for (((id, form), name), fact) in texts.iter().zip(names).zip(facts) {
        let mark = form.mark();
        if fact.is_some_and(|fact| fact.hash == Some(mark)) {
            continue;
        }
        let measured = match fact {
            Some(fact) if is_of_one_form(core, &name, *form, fact.upto)? => fact,
            _ => match unsettled(core, id)? {
                Ok(measured) => measured,
                Err(conflict) => {
                    conflicts.push(conflict);
                    continue;
                }
            },
        };
        found.push((name, DocFact { hash: Some(mark), ..measured }));
    }
    if !found.is_empty() && !core.options.read_only {
        // Without these facts the next call is slower, but still right.
        core.store.set_doc_facts(&found).ok();
    }
    Ok(conflicts)
}

/// Reports whether a document is, up to its head, plain text that never had another form, or
/// rich text of one writer.
fn is_of_one_form(
    core: &WorkspaceCore,
    name: &DocName,
    form: SettledForm,
    head: Seq,
) -> Result<bool> {
    let stored = core.store.load(name)?;
    let updates = stored.updates.iter().map(|record| record.data.as_slice());
    let updates = stored.snapshot.as_deref().into_iter().chain(updates);
    let limits = &core.options.limits;
    let is_settled = match form {
        SettledForm::PlainText => is_only_text(updates, limits),
        SettledForm::RichText => is_rich_of_one(updates, limits),
    };
    Ok(stored.head.seq == head && is_settled)
}

/// Returns the problem of how a content is kept; if there is none, the head up to which that is
/// so and the length of the text.
fn unsettled(
    core: &WorkspaceCore,
    id: &FileId,
) -> Result<std::result::Result<DocFact, ConflictReport>> {
    let (described, measured) = core.documents.acquire(id).with(|loaded| {
        let described = describe_unsettled(&mut loaded.doc);
        let size = if described.is_none() { loaded.doc.text().len() as u64 } else { 0 };
        (described, DocFact { upto: loaded.head.seq, size, hash: None })
    })?;
    Ok(match described {
        None => Ok(measured),
        Some((kind, detail)) => {
            let path = path_of(&core.main.read(), id);
            Err(ConflictReport { kind, id: id.clone(), path, detail })
        }
    })
}

/// Reports whether a file in the trash has other content than the one that was taken over.
fn has_more_content(state: &WorkspaceState, file: &ReplacedFile) -> Result<bool> {
    if let Some(blob) = file.row.blob {
        return Ok(blob.hash.to_string() != file.taken_hash);
    }
    // A content that has not arrived shows nothing.
    if state.store.doc_head(&DocName::from(&file.row.id))? == DocHead::ZERO {
        return Ok(false);
    }
    let text = state.texts.read(state, &file.row.id)?;
    Ok(ContentHash::of(text.content.as_bytes()).to_string() != file.taken_hash)
}

/// Returns the problem of how a document keeps its content, or `None`.
fn describe_unsettled(doc: &mut ContentDoc) -> Option<(ConflictKind, String)> {
    if doc.conversion().is_doubled() {
        return Some((ConflictKind::Doubled, "has its whole content twice".to_owned()));
    }
    let aside = doc.set_aside();
    if !aside.is_empty() {
        let words = aside.join("\", \"");
        let detail = format!("a block was deleted while \"{words}\" was typed into it");
        return Some((ConflictKind::Unsettled, detail));
    }
    let groups = doc.separated_words().unwrap_or_default();
    if !groups.is_empty() {
        let groups = groups.iter().map(|group| format!("\"{}\"", group.words.join("\", \"")));
        let groups = groups.collect::<Vec<_>>().join("; ");
        let detail = format!("has words that writers put into the place of one: {groups}");
        return Some((ConflictKind::Words, detail));
    }
    let places = doc.mixed_places().unwrap_or_default();
    if let Some(MixedPlace { words, by: [one, two], .. }) = places.first() {
        let more = match places.len() - 1 {
            0 => String::new(),
            n_more => format!(" and {n_more} more places"),
        };
        let detail = format!(
            "{one} and {two} wrote {words:?} without knowing of each other{more}; each text is \
             a version"
        );
        return Some((ConflictKind::Words, detail));
    }
    if let Some(ReferenceContent::Bytes(bytes)) = doc.reference().read() {
        let n_bytes = bytes.len();
        let detail = format!("{n_bytes} bytes are in the root `timeline`, which yfs does not read");
        return Some((ConflictKind::Unsettled, detail));
    }
    (doc.conversion().needs_conversion() || doc.conversion().needs_repair()).then(|| {
        (
            ConflictKind::Unsettled,
            "was edited in a root that is no longer its current one".to_owned(),
        )
    })
}

fn describe(main: &MainDoc, conflict: &TreeConflict) -> Vec<ConflictReport> {
    let make = |kind, id: &FileId, detail: String| ConflictReport {
        kind,
        id: id.clone(),
        path: path_of(main, id),
        detail,
    };
    match conflict {
        TreeConflict::Name { name, winner, others, .. } => others
            .iter()
            .map(|(id, shown): &(FileId, SmolStr)| {
                let detail = format!("is stored as {name:?} like {winner}, and shown as {shown:?}");
                make(ConflictKind::Name, id, detail)
            })
            .collect(),
        TreeConflict::Cycle { breaker, members, .. } => {
            let names: Vec<String> = members.iter().map(|id| path_of(main, id)).collect();
            let detail = format!("directories were moved into each other: {}", names.join(", "));
            vec![make(ConflictKind::Cycle, breaker, detail)]
        }
        TreeConflict::Orphan { id, parent, reason } => {
            let detail = match reason {
                OrphanReason::Missing => format!("its parent directory {parent} is missing"),
                OrphanReason::NotADirectory => format!("its parent {parent} is not a directory"),
            };
            vec![make(ConflictKind::Orphan, id, detail)]
        }
        TreeConflict::Stranded { trashed, ids } => {
            let directory = path_of(main, trashed);
            let detail = format!("changed after {directory} was put into the trash");
            ids.iter().map(|id| make(ConflictKind::Stranded, id, detail.clone())).collect()
        }
        TreeConflict::InvalidName { id, stored } => {
            let detail = format!("the stored name is {:?}", stored.as_str());
            vec![make(ConflictKind::InvalidName, id, detail)]
        }
        TreeConflict::Future { id, timestamp } => {
            let detail = format!("was written at {timestamp} ms, which is in the future");
            vec![make(ConflictKind::FutureTimestamp, id, detail)]
        }
        _ => Vec::new(),
    }
}

/// Reports whether a conflict is of a removal that recorded what its writer knew: then the record
/// counts, and not the times.
fn is_recorded(main: &MainDoc, conflict: &TreeConflict) -> bool {
    let TreeConflict::Stranded { trashed, .. } = conflict else { return false };
    main.has_removal_record(trashed)
}

/// Returns the visible files that are kept as blobs, and those that are kept as text of any form.
/// Reads the directories without keeping them in memory.
fn visible_contents(main: &MainDoc) -> (Vec<FileId>, Vec<(FileId, SettledForm)>) {
    let (mut blobs, mut texts, mut pending) = (Vec::new(), Vec::new(), vec![None]);
    while let Some(directory) = pending.pop() {
        main.for_each_child(directory.as_ref(), |id, _, row| match row.kind {
            NodeKind::Directory => pending.push(Some(id.clone())),
            NodeKind::File if row.blob.is_some() => blobs.push(id.clone()),
            NodeKind::File if row.link.is_some() => {}
            NodeKind::File => texts.push((id.clone(), SettledForm::of_name(row.name))),
        });
    }
    (blobs, texts)
}

/// Returns a file and the form of its text, unless it is no text.
fn text_file(main: &MainDoc, id: &FileId) -> Option<(FileId, SettledForm)> {
    let row = main.files().get(id)?.row;
    let is_text = row.blob.is_none() && row.link.is_none();
    is_text.then(|| (id.clone(), SettledForm::of_name(&row.name)))
}

/// Returns the files that are kept as rich text.
pub(super) fn rich_files(main: &MainDoc) -> Vec<FileId> {
    let texts = visible_contents(main).1.into_iter();
    texts.filter(|(_, form)| *form == SettledForm::RichText).map(|(id, _)| id).collect()
}

fn replaced_files(main: &MainDoc) -> Vec<ReplacedFile> {
    let trashed = main.tree().trashed().filter(|node| !node.is_purged());
    let rows = trashed.filter_map(|node| Some(main.files().get(node.id()?)?.row));
    let replaced = rows.filter_map(|row| {
        let Some(Any::Map(meta)) = &row.meta else { return None };
        let text = |key| match meta.get(key)? {
            Any::String(text) => Some(&**text),
            _ => None,
        };
        let by = FileId::parse(text(REPLACED_KEY)?).ok()?;
        let taken_hash = text(HELD_KEY)?.to_owned();
        Some(ReplacedFile { by, taken_hash, row })
    });
    replaced.collect()
}

fn moved_away(main: &MainDoc) -> Vec<MovedAway> {
    let trashed = main.tree().trashed().filter(|node| !node.is_purged());
    let moved = trashed.filter_map(|node| {
        let id = node.id()?.clone();
        let Some(Any::Map(meta)) = main.files().get(&id)?.row.meta else { return None };
        let Any::String(home) = meta.get(MOVED_KEY)? else { return None };
        let nodes = std::iter::once(node).chain(node.descendants());
        let files = nodes.filter(|node| !node.is_directory()).filter_map(|node| node.id().cloned());
        Some(MovedAway { files: files.collect(), home: home.to_string(), id })
    });
    moved.collect()
}
