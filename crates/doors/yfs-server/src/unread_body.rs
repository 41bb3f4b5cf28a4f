//! Reads the rest of a request's body that nothing reads.
//!
//! A server that answers before it has read the body, and then closes the connection, cuts it: the
//! client is still sending, gets a reset, and may never see the answer. So a body that is dropped
//! before its end is read on and thrown away, up to a limit.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::header,
    middleware::Next,
    response::Response,
};
use futures::StreamExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

/// The most that is read and thrown away of one body, in bytes.
const MAX_DRAINED: usize = 16 << 20;

/// How long that may take.
const MAX_TIME: Duration = Duration::from_secs(10);

/// A body whose rest is read when it is dropped.
struct DrainedBody(Option<Body>);

/// Lets the rest of each request's body be read after the answer.
pub(crate) async fn drain_unread(request: Request, next: Next) -> Response {
    // A client that waits for the answer before it sends has sent nothing.
    if request.headers().contains_key(header::EXPECT) {
        return next.run(request).await;
    }
    let request = request.map(|body| match body.is_end_stream() {
        true => body,
        false => Body::new(DrainedBody(Some(body))),
    });
    next.run(request).await
}

impl HttpBody for DrainedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.0 = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for DrainedBody {
    fn drop(&mut self) {
        let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(timeout(MAX_TIME, drain(body)));
    }
}

async fn drain(body: Body) {
    let (mut stream, mut n_bytes) = (body.into_data_stream(), 0);
    while let Some(Ok(chunk)) = stream.next().await {
        n_bytes += chunk.len();
        if n_bytes > MAX_DRAINED {
            return;
        }
    }
}
