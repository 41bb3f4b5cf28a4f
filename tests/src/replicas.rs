//! Worlds of replicas: workspaces that know each other only by updates which are lost, doubled and
//! late, whose clocks are wrong, and which are closed and opened in between.
//!
//! A [`World`] plays random histories from a seed. What must hold after every step is in
//! [`view`]; [`ledger`] checks that no writer's work was lost.

pub mod ledger;
pub mod moves;
pub mod plain;
pub mod replica;
pub mod view;
pub mod world;

pub use world::{History, World};
