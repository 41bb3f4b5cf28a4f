//! Markdown as the tree that editors hold, and back: text in, text out, byte for byte.
//!
//! ProseMirror editors keep a document as a tree and normalise what they write. Files are bytes that
//! other people and tools read. This crate stands between the two. It does no I/O, spawns nothing, reads no
//! clock and no random source, and knows nothing of CRDTs: what a tree becomes in Yjs is the engine's affair.
//!
//! Modules in the order in which one should read them: [`schema`] (what an editor can build), [`tree`],
//! [`parse`] (text to tree), [`mod@write`] (tree to text), [`tree_equality`] (what makes two trees one document),
//! [`source`] (the bytes of a file beside its tree), [`front_matter`] (YAML above it).
//!
//! ```
//! use yfs_markdown::{parse::parse, schema::{SchemaProfile, check}};
//!
//! let doc = parse("A *fine* day\n", SchemaProfile::CommonMark);
//! assert_eq!(doc.to_string(), r#"doc(paragraph("A " em:"fine" " day"))"#);
//! check(&doc, SchemaProfile::CommonMark)?;
//! # Ok::<(), yfs_markdown::schema::SchemaViolation>(())
//! ```

pub mod front_matter;
mod outline;
pub mod parse;
pub mod schema;
pub mod source;
pub mod tree;
pub mod tree_equality;
pub mod weight;
pub mod write;
