//! What is under the root, as a tree.

use yfs_markdown::{schema::SchemaProfile, tree::TreeElement};
use yrs::ReadTxn;

use super::live_tree::{glance, into_nodes};

/// Reads the document of an editor. Nothing under the root reads as a document that holds nothing.
///
/// Names that the profile does not know are read as they are. Neighbouring texts, of two people who typed into an empty
/// paragraph, are one. What nests deeper than [`MAX_DEPTH`](yfs_markdown::tree::MAX_DEPTH) is left out.
pub fn read(txn: &impl ReadTxn, profile: SchemaProfile) -> TreeElement {
    TreeElement::new("doc").holding(into_nodes(glance(txn, profile)))
}
