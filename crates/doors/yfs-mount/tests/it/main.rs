//! A mounted workspace, as programs see it. Each test has a workspace and a mount of its own.
//!
//! Where `/dev/fuse` is missing, or this process may not mount, the tests say so and do nothing.

#![cfg(target_os = "linux")]

mod coherence;
mod posix;
mod support;
mod writes;
