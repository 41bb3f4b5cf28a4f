//! Time, which callers always pass as an argument.

/// Milliseconds since the Unix epoch.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl Millis {
    /// Returns the time as a JavaScript number.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Converts a JavaScript number: rounded down, and 0 if it is not finite.
    pub fn from_f64(number: f64) -> Self {
        Self(if number.is_finite() { number.floor() as i64 } else { 0 })
    }
}
