//! Tests of agents and their tools, in one program.

mod approvals;
mod audit;
mod catalog;
mod history;
mod merging;
mod patch_races;
mod support;
mod tools;
mod undo_tree;
