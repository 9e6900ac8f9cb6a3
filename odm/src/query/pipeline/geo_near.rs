//! Documents by their distance.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bson::raw::{CString, cstr};
use bson::{RawBson, RawDocumentBuf};

use super::Pipeline;
use super::assignment::no_twice;
use crate::codec::encode_value;
use crate::error::{Error, ErrorKind, Result};
use crate::geo::{Located, Point};
use crate::model::{Embedded, Field, Numeric, Path};
use crate::query::geo::append_distances;
use crate::query::{Filter, without_distance};

/// The documents near a place, to be finished by [`output`](GeoNear::output).
#[must_use]
#[derive(Debug)]
pub struct GeoNear<T, S> {
    pipeline: Pipeline<T, S>,
    place: Result<RawBson>,
    key: Result<CString>,
    distances: RawDocumentBuf,
    filter: Option<Result<RawDocumentBuf>>,
    multiplier: Option<f64>,
}

/// Says which field of the output gets the distance.
pub struct Distance<Out>(PhantomData<fn() -> Out>);

/// The fields of `Out` that get the distance, and the place that was measured to.
#[must_use]
#[derive(Debug)]
pub struct Nearness<Out> {
    distance: Result<CString>,
    place: Option<Result<CString>>,
    marker: PhantomData<fn() -> Out>,
}

impl<Out> Distance<Out> {
    /// This field gets the distance, in meters.
    pub fn into<V: Numeric>(self, field: &Field<Out, V>) -> Nearness<Out> {
        Nearness {
            distance: field.query_path(),
            place: None,
            marker: PhantomData,
        }
    }
}

impl<Out> Nearness<Out> {
    /// This field gets the place that was measured to: the nearest one, where the documents' field holds several.
    pub fn place<V: Located>(mut self, field: &Field<Out, V>) -> Nearness<Out> {
        self.place = Some(field.query_path());
        self
    }
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// The documents near a place, the nearest first, with their distance (`$geoNear`). The first stage of a pipeline only.
    ///
    /// ```
    /// use odm::geo::Point;
    /// # use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Debug, Serialize, Deserialize, odm::Model)]
    /// struct Library {
    ///     #[serde(rename = "_id")]
    ///     name: String,
    ///     #[odm(index(geo_2dsphere))]
    ///     place: Point,
    /// }
    ///
    /// #[derive(Debug, Serialize, Deserialize, odm::Embedded)]
    /// struct Near {
    ///     #[serde(rename = "_id")]
    ///     name: String,
    ///     meters: f64,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let libraries = odm::Db::open("memory:").await?.collection::<Library>();
    /// libraries.sync_indexes().await?;
    /// for (name, place) in [("Bodleian", Point::new(-1.254, 51.754)), ("Wren", Point::new(0.117, 52.207))] {
    ///     libraries.insert(Library { name: name.into(), place }).await?;
    /// }
    /// let london = Point::new(-0.128, 51.507);
    /// let near = libraries
    ///     .aggregate()
    ///     .geo_near(|l| l.place, london)
    ///     .meters(..=100_000.0)
    ///     .output::<Near>(|n, distance| distance.into(&n.meters))
    ///     .await?;
    /// assert_eq!((near[0].name.as_str(), near[0].meters.round()), ("Wren", 79_723.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The field needs a `2dsphere` index: without one it is an error of the server (code 291), without the collection
    /// too (code 26). Behind another stage it is an error of kind `InvalidArgument`, which needs no round trip; in a
    /// [`facet`](Pipeline::facet) and in a [`lookup_with`](Pipeline::lookup_with) one of the server.
    pub fn geo_near<V: Located>(
        self,
        field: impl FnOnce(T::Fields<T>) -> Field<T, V>,
        place: Point,
    ) -> GeoNear<T, S> {
        GeoNear {
            pipeline: self,
            place: encode_value(&place),
            key: field(T::fields_at(Path::root())).query_path(),
            distances: RawDocumentBuf::new(),
            filter: None,
            multiplier: None,
        }
    }
}

impl<T: Embedded, S> GeoNear<T, S> {
    /// Not nearer and not farther: `..=500.0`, `200.0..=500.0`.
    pub fn meters(mut self, meters: impl RangeBounds<f64>) -> Self {
        self.distances = RawDocumentBuf::new();
        append_distances(
            &mut self.distances,
            [cstr!("minDistance"), cstr!("maxDistance")],
            &meters,
        );
        self
    }

    /// Only documents that match too.
    pub fn filter(mut self, filter: impl FnOnce(T::Fields<T>) -> Filter<T>) -> Self {
        let filter = filter(T::fields_at(Path::root())).to_document();
        self.filter = Some(filter.and_then(without_distance));
        self
    }

    /// Multiplies the distances that come out: by 0.001 they are kilometers.
    pub fn multiplied(mut self, by: f64) -> Self {
        self.multiplier = Some(by);
        self
    }

    /// Which field of `Out` gets the distance, and if asked for, which one the place: `|out, distance|
    /// distance.into(&out.meters).place(&out.at)`. `Out` is `T` with these fields.
    pub fn output<Out: Embedded>(
        self,
        output: impl FnOnce(Out::Fields<Out>, Distance<Out>) -> Nearness<Out>,
    ) -> Pipeline<Out, S> {
        let measured = output(Out::fields_at(Path::root()), Distance(PhantomData));
        let is_first = !matches!(&self.pipeline.stages, Ok(stages) if !stages.is_empty());
        let (pipeline, argument) = self.argument(measured);
        let argument = match is_first {
            true => argument,
            false => Err(Error::new(
                ErrorKind::InvalidArgument,
                "`geo_near` reads the collection by its index, and is the first stage of a pipeline only",
            )
            .with_code(40603)),
        };
        pipeline.then(cstr!("$geoNear"), argument)
    }

    fn argument<Out>(self, measured: Nearness<Out>) -> (Pipeline<T, S>, Result<RawDocumentBuf>) {
        let mut argument = self.distances;
        let (place, key, filter) = (self.place, self.key, self.filter);
        let argument = place.and_then(|place| {
            let distance = measured.distance?;
            argument.append(cstr!("near"), place);
            argument.append(cstr!("key"), key?.as_str());
            argument.append(cstr!("spherical"), true);
            argument.append(cstr!("distanceField"), distance.as_str());
            if let Some(place) = measured.place {
                let paths = [distance.as_str().to_owned(), place?.as_str().to_owned()];
                no_twice("$geoNear", paths.iter())?;
                argument.append(cstr!("includeLocs"), paths[1].as_str());
            }
            if let Some(filter) = filter {
                argument.append(cstr!("query"), filter?);
            }
            if let Some(multiplier) = self.multiplier {
                argument.append(cstr!("distanceMultiplier"), multiplier);
            }
            Ok(argument)
        });
        (self.pipeline, argument)
    }
}

impl<Out> fmt::Debug for Distance<Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Distance")
    }
}
