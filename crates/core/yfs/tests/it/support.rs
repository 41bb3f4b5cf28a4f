//! What several of these tests use.

pub(crate) mod damage;
pub(crate) mod handles;
pub(crate) mod step_clock;
