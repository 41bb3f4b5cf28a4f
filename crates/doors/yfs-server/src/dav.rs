//! `/dav`: the files over WebDAV.
//!
//! [`yfs_dav`] has the protocol. Here are the sockets' side of it: a token as the password of HTTP
//! Basic, bodies within the limits of all requests, answers that block while they are made.

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{FromRequest, Request, State},
    http::{Method, request::Parts},
    routing::any,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::{StreamExt, stream};
use yfs_dav::{DavBody, DavCaller, DavContent, DavError, DavQuota, DavResponse, DavService};
use yfs_engine::actor::{Actor, ActorKind};
use yfs_vfs::{FsError, Op, WriteOptions, WriteOutcome};

use crate::{
    access::token_of,
    body::{FileBody, SpooledBody},
    prelude::*,
};

/// The path of URLs below which the files are.
pub(crate) const PREFIX: &str = "/dav";

/// How a client without a token learns what to send.
const CHALLENGE: &str = "Basic realm=\"yfs\", charset=\"UTF-8\"";

/// Returns the routes.
pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/dav", any(answer))
        .route("/dav/", any(answer))
        .route("/dav/{*path}", any(answer))
}

/// The user name and the password of HTTP Basic.
#[derive(Debug, Default, PartialEq, Eq)]
struct BasicCredentials {
    user: String,
    password: String,
}

/// A long content of a request.
#[derive(Debug)]
struct SpooledContent {
    caller: RequestCaller,
    body: SpooledBody,
}

async fn answer(State(app): State<ServerState>, request: Request) -> Response {
    let mut response = match handle(&app, request).await {
        Ok(response) => response,
        Err(response) => response,
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static(CHALLENGE);
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

async fn handle(app: &ServerState, request: Request) -> std::result::Result<Response, Response> {
    let (mut parts, body) = request.into_parts();
    let caller = caller_of(app, &mut parts).map_err(IntoResponse::into_response)?;
    let dav_caller = dav_caller(&caller, &parts.headers).map_err(IntoResponse::into_response)?;
    if DavService::takes_file(&parts.method) {
        let expected = apart(app.dav.expect_content(&dav_caller, &parts)).await;
        expected.map_err(refusal)?;
        let request = Request::from_parts(parts.clone(), body);
        let body = FileBody::from_request(request, app).await;
        let body = body.map_err(IntoResponse::into_response)?;
        // A body in memory counts against the budget until the request is answered.
        let (content, _held) = match body {
            FileBody::InMemory(body) => (DavContent::from(body.data.clone()), Some(body)),
            FileBody::Spooled(body) => {
                let caller = caller.clone();
                (DavContent::Stored(Box::new(SpooledContent { caller, body })), None)
            }
        };
        return respond(app, &dav_caller, &parts, content).await;
    }
    let takes_xml =
        !matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS | Method::DELETE);
    let content = match takes_xml {
        true => DavContent::from(xml_body(body).await.map_err(IntoResponse::into_response)?),
        false => DavContent::Empty,
    };
    respond(app, &dav_caller, &parts, content).await
}

async fn respond(
    app: &ServerState,
    caller: &DavCaller,
    parts: &Parts,
    content: DavContent,
) -> std::result::Result<Response, Response> {
    let answered = apart(app.dav.handle(caller, parts, content)).await;
    answered.map(with_body).map_err(refusal)
}

async fn xml_body(body: Body) -> Result<axum::body::Bytes> {
    let too_long = || {
        let detail =
            format!("the body is longer than {} KiB, or was cut", yfs_dav::MAX_XML_LEN >> 10);
        HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    to_bytes(body, yfs_dav::MAX_XML_LEN).await.map_err(|_| too_long())
}

/// Returns the answer to a request that is refused.
fn refusal(error: DavError) -> Response {
    match error {
        DavError::Fs(error) => HttpProblem::from(error).into_response(),
        refused => with_body(refused.into_response()),
    }
}

fn with_body(response: DavResponse) -> Response {
    response.map(|body| match body {
        DavBody::Bytes(bytes) => Body::from(bytes),
        DavBody::Stream(pieces) => Body::from_stream(stream::unfold(pieces, async |mut pieces| {
            let piece = apart(pieces.next()).await?;
            Some((piece, pieces))
        })),
    })
}

/// Returns the caller of a request, by its token or as the user that it names.
fn caller_of(app: &ServerState, parts: &mut Parts) -> Result<RequestCaller> {
    let basic = BasicCredentials::of(&parts.headers);
    let token = match &basic {
        Some(basic) => basic.password.clone(),
        None => token_of(&parts.headers, parts.uri.query()).unwrap_or_default(),
    };
    let mut caller = RequestCaller::of_token(parts, app, token)?;
    if let Some(basic) = basic.filter(|_| !app.access.asks_for_tokens()) {
        caller.grant.actor = Actor::new(ActorKind::Human, &basic.user);
    }
    Ok(caller)
}

fn dav_caller(caller: &RequestCaller, headers: &HeaderMap) -> Result<DavCaller> {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let credential = format!("{} {}", caller.grant.id, caller.grant.actor);
    let made = DavCaller::new(caller.tree()?, &credential, agent.unwrap_or_default());
    let made = if caller.grant.may_write() { made } else { made.read_only() };
    if !caller.grant.is_whole() {
        return Ok(made);
    }
    let app = caller.app.clone();
    Ok(made.with_quota(move || quota(&app)))
}

/// Returns the space that the files take, and what is free where the store is.
fn quota(app: &ServerState) -> Option<DavQuota> {
    let used = app.workspace.maintenance().stats().ok()?.visible.n_bytes;
    let disk = rustix::fs::statvfs(app.store_dir.as_deref()?).ok()?;
    Some(DavQuota { available: disk.f_bavail.saturating_mul(disk.f_frsize), used })
}

impl BasicCredentials {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, encoded) = value.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let decoded = BASE64_STANDARD.decode(encoded.trim()).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        // What cannot be read is no token, and is refused as such.
        let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
        let (user, password) = pair.unwrap_or_default();
        let user = user.chars().filter(|char| !char.is_control()).collect();
        Some(Self { user, password: password.to_owned() })
    }
}

#[async_trait::async_trait]
impl yfs_dav::StoredContent for SpooledContent {
    async fn write(
        &mut self,
        path: &yfs_engine::path::VPath,
        options: &WriteOptions,
    ) -> std::result::Result<WriteOutcome, FsError> {
        let file = &mut self.body.file;
        file.rewind().map_err(|error| FsError::io(Op::Write, path, error))?;
        self.caller.writer(Op::Write, path)?.write_from(path, file, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read() {
        let of = |value: String| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
            BasicCredentials::of(&headers)
        };
        let encoded = |text: &str| of(format!("basic {}", BASE64_STANDARD.encode(text)));
        let pair = |user: &str, password: &str| {
            Some(BasicCredentials { user: user.to_owned(), password: password.to_owned() })
        };
        assert_eq!(encoded("ana:token:x"), pair("ana", "token:x"));
        assert_eq!(encoded(":token"), pair("", "token"));
        assert_eq!(encoded("a\nb:t"), pair("ab", "t"));
        for odd in [encoded("ana"), of("Basic !".to_owned()), of("Basic ".to_owned())] {
            assert_eq!(odd, pair("", ""));
        }
        assert_eq!(of("Bearer x".to_owned()), None);
    }
}
