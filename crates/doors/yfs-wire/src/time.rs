//! Times and permission bits in the two forms that they have.

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use yfs_types::time::Millis;

/// A time in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(type = "number"))]
pub struct UnixMillis(pub i64);

/// A time in seconds since the Unix epoch, as Python counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UnixSeconds(pub f64);

/// A time by RFC 3339, in UTC with milliseconds: `2026-11-21T23:51:25.123Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rfc3339Time(pub Millis);

/// Permission bits as four octal digits: `0644`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OctalMode(pub String);

impl From<Millis> for UnixMillis {
    fn from(time: Millis) -> Self {
        Self(time.0)
    }
}

impl From<Millis> for UnixSeconds {
    fn from(time: Millis) -> Self {
        Self(time.as_f64() / 1000.0)
    }
}

impl From<Millis> for Rfc3339Time {
    fn from(time: Millis) -> Self {
        Self(time)
    }
}

impl Serialize for Rfc3339Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

impl From<u32> for OctalMode {
    fn from(mode: u32) -> Self {
        Self(format!("{mode:04o}"))
    }
}

/// Formats a time by RFC 3339, in UTC with milliseconds; a time beyond the years that RFC 3339 has
/// is a number of milliseconds.
pub fn rfc3339(time: Millis) -> String {
    match Timestamp::from_millisecond(time.0) {
        Ok(timestamp) => format!("{timestamp:.3}"),
        Err(_) => time.0.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_say_the_same_time() {
        let time = Millis(1_795_305_085_123);
        assert_eq!(UnixMillis::from(time).0, time.0);
        assert_eq!(UnixSeconds::from(time).0, 1_795_305_085.123);
        assert_eq!(rfc3339(Rfc3339Time::from(time).0), "2026-11-21T23:51:25.123Z");
        assert_eq!(rfc3339(Millis(i64::MAX)), i64::MAX.to_string());
        assert_eq!(OctalMode::from(0o644).0, "0644");
    }
}
