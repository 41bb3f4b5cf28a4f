//! What a file holds, by its name: the one place that decides which root of a content document is
//! active.
//!
//! Seed 001 gives `.md` files a ProseMirror tree. Nothing else in the code base asks a name for its extension to
//! find out how content is kept.

pub use yfs_markdown::schema::Profile;

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
    /// In `Y.XmlFragment("richtext")`, by a schema profile, with `Y.Map("frontmatter")` beside it.
    Rich(Profile),
}

impl Category {
    /// Tells the category from a stored name.
    pub fn of(name: &str) -> Self {
        let (_, extension) = split_extension(name);
        if extension.eq_ignore_ascii_case(".md") { Self::RichText } else { Self::Text }
    }
}

impl ContentKind {
    /// Tells how content of a category is kept in a workspace of a profile.
    pub fn of(category: Category, profile: Profile) -> Self {
        match category {
            Category::Text => Self::Text,
            Category::RichText => Self::Rich(profile),
        }
    }
}

/// The setting of a workspace that names its profile.
pub const PROFILE_SETTING: &str = "profile";

/// The profile of workspaces that name none.
pub const DEFAULT_PROFILE: Profile = Profile::Gfm;

/// Returns the name under which a profile is stored and shown.
pub fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::CommonMark => "commonmark",
        Profile::Gfm => "gfm",
    }
}

/// Returns the profile of a name.
pub fn profile_named(name: &str) -> Option<Profile> {
    [Profile::CommonMark, Profile::Gfm].into_iter().find(|it| profile_name(*it) == name)
}
