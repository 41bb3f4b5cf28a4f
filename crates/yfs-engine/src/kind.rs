//! What a file holds, by its name: the one place that decides which root of a content document is
//! active.
//!
//! Seed 001 gives `.md` files a ProseMirror tree. That comes with the rich text issue; until then
//! [`ContentKind::of`] answers `Text` for every category, and nothing else in the code base asks a
//! name for its extension to find out how content is kept.

use crate::name::split_extension;

/// What sort of file a name promises (seed 001, "Extension change categories").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Plain text and code.
    Text,
    /// Markdown, which editors show as a document.
    RichText,
}

/// How a file's content is kept in its content document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ContentKind {
    /// In `Y.Text("text")`.
    Text,
}

impl Category {
    /// Tells the category from a stored name.
    pub fn of(name: &str) -> Self {
        let (_, extension) = split_extension(name);
        if extension.eq_ignore_ascii_case(".md") { Self::RichText } else { Self::Text }
    }
}

impl ContentKind {
    /// Tells how content of a category is kept.
    pub fn of(category: Category) -> Self {
        match category {
            Category::Text | Category::RichText => Self::Text,
        }
    }
}
