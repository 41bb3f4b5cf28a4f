//! One WebSocket connection to one document, by the y-websocket protocol.
//!
//! The session ends when the client goes, sends what is refused, or falls too far behind: a slow
//! reader is dropped, an update never.

use std::sync::Arc;

use tokio::time::interval;
use yfs_sync::{collab::Seat as _, hub::HubSession, message::Message};

use crate::{
    entry::{APPEARANCE, Entry, Pass},
    rooms::{Outbox, Seat},
    serve::App,
    upgrade::Socket,
    wire::{Ending, Heard, TICK, Wire},
};

struct Session {
    app: App,
    guid: String,
    pass: Pass,
    hub: HubSession,
    outbox: Arc<Outbox>,
    seat: Seat,
}

/// Serves a connection until it ends.
pub(crate) async fn run(socket: Socket, app: App, guid: String, pass: Pass) {
    let mut wire = Wire::new(socket, app.metrics.clone());
    let ending = match enter(app, guid, pass, wire.outbox()).await {
        Ok(mut session) => {
            wire.trust();
            session.serve(&mut wire).await.err()
        }
        Err(ending) => {
            // Clients up to version 3.0 know nothing of close codes.
            let denied = Message::Denied(ending.reason()).encode();
            wire.send([denied]).await.ok();
            Some(ending)
        }
    };
    if let Some(ending) = ending {
        wire.end(ending).await;
    }
}

async fn enter(app: App, guid: String, pass: Pass, outbox: Arc<Outbox>) -> Result<Session, Ending> {
    let Entry { port, access } = app.open_within(&guid, &pass, &mut { APPEARANCE }).await?;
    // Entered before any state is taken, so that nothing falls between.
    let seat = app.rooms.enter(port, &outbox, &[]);
    let hub = HubSession::new(seat.connection(), access);
    Ok(Session { app, guid, pass, hub, outbox, seat })
}

impl Session {
    /// Serves until the client leaves (`Ok`) or has to leave.
    async fn serve(&mut self, wire: &mut Wire) -> Result<(), Ending> {
        let mut ticks = interval(TICK);
        loop {
            tokio::select! {
                heard = wire.hear() => match heard {
                    Heard::Message(message) => self.receive(wire, &message).await?,
                    Heard::Gone => return Ok(()),
                    Heard::Fault(ending) => return Err(ending),
                },
                frames = self.outbox.take() => {
                    wire.send(frames?).await?;
                    if self.outbox.take_probe() {
                        wire.probe().await?;
                    }
                }
                _ = ticks.tick() => {
                    self.pass.check(&self.app, &self.guid)?;
                    wire.tick().await?;
                }
            }
        }
    }

    async fn receive(&mut self, wire: &mut Wire, message: &[u8]) -> Result<(), Ending> {
        let admitted = match Message::is_step_1(message) {
            true => Some(self.app.admit(self.seat.joins()).await?),
            false => None,
        };
        let now = self.app.rooms.now();
        let answer = self.hub.receive(&mut self.seat, message, now)?;
        wire.answer(answer.frames, admitted).await?;
        if let Some(update) = answer.relay {
            self.seat.relay(&update);
        }
        Ok(())
    }
}
