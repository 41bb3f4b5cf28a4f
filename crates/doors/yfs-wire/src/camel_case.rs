//! Keys as JavaScript spells them.

use serde_json::{Map, Value};

/// Returns a value whose objects have their keys in camel case: `trashed_at` becomes `trashedAt`.
///
/// Must not be used for values that hold keys of users, such as a file's metadata.
pub fn camel_case_keys(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter();
            let renamed = members.map(|(key, value)| (camel_case(&key), camel_case_keys(value)));
            Value::Object(renamed.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(camel_case_keys).collect(),
        other => other,
    }
}

fn camel_case(key: &str) -> String {
    let mut parts = key.split('_');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut chars = part.chars();
        name.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(chars.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::camel_case_keys;

    #[test]
    fn keys_are_renamed_at_every_depth() {
        let value = json!({ "held_by": [{ "first_at_all": 1 }], "plain": { "a_b": "c_d" } });
        let renamed = json!({ "heldBy": [{ "firstAtAll": 1 }], "plain": { "aB": "c_d" } });
        assert_eq!(camel_case_keys(value), renamed);
    }
}
