//! What the calls on a file's history share: a change of its document that is no change of its text.

use yfs_engine::{
    content::{Author, ContentDoc},
    id::FileId,
};
use yfs_store::{Batch, DocName};

use super::Workspace;
use crate::{error::Result, shared::Shared};

impl Workspace {
    /// Returns on whose behalf the workspace was opened, now.
    pub(super) fn author(&self) -> Author {
        Author::new(self.shared.options.actor.clone(), self.shared.now())
    }
}

impl Shared {
    /// Changes what a document says beside its content; tells whether there was anything to change.
    pub(crate) fn log_change(
        &self,
        id: &FileId,
        change: impl FnOnce(&mut ContentDoc) -> Result<Option<Vec<u8>>>,
    ) -> Result<bool> {
        self.check_writable()?;
        let handle = self.pool.acquire(id);
        let mut slot = handle.locked()?;
        let loaded = slot.as_mut().expect("`locked` loads");
        let update = match change(&mut loaded.doc) {
            Ok(Some(update)) => update,
            Ok(None) => return Ok(false),
            Err(error) => {
                // It may be half done in memory; the log decides.
                *slot = None;
                return Err(error);
            }
        };
        let name = DocName::from(id);
        let batch = Batch::one(name.clone(), update.clone(), self.now());
        match self.append(batch.watching(name.clone(), loaded.seen)) {
            Ok(appended) => {
                handle.logged(&mut slot, appended.last, &appended);
            }
            Err(error) => {
                *slot = None;
                return Err(error);
            }
        }
        handle.charge(&update);
        handle.publish(&update);
        // The text is the same; the version that its readers name is not.
        self.texts.forget(id);
        self.written.lock().insert(name);
        Ok(true)
    }
}
