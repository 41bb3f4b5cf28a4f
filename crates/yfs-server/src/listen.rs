//! Accepting connections: so many, and none that says nothing for ever.

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

/// How long a client may take to send the head of a request, and how long it may rest between two.
const HEAD_LIMIT: Duration = Duration::from_secs(20);

/// How many bytes the head of a request may have.
const MAX_HEAD_LEN: usize = 32 << 10;

/// How long to rest when the system has no room for another connection.
const REST: Duration = Duration::from_millis(100);

/// Serves connections for ever. Dropping it cuts them.
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
            // What has ended is let go of at once.
            Some(_) = connections.join_next() => continue,
        };
        match stream {
            Ok((stream, _)) => {
                let router = router.clone();
                connections.spawn(converse(stream, router, slot));
            }
            Err(error) if is_theirs(&error) => {}
            // Out of file descriptors, mostly: others will end.
            Err(_) => sleep(REST).await,
        }
    }
}

async fn converse(stream: TcpStream, router: Router, slot: OwnedSemaphorePermit) {
    // Frames are small and should leave at once; where that cannot be had they leave later.
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
    // What fails here fails for one client, who knows.
    // It is let go of before what comes after it begins: there may be ten thousand of them.
    Box::pin(connection).await.ok();
    if let Some(session) = handover.take() {
        session.await;
    }
}

fn is_theirs(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
