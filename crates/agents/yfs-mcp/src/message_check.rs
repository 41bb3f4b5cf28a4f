//! Which messages the protocol may see, and what is answered to all others.
//!
//! A request that has an id is answered under it, also if the rest of it cannot be read. What has
//! none is answered under the id `null`. Responses and notifications are never answered.

use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId};
use serde_json::{Value, json};

use crate::envelope_scan::EnvelopeScan;

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A message after the check.
#[derive(Debug)]
pub(crate) enum CheckedMessage {
    /// One that the protocol may see.
    Readable(Box<ClientJsonRpcMessage>),
    /// One to which there is an answer already; several for a batch. Never empty.
    Refused(Vec<MessageRefusal>),
    /// One that wants no answer and means nothing here.
    Ignored,
}

/// The answer to a message that the protocol may not see.
#[derive(Debug)]
pub(crate) struct MessageRefusal {
    id: Option<RequestId>,
    error: ErrorData,
}

/// Checks the text of a message.
pub(crate) fn check_message(text: &[u8]) -> CheckedMessage {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii();
    if text.is_empty() {
        return CheckedMessage::Ignored;
    }
    match serde_json::from_slice(text) {
        Ok(ClientJsonRpcMessage::Notification(_)) if EnvelopeScan::of(text).has_id() => {
            // Its id is none that an answer could have, so it was read as if it had none.
            CheckedMessage::Refused(vec![MessageRefusal::invalid(None)])
        }
        Ok(message) => CheckedMessage::Readable(Box::new(message)),
        Err(_) => match serde_json::from_slice(text) {
            Ok(value) => check_value(&value),
            Err(error) => {
                let id = EnvelopeScan::of(text).request_id();
                let error = ErrorData::parse_error(format!("Parse error: {error}"), None);
                CheckedMessage::Refused(vec![MessageRefusal { id, error }])
            }
        },
    }
}

/// Checks JSON that is no message of the protocol.
fn check_value(value: &Value) -> CheckedMessage {
    if let Value::Array(batch) = value {
        let ids = batch.iter().filter(|message| message.get("method").is_some());
        let ids = ids.filter_map(|message| usable_id(message.get("id")?));
        let mut refusals: Vec<_> = ids.map(|id| MessageRefusal::batch(Some(id))).collect();
        if refusals.is_empty() {
            refusals.push(MessageRefusal::batch(None));
        }
        return CheckedMessage::Refused(refusals);
    }
    let has = |key| value.get(key).is_some();
    let is_notification = !has("id") && value.get("method").is_some_and(Value::is_string);
    let is_response = !has("method") && (has("result") || has("error"));
    if is_notification || is_response {
        return CheckedMessage::Ignored;
    }
    let id = value.get("id").and_then(usable_id);
    let is_request = value["jsonrpc"] == "2.0" && value["method"].is_string() && id.is_some();
    let refusal = match is_request && !value["params"].is_null() && !value["params"].is_object() {
        true => MessageRefusal::no_object(id),
        false => MessageRefusal::invalid(id),
    };
    CheckedMessage::Refused(vec![refusal])
}

fn usable_id(id: &Value) -> Option<RequestId> {
    serde_json::from_value(id.clone()).ok()
}

impl MessageRefusal {
    /// Answers a request whose id has another request that is not answered yet.
    pub(crate) fn reused_id(id: RequestId) -> Self {
        let message = format!("Invalid request: the request with the id {id} is not answered yet");
        Self { id: Some(id), error: ErrorData::invalid_request(message, None) }
    }

    /// Answers a message above the limit.
    pub(crate) fn too_long(id: Option<RequestId>, limit: usize) -> Self {
        let message = format!("Invalid request: a message has at most {limit} bytes");
        Self { id, error: ErrorData::invalid_request(message, None) }
    }

    /// Answers a message whose text is empty or did not arrive in full.
    pub(crate) fn cut_off() -> Self {
        let message = "Parse error: the message is empty or incomplete";
        Self { id: None, error: ErrorData::parse_error(message, None) }
    }

    fn invalid(id: Option<RequestId>) -> Self {
        let message = "Invalid request: a request has \"jsonrpc\": \"2.0\", a method, and an id \
            that is a string or an integer";
        Self { id, error: ErrorData::invalid_request(message, None) }
    }

    fn no_object(id: Option<RequestId>) -> Self {
        let message = "Invalid params: they must be an object";
        Self { id, error: ErrorData::invalid_params(message, None) }
    }

    fn batch(id: Option<RequestId>) -> Self {
        let message = "Invalid request: batches are not supported, send each message alone";
        Self { id, error: ErrorData::invalid_request(message, None) }
    }

    /// Returns why the message is not JSON, if it is none.
    pub(crate) fn parse_error(&self) -> Option<&str> {
        self.error.message.strip_prefix("Parse error: ")
    }

    /// Returns the answer.
    pub(crate) fn answer(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": self.error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], expected: &str) {
        let answers = match check_message(text) {
            CheckedMessage::Readable(_) => "passes".to_owned(),
            CheckedMessage::Ignored => "ignored".to_owned(),
            CheckedMessage::Refused(refusals) => {
                let answer = |refusal: &MessageRefusal| {
                    let answer = refusal.answer();
                    format!("{} {}", answer["error"]["code"], answer["id"])
                };
                refusals.iter().map(answer).collect::<Vec<_>>().join(", ")
            }
        };
        assert_eq!(answers, expected, "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn each_request_with_an_id_is_answered_under_it_and_what_has_none_under_null() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "passes"),
            ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", "passes"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x/y","params":[1]}"#, "-32602 1"),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "passes"),
            (" \r", "ignored"),
            (r#"{"method":"textDocument/didOpen"}"#, "ignored"),
            (r#"{"id":1,"result":5}"#, "ignored"),
            ("hello", "-32700 null"),
            ("{", "-32700 null"),
            ("\"", "-32700 null"),
            (r#"{"jsonrpc":"2.0","id":5,"method":"#, "-32700 5"),
            (r#"{"jsonrpc":"2.0","id":"a\"b","method":}"#, r#"-32700 "a\"b""#),
            (r#"{"method":"x","params":{"id":9,"a":nul},"jsonrpc":"2.0","id":7}"#, "-32700 7"),
            (r#"{"method":"x","params":{"a":"\ud83d"},"id":8}"#, "-32700 8"),
            (r#"{"id":3,"method":"\ud83d"}"#, "-32700 3"),
            (r#"{"id":"\ud83d","method":"x"}"#, "-32700 null"),
            (r#"{"id":3,"result":"\ud83d"}"#, "-32700 null"),
            (r#"{"id":{"id":4},"method":"#, "-32700 null"),
            (r#"{"a":"\"id\":1,","id":2,"method":"#, "-32700 2"),
            (r#"{"id":12"#, "-32700 null"),
            ("5", "-32600 null"),
            ("null", "-32600 null"),
            ("{}", "-32600 null"),
            (r#"{"id":1,"method":"ping"}"#, "-32600 1"),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, r#"-32600 "a""#),
            (r#"{"jsonrpc":"2.0","id":2,"method":5}"#, "-32600 2"),
            (r#"{"jsonrpc":"2.0","id":2}"#, "-32600 2"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "-32600 null"),
            ("[]", "-32600 null"),
            (
                r#"[{"id":1,"method":"a"},{"method":"b"},{"id":"c","method":"d"}]"#,
                r#"-32600 1, -32600 "c""#,
            ),
        ] {
            check(text.as_bytes(), expected);
        }
        check(b"{\"id\":4,\"method\":\"tools/call\",\"params\":{\"a\":\"\xc3(\"}}", "-32700 4");
        let deep = format!("{{\"method\":\"x\",\"params\":{},\"id\":6}}", "[".repeat(100_000));
        check(deep.as_bytes(), "-32700 null");
        let brackets = ["[", "]"].map(|bracket| bracket.repeat(100_000)).concat();
        let deep = format!("{{\"method\":\"x\",\"params\":{brackets},\"id\":6}}");
        check(deep.as_bytes(), "-32700 6");
    }
}
