//! The tools of all vocabularies, called as a model calls them.

mod deep_agents;
mod describe_files;
mod file_tools;
mod large_results;
mod patch_files;
mod reference;
mod text_commands;
