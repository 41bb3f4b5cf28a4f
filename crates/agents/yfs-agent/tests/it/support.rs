//! What several of these tests use.

pub(crate) mod fixture;
