//! Analyses as the store keeps them: what a preview shows of one that is damaged stays within its
//! limit.

use yfs_analysis::PreviewLimit;
use yfs_artifacts::FileAnalysis;

/// The longest description beside the analysis itself, in bytes.
const MAX_EXTRA_LEN: usize = 64 << 10;

/// The JSON of analyses, whose numbers do not fit each other.
pub const SEEDS: &[&[u8]] = &[
    b"{\"form\": 1, \"version\": null, \"media_type\": \"text/plain\", \"size\": 1, \"stats\": \
      {\"Text\": {\"lines\": 9, \"words\": 9, \"characters\": 9, \"encoding\": \"UTF-8\", \
      \"language\": null, \"structure_hints\": \"PlainText\"}}, \"notes\": [], \"preview\": \
      {\"head\": \"a\\nb\\nc\\n\", \"n_chars\": 99999, \"n_newlines\": 18446744073709551615}}",
    b"{\"form\": 1, \"version\": \"7\", \"media_type\": \"application/json\", \"size\": 1, \
      \"stats\": {\"JsonArray\": {\"length\": 1, \"element_schema\": {\"properties\": {\"a\": \
      {\"Nullable\": {\"Union\": [\"Integer\", \"Object\"]}}}}, \"sample_elements\": [], \
      \"cardinality_per_field\": {\"a\": 9}, \"data_types_distribution\": {}}}, \"notes\": [], \
      \"preview\": {\"head\": \"\", \"n_chars\": 3, \"n_newlines\": 0, \"sample\": [1, 2, [3]]}}",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let Ok(analysis) = serde_json::from_slice::<FileAnalysis>(bytes) else { return };
    for limit in [0, 1, 40, 600, 100_000] {
        let preview = analysis.preview(PreviewLimit::Characters(limit));
        assert!(preview.chars().count() <= limit);
        assert!(analysis.preview(PreviewLimit::Bytes(limit)).len() <= limit);
    }
    assert!(analysis.description().len() <= MAX_EXTRA_LEN + 8 * bytes.len());
    let again = serde_json::to_vec(&analysis).expect("an analysis is plain data");
    let again: FileAnalysis = serde_json::from_slice(&again).expect("it was just written");
    assert_eq!(again, analysis);
}
