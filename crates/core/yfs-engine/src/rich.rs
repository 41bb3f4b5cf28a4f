//! Documents of editors in Yjs: the form of a `yfs-markdown` tree under `XmlFragment("richtext")`.
//!
//! The layout is y-prosemirror's, version 1. An element is a `Y.XmlElement` of its name.
//! Neighboring runs of text are one `Y.XmlText`, whose formats are the marks. Null attributes are
//! left out. Marks of elements are not kept.
//!
//! # Cost
//!
//! [`encode`] is linear. Writing the same through yrs walks a list of children for each of them,
//! and takes seconds where this takes milliseconds. [`read`] is linear too.

mod encode;
mod live_tree;
mod read;

pub use encode::encode;
pub(crate) use encode::{InsertParent, NodeInserter};
pub use live_tree::{LiveChild, LiveElement, LiveText, TextSlot, live, nodes, to_value};
pub(crate) use live_tree::{
    element_id, glance, glance_at, glance_in, into_nodes, item_of, live_at, to_any,
};
pub use read::read;

/// The root that holds the document.
pub const ROOT: &str = "richtext";
