//! Tests of what agents have of a workspace.

mod backends;
