//! Longitude and latitude.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A longitude from -180 to 180 and a latitude from -90 to 90, in degrees; stored as an array of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// East is positive.
    pub longitude: f64,
    /// North is positive.
    pub latitude: f64,
    /// In meters; kept, but no query looks at it.
    pub altitude: Option<f64>,
}

impl Position {
    /// The place at a longitude and a latitude.
    pub fn new(longitude: f64, latitude: f64) -> Position {
        Position {
            longitude,
            latitude,
            altitude: None,
        }
    }
}

impl From<(f64, f64)> for Position {
    fn from((longitude, latitude): (f64, f64)) -> Position {
        Position::new(longitude, latitude)
    }
}

impl From<[f64; 2]> for Position {
    fn from([longitude, latitude]: [f64; 2]) -> Position {
        Position::new(longitude, latitude)
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = 2 + usize::from(self.altitude.is_some());
        let mut numbers = serializer.serialize_seq(Some(length))?;
        numbers.serialize_element(&self.longitude)?;
        numbers.serialize_element(&self.latitude)?;
        if let Some(altitude) = &self.altitude {
            numbers.serialize_element(altitude)?;
        }
        numbers.end()
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Position, D::Error> {
        deserializer.deserialize_seq(Numbers)
    }
}

struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Position;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a longitude and a latitude")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Position, A::Error> {
        let longitude = numbers.next_element()?;
        let latitude = numbers.next_element()?;
        let altitude = numbers.next_element()?;
        if numbers.next_element::<serde::de::IgnoredAny>()?.is_some() {
            return Err(A::Error::invalid_length(4, &self));
        }
        match (longitude, latitude) {
            (Some(longitude), Some(latitude)) => Ok(Position {
                longitude,
                latitude,
                altitude,
            }),
            (None, _) => Err(A::Error::invalid_length(0, &self)),
            (_, None) => Err(A::Error::invalid_length(1, &self)),
        }
    }
}
