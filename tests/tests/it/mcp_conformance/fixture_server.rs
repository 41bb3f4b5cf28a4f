//! The server of `yfs-mcp` with the tools, resources and prompts that the conformance suite asks
//! for. What does not bear one of their names goes to the server unchanged.

#![expect(deprecated, reason = "logging and sampling: clients of 2025-11-25 have them")]

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult,
        CompleteRequestParams, CompleteResult, ElicitRequest, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, ServerConfig, ServerRequest,
        SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use yfs_mcp::McpServer;

/// The smallest picture: one red point, as PNG.
const PICTURE: &str = concat!(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5",
    "ErkJggg==",
);

/// A WAV file without a sample.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// The pause between the messages of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// The server with the fixtures.
#[derive(Clone)]
pub(crate) struct FixtureServer {
    inner: McpServer,
    subscribed: Arc<Mutex<BTreeSet<String>>>,
}

/// Makes a value of the protocol.
fn of_json<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a value of the protocol")
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn picture() -> Value {
    json!({ "type": "image", "data": PICTURE, "mimeType": "image/png" })
}

fn resource(uri: &str, mime: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } })
}

/// Adds the items of `added` to the list `name` of a result.
fn with_items<T: Serialize + DeserializeOwned>(result: &T, name: &str, added: &Value) -> T {
    let mut result = serde_json::to_value(result).expect("a value of the protocol");
    let items = result[name].as_array_mut().expect("a list");
    items.extend(added.as_array().expect("a list").iter().cloned());
    of_json(result)
}

fn tools() -> Value {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_reconnection",
    ];
    let tool = |name: &str, schema: Value| {
        let description = "A fixture of a test";
        json!({ "name": name, "description": description, "inputSchema": schema })
    };
    let one = |argument: &str| {
        let properties = json!({ argument: { "type": "string" } });
        json!({ "type": "object", "properties": properties, "required": [argument] })
    };
    let mut tools: Vec<Value> =
        plain.iter().map(|name| tool(name, json!({ "type": "object" }))).collect();
    tools.push(tool("test_sampling", one("prompt")));
    tools.push(tool("test_elicitation", one("message")));
    let address = json!({
        "type": "object",
        "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
    });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": address },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
        },
        "additionalProperties": false,
    });
    tools.push(tool("json_schema_2020_12_tool", schema));
    Value::Array(tools)
}

fn prompts() -> Value {
    let argument = |name: &str| json!({ "name": name, "description": name, "required": true });
    json!([
        { "name": "test_simple_prompt", "description": "A fixture" },
        {
            "name": "test_prompt_with_arguments",
            "description": "A fixture",
            "arguments": [argument("arg1"), argument("arg2")],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A fixture",
            "arguments": [argument("resourceUri")],
        },
        { "name": "test_prompt_with_image", "description": "A fixture" },
    ])
}

fn enum_schema() -> Value {
    let titled = |words: [(&str, &str); 3]| {
        json!(words.map(|(value, title)| json!({ "const": value, "title": title })))
    };
    let options = json!(["option1", "option2", "option3"]);
    let one = [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
    let many =
        [("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")];
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled(one) },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled(many) } },
        },
    })
}

fn default_schema() -> Value {
    let status = ["active", "inactive", "pending"];
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": status, "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

/// Asks the person in front of the client, and returns the action and the answer.
async fn elicited(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
) -> Result<(String, Value), ErrorData> {
    let params = json!({ "message": message, "requestedSchema": schema });
    let request: ElicitRequest =
        of_json(json!({ "method": "elicitation/create", "params": params }));
    let sent = context.peer.send_request(ServerRequest::ElicitRequest(request)).await;
    let ClientResult::ElicitResult(answer) =
        sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?
    else {
        return Err(ErrorData::internal_error("another answer", None));
    };
    let answer = serde_json::to_value(answer).expect("a value of the protocol");
    let action = answer["action"].as_str().unwrap_or_default().to_owned();
    Ok((action, answer["content"].clone()))
}

/// Asks the client's model.
async fn sampled(
    context: &RequestContext<RoleServer>,
    prompt: &Value,
) -> Result<String, ErrorData> {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = of_json(json!({ "messages": [message], "maxTokens": 100 }));
    let sent = context.peer.create_message(params).await;
    let answer = sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let answer = serde_json::to_value(answer).expect("a value of the protocol");
    Ok(format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or_default()))
}

async fn log_three_times(context: &RequestContext<RoleServer>) {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let message = of_json(json!({ "level": "info", "data": line }));
        context.peer.notify_logging_message(message).await.expect("the client is there");
        tokio::time::sleep(PAUSE).await;
    }
}

async fn progress_three_times(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    for progress in [0, 50, 100] {
        let note = json!({ "progressToken": token, "progress": progress, "total": 100 });
        context.peer.notify_progress(of_json(note)).await.expect("the client is there");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Calls a fixture; `None` if there is none of this name.
async fn call_fixture(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResult, ErrorData>> {
    let argument = |name: &str| {
        request.arguments.as_ref().and_then(|given| given.get(name)).cloned().unwrap_or_default()
    };
    let content = match &*request.name {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![picture()],
        "test_audio_content" => {
            vec![json!({ "type": "audio", "data": SOUND, "mimeType": "audio/wav" })]
        }
        "test_embedded_resource" => {
            let words = "This is an embedded resource content.";
            vec![resource("test://embedded-resource", "text/plain", words)]
        }
        "test_multiple_content_types" => {
            let data = json!({ "test": "data", "value": 123 }).to_string();
            let embedded = resource("test://mixed-content-resource", "application/json", &data);
            vec![text("Multiple content types test:"), picture(), embedded]
        }
        "test_tool_with_logging" => {
            log_three_times(context).await;
            vec![text("logged")]
        }
        "test_tool_with_progress" => {
            progress_three_times(context).await;
            vec![text("done")]
        }
        "test_error_handling" => {
            let words = text("This tool intentionally returns an error for testing");
            return Some(Ok(of_json(json!({ "content": [words], "isError": true }))));
        }
        "test_sampling" => match sampled(context, &argument("prompt")).await {
            Ok(answer) => vec![text(&answer)],
            Err(error) => return Some(Err(error)),
        },
        "test_elicitation" => {
            let field = json!({ "type": "string", "description": "User's response" });
            let fields = json!({ "username": field, "email": field });
            let required = ["username", "email"];
            let schema = json!({ "type": "object", "properties": fields, "required": required });
            let message = argument("message");
            match elicited(context, message.as_str().unwrap_or_default(), schema).await {
                Ok((action, content)) => {
                    vec![text(&format!("User response: action: {action}, content: {content}"))]
                }
                Err(error) => return Some(Err(error)),
            }
        }
        "test_elicitation_sep1034_defaults" | "test_elicitation_sep1330_enums" => {
            let schema = match request.name.ends_with("defaults") {
                true => default_schema(),
                false => enum_schema(),
            };
            match elicited(context, "Please choose", schema).await {
                Ok((action, content)) => vec![text(&format!(
                    "Elicitation completed: action={action}, content={content}"
                ))],
                Err(error) => return Some(Err(error)),
            }
        }
        "test_reconnection" => {
            tokio::time::sleep(PAUSE).await;
            vec![text("Reconnected")]
        }
        "json_schema_2020_12_tool" => vec![text("ok")],
        _ => return None,
    };
    Some(Ok(of_json(json!({ "content": content }))))
}

/// Returns a resource of the fixtures.
fn fixture_resource(uri: &str) -> Option<ReadResourceResult> {
    let content = match uri {
        "test://static-text" => {
            let words = "This is the content of the static text resource.";
            json!({ "uri": uri, "mimeType": "text/plain", "text": words })
        }
        "test://static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": PICTURE }),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = format!("Data for ID: {id}");
            let words = json!({ "id": id, "templateTest": true, "data": data }).to_string();
            json!({ "uri": uri, "mimeType": "application/json", "text": words })
        }
    };
    Some(of_json(json!({ "contents": [content] })))
}

/// Returns a prompt of the fixtures.
fn fixture_prompt(request: &GetPromptRequestParams) -> Option<GetPromptResult> {
    let argument = |name: &str| {
        let given = request.arguments.as_ref().and_then(|given| given.get(name));
        given.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let content = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let [one, two] = ["arg1", "arg2"].map(argument);
            vec![text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let words = "Embedded resource content for testing.";
            let embedded = resource(&argument("resourceUri"), "text/plain", words);
            vec![embedded, text("Please process the embedded resource above.")]
        }
        "test_prompt_with_image" => vec![picture(), text("Please analyze the image above.")],
        _ => return None,
    };
    let message = |content| json!({ "role": "user", "content": content });
    let messages: Vec<Value> = content.into_iter().map(message).collect();
    Some(of_json(json!({ "messages": messages })))
}

impl FixtureServer {
    pub(crate) fn new() -> Self {
        Self { inner: McpServer::with_request_openers(), subscribed: Arc::default() }
    }
}

impl ServerHandler for FixtureServer {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.inner.get_info();
        info.capabilities.logging = Some(Default::default());
        info
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed: ListToolsResult = self.inner.list_tools(page, context).await?;
        Ok(with_items(&listed, "tools", &tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match call_fixture(&request, &context).await {
            Some(result) => Ok(result?.into()),
            None => self.inner.call_tool(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = self.inner.list_resources(page, context).await?;
        let added = json!([
            { "uri": "test://static-text", "name": "text", "description": "A fixture" },
            { "uri": "test://static-binary", "name": "binary", "description": "A fixture" },
        ]);
        Ok(with_items(&listed, "resources", &added))
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let listed = self.inner.list_resource_templates(page, context).await?;
        let added = json!([{ "uriTemplate": "test://template/{id}/data", "name": "template" }]);
        Ok(with_items(&listed, "resourceTemplates", &added))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match fixture_resource(&request.uri) {
            Some(result) => Ok(result.into()),
            None => self.inner.read_resource(request, context).await,
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !request.uri.starts_with("test://") {
            return self.inner.subscribe(request, context).await;
        }
        self.subscribed.lock().expect("no call panicked").insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !request.uri.starts_with("test://") {
            return self.inner.unsubscribe(request, context).await;
        }
        self.subscribed.lock().expect("no call panicked").remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let listed = self.inner.list_prompts(page, context).await?;
        Ok(with_items(&listed, "prompts", &prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        match fixture_prompt(&request) {
            Some(result) => Ok(result.into()),
            None => self.inner.get_prompt(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.inner.complete(request, context).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.inner.on_initialized(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.inner.on_roots_list_changed(context).await;
    }
}
