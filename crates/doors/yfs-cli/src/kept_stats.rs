//! Statistics of files that commands keep in the workspace's store, for later commands.
//!
//! A command that reads opens the store for reading. The statistics that it had to make are put by
//! a second connection; where the store cannot be written, they are made again next time.

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use yfs::Workspace;
use yfs_artifacts::{DerivedShelf, KeptAnalyses};
use yfs_store::{LocalState, SqliteStore};

use crate::{context::CommandContext, errors::Result, workspace_key};

/// The statistics in the store of a workspace that is open for reading.
#[derive(Debug)]
struct StoreShelf {
    reading: Workspace,
    file: PathBuf,
    writing: Mutex<WritingStore>,
}

/// The connection that keeps statistics, opened when the first ones are made.
#[derive(Debug, Default)]
enum WritingStore {
    #[default]
    Unopened,
    Open(SqliteStore),
    Failed,
}

impl DerivedShelf for StoreShelf {
    fn fetch(&self, key: &str) -> Option<Vec<u8>> {
        self.reading.store().get_meta(key).ok().flatten()
    }

    fn put(&self, key: &str, value: &[u8]) {
        let mut writing = self.writing.lock();
        if matches!(*writing, WritingStore::Unopened) {
            let opened = workspace_key::open_store(&self.file);
            *writing = opened.map_or(WritingStore::Failed, WritingStore::Open);
        }
        if let WritingStore::Open(store) = &*writing {
            store.set_meta(key, value).ok();
        }
    }
}

/// Returns the statistics of the workspace's files: as they are, or as they were.
pub(crate) fn kept_stats(context: &mut CommandContext) -> Result<KeptAnalyses> {
    if context.past().is_some() {
        // The store keeps those of the present.
        return Ok(KeptAnalyses::new(context.reader()?));
    }
    let (reading, file) = (context.readable()?, context.file()?);
    let fs = Arc::new(reading.fs_for(context.actor()));
    let shelf = StoreShelf { reading, file, writing: Mutex::default() };
    Ok(KeptAnalyses::new(fs).with_shelf(Arc::new(shelf)))
}
