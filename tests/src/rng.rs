//! A small random source that replays from its seed.

/// Xorshift over 64 bits.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Makes the source of a seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            rng.draw();
        }
        rng
    }

    /// Returns the next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.draw() % limit as u64) as usize
    }

    /// Returns true in `often` of a hundred cases.
    pub fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }

    /// Returns one of these, unless there is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.below(of.len())) }
    }
}
