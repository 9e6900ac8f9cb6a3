//! A collection as all models that share it declare it, against what it is.

use bson::{Bson, Document, doc};

use super::models::Entry;
use super::validator::{ValidatorPart, validator};
use super::{ModelDescriptor, Models, is_true, number, same_collation};
use crate::error::{Error, ErrorKind, Result};

/// What the command `create` takes and no collection is listed with.
const PASSING: [&str; 5] = ["writeConcern", "comment", "maxTimeMS", "autoIndexId", "validator"];

/// How far apart measurements are, in the order in which a server can change it.
const GRANULARITIES: [&str; 3] = ["seconds", "minutes", "hours"];

/// A collection as its models declare it.
#[derive(Debug)]
pub(crate) struct DeclaredCollection {
    pub(crate) name: &'static str,
    pub(crate) models: Vec<&'static ModelDescriptor>,
    /// The options of the command `create`, without the validator; none where no model declares any.
    pub(crate) options: Option<Document>,
    parts: Vec<ValidatorPart>,
}

/// An option of a collection that is not as declared.
#[derive(Debug, PartialEq)]
pub(crate) struct OptionDrift {
    pub(crate) name: String,
    /// What differs, in a line.
    pub(crate) line: String,
    /// The fields of the command `collMod` that make it as declared; none where only a new collection can be.
    pub(crate) change: Option<Document>,
}

impl Models {
    /// The collections of the models, in the order in which they first come.
    ///
    /// # Errors
    /// `Schema` naming a model that declares another value of an option than one before it.
    pub(crate) fn collections(&self) -> Result<Vec<DeclaredCollection>> {
        let mut all: Vec<DeclaredCollection> = Vec::new();
        for entry in &self.models {
            let name = entry.descriptor.collection;
            let known = all.iter().position(|collection| collection.name == name);
            let position = known.unwrap_or_else(|| {
                all.push(DeclaredCollection {
                    name,
                    models: Vec::new(),
                    options: None,
                    parts: Vec::new(),
                });
                all.len() - 1
            });
            all[position].add(entry)?;
        }
        Ok(all)
    }
}

impl DeclaredCollection {
    fn add(&mut self, entry: &Entry) -> Result<()> {
        let model = entry.descriptor;
        self.models.push(model);
        if model.options.is_none() {
            return Ok(());
        }
        let declared = model.declared_options();
        let options = self.options.get_or_insert_default();
        for (name, value) in declared.options().iter().filter(|(name, _)| *name != "validator") {
            match options.get(name) {
                Some(other) if other != value => {
                    let message = "two models declare the same option of their collection differently";
                    return Err(Error::new(ErrorKind::Schema, message)
                        .with_model(model.name)
                        .with_namespace(model.collection)
                        .with_path(format!("options.{name}")));
                }
                _ => drop(options.insert(name, value.clone())),
            }
        }
        self.parts.extend(model.validator_parts(declared.is_validated()));
        Ok(())
    }

    /// The model that says most of the options: the first that declares some.
    pub(crate) fn speaker(&self) -> &'static ModelDescriptor {
        let says = self.models.iter().find(|model| model.options.is_some());
        says.unwrap_or(&self.models[0])
    }

    /// The validator that it is to have, beside what is stored of other kinds; none where none is declared.
    pub(crate) fn validator(&self, stored: Option<&Document>) -> Option<Document> {
        validator(stored, self.parts.clone())
    }

    /// What differs from what is declared. What is not declared may be: options beside the declared ones do not count.
    pub(crate) fn drift(&self, existing: &Document) -> Vec<OptionDrift> {
        let mut drifts = Vec::new();
        if let Some(declared) = &self.options {
            for (name, value) in declared {
                drifts.extend(drift(name, value, declared, existing));
            }
        }
        let stored = existing.get_document("validator").ok();
        if let Some(wanted) = self.validator(stored)
            && stored != Some(&wanted)
        {
            drifts.push(OptionDrift {
                name: "validator".to_owned(),
                line: line(
                    "validator",
                    stored.cloned().map(Bson::from).as_ref(),
                    &wanted.clone().into(),
                ),
                change: Some(doc! { "validator": wanted }),
            });
        }
        drifts
    }
}

/// How one declared option differs from that of the collection.
fn drift(name: &str, declared: &Bson, all: &Document, existing: &Document) -> Option<OptionDrift> {
    let is = existing.get(name);
    let capped = existing.get("capped").is_some_and(is_true);
    let one = |change: Option<Document>| OptionDrift {
        name: name.to_owned(),
        line: line(name, is, declared),
        change,
    };
    let of = |change: Bson| Some(doc! { name: change });
    match name {
        _ if PASSING.contains(&name) => None,
        // Said by `capped`.
        "size" | "max" if !capped => None,
        "size" => (!same_size(is, declared)).then(|| one(Some(doc! { "cappedSize": declared }))),
        "max" => (number(is) != number(Some(declared))).then(|| one(Some(doc! { "cappedMax": declared }))),
        "capped" => (capped != is_true(declared)).then(|| one(None)),
        "expireAfterSeconds" => {
            let can = existing.contains_key("timeseries") || existing.contains_key("clusteredIndex");
            let differs = number(is) != number(Some(declared));
            differs.then(|| one(of(declared.clone()).filter(|_| can)))
        }
        "timeseries" => {
            let (Some(Bson::Document(is)), Bson::Document(declared)) = (is, declared) else {
                return Some(one(None));
            };
            let field = |series: &Document, name: &str| series.get_str(name).ok().map(str::to_owned);
            let same = |name: &str| field(is, name) == field(declared, name);
            let grain =
                |series: &Document| field(series, "granularity").unwrap_or_else(|| "seconds".to_owned());
            match (same("timeField") && same("metaField"), grain(is), grain(declared)) {
                (true, was, wanted) if was == wanted => None,
                (true, was, wanted) => {
                    let rank = |grain: &str| GRANULARITIES.iter().position(|known| *known == grain);
                    let coarser = rank(&was) < rank(&wanted);
                    let change = doc! { "timeseries": { "granularity": wanted } };
                    Some(one(coarser.then_some(change)))
                }
                (false, ..) => Some(one(None)),
            }
        }
        "viewOn" | "pipeline" => {
            let view = ["viewOn", "pipeline"].map(|name| (name.to_owned(), all.get(name).cloned()));
            let view: Document = view
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
                .collect();
            let is_view = existing.contains_key("viewOn");
            let same = is.is_some_and(|is| is_same_in_order(is, declared));
            (!same).then(|| one(Some(view).filter(|_| is_view)))
        }
        "validationLevel" | "validationAction" => {
            let usual = if name == "validationLevel" {
                "strict"
            } else {
                "error"
            };
            let said = is.and_then(Bson::as_str).unwrap_or(usual);
            (declared.as_str() != Some(said)).then(|| one(of(declared.clone())))
        }
        "changeStreamPreAndPostImages" => {
            let enabled = |images: Option<&Bson>| {
                let images = images.and_then(Bson::as_document);
                images.is_some_and(|images| images.get("enabled").is_some_and(is_true))
            };
            (enabled(is) != enabled(Some(declared))).then(|| one(of(declared.clone())))
        }
        "clusteredIndex" => (!matches!(is, Some(Bson::Document(_)))).then(|| one(None)),
        "collation" => {
            let same = same_collation(is, Some(declared));
            (!same).then(|| one(None))
        }
        _ => (!is.is_some_and(|is| holds(declared, is))).then(|| one(None)),
    }
}

fn line(name: &str, is: Option<&Bson>, declared: &Bson) -> String {
    match is {
        Some(is) => format!("options.{name}: is {is} in the database, declared is {declared}"),
        None => format!("options.{name}: is not there in the database, declared is {declared}"),
    }
}

/// Whether two values are the same, documents in the order of their fields: a stage that sorts means it.
fn is_same_in_order(is: &Bson, declared: &Bson) -> bool {
    match (is, declared) {
        (Bson::Document(is), Bson::Document(declared)) => {
            let same = |((one, is), (other, declared)): ((&String, &Bson), (&String, &Bson))| {
                one == other && is_same_in_order(is, declared)
            };
            is.len() == declared.len() && is.iter().zip(declared).all(same)
        }
        (Bson::Array(is), Bson::Array(declared)) => {
            let mut both = is.iter().zip(declared);
            is.len() == declared.len() && both.all(|(is, declared)| is_same_in_order(is, declared))
        }
        (is, declared) => is == declared,
    }
}

/// Whether all that is declared is there: a server fills in what is not said.
fn holds(declared: &Bson, is: &Bson) -> bool {
    match (declared, is) {
        (Bson::Document(declared), Bson::Document(is)) => declared
            .iter()
            .all(|(name, value)| is.get(name).is_some_and(|is| holds(value, is))),
        (declared, is) => match (number(Some(declared)), number(Some(is))) {
            (Some(declared), Some(is)) => declared == is,
            _ => declared == is,
        },
    }
}

/// Whether a capped collection has this many bytes: a server rounds them up, and has a least.
fn same_size(is: Option<&Bson>, declared: &Bson) -> bool {
    let (Some(is), Some(declared)) = (number(is), number(Some(declared))) else {
        return false;
    };
    let rounded = (declared / 256.0).ceil() * 256.0;
    is == declared || is == rounded || (is == 4096.0 && declared <= 4096.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of what differs; `!` behind those that cannot be changed in place.
    fn check(declared: Document, existing: Document, expected: &[&str]) {
        let found = declared
            .iter()
            .filter_map(|(name, value)| drift(name, value, &declared, &existing))
            .map(|drift| match drift.change {
                Some(_) => drift.name,
                None => format!("{}!", drift.name),
            });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{declared} {existing}");
    }

    #[test]
    fn what_a_server_fills_in_is_no_difference() {
        check(
            doc! {"capped": true, "size": 1000_i64},
            doc! {"capped": true, "size": 1024},
            &[],
        );
        check(
            doc! {"timeseries": {"timeField": "at"}, "expireAfterSeconds": 60_i64},
            doc! {"timeseries": {"timeField": "at", "granularity": "seconds", "bucketMaxSpanSeconds": 3600}, "expireAfterSeconds": 60},
            &[],
        );
        check(
            doc! {"collation": {"locale": "en", "strength": 2}, "validationLevel": "strict", "comment": "x"},
            doc! {"collation": {"locale": "en", "strength": 2_i64, "caseLevel": false}},
            &[],
        );
        check(doc! {"collation": {"locale": "simple"}}, doc! {}, &[]);
    }

    #[test]
    fn what_can_be_changed_in_place_is_told_from_the_rest() {
        check(
            doc! {"capped": true, "size": 1000_i64, "max": 5},
            doc! {},
            &["capped!"],
        );
        check(
            doc! {"capped": true, "size": 1000_i64, "max": 5},
            doc! {"capped": true, "size": 8192, "max": 6},
            &["size", "max"],
        );
        let series = |name: &str, grain: &str| doc! {"timeField": name, "granularity": grain};
        let of = |name: &str, grain: &str| doc! {"timeseries": series(name, grain), "expireAfterSeconds": 9};
        check(of("at", "hours"), of("at", "seconds"), &["timeseries"]);
        check(of("at", "seconds"), of("at", "hours"), &["timeseries!"]);
        check(of("at", "hours"), of("when", "hours"), &["timeseries!"]);
        check(
            of("at", "hours"),
            doc! {},
            &["timeseries!", "expireAfterSeconds!"],
        );
        check(
            doc! {"expireAfterSeconds": 8, "changeStreamPreAndPostImages": {"enabled": true}},
            doc! {"clusteredIndex": {"v": 2}, "expireAfterSeconds": 9},
            &["expireAfterSeconds", "changeStreamPreAndPostImages"],
        );
        check(
            doc! {"collation": {"locale": "fr"}},
            doc! {"collation": {"locale": "en"}},
            &["collation!"],
        );
        check(
            doc! {"viewOn": "a", "pipeline": []},
            doc! {"viewOn": "b", "pipeline": []},
            &["viewOn"],
        );
        let by = |sort: Document| doc! {"viewOn": "a", "pipeline": [{"$sort": sort}]};
        check(
            by(doc! {"a": 1, "b": 1}),
            by(doc! {"b": 1, "a": 1}),
            &["pipeline"],
        );
        check(by(doc! {"a": 1, "b": 1}), by(doc! {"a": 1, "b": 1}), &[]);
        check(
            doc! {"collation": {"locale": "en"}},
            doc! {"collation": {"locale": "en", "strength": 2}},
            &["collation!"],
        );
        check(doc! {"viewOn": "a"}, doc! {}, &["viewOn!"]);
    }
}
