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
    close_reason::CloseReason,
    document_access::{ConnectionCredential, MAX_DOCUMENT_WAIT, OpenedDocument},
    rooms::{ConnectionOutbox, DocSubscription},
    server_state::ServerState,
    upgrade::Socket,
    websocket_wire::{IncomingEvent, TICK, WebsocketWire},
};

/// How long the client may be silent before the server pings it; Hocuspocus clients disconnect
/// after 30 seconds of silence.
const PING_AFTER: Duration = Duration::from_secs(12);

/// How long a connection may take to open its first document.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);

/// The documents of one connection.
#[derive(Debug)]
struct ConnectionDocuments {
    app: ServerState,
    /// The credential of the connection's request; one that names a document takes precedence.
    pass: ConnectionCredential,
    /// The open documents by key, with the credential that opened each.
    passes: BTreeMap<String, (String, ConnectionCredential)>,
    /// Whether no document was opened yet.
    has_opened_none: bool,
    /// How long this connection may still wait for documents that do not exist yet.
    remaining_wait: Duration,
    /// The result of the request that is answered next, by its key.
    opened: Option<(String, Result<OpenedDocument, CloseReason>)>,
    outbox: Arc<ConnectionOutbox>,
}

/// Serves a connection until it ends.
pub(crate) async fn run(socket: Socket, app: ServerState, pass: ConnectionCredential) {
    let mut wire = WebsocketWire::new(socket, app.metrics.clone());
    let outbox = wire.outbox();
    let (passes, remaining_wait) = (BTreeMap::new(), MAX_DOCUMENT_WAIT);
    let mut documents = ConnectionDocuments {
        app,
        pass,
        passes,
        has_opened_none: true,
        remaining_wait,
        opened: None,
        outbox,
    };
    if let Err(ending) = serve(&mut wire, &mut documents).await {
        wire.end(ending).await;
    }
}

/// Serves until the client disconnects (`Ok`) or the server ends the session.
async fn serve(
    wire: &mut WebsocketWire,
    documents: &mut ConnectionDocuments,
) -> Result<(), CloseReason> {
    let mut collab = CollabSession::default();
    let outbox = documents.outbox.clone();
    let began = Instant::now();
    let mut ticks = interval(TICK.min(documents.app.recheck));
    let mut revoked = documents.app.revocations.subscribe();
    loop {
        tokio::select! {
            event = wire.receive() => {
                let frame = match event {
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
                if !documents.has_opened_none {
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
            Ok(()) = revoked.changed() => {
                let expelled = documents.check(&mut collab, true);
                wire.send(expelled).await?;
            }
            _ = ticks.tick() => {
                let expelled = documents.check(&mut collab, false);
                wire.send(expelled).await?;
                if documents.has_opened_none && began.elapsed() >= OPEN_TIMEOUT {
                    return Err(CloseReason::unauthorized("no document was opened"));
                }
                if wire.silence() >= PING_AFTER {
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
        let opened = self.app.open_within(request.name, &pass, &mut self.remaining_wait).await;
        self.opened = Some((request.key.to_owned(), opened));
    }

    /// Returns the credential of a request, or else that of the connection.
    fn pass_of(&self, request: &OpenRequest<'_>) -> ConnectionCredential {
        match request.token {
            "" => self.pass.clone(),
            token => ConnectionCredential::new(token.to_owned()),
        }
    }

    /// Closes the documents whose credential is no longer valid. The others stay open.
    /// All are checked now if tokens were revoked, else those that are due.
    fn check(
        &mut self,
        collab: &mut CollabSession<DocSubscription>,
        are_revoked: bool,
    ) -> Vec<Vec<u8>> {
        self.passes.retain(|key, _| collab.is_open(key));
        collab.close_documents(|key| {
            let (guid, pass) = self.passes.get_mut(key)?;
            let checked = match are_revoked {
                true => pass.check_now(&self.app, guid),
                false => pass.check(&self.app, guid),
            };
            checked.err().map(|ending| ending.reason().to_owned())
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
        // The connection joins the room before any state is computed, so that it misses no update.
        let subscription = self.app.rooms.join(port, &self.outbox, &prefix(request.key));
        self.passes.insert(request.key.to_owned(), (request.name.to_owned(), pass));
        self.has_opened_none = false;
        Ok((subscription, access))
    }
}
