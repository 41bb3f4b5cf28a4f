//! The document tree of a ProseMirror editor, without an editor.
//!
//! A node is an element with a name, typed attributes and children, or a run of text. Marks
//! (emphasis, links) lie on runs and on inline elements, in the order of their rank in the schema.
//! The root is an element named `doc`. Names are strings, not an enum: a document may have names
//! that no profile knows.
//!
//! # Invariants
//!
//! - Trees made by this crate are at most [`MAX_DEPTH`] elements deep, so that recursion over them
//!   is safe.
//! - Two neighboring runs have different marks, and no run is empty.

use std::fmt;

use smol_str::SmolStr;

/// The greatest depth of a tree, counted in elements. Deeper containers are left out, their content
/// stays.
pub const MAX_DEPTH: usize = 128;

/// A value of an attribute: JSON, with the numbers of JavaScript.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// Null. For most purposes, an attribute that is null is one that is absent.
    Null,
    /// True or false.
    Bool(bool),
    /// Any number. Editors delete elements whose numbers arrive as strings.
    Number(f64),
    /// Text.
    String(SmolStr),
    /// A list.
    Array(Vec<Self>),
    /// A map whose keys are unique, in order of writing.
    Object(Vec<(SmolStr, Self)>),
}

/// Attributes by name, in the order of the schema.
pub type Attributes = Vec<(SmolStr, AttributeValue)>;

/// A mark on a run of text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextMark {
    /// Its name in the schema.
    pub name: SmolStr,
    /// Its attributes, nulls included.
    pub attributes: Attributes,
}

/// A run of text whose characters share all their marks.
#[derive(Debug, Clone, PartialEq)]
pub struct TextRun {
    /// The characters.
    pub text: String,
    /// Its marks by rank.
    pub marks: Vec<TextMark>,
}

/// A node that is not text.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeElement {
    /// Its name in the schema.
    pub name: SmolStr,
    /// Its attributes, nulls included.
    pub attributes: Attributes,
    /// Its children.
    pub children: Vec<MarkdownNode>,
    /// Its marks by rank, on inline elements. Yjs does not keep these.
    pub marks: Vec<TextMark>,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum MarkdownNode {
    /// An element.
    Element(TreeElement),
    /// A run of text.
    Text(TextRun),
}

impl AttributeValue {
    /// Makes a text value.
    pub fn string(text: impl Into<SmolStr>) -> Self {
        Self::String(text.into())
    }

    /// Returns the text of a text value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a number, also where an older editor wrote it as text.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Returns a truth value, also where an older editor wrote it as text.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::String(text) if text == "true" => Some(true),
            Self::String(text) if text == "false" => Some(false),
            _ => None,
        }
    }

    /// Reports whether this is [`AttributeValue::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl From<bool> for AttributeValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for AttributeValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for AttributeValue {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl TextMark {
    /// Makes a mark without attributes.
    pub fn new(name: &'static str) -> Self {
        Self { name: SmolStr::new_static(name), attributes: Vec::new() }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<AttributeValue>) -> Self {
        self.attributes.push((SmolStr::new_static(name), value.into()));
        self
    }

    /// Returns an attribute.
    pub fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        find(&self.attributes, name)
    }
}

impl TreeElement {
    /// Makes an element without attributes and children.
    pub fn new(name: &'static str) -> Self {
        let name = SmolStr::new_static(name);
        Self { name, attributes: Vec::new(), children: Vec::new(), marks: Vec::new() }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<AttributeValue>) -> Self {
        self.attributes.push((SmolStr::new_static(name), value.into()));
        self
    }

    /// Sets the children.
    #[must_use]
    pub fn with_children(mut self, children: Vec<MarkdownNode>) -> Self {
        self.children = children;
        self
    }

    /// Returns an attribute.
    pub fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        find(&self.attributes, name)
    }

    /// Returns an attribute that is text; empty if it is absent.
    pub(crate) fn text_attribute(&self, name: &str) -> &str {
        self.attribute(name).and_then(AttributeValue::as_str).unwrap_or_default()
    }

    /// Drops the marks of all elements below. Recurses: trees are of bounded depth.
    pub(crate) fn drop_marks_of_elements(&mut self) {
        self.marks = Vec::new();
        for child in &mut self.children {
            if let MarkdownNode::Element(element) = child {
                element.drop_marks_of_elements();
            }
        }
    }

    /// Returns the text of all runs below, in order.
    pub fn plain_text(&self) -> String {
        let mut text = String::new();
        collect_text(&self.children, &mut text);
        text
    }
}

impl MarkdownNode {
    /// Makes a run of text.
    pub fn text(text: impl Into<String>, marks: Vec<TextMark>) -> Self {
        Self::Text(TextRun { text: text.into(), marks })
    }

    /// Returns the element, if this is one.
    pub fn as_element(&self) -> Option<&TreeElement> {
        match self {
            Self::Element(element) => Some(element),
            Self::Text(_) => None,
        }
    }

    /// Returns the name of the element, or `text`.
    pub fn name(&self) -> &str {
        match self {
            Self::Element(element) => &element.name,
            Self::Text(_) => "text",
        }
    }
}

impl From<TreeElement> for MarkdownNode {
    fn from(element: TreeElement) -> Self {
        Self::Element(element)
    }
}

/// Adds an inline node, joining it with the run before where the marks are the same.
pub fn push_inline(children: &mut Vec<MarkdownNode>, node: MarkdownNode) {
    if let MarkdownNode::Text(text) = &node {
        if text.text.is_empty() {
            return;
        }
        if let Some(MarkdownNode::Text(last)) = children.last_mut()
            && last.marks == text.marks
        {
            last.text.push_str(&text.text);
            return;
        }
    }
    push_one(children, node);
}

/// Adds an element to a list that mostly gets one: the first takes the space of one element, where
/// `Vec` would take that of four. A document has a hundred thousand of such lists.
pub fn push_one<T>(list: &mut Vec<T>, element: T) {
    if list.capacity() == 0 {
        list.reserve_exact(1);
    }
    list.push(element);
}

fn find<'a>(attributes: &'a [(SmolStr, AttributeValue)], name: &str) -> Option<&'a AttributeValue> {
    attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn collect_text(nodes: &[MarkdownNode], text: &mut String) {
    for node in nodes {
        match node {
            MarkdownNode::Text(run) => text.push_str(&run.text),
            MarkdownNode::Element(element) => collect_text(&element.children, text),
        }
    }
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::String(value) => write!(f, "{value:?}"),
            Self::Array(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Object(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key}:{value}", if index > 0 { "," } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Formats for tests and logs: `heading{level=1}("Title " em"x")`. Nulls are left out.
impl fmt::Display for MarkdownNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element(element) => element.fmt(f),
            Self::Text(text) => {
                write_marks(f, &text.marks)?;
                write!(f, "{:?}", text.text)
            }
        }
    }
}

impl fmt::Display for TreeElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_marks(f, &self.marks)?;
        f.write_str(&self.name)?;
        write_attributes(f, &self.attributes)?;
        if !self.children.is_empty() {
            f.write_str("(")?;
            for (index, child) in self.children.iter().enumerate() {
                write!(f, "{}{child}", if index > 0 { " " } else { "" })?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

fn write_marks(f: &mut fmt::Formatter<'_>, marks: &[TextMark]) -> fmt::Result {
    for mark in marks {
        f.write_str(&mark.name)?;
        write_attributes(f, &mark.attributes)?;
        f.write_str(":")?;
    }
    Ok(())
}

fn write_attributes(
    f: &mut fmt::Formatter<'_>,
    attributes: &[(SmolStr, AttributeValue)],
) -> fmt::Result {
    let shown = attributes.iter().filter(|(_, value)| !value.is_null());
    for (index, (name, value)) in shown.clone().enumerate() {
        write!(f, "{}{name}={value}", if index > 0 { " " } else { "{" })?;
    }
    if shown.count() > 0 { f.write_str("}") } else { Ok(()) }
}
