//! Profiles: which tools a client is offered.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, OnceLock},
};

use thiserror::Error;
use yfs_agent::{DeepAgentsProfile, ToolCatalog, ToolVocabulary};

/// A choice of tools, by a name that users type.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpProfile {
    /// The tools of the reference filesystem server of the Model Context Protocol.
    Reference,
    /// The tools of deepagents; `write_file` replaces files.
    DeepAgents,
    /// The tools of deepagents; `write_file` only creates files.
    DeepAgentsCreate,
    /// `fs_read`, `fs_write`, `fs_edit` and others.
    Fs,
    /// `memory`, for a model's notes.
    Memory,
    /// The tools of [`Fs`](Self::Fs) and [`DeepAgents`](Self::DeepAgents), and those for versions,
    /// undo and patches.
    #[default]
    Full,
}

/// No profile has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no profile {name:?}; the profiles are {}", McpProfile::NAMES.join(", "))]
pub struct UnknownProfile {
    /// The name.
    pub name: String,
}

impl McpProfile {
    /// All profiles.
    pub const ALL: [Self; 6] = [
        Self::Reference,
        Self::DeepAgents,
        Self::DeepAgentsCreate,
        Self::Fs,
        Self::Memory,
        Self::Full,
    ];

    /// The names of all profiles.
    pub const NAMES: [&str; 6] =
        ["reference", "deepagents", "deepagents-create", "fs", "memory", "full"];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the tools. They are made once per process.
    pub fn catalog(self) -> Arc<ToolCatalog> {
        static CATALOGS: [OnceLock<Arc<ToolCatalog>>; 6] = [const { OnceLock::new() }; 6];
        let make = || {
            let catalog = ToolCatalog::new(self.vocabularies());
            Arc::new(catalog.expect("the vocabularies of a profile share no name"))
        };
        CATALOGS[self as usize].get_or_init(make).clone()
    }

    fn vocabularies(self) -> &'static [ToolVocabulary] {
        match self {
            Self::Reference => &[ToolVocabulary::Reference],
            Self::DeepAgents => &[ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing)],
            Self::DeepAgentsCreate => &[ToolVocabulary::DeepAgents(DeepAgentsProfile::CreateOnly)],
            Self::Fs => &[ToolVocabulary::FileTools],
            Self::Memory => &[ToolVocabulary::Memory],
            Self::Full => &[
                ToolVocabulary::FileTools,
                ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing),
                ToolVocabulary::Beyond,
            ],
        }
    }
}

impl FromStr for McpProfile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let found = Self::ALL.into_iter().find(|profile| profile.as_str() == name);
        found.ok_or_else(|| UnknownProfile { name: name.to_owned() })
    }
}

impl fmt::Display for McpProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_has_tools_and_is_found_by_its_name() {
        for profile in McpProfile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
            assert_ne!(profile.catalog().definitions().count(), 0, "{profile}");
        }
        let unknown = "all".parse::<McpProfile>().map_err(|error| error.to_string());
        let names = "reference, deepagents, deepagents-create, fs, memory, full";
        assert_eq!(unknown, Err(format!("there is no profile \"all\"; the profiles are {names}")));
    }
}
