//! Conversion of JSON between the engine and serde.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Number, Value};
use yfs_engine::Any;

/// Converts a value of the engine to JSON. Values that JSON lacks (bytes, infinities) become null.
pub(crate) fn to_json(any: &Any) -> Value {
    match any {
        Any::Null | Any::Undefined | Any::Buffer(_) => Value::Null,
        Any::Bool(bool) => Value::Bool(*bool),
        Any::String(text) => Value::String(text.to_string()),
        Any::Array(items) => Value::Array(items.iter().map(to_json).collect()),
        Any::Map(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members.into_iter().map(|(name, value)| (name.clone(), to_json(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Any::Number(yfs_engine::Number::Int(number)) => Value::Number((*number).into()),
        Any::Number(yfs_engine::Number::Float(number)) => {
            to_number(*number).map_or(Value::Null, Value::Number)
        }
    }
}

/// Converts JSON to a value of the engine.
pub(crate) fn from_json(value: &Value) -> Any {
    match value {
        Value::Null => Any::Null,
        Value::Bool(bool) => Any::Bool(*bool),
        Value::String(text) => Any::String(text.as_str().into()),
        Value::Number(number) => Any::from(number.as_f64().unwrap_or_default()),
        Value::Array(items) => Any::Array(items.iter().map(from_json).collect()),
        Value::Object(members) => object(members),
    }
}

/// Converts a JSON object to a value of the engine.
pub(crate) fn object(members: &Map<String, Value>) -> Any {
    let members = members.iter().map(|(name, value)| (name.clone(), from_json(value)));
    Any::Map(Arc::new(members.collect::<HashMap<_, _>>()))
}

/// Converts a JavaScript number, to an integer if it has no fraction.
fn to_number(number: f64) -> Option<Number> {
    let is_exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    if is_exact { Some((number as i64).into()) } else { Number::from_f64(number) }
}

/// Returns the merge patch (RFC 7396) that sets the member `name` of `old` to `new`, whatever its
/// value was.
pub(crate) fn replace_member(old: Option<&Any>, name: &str, new: &Map<String, Value>) -> Any {
    let before = match old {
        Some(Any::Map(members)) => members.get(name).map_or(Value::Null, to_json),
        _ => Value::Null,
    };
    let after = if new.is_empty() { Value::Null } else { Value::Object(new.clone()) };
    object(&Map::from_iter([(name.to_owned(), difference(&before, after))]))
}

/// Returns what a merge patch makes of nothing: a map without the members that are null. `None` if
/// no member is left.
pub(crate) fn without_nulls(patch: Any) -> Option<Any> {
    let Any::Map(members) = patch else { return Some(patch) };
    let kept = members.iter().filter(|(_, value)| !matches!(value, Any::Null));
    let kept = kept.filter_map(|(name, value)| Some((name.clone(), without_nulls(value.clone())?)));
    let kept: HashMap<_, _> = kept.collect();
    (!kept.is_empty()).then(|| Any::Map(Arc::new(kept)))
}

/// Returns the merge patch from `before` to `after`.
pub(crate) fn difference(before: &Value, after: Value) -> Value {
    let (Value::Object(before), Value::Object(mut after)) = (before, after.clone()) else {
        return after;
    };
    for (name, value) in &mut after {
        let old = before.get(name).unwrap_or(&Value::Null);
        *value = difference(old, value.take());
    }
    for name in before.keys() {
        after.entry(name.clone()).or_insert(Value::Null);
    }
    Value::Object(after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replacing_a_member_leaves_nothing_of_the_old() {
        let old = from_json(&json!({ "custom": { "a": 1, "b": { "c": 2 } }, "mime": "x" }));
        let new = json!({ "b": { "d": 3 } });
        let patch = replace_member(Some(&old), "custom", new.as_object().unwrap());
        let expected = json!({ "custom": { "a": null, "b": { "c": null, "d": 3 } } });
        assert_eq!(to_json(&patch), expected);
    }

    #[test]
    fn json_comes_back() {
        let value = json!({ "a": [1, 2.5, "x", null, true], "b": { "c": -7 } });
        assert_eq!(to_json(&from_json(&value)), value);
    }
}
