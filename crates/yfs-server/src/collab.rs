//! One WebSocket connection to any number of documents, by the Hocuspocus protocol.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::body::Bytes;
use tokio::{
    task::block_in_place,
    time::{Instant, interval},
};
use yfs_sync::{
    collab::{CollabSession, DocumentOpener, OpenRequest, PING, prefix, request},
    hub::PeerAccess,
};

use crate::{
    document_access::{APPEARANCE, ConnectionCredential, OpenedDocument},
    rooms::{ConnectionOutbox, DocSubscription},
    serve::ServerState,
    upgrade::Socket,
    websocket_wire::{CloseReason, IncomingEvent, TICK, WebsocketWire},
};

/// After how long a silence we ask whether the client is there; it goes away after 30 seconds.
const SILENCE: Duration = Duration::from_secs(12);

/// How long a connection may take to open its first document.
const PATIENCE: Duration = Duration::from_secs(20);

/// The documents of one connection.
#[derive(Debug)]
struct ConnectionDocuments {
    app: ServerState,
    /// What the connection said when it was opened; what it says of a document counts first.
    pass: ConnectionCredential,
    /// By key: which document was opened, and with what.
    passes: BTreeMap<String, (String, ConnectionCredential)>,
    /// Whether nothing was opened yet.
    is_strange: bool,
    /// How long this connection may still wait for documents that are not there.
    patience: Duration,
    /// What became of the request that is answered next, by its key.
    opened: Option<(String, Result<OpenedDocument, CloseReason>)>,
    outbox: Arc<ConnectionOutbox>,
}

/// Serves a connection until it ends.
pub(crate) async fn run(socket: Socket, app: ServerState, pass: ConnectionCredential) {
    let mut wire = WebsocketWire::new(socket, app.metrics.clone());
    let outbox = wire.outbox();
    let (passes, patience) = (BTreeMap::new(), APPEARANCE);
    let mut documents =
        ConnectionDocuments { app, pass, passes, is_strange: true, patience, opened: None, outbox };
    if let Err(ending) = serve(&mut wire, &mut documents).await {
        wire.end(ending).await;
    }
}

/// Serves until the client leaves (`Ok`) or has to leave.
async fn serve(
    wire: &mut WebsocketWire,
    documents: &mut ConnectionDocuments,
) -> Result<(), CloseReason> {
    let mut collab = CollabSession::default();
    let outbox = documents.outbox.clone();
    let began = Instant::now();
    let mut ticks = interval(TICK);
    loop {
        tokio::select! {
            heard = wire.receive() => {
                let frame = match heard {
                    IncomingEvent::Message(frame) => frame,
                    IncomingEvent::Gone => return Ok(()),
                    IncomingEvent::Fault(ending) => return Err(ending),
                };
                let joins = collab.requested_document(&frame).map(DocSubscription::joins);
                let admitted = match joins {
                    Some(joins) => Some(documents.app.admit(joins).await?),
                    None => None,
                };
                if let Some(request) = request(&frame) {
                    documents.open_first(&request).await;
                }
                let now = documents.app.rooms.now();
                let answer = collab.receive(documents, &frame, now)?;
                documents.opened = None;
                if !documents.is_strange {
                    wire.lift_limits();
                }
                wire.answer(answer, admitted).await?;
            }
            frames = outbox.take() => {
                wire.send(frames?).await?;
                if outbox.take_probe() {
                    wire.probe().await?;
                }
            }
            _ = ticks.tick() => {
                let expelled = documents.check(&mut collab);
                wire.send(expelled).await?;
                if documents.is_strange && began.elapsed() >= PATIENCE {
                    return Err(CloseReason::unauthorized("no document was opened"));
                }
                if wire.silence() >= SILENCE {
                    wire.send([Bytes::from_static(&PING)]).await?;
                }
                wire.tick().await?;
            }
        }
    }
}

impl ConnectionDocuments {
    /// Opens a document for the request that is answered next, and waits for it if the connection
    /// may wait.
    async fn open_first(&mut self, request: &OpenRequest<'_>) {
        let pass = self.pass_of(request);
        let opened = self.app.open_within(request.name, &pass, &mut self.patience).await;
        self.opened = Some((request.key.to_owned(), opened));
    }

    /// Returns what a request shows, or else what the connection showed.
    fn pass_of(&self, request: &OpenRequest<'_>) -> ConnectionCredential {
        match request.token {
            "" => self.pass.clone(),
            token => ConnectionCredential::new(token.to_owned()),
        }
    }

    /// Closes the documents for which what they were opened with no longer counts. The others go
    /// on.
    fn check(&mut self, collab: &mut CollabSession<DocSubscription>) -> Vec<Vec<u8>> {
        self.passes.retain(|key, _| collab.is_open(key));
        collab.close_documents(|key| {
            let (guid, pass) = self.passes.get_mut(key)?;
            pass.check(&self.app, guid).err().map(|ending| ending.reason().to_owned())
        })
    }
}

impl DocumentOpener for ConnectionDocuments {
    type Document = DocSubscription;

    fn open(&mut self, request: &OpenRequest<'_>) -> Result<(DocSubscription, PeerAccess), String> {
        let pass = self.pass_of(request);
        let opened = match self.opened.take() {
            Some((key, opened)) if key == request.key => opened,
            _ => block_in_place(|| self.app.open(request.name, &pass)),
        };
        let OpenedDocument { port, access } =
            opened.map_err(|ending| ending.reason().to_owned())?;
        // Entered before any state is taken, so that nothing falls between.
        let subscription = self.app.rooms.join(port, &self.outbox, &prefix(request.key));
        self.passes.insert(request.key.to_owned(), (request.name.to_owned(), pass));
        self.is_strange = false;
        Ok((subscription, access))
    }
}
