//! Filters on where things are.

use std::ops::{Bound, RangeBounds};

use bson::raw::{CStr, cstr};
use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::encode::Tested;
use super::filter::Filter;
use crate::codec::encode_value;
use crate::error::{Error, ErrorKind, Result};
use crate::geo::{Area, Geometry, Located, Point};
use crate::model::Field;

impl<R, T> Field<R, T> {
    /// Lies inside this area as a whole, its boundary included. Uses a geo index where there is one.
    ///
    /// See [`geo`](crate::geo) for an example.
    pub fn within(&self, area: impl Into<Area>) -> Filter<R>
    where
        T: Located,
    {
        let area = area.into();
        let operand = area.encode().map(|value| document(area.name(), value));
        Filter::from_result(self.operator(Tested::Value, cstr!("$geoWithin"), operand))
    }

    /// Lies inside this circle on the globe; the radius is in meters.
    pub fn within_circle(&self, center: Point, meters: f64) -> Filter<R>
    where
        T: Located,
    {
        self.within(Area::circle(center, meters))
    }

    /// Has a place in common with this shape.
    pub fn intersects(&self, shape: impl Into<Geometry>) -> Filter<R>
    where
        T: Located,
    {
        let operand = encode_value(&shape.into()).map(|value| document(cstr!("$geometry"), value));
        Filter::from_result(self.operator(Tested::Value, cstr!("$geoIntersects"), operand))
    }

    /// Is so many meters from this place: `..`, `..=500.0`, `200.0..=500.0`. The nearest documents come first.
    ///
    /// The field needs a `2dsphere` index (error 291 without). A filter can be near one place only, and not inside
    /// `|` or `!`; it cannot be counted by `count` or follow another stage of a pipeline.
    ///
    /// See [`geo`](crate::geo) for an example.
    pub fn near(&self, place: Point, meters: impl RangeBounds<f64>) -> Filter<R>
    where
        T: Located,
    {
        let operand = encode_value(&place).map(|place| {
            let mut near = RawDocumentBuf::new();
            near.append(cstr!("$geometry"), place);
            append_distances(&mut near, [cstr!("$minDistance"), cstr!("$maxDistance")], &meters);
            RawBson::Document(near)
        });
        Filter::from_result(self.operator(Tested::Value, cstr!("$near"), operand))
    }
}

/// The least and the greatest distance, by these names. Bounds that are left out of the range are the numbers next to
/// them.
pub(super) fn append_distances(
    document: &mut RawDocumentBuf,
    [least_name, greatest_name]: [&'static CStr; 2],
    meters: &impl RangeBounds<f64>,
) {
    let least = match meters.start_bound() {
        Bound::Included(least) => Some(*least),
        Bound::Excluded(least) => Some(least.next_up()),
        Bound::Unbounded => None,
    };
    let greatest = match meters.end_bound() {
        Bound::Included(greatest) => Some(*greatest),
        Bound::Excluded(greatest) => Some(greatest.next_down()),
        Bound::Unbounded => None,
    };
    if let Some(least) = least {
        document.append(least_name, least);
    }
    if let Some(greatest) = greatest {
        document.append(greatest_name, greatest);
    }
}

fn document(name: &'static CStr, value: RawBson) -> RawBson {
    let mut document = RawDocumentBuf::new();
    document.append(name, value);
    RawBson::Document(document)
}

/// Whether the database gives what the filter finds in order of distance.
pub(crate) fn is_by_distance(filter: &RawDocument) -> bool {
    filter.iter().flatten().any(|(name, value)| match value {
        RawBsonRef::Array(parts) if name == "$and" => parts
            .into_iter()
            .flatten()
            .any(|part| part.as_document().is_some_and(is_by_distance)),
        RawBsonRef::Document(test) => test
            .iter()
            .flatten()
            .any(|(operator, _)| matches!(operator.as_str(), "$near" | "$nearSphere")),
        _ => false,
    })
}

/// Where only whether a document is found counts, there is no order of distance.
///
/// # Errors
/// `InvalidArgument` for a filter with `near`.
pub(crate) fn without_distance(filter: RawDocumentBuf) -> Result<RawDocumentBuf> {
    match is_by_distance(&filter) {
        true => Err(Error::new(
            ErrorKind::InvalidArgument,
            "`near` gives documents in order of distance, which counts and pipelines do not; ask by `within_circle`",
        )
        .with_code(5_626_500)),
        false => Ok(filter),
    }
}
