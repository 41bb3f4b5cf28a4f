//! One WebSocket connection to one document, by the y-websocket protocol.
//!
//! The session ends when the client disconnects, sends an update that is refused, or reads too
//! slowly. Its connection is then closed; no update is skipped.

use std::sync::Arc;

use tokio::time::interval;
use yfs_sync::{collab::CollabDocument as _, hub::HubSession, message::SyncMessage};

use crate::{
    close_reason::CloseReason,
    document_access::{ConnectionCredential, MAX_DOCUMENT_WAIT, OpenedDocument},
    rooms::{ConnectionOutbox, DocSubscription},
    server_state::ServerState,
    upgrade::Socket,
    websocket_wire::{IncomingEvent, TICK, WebsocketWire},
};

struct WebsocketSession {
    app: ServerState,
    guid: String,
    pass: ConnectionCredential,
    hub: HubSession,
    outbox: Arc<ConnectionOutbox>,
    subscription: DocSubscription,
}

/// Serves a connection until it ends.
pub(crate) async fn run(
    socket: Socket,
    app: ServerState,
    guid: String,
    pass: ConnectionCredential,
) {
    let mut wire = WebsocketWire::new(socket, app.metrics.clone());
    let ending = match enter(app, guid, pass, wire.outbox()).await {
        Ok(mut session) => {
            wire.lift_limits();
            session.serve_from_start(&mut wire).await.err()
        }
        Err(ending) => {
            // Clients up to version 3.0 do not know close codes.
            let denied = SyncMessage::Denied(ending.reason()).encode();
            wire.send([denied]).await.ok();
            Some(ending)
        }
    };
    if let Some(ending) = ending {
        wire.end(ending).await;
    }
}

async fn enter(
    app: ServerState,
    guid: String,
    pass: ConnectionCredential,
    outbox: Arc<ConnectionOutbox>,
) -> Result<WebsocketSession, CloseReason> {
    let OpenedDocument { port, access } =
        app.open_within(&guid, &pass, &mut { MAX_DOCUMENT_WAIT }).await?;
    // The connection joins the room before any state is computed, so that it misses no update.
    let subscription = app.rooms.join(port, &outbox, &[]);
    let hub = HubSession::new(subscription.connection(), access);
    Ok(WebsocketSession { app, guid, pass, hub, outbox, subscription })
}

impl WebsocketSession {
    /// Asks the client for its updates before it gets those of others, and serves.
    async fn serve_from_start(&mut self, wire: &mut WebsocketWire) -> Result<(), CloseReason> {
        let admitted = self.app.admit(self.subscription.joins()).await?;
        let question = self.hub.ask(&self.subscription)?;
        wire.answer(vec![question], Some(admitted)).await?;
        self.serve(wire).await
    }

    /// Serves until the client disconnects (`Ok`) or the server ends the session.
    async fn serve(&mut self, wire: &mut WebsocketWire) -> Result<(), CloseReason> {
        let mut ticks = interval(TICK.min(self.app.recheck));
        let mut revoked = self.app.revocations.subscribe();
        loop {
            tokio::select! {
                event = wire.receive() => match event {
                    IncomingEvent::Message(message) => self.receive(wire, &message).await?,
                    IncomingEvent::Gone => return Ok(()),
                    IncomingEvent::Fault(ending) => return Err(ending),
                },
                frames = self.outbox.take() => {
                    wire.send(frames?).await?;
                    if self.outbox.take_probe() {
                        wire.probe().await?;
                    }
                }
                Ok(()) = revoked.changed() => self.pass.check_now(&self.app, &self.guid)?,
                _ = ticks.tick() => {
                    self.pass.check(&self.app, &self.guid)?;
                    wire.tick().await?;
                }
            }
        }
    }

    async fn receive(
        &mut self,
        wire: &mut WebsocketWire,
        message: &[u8],
    ) -> Result<(), CloseReason> {
        let admitted = match SyncMessage::is_step_1(message) {
            true => Some(self.app.admit(self.subscription.joins()).await?),
            false => None,
        };
        let now = self.app.rooms.now();
        let answer = self.hub.receive(&mut self.subscription, message, now)?;
        wire.answer(answer.frames, admitted).await?;
        if let Some(update) = answer.broadcast {
            self.subscription.broadcast_presence(&update);
        }
        Ok(())
    }
}
