//! Which kinds of content belong into which lists.
//!
//! The format lets an item of any kind be in any list. Of a list whose type is known, an editor
//! writes only some kinds; yrs reads the others wrongly, and of text among values or among XML
//! children it never finds the end (`docs/decisions/0080-content-stays-in-its-kind-of-list.md`).

use super::{
    parse::{StructKind, UpdateStruct},
    role::DocRole,
    update_scan::RootIx,
};
use crate::lib0::Lib0Reader;

/// The kind of a list, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListShape {
    /// A root that the engine does not read: an application chose its type, which no update names.
    Unknown,
    /// An array of values.
    Array,
    /// A map. It has entries only.
    Map,
    /// Text, with or without marks.
    Text,
    /// The children of an XML fragment or element.
    XmlChildren,
}

/// The numbers of types in the format.
const ARRAY: u8 = 0;
const MAP: u8 = 1;
const TEXT: u8 = 2;
const XML_ELEMENT: u8 = 3;
const XML_FRAGMENT: u8 = 4;
const XML_TEXT: u8 = 6;

impl ListShape {
    /// Returns the shape of a root.
    pub(crate) fn of_root(role: DocRole, name: &str) -> Self {
        if RootIx::of(role, name).is_some() {
            return Self::Array;
        }
        match (role, name) {
            (DocRole::Content, "text") => Self::Text,
            (DocRole::Content, "richtext") => Self::XmlChildren,
            (DocRole::Content, "frontmatter" | "markdown-source" | "fs:conv") => Self::Map,
            (DocRole::Content, "timeline" | "fs:aside") => Self::Array,
            // `content` of the reference implementation is a root that other applications use with
            // types of their own.
            _ => Self::Unknown,
        }
    }

    /// Returns the shape of the type that a struct of an update holds.
    pub(crate) fn of_type(bytes: &[u8], item: &UpdateStruct<'_>) -> Self {
        match type_number(bytes, item) {
            Some(ARRAY) => Self::Array,
            Some(MAP) => Self::Map,
            Some(TEXT | XML_TEXT) => Self::Text,
            Some(XML_ELEMENT | XML_FRAGMENT) => Self::XmlChildren,
            _ => Self::Unknown,
        }
    }

    /// Returns the number of the shape in a checkpoint.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Unknown => 0,
            Self::Array => 1,
            Self::Map => 2,
            Self::Text => 3,
            Self::XmlChildren => 4,
        }
    }

    /// Returns the shape of a number in a checkpoint; those of older versions have none.
    pub(crate) fn of_number(number: u64) -> Self {
        match number {
            1 => Self::Array,
            2 => Self::Map,
            3 => Self::Text,
            4 => Self::XmlChildren,
            _ => Self::Unknown,
        }
    }

    /// Returns what a struct of an update would put into a list of this shape although it does not
    /// belong there; `None` if it does.
    pub(crate) fn misplaced(
        self,
        bytes: &[u8],
        item: &UpdateStruct<'_>,
        is_entry: bool,
    ) -> Option<&'static str> {
        use StructKind::{Any, Binary, Deleted, Doc, Embed, Format, Gc, Json, Skip, String, Type};
        if self == Self::Unknown || matches!(item.kind, Gc | Deleted | Skip) {
            return None;
        }
        if is_entry {
            return match item.kind {
                _ if self == Self::Array => Some("an entry of a map"),
                String => Some("text"),
                Embed | Format => Some("a mark"),
                _ => None,
            };
        }
        match (self, item.kind) {
            (Self::Map, _) => Some("an element of a list"),
            (Self::Array | Self::XmlChildren, String) => Some("text"),
            (Self::Array | Self::XmlChildren, Embed | Format) => Some("a mark"),
            (Self::Text | Self::XmlChildren, Any | Json | Binary | Doc) => Some("values"),
            (Self::XmlChildren, Type) => match type_number(bytes, item) {
                Some(XML_ELEMENT | XML_FRAGMENT | XML_TEXT) => None,
                _ => Some("a type that is not XML"),
            },
            _ => None,
        }
    }
}

fn type_number(bytes: &[u8], item: &UpdateStruct<'_>) -> Option<u8> {
    (item.kind == StructKind::Type).then(|| Lib0Reader::at(bytes, item.content_at).u8().ok())?
}
