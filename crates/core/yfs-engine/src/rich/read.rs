//! Reads the content under the root as a tree.

use yfs_markdown::{schema::SchemaProfile, tree::TreeElement};
use yrs::ReadTxn;

use super::live_tree::{glance, into_nodes};

/// Reads the document of an editor. An empty root reads as an empty document.
///
/// Names that the profile does not know are read unchanged. Neighboring texts, of two people who
/// typed into an empty paragraph, are one. Elements nested deeper than
/// [`MAX_DEPTH`](yfs_markdown::tree::MAX_DEPTH) are left out.
pub fn read(txn: &impl ReadTxn, profile: SchemaProfile) -> TreeElement {
    TreeElement::new("doc").with_children(into_nodes(glance(txn, profile)))
}
