//! Choosing how a filter and a sort are answered.
//!
//! Bounds are always a superset: every document that matches has a key inside. They are *exact* only when every key
//! inside belongs to a match; otherwise the filter is checked again after the fetch.

mod bounds;
mod choose;
mod explain;
mod implied;
mod interval;

use std::ops::Bound;

use super::document::Value;
use super::index::IndexDefinition;
use super::matcher::Matcher;
use super::sort::SortSpec;

pub(crate) use self::choose::choose;

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanRequest<'a> {
    pub(crate) matcher: &'a Matcher,
    pub(crate) sort: Option<&'a SortSpec>,
    pub(crate) indexes: &'a [IndexView<'a>],
    /// An index name or a key pattern.
    pub(crate) hint: Option<Value<'a>>,
}

/// An index as the planner sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexView<'a> {
    pub(crate) definition: &'a IndexDefinition,
    /// Per key component, whether some document has several keys because of it; absent means no.
    pub(crate) multikey: &'a [bool],
}

/// How a query is answered.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) access: Access,
    /// Whether the access gives documents in the order of the sort.
    pub(crate) sorted: bool,
    /// Whether everything the access gives matches the filter.
    pub(crate) exact: bool,
    /// Whether the matches can be counted without reading documents.
    pub(crate) covered_count: bool,
}

/// Where documents come from.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// Nothing can match.
    Nothing,
    /// Every record, in the order of insertion or backwards.
    Collection { reverse: bool },
    /// Ranges of one index, in key order or backwards. The ranges are disjoint and ascending.
    Index { index: usize, ranges: Vec<KeyRange>, reverse: bool },
    /// One after another; a record that comes again is passed over.
    Union(Vec<Access>),
}

/// A range of an index's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) from: Bound<Vec<u8>>,
    pub(crate) to: Bound<Vec<u8>>,
}

impl Plan {
    /// A walk over the whole collection.
    pub(crate) fn collection(reverse: bool, sorted: bool) -> Plan {
        Plan { access: Access::Collection { reverse }, sorted, exact: false, covered_count: false }
    }

    /// Nothing can match.
    pub(crate) fn nothing() -> Plan {
        Plan { access: Access::Nothing, sorted: true, exact: true, covered_count: true }
    }
}
