//! The examples of CommonMark and GFM, with what real editors build from them.

use serde_json::Value as Json;
use yfs_markdown::schema::SchemaProfile;

/// One example.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) id: String,
    pub(crate) markdown: String,
    /// The document as JSON text.
    pub(crate) document: String,
}

/// Returns all examples of a profile.
pub(crate) fn examples(profile: SchemaProfile) -> Vec<Example> {
    let name = match profile {
        SchemaProfile::CommonMark => "commonmark",
        SchemaProfile::Gfm => "gfm",
    };
    let path = format!("{}/../../../fixtures/markdown/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let examples = lines.lines().map(|line| {
        let json: Json = serde_json::from_str(line).expect("the fixture is JSON");
        Example {
            id: text(&json["id"]),
            markdown: text(&json["md"]),
            document: json["pm"].to_string(),
        }
    });
    examples.collect()
}
