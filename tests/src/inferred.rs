//! A database as others leave it, to infer models of.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Decimal128, Document, Regex, Timestamp, Uuid, doc};
use odm::Db;

use crate::raw::RawCollection;

/// The collections with their documents, so that those that others refer to come first.
pub fn documents() -> Vec<(&'static str, Vec<Document>)> {
    vec![
        ("authors", authors()),
        ("books", books()),
        ("customers", customers()),
        ("orders", orders()),
        ("sessions", sessions()),
        ("visits", visits()),
        (
            "log",
            (0..3)
                .map(|n| doc! {"_id": id(200 + n), "text": "x", "n": f64::from(n)})
                .collect(),
        ),
        ("comments", comments()),
        ("odd", odd()),
        ("loose_ids", loose_ids()),
        ("compound_ids", compound_ids()),
        (
            "weird \"name\" */ \u{202E}",
            vec![doc! {"_id": 1, "a \"b\"\n*/": 1, "größe": 2, "": {"": 1}}],
        ),
        ("animals", animals()),
        (
            "events",
            vec![
                doc! {"_id": 1, "kind": "made", "data": {"$date": 1}},
                doc! {"_id": 2, "kind": "gone", "why": "x"},
            ],
        ),
        (
            "forms",
            (0..6)
                .map(|n| doc! {"_id": n, "state": if n % 2 == 0 { "N/A" } else { "NA" }})
                .collect(),
        ),
        (
            "spots",
            [1.5, 3.5]
                .map(|x| doc! {"_id": {"at": {"coordinates": [x, 2.5], "type": "Point"}, "by": {"b": 1, "a": 2}}})
                .to_vec(),
        ),
        (
            "talks",
            vec![doc! {"_id": 1, "topics": {
                "2019": {"text": "a", "replies": [{"text": "b", "replies": [{"text": "c"}]}]},
                "2020": {"text": "d", "replies": [{"text": "e", "likes": 3}]},
            }}],
        ),
    ]
}

/// An ObjectId that is the same each time.
pub fn id(number: i32) -> ObjectId {
    let mut bytes = [7; 12];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    ObjectId::from_bytes(bytes)
}

fn date(day: i64) -> DateTime {
    DateTime::from_millis((day + 25_000) * 86_400_000 + 123)
}

fn decimal(text: &str) -> Decimal128 {
    text.parse().expect("a decimal")
}

fn binary(subtype: BinarySubtype, bytes: &[u8]) -> Binary {
    Binary {
        subtype,
        bytes: bytes.to_vec(),
    }
}

fn authors() -> Vec<Document> {
    vec![
        doc! {"_id": id(1), "name": "Ann Lee", "Name": 1, "type": "person", "self": true, "born": date(1), "e-mail": "a@x.org",
        "homeAddress": {"street": "Elm 1", "city": "Faketon"}, "__v": 0, "nicknames": ["a", "b"], "friend": id(2)},
        doc! {"_id": id(2), "name": "Joe Ray", "Name": 2, "type": "person", "self": false, "born": Bson::Null,
        "homeAddress": {"street": "Oak 2", "city": "Elsewhere"}, "__v": 3, "nicknames": [], "id": 7},
        doc! {"_id": id(3), "name": "The Four", "Name": 3, "type": "group", "self": false, "born": date(3), "e-mail": Bson::Null,
        "homeAddress": {"street": "Ash 3", "city": "Faketon"}, "__v": 1, "nicknames": ["c", Bson::Null]},
    ]
}

fn books() -> Vec<Document> {
    let point = |x: f64, y: f64| doc! {"type": "Point", "coordinates": [x, y]};
    vec![
        doc! {"_id": id(11), "title": "Emma", "isbn": "1", "authorId": id(1), "co_authors": [id(2), id(3)], "pages": 474,
        "price": 10, "sold": 5_i64, "list": decimal("12.50"), "edition": "first", "subtitle": "A Novel",
        "publisher": {"name": "Murray", "address": {"street": "Fleet 1", "city": "London"}},
        "reviews": [{"by": id(1), "stars": 5, "at": date(4)}, {"by": id(2), "stars": 4_i64, "text": "good"}],
        "byYear": {"2019": 3, "2020": 4}, "anything": 1, "nothing": Bson::Null, "empty": [], "rows": [[1, 2], [3], []],
        "place": point(1.5, 2.5), "flat": [1, 2.5], "token": Uuid::from_bytes([1; 16]), "cover": binary(BinarySubtype::Generic, &[1, 2]),
        "like": Regex { pattern: bson::raw::cstr!("^a").into(), options: bson::raw::cstr!("i").into() },
        "at": Timestamp { time: 1, increment: 2 }, "big": 1_i64 << 60, "see": {"$ref": "authors", "$id": id(1)},
        "attributes": {"color": "red", "size": 4}, "text": "en"},
        doc! {"_id": id(12), "title": "Kim", "isbn": "2", "authorId": id(3), "co_authors": [], "pages": 300,
        "price": 9.5, "sold": 7, "list": decimal("9"), "edition": Bson::Null,
        "publisher": {"name": "Macmillan", "address": {"street": "Strand 2", "city": "London"}, "since": 1843},
        "reviews": [], "byYear": {"2021": 1}, "anything": "text", "nothing": Bson::Null, "empty": [], "rows": [],
        "place": point(3.0, 4.0), "flat": [3, 4], "token": Uuid::from_bytes([2; 16]), "cover": binary(BinarySubtype::Md5, &[0; 16]),
        "at": Timestamp { time: 3, increment: 4 }, "big": 2.5, "see": {"$ref": "authors", "$id": id(2)},
        "attributes": {"color": "blue", "weight": 1.5}, "text": "de"},
        doc! {"_id": id(13), "title": "Dune", "isbn": "3", "authorId": id(2), "co_authors": [id(1)], "pages": 600,
        "price": 8, "sold": 1, "list": decimal("NaN"), "edition": "third", "subtitle": Bson::Null,
        "publisher": {"name": "Chilton", "address": {"street": "Main 3", "city": "Boston"}},
        "reviews": [{"by": id(3), "stars": 1}], "byYear": {}, "anything": {"a": [1, id(5)]}, "nothing": Bson::Null,
        "empty": [], "rows": [[9]], "place": point(5.0, 6.0), "flat": [5.5, 6.5], "token": Uuid::from_bytes([3; 16]),
        "cover": binary(BinarySubtype::UserDefined(200), &[]), "at": Timestamp { time: 5, increment: 6 }, "big": 1,
        "see": {"$ref": "authors", "$id": id(3)}, "attributes": {}, "text": "fr"},
    ]
}

fn customers() -> Vec<Document> {
    vec![
        doc! {"_id": "ann", "address": {"street": "Elm 1", "city": "Faketon"}, "score": 1.0, "chain": {"v": 1, "next": {"v": 2, "next": {"v": 3}}}, "flags": {"a.b": 1, "$c": 2}},
        doc! {"_id": "joe", "address": {"street": "Oak 2", "city": "Elsewhere"}, "score": f64::NAN, "flags": {"x": 3}},
    ]
}

fn orders() -> Vec<Document> {
    let line = |sku: &str, quantity: i32| doc! { "sku": sku, "quantity": quantity };
    let mut noted = line("b-2", 1);
    noted.insert("note", Bson::Null);
    let order = |id: Bson, customer: &str, book: Bson, pet: i32, status: &str, lines: Vec<Document>| {
        let pet = self::id(pet);
        doc! { "_id": id, "customer": customer, "book": book, "pet": pet, "status": status, "lines": lines }
    };
    let mut all = vec![
        order(
            Bson::Int32(1),
            "ann",
            id(11).into(),
            301,
            "open",
            vec![line("a-1", 2), noted],
        ),
        order(
            Bson::Int64(2),
            "joe",
            Bson::Null,
            302,
            "open",
            vec![line("c-3", 9)],
        ),
        order(Bson::Int32(3), "ann", id(12).into(), 302, "closed", vec![]),
    ];
    for n in 4..10 {
        let status = if n < 7 { "on hold" } else { "closed" };
        all.push(order(Bson::Int32(n), "ann", id(12).into(), 303, status, vec![]));
    }
    all
}

fn sessions() -> Vec<Document> {
    (1..4)
        .map(|n| doc! {"_id": Uuid::from_bytes([n; 16]), "customer": "ann", "until": date(n.into()), "data": {"$date": 1, "k": [n as i32]}})
        .collect()
}

fn visits() -> Vec<Document> {
    let counts = |n: i32| -> Document {
        (0..20)
            .map(|k| (format!("page{}", n * 20 + k), Bson::Int32(k)))
            .collect()
    };
    (0..4)
        .map(|n| doc! {"_id": {"customer": "ann", "day": n}, "counts": counts(n)})
        .collect()
}

fn comments() -> Vec<Document> {
    let deep = doc! {"text": "d", "answers": [{"text": "e", "answers": []}]};
    vec![doc! {"_id": 1.5, "on": id(11), "thread": [
    {"text": "a", "answers": [{"text": "b", "by": Bson::Null, "answers": [deep]}], "by": "ann"}, {"text": "c"}]}]
}

fn odd() -> Vec<Document> {
    vec![
        doc! {"_id": 1, "a.b": 5, "c.d": [id(3), "x"], "e": {"f.g": 1, "h": "x"}, "date": date(9), "min": Bson::MinKey,
        "code": Bson::JavaScriptCode("x".into()), "first name": "A", "2fa": true, "thing": {}},
        doc! {"_id": 2, "a.b": 6, "c.d": date(3), "e": {"f.g": 2}, "date": "none", "min": Bson::MaxKey,
        "code": Bson::Symbol("s".into()), "first name": "B", "2fa": false, "thing": {}},
    ]
}

fn loose_ids() -> Vec<Document> {
    vec![
        doc! {"_id": 1, "n": 1},
        doc! {"_id": "x", "n": 2},
        doc! {"_id": Bson::Null, "n": 3},
        doc! {"_id": {"a": 1}, "n": 4},
    ]
}

fn compound_ids() -> Vec<Document> {
    vec![
        doc! {"_id": {"a": 1, "b": 2}},
        doc! {"_id": {"b": 2, "a": 1}},
        doc! {"_id": {"a": 1}},
    ]
}

fn animals() -> Vec<Document> {
    vec![
        doc! {"_id": id(301), "kind": "cat", "name": "Tom", "lives": 9},
        doc! {"_id": id(302), "kind": "dog", "name": "Rex", "tricks": ["sit"]},
        doc! {"_id": id(303), "kind": "dog", "name": "Max", "tricks": []},
        doc! {"_id": id(304), "kind": "guinea pig", "name": "Pip", "wheel": true},
    ]
}

/// The indexes by collection.
pub fn indexes() -> Vec<(&'static str, Vec<Document>)> {
    vec![
        (
            "authors",
            vec![
                doc! {"key": {"name": 1}, "name": "name_1", "collation": {"locale": "en", "strength": 2}},
                doc! {"key": {"homeAddress.city": 1, "born": -1}, "name": "by_city", "partialFilterExpression": {"__v": {"$gt": -1}}},
                doc! {"key": {"e-mail": 1}, "name": "e-mail_1", "unique": true, "partialFilterExpression": {"e-mail": {"$type": "string"}}},
                doc! {"key": {"_id": "hashed"}, "name": "_id_hashed"},
            ],
        ),
        (
            "books",
            vec![
                doc! {"key": {"isbn": 1}, "name": "isbn_1", "unique": true},
                doc! {"key": {"subtitle": 1}, "name": "subtitle_1", "sparse": true},
                doc! {"key": {"title": "text", "publisher.name": "text"}, "name": "words", "weights": {"title": 10, "publisher.name": 1},
                "default_language": "german", "language_override": "text"},
                doc! {"key": {"place": "2dsphere", "pages": -1}, "name": "place_2dsphere_pages_-1"},
                doc! {"key": {"flat": "2d"}, "name": "flat_2d", "min": -500.0, "max": 500.0, "bits": 20},
                doc! {"key": {"reviews.by": 1, "reviews.stars": -1}, "name": "reviews.by_1_reviews.stars_-1"},
                doc! {"key": {"authorId": 1, "title": 1}, "name": "authorId_1_title_1", "hidden": true},
                doc! {"key": {"attributes.$**": 1}, "name": "attributes.$**_1"},
                doc! {"key": {"byYear.2020": 1}, "name": "byYear.2020_1"},
                doc! {"key": {"anything.a": 1}, "name": "anything.a_1"},
                doc! {"key": {"rows.0": 1}, "name": "rows.0_1"},
                doc! {"key": {"shelf.row": 1}, "name": "shelf.row_1"},
            ],
        ),
        (
            "sessions",
            vec![doc! {"key": {"until": 1}, "name": "until_1", "expireAfterSeconds": 86_400}],
        ),
        (
            "customers",
            vec![
                doc! {"key": {"$**": 1}, "name": "$**_1", "wildcardProjection": {"flags": 0}},
                doc! {"key": {"$**": "text"}, "name": "$**_text"},
            ],
        ),
        (
            "odd",
            vec![
                doc! {"key": {"e.h": 1}, "name": "e.h_1"},
                doc! {"key": {"first name": -1}, "name": "first name_-1"},
            ],
        ),
        (
            "weird \"name\" */ \u{202E}",
            vec![doc! {"key": {"a \"b\"\n*/": 1}, "name": "hostile \" \n */"}],
        ),
        (
            "planned",
            vec![
                doc! {"key": {"owner.name": 1}, "name": "owner.name_1"},
                doc! {"key": {"ends": 1}, "name": "ends_1", "expireAfterSeconds": 60},
            ],
        ),
        (
            "animals",
            vec![
                doc! {"key": {"name": 1}, "name": "name_1", "unique": true},
                doc! {"key": {"lives": 1}, "name": "lives_1"},
            ],
        ),
        (
            "climate",
            vec![doc! {"key": {"sensor": 1, "at": 1}, "name": "sensor_1_at_1"}],
        ),
        (
            "folded",
            vec![
                doc! {"key": {"name": 1}, "name": "name_1"},
                doc! {"key": {"name": 1}, "name": "bytes", "collation": {"locale": "simple"}},
            ],
        ),
    ]
}

/// Makes the database: options, documents, indexes, a view.
pub async fn fill(db: &Db) {
    let schema = doc! {"$jsonSchema": {"bsonType": "object", "required": ["title"], "properties": {
        "title": {"bsonType": "string"},
        "owner": {"bsonType": "object", "required": ["name"], "properties": {"name": {"bsonType": "string"}, "age": {"bsonType": "int"}}},
        "marks": {"bsonType": "array", "items": {"bsonType": ["long", "null"]}},
    }}};
    let create = |name: &'static str, options: Document| async move {
        let mut create = db.create_collection(name);
        for (option, value) in options {
            create = create.option(option, value);
        }
        create.await.expect("the collection is created");
    };
    create(
        "planned",
        doc! {"validator": schema, "validationLevel": "moderate"},
    )
    .await;
    create("log", doc! {"capped": true, "size": 4096_i64, "max": 100_i64}).await;
    create("folded", doc! {"collation": {"locale": "en", "strength": 2}}).await;
    create("climate", doc! {"timeseries": {"timeField": "at", "metaField": "sensor", "granularity": "minutes"}, "expireAfterSeconds": 86_400_i64}).await;
    create("recent", doc! {"viewOn": "books", "pipeline": [{"$limit": 1}]}).await;
    for (name, documents) in documents() {
        RawCollection::new(db, name)
            .insert(&documents)
            .await
            .expect("documents are inserted");
    }
    let measured =
        |n: i32| doc! {"_id": id(400 + n), "at": date(n.into()), "sensor": {"room": 1}, "celsius": 20.5};
    RawCollection::new(db, "climate")
        .insert(&[measured(1), measured(2)])
        .await
        .expect("measurements are inserted");
    for (name, specs) in indexes() {
        for spec in specs {
            RawCollection::new(db, name)
                .create_index(&spec)
                .await
                .expect("an index is built");
        }
    }
}
