//! Trees as ProseMirror's JSON.

use serde_json::{Map, Value as Json, json};
use yfs_markdown::tree::{AttributeValue, Attributes, MarkdownNode, TextMark, TreeElement};

/// Returns an element as ProseMirror's `toJSON` has it.
pub(crate) fn to_json(element: &TreeElement) -> Json {
    let mut json = Map::new();
    json.insert("type".into(), json!(element.name.as_str()));
    if !element.attributes.is_empty() {
        json.insert("attrs".into(), attributes_to_json(&element.attributes));
    }
    if !element.children.is_empty() {
        let children = element.children.iter().map(|child| match child {
            MarkdownNode::Element(element) => to_json(element),
            MarkdownNode::Text(run) => {
                let mut json = Map::new();
                json.insert("type".into(), json!("text"));
                json.insert("text".into(), json!(run.text));
                insert_marks(&mut json, &run.marks);
                Json::Object(json)
            }
        });
        json.insert("content".into(), children.collect());
    }
    insert_marks(&mut json, &element.marks);
    Json::Object(json)
}

fn insert_marks(json: &mut Map<String, Json>, marks: &[TextMark]) {
    if marks.is_empty() {
        return;
    }
    let marks = marks.iter().map(|mark| {
        let mut json = Map::new();
        json.insert("type".into(), json!(mark.name.as_str()));
        if !mark.attributes.is_empty() {
            json.insert("attrs".into(), attributes_to_json(&mark.attributes));
        }
        Json::Object(json)
    });
    json.insert("marks".into(), marks.collect());
}

fn attributes_to_json(attributes: &Attributes) -> Json {
    let entries = attributes.iter().map(|(name, value)| (name.to_string(), value_to_json(value)));
    Json::Object(entries.collect())
}

/// Returns a value as JSON.
fn value_to_json(value: &AttributeValue) -> Json {
    match value {
        AttributeValue::Null => Json::Null,
        AttributeValue::Bool(value) => json!(value),
        AttributeValue::Number(value) => json!(value),
        AttributeValue::String(value) => json!(value.as_str()),
        AttributeValue::Array(values) => values.iter().map(value_to_json).collect(),
        AttributeValue::Object(entries) => {
            entries.iter().map(|(key, value)| (key.to_string(), value_to_json(value))).collect()
        }
    }
}

/// Reports whether two documents are equal. Nulls are absent, the order of keys means nothing, `1`
/// is `1.0`.
pub(crate) fn equal(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Object(left), Json::Object(right)) => {
            let n_kept = |object: &Map<String, Json>| {
                object.values().filter(|object| !object.is_null()).count()
            };
            n_kept(left) == n_kept(right)
                && left
                    .iter()
                    .filter(|(_, value)| !value.is_null())
                    .all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r))
        }
        (Json::Number(left), Json::Number(right)) => left.as_f64() == right.as_f64(),
        (left, right) => left == right,
    }
}
