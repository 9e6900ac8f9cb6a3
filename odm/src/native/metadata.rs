//! What is known of how a document was found, which `$meta` shows.

use super::document::Owned;
use super::fault::Fault;

/// One of the metadata of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// How well it answers a text search.
    TextScore,
    /// The random value by which `$sample` chose it.
    RandVal,
    /// The values by which it was sorted.
    SortKey,
    /// Its record, as it is shown.
    RecordId,
    /// The key of an index by which it was found.
    IndexKey,
    /// How far away it is.
    GeoNearDistance,
    /// The geometry that is nearest.
    GeoNearPoint,
    /// What only other products of MongoDB have.
    Absent,
}

impl Kind {
    /// The metadata of this name; `None` if MongoDB knows none.
    pub(crate) fn parse(name: &str) -> Option<Kind> {
        Some(match name {
            "textScore" => Kind::TextScore,
            "randVal" => Kind::RandVal,
            "sortKey" => Kind::SortKey,
            "recordId" => Kind::RecordId,
            "indexKey" => Kind::IndexKey,
            "geoNearDistance" => Kind::GeoNearDistance,
            "geoNearPoint" => Kind::GeoNearPoint,
            "searchScore"
            | "searchHighlights"
            | "searchScoreDetails"
            | "timeseriesBucketMinTime"
            | "timeseriesBucketMaxTime" => Kind::Absent,
            _ => return None,
        })
    }

    /// The fault of metadata that a search of this kind does not give.
    pub(crate) fn unavailable(self) -> Fault {
        let name = match self {
            Kind::TextScore => "text score",
            Kind::RandVal => "rand val",
            Kind::SortKey => "sort key",
            Kind::RecordId => "record ID",
            Kind::IndexKey => "index key",
            Kind::GeoNearDistance => "$geoNear distance",
            Kind::GeoNearPoint => "$geoNear point",
            Kind::Absent => "search",
        };
        Fault::new(
            40218,
            format!("query requires {name} metadata, but it is not available"),
        )
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Which metadata are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted(u8);

impl Wanted {
    pub(crate) fn add(&mut self, kind: Kind) {
        self.0 |= kind.bit();
    }

    pub(crate) fn and(self, other: Wanted) -> Wanted {
        Wanted(self.0 | other.0)
    }

    pub(crate) fn has(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Whether none is.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The first that only a text search or one for what is near gives, where there is none.
    ///
    /// # Errors
    /// Code 40218.
    pub(crate) fn check(self, searches: bool, measures: bool) -> Result<(), Fault> {
        for (kind, is_there) in [
            (Kind::TextScore, searches),
            (Kind::GeoNearDistance, measures),
            (Kind::GeoNearPoint, measures),
        ] {
            if self.has(kind) && !is_there {
                return Err(kind.unavailable());
            }
        }
        Ok(())
    }
}

/// What is known of how a document was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) score: Option<f64>,
    pub(crate) random: Option<f64>,
    /// An array of the parts.
    pub(crate) sort_key: Option<Owned>,
    pub(crate) record: Option<Owned>,
    /// A document.
    pub(crate) index_key: Option<Vec<u8>>,
    pub(crate) distance: Option<f64>,
    pub(crate) point: Option<Owned>,
}

impl Metadata {
    /// The value of this kind, if it is known.
    pub(crate) fn get(&self, kind: Kind) -> Option<Owned> {
        match kind {
            Kind::TextScore => self.score.map(Owned::Double),
            Kind::RandVal => self.random.map(Owned::Double),
            Kind::SortKey => self.sort_key.clone(),
            Kind::RecordId => self.record.clone(),
            Kind::IndexKey => self.index_key.clone().map(Owned::RawDocument),
            Kind::GeoNearDistance => self.distance.map(Owned::Double),
            Kind::GeoNearPoint => self.point.clone(),
            Kind::Absent => None,
        }
    }
}
