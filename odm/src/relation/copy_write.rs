//! How the copies of one document are found in those that hold them, and written: only where the version says so.

use bson::{RawArrayBuf, RawBson, RawDocument, RawDocumentBuf, cstr, rawdoc};

use super::comparing;
use super::declared_copy::DeclaredCopy;
use super::place::{self, Step, any, changed, names, one, when};
use super::plan::{and, name};
use super::sought::Sought;
use crate::backend::{Modification, UpdateStatement};
use crate::error::Result;

/// Which copies of a source are meant, by the version that they were copied from.
#[derive(Clone, Copy, Debug)]
enum Which {
    /// Those that are older.
    OlderThan(i64),
    /// Those that have exactly this one, or none.
    Seen(Option<i64>),
}

/// What copies of a source are to hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Copied {
    /// What references to the source hold.
    pub(super) key: RawBson,
    pub(super) version: i64,
    values: Vec<(String, Option<RawBson>)>,
    /// Whether the source holds other values than copies of the same version may have.
    is_reshaped: bool,
}

impl Copied {
    /// The same of a source whose values can change and its version not: one that is migrated, or derives what is
    /// copied anew. Copies of the same version that hold others are outdated too.
    pub(crate) fn reshaped(mut self, is_reshaped: bool) -> Copied {
        self.is_reshaped = is_reshaped;
        self
    }

    fn which(&self) -> Which {
        match self.is_reshaped {
            true => Which::OlderThan(self.version.saturating_add(1)),
            false => Which::OlderThan(self.version),
        }
    }
}

impl DeclaredCopy {
    /// What copies here are to hold of a stored source; nothing of one without a key.
    pub(crate) fn copied_from(&self, source: &RawDocument) -> Result<Option<Copied>> {
        let Some(key) = self.key_of(source)? else {
            return Ok(None);
        };
        Ok(Some(Copied {
            key,
            version: self.copy.version_of(source)?,
            values: self.copy.values(source)?,
            is_reshaped: false,
        }))
    }

    /// Whether copies here of one shape of a source hold something else than those of another.
    pub(crate) fn differs(&self, one: &RawDocument, other: &RawDocument) -> bool {
        match (self.copied_from(one), self.copied_from(other)) {
            (Ok(one), Ok(other)) => one != other,
            _ => true,
        }
    }

    /// The documents with copies that are older than these values, and the collation to find them by. Where the
    /// collection has one that its indexes compare by, there are others among them.
    pub(crate) fn outdated(&self, copied: &Copied) -> Result<(RawDocumentBuf, Option<RawDocumentBuf>)> {
        let mut filter = self.filter(&copied.key, copied.which())?;
        if self.is_collated(&copied.key) {
            return Ok((filter, None));
        }
        if copied.is_reshaped {
            filter = and(vec![filter, self.holding(copied, true)?]);
        }
        Ok((filter, self.comparing(copied, copied.is_reshaped)))
    }

    /// The documents with copies that are older than these values and hold others, and the collation likewise.
    pub(crate) fn holding_others(&self, copied: &Copied) -> Result<(RawDocumentBuf, Option<RawDocumentBuf>)> {
        Ok(match self.is_collated(&copied.key) {
            true => (self.filter(&copied.key, copied.which())?, None),
            false => (self.holding(copied, false)?, self.comparing(copied, true)),
        })
    }

    /// Whether the collation that the holders' model declares could take the key for another one.
    pub(super) fn is_collated(&self, key: &RawBson) -> bool {
        comparing::declared(self.model).is_some()
            && comparing::hold_text(&RawArrayBuf::from_iter([key.clone()]))
    }

    /// The comparison of bytes, where keys or values that hold text are compared.
    fn comparing(&self, copied: &Copied, compares_values: bool) -> Option<RawDocumentBuf> {
        let values = copied.values.iter().filter(|_| compares_values);
        let values = values.filter_map(|(_, value)| value.clone());
        let compared = RawArrayBuf::from_iter(values.chain([copied.key.clone()]));
        comparing::for_keys(&compared)
    }

    /// With `or_older` also those that hold the same values of an older version.
    fn holding(&self, copied: &Copied, or_older: bool) -> Result<RawDocumentBuf> {
        let any = any(&self.steps, "$$ROOT", 0, &|copy| {
            let is_meant = self.is_meant(copy, &copied.key, copied.which())?;
            let mut others = RawArrayBuf::new();
            if or_older {
                let version = format!("{copy}.{}", self.copy.version);
                others.push(rawdoc! { "$lt": [version, copied.version] });
            }
            for (field, value) in &copied.values {
                let held = format!("{copy}.{field}");
                others.push(match value {
                    Some(value) => rawdoc! { "$ne": [held, literal(value.clone())] },
                    None => rawdoc! { "$ne": [{ "$type": held }, "missing"] },
                });
            }
            Ok(rawdoc! { "$and": [is_meant, { "$or": others }] })
        });
        Ok(rawdoc! { "$expr": any? })
    }

    /// The update of all copies that are older than these values, in documents that a filter narrows further.
    pub(crate) fn update(&self, copied: &Copied, among: Option<RawDocumentBuf>) -> Result<UpdateStatement> {
        let mut narrowed = Vec::from_iter(among);
        if copied.is_reshaped {
            narrowed.push(self.holding(copied, true)?);
        }
        let collation = self.comparing(copied, copied.is_reshaped);
        self.statement(copied, copied.which(), narrowed, collation)
    }

    /// The same of copies that also hold other values.
    pub(crate) fn update_others(
        &self,
        copied: &Copied,
        among: Option<RawDocumentBuf>,
    ) -> Result<UpdateStatement> {
        let mut narrowed = Vec::from_iter(among);
        narrowed.push(self.holding(copied, false)?);
        let collation = self.comparing(copied, true);
        self.statement(copied, copied.which(), narrowed, collation)
    }

    /// The update of copies that have exactly a version, in one document.
    pub(super) fn update_seen(
        &self,
        copied: &Copied,
        seen: Option<i64>,
        id: RawDocumentBuf,
    ) -> Result<UpdateStatement> {
        let collation = self.comparing(copied, false);
        self.statement(copied, Which::Seen(seen), vec![id], collation)
    }

    fn statement(
        &self,
        copied: &Copied,
        which: Which,
        narrowed: Vec<RawDocumentBuf>,
        collation: Option<RawDocumentBuf>,
    ) -> Result<UpdateStatement> {
        let filter = self.filter(&copied.key, which)?;
        let filter = and(narrowed.into_iter().chain([filter]).collect());
        let (modification, array_filters) = match self.needs_expressions() {
            true => {
                let replaced = changed(&self.steps, "$$ROOT", 0, &|copy, _| {
                    let is_meant = self.is_meant(copy, &copied.key, which)?;
                    Ok(when(is_meant, self.rewritten(copy, copied)?, copy))
                })?;
                let stage = rawdoc! { "$replaceWith": replaced };
                (Modification::Pipeline(vec![stage]), Vec::new())
            }
            false => self.operators(copied, which)?,
        };
        Ok(UpdateStatement {
            filter,
            modification,
            multi: true,
            upsert: false,
            array_filters,
            hint: None,
            collation,
        })
    }

    /// The documents whose copies refer to one of the keys.
    pub(crate) fn referring(&self, keys: RawArrayBuf) -> Result<RawDocumentBuf> {
        let mut steps = self.steps.clone();
        steps.push(Step::Name(self.copy.reference.clone()));
        place::referring(&steps, &Sought::by(keys))
    }

    fn filter(&self, key: &RawBson, which: Which) -> Result<RawDocumentBuf> {
        if self.needs_expressions() {
            let any = any(&self.steps, "$$ROOT", 0, &|copy| self.is_meant(copy, key, which));
            return Ok(rawdoc! { "$expr": any? });
        }
        let Some(last) = self.steps.iter().rposition(|step| *step == Step::Each) else {
            return self.conditions(&names(&self.steps), key, which);
        };
        // The first condition is the one that every index on the reference can answer.
        let (outer, inner) = (names(&self.steps[..last]), names(&self.steps[last + 1..]));
        let mut filter = one(&self.reference_path(), equal(key))?;
        let element = self.conditions(&inner, key, which)?;
        filter.append(name(&outer.join("."))?, rawdoc! { "$elemMatch": element });
        Ok(filter)
    }

    /// The conditions on one copy at this path.
    fn conditions(&self, path: &[&str], key: &RawBson, which: Which) -> Result<RawDocumentBuf> {
        let mut conditions = one(&below(path, &self.copy.reference), equal(key))?;
        let version = name(&below(path, &self.copy.version))?;
        match which {
            Which::OlderThan(version_of_source) => {
                conditions.append(version, rawdoc! { "$not": { "$gte": version_of_source } });
            }
            Which::Seen(Some(seen)) => conditions.append(version, seen),
            Which::Seen(None) => conditions.append(version, RawBson::Null),
        }
        Ok(conditions)
    }

    /// By operators, elements of arrays chosen by filters of their own: `lines.$[c0].product.name`.
    fn operators(&self, copied: &Copied, which: Which) -> Result<(Modification, Vec<RawDocumentBuf>)> {
        let mut path = Vec::new();
        let mut filters = Vec::new();
        for (position, step) in self.steps.iter().enumerate() {
            let Step::Name(field) = step else {
                let element = format!("c{}", filters.len());
                let rest = &self.steps[position + 1..];
                let mut at = vec![element.as_str()];
                at.extend(names(rest));
                filters.push(match rest.contains(&Step::Each) {
                    // An element without the inner array would be an error.
                    true => one(&below(&at, &self.copy.reference), equal(&copied.key))?,
                    false => self.conditions(&at, &copied.key, which)?,
                });
                path.push(format!("$[{element}]"));
                continue;
            };
            path.push(field.clone());
        }
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let (mut set, mut unset) = (RawDocumentBuf::new(), RawDocumentBuf::new());
        set.append(name(&below(&path, &self.copy.version))?, copied.version);
        for (field, value) in &copied.values {
            let field = name(&below(&path, field))?;
            match value {
                Some(value) => set.append(field, value.clone()),
                None => unset.append(field, ""),
            }
        }
        let mut operators = rawdoc! { "$set": set };
        if !unset.is_empty() {
            operators.append(cstr!("$unset"), unset);
        }
        Ok((Modification::Operators(operators), filters))
    }

    /// Whether the copy at `base` is meant, as an expression.
    fn is_meant(&self, base: &str, key: &RawBson, which: Which) -> Result<RawDocumentBuf> {
        let version = format!("{base}.{}", self.copy.version);
        let by_version = match which {
            // What is missing comes before all numbers.
            Which::OlderThan(newer) => rawdoc! { "$lt": [version, newer] },
            Which::Seen(Some(seen)) => rawdoc! { "$eq": [version, seen] },
            Which::Seen(None) => rawdoc! { "$lte": [version, RawBson::Null] },
        };
        let reference = format!("{base}.{}", self.copy.reference);
        let by_key = rawdoc! { "$eq": [reference, literal(key.clone())] };
        Ok(rawdoc! { "$and": [by_key, by_version] })
    }

    /// The copy at `base` with new values, as an expression.
    fn rewritten(&self, base: &str, copied: &Copied) -> Result<RawDocumentBuf> {
        let mut values = one(&self.copy.version, literal(RawBson::Int64(copied.version)))?;
        let mut gone = RawArrayBuf::new();
        for (field, value) in &copied.values {
            match value {
                Some(value) => values.append(name(field)?, literal(value.clone())),
                None => gone.push(field.as_str()),
            }
        }
        let mut merged = RawArrayBuf::new();
        match gone.is_empty() {
            true => merged.push(base),
            false => merged.push(rawdoc! { "$arrayToObject": { "$filter": {
                "input": { "$objectToArray": base },
                "as": "f",
                "cond": { "$not": [{ "$in": ["$$f.k", { "$literal": gone }] }] },
            } } }),
        }
        merged.push(values);
        Ok(rawdoc! { "$mergeObjects": merged })
    }
}

fn equal(key: &RawBson) -> RawDocumentBuf {
    rawdoc! { "$eq": key.clone() }
}

fn literal(value: RawBson) -> RawDocumentBuf {
    rawdoc! { "$literal": value }
}

fn below(path: &[&str], field: &str) -> String {
    let mut all = path.to_vec();
    all.push(field);
    all.join(".")
}
