//! Plans against reading the whole collection, on random documents and filters.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::super::super::document::sample::Sample;
use super::*;
use crate::native::index::arrays::join;

struct Store {
    documents: Vec<Vec<u8>>,
    catalog: Catalog,
    /// Per index, stored keys (with the record id behind) to records.
    entries: Vec<BTreeMap<Vec<u8>, usize>>,
}

impl Store {
    fn new(sample: &mut Sample, indexes: &[(&str, &str)]) -> Store {
        let catalog = Catalog::new(
            &indexes
                .iter()
                .map(|(key, options)| (*key, *options, &[][..]))
                .collect::<Vec<_>>(),
        );
        let mut store = Store {
            documents: Vec::new(),
            entries: vec![BTreeMap::new(); catalog.0.len()],
            catalog,
        };
        // Some collections have no arrays, so that single-key plans are tried as well.
        let arrays = sample.pick(&[
            Within::Nothing,
            Within::Anything,
            Within::Documents,
            Within::Fields,
        ]);
        while store.documents.len() < 60 {
            let document = bytes(&random_document(sample, arrays));
            let found: Result<Vec<_>> = store
                .catalog
                .0
                .iter()
                .map(|(definition, _)| definition.keys(Doc::Raw(&document)))
                .collect();
            let Ok(found) = found else { continue };
            let record = store.documents.len();
            for (position, keys) in found.into_iter().enumerate() {
                join(&mut store.catalog.0[position].1, &keys.multikey);
                for mut key in keys.keys {
                    key.extend_from_slice(&(record as u64).to_be_bytes());
                    store.entries[position].insert(key, record);
                }
            }
            store.documents.push(document);
        }
        store
    }

    /// The records that the access gives, each its first time.
    fn select(&self, access: &Access) -> Vec<usize> {
        let mut found = Vec::new();
        self.visit(access, &mut found);
        let mut seen = BTreeSet::new();
        found.retain(|record| seen.insert(*record));
        found
    }

    /// The keys that a part of an index gives, with their records.
    fn scan(&self, access: &Access) -> Vec<(&Vec<u8>, usize)> {
        let Access::Index {
            index,
            ranges,
            reverse,
            tail,
            ..
        } = access
        else {
            panic!("{access:?} is no part of an index");
        };
        let mut part = Vec::new();
        for range in ranges {
            let range = (range.from.clone(), range.to.clone());
            let mut entries = self.entries[*index].range(range).collect::<Vec<_>>();
            entries.retain(|(key, _)| is_inside(tail.as_deref(), (key, &self.entries[*index]), *reverse));
            part.extend(entries.into_iter().map(|(key, record)| (key, *record)));
        }
        if *reverse {
            part.reverse();
        }
        part
    }

    fn visit(&self, access: &Access, found: &mut Vec<usize>) {
        match access {
            Access::Nothing => {}
            Access::Collection { reverse: false } => found.extend(0..self.documents.len()),
            Access::Collection { reverse: true } => found.extend((0..self.documents.len()).rev()),
            Access::Index { .. } => found.extend(self.scan(access).into_iter().map(|(_, record)| record)),
            Access::Union(parts) => parts.iter().for_each(|part| self.visit(&part.access, found)),
            Access::Merge(streams) => {
                let mut places = Vec::new();
                for stream in streams {
                    let before = places.len();
                    for (key, record) in self.scan(&stream.access) {
                        places.push((stream.place(key).unwrap(), record));
                    }
                    let own = places[before..].iter().map(|(place, _)| place);
                    assert!(own.is_sorted(), "a stream is out of order: {stream:?}");
                }
                places.sort_by(|a, b| a.0.cmp(&b.0));
                found.extend(places.into_iter().map(|(_, record)| record));
            }
        }
    }
}

fn random_scalar(sample: &mut Sample) -> Owned {
    match sample.below(16) {
        0 => Owned::Null,
        1 => Owned::Undefined,
        2 => Owned::Double(f64::NAN),
        3 => Owned::Bool(true),
        4 => Owned::DateTime(5),
        5 => text("ab"),
        6 => text("abc"),
        7 => text("b"),
        8 => Owned::regex("^ab", ""),
        9 => Owned::Double(2.0),
        10 => Owned::Double(1.5),
        11 => sample.pick(&[Owned::MinKey, Owned::MaxKey, Owned::Document(vec![])]),
        _ => int(sample.below(5) as i32),
    }
}

fn random_value(sample: &mut Sample, depth: usize, arrays: bool) -> Owned {
    match sample.below(8) {
        0 | 1 if depth > 0 && arrays => {
            let length = sample.below(4);
            Owned::Array(
                (0..length)
                    .map(|_| random_value(sample, depth - 1, arrays))
                    .collect(),
            )
        }
        2 | 3 if depth > 0 => {
            let mut fields = Vec::new();
            for name in ["b", "c", "0"] {
                if sample.below(if name == "0" { 8 } else { 2 }) == 0 {
                    fields.push((name.to_owned(), random_value(sample, depth - 1, arrays)));
                }
            }
            Owned::Document(fields)
        }
        _ => random_scalar(sample),
    }
}

/// Where documents have arrays.
#[derive(Clone, Copy, Debug)]
enum Within {
    Nothing,
    Anything,
    /// As the values of the documents' own fields, with none in them.
    Fields,
    /// In the documents that are the values of fields alone.
    Documents,
}

fn random_document(sample: &mut Sample, arrays: Within) -> Owned {
    let mut fields = Vec::new();
    for name in ["a", "b", "c"] {
        if sample.below(5) > 0 {
            fields.push((name.to_owned(), random_field(sample, arrays)));
        }
    }
    Owned::Document(fields)
}

fn random_field(sample: &mut Sample, arrays: Within) -> Owned {
    match arrays {
        Within::Nothing => random_value(sample, 3, false),
        Within::Anything => random_value(sample, 3, true),
        Within::Fields if sample.below(2) == 0 => {
            let items = (0..sample.below(4)).map(|_| random_value(sample, 2, false));
            Owned::Array(items.collect())
        }
        Within::Fields => random_value(sample, 2, false),
        Within::Documents if sample.below(3) > 0 => {
            let mut fields = Vec::new();
            for name in ["b", "c"] {
                if sample.below(4) > 0 {
                    let has_array = name == "b" || sample.below(2) == 0;
                    fields.push((name.to_owned(), random_value(sample, 2, has_array)));
                }
            }
            Owned::Document(fields)
        }
        Within::Documents => random_value(sample, 2, false),
    }
}

/// A value that a filter may hold literally.
fn random_operand(sample: &mut Sample) -> Owned {
    loop {
        let value = match sample.below(5) {
            0 => random_value(sample, 2, true),
            _ => random_scalar(sample),
        };
        if !matches!(value, Owned::Undefined | Owned::Regex(_)) {
            return value;
        }
    }
}

fn random_condition(sample: &mut Sample, depth: usize) -> Vec<(String, Owned)> {
    let condition = |operator: &str, value: Owned| vec![(operator.to_owned(), value)];
    match sample.below(if depth > 0 { 20 } else { 16 }) {
        0..=2 => condition("$eq", random_operand(sample)),
        3 => condition("$gt", random_operand(sample)),
        4 => condition("$gte", random_operand(sample)),
        5 => condition("$lt", random_operand(sample)),
        6 => condition("$lte", random_operand(sample)),
        7 => condition("$ne", random_operand(sample)),
        8 | 9 => {
            let length = sample.below(4);
            let items = (0..length).map(|_| random_operand(sample)).collect();
            let operator = sample.pick(&["$in", "$in", "$nin"]);
            condition(operator, Owned::Array(items))
        }
        10 => condition("$exists", Owned::Bool(sample.below(2) == 0)),
        11 => {
            let name = sample.pick(&[
                "number",
                "string",
                "array",
                "object",
                "null",
                "undefined",
                "int",
                "bool",
            ]);
            condition("$type", text(name))
        }
        12 => {
            let pattern = sample.pick(&["^ab", "b", "^a.c", "^ab?"]);
            condition("$regex", text(pattern))
        }
        13 => condition("$size", int(sample.below(3) as i32)),
        14 => condition("$mod", list(&[int(2), int(sample.below(2) as i32)])),
        15 => {
            let mut both = condition("$gt", int(sample.below(4) as i32));
            both.push(("$lt".to_owned(), int(sample.below(6) as i32)));
            both
        }
        16 => vec![(
            "$not".to_owned(),
            Owned::Document(random_condition(sample, depth - 1)),
        )],
        17 => vec![(
            "$elemMatch".to_owned(),
            Owned::Document(random_condition(sample, depth - 1)),
        )],
        18 => {
            let mut fields = Vec::new();
            for name in ["b", "c", "b.c", "0"] {
                if sample.below(3) == 0 {
                    fields.push((
                        name.to_owned(),
                        Owned::Document(random_condition(sample, depth - 1)),
                    ));
                }
            }
            vec![("$elemMatch".to_owned(), Owned::Document(fields))]
        }
        _ => {
            let items = (0..1 + sample.below(2)).map(|_| random_operand(sample)).collect();
            vec![("$all".to_owned(), Owned::Array(items))]
        }
    }
}

/// A comparison of a field with a constant of any kind.
fn random_comparison(sample: &mut Sample) -> Owned {
    let path = sample.pick(&["$a", "$a", "$b", "$a.b", "$a.b.c", "$a.0"]);
    let value = match sample.below(4) {
        0 => random_value(sample, 2, true),
        _ => random_scalar(sample),
    };
    let value = Owned::Document(vec![("$literal".to_owned(), value)]);
    let sides = match sample.below(3) {
        0 => [value, text(path)],
        _ => [text(path), value],
    };
    let operator = sample.pick(&["$eq", "$eq", "$lt", "$lte", "$gt", "$gte", "$ne"]);
    Owned::Document(vec![(operator.to_owned(), list(&sides))])
}

fn random_filter(sample: &mut Sample, depth: usize) -> Owned {
    let mut fields = Vec::new();
    for _ in 0..1 + sample.below(3) {
        match sample.below(13) {
            12 => {
                let compared = random_comparison(sample);
                let operator = sample.pick(&["", "$and", "$or"]);
                let expression = match operator {
                    "" => compared,
                    operator => {
                        let both = list(&[compared, random_comparison(sample)]);
                        Owned::Document(vec![(operator.to_owned(), both)])
                    }
                };
                fields.push(("$expr".to_owned(), expression));
            }
            0 if depth > 0 => {
                let branches = (0..1 + sample.below(3))
                    .map(|_| random_filter(sample, depth - 1))
                    .collect();
                fields.push((
                    sample.pick(&["$or", "$or", "$and", "$nor"]).to_owned(),
                    Owned::Array(branches),
                ));
            }
            _ => {
                let path = sample.pick(&["a", "a", "b", "c", "a.b", "a.c", "a.b.c", "a.0", "a.0.b", "a.1"]);
                fields.push((path.to_owned(), Owned::Document(random_condition(sample, 2))));
            }
        }
    }
    Owned::Document(fields)
}

/// A filter that leaves a few values of a field, or of one of two fields.
fn random_choice(sample: &mut Sample) -> Owned {
    let values = |sample: &mut Sample| {
        let operands = (0..1 + sample.below(3)).map(|_| random_operand(sample)).collect();
        Owned::Document(vec![("$in".to_owned(), Owned::Array(operands))])
    };
    let one = |name: &str, value| Owned::Document(vec![(name.to_owned(), value)]);
    match sample.below(3) {
        0 => one("a", values(sample)),
        1 => Owned::Document(vec![
            ("a".to_owned(), values(sample)),
            ("c".to_owned(), Owned::Document(random_condition(sample, 1))),
        ]),
        _ => {
            let branches = [one("a", values(sample)), one("c", values(sample))];
            one("$or", list(&branches))
        }
    }
}

const INDEX_SETS: &[&[(&str, &str)]] = &[
    &[(r#"{"a": 1}"#, "{}")],
    &[(r#"{"a": -1}"#, "{}")],
    &[(r#"{"a": 1, "b": 1}"#, "{}")],
    &[(r#"{"a": 1, "b": -1, "c": 1}"#, "{}")],
    &[(r#"{"a.b": 1}"#, "{}")],
    &[(r#"{"a.b": 1, "a.c": -1}"#, "{}")],
    &[(r#"{"a.b.c": 1, "a.b.b": 1}"#, "{}")],
    &[(r#"{"a.0": 1}"#, "{}")],
    &[(r#"{"a.0.b": 1, "a.b": 1}"#, "{}")],
    &[
        (r#"{"a": 1}"#, r#"{"sparse": true}"#),
        (r#"{"a.b": 1, "b": 1}"#, r#"{"sparse": true}"#),
    ],
    &[(
        r#"{"a": 1}"#,
        r#"{"partialFilterExpression": {"a": {"$gte": 2}}}"#,
    )],
    &[(
        r#"{"b": 1}"#,
        r#"{"partialFilterExpression": {"a": {"$exists": true}}}"#,
    )],
    &[(
        r#"{"b": -1}"#,
        r#"{"partialFilterExpression": {"$or": [{"a": 1}, {"c": {"$type": "bool"}}]}}"#,
    )],
    &[(r#"{"a": 1, "b": 1}"#, "{}"), (r#"{"c": 1, "b": -1}"#, "{}")],
    &[
        (r#"{"a": -1, "b": 1, "c": -1}"#, "{}"),
        (r#"{"b": 1, "a": 1}"#, r#"{"sparse": true}"#),
    ],
    &[(r#"{"b": "hashed"}"#, "{}"), (r#"{"c": 1, "b": "hashed"}"#, "{}")],
    &[
        (r#"{"a": 1}"#, "{}"),
        (r#"{"b": 1}"#, "{}"),
        (r#"{"c": 1, "a": 1}"#, "{}"),
        (r#"{"a.b": 1}"#, "{}"),
    ],
];

/// Whether a walk takes the key; where it does not, it takes none of those up to where it goes on.
fn is_inside(tail: Option<&Tail>, (key, entries): (&[u8], &BTreeMap<Vec<u8>, usize>), reverse: bool) -> bool {
    let Some(tail) = tail else { return true };
    let spot = |key: &[u8]| tail.spot(key, reverse).unwrap();
    let Spot::Behind(edge) = spot(key) else {
        return true;
    };
    let between: Vec<&[u8]> = match reverse {
        false => entries
            .keys()
            .map(Vec::as_slice)
            .filter(|other| key <= *other && *other < edge.as_slice())
            .collect(),
        true => entries
            .keys()
            .map(Vec::as_slice)
            .filter(|other| edge.as_slice() < *other && *other <= key)
            .collect(),
    };
    assert!(!between.is_empty() && between.iter().all(|other| spot(other) != Spot::Inside));
    false
}

/// Takes one of the plans after the other, whatever they cost.
#[derive(Debug)]
struct Lots(Cell<usize>);

impl Trial for Lots {
    fn cheapest(&self, plans: &[Plan], _: Option<u64>) -> Result<usize> {
        self.0.set(self.0.get() + 1);
        Ok(self.0.get() % plans.len())
    }
}

#[test]
fn plans_select_what_reading_everything_selects() {
    let mut sample = Sample::new(2);
    let (mut indexed, mut exact, mut ordered, mut merged) = (0, 0, 0, 0);
    let lots = Lots(Cell::new(0));
    for round in 0..INDEX_SETS.len() * 8 {
        let store = Store::new(&mut sample, INDEX_SETS[round % INDEX_SETS.len()]);
        let views = store.catalog.views();
        for _ in 0..150 {
            let is_choice = sample.below(6) == 0;
            let filter = match is_choice {
                true => random_choice(&mut sample),
                false => random_filter(&mut sample, 2),
            };
            let raw = bytes(&filter);
            let Ok(matcher) = Matcher::parse(Doc::Raw(&raw)).and_then(Matcher::settled) else {
                continue;
            };
            let sort = match sample.below(3) {
                _ if is_choice => sample.pick(&[r#"{"b": 1}"#, r#"{"b": -1}"#, r#"{"b": 1, "c": -1}"#]),
                0 => sample.pick(&[
                    r#"{"a": 1}"#,
                    r#"{"a": -1}"#,
                    r#"{"b": 1}"#,
                    r#"{"b": -1}"#,
                    r#"{"b": 1, "c": -1}"#,
                    r#"{"a": 1, "b": 1}"#,
                    r#"{"a.b": -1}"#,
                    r#"{"a.b": 1, "a.c": -1}"#,
                    r#"{"b": -1, "c": 1}"#,
                    r#"{"a.0": 1}"#,
                ]),
                _ => "{}",
            };
            let sort = SortSpec::parse(Doc::Raw(&bytes(&json(sort)))).unwrap();
            let request = PlanRequest {
                edges: None,
                matcher: &matcher,
                sort: (!sort.is_empty()).then_some(&sort),
                indexes: &views,
                hint: None,
                limit: sample.pick(&[None, None, Some(1), Some(20)]),
                trial: (sample.below(3) > 0).then_some(&lots as &dyn Trial),
                needs: None,
            };
            let plan = choose(request).unwrap().plan;
            let context = || {
                format!(
                    "{filter:?}\n{plan:?}\n{:?}",
                    views.iter().map(|v| v.multikey).collect::<Vec<_>>()
                )
            };
            let matches = |record: usize| matcher.matches(Doc::Raw(&store.documents[record])).unwrap();
            let expected: BTreeSet<usize> = (0..store.documents.len())
                .filter(|record| matches(*record))
                .collect();
            let selected = store.select(&plan.access);
            for record in &expected {
                assert!(
                    selected.contains(record),
                    "lost {:?}\n{}",
                    Doc::Raw(&store.documents[*record]),
                    context()
                );
            }
            if plan.exact {
                exact += 1;
                for record in &selected {
                    assert!(
                        expected.contains(record),
                        "not checked {:?}\n{}",
                        Doc::Raw(&store.documents[*record]),
                        context()
                    );
                }
            }
            if !matches!(plan.access, Access::Collection { .. }) {
                indexed += 1;
            }
            merged += usize::from(matches!(plan.access, Access::Merge(_)));
            // As on the server, a sparse index has no key where an element has none of its fields, which has a place in
            // the order.
            let is_whole = |view: &IndexView<'_>| !view.definition.sparse || !view.is_multikey();
            if plan.sorted && !sort.is_empty() && views.iter().all(is_whole) {
                ordered += 1;
                let keys: Vec<Vec<u8>> = selected
                    .iter()
                    .filter(|record| expected.contains(record))
                    .filter_map(|record| sort.key(Doc::Raw(&store.documents[*record])).ok())
                    .collect();
                assert!(keys.is_sorted(), "out of order\n{}", context());
            }
        }
    }
    assert!(
        indexed > 3000 && exact > 500 && ordered > 150,
        "{indexed} {exact} {ordered}"
    );
    assert!(merged > 50, "{merged} merges");
    assert!(lots.0.get() > 300, "{} trials", lots.0.get());
}
