//! The schemas of the reference tools, as the reference server publishes them, and its check of
//! arguments: unknown ones are ignored.

use serde_json::{Value, json};

use crate::tool::{JsonSchemaObject, ToolDefinition};

/// The dialect of the schemas.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the schema of a tool's arguments.
pub(super) fn input_schema(tool: &str) -> JsonSchemaObject {
    let text = || json!({ "type": "string" });
    let patterns = || json!({ "type": "array", "items": text(), "default": [] });
    let described = |kind: &str, words: &str| json!({ "type": kind, "description": words });
    let (properties, required) = match tool {
        "read_file" | "read_text_file" => (
            json!({
                "path": text(),
                "tail": described(
                    "number", "If provided, returns only the last N lines of the file",
                ),
                "head": described(
                    "number", "If provided, returns only the first N lines of the file",
                ),
            }),
            json!(["path"]),
        ),
        "read_multiple_files" => (
            json!({ "paths": {
                "type": "array", "items": text(), "minItems": 1,
                "description": "Array of file paths to read. Each path must be a string \
                                pointing to a valid file within allowed directories.",
            } }),
            json!(["paths"]),
        ),
        "write_file" => (json!({ "path": text(), "content": text() }), json!(["path", "content"])),
        "edit_file" => {
            let edit = json!({
                "type": "object",
                "properties": {
                    "oldText": described("string", "Text to search for - must match exactly"),
                    "newText": described("string", "Text to replace with"),
                },
                "required": ["oldText", "newText"],
            });
            let dry_run = json!({
                "type": "boolean", "default": false,
                "description": "Preview changes using git-style diff format",
            });
            let edits = json!({ "type": "array", "items": edit });
            (json!({ "path": text(), "edits": edits, "dryRun": dry_run }), json!(["path", "edits"]))
        }
        "list_directory_with_sizes" => {
            let order = json!({
                "type": "string", "enum": ["name", "size"], "default": "name",
                "description": "Sort entries by name or size",
            });
            (json!({ "path": text(), "sortBy": order }), json!(["path"]))
        }
        "directory_tree" => {
            (json!({ "path": text(), "excludePatterns": patterns() }), json!(["path"]))
        }
        "search_files" => (
            json!({ "path": text(), "pattern": text(), "excludePatterns": patterns() }),
            json!(["path", "pattern"]),
        ),
        "move_file" => {
            (json!({ "source": text(), "destination": text() }), json!(["source", "destination"]))
        }
        "list_allowed_directories" => (json!({}), Value::Null),
        _ => (json!({ "path": text() }), json!(["path"])),
    };
    let mut schema = object(json!({ "$schema": DIALECT, "type": "object" }));
    schema.insert("properties".to_owned(), properties);
    if !required.is_null() {
        schema.insert("required".to_owned(), required);
    }
    schema
}

/// Returns the schema of a tool's structured result.
pub(super) fn output_schema(tool: &str) -> JsonSchemaObject {
    let text = || json!({ "type": "string" });
    let strict = |properties: Value, required: Value| {
        json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        })
    };
    let content = match tool {
        "read_media_file" => {
            let media = strict(
                json!({
                    "type": { "type": "string", "enum": ["image", "audio"] },
                    "data": text(), "mimeType": text(),
                }),
                json!(["type", "data", "mimeType"]),
            );
            let resource = strict(
                json!({ "uri": text(), "mimeType": text(), "blob": text() }),
                json!(["uri", "blob"]),
            );
            let embedded = strict(
                json!({ "type": { "type": "string", "const": "resource" }, "resource": resource }),
                json!(["type", "resource"]),
            );
            json!({ "type": "array", "items": { "anyOf": [media, embedded] } })
        }
        _ => text(),
    };
    let mut schema = object(strict(json!({ "content": content }), json!(["content"])));
    schema.insert("$schema".to_owned(), DIALECT.into());
    schema
}

fn object(value: Value) -> JsonSchemaObject {
    match value {
        Value::Object(object) => object,
        _ => JsonSchemaObject::new(),
    }
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
