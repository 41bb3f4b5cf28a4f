//! Where a share goes on after a restart: marks of both logs, and the contents that are not
//! exchanged yet.

use yfs_engine::id::FileId;

use super::{DirectoryShare, LogPositions};
use crate::{error::Result, replica::LogCursor};

/// The setting of the share's store with the marks of both logs.
const MARKS_SETTING: &str = "share.marks";

/// The setting of the share's store with the files whose contents are not exchanged yet.
const PENDING_SETTING: &str = "share.pending";

impl DirectoryShare {
    /// Continues from the marks that were stored last. If a log does not have its mark, all
    /// contents are compared, and rows are as if nothing had been passed on before.
    pub(super) fn resume(&mut self) -> Result<()> {
        let stored = self.share.state.store.get_meta(MARKS_SETTING)?.unwrap_or_default();
        if let Some(positions) = self.find_positions(&stored)? {
            self.positions = positions;
            let pending = self.share.state.store.get_meta(PENDING_SETTING)?.unwrap_or_default();
            let ids = pending.split(|byte| *byte == b'\n');
            let ids = ids.filter_map(|id| FileId::parse(std::str::from_utf8(id).ok()?).ok());
            self.dirty.extend(ids);
            return Ok(());
        }
        self.positions = LogPositions {
            origin: self.origin.state.store.head()?,
            share: self.share.state.store.head()?,
        };
        if self.records.ids().next().is_some() {
            self.records.forget_fields()?;
            self.dirty = self.records.ids().cloned().collect();
        }
        Ok(())
    }

    fn find_positions(&self, stored: &[u8]) -> Result<Option<LogPositions>> {
        let parse = || {
            let (origin, share) = std::str::from_utf8(stored).ok()?.split_once(' ')?;
            Some((origin.parse::<LogCursor>().ok()?, share.parse::<LogCursor>().ok()?))
        };
        let Some((origin, share)) = parse() else { return Ok(None) };
        let origin = self.origin.state.find_mark(&origin)?;
        let share = self.share.state.find_mark(&share)?;
        Ok(origin.zip(share).map(|(origin, share)| LogPositions { origin, share }))
    }

    /// Stores marks of what was passed on.
    pub(super) fn store_marks(&mut self) -> Result<()> {
        let origin = self.origin.state.mark(self.positions.origin, false)?;
        let share = self.share.state.mark(self.positions.share, false)?;
        let marks = format!("{origin} {share}");
        let pending: Vec<&str> = self.dirty.iter().map(FileId::as_str).collect();
        let pending = pending.join("\n");
        let both = format!("{marks}\n{pending}");
        if both != self.stored_marks {
            let store = &self.share.state.store;
            // The marks cover what is pending.
            store.set_meta(PENDING_SETTING, pending.as_bytes())?;
            store.set_meta(MARKS_SETTING, marks.as_bytes())?;
            self.stored_marks = both;
        }
        Ok(())
    }
}
