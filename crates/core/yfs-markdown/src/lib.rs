//! Converts markdown to the tree of editors and back: the same bytes come out.
//!
//! ProseMirror editors keep a document as a tree and normalize their output. Files are bytes that
//! other people and tools read. This crate converts between the two. It does no I/O, spawns
//! nothing, reads no clock and no random source, and knows nothing of CRDTs: the engine converts
//! trees to Yjs.
//!
//! Modules in the order in which one should read them: [`schema`] (what an editor can build),
//! [`tree`], [`parse`] (text to tree), [`mod@write`] (tree to text), [`tree_equality`] (whether two
//! trees are one document), [`source`] (the bytes of a file beside its tree), [`front_matter`]
//! (YAML above it).
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
