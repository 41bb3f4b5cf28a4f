//! The two schema profiles: which elements, attributes and marks an editor can build.
//!
//! An editor *deletes* from the shared document whatever its schema cannot build: an unknown name, an
//! attribute of another type, content in the wrong place. So these tables are what we may write. They are
//! those of prosemirror-markdown 1.13 ([`Profile::CommonMark`]) and of Milkdown 7.22 with the presets
//! commonmark and gfm ([`Profile::Gfm`]). [`check`] tells whether a tree keeps them.

use smol_str::SmolStr;
use thiserror::Error;

use crate::tree::{Element, Mark, Node, Value};

/// Which schema the documents of a workspace keep. The two never mix in one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// The names of prosemirror-markdown: CommonMark without tables; HTML is text.
    CommonMark,
    /// The names of Milkdown: CommonMark with tables, tasks, strikethrough, footnotes and HTML.
    Gfm,
}

/// What sort of value an attribute has, beside null where its default is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
pub enum Default {
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
    /// What its values are.
    pub kind: Kind,
    /// What it is when nobody says.
    pub default: Default,
}

/// What an element may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
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

/// Where an element may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Among blocks.
    Block,
    /// In text.
    Inline,
    /// Only where an element asks for it by name.
    Named,
}

/// One element of a schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElementSpec {
    /// Its name.
    pub name: &'static str,
    /// Where it may stand.
    pub place: Place,
    /// What it may hold.
    pub content: Content,
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

/// What an editor could not build.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Violation {
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
    /// The children are not what the element may hold.
    #[error("{0:?} may not hold what it holds")]
    Content(SmolStr),
}

const fn required(name: &'static str, kind: Kind) -> AttributeSpec {
    AttributeSpec { name, kind, default: Default::Required }
}

const fn optional(name: &'static str, kind: Kind, default: Default) -> AttributeSpec {
    AttributeSpec { name, kind, default }
}

const fn element(
    name: &'static str,
    place: Place,
    content: Content,
    attributes: &'static [AttributeSpec],
) -> ElementSpec {
    ElementSpec { name, place, content, attributes }
}

const LINK: &[AttributeSpec] =
    &[required("href", Kind::String), optional("title", Kind::String, Default::Null)];
const MARKER: &[AttributeSpec] = &[optional("marker", Kind::String, Default::String("*"))];
const CELL: &[AttributeSpec] = &[
    optional("colspan", Kind::Number, Default::Number(1.0)),
    optional("rowspan", Kind::Number, Default::Number(1.0)),
    optional("colwidth", Kind::Array, Default::Null),
    optional("alignment", Kind::String, Default::Null),
];

const COMMONMARK: &[ElementSpec] = &[
    element("doc", Place::Named, Content::Blocks, &[]),
    element("paragraph", Place::Block, Content::Inline, &[]),
    element("blockquote", Place::Block, Content::Blocks, &[]),
    element("horizontal_rule", Place::Block, Content::Nothing, &[]),
    element(
        "heading",
        Place::Block,
        Content::TextAndImages,
        &[optional("level", Kind::Number, Default::Number(1.0))],
    ),
    element(
        "code_block",
        Place::Block,
        Content::PlainText,
        &[optional("params", Kind::String, Default::String(""))],
    ),
    element(
        "ordered_list",
        Place::Block,
        Content::Many("list_item"),
        &[
            optional("order", Kind::Number, Default::Number(1.0)),
            optional("tight", Kind::Bool, Default::Bool(false)),
        ],
    ),
    element(
        "bullet_list",
        Place::Block,
        Content::Many("list_item"),
        &[optional("tight", Kind::Bool, Default::Bool(false))],
    ),
    element("list_item", Place::Named, Content::Blocks, &[]),
    element(
        "image",
        Place::Inline,
        Content::Nothing,
        &[
            required("src", Kind::String),
            optional("alt", Kind::String, Default::Null),
            optional("title", Kind::String, Default::Null),
        ],
    ),
    element("hard_break", Place::Inline, Content::Nothing, &[]),
];

const COMMONMARK_MARKS: &[MarkSpec] = &[
    MarkSpec { name: "em", attributes: &[] },
    MarkSpec { name: "strong", attributes: &[] },
    MarkSpec { name: "link", attributes: LINK },
    MarkSpec { name: "code", attributes: &[] },
];

const GFM: &[ElementSpec] = &[
    element("doc", Place::Named, Content::Blocks, &[]),
    element("paragraph", Place::Block, Content::Inline, &[]),
    element("blockquote", Place::Block, Content::Blocks, &[]),
    element("hr", Place::Block, Content::Nothing, &[]),
    element(
        "heading",
        Place::Block,
        Content::Inline,
        &[
            optional("id", Kind::String, Default::String("")),
            optional("level", Kind::Number, Default::Number(1.0)),
        ],
    ),
    element(
        "code_block",
        Place::Block,
        Content::PlainText,
        &[optional("language", Kind::String, Default::String(""))],
    ),
    element(
        "ordered_list",
        Place::Block,
        Content::Many("list_item"),
        &[
            optional("order", Kind::Number, Default::Number(1.0)),
            optional("spread", Kind::Bool, Default::Bool(false)),
        ],
    ),
    element(
        "bullet_list",
        Place::Block,
        Content::Many("list_item"),
        &[optional("spread", Kind::Bool, Default::Bool(false))],
    ),
    element(
        "list_item",
        Place::Named,
        Content::ParagraphThenBlocks,
        &[
            optional("label", Kind::String, Default::String("•")),
            optional("listType", Kind::String, Default::String("bullet")),
            optional("spread", Kind::Bool, Default::Bool(true)),
            optional("checked", Kind::Bool, Default::Null),
        ],
    ),
    element(
        "image",
        Place::Inline,
        Content::Nothing,
        &[
            optional("src", Kind::String, Default::String("")),
            optional("alt", Kind::String, Default::String("")),
            optional("title", Kind::String, Default::String("")),
        ],
    ),
    element(
        "hardbreak",
        Place::Inline,
        Content::Nothing,
        &[optional("isInline", Kind::Bool, Default::Bool(false))],
    ),
    element(
        "html",
        Place::Inline,
        Content::Nothing,
        &[optional("value", Kind::String, Default::String(""))],
    ),
    element("table", Place::Block, Content::Rows("table_header_row", "table_row"), &[]),
    element("table_header_row", Place::Named, Content::Any("table_header"), &[]),
    element("table_row", Place::Named, Content::Any("table_cell"), &[]),
    element("table_header", Place::Named, Content::OneParagraph, CELL),
    element("table_cell", Place::Named, Content::OneParagraph, CELL),
    element(
        "footnote_reference",
        Place::Inline,
        Content::Nothing,
        &[optional("label", Kind::String, Default::String(""))],
    ),
    element(
        "footnote_definition",
        Place::Block,
        Content::Blocks,
        &[optional("label", Kind::String, Default::String(""))],
    ),
];

const GFM_MARKS: &[MarkSpec] = &[
    MarkSpec { name: "emphasis", attributes: MARKER },
    MarkSpec { name: "strong", attributes: MARKER },
    MarkSpec { name: "inlineCode", attributes: &[] },
    MarkSpec { name: "link", attributes: LINK },
    MarkSpec { name: "strike_through", attributes: &[] },
];

impl Profile {
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

/// Tells whether an editor of this profile could build the tree, and else what it would delete first.
pub fn check(element: &Element, profile: Profile) -> Result<(), Violation> {
    let unknown = || Violation::UnknownElement(element.name.clone());
    let spec = profile.element(&element.name).ok_or_else(unknown)?;
    check_attributes(&element.name, &element.attributes, spec.attributes)?;
    check_marks(&element.marks, profile)?;
    for child in &element.children {
        match child {
            Node::Element(child) => check(child, profile)?,
            Node::Text(text) => check_marks(&text.marks, profile)?,
        }
    }
    match holds(spec.content, &element.children, profile) {
        true => Ok(()),
        false => Err(Violation::Content(element.name.clone())),
    }
}

fn check_marks(marks: &[Mark], profile: Profile) -> Result<(), Violation> {
    for mark in marks {
        let spec = profile.marks().iter().find(|spec| spec.name == mark.name);
        let spec = spec.ok_or_else(|| Violation::UnknownMark(mark.name.clone()))?;
        check_attributes(&mark.name, &mark.attributes, spec.attributes)?;
    }
    Ok(())
}

fn check_attributes(
    owner: &SmolStr,
    attributes: &[(SmolStr, Value)],
    specs: &[AttributeSpec],
) -> Result<(), Violation> {
    for spec in specs {
        let value = attributes.iter().find(|(name, _)| name == spec.name).map(|(_, value)| value);
        let is_right = match (value, spec.kind) {
            (None, _) => spec.default != Default::Required,
            (Some(Value::Null), _) => spec.default == Default::Null,
            (Some(Value::Bool(_)), Kind::Bool)
            | (Some(Value::Number(_)), Kind::Number)
            | (Some(Value::String(_)), Kind::String)
            | (Some(Value::Array(_)), Kind::Array) => true,
            _ => false,
        };
        if !is_right {
            return Err(Violation::Attribute { element: owner.clone(), attribute: spec.name });
        }
    }
    Ok(())
}

fn holds(content: Content, children: &[Node], profile: Profile) -> bool {
    let place = |node: &Node| profile.element(node.name()).map(|spec| spec.place);
    let is_block = |node: &Node| place(node) == Some(Place::Block);
    let is_inline =
        |node: &Node| matches!(node, Node::Text(_)) || place(node) == Some(Place::Inline);
    let is = |name: &'static str| move |node: &Node| node.name() == name;
    match content {
        Content::Nothing => children.is_empty(),
        Content::PlainText => {
            children.iter().all(|node| matches!(node, Node::Text(text) if text.marks.is_empty()))
        }
        Content::Inline => children.iter().all(is_inline),
        Content::TextAndImages => {
            children.iter().all(|node| matches!(node.name(), "text" | "image"))
        }
        Content::Blocks => !children.is_empty() && children.iter().all(is_block),
        Content::ParagraphThenBlocks => {
            children.first().is_some_and(is("paragraph")) && children.iter().all(is_block)
        }
        Content::Many(name) => !children.is_empty() && children.iter().all(is(name)),
        Content::Any(name) => children.iter().all(is(name)),
        Content::Rows(first, rest) => {
            children.len() > 1 && is(first)(&children[0]) && children[1..].iter().all(is(rest))
        }
        Content::OneParagraph => children.len() == 1 && is("paragraph")(&children[0]),
    }
}
