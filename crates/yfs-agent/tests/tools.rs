//! The tools of all vocabularies, called as a model calls them.

#[path = "support/fixture.rs"]
mod fixture;

#[path = "tools/deep_agents.rs"]
mod deep_agents;
#[path = "tools/file_tools.rs"]
mod file_tools;
