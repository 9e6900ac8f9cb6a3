//! Validation: what the model refuses, and that the database's validator refuses the same.

use bson::{Bson, Document, doc};
use odm::{Db, Embedded, Error, ErrorKind, Model};
use serde::{Deserialize, Serialize};

use super::lifecycle_models::{Address, Contact, Person};

crate::on_every_backend! {
    every_broken_rule_is_reported_before_any_round_trip,
    updates_are_held_to_the_rules_where_the_value_is_known,
    the_databases_validator_refuses_what_the_model_refuses,
    a_validator_can_be_put_on_a_collection_that_exists,
    the_validator_goes_some_levels_into_types_that_hold_themselves,
    a_violation_names_the_element_of_several_that_are_pushed,
    decimals_of_any_size_are_finite,
}

fn broken(error: &Error) -> Vec<(String, &'static str)> {
    assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
    let violations = error.violations().iter();
    violations
        .map(|violation| (violation.path.clone(), violation.rule))
        .collect()
}

fn wrong(id: i32) -> Person {
    let mut person = Person::new(id);
    person.name = "nine char".to_owned();
    person.age = 151;
    person.mail = Some("nobody".to_owned());
    person.site = Some("example.org".to_owned());
    person.zip = Some("12345".to_owned());
    person.state = "used".to_owned();
    person.score = f64::NAN;
    person.tags = vec!["toolong".to_owned(), "x".to_owned(), "x".to_owned()];
    person.counts.insert("b".to_owned(), 0);
    person.home.city = String::new();
    person.others[0].number = Some(0);
    person.places.insert("none".to_owned(), Address::new(""));
    person.contact = Contact::Phone {
        number: "1".to_owned(),
    };
    person
}

async fn every_broken_rule_is_reported_before_any_round_trip(db: &Db) {
    let (db, log) = db.logged();
    let people = db.collection::<Person>();
    let expected = [
        ("name", "length"),
        ("age", "max"),
        ("mail", "email"),
        ("site", "url"),
        ("zip", "pattern"),
        ("state", "one_of"),
        ("score", "finite"),
        ("score", "min"),
        ("tags", "custom"),
        ("tags.0", "length"),
        ("counts.b", "min"),
        ("home.city", "length"),
        ("others.0.number", "min"),
        ("places.none.city", "length"),
        ("contact.number", "length"),
    ];
    let expected: Vec<_> = expected.map(|(path, rule)| (path.to_owned(), rule)).to_vec();
    assert_eq!(broken(&people.insert(wrong(1)).await.unwrap_err()), expected);
    assert_eq!(broken(&people.save(wrong(1)).await.unwrap_err()), expected);
    assert_eq!(broken(&people.replace(wrong(1)).await.unwrap_err()), expected);
    let replaced = people.find_one_and_replace(|p| p.id.eq(1), wrong(1));
    assert_eq!(broken(&replaced.await.unwrap_err()), expected);
    let bulk = people.bulk_write().insert(Person::new(1)).insert(wrong(2));
    let error = bulk.await.unwrap_err();
    assert_eq!(broken(&error), expected);
    assert!(
        error
            .violations()
            .iter()
            .all(|violation| violation.statement == 1)
    );
    let mut minor = Person::new(3);
    minor.mail = None;
    let error = people
        .insert_many([Person::new(2), minor.clone()])
        .await
        .unwrap_err();
    assert_eq!(broken(&error), [(String::new(), "custom")]);
    assert_eq!(log.entries().len(), 0);
    minor.age = 17;
    people.insert_many([Person::new(2), minor]).await.unwrap();
}

async fn updates_are_held_to_the_rules_where_the_value_is_known(db: &Db) {
    let (db, log) = db.logged();
    let people = db.collection::<Person>();
    people.insert(Person::new(1)).await.unwrap();
    log.take();
    let error = people
        .update_one(
            |p| p.id.eq(1),
            |p| {
                p.name.set("")
                    & p.tags.push("toolong")
                    & p.home.city.set("")
                    & p.others.push(Address::new(""))
                    & p.counts.key("z").set(0)
                    & p.places.key("x").city.set("")
                    & p.score.max(f64::INFINITY)
                    & p.state.set_on_insert("x")
            },
        )
        .await
        .unwrap_err();
    let expected = [
        ("name", "length"),
        ("home.city", "length"),
        ("counts.z", "min"),
        ("places.x.city", "length"),
        ("tags", "length"),
        ("others.city", "length"),
        ("score", "finite"),
        ("state", "one_of"),
    ];
    assert_eq!(
        broken(&error),
        expected.map(|(path, rule)| (path.to_owned(), rule)).to_vec()
    );
    let each = people.update_many(|p| p.id.eq(1), |p| p.others.each().number.set(Some(-1)));
    assert_eq!(
        broken(&each.await.unwrap_err()),
        [("others.$[].number".to_owned(), "min")]
    );
    let whole = people.upsert(|p| p.id.eq(1), |p| p.home.set(Address::new("")));
    assert_eq!(
        broken(&whole.await.unwrap_err()),
        [("home.city".to_owned(), "length")]
    );
    assert_eq!(log.entries().len(), 0);
    people
        .update_one(|p| p.id.eq(1), |p| p.mail.set(None) & p.age.set(3))
        .await
        .unwrap();
}

/// What may stand in each field, right and wrong.
fn values() -> Vec<(&'static str, Vec<Bson>)> {
    let texts = |all: &[&str]| all.iter().map(|text| Bson::from(*text)).collect::<Vec<_>>();
    let city = |city: &str, number: Bson| Bson::from(doc! {"city": city, "number": number});
    vec![
        ("name", texts(&["", "a", "éééééééé", "ééééééééé", "12345678"])),
        ("age", vec![(-1).into(), 0.into(), 150.into(), 151.into()]),
        ("mail", {
            let mut mails = texts(&["a@b", "a@b.c\n", "a b@c", "@b", "a@", "a@-b", "x.y+z@e-x.org"]);
            mails.push(Bson::Null);
            mails
        }),
        (
            "site",
            texts(&[
                "http://a",
                "http://",
                "a://b c",
                "ftp://x/y?z#w",
                "//x",
                "1http://x",
            ]),
        ),
        (
            "zip",
            texts(&["1234", "1234\n", "123", "x1234", "\u{663}\u{663}\u{663}\u{663}"]),
        ),
        ("state", texts(&["new", "old", "NEW", ""])),
        ("score", {
            let all = [
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                -1.5,
                -1.6,
                0.0,
                f64::MAX,
            ];
            all.map(Bson::from).to_vec()
        }),
        (
            "tags",
            vec![
                Bson::Array(vec![]),
                Bson::Array(texts(&["12345"])),
                Bson::Array(texts(&["a", "123456"])),
            ],
        ),
        (
            "counts",
            vec![doc! {}.into(), doc! {"a": 1, "b": 0}.into(), doc! {"a": 1}.into()],
        ),
        (
            "home",
            vec![city("", Bson::Null), city("a", 0.into()), city("a", 1.into())],
        ),
        (
            "others",
            vec![
                Bson::Array(vec![]),
                Bson::Array(vec![city("a", 1.into()), city("", Bson::Null)]),
            ],
        ),
        (
            "places",
            vec![doc! {}.into(), doc! {"x": city("a", 0.into())}.into()],
        ),
        (
            "contact",
            vec![
                doc! {"kind": "phone", "number": "12"}.into(),
                doc! {"kind": "phone", "number": "123"}.into(),
                doc! {"kind": "nobody"}.into(),
            ],
        ),
    ]
}

async fn the_databases_validator_refuses_what_the_model_refuses(db: &Db) {
    let people = db.collection::<Person>();
    people.create().validated().await.unwrap();
    let mut id = 0;
    let mut check = async |field: &str, value: Bson| {
        id += 1;
        let mut document: Document = bson::serialize_to_document(&Person::new(id)).unwrap();
        // The rule of the whole document is the model's alone.
        document.insert("age", 9);
        document.insert(field, value);
        let person: Person = bson::deserialize_from_document(document.clone()).unwrap();
        let typed = people.insert(&person).await;
        let typed_code = typed.as_ref().err().and_then(Error::code);
        assert_eq!(typed_code, None, "{document}: refused by the database alone");
        if typed.is_ok() {
            people.delete(id).await.unwrap();
        }
        let raw = people.raw().insert(&document).await;
        if let Err(error) = &raw {
            assert_eq!(error.code(), Some(121), "{error}");
        }
        assert_eq!(typed.is_ok(), raw.is_ok(), "{document}: {typed:?}, {raw:?}");
    };
    for (field, values) in values() {
        for value in values {
            check(field, value).await;
        }
    }
}

async fn a_validator_can_be_put_on_a_collection_that_exists(db: &Db) {
    let people = db.collection::<Person>();
    people.sync_validator().await.unwrap();
    let mut document: Document = bson::serialize_to_document(&Person::new(1)).unwrap();
    document.insert("age", -1);
    assert_eq!(
        people.raw().insert(&document).await.unwrap_err().code(),
        Some(121)
    );
    people.sync_validator().await.unwrap();
    let listed = db.list_collections().await.unwrap();
    let options = &listed.iter().find(|one| one.name == "people").unwrap().options;
    let schema = options
        .get_document("validator")
        .unwrap()
        .get_document("$jsonSchema");
    assert_eq!(schema.unwrap(), &Person::json_schema());
    // A product has no bound that the model can check.
    people.insert(Person::new(2)).await.unwrap();
    let error = people
        .update_one(|p| p.id.eq(2), |p| p.age.mul(10))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Validation, Some(121)));
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
struct Part {
    #[odm(validate(length(max = 3)))]
    name: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
struct Machine {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(max = 10)]
    parts: Vec<Part>,
}

fn part(name: &str, parts: Vec<Part>) -> Part {
    Part {
        name: name.to_owned(),
        parts,
    }
}

async fn the_validator_goes_some_levels_into_types_that_hold_themselves(db: &Db) {
    let machines = db.collection::<Machine>();
    machines.create().validated().await.unwrap();
    let within = |levels: usize| {
        let inner = part("too long", Vec::new());
        (0..levels).fold(inner, |inner, _| part("a", vec![inner]))
    };
    for levels in 0..6 {
        let machine = Machine {
            id: 1,
            parts: vec![within(levels)],
        };
        let raw = bson::serialize_to_document(&machine).unwrap();
        let stored = machines.raw().insert(raw).await;
        match levels {
            0..=3 => assert_eq!(stored.unwrap_err().code(), Some(121), "{levels}"),
            _ => {
                stored.unwrap();
                machines.raw().delete(Bson::Int32(1)).await.unwrap();
            }
        }
        // The model holds its own writes to its rules at any depth.
        let refused = machines.insert(machine).await.unwrap_err();
        assert!(broken(&refused)[0].0.ends_with(".name"), "{refused}");
    }
}

async fn a_violation_names_the_element_of_several_that_are_pushed(db: &Db) {
    let machines = db.collection::<Machine>();
    machines
        .insert(Machine {
            id: 1,
            parts: vec![part("a", Vec::new())],
        })
        .await
        .unwrap();
    let (good, bad) = (part("b", Vec::new()), part("too long", Vec::new()));
    let both = [good, bad.clone()];
    let several = machines
        .update_one(|m| m.id.eq(1), |m| m.parts.push_each(both))
        .await
        .unwrap_err();
    assert_eq!(broken(&several), [("parts.1.name".to_owned(), "length")]);
    let one = machines
        .update_one(|m| m.id.eq(1), |m| m.parts.push(bad))
        .await
        .unwrap_err();
    assert_eq!(broken(&one), [("parts.name".to_owned(), "length")]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "exact")]
struct Exact {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(finite))]
    amount: bson::Decimal128,
    #[odm(validate(each(finite)))]
    more: Vec<bson::Decimal128>,
    #[odm(validate(finite))]
    about: f64,
}

async fn decimals_of_any_size_are_finite(db: &Db) {
    let exact = db.collection::<Exact>();
    exact.create().validated().await.unwrap();
    let decimal = |text: &str| text.parse::<bson::Decimal128>().unwrap();
    let one = |id: i32, text: &str| Exact {
        id,
        amount: decimal(text),
        more: vec![decimal(text)],
        about: f64::MAX,
    };
    let finite = [
        "0",
        "-1.5",
        "1E+400",
        "-1E+400",
        "9.999999999999999999999999999999999E+6144",
        "-9.999999999999999999999999999999999E+6144",
        "1E-6176",
    ];
    for (id, text) in (1..).zip(finite) {
        exact.insert(one(id, text)).await.unwrap();
        exact
            .update_one(|e| e.id.eq(id), |e| e.amount.set(decimal(text)))
            .await
            .unwrap();
        exact
            .update_one(|e| e.id.eq(id), |e| e.more.push(decimal(text)))
            .await
            .unwrap();
        assert_eq!(exact.get(id).required().await.unwrap().amount, decimal(text));
    }
    for text in ["NaN", "Infinity", "-Infinity"] {
        let error = exact.insert(one(50, text)).await.unwrap_err();
        assert_eq!(
            broken(&error),
            [("amount".to_owned(), "finite"), ("more.0".to_owned(), "finite")]
        );
        let error = exact.update_one(|e| e.id.eq(1), |e| e.amount.inc(decimal(text)));
        assert_eq!(
            broken(&error.await.unwrap_err()),
            [("amount".to_owned(), "finite")]
        );
        // The database says the same.
        for wrong in [
            doc! { "_id": 50, "amount": decimal(text), "more": [], "about": 1.0 },
            doc! { "_id": 50, "amount": decimal("1"), "more": [decimal(text)], "about": 1.0 },
            doc! { "_id": 50, "amount": decimal("1"), "more": [], "about": text.parse::<f64>().unwrap() },
        ] {
            assert_eq!(exact.raw().insert(wrong).await.unwrap_err().code(), Some(121));
        }
    }
}
