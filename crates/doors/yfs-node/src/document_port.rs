//! Documents, for programs that carry Yjs updates: a provider, an editor, a server in JavaScript.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify};
use yfs::{DocPort, subscription::Subscription};

use crate::prelude::*;

/// A document: states, differences, updates in and out.
#[derive(Debug)]
#[napi]
pub struct NativePort {
    slot: WorkspaceSlot,
    guid: String,
    /// Gone once it is closed, so that the workspace may go as well.
    port: Arc<std::sync::Mutex<Option<DocPort>>>,
    /// Held by the one call of [`NativePort::next`] that waits.
    updates: Arc<Mutex<Subscription>>,
    /// Ends that call; notified when the port is closed.
    closing: Arc<Notify>,
}

/// What came next of a document.
#[expect(missing_debug_implementations, reason = "the bytes of napi have none")]
#[napi(object)]
pub struct NativeUpdate {
    /// An update; none if some were lost because they were not fetched in time.
    pub update: Option<Uint8Array>,
}

impl NativePort {
    pub(crate) fn new(slot: WorkspaceSlot, port: DocPort) -> Self {
        Self {
            slot,
            guid: port.guid().as_str().to_owned(),
            updates: Arc::new(Mutex::new(port.subscribe())),
            port: Arc::new(std::sync::Mutex::new(Some(port))),
            closing: Arc::new(Notify::new()),
        }
    }

    fn port(&self) -> napi::Result<DocPort> {
        self.slot.get()?;
        lock(&self.port).clone().ok_or_else(error::closed)
    }
}

#[napi]
impl NativePort {
    /// The guid of the document.
    #[napi(getter)]
    pub fn guid(&self) -> String {
        self.guid.clone()
    }

    /// Returns the state vector.
    #[napi]
    pub fn state_vector(&self) -> napi::Result<OwnedFuture<Uint8Array>> {
        let port = self.port()?;
        Ok(OwnedFuture::blocking(move || {
            port.state_vector().map(Uint8Array::new).map_err(error::of)
        }))
    }

    /// Returns what a peer with this state vector lacks, as an update.
    #[napi]
    pub fn diff(&self, state_vector: Uint8ArraySlice<'_>) -> napi::Result<OwnedFuture<Uint8Array>> {
        let (port, vector) = (self.port()?, state_vector.to_vec());
        Ok(OwnedFuture::blocking(move || {
            port.diff(&vector).map(Uint8Array::new).map_err(error::of)
        }))
    }

    /// Takes a peer's update through the gate. Once it returns, the update is in the log.
    #[napi]
    pub fn receive(&self, update: Uint8ArraySlice<'_>) -> napi::Result<OwnedFuture<()>> {
        let (port, update) = (self.port()?, update.to_vec());
        Ok(OwnedFuture::blocking(move || port.receive(&update).map_err(error::of)))
    }

    /// Waits for the next update since the document was opened; nothing once the port is closed.
    #[napi]
    pub fn next(&self) -> napi::Result<OwnedFuture<Option<NativeUpdate>>> {
        let (updates, closing) = (self.updates.clone(), self.closing.clone());
        let port = self.port.clone();
        Ok(OwnedFuture::future(async move {
            let mut updates = updates.lock().await;
            if lock(&port).is_none() {
                return Ok(None);
            }
            let received = tokio::select! {
                received = updates.recv() => received,
                () = closing.notified() => return Ok(None),
            };
            // A reader that fell too far behind follows anew, and must ask for the difference.
            if received.is_none() {
                let Some(port) = lock(&port).clone() else { return Ok(None) };
                *updates = port.subscribe();
            }
            let update = received.map(|update| Uint8Array::new(update.to_vec()));
            Ok(Some(NativeUpdate { update }))
        }))
    }

    /// Lets the document go, and ends [`next`](Self::next).
    #[napi]
    pub fn close(&self) {
        lock(&self.port).take();
        self.closing.notify_one();
    }
}

impl Drop for NativePort {
    /// Ends the call that waits: the thread that asked has ended, or has forgotten the port.
    fn drop(&mut self) {
        self.close();
    }
}

fn lock(port: &std::sync::Mutex<Option<DocPort>>) -> std::sync::MutexGuard<'_, Option<DocPort>> {
    port.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
