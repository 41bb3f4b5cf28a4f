//! A group of peers in one process, and attacks on it.

mod attacks;
mod group;
mod relay_attacks;
mod relay_sockets;
mod relayed;
