//! Makes and renews the index.
//!
//! No lock of the workspace is held while texts are read. What is written meanwhile is after the
//! position of the new index, so it is read by every query.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use yfs_engine::{
    id::FileId,
    kind::{FileCategory, profile_name},
    table::{BlobRef, NodeKind},
};
use yfs_store::checkpoint::{CheckpointError, CheckpointWriter};
use yfs_store::{DerivedLabel, Seq};
use yfs_vfs::grep::searched_text;

use super::{
    ContentForm, MARKS_KEY, MAX_BLOB_BYTES, SearchIndexHome, SearchIndexes,
    batch::UnitWriter,
    binary_files::{BinaryFile, BinaryPlace, ChangedPlaces},
    index_map::{self, IndexHead, SearchMap},
    stored_text::text_key,
};
use crate::{
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
    fs::bytes_of,
};

/// The form of a file whose row changed while its text was read: it is read for every query.
const UNKNOWN_FORM: &[u8] = b"?";

/// After so many files, a thread that follows the log looks for news.
const FILES_PER_LOOK: usize = 256;

/// The files to index.
#[derive(Debug)]
struct IndexPlan {
    /// In the order of indexing: files that were written together are in one unit.
    files: Vec<(FileId, ContentForm)>,
    /// What else may have another place than the base has.
    changed: ChangedPlaces,
    position: Seq,
}

impl SearchIndexes {
    /// Renews the index, or makes a new one. Reports whether it did: not if another process does,
    /// or the workspace was closed meanwhile.
    pub(crate) fn renew_index(&self, core: &WorkspaceCore) -> Result<bool> {
        let Some(home) = &self.home else { return Ok(false) };
        core.refresh()?;
        let profile = profile_name(core.main.read().profile());
        let base = home.open()?.filter(|base| {
            base.head.profile == profile && base.head.n_outdated <= base.head.n_files
        });
        if let Some(base) = base {
            match self.renew_from(core, home, &base) {
                Ok(Some(is_renewed)) => return Ok(is_renewed),
                // Too much changed, or the base is damaged.
                Ok(None) | Err(WorkspaceError::CheckpointFiles(CheckpointError::Damaged(_))) => {}
                Err(error) => return Err(error),
            }
        }
        let marks = home.marks()?;
        let writer = CheckpointWriter::begin(&home.directory)?;
        let Some(writer) = writer else { return Ok(false) };
        let plan = self.plan_all(core)?;
        self.write_index(core, home, writer, None, plan, &marks)
    }

    /// Renews the index by what changed; `None` if that is most of it, or not known.
    fn renew_from(
        &self,
        core: &WorkspaceCore,
        home: &SearchIndexHome,
        base: &SearchMap,
    ) -> Result<Option<bool>> {
        let marks = home.marks()?;
        let writer = match CheckpointWriter::begin_from(&home.directory, &base.map) {
            Ok(Some(writer)) => writer,
            Ok(None) | Err(CheckpointError::Stale) => return Ok(Some(false)),
            Err(error) => return Err(error.into()),
        };
        let max = usize::try_from(base.head.n_files / 2).unwrap_or(usize::MAX);
        let Some(tail) = self.changes_after(core, base.label.position, max)? else {
            return Ok(None);
        };
        let main = core.main.read();
        let mut ids: Vec<FileId> = tail.contents;
        let contents: HashSet<FileId> = ids.iter().cloned().collect();
        for id in &tail.rows {
            if self.is_outdated(base, &main, id)? && !contents.contains(id) {
                ids.push(id.clone());
            }
        }
        let with_form = |id: FileId| ContentForm::of(&main, &id).map(|form| (id, form));
        let files = ids.into_iter().filter_map(with_form).collect();
        let changed = ChangedPlaces::new(main.tree(), tail.rows);
        drop(main);
        let plan = IndexPlan { files, changed, position: tail.upto };
        self.write_index(core, home, writer, Some(base), plan, &marks).map(Some)
    }

    /// Returns all files, in the order in which they were written last.
    fn plan_all(&self, core: &WorkspaceCore) -> Result<IndexPlan> {
        let (position, mut forms) = {
            // Then a row that is in the log is in the main document, too.
            let _tailing = core.tailing.lock();
            let main = core.main.read();
            let mut forms = BTreeMap::new();
            let rows = main.files().iter().map(|entry| entry.row);
            for row in rows.filter(|row| row.kind == NodeKind::File && row.link.is_none()) {
                let form = match (row.blob, FileCategory::of(&row.name)) {
                    (Some(blob), _) => ContentForm::Blob(blob),
                    (None, FileCategory::Text) => ContentForm::Text,
                    (None, FileCategory::RichText) => ContentForm::Rich,
                };
                forms.insert(row.id, form);
            }
            (core.tailed(), forms)
        };
        let mut files = Vec::with_capacity(forms.len());
        self.for_each_content_after(core, Seq(0), |doc| {
            files.extend(forms.remove_entry(&FileId::from(doc)));
            true
        })?;
        files.extend(forms);
        Ok(IndexPlan { files, changed: ChangedPlaces::default(), position })
    }

    fn write_index(
        &self,
        core: &WorkspaceCore,
        home: &SearchIndexHome,
        mut writer: CheckpointWriter,
        base: Option<&SearchMap>,
        plan: IndexPlan,
        marks: &[u8],
    ) -> Result<bool> {
        let mut head = base.map(|base| base.head.clone()).unwrap_or_default();
        head.profile = profile_name(core.main.read().profile()).to_owned();
        let mut units = UnitWriter::new(&mut writer, base);
        for (n_files, (id, form)) in plan.files.iter().enumerate() {
            if n_files % FILES_PER_LOOK == 0 {
                // A process that discards the index waits for this writer.
                if core.check_open().is_err() || home.marks()? != marks {
                    return Ok(false);
                }
                if core.options.follow {
                    core.catch_up()?;
                }
            }
            self.index_file(core, home, &mut units, base, (id, *form), &mut head)?;
        }
        if let Some(base) = base {
            self.renew_places(core, &mut units, base, &plan)?;
        }
        self.forget_unsure_forms(core, &mut units, &plan)?;
        units.finish()?;
        (head.next_unit, head.batches) = (units.next_unit, units.batches);
        let (key, value) = head.encode();
        writer.set(key, Some(&value))?;
        let Some(label) = DerivedLabel::new(plan.position) else { return Ok(false) };
        // The index was discarded, so it may have what is to be forgotten.
        if home.marks()? != marks {
            return Ok(false);
        }
        core.store.set_meta(MARKS_KEY, &label.add_to(marks))?;
        writer.finish(&label.encode())?;
        home.close_texts();
        Ok(true)
    }

    fn index_file(
        &self,
        core: &WorkspaceCore,
        home: &SearchIndexHome,
        units: &mut UnitWriter<'_>,
        base: Option<&SearchMap>,
        (id, form): (&FileId, ContentForm),
        head: &mut IndexHead,
    ) -> Result<()> {
        let form_key = index_map::id_key(b'F', id);
        let (always_key, binary_key) = (index_map::id_key(b'A', id), index_map::id_key(b'B', id));
        let before = base.map(|base| base.form(id)).transpose()?.flatten();
        if before.is_some() {
            head.n_outdated += 1;
            units.set(&always_key, None)?;
            units.set(&binary_key, None)?;
            units.set(&text_key(id), None)?;
        } else {
            head.n_files += 1;
        }
        units.set(&form_key, Some(&form.encode()))?;
        let bytes = match form {
            ContentForm::Blob(blob) => self.indexed_blob(core, blob),
            _ => self.texts.read_once(core, id).ok().map(|text| {
                let stored = home.text_to_store(core, id, &text)?;
                if let Some(stored) = stored {
                    units.set(&text_key(id), Some(&stored))?;
                }
                Ok::<_, WorkspaceError>(bytes_of(text.content))
            }),
        };
        match bytes.transpose()? {
            Some(bytes) => match searched_text(&bytes) {
                Some(text) => units.add(id, &text),
                None => {
                    let place = BinaryPlace::of(&core.main.read(), id);
                    let file = BinaryFile { size: bytes.len() as u64, place };
                    units.set(&binary_key, Some(&file.encode()))
                }
            },
            None => units.set(&always_key, Some(b"")),
        }?;
        Ok(())
    }

    /// Renews the places of files that are not text, of those that were not indexed again.
    fn renew_places(
        &self,
        core: &WorkspaceCore,
        units: &mut UnitWriter<'_>,
        base: &SearchMap,
        plan: &IndexPlan,
    ) -> Result<(), CheckpointError> {
        let indexed: HashSet<&FileId> = plan.files.iter().map(|(id, _)| id).collect();
        let main = core.main.read();
        base.for_each_binary(|id, mut file| {
            let is_looked_up = file.place == BinaryPlace::LookedUp;
            if !(is_looked_up || plan.changed.has(&id, &file.place)) || indexed.contains(&id) {
                return Ok(());
            }
            file.place = BinaryPlace::of(&main, &id);
            units.set(&index_map::id_key(b'B', &id), Some(&file.encode()))
        })
    }

    /// Returns the bytes of a blob; `None` if it is too large, or cannot be read.
    fn indexed_blob(&self, core: &WorkspaceCore, blob: BlobRef) -> Option<Result<Bytes>> {
        if blob.size > MAX_BLOB_BYTES {
            return None;
        }
        let bytes = core.store.read_blob(&blob.hash, 0..blob.size).ok()?;
        Some(Ok(bytes.into()))
    }

    /// Makes the forms unknown of files whose rows may have changed, and changed back, while their
    /// texts were read.
    fn forget_unsure_forms(
        &self,
        core: &WorkspaceCore,
        units: &mut UnitWriter<'_>,
        plan: &IndexPlan,
    ) -> Result<()> {
        if core.store.doc_head(&core.main_name)?.seq <= plan.position {
            return Ok(());
        }
        let changed: HashSet<FileId> = core.main.read().files().changed_ids().cloned().collect();
        for (id, _) in plan.files.iter().filter(|(id, _)| changed.contains(id)) {
            let key = index_map::id_key(b'F', id);
            units.set(&key, Some(UNKNOWN_FORM))?;
        }
        Ok(())
    }
}
