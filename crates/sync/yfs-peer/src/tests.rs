//! A group of peers in one process, and attacks on it.

mod attacks;
mod attacks_by_route;
mod blobs;
mod forked_logs;
mod group;
mod join_codes;
mod joining;
mod named;
mod partial_blobs;
mod presence;
mod relay_attacks;
mod relay_code_attacks;
mod relay_sockets;
mod relayed;
mod relayed_codes;
mod stage;
