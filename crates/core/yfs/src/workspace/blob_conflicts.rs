//! Conflicts in files that are bytes: other bytes that were written at the same time, and words
//! that were typed into the text that the bytes replaced.

use yfs_engine::{
    content::{ContentDoc, NewBlob},
    id::FileId,
    main_doc::MainDoc,
    table::BlobRef,
};

use super::{
    conflict_report::{ConflictKind, ConflictReport, path_of, shell_word},
    versions::numbers_of_texts,
};
use crate::{
    core::WorkspaceCore,
    error::Result,
    fs::{ContentLocation, ResolvedFile},
};

/// The number of typed texts that are shown, and the length of each, in characters.
const MAX_SHOWN: usize = 8;
const MAX_SHOWN_LEN: usize = 64;

/// Conflicts in one file.
struct BlobConflicts {
    /// The number of other bytes that were written at the same time.
    n_others: usize,
    typed: Vec<String>,
    /// The number of the version with the typed words.
    text_version: Option<u64>,
}

/// Returns the conflicts of those files whose content is bytes.
pub(super) fn blob_conflicts<'a>(
    core: &WorkspaceCore,
    ids: impl IntoIterator<Item = &'a FileId>,
) -> Result<Vec<ConflictReport>> {
    let mut conflicts = Vec::new();
    for id in ids {
        let Some(blob) = visible_blob(&core.main.read(), id) else { continue };
        let found = ResolvedFile { id: id.clone(), location: ContentLocation::Blob(blob) };
        let read = |doc: &ContentDoc| BlobConflicts::of(doc, &found);
        let of_file = core.documents.acquire(id).with(|loaded| read(&loaded.doc))?;
        let path = path_of(&core.main.read(), id);
        conflicts.extend(of_file.describe(&path).into_iter().map(|detail| ConflictReport {
            kind: ConflictKind::Blob,
            id: id.clone(),
            path: path.clone(),
            detail,
        }));
    }
    Ok(conflicts)
}

/// Lists the bytes of a file once more, as a version whose writer knows the typed words.
/// Returns whether there were such words.
pub(super) fn accept_bytes(core: &WorkspaceCore, id: &FileId) -> Result<bool> {
    let author = core.author_now().with_label("resolve");
    core.annotate(id, |doc| {
        let heads = doc.blobs().heads();
        let [head] = heads.as_slice() else { return Ok(None) };
        if doc.typed_beside_bytes()?.is_empty() {
            return Ok(None);
        }
        let blob = NewBlob { hash: head.hash, size: head.size, mime: head.mime.clone() };
        Ok(doc.edit_registers().add_blob_version(&blob, &author)?)
    })
}

impl BlobConflicts {
    fn of(doc: &ContentDoc, found: &ResolvedFile) -> Self {
        let n_others = doc.blobs().heads().len().saturating_sub(1);
        // `fsck` reports a document that cannot be read.
        let typed = doc.typed_beside_bytes().unwrap_or_default();
        let has_typed = !typed.is_empty();
        let text_version = has_typed.then(|| numbers_of_texts(doc, found).last().copied());
        Self { n_others, typed, text_version: text_version.flatten() }
    }

    fn describe(&self, path: &str) -> Vec<String> {
        let mut details = Vec::new();
        if self.n_others > 0 {
            details.push(format!("{} other contents were written at the same time", self.n_others));
        }
        if self.typed.is_empty() {
            return details;
        }
        let shown = self.typed.iter().take(MAX_SHOWN).map(|words| {
            let cut = words.chars().take(MAX_SHOWN_LEN).collect::<String>();
            format!("\"{cut}\"")
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = match self.typed.len().saturating_sub(MAX_SHOWN) {
            0 => String::new(),
            n_more => format!(" and {n_more} more texts"),
        };
        let path = shell_word(path);
        let place = match self.text_version {
            Some(number) => format!("version {number}: yfs versions restore {path} {number}"),
            None => format!("among the versions: yfs versions ls {path}"),
        };
        details.push(format!(
            "{shown}{more} was typed into the text that another writer replaced by bytes; that \
             text is {place}"
        ));
        details
    }
}

/// Returns the bytes of a file that is visible and no text.
fn visible_blob(main: &MainDoc, id: &FileId) -> Option<BlobRef> {
    let is_visible = main.tree().node(id).is_some_and(|node| node.is_visible());
    main.files().get(id).filter(|_| is_visible)?.row.blob
}
