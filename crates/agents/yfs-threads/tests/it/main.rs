//! Tests of threads, in one program.

mod files;
mod threads;
