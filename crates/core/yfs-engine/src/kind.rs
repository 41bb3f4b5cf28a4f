//! The kind of a file, by its name: the one place that decides which root of a content document is
//! active.
//!
//! `docs/spec/filesystem.md` gives `.md` files a ProseMirror tree. No other code derives from a
//! name's extension how content is kept.

pub use yfs_markdown::schema::SchemaProfile;

use crate::name::split_extension;

/// The category that a file's name implies (`docs/spec/filesystem.md`, "Extension change
/// categories").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileCategory {
    /// Plain text and code.
    Text,
    /// Markdown, which editors show as a document.
    RichText,
}

/// The root that keeps a file's content in its content document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ContentRoot {
    /// In `Y.Text("text")`.
    Text,
    /// In `Y.XmlFragment("richtext")`, by a schema profile, with `Y.Map("frontmatter")` beside it.
    Rich(SchemaProfile),
}

impl FileCategory {
    /// Returns the category of a stored name.
    pub fn of(name: &str) -> Self {
        let (_, extension) = split_extension(name);
        if extension.eq_ignore_ascii_case(".md") { Self::RichText } else { Self::Text }
    }
}

impl ContentRoot {
    /// Returns the root for a category in a workspace of a profile.
    pub fn of(category: FileCategory, profile: SchemaProfile) -> Self {
        match category {
            FileCategory::Text => Self::Text,
            FileCategory::RichText => Self::Rich(profile),
        }
    }
}

/// The setting of a workspace that names its profile.
pub const PROFILE_SETTING: &str = "profile";

/// The profile of workspaces that name none.
pub const DEFAULT_PROFILE: SchemaProfile = SchemaProfile::Gfm;

/// Returns the name under which a profile is stored and shown.
pub fn profile_name(profile: SchemaProfile) -> &'static str {
    match profile {
        SchemaProfile::CommonMark => "commonmark",
        SchemaProfile::Gfm => "gfm",
    }
}

/// Returns the profile of a name.
pub fn profile_named(name: &str) -> Option<SchemaProfile> {
    [SchemaProfile::CommonMark, SchemaProfile::Gfm]
        .into_iter()
        .find(|profile| profile_name(*profile) == name)
}
