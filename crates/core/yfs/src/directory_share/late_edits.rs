//! Edits by peers of a share in files that have left the directory. They stay in the share; the
//! origin lists such files among its conflicts until they are back.

use std::collections::BTreeSet;

use yfs_engine::{gate::writers, id::FileId, main_doc::EMPTY_UPDATE};
use yfs_store::Store;

use super::{DirectoryShare, content_exchange::read_side};
use crate::{
    core::WorkspaceCore,
    error::Result,
    workspace::conflict_report::{ConflictKind, ConflictReport, path_of},
};

/// The setting of the origin's store with the ids of the files, a line for each.
const LATE_SETTING: &str = "share.late-edits";

/// The most files that are listed.
const MAX_FILES: usize = 256;

impl DirectoryShare {
    /// Lists a file that left if the share has edits of it that the origin lacks.
    pub(super) fn note_late_edit(&self, id: &FileId) -> Result<()> {
        let [origin, share] = [&self.origin.state, &self.share.state];
        let was_passed_on = self.records.get(id).is_some();
        if !was_passed_on || !origin.is_file(id) || !share.is_file(id) {
            return Ok(());
        }
        let known = origin.documents.read_once(id, |loaded| loaded.doc.gate().state_vector())?;
        let update = read_side(share, id, &known)?.update;
        if update == EMPTY_UPDATE || writers(&update)?.is_empty() {
            return Ok(());
        }
        self.change_late_edits(|late| late.len() < MAX_FILES && late.insert(id.clone()))
    }

    /// Takes a file off the list: it is back, and has the edits.
    pub(super) fn forget_late_edit(&self, id: &FileId) -> Result<()> {
        self.change_late_edits(|late| late.remove(id))
    }

    fn change_late_edits(&self, change: impl Fn(&mut BTreeSet<FileId>) -> bool) -> Result<()> {
        let store = &*self.origin.state.store;
        let mut late = late_edits(store)?;
        if change(&mut late) {
            let lines: Vec<&str> = late.iter().map(FileId::as_str).collect();
            store.set_meta(LATE_SETTING, lines.join("\n").as_bytes())?;
        }
        Ok(())
    }
}

/// Returns a conflict for each file that peers of a shared directory edited after it had left.
pub(crate) fn late_share_edits(core: &WorkspaceCore) -> Result<Vec<ConflictReport>> {
    let late = late_edits(&*core.store)?;
    let main = core.main.read();
    let is_visible = |id: &FileId| main.tree().node(id).is_some_and(|node| node.is_visible());
    let late = late.into_iter().filter(is_visible);
    let detail = "a peer of a shared directory edited it after it had left the directory; the \
                  edit is in the trash of the share, and comes when the file is moved back";
    let report = |id: FileId| {
        let path = path_of(&main, &id);
        ConflictReport { kind: ConflictKind::Late, id, path, detail: detail.to_owned() }
    };
    Ok(late.map(report).collect())
}

fn late_edits(store: &dyn Store) -> Result<BTreeSet<FileId>> {
    let stored = store.get_meta(LATE_SETTING)?.unwrap_or_default();
    let lines = String::from_utf8_lossy(&stored);
    Ok(lines.lines().filter_map(|line| FileId::parse(line).ok()).collect())
}
