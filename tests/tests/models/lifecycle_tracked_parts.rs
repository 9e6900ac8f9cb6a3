//! What a tracked save leaves alone inside of enums, maps of maps, flattened maps and documents of no type.

use std::collections::BTreeMap;

use bson::{Bson, Document, doc};
use odm::{Db, Embedded, Error, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    parts_of_every_kind_of_document_are_saved_by_their_paths,
    changes_of_parts_are_made_as_declared_wherever_they_are,
    another_variant_is_a_conflict_however_it_is_tagged,
    a_changed_variant_is_stored_whole,
    parts_of_variants_are_held_to_the_rules_of_their_variant,
    documents_of_no_type_keep_what_their_names_and_order_mean,
    values_of_flattened_maps_keep_their_rules,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Part {
    #[odm(save = increment)]
    n: i32,
    #[odm(save = push)]
    l: Vec<i32>,
    #[serde(default)]
    b: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum External {
    New(Part),
    Own { part: Part },
    Plain(i32),
    Unit,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "k")]
enum Internal {
    New(Part),
    Own {
        part: Part,
        #[serde(default)]
        inner: Option<Box<Internal>>,
    },
    Map(BTreeMap<String, Part>),
    Unit,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "k", content = "c")]
enum Adjacent {
    New(Part),
    Own { part: Part },
    Plain(i32),
    Unit,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "flat")]
enum Flattened {
    One { one: Part, both: i32 },
    Two { two: i32, both: i32 },
}

type Maps<T> = BTreeMap<String, BTreeMap<String, T>>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: i32,
    ext_new: External,
    ext_own: External,
    int_new: Internal,
    int_own: Internal,
    int_map: Internal,
    adj_new: Adjacent,
    adj_own: Adjacent,
    #[serde(flatten)]
    flat: Flattened,
    maybe: Option<Internal>,
    boxed: Box<Adjacent>,
    keyed: BTreeMap<String, Internal>,
    maps: Maps<Part>,
    deep: BTreeMap<String, Maps<Part>>,
    nested: Maps<Internal>,
    doc: Document,
    bson: Bson,
    docs: BTreeMap<String, Document>,
    any: BTreeMap<String, Bson>,
    boxed_doc: Box<Document>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "open")]
struct Open {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Part>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "open_documents")]
struct OpenDocument {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    rest: Document,
}

fn part() -> Document {
    doc! { "n": 1, "l": [1], "b": 1 }
}

fn stored(id: i32) -> Document {
    let own = || doc! { "k": "Own", "part": part(), "inner": { "k": "New", "n": 1, "l": [1], "b": 1 } };
    let new = || doc! { "k": "New", "n": 1, "l": [1], "b": 1 };
    doc! {
        "_id": id,
        "ext_new": { "New": part() },
        "ext_own": { "Own": { "part": part() } },
        "int_new": new(),
        "int_own": own(),
        "int_map": { "k": "Map", "x": part() },
        "adj_new": { "k": "New", "c": part() },
        "adj_own": { "k": "Own", "c": { "part": part() } },
        "flat": "One", "one": part(), "both": 1,
        "maybe": own(),
        "boxed": { "k": "Own", "c": { "part": part() } },
        "keyed": { "x": own() },
        "maps": { "x": { "y": part() } },
        "deep": { "x": { "y": { "z": part() } } },
        "nested": { "x": { "y": own() } },
        "doc": { "s": { "t": part() } },
        "bson": { "s": { "t": part() } },
        "docs": { "s": { "t": part() } },
        "any": { "s": { "t": part() } },
        "boxed_doc": { "s": { "t": part() } },
    }
}

fn at(document: &Document, path: &str) -> Bson {
    let whole = Bson::Document(document.clone());
    path.split('.').fold(whole, |value, name| {
        let inner = value.as_document().and_then(|inner| inner.get(name));
        inner.unwrap_or_else(|| panic!("no {name} of {path}")).clone()
    })
}

fn change(part: &mut Part) {
    part.n += 1;
    part.l.push(2);
}

fn of_internal(value: &mut Internal) -> &mut Part {
    match value {
        Internal::New(part) | Internal::Own { part, .. } => part,
        Internal::Map(map) => map.get_mut("x").unwrap(),
        Internal::Unit => panic!("no part"),
    }
}

fn of_adjacent(value: &mut Adjacent) -> &mut Part {
    match value {
        Adjacent::New(part) | Adjacent::Own { part } => part,
        _ => panic!("no part"),
    }
}

fn of_external(value: &mut External) -> &mut Part {
    match value {
        External::New(part) | External::Own { part } => part,
        _ => panic!("no part"),
    }
}

type Find = fn(&mut Thing) -> &mut Part;

const TYPED: &[(&str, Find)] = &[
    ("ext_new.New", |thing| of_external(&mut thing.ext_new)),
    ("ext_own.Own.part", |thing| of_external(&mut thing.ext_own)),
    ("int_new", |thing| of_internal(&mut thing.int_new)),
    ("int_own.part", |thing| of_internal(&mut thing.int_own)),
    ("int_own.inner", |thing| match &mut thing.int_own {
        Internal::Own {
            inner: Some(inner), ..
        } => of_internal(inner),
        _ => panic!("no part"),
    }),
    ("int_map.x", |thing| of_internal(&mut thing.int_map)),
    ("adj_new.c", |thing| of_adjacent(&mut thing.adj_new)),
    ("adj_own.c.part", |thing| of_adjacent(&mut thing.adj_own)),
    ("one", |thing| match &mut thing.flat {
        Flattened::One { one, .. } => one,
        Flattened::Two { .. } => panic!("no part"),
    }),
    ("maybe.part", |thing| of_internal(thing.maybe.as_mut().unwrap())),
    ("boxed.c.part", |thing| of_adjacent(&mut thing.boxed)),
    ("keyed.x.part", |thing| {
        of_internal(thing.keyed.get_mut("x").unwrap())
    }),
    ("maps.x.y", |thing| {
        thing.maps.get_mut("x").unwrap().get_mut("y").unwrap()
    }),
    ("deep.x.y.z", |thing| {
        let maps = thing.deep.get_mut("x").unwrap();
        maps.get_mut("y").unwrap().get_mut("z").unwrap()
    }),
    ("nested.x.y.part", |thing| {
        of_internal(thing.nested.get_mut("x").unwrap().get_mut("y").unwrap())
    }),
];

type FindDocument = fn(&mut Thing) -> &mut Document;

const UNTYPED: &[(&str, FindDocument)] = &[
    ("doc.s", |thing| thing.doc.get_document_mut("s").unwrap()),
    ("bson.s", |thing| {
        thing
            .bson
            .as_document_mut()
            .unwrap()
            .get_document_mut("s")
            .unwrap()
    }),
    ("docs.s", |thing| thing.docs.get_mut("s").unwrap()),
    ("any.s", |thing| {
        thing.any.get_mut("s").unwrap().as_document_mut().unwrap()
    }),
    ("boxed_doc.s", |thing| {
        thing.boxed_doc.get_document_mut("s").unwrap()
    }),
];

async fn parts_of_every_kind_of_document_are_saved_by_their_paths(db: &Db) {
    let things = db.collection::<Thing>();
    for (id, (path, find)) in (0..).zip(UNTYPED) {
        things.raw().insert(stored(id)).await.unwrap();
        let mut thing = things.get(id).tracked().required().await.unwrap();
        let theirs = doc! { "$set": { format!("{path}.t.b"): 99, format!("{path}.u"): "new" } };
        things.raw().update_one(doc! { "_id": id }, theirs).await.unwrap();
        find(&mut thing).get_document_mut("t").unwrap().insert("n", 2);
        thing.save(&things).await.unwrap();
        let found = things.raw().find_one(doc! { "_id": id }).await.unwrap().unwrap();
        let expected = doc! { "t": { "n": 2, "l": [1], "b": 99 }, "u": "new" };
        assert_eq!(at(&found, path), expected.into(), "{path}");
        // What others took out does not come back.
        let theirs = doc! { "$unset": { format!("{path}.t"): true } };
        things.raw().update_one(doc! { "_id": id }, theirs).await.unwrap();
        find(&mut thing).get_document_mut("t").unwrap().insert("n", 3);
        let error = thing.save(&things).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{path}: {error}");
        assert_eq!(error.path(), Some(format!("{path}.t").as_str()));
    }
    let open = db.collection::<OpenDocument>();
    open.raw()
        .insert(doc! { "_id": 1, "s": { "t": part() } })
        .await
        .unwrap();
    let mut one = open.get(1).tracked().required().await.unwrap();
    open.raw()
        .update_one(doc! {}, doc! { "$set": { "s.t.b": 99, "u": 1 } })
        .await
        .unwrap();
    let inner = one
        .rest
        .get_document_mut("s")
        .unwrap()
        .get_document_mut("t")
        .unwrap();
    inner.insert("n", 2);
    one.save(&open).await.unwrap();
    let expected = doc! { "s": { "t": { "n": 2, "l": [1], "b": 99 } }, "u": 1 };
    assert_eq!(one.rest, expected);
}

async fn changes_of_parts_are_made_as_declared_wherever_they_are(db: &Db) {
    let things = db.collection::<Thing>();
    for (id, (path, find)) in (0..).zip(TYPED) {
        things.raw().insert(stored(id)).await.unwrap();
        let mut thing = things.get(id).tracked().required().await.unwrap();
        let theirs = doc! {
            "$inc": { format!("{path}.n"): 10 },
            "$push": { format!("{path}.l"): 7 },
            "$set": { format!("{path}.b"): 99, format!("{path}.unknown"): true },
        };
        things.raw().update_one(doc! { "_id": id }, theirs).await.unwrap();
        change(find(&mut thing));
        thing.save(&things).await.unwrap();
        let found = things.raw().find_one(doc! { "_id": id }).await.unwrap().unwrap();
        let found = at(&found, path);
        let found = found.as_document().unwrap();
        let numbers = (found.get_i32("n").unwrap(), found.get_i32("b").unwrap());
        assert_eq!(numbers, (12, 99), "{path}");
        let list = found.get_array("l").unwrap();
        assert_eq!(list, &[Bson::from(1), Bson::from(7), Bson::from(2)], "{path}");
        assert!(found.get_bool("unknown").unwrap(), "{path}");
    }
    let open = db.collection::<Open>();
    open.raw().insert(doc! { "_id": 1, "x": part() }).await.unwrap();
    let mut one = open.get(1).tracked().required().await.unwrap();
    let theirs = doc! { "$inc": { "x.n": 10 }, "$push": { "x.l": 7 }, "$set": { "x.b": 99 } };
    open.raw().update_one(doc! {}, theirs).await.unwrap();
    change(one.rest.get_mut("x").unwrap());
    one.rest.insert("y".to_owned(), Part::default());
    one.save(&open).await.unwrap();
    assert_eq!(
        one.rest["x"],
        Part {
            n: 12,
            l: vec![1, 7, 2],
            b: 99
        }
    );
    assert_eq!(one.rest["y"], Part::default());
}

fn check_conflict(error: &Error, field: &str) {
    assert_eq!(error.kind(), ErrorKind::Conflict, "{field}: {error}");
    assert!(
        error.path().is_some_and(|path| path.starts_with(field)),
        "{field}: {error}"
    );
}

async fn another_variant_is_a_conflict_however_it_is_tagged(db: &Db) {
    let things = db.collection::<Thing>();
    let cases: &[(&str, Bson, &str)] = &[
        (
            "ext_new",
            doc! { "Own": { "part": part() } }.into(),
            "ext_new.New",
        ),
        ("ext_own", doc! { "New": part() }.into(), "ext_own.Own.part"),
        ("int_new", doc! { "k": "Own", "part": part() }.into(), "int_new"),
        (
            "int_own",
            doc! { "k": "New", "n": 5, "l": [] }.into(),
            "int_own.part",
        ),
        ("int_own", doc! { "k": "Unit" }.into(), "int_own.part"),
        ("int_own.inner", Bson::Null, "int_own.inner"),
        (
            "adj_new",
            doc! { "k": "Own", "c": { "part": part() } }.into(),
            "adj_new.c",
        ),
        ("adj_own", doc! { "k": "Unit" }.into(), "adj_own.c.part"),
        ("flat", "Two".into(), "one"),
        ("maybe", Bson::Null, "maybe.part"),
        ("maybe", doc! { "k": "Map", "part": part() }.into(), "maybe.part"),
        ("boxed", doc! { "k": "Plain", "c": 1 }.into(), "boxed.c.part"),
        (
            "keyed.x",
            doc! { "k": "New", "n": 5, "l": [] }.into(),
            "keyed.x.part",
        ),
        ("nested.x.y", doc! { "k": "Unit" }.into(), "nested.x.y.part"),
        ("maps.x", doc! {}.into(), "maps.x.y"),
    ];
    for (id, (field, theirs, path)) in (0..).zip(cases) {
        things.raw().insert(stored(id)).await.unwrap();
        let mut thing = things.get(id).tracked().required().await.unwrap();
        let set = match *field {
            "flat" => doc! { "$set": { "flat": "Two", "two": 2 }, "$unset": { "one": true } },
            field => doc! { "$set": { field: theirs.clone() } },
        };
        things.raw().update_one(doc! { "_id": id }, set).await.unwrap();
        let before = things.raw().find_one(doc! { "_id": id }).await.unwrap();
        let (_, find) = TYPED.iter().find(|(part, _)| part == path).unwrap();
        change(find(&mut thing));
        let around = if *field == "flat" { "one" } else { *field };
        check_conflict(&thing.save(&things).await.unwrap_err(), around);
        assert_eq!(
            things.raw().find_one(doc! { "_id": id }).await.unwrap(),
            before,
            "{path}"
        );
    }
    // Values without parts are one of their variant too.
    let id = 1000;
    let mut plain = stored(id);
    plain.insert("ext_new", doc! { "Plain": 1 });
    plain.insert("adj_new", doc! { "k": "Plain", "c": 1 });
    things.raw().insert(plain).await.unwrap();
    for (field, theirs) in [
        ("ext_new", Bson::from("Unit")),
        ("adj_new", doc! { "k": "Unit" }.into()),
    ] {
        let mut thing = things.get(id).tracked().required().await.unwrap();
        let theirs = doc! { "$set": { field: theirs } };
        things.raw().update_one(doc! { "_id": id }, theirs).await.unwrap();
        match field {
            "ext_new" => thing.ext_new = External::Plain(2),
            _ => thing.adj_new = Adjacent::Plain(2),
        }
        check_conflict(&thing.save(&things).await.unwrap_err(), field);
    }
}

async fn a_changed_variant_is_stored_whole(db: &Db) {
    let things = db.collection::<Thing>();
    things.raw().insert(stored(1)).await.unwrap();
    let mut thing = things.get(1).tracked().required().await.unwrap();
    let theirs = doc! { "$inc": { "int_own.part.n": 10, "both": 10 }, "$set": { "adj_own.c.part.b": 9 } };
    things.raw().update_one(doc! {}, theirs).await.unwrap();
    thing.int_own = Internal::Unit;
    thing.adj_own = Adjacent::Plain(3);
    thing.maybe = None;
    thing.flat = Flattened::Two { two: 2, both: 5 };
    let expected = (thing.int_own.clone(), thing.adj_own.clone(), thing.flat.clone());
    thing.save(&things).await.unwrap();
    assert_eq!(
        (&thing.int_own, &thing.adj_own, &thing.flat),
        (&expected.0, &expected.1, &expected.2)
    );
    let found = things.raw().find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(found.get_document("int_own").unwrap(), &doc! { "k": "Unit" });
    assert_eq!(
        found.get_document("adj_own").unwrap(),
        &doc! { "k": "Plain", "c": 3 }
    );
    assert_eq!((found.get("one"), found.get("maybe")), (None, Some(&Bson::Null)));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "k")]
enum Ruled {
    Low {
        #[odm(validate(max = 5))]
        size: i32,
    },
    High {
        #[odm(validate(max = 50))]
        size: i32,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "ruled")]
struct Rules {
    #[serde(rename = "_id")]
    id: i32,
    one: Ruled,
    maps: Maps<Ruled>,
}

async fn parts_of_variants_are_held_to_the_rules_of_their_variant(db: &Db) {
    let rules = db.collection::<Rules>();
    let low = || Ruled::Low { size: 1 };
    let maps: Maps<Ruled> = [("x".to_owned(), [("y".to_owned(), low())].into())].into();
    rules
        .insert(Rules {
            id: 1,
            one: low(),
            maps: maps.clone(),
        })
        .await
        .unwrap();
    let mut one = rules.get(1).tracked().required().await.unwrap();
    one.one = Ruled::Low { size: 9 };
    let error = one.save(&rules).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
    assert_eq!(error.violations()[0].path, "one.size");
    one.one = Ruled::High { size: 9 };
    one.save(&rules).await.unwrap();
    one.one = Ruled::High { size: 30 };
    one.save(&rules).await.unwrap();
    one.maps
        .get_mut("x")
        .unwrap()
        .insert("y".to_owned(), Ruled::Low { size: 9 });
    let error = one.save(&rules).await.unwrap_err();
    assert_eq!(error.violations()[0].path, "maps.x.y.size");
    // So are new documents.
    let mut broken = Rules {
        id: 2,
        one: low(),
        maps,
    };
    broken
        .maps
        .get_mut("x")
        .unwrap()
        .insert("z".to_owned(), Ruled::High { size: 90 });
    let error = rules.insert(&broken).await.unwrap_err();
    assert_eq!(error.violations()[0].path, "maps.x.z.size");
}

async fn documents_of_no_type_keep_what_their_names_and_order_mean(db: &Db) {
    let things = db.collection::<Thing>();
    things.raw().insert(stored(1)).await.unwrap();
    let mut thing = things.get(1).tracked().required().await.unwrap();
    // No path leads to these names: the document around them is stored, with what others changed in it.
    let theirs = doc! { "$set": { "doc.s.t.b": 99 } };
    things.raw().update_one(doc! {}, theirs).await.unwrap();
    let inner = thing
        .doc
        .get_document_mut("s")
        .unwrap()
        .get_document_mut("t")
        .unwrap();
    inner.insert("a.b", 1);
    inner.insert("", 2);
    thing.save(&things).await.unwrap();
    let expected = doc! { "s": { "t": { "n": 1, "l": [1], "b": 99, "a.b": 1, "": 2 } } };
    assert_eq!(thing.doc, expected);
    // The same fields in another order are another document.
    thing.bson = doc! { "s": { "t": { "l": [1], "n": 1, "b": 1 } } }.into();
    assert!(thing.is_changed().unwrap());
    thing.save(&things).await.unwrap();
    let found = things.raw().find_one(doc! {}).await.unwrap().unwrap();
    let order = at(&found, "bson.s.t");
    let order: Vec<_> = order.as_document().unwrap().keys().cloned().collect();
    assert_eq!(order, ["l", "n", "b"]);
    // A value of another kind is one value.
    thing.bson = 5.into();
    thing.any.insert("s".to_owned(), vec![Bson::Null].into());
    thing.save(&things).await.unwrap();
    assert_eq!(
        (&thing.bson, &thing.any["s"]),
        (&5.into(), &vec![Bson::Null].into())
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Bounded {
    #[odm(validate(max = 5))]
    size: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Beside {
    beside: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "bounded")]
struct OpenBounded {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    beside: Beside,
    #[serde(flatten)]
    rest: BTreeMap<String, Bounded>,
}

async fn values_of_flattened_maps_keep_their_rules(db: &Db) {
    let all = db.collection::<OpenBounded>();
    let of = |size| OpenBounded {
        id: 1,
        beside: Beside { beside: 100 },
        rest: [("x".to_owned(), Bounded { size })].into(),
    };
    let error = all.insert(of(6)).await.unwrap_err();
    assert_eq!(error.violations()[0].path, "x.size");
    all.insert(of(5)).await.unwrap();
    let mut one = all.get(1).tracked().required().await.unwrap();
    one.beside.beside = 200;
    one.rest.get_mut("x").unwrap().size = 7;
    let error = one.save(&all).await.unwrap_err();
    assert_eq!(error.violations()[0].path, "x.size");
    one.rest.get_mut("x").unwrap().size = 2;
    one.save(&all).await.unwrap();
    assert_eq!((one.beside.beside, one.rest["x"].size), (200, 2));
}
