//! Tests of the lines: messages that cannot be read, and ids in flight.

use rmcp::ServiceExt;
use serde_json::{Value, json};
use tokio::{
    io::{DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split},
    sync::Notify,
};

use super::*;
use crate::tests::WaitingServer;

/// A client that writes lines.
struct LineClient {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    end_wait: Arc<Notify>,
}

impl LineClient {
    async fn begin() -> Self {
        let (ours, theirs) = duplex(1 << 16);
        let end_wait = Arc::new(Notify::new());
        let server = WaitingServer(end_wait.clone());
        let (input, output) = split(theirs);
        tokio::spawn(async move {
            let running = server.serve(LineTransport::new(input, output, |_| ())).await;
            running.expect("a session begins").waiting().await.expect("it ends");
        });
        let (output, input) = split(ours);
        let mut client = Self { input, output: BufReader::new(output).lines(), end_wait };
        // What belongs to no session does not end the server.
        client.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        let begin = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{
            "protocolVersion":"2025-06-18","capabilities":{},
            "clientInfo":{"name":"t","version":"1"}}}"#;
        client.send(begin.replace('\n', "").as_bytes()).await;
        assert_eq!(client.receive().await["id"], 0);
        client
    }

    async fn send(&mut self, line: &[u8]) {
        self.input.write_all(&[line, b"\n"].concat()).await.expect("the server reads");
    }

    async fn receive(&mut self) -> Value {
        let line = self.output.next_line().await.expect("the server writes");
        serde_json::from_str(&line.expect("an answer")).expect("JSON")
    }

    async fn check(&mut self, line: &[u8], code: i64, id: Value) {
        self.send(line).await;
        let answer = self.receive().await;
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(code), Some(&id)));
    }
}

fn call(id: u64, params: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"{params}}}"#).into_bytes()
}

#[tokio::test]
async fn every_request_is_answered_whatever_is_wrong_with_it() {
    let mut client = LineClient::begin().await;
    client.check(b"{not json", -32700, Value::Null).await;
    client.check(br#"{"jsonrpc":"2.0","id":5,"method":"#, -32700, json!(5)).await;
    let surrogate = r#","params":{"name":"x","arguments":{"a":"\ud83d"}}"#;
    client.check(&call(6, surrogate), -32700, json!(6)).await;
    let byte = b"{\"method\":\"x\",\"params\":{\"a\":\"\xc3(\"},\"jsonrpc\":\"2.0\",\"id\":\"c\"}";
    client.check(byte, -32700, json!("c")).await;
    let mut huge = br#"{"method":"tools/call","params":{"name":""#.to_vec();
    huge.resize(huge.len() + MAX_MESSAGE_LEN, b'x');
    huge.extend(br#""},"jsonrpc":"2.0","id":7}"#);
    client.check(&huge, -32600, json!(7)).await;
    for params in [
        "",
        r#","params":null"#,
        r#","params":"x""#,
        r#","params":{"arguments":{}}"#,
        r#","params":{"name":7}"#,
        r#","params":{"name":"x","arguments":[]}"#,
    ] {
        client.check(&call(8, params), -32602, json!(8)).await;
    }
    client.check(br#"{"jsonrpc":"2.0","id":9,"method":"fly"}"#, -32601, json!(9)).await;
    client.send(br#"[{"id":1,"method":"a"},{"id":2,"method":"b"}]"#).await;
    for id in [1, 2] {
        assert_eq!(client.receive().await["id"], id);
    }
    client.send(&call(10, r#","params":{"name":"x"}"#)).await;
    assert!(client.receive().await["result"].is_object());
}

#[tokio::test]
async fn an_id_in_flight_is_refused_and_free_again_after_its_answer() {
    let mut client = LineClient::begin().await;
    let wait = call(3, r#","params":{"name":"wait"}"#);
    client.send(&wait).await;
    client.check(&wait, -32600, json!(3)).await;
    client.check(&wait, -32600, json!(3)).await;
    client.end_wait.notify_one();
    assert!(client.receive().await["result"].is_object());
    client.end_wait.notify_one();
    client.send(&wait).await;
    assert!(client.receive().await["result"].is_object());
    // A request that was cancelled gets no answer, so that its id is free.
    client.send(&wait).await;
    client
        .send(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#)
        .await;
    client.send(br#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#).await;
    assert!(client.receive().await["result"].is_object());
}
