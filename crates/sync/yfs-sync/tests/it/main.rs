//! Sessions over an unreliable network.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod convergence;
mod guest_session;
mod locked_document;
mod simulated_network;
