//! Emptyings that are held.
//!
//! The Finder and the Explorer write a file by a PUT of nothing, and then one of the content. An
//! empty version between them would take the carets of all editors to the beginning, and would be
//! all that is left if the second PUT never came. So the first is held, and the second takes its
//! place. The emptying is written if the client unlocks the file, or asks for it; otherwise after a
//! while, for clients that are not known to empty first.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{CreateMode, FileSystem, FsError, Stat, VersionBase, WriteOptions};

use crate::{
    client_memory::{HeldTruncation, KnownFile},
    request::DavClient,
    service::{DavCall, DavService},
};

/// How long an emptying waits for the content to begin.
const HOLD_TIME: Duration = Duration::from_secs(10);

impl DavCall<'_> {
    /// Holds the emptying of a file.
    pub(super) fn hold(&self, stat: &Stat) {
        let (client, path) = (&self.caller.client, self.request.path.clone());
        let held = HeldTruncation { path, deadline: Instant::now() + HOLD_TIME };
        let mut memory = self.service.memory.lock();
        let known = memory.get(client, &stat.id);
        let known = known
            .unwrap_or_else(|| KnownFile { version: stat.version.clone(), ..KnownFile::default() });
        let is_watched = known.held.is_some();
        memory.remember(client, &stat.id, KnownFile { held: Some(held), ..known });
        if !is_watched {
            let (service, fs) = (self.service.clone(), self.caller.fs.clone());
            tokio::spawn(watch(service, fs, client.clone(), stat.id.clone()));
        }
    }

    /// Drops what is held of the file whose content comes now. If the content is refused or cut,
    /// the file stays as it was.
    pub(crate) fn drop_holds(&self) {
        let client = &self.caller.client;
        let mut memory = self.service.memory.lock();
        for (id, held) in memory.held(client) {
            if held.path == self.request.path {
                memory.release(client, &id);
            }
        }
    }

    /// Writes the emptyings that this client has begun at a path or right below it, because it asks
    /// for what is there. Clients that empty first ask before the content comes.
    pub(super) async fn write_holds(&self, path: &VPath) -> Result<(), FsError> {
        if self.caller.client.empties_first() {
            return Ok(());
        }
        let is_there =
            |held: &VPath| *held == *path || held.parent().is_some_and(|parent| parent == *path);
        self.write_held_at(is_there).await
    }

    /// Writes the emptyings that this client has begun at a path or anywhere below it.
    pub(super) async fn end_holds(&self, path: &VPath) -> Result<(), FsError> {
        self.write_held_at(|held| held.starts_with(path)).await
    }

    async fn write_held_at(&self, is_there: impl Fn(&VPath) -> bool) -> Result<(), FsError> {
        let (service, client) = (self.service, &self.caller.client);
        let held = service.memory.lock().held(client);
        for (id, held) in held.into_iter().filter(|(_, held)| is_there(&held.path)) {
            let known = service.memory.lock().release(client, &id);
            if let Some(known) = known {
                write_held(service, &self.caller.fs, client, &id, &held.path, known).await?;
            }
        }
        Ok(())
    }
}

/// Waits until the content has come or an emptying waits no longer.
async fn watch(service: Arc<DavService>, fs: Arc<dyn FileSystem>, client: DavClient, id: FileId) {
    loop {
        let held = service.memory.lock().get(&client, &id).and_then(|known| known.held);
        let Some(held) = held else { return };
        if Instant::now() < held.deadline {
            sleep_until(held.deadline).await;
            continue;
        }
        let Some(known) = service.memory.lock().release(&client, &id) else { return };
        if !client.empties_first() {
            // Nothing waits for the outcome: a file that cannot be written keeps its content.
            write_held(&service, &fs, &client, &id, &held.path, known).await.ok();
        }
        return;
    }
}

/// Empties a file, unless another is at its path by now. What others wrote since the client read it
/// is kept.
async fn write_held(
    service: &DavService,
    fs: &Arc<dyn FileSystem>,
    client: &DavClient,
    id: &FileId,
    path: &VPath,
    known: KnownFile,
) -> Result<(), FsError> {
    let Ok(stat) = fs.stat(path).await else { return Ok(()) };
    if stat.id != *id {
        return Ok(());
    }
    let base = known.version.clone().map(VersionBase::Version);
    let options = WriteOptions { create: CreateMode::Never, base, ..WriteOptions::default() };
    let written = fs.write(path, Bytes::new(), &options).await?;
    let known = KnownFile {
        content: written.version.is_none().then(Bytes::new),
        version: written.version,
        held: None,
    };
    service.memory.lock().remember(client, id, known);
    Ok(())
}
