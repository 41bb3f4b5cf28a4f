//! The schemas of the reference tools, as the reference server publishes them, and its check of
//! arguments: unknown ones are ignored.

use serde_json::{Value, json};

use crate::{registered_tool::RegisteredTool, tool::ToolDefinition};

/// Returns a tool with its schemas as the reference server publishes them.
pub(super) fn published(mut tool: RegisteredTool) -> RegisteredTool {
    let ToolDefinition { name, input_schema, output_schema, .. } = &mut tool.definition;
    let arguments = input_schema.entry("properties").or_insert_with(|| json!({}));
    for argument in arguments.as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        // An argument that may be absent is not null.
        if let Some(kind) = argument["type"].as_array().map(|kinds| kinds[0].clone()) {
            argument["type"] = kind;
        }
    }
    if let Some(output) = output_schema {
        let content = match name.as_str() {
            "read_media_file" => media_schema(),
            _ => json!({ "type": "string" }),
        };
        output.insert("properties".to_owned(), json!({ "content": content }));
        output.insert("additionalProperties".to_owned(), false.into());
        output.remove("description");
    }
    tool.checked_by(check_arguments)
}

fn media_schema() -> Value {
    let text = || json!({ "type": "string" });
    let strict = |properties: Value, required: Value| {
        json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        })
    };
    let kind = json!({ "type": "string", "enum": ["image", "audio"] });
    let media = strict(
        json!({ "type": kind, "data": text(), "mimeType": text() }),
        json!(["type", "data", "mimeType"]),
    );
    let resource = strict(
        json!({ "uri": text(), "mimeType": text(), "blob": text() }),
        json!(["uri", "blob"]),
    );
    let kind = json!({ "type": "string", "const": "resource" });
    let embedded =
        strict(json!({ "type": kind, "resource": resource }), json!(["type", "resource"]));
    json!({ "type": "array", "items": { "anyOf": [media, embedded] } })
}

/// Checks arguments against the schema of their tool. The error is the text of the reference.
pub(super) fn check_arguments(tool: &ToolDefinition, arguments: &Value) -> Result<(), String> {
    let schema = Value::Object(tool.input_schema.clone());
    check_value(&schema, arguments, "").map_err(|reason| {
        let name = &tool.name;
        format!(
            "MCP error -32602: Input validation error: Invalid arguments for tool {name}: {reason}"
        )
    })
}

fn check_value(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let place = if at.is_empty() { String::new() } else { format!(" at {at}") };
    let wanted = schema["type"].as_str().unwrap_or_default();
    if wanted != kind_of(value) {
        let found = kind_of(value);
        return Err(format!("Invalid input: expected {wanted}, received {found}{place}"));
    }
    let below = |name: &str| match at.is_empty() {
        true => name.to_owned(),
        false => format!("{at}.{name}"),
    };
    if let (Some(allowed), Some(text)) = (schema["enum"].as_array(), value.as_str())
        && !allowed.iter().any(|allowed| allowed == text)
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        let allowed = allowed.join("|");
        return Err(format!("Invalid option: expected one of {allowed}{place}"));
    }
    if let Some(items) = value.as_array() {
        let n_min = schema["minItems"].as_u64().unwrap_or(0);
        if (items.len() as u64) < n_min {
            return Err(format!("Too small: expected array to have >={n_min} items{place}"));
        }
        for (index, item) in items.iter().enumerate() {
            check_value(&schema["items"], item, &below(&index.to_string()))?;
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_required =
            schema["required"].as_array().is_some_and(|names| names.iter().any(|of| of == name));
        match value.get(name) {
            Some(member) => check_value(property, member, &below(name))?,
            None if is_required => {
                let wanted = property["type"].as_str().unwrap_or_default();
                let at = below(name);
                return Err(format!(
                    "Invalid input: expected {wanted}, received undefined at {at}"
                ));
            }
            None => (),
        }
    }
    Ok(())
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
