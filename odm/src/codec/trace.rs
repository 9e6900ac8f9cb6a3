//! The path of the field at which serde failed, found by doing it again.

use std::cell::RefCell;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_path_to_error::{Path, Segment, Track};

use super::decode::Decoder;
use super::encode::Encoder;
use super::unfit::{self, Words};

thread_local! {
    /// `bson` takes no seed and gives no deserializer out, so the path leaves the traced run this way.
    static FOUND: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The dotted path at which encoding fails; empty when it is not known.
pub(super) fn encode_path<T: Serialize>(value: &T) -> String {
    FOUND.take();
    let _ = bson::serialize_to_vec(&Traced(value));
    FOUND.take()
}

/// The dotted path at which decoding fails; empty when it is not known.
pub(super) fn decode_path<T: DeserializeOwned>(bytes: &[u8]) -> String {
    FOUND.take();
    let _ = bson::deserialize_from_slice::<Traced<T>>(bytes);
    FOUND.take()
}

/// The dotted path at which our own decoder fails, and what it says.
pub(super) fn own_decode<T: DeserializeOwned>(bytes: &[u8]) -> (String, Words) {
    unfit::listen(|| {
        let mut track = Track::new();
        let decoder = serde_path_to_error::Deserializer::new(Decoder::of(bytes), &mut track);
        match T::deserialize(decoder) {
            Ok(_) => String::new(),
            Err(_) => dotted(&track.path()),
        }
    })
}

/// The dotted path at which our own encoder fails, and what it says.
pub(super) fn own_encode<T: Serialize + ?Sized>(value: &T) -> (String, Words) {
    unfit::listen(|| {
        let mut track = Track::new();
        let mut bytes = Vec::new();
        let encoder = serde_path_to_error::Serializer::new(Encoder::of(&mut bytes), &mut track);
        match value.serialize(encoder) {
            Ok(()) => String::new(),
            Err(_) => dotted(&track.path()),
        }
    })
}

struct Traced<T>(T);

impl<T: Serialize> Serialize for Traced<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut track = Track::new();
        self.0
            .serialize(serde_path_to_error::Serializer::new(serializer, &mut track))
            .inspect_err(|_| FOUND.set(dotted(&track.path())))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Traced<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut track = Track::new();
        T::deserialize(serde_path_to_error::Deserializer::new(deserializer, &mut track))
            .map(Traced)
            .inspect_err(|_| FOUND.set(dotted(&track.path())))
    }
}

/// A path as MongoDB writes it.
fn dotted(path: &Path) -> String {
    let mut text = String::new();
    for segment in path.iter() {
        let segment = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.clone(),
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => continue,
        };
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(&segment);
    }
    text
}
