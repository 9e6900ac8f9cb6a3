//! Where stages may stand, and what is said of those that may not.

use super::super::super::fault::{Fault, Result, code};
use super::{CHANGE_STREAM, Place, READS_CHANGES};

/// Refuses a stage where it may not stand.
pub(crate) fn check_place(name: &str, place: Place, index: usize) -> Result<()> {
    // Of what a server puts in its place, the first tells.
    let (name, is_nowhere_inside) = match name {
        CHANGE_STREAM => (READS_CHANGES, true),
        name => (name, matches!(name, "$out" | "$merge")),
    };
    match place {
        Place::Facet
            if is_nowhere_inside
                || matches!(
                    name,
                    "$documents"
                        | "$collStats"
                        | "$geoNear"
                        | "$indexStats"
                        | "$listCatalog"
                        | "$planCacheStats"
                ) =>
        {
            Err(Fault::new(
                40600,
                format!("{name} is not allowed to be used within a $facet stage"),
            ))
        }
        Place::Lookup if is_nowhere_inside => Err(Fault::new(
            51047,
            format!("{name} is not allowed within a $lookup's sub-pipeline"),
        )),
        Place::Union if is_nowhere_inside => Err(Fault::new(
            31441,
            format!("{name} is not allowed within a $unionWith's sub-pipeline"),
        )),
        _ if index > 0 && name == "$geoNear" => Err(misplaced_geo_near()),
        _ => check_first(name, index),
    }
}

/// Refuses a stage behind another that no stage may stand before.
pub(in super::super) fn check_first(name: &str, index: usize) -> Result<()> {
    match name {
        CHANGE_STREAM | READS_CHANGES if index > 0 => Err(only_first(READS_CHANGES)),
        "$documents" | "$collStats" | "$indexStats" | "$planCacheStats" if index > 0 => Err(only_first(name)),
        _ => Ok(()),
    }
}

/// The code of a stage that stands behind others and may not.
pub(crate) const ONLY_FIRST: i32 = 40602;

/// What is said of such a stage.
pub(crate) fn only_first(name: &str) -> Fault {
    Fault::new(
        ONLY_FIRST,
        format!("{name} is only valid as the first stage in a pipeline"),
    )
}

/// What is said of a `$geoNear` that has something before it.
pub(crate) fn misplaced_geo_near() -> Fault {
    Fault::new(
        40603,
        "$geoNear is only valid as the first stage in an optimized pipeline",
    )
}

/// What is said of a join or union that names no collection and has none of its own.
pub(crate) fn without_collection(name: &str) -> Fault {
    Fault::new(
        code::FAILED_TO_PARSE,
        format!(
            "{name} stage without explicit collection must have a pipeline with $documents as first stage"
        ),
    )
}
