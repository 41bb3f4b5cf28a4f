//! XML bodies: a bounded reader of elements, and their writer.
//!
//! A document type is rejected, so there are no entities but the five that XML has itself: nothing
//! can expand.

use std::borrow::Cow;

use quick_xml::{
    XmlVersion,
    events::{BytesStart, Event},
    name::ResolveResult,
    reader::NsReader,
};

use crate::answer::DavError;

/// The namespace of WebDAV.
pub(crate) const DAV: &str = "DAV:";

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// The greatest depth of elements, and their greatest number.
const MAX_DEPTH: usize = 32;
const MAX_NODES: usize = 4_096;

/// The name of an element or an attribute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct XmlName {
    /// The namespace, which may be empty.
    pub(crate) namespace: String,
    pub(crate) local: String,
}

/// An element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct XmlElement {
    pub(crate) name: XmlName,
    pub(crate) attributes: Vec<(XmlName, String)>,
    pub(crate) children: Vec<XmlNode>,
}

/// What an element holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum XmlNode {
    Element(XmlElement),
    Text(String),
}

impl XmlName {
    pub(crate) fn new(namespace: impl Into<String>, local: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), local: local.into() }
    }

    /// Returns the name of WebDAV's own.
    pub(crate) fn dav(local: &str) -> Self {
        Self::new(DAV, local)
    }

    /// Reports whether it is this name of WebDAV's own.
    pub(crate) fn is_dav(&self, local: &str) -> bool {
        self.namespace == DAV && self.local == local
    }
}

impl XmlElement {
    /// Returns the elements in it.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|child| match child {
            XmlNode::Element(element) => Some(element),
            XmlNode::Text(_) => None,
        })
    }

    /// Returns the first element of WebDAV's own with a name.
    pub(crate) fn child(&self, local: &str) -> Option<&Self> {
        self.elements().find(|element| element.name.is_dav(local))
    }

    /// Returns the text in it, without that of elements in it.
    pub(crate) fn text(&self) -> String {
        let texts = self.children.iter().filter_map(|child| match child {
            XmlNode::Text(text) => Some(text.as_str()),
            XmlNode::Element(_) => None,
        });
        texts.collect()
    }

    /// Returns `xml:lang`.
    pub(crate) fn language(&self) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found =
            attributes.find(|(name, _)| name.namespace == XML_NAMESPACE && name.local == "lang");
        found.map(|(_, value)| value.as_str())
    }

    /// Writes what is in it so that it stands for itself in any document.
    pub(crate) fn inner_xml(&self) -> String {
        let mut out = String::new();
        for child in &self.children {
            child.write(&mut out, None);
        }
        out
    }

    /// Writes it so that it stands for itself, given the default namespace around it.
    fn write(&self, out: &mut String, around: Option<&str>) {
        out.push('<');
        out.push_str(&self.name.local);
        if around != Some(&self.name.namespace) {
            out.push_str(&format!(" xmlns=\"{}\"", escape(&self.name.namespace)));
        }
        for (at, (name, value)) in self.attributes.iter().enumerate() {
            let (local, value) = (&name.local, escape(value));
            match name.namespace.as_str() {
                "" => out.push_str(&format!(" {local}=\"{value}\"")),
                XML_NAMESPACE => out.push_str(&format!(" xml:{local}=\"{value}\"")),
                namespace => {
                    let namespace = escape(namespace);
                    out.push_str(&format!(
                        " xmlns:a{at}=\"{namespace}\" a{at}:{local}=\"{value}\""
                    ));
                }
            }
        }
        out.push('>');
        for child in &self.children {
            child.write(out, Some(&self.name.namespace));
        }
        out.push_str(&format!("</{}>", self.name.local));
    }
}

impl XmlNode {
    fn write(&self, out: &mut String, around: Option<&str>) {
        match self {
            Self::Text(text) => out.push_str(&escape(text)),
            Self::Element(element) => element.write(out, around),
        }
    }
}

/// Escapes text for an element or an attribute.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    // A line feed in an attribute would be read as a space.
    quick_xml::escape::escape(text)
}

/// Parses the body of a request into its root element.
pub(crate) fn parse(body: &[u8]) -> Result<XmlElement, DavError> {
    let malformed = |reason: &str| DavError::bad_request(format!("the body is not XML: {reason}"));
    let text = std::str::from_utf8(body).map_err(|_| malformed("it is not UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = NsReader::from_str(text);
    let mut open: Vec<XmlElement> = Vec::new();
    let mut root = None;
    let mut n_nodes = 0;
    loop {
        let event = reader.read_event().map_err(|error| malformed(&error.to_string()))?;
        n_nodes += 1;
        if n_nodes > MAX_NODES || open.len() > MAX_DEPTH {
            return Err(malformed("it has too many elements"));
        }
        match event {
            Event::Start(start) => open.push(element(&reader, &start).map_err(malformed)?),
            Event::Empty(start) => {
                let element = element(&reader, &start).map_err(malformed)?;
                close(element, &mut open, &mut root).map_err(malformed)?;
            }
            Event::End(_) => {
                let element = open.pop().ok_or_else(|| malformed("an element ends twice"))?;
                close(element, &mut open, &mut root).map_err(malformed)?;
            }
            Event::Text(text) => add_text(&mut open, &text.xml10_content()).map_err(malformed)?,
            Event::CData(text) => add_text(&mut open, &text.xml10_content()).map_err(malformed)?,
            Event::GeneralRef(name) => {
                let char = name.resolve_char_ref().map_err(|_| malformed("a bad reference"))?;
                let shown = match char {
                    Some(char) => char.to_string(),
                    None => quick_xml::escape::resolve_predefined_entity(&name.xml10_content())
                        .ok_or_else(|| malformed("it names an entity"))?
                        .to_owned(),
                };
                add_text(&mut open, &shown).map_err(malformed)?;
            }
            Event::DocType(_) => return Err(malformed("it has a document type")),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    root.filter(|_| open.is_empty()).ok_or_else(|| malformed("it ends within an element"))
}

/// Puts an element that has ended where it belongs.
fn close(
    element: XmlElement,
    open: &mut [XmlElement],
    root: &mut Option<XmlElement>,
) -> Result<(), &'static str> {
    match open.last_mut() {
        Some(parent) => parent.children.push(XmlNode::Element(element)),
        None if root.is_none() => *root = Some(element),
        None => return Err("it has two root elements"),
    }
    Ok(())
}

fn add_text(open: &mut [XmlElement], text: &str) -> Result<(), &'static str> {
    let is_allowed = |char: char| {
        matches!(char, '\t' | '\n' | '\r')
            || char >= ' ' && !matches!(char, '\u{fffe}' | '\u{ffff}')
    };
    if !text.chars().all(is_allowed) {
        return Err("a character that XML does not allow");
    }
    match open.last_mut() {
        None if text.trim().is_empty() => {}
        None => return Err("text outside the root element"),
        Some(element) => match element.children.last_mut() {
            Some(XmlNode::Text(before)) => before.push_str(text),
            _ => element.children.push(XmlNode::Text(text.to_owned())),
        },
    }
    Ok(())
}

fn element(reader: &NsReader<&[u8]>, start: &BytesStart<'_>) -> Result<XmlElement, &'static str> {
    let (namespace, local) = reader.resolver().resolve_element(start.name());
    let name = resolved(&namespace, local.as_ref())?;
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|_| "a malformed attribute")?;
        let key = attribute.key.0;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|_| "a malformed attribute")?;
        if key == "xmlns" || key.starts_with("xmlns:") {
            if value.is_empty() && key != "xmlns" {
                return Err("a prefix without a namespace");
            }
            continue;
        }
        let (namespace, local) = reader.resolver().resolve_attribute(attribute.key);
        let name = resolved(&namespace, local.as_ref())?;
        if attributes.iter().any(|(other, _)| *other == name) {
            return Err("an attribute twice");
        }
        attributes.push((name, value.into_owned()));
    }
    Ok(XmlElement { name, attributes, children: Vec::new() })
}

fn resolved(namespace: &ResolveResult<'_>, local: &str) -> Result<XmlName, &'static str> {
    let namespace = match namespace {
        ResolveResult::Bound(namespace) => namespace.0,
        ResolveResult::Unbound => "",
        ResolveResult::Unknown(_) => return Err("a prefix that is not declared"),
    };
    let is_start = |char: char| char.is_alphabetic() || char == '_';
    let is_rest = |char: char| is_start(char) || char.is_numeric() || "-.·".contains(char);
    let is_name = local.starts_with(is_start) && local.chars().all(is_rest);
    if !is_name || namespace == XMLNS_NAMESPACE {
        return Err("a name that is none");
    }
    Ok(XmlName::new(namespace, local))
}

#[cfg(test)]
mod tests;
