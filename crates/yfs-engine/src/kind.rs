//! What a file holds, by its name: the one place that decides which root of a content document is
//! active.
//!
//! Seed 001 gives `.md` files a ProseMirror tree. Nothing else in the code base asks a name for its extension to
//! find out how content is kept.

pub use yfs_markdown::schema::SchemaProfile;

use crate::name::split_extension;

/// What sort of file a name promises (seed 001, "Extension change categories").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileCategory {
    /// Plain text and code.
    Text,
    /// Markdown, which editors show as a document.
    RichText,
}

/// How a file's content is kept in its content document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ContentRoot {
    /// In `Y.Text("text")`.
    Text,
    /// In `Y.XmlFragment("richtext")`, by a schema profile, with `Y.Map("frontmatter")` beside it.
    Rich(SchemaProfile),
}

impl FileCategory {
    /// Tells the category from a stored name.
    pub fn of(name: &str) -> Self {
        let (_, extension) = split_extension(name);
        if extension.eq_ignore_ascii_case(".md") { Self::RichText } else { Self::Text }
    }
}

impl ContentRoot {
    /// Tells how content of a category is kept in a workspace of a profile.
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
    [SchemaProfile::CommonMark, SchemaProfile::Gfm].into_iter().find(|it| profile_name(*it) == name)
}
