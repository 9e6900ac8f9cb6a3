//! Indexes as they are, and how they differ from what a model declares.

use std::fmt;

use bson::{Bson, Document, RawDocument};

use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{ModelDescriptor, is_true, number, same_collation, same_value};

/// An index, as the database lists it or as it would once it is built.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// The name.
    pub name: String,
    /// The key pattern: `{title: 1, year: -1}`.
    pub keys: Document,
    /// Whether no two documents may have the same key.
    pub unique: bool,
    /// Everything, in the words of MongoDB's `listIndexes`.
    pub spec: Document,
}

/// How the indexes of a collection differ from what its model declares. Keys and options count; names do where an index
/// has the one that another is to have.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct IndexDrift {
    /// Declared, but not there.
    pub missing: Vec<IndexInfo>,
    /// There with the same keys or name, but not as declared.
    pub changed: Vec<IndexChange>,
    /// There, but not declared. The index of `_id` never counts.
    pub unknown: Vec<IndexInfo>,
}

/// An index that is not as declared.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexChange {
    /// As the model declares it.
    pub declared: IndexInfo,
    /// As it is.
    pub existing: IndexInfo,
    /// What differs: `key`, `unique`, `expireAfterSeconds`, ..; `name` alone where another declared index needs the name
    /// of this one.
    pub differences: Vec<String>,
}

/// What a spec may say without making another index.
const NEUTRAL: [&str; 10] = [
    "v",
    "ns",
    "key",
    "name",
    "background",
    "textIndexVersion",
    "2dsphereIndexVersion",
    "weights",
    "default_language",
    "language_override",
];

impl IndexInfo {
    pub(crate) fn read(spec: &RawDocument) -> Result<IndexInfo> {
        let spec = codec::decode_untyped(spec)?;
        let malformed = || Error::new(ErrorKind::Decode, "the description of an index is malformed");
        let name = spec.get_str("name").map_err(|_| malformed())?.to_owned();
        let keys = spec
            .get_document("key")
            .map_err(|_| malformed().with_index(name.as_str()))?
            .clone();
        let unique = spec.get("unique").is_some_and(is_true);
        Ok(IndexInfo {
            name,
            keys,
            unique,
            spec,
        })
    }

    fn is_id(&self) -> bool {
        self.keys.len() == 1 && self.keys.contains_key("_id") && number(self.keys.get("_id")) == Some(1.0)
    }

    /// Whether it searches texts: a collection has one such at most.
    pub(crate) fn is_text(&self) -> bool {
        !self.shape().1.is_empty()
    }

    /// What the index is over: fields in order, and the set of text fields.
    fn shape(&self) -> (Vec<(String, String)>, Vec<String>) {
        let mut fields = Vec::new();
        let mut texts = Vec::new();
        for (field, order) in &self.keys {
            match order {
                // A stored text index names its fields in `weights`.
                Bson::String(kind) if kind == "text" && field == "_fts" => {
                    if let Ok(weights) = self.spec.get_document("weights") {
                        texts.extend(weights.keys().cloned());
                    }
                }
                Bson::String(kind) if kind == "text" => texts.push(field.clone()),
                _ if field == "_ftsx" => {}
                Bson::String(kind) => fields.push((field.clone(), kind.clone())),
                order => {
                    let ascending = number(Some(order)).is_none_or(|order| order >= 0.0);
                    fields.push((field.clone(), if ascending { "1" } else { "-1" }.to_owned()));
                }
            }
        }
        texts.sort();
        texts.dedup();
        (fields, texts)
    }

    /// What a text index says of its fields: how much each counts, the language, and what names it.
    fn wording(&self) -> (Vec<(String, u64)>, &str, &str) {
        let weights = self.spec.get_document("weights").ok();
        let (_, texts) = self.shape();
        let weights = texts.into_iter().map(|field| {
            let weight = weights.and_then(|weights| number(weights.get(&field)));
            let weight = weight.unwrap_or(1.0) as u64;
            (field, weight)
        });
        let text = |option, default| self.spec.get_str(option).unwrap_or(default);
        (
            weights.collect(),
            text("default_language", "english"),
            text("language_override", "language"),
        )
    }

    fn differences(&self, existing: &IndexInfo) -> Vec<String> {
        let mut differences = Vec::new();
        if self.shape() != existing.shape() {
            differences.push("key".to_owned());
        }
        let options = self.spec.keys().chain(existing.spec.keys());
        if self.is_text() && existing.is_text() {
            let (weights, language, language_field) = self.wording();
            let (their_weights, their_language, their_field) = existing.wording();
            let mut differ =
                |option: &str, differs: bool| differences.extend(differs.then(|| option.to_owned()));
            // Other fields have other weights.
            differ(
                "weights",
                self.shape() == existing.shape() && weights != their_weights,
            );
            differ("default_language", language != their_language);
            differ("language_override", language_field != their_field);
        }
        for option in options.filter(|option| !NEUTRAL.contains(&option.as_str())) {
            let (own, theirs) = (self.spec.get(option), existing.spec.get(option));
            let same = match option.as_str() {
                "collation" => same_collation(own, theirs),
                _ => same_option(own, theirs),
            };
            if !same && !differences.contains(option) {
                differences.push(option.clone());
            }
        }
        differences
    }
}

impl IndexDrift {
    /// Whether the indexes are as declared.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.changed.is_empty() && self.unknown.is_empty()
    }

    pub(crate) fn between(declared: Vec<IndexInfo>, existing: Vec<IndexInfo>, kinds: Kinds) -> IndexDrift {
        let mut drift = IndexDrift::default();
        // What an index does not say is as the collection has it, and so has `_id`'s.
        let inherited = existing
            .iter()
            .find(|index| index.is_id())
            .and_then(|index| index.spec.get("collation").cloned());
        let declared = declared.into_iter().map(|mut index| {
            if let (None, Some(own)) = (index.spec.get("collation"), &inherited) {
                index.spec.insert("collation", own.clone());
            }
            index
        });
        let mut rest: Vec<IndexInfo> = existing.into_iter().filter(|index| !index.is_id()).collect();
        let mut open: Vec<IndexInfo> = declared.filter(|index| !index.is_id()).collect();
        // Exact matches first: two declared indexes may share their keys and differ in a partial filter.
        let same = |index: &IndexInfo, existing: &IndexInfo| index.differences(existing).is_empty();
        let named = |index: &IndexInfo, existing: &IndexInfo| existing.name == index.name;
        let mut kept = pairs(&mut open, &mut rest, |index, existing| {
            named(index, existing) && same(index, existing)
        });
        kept.extend(pairs(&mut open, &mut rest, same));
        let mut changed = pairs(&mut open, &mut rest, named);
        changed.extend(pairs(&mut open, &mut rest, |index, existing| {
            existing.shape() == index.shape() && kinds.could_be(index, existing)
        }));
        // A collection has one text index at most.
        changed.extend(pairs(&mut open, &mut rest, |index, existing| {
            index.is_text() && existing.is_text() && kinds.could_be(index, existing)
        }));
        drift.changed = changed
            .into_iter()
            .map(|(declared, existing)| IndexChange {
                differences: declared.differences(&existing),
                declared,
                existing,
            })
            .collect();
        drift.missing = open;
        // A name does not count, unless another index is to have it.
        while let Some(position) = kept
            .iter()
            .position(|(index, existing)| index.name != existing.name && drift.wants(&existing.name))
        {
            let (declared, existing) = kept.remove(position);
            drift.changed.push(IndexChange {
                declared,
                existing,
                differences: vec!["name".to_owned()],
            });
        }
        drift.unknown = rest;
        drift
    }

    /// Whether an index that is to be built is declared by this name.
    fn wants(&self, name: &str) -> bool {
        let changed = self.changed.iter().map(|change| &change.declared);
        self.missing
            .iter()
            .chain(changed)
            .any(|declared| declared.name == name)
    }
}

/// Takes out of both lists what fits together.
fn pairs(
    open: &mut Vec<IndexInfo>,
    rest: &mut Vec<IndexInfo>,
    fits: impl Fn(&IndexInfo, &IndexInfo) -> bool,
) -> Vec<(IndexInfo, IndexInfo)> {
    let mut found = Vec::new();
    for index in std::mem::take(open) {
        match rest.iter().position(|existing| fits(&index, existing)) {
            Some(position) => found.push((index, rest.remove(position))),
            None => open.push(index),
        }
    }
    found
}

/// Which of a collection's documents a model holds, when it shares the collection with others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kinds {
    /// The field that tells the kinds apart; empty where there are none.
    tag: &'static str,
    /// The model's own kind; none for an enum of them.
    own: Option<&'static str>,
}

impl Kinds {
    pub(crate) fn of(model: &ModelDescriptor) -> Kinds {
        Kinds {
            tag: model.kind.map_or(model.tag, |kind| kind.tag),
            own: model.kind.map(|kind| kind.name),
        }
    }

    /// Whether one kind is known, and not the others.
    pub(crate) fn is_one(self) -> bool {
        self.own.is_some()
    }

    /// Whether an index over the same fields could be the declared one as it was once. That of another kind is not, nor is
    /// one of all kinds that does no harm to the others.
    fn could_be(self, declared: &IndexInfo, existing: &IndexInfo) -> bool {
        if self.tag.is_empty() {
            return true;
        }
        match (self.kind_of(declared), self.kind_of(existing)) {
            (Some(one), Some(other)) => one == other,
            (None, Some(other)) => self.own.is_none_or(|own| own == other),
            (Some(_), None) => existing.unique || existing.spec.contains_key("expireAfterSeconds"),
            (None, None) => true,
        }
    }

    /// The kind whose documents alone the index holds.
    fn kind_of(self, index: &IndexInfo) -> Option<&str> {
        let filter = index.spec.get_document("partialFilterExpression").ok()?;
        filter.get_str(self.tag).ok()
    }
}

impl fmt::Display for IndexDrift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("the indexes are as declared");
        }
        let missing = self
            .missing
            .iter()
            .map(|index| format!("missing: {} {}", index.name, index.keys));
        let changed = self.changed.iter().map(|change| {
            format!(
                "changed: {} differs in {}",
                change.existing.name,
                change.differences.join(", ")
            )
        });
        let unknown = self
            .unknown
            .iter()
            .map(|index| format!("unknown: {} {}", index.name, index.keys));
        f.write_str(
            &missing
                .chain(changed)
                .chain(unknown)
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }
}

/// Whether an option says the same; an absent flag is `false`, and numbers are equal by value.
fn same_option(left: Option<&Bson>, right: Option<&Bson>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(one), None) | (None, Some(one)) => matches!(one, Bson::Boolean(false)),
        (Some(left), Some(right)) => same_value(left, right),
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, doc};

    use super::*;

    fn index(spec: Document) -> IndexInfo {
        IndexInfo::read(&RawDocumentBuf::try_from(&spec).unwrap()).unwrap()
    }

    fn check(declared: Vec<Document>, existing: Vec<Document>) -> IndexDrift {
        let read = |specs: Vec<Document>| specs.into_iter().map(index).collect();
        IndexDrift::between(read(declared), read(existing), Kinds::default())
    }

    #[test]
    fn indexes_of_other_kinds_are_others() {
        let (tag, own) = ("kind", Some("cat"));
        let of = |kind: &str| doc! {"key": {"a": 1}, "name": format!("a_1_{kind}"), "unique": true, "partialFilterExpression": {"kind": kind}};
        let all = doc! {"key": {"a": 1}, "name": "a_1"};
        let unique = doc! {"key": {"a": 1}, "name": "a_1", "unique": true};
        let counts = |declared: &Document, existing: &Document| {
            let drift = IndexDrift::between(
                vec![index(declared.clone())],
                vec![index(existing.clone())],
                Kinds { tag, own },
            );
            (drift.missing.len(), drift.changed.len(), drift.unknown.len())
        };
        assert_eq!(counts(&of("cat"), &of("cat")), (0, 0, 0));
        assert_eq!(counts(&of("cat"), &of("dog")), (1, 0, 1));
        assert_eq!(counts(&all, &of("dog")), (1, 0, 1));
        assert_eq!(counts(&all, &of("cat")), (0, 1, 0));
        assert_eq!(counts(&of("cat"), &all), (1, 0, 1), "it harms nobody");
        assert_eq!(counts(&of("cat"), &unique), (0, 1, 0), "it refuses dogs");
    }

    #[test]
    fn what_the_server_adds_is_no_difference() {
        let drift = check(
            vec![
                doc! {"key": {"title": 1}, "name": "title_1", "expireAfterSeconds": 60_i64},
                doc! {"key": {"a": "text", "b": "text", "c": 1}, "name": "a_text_b_text_c_1"},
                doc! {"key": {"d": 1}, "name": "d_1", "collation": {"locale": "en"}},
            ],
            vec![
                doc! {"v": 2, "key": {"_id": 1}, "name": "_id_"},
                doc! {"v": 2, "key": {"title": 1.0}, "name": "other", "expireAfterSeconds": 60, "sparse": false},
                doc! {"v": 2, "key": {"_fts": "text", "_ftsx": 1, "c": 1}, "name": "a_text_b_text_c_1",
                "weights": {"b": 1, "a": 1}, "default_language": "english", "textIndexVersion": 3},
                doc! {"v": 2, "key": {"d": 1}, "name": "d_1", "collation": {"locale": "en", "strength": 3}},
            ],
        );
        assert!(drift.is_empty(), "{drift}");
    }

    #[test]
    fn differences_are_sorted_into_their_kinds() {
        let drift = check(
            vec![
                doc! {"key": {"a": 1}, "name": "a_1", "unique": true},
                doc! {"key": {"b": 1, "c": -1}, "name": "b_1_c_-1"},
                doc! {"key": {"d": 1}, "name": "named"},
            ],
            vec![
                doc! {"key": {"a": 1}, "name": "a_1"},
                doc! {"key": {"c": -1, "b": 1}, "name": "c_-1_b_1"},
                doc! {"key": {"d": -1}, "name": "named"},
            ],
        );
        let names =
            |indexes: &[IndexInfo]| indexes.iter().map(|index| index.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&drift.missing), ["b_1_c_-1"]);
        assert_eq!(names(&drift.unknown), ["c_-1_b_1"]);
        let changed: Vec<_> = drift
            .changed
            .iter()
            .map(|change| change.differences.join(","))
            .collect();
        assert_eq!(changed, ["unique", "key"]);
    }

    #[test]
    fn a_name_counts_where_another_index_is_to_have_it() {
        let x = doc! {"key": {"title": 1}, "name": "x"};
        let y = doc! {"key": {"city": 1}, "name": "y"};
        let swapped = |index: &Document, name: &str| {
            let mut index = index.clone();
            index.insert("name", name);
            index
        };
        let drift = check(
            vec![swapped(&x, "y"), swapped(&y, "x")],
            vec![x.clone(), y.clone()],
        );
        assert!(drift.is_empty(), "{drift}");
        let mut unique = swapped(&x, "y");
        unique.insert("unique", true);
        let drift = check(vec![unique, swapped(&y, "x")], vec![x, y]);
        let changed = |change: &IndexChange| (change.existing.name.clone(), change.differences.join(","));
        let changed: Vec<_> = drift.changed.iter().map(changed).collect();
        let expected =
            [("x", "unique"), ("y", "name")].map(|(name, what)| (name.to_owned(), what.to_owned()));
        assert_eq!(changed, expected);
    }

    #[test]
    fn equal_keys_with_other_filters_are_matched_exactly_first() {
        let filter =
            |n: i32| doc! {"key": {"a": 1}, "name": format!("a{n}"), "partialFilterExpression": {"n": n}};
        let drift = check(vec![filter(1), filter(2)], vec![filter(2), filter(1)]);
        assert!(drift.is_empty(), "{drift}");
    }
}
