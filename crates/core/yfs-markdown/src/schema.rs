//! The two schema profiles: which elements, attributes and marks an editor can build.
//!
//! An editor *deletes* all elements from the shared document that its schema cannot build: an
//! unknown name, an attribute of another type, content in the wrong place. So yfs may only write
//! elements of these tables. They are those of prosemirror-markdown 1.13
//! ([`SchemaProfile::CommonMark`]) and of Milkdown 7.22 with the presets commonmark and gfm
//! ([`SchemaProfile::Gfm`]). [`check`] verifies a tree.

use smol_str::SmolStr;
use thiserror::Error;

use crate::tree::{AttributeValue, MarkdownNode, TextMark, TreeElement};

/// The schema of the documents of a workspace. The two never mix in one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaProfile {
    /// The names of prosemirror-markdown: CommonMark without tables; HTML is text.
    CommonMark,
    /// The names of Milkdown: CommonMark with tables, tasks, strikethrough, footnotes and HTML.
    Gfm,
}

/// The type of an attribute's value, beside null if its default is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeKind {
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// Text.
    String,
    /// A list, or null.
    Array,
}

/// The default of an attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttributeDefault {
    /// There is none: editors delete elements that lack it.
    Required,
    /// Absent.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(f64),
    /// Text.
    String(&'static str),
}

/// One attribute of an element or mark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttributeSpec {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: AttributeKind,
    /// Its value if it is absent.
    pub default: AttributeDefault,
}

/// The allowed content of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementContent {
    /// Nothing.
    Nothing,
    /// Runs of text without marks.
    PlainText,
    /// Text and inline elements.
    Inline,
    /// Text and images (headings of prosemirror-markdown).
    TextAndImages,
    /// One block or more.
    Blocks,
    /// A paragraph, then any blocks (items of Milkdown).
    ParagraphThenBlocks,
    /// One or more of one element.
    Many(&'static str),
    /// One of the first, then one or more of the second (tables).
    Rows(&'static str, &'static str),
    /// Any number of one element (rows: prosemirror-tables allows rows without cells).
    Any(&'static str),
    /// Exactly one paragraph (cells of Milkdown).
    OneParagraph,
}

/// The allowed position of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementPosition {
    /// Among blocks.
    Block,
    /// In text.
    Inline,
    /// Only as named content of another element.
    Named,
}

/// One element of a schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElementSpec {
    /// Its name.
    pub name: &'static str,
    /// The allowed position.
    pub place: ElementPosition,
    /// The allowed content.
    pub content: ElementContent,
    /// Its attributes, in the order in which editors write them.
    pub attributes: &'static [AttributeSpec],
}

/// One mark of a schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarkSpec {
    /// Its name.
    pub name: &'static str,
    /// Its attributes, in the order in which editors write them.
    pub attributes: &'static [AttributeSpec],
}

/// The part of a tree that an editor could not build.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaViolation {
    /// The profile has no such element.
    #[error("the profile has no element {0:?}")]
    UnknownElement(SmolStr),
    /// The profile has no such mark. Editors delete the whole text that carries it.
    #[error("the profile has no mark {0:?}")]
    UnknownMark(SmolStr),
    /// A required attribute is missing, or one has a value of another type.
    #[error("attribute {attribute:?} of {element:?} is missing or of another type")]
    Attribute {
        /// The element or mark.
        element: SmolStr,
        /// Its attribute.
        attribute: &'static str,
    },
    /// The children are not allowed in the element.
    #[error("{0:?} has children that it must not have")]
    Content(SmolStr),
}

const fn required(name: &'static str, kind: AttributeKind) -> AttributeSpec {
    AttributeSpec { name, kind, default: AttributeDefault::Required }
}

const fn optional(
    name: &'static str,
    kind: AttributeKind,
    default: AttributeDefault,
) -> AttributeSpec {
    AttributeSpec { name, kind, default }
}

const fn element(
    name: &'static str,
    place: ElementPosition,
    content: ElementContent,
    attributes: &'static [AttributeSpec],
) -> ElementSpec {
    ElementSpec { name, place, content, attributes }
}

const LINK: &[AttributeSpec] = &[
    required("href", AttributeKind::String),
    optional("title", AttributeKind::String, AttributeDefault::Null),
];
const MARKER: &[AttributeSpec] =
    &[optional("marker", AttributeKind::String, AttributeDefault::String("*"))];
const CELL: &[AttributeSpec] = &[
    optional("colspan", AttributeKind::Number, AttributeDefault::Number(1.0)),
    optional("rowspan", AttributeKind::Number, AttributeDefault::Number(1.0)),
    optional("colwidth", AttributeKind::Array, AttributeDefault::Null),
    optional("alignment", AttributeKind::String, AttributeDefault::Null),
];

const COMMONMARK: &[ElementSpec] = &[
    element("doc", ElementPosition::Named, ElementContent::Blocks, &[]),
    element("paragraph", ElementPosition::Block, ElementContent::Inline, &[]),
    element("blockquote", ElementPosition::Block, ElementContent::Blocks, &[]),
    element("horizontal_rule", ElementPosition::Block, ElementContent::Nothing, &[]),
    element(
        "heading",
        ElementPosition::Block,
        ElementContent::TextAndImages,
        &[optional("level", AttributeKind::Number, AttributeDefault::Number(1.0))],
    ),
    element(
        "code_block",
        ElementPosition::Block,
        ElementContent::PlainText,
        &[optional("params", AttributeKind::String, AttributeDefault::String(""))],
    ),
    element(
        "ordered_list",
        ElementPosition::Block,
        ElementContent::Many("list_item"),
        &[
            optional("order", AttributeKind::Number, AttributeDefault::Number(1.0)),
            optional("tight", AttributeKind::Bool, AttributeDefault::Bool(false)),
        ],
    ),
    element(
        "bullet_list",
        ElementPosition::Block,
        ElementContent::Many("list_item"),
        &[optional("tight", AttributeKind::Bool, AttributeDefault::Bool(false))],
    ),
    element("list_item", ElementPosition::Named, ElementContent::Blocks, &[]),
    element(
        "image",
        ElementPosition::Inline,
        ElementContent::Nothing,
        &[
            required("src", AttributeKind::String),
            optional("alt", AttributeKind::String, AttributeDefault::Null),
            optional("title", AttributeKind::String, AttributeDefault::Null),
        ],
    ),
    element("hard_break", ElementPosition::Inline, ElementContent::Nothing, &[]),
];

const COMMONMARK_MARKS: &[MarkSpec] = &[
    MarkSpec { name: "em", attributes: &[] },
    MarkSpec { name: "strong", attributes: &[] },
    MarkSpec { name: "link", attributes: LINK },
    MarkSpec { name: "code", attributes: &[] },
];

const GFM: &[ElementSpec] = &[
    element("doc", ElementPosition::Named, ElementContent::Blocks, &[]),
    element("paragraph", ElementPosition::Block, ElementContent::Inline, &[]),
    element("blockquote", ElementPosition::Block, ElementContent::Blocks, &[]),
    element("hr", ElementPosition::Block, ElementContent::Nothing, &[]),
    element(
        "heading",
        ElementPosition::Block,
        ElementContent::Inline,
        &[
            optional("id", AttributeKind::String, AttributeDefault::String("")),
            optional("level", AttributeKind::Number, AttributeDefault::Number(1.0)),
        ],
    ),
    element(
        "code_block",
        ElementPosition::Block,
        ElementContent::PlainText,
        &[optional("language", AttributeKind::String, AttributeDefault::String(""))],
    ),
    element(
        "ordered_list",
        ElementPosition::Block,
        ElementContent::Many("list_item"),
        &[
            optional("order", AttributeKind::Number, AttributeDefault::Number(1.0)),
            optional("spread", AttributeKind::Bool, AttributeDefault::Bool(false)),
        ],
    ),
    element(
        "bullet_list",
        ElementPosition::Block,
        ElementContent::Many("list_item"),
        &[optional("spread", AttributeKind::Bool, AttributeDefault::Bool(false))],
    ),
    element(
        "list_item",
        ElementPosition::Named,
        ElementContent::ParagraphThenBlocks,
        &[
            optional("label", AttributeKind::String, AttributeDefault::String("•")),
            optional("listType", AttributeKind::String, AttributeDefault::String("bullet")),
            optional("spread", AttributeKind::Bool, AttributeDefault::Bool(true)),
            optional("checked", AttributeKind::Bool, AttributeDefault::Null),
        ],
    ),
    element(
        "image",
        ElementPosition::Inline,
        ElementContent::Nothing,
        &[
            optional("src", AttributeKind::String, AttributeDefault::String("")),
            optional("alt", AttributeKind::String, AttributeDefault::String("")),
            optional("title", AttributeKind::String, AttributeDefault::String("")),
        ],
    ),
    element(
        "hardbreak",
        ElementPosition::Inline,
        ElementContent::Nothing,
        &[optional("isInline", AttributeKind::Bool, AttributeDefault::Bool(false))],
    ),
    element(
        "html",
        ElementPosition::Inline,
        ElementContent::Nothing,
        &[optional("value", AttributeKind::String, AttributeDefault::String(""))],
    ),
    element(
        "table",
        ElementPosition::Block,
        ElementContent::Rows("table_header_row", "table_row"),
        &[],
    ),
    element("table_header_row", ElementPosition::Named, ElementContent::Any("table_header"), &[]),
    element("table_row", ElementPosition::Named, ElementContent::Any("table_cell"), &[]),
    element("table_header", ElementPosition::Named, ElementContent::OneParagraph, CELL),
    element("table_cell", ElementPosition::Named, ElementContent::OneParagraph, CELL),
    element(
        "footnote_reference",
        ElementPosition::Inline,
        ElementContent::Nothing,
        &[optional("label", AttributeKind::String, AttributeDefault::String(""))],
    ),
    element(
        "footnote_definition",
        ElementPosition::Block,
        ElementContent::Blocks,
        &[optional("label", AttributeKind::String, AttributeDefault::String(""))],
    ),
];

const GFM_MARKS: &[MarkSpec] = &[
    MarkSpec { name: "emphasis", attributes: MARKER },
    MarkSpec { name: "strong", attributes: MARKER },
    MarkSpec { name: "inlineCode", attributes: &[] },
    MarkSpec { name: "link", attributes: LINK },
    MarkSpec { name: "strike_through", attributes: &[] },
];

impl SchemaProfile {
    /// Returns the elements of the schema.
    pub fn elements(self) -> &'static [ElementSpec] {
        match self {
            Self::CommonMark => COMMONMARK,
            Self::Gfm => GFM,
        }
    }

    /// Returns the marks of the schema, in order of rank.
    pub fn marks(self) -> &'static [MarkSpec] {
        match self {
            Self::CommonMark => COMMONMARK_MARKS,
            Self::Gfm => GFM_MARKS,
        }
    }

    /// Returns one element of the schema.
    pub fn element(self, name: &str) -> Option<&'static ElementSpec> {
        self.elements().iter().find(|spec| spec.name == name)
    }

    /// Returns the rank of a mark; unknown ones come last.
    pub fn rank(self, mark: &str) -> usize {
        self.marks().iter().position(|spec| spec.name == mark).unwrap_or(usize::MAX)
    }
}

/// Checks that an editor of this profile could build the tree, and returns the first part that it
/// would delete.
pub fn check(element: &TreeElement, profile: SchemaProfile) -> Result<(), SchemaViolation> {
    let unknown = || SchemaViolation::UnknownElement(element.name.clone());
    let spec = profile.element(&element.name).ok_or_else(unknown)?;
    check_attributes(&element.name, &element.attributes, spec.attributes)?;
    check_marks(&element.marks, profile)?;
    for child in &element.children {
        match child {
            MarkdownNode::Element(child) => check(child, profile)?,
            MarkdownNode::Text(text) => check_marks(&text.marks, profile)?,
        }
    }
    match accepts_children(spec.content, &element.children, profile) {
        true => Ok(()),
        false => Err(SchemaViolation::Content(element.name.clone())),
    }
}

fn check_marks(marks: &[TextMark], profile: SchemaProfile) -> Result<(), SchemaViolation> {
    for mark in marks {
        let spec = profile.marks().iter().find(|spec| spec.name == mark.name);
        let spec = spec.ok_or_else(|| SchemaViolation::UnknownMark(mark.name.clone()))?;
        check_attributes(&mark.name, &mark.attributes, spec.attributes)?;
    }
    Ok(())
}

fn check_attributes(
    owner: &SmolStr,
    attributes: &[(SmolStr, AttributeValue)],
    specs: &[AttributeSpec],
) -> Result<(), SchemaViolation> {
    for spec in specs {
        let value = attributes.iter().find(|(name, _)| name == spec.name).map(|(_, value)| value);
        let is_right = match (value, spec.kind) {
            (None, _) => spec.default != AttributeDefault::Required,
            (Some(AttributeValue::Null), _) => spec.default == AttributeDefault::Null,
            (Some(AttributeValue::Bool(_)), AttributeKind::Bool)
            | (Some(AttributeValue::Number(_)), AttributeKind::Number)
            | (Some(AttributeValue::String(_)), AttributeKind::String)
            | (Some(AttributeValue::Array(_)), AttributeKind::Array) => true,
            _ => false,
        };
        if !is_right {
            return Err(SchemaViolation::Attribute {
                element: owner.clone(),
                attribute: spec.name,
            });
        }
    }
    Ok(())
}

fn accepts_children(
    content: ElementContent,
    children: &[MarkdownNode],
    profile: SchemaProfile,
) -> bool {
    let place = |node: &MarkdownNode| profile.element(node.name()).map(|spec| spec.place);
    let is_block = |node: &MarkdownNode| place(node) == Some(ElementPosition::Block);
    let is_inline = |node: &MarkdownNode| {
        matches!(node, MarkdownNode::Text(_)) || place(node) == Some(ElementPosition::Inline)
    };
    let is = |name: &'static str| move |node: &MarkdownNode| node.name() == name;
    match content {
        ElementContent::Nothing => children.is_empty(),
        ElementContent::PlainText => children
            .iter()
            .all(|node| matches!(node, MarkdownNode::Text(text) if text.marks.is_empty())),
        ElementContent::Inline => children.iter().all(is_inline),
        ElementContent::TextAndImages => {
            children.iter().all(|node| matches!(node.name(), "text" | "image"))
        }
        ElementContent::Blocks => !children.is_empty() && children.iter().all(is_block),
        ElementContent::ParagraphThenBlocks => {
            children.first().is_some_and(is("paragraph")) && children.iter().all(is_block)
        }
        ElementContent::Many(name) => !children.is_empty() && children.iter().all(is(name)),
        ElementContent::Any(name) => children.iter().all(is(name)),
        ElementContent::Rows(first, rest) => {
            children.len() > 1 && is(first)(&children[0]) && children[1..].iter().all(is(rest))
        }
        ElementContent::OneParagraph => children.len() == 1 && is("paragraph")(&children[0]),
    }
}
