//! Searching by an attribute.

use std::fmt;
use std::ops::Bound;
use std::ops::RangeBounds;

use odm::bson::{Bson, Document, doc};
use odm::{Filter, Result};

use super::catalog::{Attributed, Catalog};
use super::definition::Definition;
use super::given::Given;
use super::problem::{AttributeProblem, Rejected};
use super::stored::Form;
use super::value::Value;

/// An attribute of a [`Catalog`] to search by. Filters combine as all others do: `&` for products that have several.
///
/// Values are held against the attribute's kind and unit, but not against its bounds and choices.
pub struct Asked<'a, M: Attributed> {
    pub(super) catalog: &'a Catalog<M>,
    pub(super) definition: &'a Definition,
}

impl<M: Attributed> Asked<'_, M> {
    /// Products of which the attribute, or one of its values, is this. A measure is the same within 10⁻¹² of it, in whatever
    /// unit it was given; where units of its dimension begin at zeros of their own ([`Units::shifted`]), of it and of how far
    /// these are from that of the base unit.
    ///
    /// [`Units::shifted`]: super::Units::shifted
    ///
    /// # Errors
    /// `Validation` for a value of another kind, and for wrong units.
    pub fn eq(&self, value: impl Into<Given>) -> Result<Filter<M>> {
        let value = self.operand(value.into())?;
        Ok(self.condition(self.equal(&value)))
    }

    /// Products of which the attribute, or one of its values, is one of these.
    ///
    /// # Errors
    /// As [`eq`](Asked::eq).
    pub fn is_in<V: Into<Given>>(&self, values: impl IntoIterator<Item = V>) -> Result<Filter<M>> {
        let values = values.into_iter().map(|value| self.operand(value.into()));
        let values: Vec<Value> = values.collect::<Result<_>>()?;
        if self.definition.unit.is_some() {
            return Ok(Filter::or(
                values.iter().map(|value| self.condition(self.equal(value))),
            ));
        }
        let values: Vec<Bson> = values.iter().map(Value::to_bson).collect();
        Ok(self.condition(doc! { "$in": values }))
    }

    /// Products of which the attribute, or one of its values, is within: `range(20.0..30.0)`,
    /// `range(..=Quantity::new(2, "kg"))`.
    ///
    /// # Errors
    /// As [`eq`](Asked::eq).
    pub fn range<V: Into<Given> + Clone>(&self, range: impl RangeBounds<V>) -> Result<Filter<M>> {
        let mut bounds = Document::new();
        let sides = [
            (range.start_bound(), "$gte", "$gt"),
            (range.end_bound(), "$lte", "$lt"),
        ];
        for (bound, included, excluded) in sides {
            let (operator, value) = match bound {
                Bound::Included(value) => (included, value),
                Bound::Excluded(value) => (excluded, value),
                Bound::Unbounded => continue,
            };
            let value = self.operand(value.clone().into())?;
            bounds.insert(operator, value.to_bson());
        }
        match bounds.is_empty() {
            true => Ok(self.exists()),
            false => Ok(self.condition(bounds)),
        }
    }

    /// Products that have the attribute: all of them are read, by the index, unless another condition bounds the search
    /// further.
    pub fn exists(&self) -> Filter<M> {
        let catalog = self.catalog;
        let listed = || {
            let name = self.definition.name.as_str();
            Filter::raw(doc! { &*catalog.field: { "$elemMatch": { "n": name } } })
        };
        let scoped = || Filter::raw(doc! { catalog.path(self.definition): { "$exists": true } });
        self.by_form(listed, scoped)
    }

    fn equal(&self, value: &Value) -> Document {
        match (&self.definition.unit, value) {
            (Some(unit), Value::Number(number)) => {
                let spread = (number.abs() + self.catalog.units.reach(unit)) * 1e-12;
                doc! { "$gte": number - spread, "$lte": number + spread }
            }
            (_, value) => doc! { "$eq": value.to_bson() },
        }
    }

    /// The value as it is stored.
    pub(super) fn operand(&self, given: Given) -> Result<Value> {
        let mut unbound = self.definition.clone();
        (unbound.least, unbound.most) = (None, None);
        unbound.choices.clear();
        let normal = unbound
            .normal_one(&self.catalog.units, &given)
            .map_err(|kind| Rejected {
                problems: vec![AttributeProblem::new(&self.definition.name, kind)],
            })?;
        Ok(normal.value)
    }

    /// The products of which one value is as these operators say.
    fn condition(&self, operators: Document) -> Filter<M> {
        let catalog = self.catalog;
        let listed = || {
            let entry = doc! { "n": self.definition.name.as_str(), "v": operators.clone() };
            Filter::raw(doc! { &*catalog.field: { "$elemMatch": entry } })
        };
        let scoped = || {
            let path = format!("{}.{}", catalog.field, self.definition.name);
            // Several operators on a list would be met by different elements.
            Filter::raw(match (self.definition.is_many, &self.definition.unit) {
                (false, _) => doc! { catalog.path(self.definition): operators.clone() },
                (true, None) => doc! { path: { "$elemMatch": operators.clone() } },
                (true, Some(_)) => doc! { path: { "$elemMatch": { "v": operators.clone() } } },
            })
        };
        self.by_form(listed, scoped)
    }

    fn by_form(&self, listed: impl FnOnce() -> Filter<M>, scoped: impl FnOnce() -> Filter<M>) -> Filter<M> {
        match (self.catalog.in_both_forms, M::Form::IS_LIST) {
            // An attribute may be called as a part of the list's entries is.
            (true, _) => listed() | (Filter::raw(self.catalog.in_form(false)) & scoped()),
            (false, true) => listed(),
            (false, false) => scoped(),
        }
    }
}

impl<M: Attributed> fmt::Debug for Asked<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Asked").field(&self.definition).finish()
    }
}
