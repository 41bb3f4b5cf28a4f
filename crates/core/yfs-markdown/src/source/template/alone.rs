//! Reads the lines of one leaf, outside its document.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use crate::{
    outline::{OutlineLeaf, TreeOutline},
    parse::{normalise, parse_places},
    schema::SchemaProfile,
    source::key::{ContainerPath, LeafKey},
    tree::{MarkdownNode, TreeElement},
    tree_equality::same_but_blanks,
    write::{body::body, inline::EscapeCare},
};

use super::atoms::LeafAtom;

/// The greatest length of the definitions that a leaf is read with, in bytes.
const MAX_DEFINITIONS: usize = 16 << 10;

/// A reader of texts that may be a leaf.
pub(super) struct LeafReader<'a> {
    leaf: &'a OutlineLeaf<'a>,
    path: ContainerPath,
    profile: SchemaProfile,
    definitions: &'a HashMap<String, String>,
}

/// A leaf that was read.
pub(super) struct ReadLeaf<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) element: TreeElement,
    pub(super) checked: Option<bool>,
    /// The places of its characters and inline elements.
    pub(super) places: Vec<Range<usize>>,
}

impl<'a> LeafReader<'a> {
    pub(super) fn new(
        outline: &'a TreeOutline<'a>,
        leaf: usize,
        profile: SchemaProfile,
        definitions: &'a HashMap<String, String>,
    ) -> Self {
        let path = ContainerPath::of(outline, leaf);
        Self { leaf: &outline.leaves[leaf], path, profile, definitions }
    }

    /// Returns the leaf as it is usually written, with the least care that is enough.
    pub(super) fn canonical(&self, care: EscapeCare) -> Option<ReadLeaf<'static>> {
        let cares = [EscapeCare::Little, EscapeCare::Other, EscapeCare::Full];
        let cares = [care].into_iter().chain(cares.into_iter().filter(|more| *more > care));
        let wanted = MarkdownNode::from(self.leaf.element.clone());
        let mut read = cares.filter_map(|care| {
            let text = body(self.leaf, self.profile, care);
            let read = self.read(text.into())?;
            let is_same = read.checked == self.leaf.checked
                && same_but_blanks(&read.element.clone().into(), &wanted);
            is_same.then_some(read)
        });
        read.next()
    }

    /// Returns the key that a leaf has in the place of this one.
    pub(super) fn key_of(&self, read: &ReadLeaf<'_>) -> LeafKey {
        LeafKey::of_parts(&self.path, read.checked, &read.element)
    }

    /// Reads a text as a leaf of this kind; `None` if it is none.
    pub(super) fn read<'t>(&self, text: Cow<'t, str>) -> Option<ReadLeaf<'t>> {
        let before = self.context(&text);
        let mut whole = [&before, &*text, "\n"].concat();
        if self.leaf.element.name != "code_block" {
            self.push_definitions(&text, &mut whole);
        }
        let (document, places) = parse_places(&normalise(&whole), self.profile)?;
        let (element, checked) = self.find(document)?;
        let is_inside = |place: &&Range<usize>| place.start >= before.len();
        let inside = |(place, atom): (&Range<usize>, &LeafAtom<'_>)| {
            let start = place.start - before.len();
            let end = place.end.saturating_sub(before.len()).min(text.len());
            // A row may have fewer cells than its table. The missing ones are behind the others.
            let is_missing = matches!(atom, LeafAtom::Cell(_)) && start > text.len();
            if is_missing { end..end } else { start..end }
        };
        let atoms = super::atoms::atoms(&element);
        let n_atoms = atoms.len();
        let places: Vec<_> = places.iter().filter(is_inside).zip(&atoms).map(inside).collect();
        let is_sound = places.len() == n_atoms
            && places.iter().all(|place| text.get(place.clone()).is_some())
            && places.windows(2).all(|pair| pair[0].end <= pair[1].start);
        is_sound.then_some(ReadLeaf { text, element, checked, places })
    }

    /// Returns the text that a leaf of this kind needs before it.
    fn context(&self, text: &str) -> String {
        if self.leaf.element.name == "table_row" {
            let cells = self.leaf.element.children.iter().filter_map(MarkdownNode::as_element);
            let marks: String = cells
                .clone()
                .map(|cell| match cell.text_attribute("alignment") {
                    "left" => ":--|",
                    "center" => ":-:|",
                    "right" => "--:|",
                    _ => "---|",
                })
                .collect();
            return format!("|{}\n|{marks}\n", "a|".repeat(cells.count()));
        }
        let may_be_task = self.profile == SchemaProfile::Gfm && self.leaf.begins_item;
        if may_be_task && text.starts_with('[') { "- ".to_owned() } else { String::new() }
    }

    fn find(&self, document: TreeElement) -> Option<(TreeElement, Option<bool>)> {
        let mut blocks = document.children.into_iter();
        let MarkdownNode::Element(first) = blocks.next()? else { return None };
        let is_note = |node: &MarkdownNode| node.name() == "footnote_definition";
        if !blocks.all(|node| is_note(&node)) {
            return None;
        }
        let nth = |element: TreeElement, n: usize| match element.children.into_iter().nth(n) {
            Some(MarkdownNode::Element(child)) => Some(child),
            _ => None,
        };
        let kind = self.leaf.element.name.as_str();
        match first.name.as_str() {
            "table" if kind == "table_header_row" => Some((nth(first, 0)?, None)),
            "table" if kind == "table_row" && first.children.len() == 2 => {
                Some((nth(first, 1)?, None))
            }
            "bullet_list" if first.children.len() == 1 => {
                let item = nth(first, 0)?;
                let checked =
                    item.attribute("checked").and_then(crate::tree::AttributeValue::as_bool);
                (item.children.len() == 1).then_some(())?;
                Some((nth(item, 0)?, checked))
            }
            "table" | "bullet_list" | "ordered_list" | "blockquote" => None,
            _ => Some((first, None)),
        }
    }

    /// Appends the definitions of the labels in a text.
    fn push_definitions(&self, text: &str, whole: &mut String) {
        let limit = whole.len() + MAX_DEFINITIONS;
        let mut from = 0;
        while let Some(at) = text[from..].find('[') {
            from += at + 1;
            let Some(end) = text[from..].find(']') else { return };
            let label = &text[from..from + end];
            if whole.len() > limit {
                return;
            }
            let note = label.strip_prefix('^').filter(|_| self.profile == SchemaProfile::Gfm);
            if let Some(note) = note {
                whole.extend(["\n[^", note, "]: x\n"]);
            } else if let Some(definition) = self.definitions.get(&label.to_lowercase()) {
                whole.extend(["\n", definition]);
            }
        }
    }
}
