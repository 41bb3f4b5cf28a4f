//! A directory and its share, changed on both sides at once.

mod attacks;
mod leaving;
mod random;
mod stage;
