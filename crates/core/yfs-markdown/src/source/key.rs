//! The key of a leaf in the memory: a hash of its meaning and of the kinds of containers around it.

use crate::{
    outline::{ContainerKind, TreeOutline},
    tree::{AttributeValue, MarkdownNode, TextMark, TreeElement},
    tree_equality::is_derived,
};

/// The key of a leaf. Not proof against forgery, and need not be: the record under it is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LeafKey(pub(super) u64);

/// Stands before the first leaf.
pub(super) const START: LeafKey = LeafKey(1);
/// Stands after the last leaf.
pub(super) const END: LeafKey = LeafKey(2);

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The length of a key as text.
pub(super) const TEXT_LEN: usize = 11;

impl LeafKey {
    /// Returns the keys of all leaves.
    pub(super) fn of_leaves(outline: &TreeOutline<'_>) -> Vec<Self> {
        (0..outline.leaves.len()).map(|index| Self::of(outline, index)).collect()
    }

    /// Returns the key of one leaf.
    pub(super) fn of(outline: &TreeOutline<'_>, index: usize) -> Self {
        let leaf = &outline.leaves[index];
        Self::of_parts(&ContainerPath::of(outline, index), leaf.checked, leaf.element)
    }

    /// Returns the key of a leaf in some containers.
    pub(super) fn of_parts(
        path: &ContainerPath,
        checked: Option<bool>,
        element: &TreeElement,
    ) -> Self {
        let mut hasher = LeafHasher(0xcbf2_9ce4_8422_2325);
        hasher.bytes(&path.0);
        hasher.byte(match checked {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        });
        hasher.text(&element.name);
        hasher.attributes(&element.name, &element.attributes);
        hasher.nodes(&element.children);
        Self(hasher.finish())
    }

    /// Returns a few bits of the key.
    pub(super) fn hint(self) -> u16 {
        self.0 as u16
    }

    /// Returns a few bits of the context of a gap: of the leaves beside its neighbors.
    pub(super) fn hint_around(keys: &[Self], gap: usize) -> u16 {
        let before = gap.checked_sub(2).map_or(START, |before| keys[before]);
        let after = keys.get(gap + 1).copied().unwrap_or(END);
        before.hint() ^ after.hint().rotate_left(5)
    }

    /// Returns the key as eleven letters, digits, `-` and `_`.
    pub(super) fn to_text(self) -> String {
        let digit = |at: usize| char::from(DIGITS[(self.0 >> (6 * at)) as usize & 63]);
        (0..TEXT_LEN).map(digit).collect()
    }

    /// Parses the result of [`LeafKey::to_text`].
    pub(super) fn from_text(text: &str) -> Option<Self> {
        if text.len() != TEXT_LEN {
            return None;
        }
        let mut key = 0_u64;
        for (at, byte) in text.bytes().enumerate() {
            let digit = DIGITS.iter().position(|digit_byte| *digit_byte == byte)? as u64;
            if at + 1 == TEXT_LEN && digit > 15 {
                return None;
            }
            key |= digit << (6 * at);
        }
        Some(Self(key))
    }
}

/// The kinds of the containers around a leaf, outermost first.
#[derive(Debug)]
pub(super) struct ContainerPath(Vec<u8>);

impl ContainerPath {
    pub(super) fn of(outline: &TreeOutline<'_>, leaf: usize) -> Self {
        let kind = |container: usize| match outline.containers[container].kind {
            ContainerKind::Quote => b'q',
            ContainerKind::Footnote => b'f',
            ContainerKind::Item { list, .. } if outline.lists[list].start.is_some() => b'o',
            ContainerKind::Item { .. } => b'b',
        };
        Self(outline.chain(leaf).into_iter().map(kind).collect())
    }
}

/// FNV-1a, with a last mixing so that all bits depend on all bytes.
struct LeafHasher(u64);

impl LeafHasher {
    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.byte(0xff);
    }

    fn attributes(&mut self, owner: &str, attributes: &[(smol_str::SmolStr, AttributeValue)]) {
        let is_kept = |(name, value): &&(smol_str::SmolStr, AttributeValue)| {
            !value.is_null() && !is_derived(owner, name)
        };
        // The attributes have no order.
        if attributes.len() > 1 {
            let mut kept: Vec<_> = attributes.iter().filter(is_kept).collect();
            kept.sort_by(|left, right| left.0.cmp(&right.0));
            kept.into_iter().for_each(|entry| self.attribute(entry));
        } else {
            attributes.iter().filter(is_kept).for_each(|entry| self.attribute(entry));
        }
        self.byte(0xfe);
    }

    fn attribute(&mut self, (name, value): &(smol_str::SmolStr, AttributeValue)) {
        self.text(name);
        self.value(value);
    }

    fn value(&mut self, value: &AttributeValue) {
        match value {
            AttributeValue::Null => self.byte(0),
            AttributeValue::Bool(value) => self.byte(1 + u8::from(*value)),
            AttributeValue::Number(value) => {
                self.byte(3);
                self.bytes(&value.to_bits().to_le_bytes());
            }
            AttributeValue::String(value) => {
                self.byte(4);
                self.text(value);
            }
            AttributeValue::Array(values) => {
                self.byte(5);
                values.iter().for_each(|value| self.value(value));
                self.byte(0xfe);
            }
            AttributeValue::Object(entries) => {
                self.byte(6);
                for (key, value) in entries {
                    self.text(key);
                    self.value(value);
                }
                self.byte(0xfe);
            }
        }
    }

    fn marks(&mut self, marks: &[TextMark]) {
        for mark in marks {
            self.text(&mark.name);
            self.attributes(&mark.name, &mark.attributes);
        }
        self.byte(0xfe);
    }

    fn nodes(&mut self, nodes: &[MarkdownNode]) {
        for node in nodes {
            match node {
                MarkdownNode::Text(text) => {
                    self.byte(b't');
                    self.text(&text.text);
                    self.marks(&text.marks);
                }
                MarkdownNode::Element(element) => {
                    self.byte(b'e');
                    self.text(&element.name);
                    self.attributes(&element.name, &element.attributes);
                    self.nodes(&element.children);
                }
            }
        }
        self.byte(0xfd);
    }

    fn finish(self) -> u64 {
        let mut hash = self.0;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    }
}
