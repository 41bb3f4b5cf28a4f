//! How many different values there were, in bounded memory.
//!
//! # Cost
//!
//! A sketch takes less than 100 bytes for a few values and 4 KiB at most.

use datasketches::hll::{HllSketch, HllType};

/// The logarithm of the number of registers.
const LG_REGISTERS: u8 = 12;

/// The relative standard error of an estimate: 1.04 divided by the root of 4,096 registers. Up to
/// about 200 different values, estimates are exact but for collisions of 26-bit hashes.
pub const RELATIVE_ERROR: f64 = 0.016_25;

/// An estimate of the number of different values (HyperLogLog).
#[derive(Debug, Clone)]
pub(crate) struct CardinalitySketch {
    sketch: HllSketch,
    /// The value that was added last: tables are full of runs.
    last: u64,
}

impl CardinalitySketch {
    pub(crate) fn new() -> Self {
        let sketch = HllSketch::new(LG_REGISTERS, HllType::Hll8);
        Self { sketch: sketch.expect("the number of registers is allowed"), last: 0 }
    }

    pub(crate) fn add(&mut self, hash: u64) {
        if hash != self.last || self.sketch.is_empty() {
            self.last = hash;
            self.sketch.update(hash);
        }
    }

    /// Returns the estimate, rounded; at most `n_values`.
    pub(crate) fn estimate(&self, n_values: usize) -> usize {
        // An estimate is finite and not negative.
        (self.sketch.estimate().round() as usize).min(n_values)
    }
}

/// The hash of a value that arrives in pieces (FNV-1a): the same on all platforms and in all
/// versions. The sketch hashes it again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueHasher(u64);

impl ValueHasher {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

/// Returns the hash of a whole value; the same as of its pieces.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = ValueHasher::new();
    hasher.add(bytes);
    hasher.finish()
}
