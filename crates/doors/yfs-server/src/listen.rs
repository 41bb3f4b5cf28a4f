//! Accepting connections, with a limit on their number and on the time that each may be silent.

use std::{io, sync::Arc, time::Duration};

use axum::{Router, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::Service};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::sleep,
};

use crate::{connection_stream::ConnectionStream, upgrade::UpgradeHandler};

/// How long a client may take to send the head of a request, and how long it may pause between two
/// requests.
const HEAD_LIMIT: Duration = Duration::from_secs(20);

/// The greatest size of the head of a request, in bytes.
const MAX_HEAD_LEN: usize = 32 << 10;

/// How long to pause when the system cannot accept another connection.
const REST: Duration = Duration::from_millis(100);

/// Serves connections until it is dropped, which cuts them.
pub(crate) async fn serve(
    listener: &TcpListener,
    router: Router,
    max_connections: usize,
) -> io::Result<()> {
    let slots = Arc::new(Semaphore::new(max_connections));
    let mut connections = JoinSet::new();
    loop {
        let slot = slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            // Ended connections are removed at once.
            Some(_) = connections.join_next() => continue,
        };
        match stream {
            Ok((stream, _)) => {
                let router = router.clone();
                connections.spawn(converse(stream, router, slot));
            }
            Err(error) if is_covered_by(&error) => {}
            // Usually the process has no free file descriptors: other connections will end.
            Err(_) => sleep(REST).await,
        }
    }
}

async fn converse(stream: TcpStream, router: Router, slot: OwnedSemaphorePermit) {
    // Frames are small and should be sent at once. If the option cannot be set, they are sent
    // later.
    stream.set_nodelay(true).ok();
    let handover = UpgradeHandler::default();
    let service = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(handover.clone());
        service.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(MAX_HEAD_LEN)
        .serve_connection(TokioIo::new(ConnectionStream::new(stream, slot)), service)
        .with_upgrades();
    // An error here concerns one client, which gets it.
    // The request is dropped before the session begins: there may be ten thousand of them.
    Box::pin(connection).await.ok();
    if let Some(session) = handover.take() {
        session.await;
    }
}

fn is_covered_by(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
