//! Tests of artifacts, in one program.

#![recursion_limit = "2048"] // What `example!` of seed 004 needs.

mod contexts;
mod seed_004;
mod store;
