//! WebDAV over a workspace in memory: requests and the answers that are expected.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
mod dav_client;
mod locks;
mod methods;
mod properties;
mod quirks;
mod writes;
