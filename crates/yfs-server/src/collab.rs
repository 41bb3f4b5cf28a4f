//! One WebSocket connection to any number of documents, by the Hocuspocus protocol.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{body::Bytes, extract::ws::WebSocket};
use tokio::{
    task::block_in_place,
    time::{Instant, sleep_until},
};
use yfs_sync::{
    collab::{Collab, Desk, PING, Request, is_step_1, prefix},
    hub::Access,
};

use crate::{
    entry::{Entry, Pass},
    rooms::{Outbox, Outgoing, Seat},
    serve::App,
    wire::{Ending, Heard, Wire},
};

/// After how long a silence we ask whether the client is there; it goes away after 30 seconds.
const SILENCE: Duration = Duration::from_secs(12);

/// How long a connection may take to open its first document.
const PATIENCE: Duration = Duration::from_secs(20);

/// The documents of one connection.
#[derive(Debug)]
struct Documents {
    app: App,
    /// What the connection said when it was opened; what it says of a document counts first.
    pass: Pass,
    /// With what each document was opened.
    passes: BTreeMap<String, Pass>,
    outbox: Arc<Outbox>,
}

/// Serves a connection until it ends.
pub(crate) async fn run(socket: WebSocket, app: App, pass: Pass) {
    let mut wire = Wire::new(socket, app.metrics.clone());
    let outbox = Arc::<Outbox>::default();
    let mut documents = Documents { app, pass, passes: BTreeMap::new(), outbox };
    if let Err(ending) = serve(&mut wire, &mut documents).await {
        wire.end(ending).await;
    }
}

/// Serves until the client leaves (`Ok`) or has to leave.
async fn serve(wire: &mut Wire, documents: &mut Documents) -> Result<(), Ending> {
    let mut collab = Collab::default();
    let outbox = documents.outbox.clone();
    let began = Instant::now();
    let (mut sent, mut tick) = (began, wire.next_tick());
    loop {
        tokio::select! {
            heard = wire.hear() => {
                let Heard::Message(frame) = heard else { return Ok(()) };
                // Held until the state is sent, which bounds how many states are in memory.
                let admitted = match is_step_1(&frame) {
                    true => Some(documents.app.admit().await?),
                    false => None,
                };
                let now = documents.app.rooms.now();
                let answer = collab.receive(documents, &frame, now)?;
                wire.send(answer.into_iter().map(Into::into)).await?;
                drop(admitted);
                sent = Instant::now();
            }
            frames = outbox.take() => {
                wire.send(frames?.into_iter().map(Outgoing::into_frame)).await?;
                sent = Instant::now();
            }
            () = sleep_until(sent + SILENCE) => {
                wire.send([Bytes::from_static(&PING)]).await?;
                sent = Instant::now();
            }
            () = sleep_until(tick) => {
                tick = wire.next_tick();
                documents.check()?;
                if documents.passes.is_empty() && began.elapsed() >= PATIENCE {
                    return Err(Ending::unauthorized("no document was opened"));
                }
                wire.tick().await?;
            }
        }
    }
}

impl Documents {
    /// Looks whether what the documents were opened with still counts.
    fn check(&mut self) -> Result<(), Ending> {
        self.passes.iter_mut().try_for_each(|(guid, pass)| pass.check(&self.app, guid))
    }
}

impl Desk for Documents {
    type Seat = Seat;

    fn open(&mut self, request: &Request<'_>) -> Result<(Seat, Access), String> {
        let pass = if request.token.is_empty() {
            self.pass.clone()
        } else {
            Pass::new(request.token.to_owned())
        };
        let opened = block_in_place(|| self.app.open(request.name, &pass));
        let Entry { port, access } = opened.map_err(|ending| ending.reason().to_owned())?;
        // Entered before any state is taken, so that nothing falls between.
        let seat = self.app.rooms.enter(port, &self.outbox, &prefix(request.key));
        self.passes.insert(request.name.to_owned(), pass);
        Ok((seat, access))
    }
}
