//! A mirror between real directories and real workspaces.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

mod both_ways;
mod exchanges;
mod full_disk;
mod full_store;
mod ignored;
mod joining;
mod restart;
mod returns;
mod safety;
mod settling;
mod size_limit;
mod stale;
mod storms;
mod support;
mod time_travel;
mod writers;
