//! Why a request of a known method was not understood.

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CompleteRequestParams, CustomRequest, ErrorCode,
        GetPromptRequestParams, InitializeRequestParams, PaginatedRequestParams,
        ReadResourceRequestParams, SubscribeRequestParams, UnsubscribeRequestParams,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Returns the error of a request that is none of those that the server understands: wrong
/// parameters, if its method is known.
pub(crate) fn error_of(request: CustomRequest) -> ErrorData {
    let CustomRequest { method, params, .. } = request;
    let params = params.filter(|params| !params.is_null()).unwrap_or_else(|| json!({}));
    let reason = match method.as_str() {
        "initialize" => misfit::<InitializeRequestParams>(params),
        "tools/call" => misfit::<CallToolRequestParams>(params),
        "resources/read" => misfit::<ReadResourceRequestParams>(params),
        "resources/subscribe" => misfit::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => misfit::<UnsubscribeRequestParams>(params),
        "prompts/get" => misfit::<GetPromptRequestParams>(params),
        "completion/complete" => misfit::<CompleteRequestParams>(params),
        "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" => {
            misfit::<PaginatedRequestParams>(params)
        }
        "ping" | "server/discover" | "subscriptions/listen" => misfit::<Value>(params),
        _ => return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
    };
    ErrorData::invalid_params(format!("Invalid params of {method}: {reason}"), None)
}

/// Returns why a value cannot be the parameters of a request.
fn misfit<P: DeserializeOwned>(params: Value) -> String {
    if !params.is_object() {
        return "they must be an object".to_owned();
    }
    match serde_json::from_value::<P>(params) {
        Ok(_) => "they have fields of wrong types".to_owned(),
        Err(error) => error.to_string(),
    }
}
