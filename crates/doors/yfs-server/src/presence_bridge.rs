//! Connects the rooms of this server with the process that connects the peers: the editors of this
//! server are sent to it, and those of other peers come from it.
//!
//! The task ends with the server. While there is no such process, it tries again every second.

use std::{convert::Infallible, io, path::Path, pin::pin, time::Duration};

use futures::StreamExt;
use tokio::time::sleep;
use yfs_engine::id::WorkspaceId;
use yfs_peer::{LocalPresence, PresenceSender};

use crate::rooms::DocumentRooms;

/// The delay before the next attempt to connect.
const AGAIN: Duration = Duration::from_secs(1);

/// How long changes are collected.
const WINDOW: Duration = Duration::from_millis(40);

/// The pause per byte: at most 64 KiB a second.
const PAUSE_PER_BYTE: Duration = Duration::from_nanos(15_000);

/// Connects the rooms while the server runs.
pub(crate) async fn run(
    rooms: &DocumentRooms,
    store_dir: Option<&Path>,
    workspace: &WorkspaceId,
) -> Infallible {
    loop {
        if let Some(dir) = store_dir
            && let Ok(connection) = LocalPresence::connect(dir, workspace).await
        {
            rooms.set_shared(true);
            exchange(rooms, connection).await.ok();
            rooms.set_shared(false);
        }
        sleep(AGAIN).await;
    }
}

async fn exchange(rooms: &DocumentRooms, connection: LocalPresence) -> io::Result<()> {
    let (sender, received) = connection.split();
    let mut received = pin!(received);
    let mut send = pin!(send_all(rooms, sender));
    loop {
        tokio::select! {
            sent = &mut send => return sent,
            remote = received.next() => match remote.transpose()? {
                Some(remote) => rooms.receive_remote(&remote),
                None => return Ok(()),
            },
        }
    }
}

async fn send_all(rooms: &DocumentRooms, mut sender: PresenceSender) -> io::Result<()> {
    loop {
        let docs = rooms.changed_documents().await;
        sleep(WINDOW).await;
        for doc in docs {
            let editors = rooms.editors_of(&doc);
            let entries = editors.iter().map(|(id, clock, state)| {
                yfs_sync::presence::PresenceEntry { id: *id, clock: *clock, state }
            });
            let len = sender.send(&doc, entries).await?;
            sleep(PAUSE_PER_BYTE * u32::try_from(len).unwrap_or(u32::MAX)).await;
        }
    }
}
