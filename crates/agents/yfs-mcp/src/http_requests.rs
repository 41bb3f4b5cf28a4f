//! Requests over HTTP: their messages, and the ids that wait for an answer.

use std::{collections::HashSet, convert::Infallible, fmt, io, sync::Arc};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, combinators::BoxBody};
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId};
use serde_json::Value;

use crate::{
    envelope_scan::EnvelopeScan,
    http_service::MAX_REQUEST_LEN,
    message_check::{BYTE_ORDER_MARK, CheckedMessage, MessageRefusal, check_message},
};

type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// The requests of sessions without an answer.
#[derive(Debug, Default)]
pub(crate) struct SessionRequests(Mutex<HashSet<(String, RequestId)>>);

/// A request without an answer. Its id may be used again once this is dropped.
#[derive(Debug)]
pub(crate) struct RequestClaim {
    requests: Arc<SessionRequests>,
    key: (String, RequestId),
}

impl SessionRequests {
    /// Claims the id of a message in its session, if it is a request.
    pub(crate) fn claim(
        self: &Arc<Self>,
        session: &str,
        message: &ClientJsonRpcMessage,
    ) -> Result<Option<RequestClaim>, MessageRefusal> {
        let JsonRpcMessage::Request(request) = message else { return Ok(None) };
        let key = (session.to_owned(), request.id.clone());
        if !self.0.lock().insert(key.clone()) {
            return Err(MessageRefusal::reused_id(request.id.clone()));
        }
        Ok(Some(RequestClaim { requests: self.clone(), key }))
    }
}

impl RequestClaim {
    /// Returns whether an event of the stream is the answer.
    pub(crate) fn is_answered_by(&self, event: &[u8]) -> bool {
        EnvelopeScan::of(event).response_id().as_ref() == Some(&self.key.1)
    }
}

impl Drop for RequestClaim {
    fn drop(&mut self) {
        self.requests.0.lock().remove(&self.key);
    }
}

/// Reads the message of a request, if it has one; otherwise returns the answer to it.
pub(crate) async fn read_message<B>(
    request: Request<B>,
) -> Result<(Request<Full<Bytes>>, Option<ClientJsonRpcMessage>), HttpAnswer>
where
    B: Body + Send + 'static,
    B::Error: fmt::Display,
{
    let (parts, body) = request.into_parts();
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
    if parts.method != Method::POST || !essence.trim().eq_ignore_ascii_case("application/json") {
        // The protocol refuses it, or does not read it.
        return Ok((Request::from_parts(parts, Full::default()), None));
    }
    let body = body.map_err(|error| io::Error::other(error.to_string()));
    let collected = match Limited::new(body, MAX_REQUEST_LEN).collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            let refusal = MessageRefusal::too_long(None, MAX_REQUEST_LEN);
            return Err(json_answer(StatusCode::PAYLOAD_TOO_LARGE, &[refusal]));
        }
        Err(_) => return Err(json_answer(StatusCode::BAD_REQUEST, &[MessageRefusal::cut_off()])),
    };
    let message = match check_message(&collected) {
        CheckedMessage::Readable(message) => Some(*message),
        CheckedMessage::Refused(refusals) => {
            return Err(json_answer(StatusCode::BAD_REQUEST, &refusals));
        }
        CheckedMessage::Ignored if collected.trim_ascii().is_empty() => {
            return Err(json_answer(StatusCode::BAD_REQUEST, &[MessageRefusal::cut_off()]));
        }
        CheckedMessage::Ignored => {
            let mut accepted = Response::new(Full::default().boxed());
            *accepted.status_mut() = StatusCode::ACCEPTED;
            return Err(accepted);
        }
    };
    let n_mark = if collected.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    Ok((Request::from_parts(parts, Full::new(collected.slice(n_mark..))), message))
}

/// Answers with one error, or with those of a batch.
pub(crate) fn json_answer(status: StatusCode, refusals: &[MessageRefusal]) -> HttpAnswer {
    let answers: Vec<Value> = refusals.iter().map(MessageRefusal::answer).collect();
    let answer = match &answers[..] {
        [answer] => answer.to_string(),
        _ => Value::Array(answers).to_string(),
    };
    let mut response = Response::new(Full::from(answer).boxed());
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
