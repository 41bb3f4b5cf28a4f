//! What is generated from the types of `yfs-wire` is up to date. `just wire` writes it.

mod schemas;

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use serde_json::{Value, to_string_pretty};

use self::schemas::{openapi_schemas, typescript};

#[test]
fn the_typescript_of_the_node_package_is_generated() {
    expect_file![root().join("crates/doors/yfs-node/ts/wire.ts")].assert_eq(&typescript());
}

/// The OpenAPI document is the hand-written `openapi.template.json` with the generated schemas.
#[test]
fn the_schemas_of_the_openapi_document_are_generated() {
    let server = root().join("crates/doors/yfs-server/src");
    let template = std::fs::read_to_string(server.join("openapi.template.json")).unwrap();
    let schemas = to_string_pretty(&openapi_schemas()).unwrap().replace('\n', "\n    ");
    let document = template.replace(r#""schemas": {}"#, &format!(r#""schemas": {schemas}"#));
    assert_ne!(document, template, "the template has a place for the schemas");
    expect_file![server.join("openapi.json")].assert_eq(&document);
    let document: Value = serde_json::from_str(&document).unwrap();
    for name in references(&document) {
        let target = document.pointer(name.trim_start_matches('#'));
        assert!(target.is_some(), "{name} is not in the document");
    }
}

/// Returns all targets of `$ref`.
fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str);
            own.into_iter().chain(members.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_path_buf()
}
