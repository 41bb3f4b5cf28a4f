//! Changes of a workspace, for callers that wait for them.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;
use yfs_vfs::{ChangeCursor, ChangesOptions, FileSystem};

use crate::prelude::*;

/// How long one question stays open.
const WAIT: Duration = Duration::from_secs(30);

/// The greatest number of changes in one answer.
const LIMIT: usize = 1_000;

/// A place in the log of changes, from which one may wait for more.
#[derive(Debug)]
#[napi]
pub struct NativeWatch {
    slot: WorkspaceSlot,
    /// Ends the call that waits; notified when the watch is closed.
    closing: Arc<Notify>,
}

impl NativeWatch {
    pub(crate) fn new(slot: WorkspaceSlot) -> Self {
        Self { slot, closing: Arc::new(Notify::new()) }
    }
}

#[napi]
impl NativeWatch {
    /// Waits for changes since a cursor; nothing once the watch is closed.
    #[napi]
    pub fn next(&self, since: String) -> napi::Result<OwnedFuture<Option<String>>> {
        let fs = self.slot.get()?.fs();
        let closing = self.closing.clone();
        let since = ChangeCursor::new(since);
        let options = ChangesOptions { limit: LIMIT, wait: Some(WAIT) };
        Ok(OwnedFuture::future(async move {
            let changes = tokio::select! {
                changes = fs.changes(&since, &options) => changes,
                () = closing.notified() => return Ok(None),
            };
            let changes = changes.map_err(error::of)?;
            Ok(Some(message::changes(&changes).to_string()))
        }))
    }

    /// Ends the watching.
    #[napi]
    pub fn close(&self) {
        self.closing.notify_one();
    }
}

impl Drop for NativeWatch {
    /// Ends the call that waits: the thread that asked has ended, or has forgotten the watch.
    fn drop(&mut self) {
        self.close();
    }
}
