//! What the values at one place of a collection's documents are: counted, and merged document by document.

use std::collections::{BTreeMap, BTreeSet};

use bson::spec::{BinarySubtype, ElementType};
use bson::{Bson, RawArray, RawBsonRef, RawDocument};

use super::recursion;

/// How many different texts are kept before there are too many to be a set.
const MOST_TEXTS: usize = 16;
/// How many bytes a text may have to be kept.
const LONGEST_TEXT: usize = 64;
/// How many different values are kept to be looked up in other collections.
const MOST_KEYS: usize = 24;
/// How many names documents have before all are taken for data, whatever is asked.
const MOST_NAMES: usize = 2_000;
/// The integers of which each is a double.
const EXACT: i64 = 1 << 53;

/// The values at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    /// How many there are, nulls included.
    pub(crate) seen: u64,
    /// How many of each type.
    pub(crate) types: BTreeMap<u8, u64>,
    /// The types that a validator or an index says they have, beside those that were seen.
    pub(crate) declared: BTreeSet<u8>,
    /// Whether a validator says that the field is always there.
    pub(crate) is_required: bool,
    /// Whether an integer is none of the doubles.
    pub(crate) has_wide_integers: bool,
    /// Whether something in them is named like an operator, or named twice: values that only bytes hold.
    pub(crate) needs_bytes: bool,
    /// How many are UUIDs.
    pub(crate) uuids: u64,
    /// The documents among them.
    pub(crate) documents: Option<Box<DocumentShape>>,
    /// The arrays among them.
    pub(crate) arrays: Option<Box<ArrayShape>>,
    /// The different texts, as long as they are few.
    pub(crate) texts: Texts,
    /// Some of the values that could be an `_id` elsewhere.
    pub(crate) keys: Vec<Bson>,
    /// The collection whose documents they refer to, once that was looked up.
    pub(crate) target: Option<String>,
}

/// A small set of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Texts {
    few: BTreeSet<String>,
    are_many: bool,
}

/// Documents at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DocumentShape {
    /// How many there are.
    pub(crate) count: u64,
    /// How many fields they have together.
    pub(crate) named: u64,
    /// The fields, in an order that agrees with most documents.
    pub(crate) fields: Vec<(String, Shape)>,
    /// The place of each field.
    places: BTreeMap<String, usize>,
    /// What the fields hold, where their names are so many that they are data.
    pub(crate) values: Option<Box<Shape>>,
    /// Whether some have other fields than others, or have them in another order.
    pub(crate) differ: bool,
    /// Whether one has a name twice.
    pub(crate) repeats: bool,
    /// Whether they are of the same shape as the documents that they are nested in.
    pub(crate) is_outer: bool,
}

/// Arrays at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ArrayShape {
    /// How many there are.
    pub(crate) count: u64,
    /// The least number of elements.
    pub(crate) least: u64,
    /// The greatest number of elements.
    pub(crate) most: u64,
    /// The elements.
    pub(crate) items: Shape,
}

impl Shape {
    /// Counts one more value.
    pub(crate) fn add(&mut self, value: RawBsonRef<'_>) {
        self.seen += 1;
        *self.types.entry(value.element_type() as u8).or_default() += 1;
        match value {
            RawBsonRef::Document(document) => {
                let documents = self.documents.get_or_insert_default();
                documents.add(document);
                self.needs_bytes |= documents.needs_bytes(document);
            }
            RawBsonRef::Array(array) => self.add_array(array),
            RawBsonRef::String(text) => {
                self.texts.add(text);
                self.keep(value);
            }
            RawBsonRef::Int32(_) | RawBsonRef::ObjectId(_) => self.keep(value),
            RawBsonRef::Int64(number) => {
                self.has_wide_integers |= !(-EXACT..=EXACT).contains(&number);
                self.keep(value);
            }
            RawBsonRef::Binary(binary)
                if binary.subtype == BinarySubtype::Uuid && binary.bytes.len() == 16 =>
            {
                self.uuids += 1;
                self.keep(value);
            }
            _ => {}
        }
    }

    fn add_array(&mut self, array: &RawArray) {
        let arrays = self.arrays.get_or_insert_default();
        let mut length = 0;
        for item in array.into_iter().flatten() {
            arrays.items.add(item);
            length += 1;
        }
        arrays.least = if arrays.count == 0 {
            length
        } else {
            arrays.least.min(length)
        };
        arrays.most = arrays.most.max(length);
        arrays.count += 1;
        self.needs_bytes |= arrays.items.needs_bytes;
    }

    /// Keeps a value to be looked up, if there are few yet.
    fn keep(&mut self, value: RawBsonRef<'_>) {
        let is_short = !matches!(value, RawBsonRef::String(text) if text.len() > LONGEST_TEXT);
        if self.keys.len() < MOST_KEYS
            && is_short
            && let Ok(value) = Bson::try_from(value)
            && !self.keys.contains(&value)
        {
            self.keys.push(value);
        }
    }

    /// Counts what another one has counted.
    pub(crate) fn merge(&mut self, other: Shape) {
        self.seen += other.seen;
        for (kind, count) in other.types {
            *self.types.entry(kind).or_default() += count;
        }
        self.declared.extend(other.declared);
        self.is_required |= other.is_required;
        self.has_wide_integers |= other.has_wide_integers;
        self.needs_bytes |= other.needs_bytes;
        self.uuids += other.uuids;
        match (&mut self.documents, other.documents) {
            (Some(own), Some(others)) => own.merge(*others),
            (own @ None, others) => *own = others,
            _ => {}
        }
        match (&mut self.arrays, other.arrays) {
            (Some(own), Some(others)) => own.merge(*others),
            (own @ None, others) => *own = others,
            _ => {}
        }
        self.texts.merge(other.texts);
        for key in other.keys {
            if self.keys.len() < MOST_KEYS && !self.keys.contains(&key) {
                self.keys.push(key);
            }
        }
        if self.target != other.target {
            self.target = None;
        }
    }

    /// How many values are of this type.
    pub(crate) fn of(&self, kind: ElementType) -> u64 {
        self.types.get(&(kind as u8)).copied().unwrap_or_default()
    }

    pub(crate) fn nulls(&self) -> u64 {
        self.of(ElementType::Null)
    }

    /// The types but null: those that were seen, and those that are declared.
    pub(crate) fn kinds(&self) -> BTreeSet<u8> {
        let mut kinds: BTreeSet<u8> = self.types.keys().copied().collect();
        kinds.extend(&self.declared);
        kinds.remove(&(ElementType::Null as u8));
        kinds
    }

    /// Whether all values but nulls are of this type.
    pub(crate) fn is_only(&self, kind: ElementType) -> bool {
        let kinds = self.kinds();
        kinds.len() == 1 && kinds.contains(&(kind as u8))
    }

    /// Whether null may be there.
    pub(crate) fn is_nullable(&self) -> bool {
        self.nulls() > 0 || self.declared.contains(&(ElementType::Null as u8))
    }

    /// The documents, where there is nothing else, or nothing yet.
    pub(crate) fn documents_alone(&mut self) -> Option<&mut DocumentShape> {
        let kinds = self.kinds();
        match kinds
            .iter()
            .all(|kind| *kind == ElementType::EmbeddedDocument as u8)
        {
            true => {
                self.declared.insert(ElementType::EmbeddedDocument as u8);
                Some(self.documents.get_or_insert_default())
            }
            false => None,
        }
    }
}

impl Texts {
    fn add(&mut self, text: &str) {
        if self.are_many || self.few.contains(text) {
            return;
        }
        if self.few.len() >= MOST_TEXTS || text.len() > LONGEST_TEXT {
            self.are_many = true;
            self.few.clear();
        } else {
            self.few.insert(text.to_owned());
        }
    }

    fn merge(&mut self, other: Texts) {
        if other.are_many {
            self.are_many = true;
            self.few.clear();
        }
        for text in other.few {
            self.add(&text);
        }
    }

    /// The texts, if they are few.
    pub(crate) fn few(&self) -> Option<&BTreeSet<String>> {
        (!self.are_many && !self.few.is_empty()).then_some(&self.few)
    }
}

impl DocumentShape {
    /// So many documents of the shape of those around them.
    pub(crate) fn as_outer(count: u64) -> DocumentShape {
        DocumentShape {
            count,
            is_outer: true,
            ..DocumentShape::default()
        }
    }

    /// Counts one more document.
    pub(crate) fn add(&mut self, document: &RawDocument) {
        self.count += 1;
        let mut names = BTreeSet::new();
        if let Some(values) = &mut self.values {
            for (name, value) in document.iter().flatten() {
                self.repeats |= !names.insert(name.as_str());
                self.named += 1;
                values.add(value);
            }
            return;
        }
        let known = self.fields.len();
        let (mut after, mut count) = (0, 0);
        for (name, value) in document.iter().flatten() {
            let name = name.as_str();
            let place = match self.places.get(name) {
                Some(place) => *place,
                None => self.insert(after, name),
            };
            self.differ |= place != count;
            after = place + 1;
            count += 1;
            self.fields[place].1.add(value);
            self.repeats |= !names.insert(name);
        }
        self.named += count as u64;
        self.differ |= count != self.fields.len() || (self.count > 1 && known != self.fields.len());
        if self.fields.len() > MOST_NAMES {
            self.values = Some(Box::new(self.united()));
        }
    }

    /// Puts a new field where the document has it: behind the one before it.
    fn insert(&mut self, place: usize, name: &str) -> usize {
        let place = place.min(self.fields.len());
        self.fields.insert(place, (name.to_owned(), Shape::default()));
        for other in self.places.values_mut().filter(|other| **other >= place) {
            *other += 1;
        }
        self.places.insert(name.to_owned(), place);
        place
    }

    /// Whether a document needs its bytes: by a name of its own, by one that it has twice, or by what is nested in it.
    fn needs_bytes(&self, document: &RawDocument) -> bool {
        let mut names = BTreeSet::new();
        document.iter().flatten().any(|(name, _)| {
            let name = name.as_str();
            let nested = |shape: &Shape| shape.needs_bytes;
            name.starts_with('$')
                || !names.insert(name)
                || match &self.values {
                    Some(values) => nested(values),
                    None => self.field(name).is_some_and(nested),
                }
        })
    }

    /// The field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<&Shape> {
        let place = self.places.get(name)?;
        self.fields.get(*place).map(|(_, shape)| shape)
    }

    /// The field of this name, which is made if it is not there; none where names are data.
    pub(crate) fn field_or_new(&mut self, name: &str) -> Option<&mut Shape> {
        if self.values.is_some() {
            return None;
        }
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                self.differ = true;
                self.insert(self.fields.len(), name)
            }
        };
        self.fields.get_mut(place).map(|(_, shape)| shape)
    }

    /// All values as one shape.
    pub(crate) fn united(&self) -> Shape {
        let mut all = Shape::default();
        for (_, shape) in &self.fields {
            all.merge(shape.clone());
        }
        if let Some(values) = &self.values {
            all.merge((**values).clone());
        }
        all
    }

    /// Counts what another one has counted. What goes on as more of the same in one of them does in both.
    pub(crate) fn merge(&mut self, mut other: DocumentShape) {
        let is_same = self.fields.len() == other.fields.len()
            && self
                .fields
                .iter()
                .zip(&other.fields)
                .all(|(own, other)| own.0 == other.0);
        self.differ |= other.differ || (self.count > 0 && other.count > 0 && !is_same);
        self.count += other.count;
        self.named += other.named;
        self.repeats |= other.repeats;
        self.is_outer |= other.is_outer;
        if self.values.is_some() || other.values.is_some() {
            let mut values = self.united();
            values.merge(other.united());
            self.values = Some(Box::new(values));
            return;
        }
        let more = recursion::align(self, &mut other);
        let mut after = 0;
        for (name, shape) in other.fields {
            let place = match self.places.get(&name) {
                Some(place) => *place,
                None => self.insert(after, &name),
            };
            after = place + 1;
            self.fields[place].1.merge(shape);
        }
        for inner in more {
            self.merge(inner);
        }
    }
}

impl ArrayShape {
    fn merge(&mut self, other: ArrayShape) {
        self.least = match (self.count, other.count) {
            (0, _) => other.least,
            (_, 0) => self.least,
            _ => self.least.min(other.least),
        };
        self.most = self.most.max(other.most);
        self.count += other.count;
        self.items.merge(other.items);
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, doc, rawdoc};

    use super::*;

    fn shape(documents: &[RawDocumentBuf]) -> DocumentShape {
        let mut shape = DocumentShape::default();
        for document in documents {
            shape.add(document);
        }
        shape
    }

    fn names(shape: &DocumentShape) -> Vec<&str> {
        shape.fields.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_new_field_stands_behind_the_one_before_it() {
        let found = shape(&[
            rawdoc! {"a": 1, "c": 1},
            rawdoc! {"a": 1, "b": 1, "c": 1},
            rawdoc! {"z": 1, "a": 2},
        ]);
        assert_eq!(names(&found), ["z", "a", "b", "c"]);
        assert!(found.differ);
        assert!(!shape(&[rawdoc! {"a": 1, "b": 1}, rawdoc! {"a": 1, "b": "x"}]).differ);
        assert!(shape(&[rawdoc! {"a": 1, "b": 1}, rawdoc! {"b": 1, "a": 1}]).differ);
        assert!(shape(&[rawdoc! {"a": 1}, rawdoc! {"a": 1, "b": 1}]).differ);
        assert!(shape(&[rawdoc! {"a": 1, "b": 1}, rawdoc! {"a": 1}]).differ);
    }

    #[test]
    fn types_are_counted_with_nulls_and_lengths() {
        let found = shape(&[
            rawdoc! {"n": 1, "tags": ["a", "b"]},
            rawdoc! {"n": bson::RawBson::Null, "tags": []},
            rawdoc! {"n": 1_i64 << 60},
        ]);
        let n = found.field("n").unwrap();
        assert_eq!((n.seen, n.nulls(), n.kinds().len()), (3, 1, 2));
        assert!(n.has_wide_integers && n.is_nullable());
        let tags = found.field("tags").unwrap().arrays.as_ref().unwrap();
        assert_eq!((tags.count, tags.least, tags.most, tags.items.seen), (2, 0, 2, 2));
        assert_eq!(tags.items.texts.few().map(BTreeSet::len), Some(2));
    }

    #[test]
    fn many_texts_are_no_set() {
        let mut found = DocumentShape::default();
        for number in 0..100 {
            found.add(&rawdoc! {"t": format!("{number}")});
        }
        assert_eq!(found.field("t").unwrap().texts.few(), None);
        assert_eq!(found.field("t").unwrap().keys.len(), MOST_KEYS);
    }

    #[test]
    fn names_that_are_data_are_bounded() {
        let mut found = DocumentShape::default();
        for number in 0..MOST_NAMES as i32 + 10 {
            found.add(&RawDocumentBuf::try_from(&doc! {format!("k{number}"): number}).unwrap());
        }
        assert_eq!(found.values.as_ref().unwrap().seen, MOST_NAMES as u64 + 10);
        assert!(found.field_or_new("x").is_none());
    }

    #[test]
    fn what_only_bytes_hold_is_seen_from_outside() {
        let found = shape(&[rawdoc! {"a": {"b": [{"$date": 1}]}, "c": {"d": 1}}]);
        assert!(found.field("a").unwrap().needs_bytes);
        assert!(!found.field("c").unwrap().needs_bytes);
    }

    #[test]
    fn names_that_come_twice_are_noticed_in_any_document() {
        let twice = |name: &str| {
            let fields = [name, name].map(|name| (bson::raw::CString::try_from(name).unwrap(), 1_i32));
            RawDocumentBuf::from_iter(fields)
        };
        assert!(shape(&[rawdoc! {"a": 1}, twice("b")]).repeats);
        assert!(!shape(&[rawdoc! {"a": 1}, rawdoc! {"b": 1}]).repeats);
        let found = shape(&[rawdoc! {"a": {"c": 1}}, rawdoc! {"a": twice("b")}]);
        let a = found.field("a").unwrap();
        assert!(a.needs_bytes && a.documents.as_ref().unwrap().repeats && !found.repeats);

        let wide: bson::Document = (0..=MOST_NAMES).map(|n| (format!("k{n}"), 1.into())).collect();
        let mut found = shape(&[RawDocumentBuf::try_from(&wide).unwrap()]);
        assert!(found.values.is_some() && !found.repeats);
        found.add(&twice("k1"));
        assert!(found.repeats);
    }

    #[test]
    fn merging_is_counting_both() {
        let one = [rawdoc! {"a": 1, "x": {"y": [1, 2]}}, rawdoc! {"b": "t"}];
        let two = [rawdoc! {"a": 2.5, "x": {"y": [], "z": 1}}];
        let mut merged = shape(&one);
        merged.merge(shape(&two));
        let all = shape(&[one[0].clone(), one[1].clone(), two[0].clone()]);
        let kinds = |shape: &DocumentShape| shape.field("a").unwrap().types.clone();
        assert_eq!(kinds(&merged), kinds(&all));
        let inner = |shape: &DocumentShape| {
            let x = shape.field("x").unwrap().documents.clone().unwrap();
            let y = x.field("y").unwrap().arrays.clone().unwrap();
            (x.count, x.named, y.least, y.most, y.count)
        };
        assert_eq!(inner(&merged), inner(&all));
    }
}
