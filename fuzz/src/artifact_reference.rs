//! References to artifacts, as callers send them, and the paths of ids that callers give: what is
//! shown of a reference is bounded, and a path stays below the root.

use yfs_artifacts::{ArtifactIds, FileMetadata, NamespaceStrategy, ToolResponseContent};

use super::FuzzInput;

/// The longest text that stands for a reference beside its own JSON, in bytes.
const MAX_EXTRA_LEN: usize = 64 << 10;

/// A template, ids, and the JSON of a reference.
pub const SEEDS: &[&[u8]] = &[
    b"\x09\x00thread_id\x01\x00t\x01\x00k\x01\x00c{\"file_id\": \"a\", \"relative_path\": \"t/a\", \
      \"size\": 1, \"content_type\": null, \"preview\": \"x\", \"checksum\": null, \"stats\": \
      {\"Html\": {\"title\": null, \"meta_description\": null, \"headings\": [[\"x\", \
      18446744073709551615]], \"link_count\": 1, \"image_count\": 0, \"script_tags\": 0, \
      \"main_content_length\": 0, \"language\": null}}}",
    b"\x15\x00{thread_id}/{file_id}\x02\x00..\x03\x00a/b\x01\x00*{\"FileReference\": \
      {\"metadata\": {\"file_id\": \"a\", \"relative_path\": \"../../x\", \"size\": 9, \
      \"content_type\": \"\", \"preview\": null, \"checksum\": \"zz\", \"stats\": {\"Csv\": {\"rows\": 3, \"columns\": 9, \
      \"headers\": [\"a\"], \"data_types\": [], \"cardinality_per_column\": [1, 2, 3], \
      \"sample_values\": [[]], \"null_counts\": []}}}}}",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let mut input = FuzzInput(bytes);
    let template = input.take_text();
    let mut id = || input.take_text().into_owned();
    let ids = ArtifactIds { thread_id: id(), task_id: id(), tool_call_id: id() };
    if let Ok(strategy) = NamespaceStrategy::parse(&template)
        && let Ok(path) = strategy.relative_path(&ids, "file")
    {
        assert!(path.ends_with("file"));
        assert!(!path.split('/').any(|part| matches!(part, "" | "." | "..")), "{path}");
    }
    if let Ok(metadata) = FileMetadata::parse_reference(input.0) {
        let preview = metadata.preview.clone();
        let reference = ToolResponseContent::FileReference { metadata, preview };
        let shown = reference.result().to_string().len() + reference.context_text().len();
        // Escapes make a text up to six times as long, in each of two places.
        assert!(shown <= MAX_EXTRA_LEN + 16 * input.0.len(), "{shown} bytes");
    }
}
