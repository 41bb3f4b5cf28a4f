//! Tests of HTTP: messages that cannot be read, and ids in flight.

use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::tests::WaitingServer;

/// Sends a message in a session, and returns the response when it begins.
async fn post(
    service: &McpHttpService,
    session: &str,
    body: impl Into<Bytes>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let mut request = Request::new(Full::new(body.into()));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    headers.insert(HOST, "localhost".parse().expect("a value"));
    headers.insert(CONTENT_TYPE, "application/json".parse().expect("a value"));
    headers.insert(ACCEPT, "application/json, text/event-stream".parse().expect("a value"));
    if !session.is_empty() {
        headers.insert(SESSION_HEADER, session.parse().expect("a value"));
        headers.insert("mcp-protocol-version", "2025-06-18".parse().expect("a value"));
    }
    service.handle(request).await
}

/// Returns the message of a response, once its stream has ended.
async fn message_of(response: Response<BoxBody<Bytes, Infallible>>) -> Value {
    let body = response.into_body().collect().await.expect("infallible").to_bytes();
    let text = str::from_utf8(&body).expect("UTF-8");
    let start = text.find("{\"").unwrap_or_else(|| panic!("no message: {text}"));
    let end = text.rfind('}').expect("a message ends");
    serde_json::from_str(&text[start..=end]).expect("JSON")
}

async fn begin(end_wait: &Arc<Notify>) -> (McpHttpService, String) {
    let server = WaitingServer(end_wait.clone());
    let service = McpHttpService::of_servers(move || server.clone());
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let begun = post(&service, "", begin.to_string()).await;
    let session = begun.headers().get(SESSION_HEADER).cloned();
    assert_eq!(message_of(begun).await["id"], 0);
    let session = session.expect("a session begins");
    (service, session.to_str().expect("ASCII").to_owned())
}

fn call(id: u64, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

#[tokio::test]
async fn a_message_that_cannot_be_read_gets_400_and_an_error_of_the_protocol() {
    let (service, session) = begin(&Arc::default()).await;
    for (body, code, id) in [
        (&b""[..], -32700, Value::Null),
        (b"{not json", -32700, Value::Null),
        (br#"{"jsonrpc":"2.0","id":5,"method":"#, -32700, json!(5)),
        (br#"{"method":"x","params":{"a":"\ud83d"},"id":6}"#, -32700, json!(6)),
        (b"{\"method\":\"x\",\"params\":{\"a\":\"\xc3(\"},\"id\":7}", -32700, json!(7)),
        (br#"{"id":8,"method":"ping"}"#, -32600, json!(8)),
    ] {
        for session in ["", &session] {
            let response = post(&service, session, body).await;
            assert_eq!(response.status(), StatusCode::BAD_REQUEST);
            assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
            let answer = message_of(response).await;
            assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(code), Some(&id)));
        }
    }
    for params in [json!(null), json!({}), json!({ "name": "x", "arguments": [] })] {
        let answer = message_of(post(&service, &session, call(9, &params)).await).await;
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32602), &json!(9)));
    }
    let huge = post(&service, &session, vec![b'x'; MAX_REQUEST_LEN + 1]).await;
    assert_eq!(huge.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(message_of(huge).await["error"]["code"], -32600);
}

#[tokio::test]
async fn an_id_in_flight_in_a_session_is_refused_and_free_again_after_its_answer() {
    let end_wait = Arc::<Notify>::default();
    let (service, session) = begin(&end_wait).await;
    let wait = call(3, &json!({ "name": "wait" }));
    let first = post(&service, &session, wait.clone()).await;
    let refused = post(&service, &session, wait.clone()).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    let refused = message_of(refused).await;
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &json!(3)));
    end_wait.notify_one();
    assert!(message_of(first).await["result"].is_object());
    end_wait.notify_one();
    let second = post(&service, &session, wait).await;
    assert!(message_of(second).await["result"].is_object());
}
