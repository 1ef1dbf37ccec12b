//! Time as the wire shows it (RFC 3339, UTC, milliseconds) and the clock that tests can hold still.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant with millisecond precision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    pub fn plus_seconds(self, seconds: u64) -> Self {
        self.plus_millis(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => f.write_str("1970-01-01T00:00:00.000Z"),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let instant: jiff::Timestamp =
            text.parse().map_err(|_| de::Error::custom(format!("`{text}` is not an RFC 3339 timestamp")))?;
        Ok(Self(instant.as_millisecond()))
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .format(Some(utoipa::openapi::SchemaFormat::KnownFormat(utoipa::openapi::KnownFormat::DateTime)))
            .into()
    }
}

impl utoipa::ToSchema for Timestamp {}

/// Where the harness gets the time from.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_millisecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_keep_milliseconds_and_normalise_to_utc() {
        let cases = [
            ("2026-04-25T19:00:00Z", "2026-04-25T19:00:00.000Z"),
            ("2026-04-25T21:00:00.123456+02:00", "2026-04-25T19:00:00.123Z"),
        ];
        for (given, shown) in cases {
            let parsed: Timestamp = serde_json::from_value(given.into()).unwrap();
            assert_eq!(serde_json::to_value(parsed).unwrap(), shown);
        }
        assert!(serde_json::from_value::<Timestamp>("yesterday".into()).is_err());
    }
}
