//! One WebSocket connection to another store of the workspace.

use axum::body::Bytes;
use futures::{SinkExt, StreamExt, future::ready};
use tokio_tungstenite::tungstenite::{self, Message, protocol::CloseFrame};
use yfs_replica::{ReplicaError, ReplicaSession, carry, run_blocking};

use crate::{
    close_reason::CloseReason, document_access::ConnectionCredential,
    metrics::CloseCodeLabel as EndingLabel, server_state::ServerState, upgrade::Socket,
    websocket_wire::WebsocketWire,
};

/// The close code for a peer that violated the protocol.
const BAD_MESSAGE: u16 = 4400;

/// The greatest number of changed files whose conflicts are reported. The first upload of a large
/// directory changes more, and has none.
const MAX_CHECKED: usize = 10_000;

/// The close code for a failure of this server.
const FAILED: u16 = 1011;

/// Serves a connection until it ends.
pub(crate) async fn run(mut socket: Socket, app: ServerState, mut pass: ConnectionCredential) {
    let grant = match check_credential(&app, &pass) {
        Ok(may_write) => may_write,
        Err(ending) => return WebsocketWire::new(socket, app.metrics.clone()).end(ending).await,
    };
    app.metrics.connections.inc();
    let mut session = ReplicaSession::hub(app.workspace.clone(), grant);
    let (sink, stream) = (&mut socket).split();
    let sink = sink.sink_map_err(gone).with(|frame: Bytes| {
        app.metrics.frames.inc();
        app.metrics.sent_bytes.inc_by(frame.len() as u64);
        ready(Ok::<_, ReplicaError>(Message::Binary(frame)))
    });
    let stream = stream.filter_map(|frame| {
        ready(match frame {
            Ok(Message::Binary(bytes)) => {
                app.metrics.received_bytes.inc_by(bytes.len() as u64);
                Some(Ok(bytes))
            }
            Ok(Message::Close(_)) => Some(Err(ReplicaError::gone("it has gone"))),
            Ok(_) => None,
            Err(error) => Some(Err(gone(error))),
        })
    });
    let guid = app.workspace.id().to_string();
    let refused = |ending: CloseReason| ReplicaError::Closed {
        reason: ending.reason().to_owned(),
        is_final: true,
    };
    let done = carry(&mut session, sink, stream, |session| {
        report_conflicts(&app, session);
        pass.check(&app, &guid).map(|()| false).map_err(refused)
    })
    .await;
    app.metrics.connections.dec();
    if let Err(error) = done {
        end(&mut socket, &app, &error).await;
    }
}

/// Reports the conflicts that the changes of a replica caused, once all of them have arrived.
fn report_conflicts(app: &ServerState, session: &mut ReplicaSession) {
    if !session.has_arrived() || app.conflicts.receiver_count() == 0 {
        return;
    }
    let changed = session.take_changed();
    if changed.is_empty() || changed.len() > MAX_CHECKED {
        return;
    }
    // A conflict that cannot be read now is in the list of `yfs conflicts`.
    let replication = app.workspace.replication();
    let found = run_blocking(|| replication.content_conflicts(&changed));
    for conflict in found.unwrap_or_default() {
        // Fails if there is no subscriber any more.
        app.conflicts.send(conflict).ok();
    }
}

/// Reports whether a credential allows writing. A credential for less than the whole workspace is
/// rejected.
fn check_credential(app: &ServerState, pass: &ConnectionCredential) -> Result<bool, CloseReason> {
    let grant = pass.grant(app)?;
    if !grant.is_whole() {
        return Err(CloseReason::forbidden("this needs a token for the whole workspace"));
    }
    Ok(grant.may_write())
}

/// Sends the peer the reason why the connection ends, if it is still connected.
async fn end(socket: &mut Socket, app: &ServerState, error: &ReplicaError) {
    let code = match error {
        ReplicaError::Closed { is_final: true, .. } => 4401,
        ReplicaError::Closed { .. } => return,
        ReplicaError::Protocol(_)
        | ReplicaError::OutOfTurn(_)
        | ReplicaError::Unasked
        | ReplicaError::BadBlob(_)
        | ReplicaError::TooMuch => BAD_MESSAGE,
        _ => FAILED,
    };
    app.metrics.endings.get_or_create(&EndingLabel { code: code.into() }).inc();
    let reason = CloseReason::unauthorized(error.to_string());
    let frame = CloseFrame { code: code.into(), reason: reason.reason().to_owned().into() };
    socket.send(Message::Close(Some(frame))).await.ok();
}

fn gone(error: tungstenite::Error) -> ReplicaError {
    ReplicaError::gone(error.to_string())
}
