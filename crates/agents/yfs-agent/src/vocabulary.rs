//! The vocabularies: sets of tools that models know, over one core.

#[macro_use]
mod tables;

mod beyond;
mod deep_agents;
mod describe_files;
mod file_tools;
mod patch_files;
mod reference;
mod shared;
mod text_commands;

use crate::registered_tool::RegisteredTool;

/// A set of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolVocabulary {
    /// `ls`, `read_file`, `write_file`, `edit_file`, `glob`, `grep`, `execute` and, in one profile,
    /// `delete`: the tools of deepagents and of `docs/spec/agent-backends.md`.
    DeepAgents(DeepAgentsProfile),
    /// `fs_read`, `fs_write`, `fs_edit` and nine more: the tools of `docs/spec/agent-tools.md`.
    FileTools,
    /// `memory`: a directory `/memories` for a model's notes.
    Memory,
    /// `str_replace_based_edit_tool`: viewing and editing files by one tool.
    TextEditor,
    /// The fourteen tools of the reference filesystem server of the Model Context Protocol.
    Reference,
    /// Versions, undo, changes by others, patches of many files, queries, statistics, contexts.
    Beyond,
}

/// The form of the [`ToolVocabulary::DeepAgents`] tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeepAgentsProfile {
    /// `write_file` only creates files, and there is no `delete`.
    CreateOnly,
    /// `write_file` replaces files, and there is `delete`: as in deepagents 0.7.
    Replacing,
}

impl ToolVocabulary {
    /// Returns the tools.
    pub(crate) fn tools(self) -> Vec<RegisteredTool> {
        match self {
            Self::DeepAgents(profile) => deep_agents::tools(profile),
            Self::FileTools => file_tools::tools(),
            Self::Memory => text_commands::memory_tools(),
            Self::TextEditor => text_commands::text_editor_tools(),
            Self::Reference => reference::tools(),
            Self::Beyond => {
                [beyond::tools(), describe_files::tools()].into_iter().flatten().collect()
            }
        }
    }
}
