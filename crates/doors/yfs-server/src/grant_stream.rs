//! Answers that last: each ends soon after the token of its request is revoked or expires.
//!
//! Extracting the caller of a request records its token in a slot of the request. An answer to such
//! a request that is not complete at once is wrapped here, whichever route made it, so that no
//! route can forget to check again. WebSockets check the same credential in their sessions
//! ([`ConnectionCredential::check`](crate::document_access::ConnectionCredential::check)).

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::Response,
};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::{document_access::ConnectionCredential, server_state::ServerState};

/// An answer of at most this many bytes is sent at once, and does not last.
const ONE_WRITE: u64 = 16 << 10;

/// The slot of a request in which the extraction of its caller records the token.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallerTokenSlot(Arc<OnceLock<String>>);

/// The body of an answer under a grant.
struct GrantStream {
    /// The body; `None` after the grant has ended.
    body: Option<Body>,
    pass: ConnectionCredential,
    app: ServerState,
    ticks: Interval,
    /// Whether the end of the grant ends the body as if it were complete. A client would otherwise
    /// take a part of a file for the whole.
    is_event_stream: bool,
}

impl CallerTokenSlot {
    /// Records the token of a request whose caller was extracted.
    pub(crate) fn fill(&self, token: String) {
        self.0.set(token).ok();
    }
}

/// Ends each answer when the grant of its request ends.
pub(crate) async fn under_grant(
    State(app): State<ServerState>,
    mut request: Request,
    next: Next,
) -> Response {
    let slot = CallerTokenSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = next.run(request).await;
    let fits_one_write = response.body().size_hint().exact().is_some_and(|len| len <= ONE_WRITE);
    let Some(token) = slot.0.get().filter(|_| !fits_one_write) else { return response };
    let is_event_stream = is_event_stream(response.headers());
    let mut ticks = interval_at(Instant::now() + app.recheck, app.recheck);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let pass = ConnectionCredential::new(token.clone());
    response
        .map(|body| Body::new(GrantStream { body: Some(body), pass, app, ticks, is_event_stream }))
}

impl HttpBody for GrantStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        // Until the next tick is pending, which wakes the task.
        while this.body.is_some() && this.ticks.poll_tick(context).is_ready() {
            if let Err(ending) = this.pass.check_grant(&this.app) {
                this.body = None;
                let reason = axum::Error::new(ending.reason().to_owned());
                return Poll::Ready((!this.is_event_stream).then_some(Err(reason)));
            }
        }
        match &mut this.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type.is_some_and(|value| value.starts_with("text/event-stream"))
}
