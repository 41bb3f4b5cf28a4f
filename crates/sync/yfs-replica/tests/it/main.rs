//! Tests of replicas, in one program.

mod exchange;
mod set_back;
mod silence;
