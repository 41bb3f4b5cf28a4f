//! The tools of all vocabularies, called as a model calls them.

#[path = "support/fixture.rs"]
mod fixture;

#[path = "tools/deep_agents.rs"]
mod deep_agents;
#[path = "tools/describe_files.rs"]
mod describe_files;
#[path = "tools/file_tools.rs"]
mod file_tools;
#[path = "tools/large_results.rs"]
mod large_results;
#[path = "tools/patch_files.rs"]
mod patch_files;
#[path = "tools/reference.rs"]
mod reference;
#[path = "tools/text_commands.rs"]
mod text_commands;
