//! What the derives make of types: names, handles, indexes; and that they work wherever a type can stand.

#![deny(missing_docs, missing_debug_implementations, unreachable_pub, unused)]

use std::collections::{BTreeMap, HashMap};

use odm::bson::{Bson, RawDocumentBuf, rawdoc};
use odm::{Embedded, Filter, Id, Model};
use serde::{Deserialize, Serialize};

/// The index specifications that a model declares.
fn specs<M: Model>() -> Vec<RawDocumentBuf> {
    let indexes = (M::DESCRIPTOR.indexes)();
    indexes.iter().map(|index| index.to_spec().unwrap()).collect()
}

fn stored(value: &impl Serialize) -> RawDocumentBuf {
    odm::bson::serialize_to_raw_document_buf(value).unwrap()
}

mod names {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, Model)]
    #[serde(rename_all = "camelCase")]
    struct BookLoan {
        #[serde(rename = "_id")]
        id: Id<BookLoan>,
        due_on: odm::bson::DateTime,
        #[serde(rename = "by")]
        patron: String,
        r#type: String,
        #[serde(alias = "remark", default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(skip)]
        _cached: String,
        #[serde(flatten)]
        place: Place,
        address: Place,
    }

    #[derive(Debug, Default, Serialize, Deserialize, Embedded)]
    #[serde(rename_all = "SCREAMING-KEBAB-CASE", default)]
    struct Place {
        shelf_mark: String,
        floor: i32,
    }

    #[derive(Debug, Serialize, Deserialize, Model)]
    #[odm(collection = "log.2026")]
    struct Entry {
        _id: u64,
    }

    #[test]
    fn handles_have_the_names_that_serde_stores() {
        let loan = BookLoan::fields();
        assert_eq!(loan.id.path().to_string(), "_id");
        assert_eq!(loan.due_on.path().to_string(), "dueOn");
        assert_eq!(loan.patron.path().to_string(), "by");
        assert_eq!(loan.r#type.path().to_string(), "type");
        assert_eq!(loan.note.path().to_string(), "note");
        assert_eq!(loan.address.path().to_string(), "address");
        assert_eq!(loan.address.shelf_mark.path().to_string(), "address.SHELF-MARK");
        assert_eq!(loan.place.floor.path().to_string(), "FLOOR");
        let value = BookLoan {
            id: Id::new(),
            due_on: odm::bson::DateTime::now(),
            patron: "Joe".into(),
            r#type: "long".into(),
            note: None,
            _cached: String::new(),
            place: Place::default(),
            address: Place::default(),
        };
        let names: Vec<_> = stored(&value)
            .iter()
            .map(|field| field.unwrap().0.as_str().to_owned())
            .collect();
        assert_eq!(
            names,
            ["_id", "dueOn", "by", "type", "SHELF-MARK", "FLOOR", "address"]
        );
        assert_eq!(value.key(), &value.id);
    }

    #[test]
    fn collections_are_plurals_or_given() {
        assert_eq!(BookLoan::DESCRIPTOR.collection, "book_loans");
        assert_eq!(BookLoan::DESCRIPTOR.name, "BookLoan");
        assert_eq!(Entry::DESCRIPTOR.collection, "log.2026");
        assert_eq!(Entry { _id: 3 }.key(), &3);
    }

    #[test]
    fn descriptors_list_the_stored_fields() {
        let fields = BookLoan::DESCRIPTOR.fields;
        let names: Vec<_> = fields.iter().map(|field| (field.name, field.stored)).collect();
        let expected = [
            ("id", "_id"),
            ("due_on", "dueOn"),
            ("patron", "by"),
            ("type", "type"),
            ("note", "note"),
            ("place", ""),
            ("address", "address"),
        ];
        assert_eq!(names, expected);
        assert!(fields[5].is_flattened());
    }
}

mod indexes {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Author {
        #[serde(rename = "fullName")]
        name: String,
    }

    #[derive(Debug, Serialize, Deserialize, Model)]
    #[odm(
        index(keys(title, desc(author.name)), unique),
        index(keys(text(summary)), name = "words"),
        index(keys(hashed(isbn))),
        index(keys(authors.any().name), sparse),
        index(keys(titles.key("en"))),
        index(keys(available), partial = |b| b.available.gt(0)),
        index(keys(isbn), name = "again", partial = in_stock),
        index(keys(seen), expire_after = "1w"),
    )]
    struct Book {
        #[serde(rename = "_id")]
        id: i32,
        #[odm(index)]
        title: String,
        #[odm(unique)]
        isbn: String,
        #[odm(index(desc, sparse, name = "by_summary"))]
        summary: String,
        available: i32,
        author: Author,
        authors: Vec<Author>,
        titles: BTreeMap<String, String>,
        #[odm(index(expire_after = 3600))]
        created: odm::bson::DateTime,
        #[serde(rename = "lastSeen")]
        seen: Option<odm::bson::DateTime>,
    }

    fn in_stock(b: BookFields) -> Filter<Book> {
        b.available.gt(0) & b.title.exists()
    }

    #[test]
    fn declared_indexes_use_stored_names() {
        let expected = [
            rawdoc! { "key": { "title": 1 }, "name": "title_1" },
            rawdoc! { "key": { "isbn": 1 }, "name": "isbn_1", "unique": true },
            rawdoc! { "key": { "summary": -1 }, "name": "by_summary", "sparse": true },
            rawdoc! { "key": { "created": 1 }, "name": "created_1", "expireAfterSeconds": 3600_i64 },
            rawdoc! {
                "key": { "title": 1, "author.fullName": -1 },
                "name": "title_1_author.fullName_-1",
                "unique": true,
            },
            rawdoc! { "key": { "summary": "text" }, "name": "words" },
            rawdoc! { "key": { "isbn": "hashed" }, "name": "isbn_hashed" },
            rawdoc! { "key": { "authors.fullName": 1 }, "name": "authors.fullName_1", "sparse": true },
            rawdoc! { "key": { "titles.en": 1 }, "name": "titles.en_1" },
            rawdoc! {
                "key": { "available": 1 },
                "name": "available_1",
                "partialFilterExpression": { "available": { "$gt": 0 } },
            },
            rawdoc! {
                "key": { "isbn": 1 },
                "name": "again",
                "partialFilterExpression": { "available": { "$gt": 0 }, "title": { "$exists": true } },
            },
            rawdoc! { "key": { "lastSeen": 1 }, "name": "lastSeen_1", "expireAfterSeconds": 604_800_i64 },
        ];
        assert_eq!(specs::<Book>(), expected);
    }

    #[derive(Debug, Serialize, Deserialize, Model)]
    #[odm(index(keys(authors.at(0).name)))]
    struct ByPosition {
        _id: i32,
        authors: Vec<Author>,
    }

    #[test]
    fn positions_of_updates_cannot_be_indexed() {
        #[derive(Debug, Serialize, Deserialize, Model)]
        #[odm(index(keys(authors.each().name)))]
        struct Each {
            _id: i32,
            authors: Vec<Author>,
        }
        let error = (Each::DESCRIPTOR.indexes)()[0].to_spec().unwrap_err();
        assert_eq!(error.kind(), odm::ErrorKind::Schema);
        assert_eq!(
            specs::<ByPosition>()[0].get_str("name").unwrap(),
            "authors.0.fullName_1"
        );
    }
}

mod codecs {
    use super::*;

    pub(crate) mod reversed {
        use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

        pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
            text.chars().rev().collect::<String>().serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
            Ok(String::deserialize(deserializer)?.chars().rev().collect())
        }
    }

    fn as_text<S: serde::Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    fn from_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }

    #[derive(Debug, Serialize, Deserialize, Model)]
    struct Coded {
        #[serde(rename = "_id", with = "reversed")]
        id: String,
        #[serde(with = "reversed")]
        title: String,
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        number: u128,
        inner: Inner,
        kind: Kind,
    }

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Inner {
        #[serde(with = "reversed")]
        title: String,
    }

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    enum Kind {
        Named {
            #[serde(with = "reversed")]
            name: String,
        },
        Numbered(#[serde(serialize_with = "as_text", deserialize_with = "from_text")] u128),
    }

    #[test]
    fn operands_are_encoded_as_the_field_is() {
        let c = Coded::fields();
        let filter = c.title.eq("abc") & c.inner.title.eq("xyz") & c.kind.named.name.eq("no");
        let expected = rawdoc! { "title": "cba", "inner.title": "zyx", "kind.Named.name": "on" };
        assert_eq!(filter.to_document().unwrap(), expected);
        let filter = c.number.eq(u128::MAX) & c.kind.numbered.eq(7_u128);
        let expected = rawdoc! { "number": u128::MAX.to_string(), "kind.Numbered": "7" };
        assert_eq!(filter.to_document().unwrap(), expected);
        let value = Coded {
            id: "one".into(),
            title: "abc".into(),
            number: 1,
            inner: Inner { title: "xyz".into() },
            kind: Kind::Named { name: "no".into() },
        };
        assert_eq!(stored(&value).get_str("title").unwrap(), "cba");
        assert!(matches!(value.kind, Kind::Named { .. }) && !matches!(value.kind, Kind::Numbered(_)));
    }

    #[test]
    fn keys_have_their_codec() {
        let codec = Coded::KEY_CODEC.unwrap();
        assert_eq!(
            codec(&"one".to_owned()).unwrap(),
            odm::bson::RawBson::String("eno".into())
        );
    }
}

mod enums {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Line {
        number: String,
    }

    macro_rules! contact {
        ($name:ident, $($serde:tt)*) => {
            #[derive(Debug, Serialize, Deserialize, Embedded)]
            #[serde($($serde)* rename_all = "snake_case", rename_all_fields = "camelCase")]
            enum $name {
                Email { home_address: String },
                PhoneLine(Line),
                None,
            }
        };
    }

    contact!(External,);
    contact!(Internal, tag = "type",);
    contact!(Adjacent, tag = "t", content = "c",);
    contact!(Untagged, untagged,);

    #[derive(Debug, Serialize, Deserialize, Embedded, Clone, Copy, PartialEq)]
    enum Status {
        Active,
        #[serde(rename = "gone")]
        Left,
    }

    #[derive(Debug, Serialize, Deserialize, Model)]
    struct Patron {
        _id: i32,
        external: External,
        internal: Option<Internal>,
        adjacent: Vec<Adjacent>,
        untagged: Untagged,
        status: Status,
    }

    fn document(filter: Filter<Patron>) -> RawDocumentBuf {
        filter.to_document().unwrap()
    }

    #[test]
    fn variants_are_reached_as_serde_tags_them() {
        let p = Patron::fields();
        let path = |path: &odm::Path| path.to_string();
        assert_eq!(
            path(p.external.email.home_address.path()),
            "external.email.homeAddress"
        );
        assert_eq!(
            path(p.external.phone_line.number.path()),
            "external.phone_line.number"
        );
        assert_eq!(path(p.internal.email.home_address.path()), "internal.homeAddress");
        assert_eq!(path(p.internal.phone_line.number.path()), "internal.number");
        assert_eq!(
            path(p.adjacent.any().email.home_address.path()),
            "adjacent.c.homeAddress"
        );
        assert_eq!(
            path(p.adjacent.any().phone_line.number.path()),
            "adjacent.c.number"
        );
        assert_eq!(path(p.untagged.email.home_address.path()), "untagged.homeAddress");
        assert_eq!(path(p.internal.r#type.path()), "internal.type");
        assert_eq!(path(p.adjacent.any().t.path()), "adjacent.t");
    }

    #[test]
    fn a_variant_can_be_asked_for() {
        let p = Patron::fields();
        assert_eq!(
            document(p.external.email.is()),
            rawdoc! { "external.email": { "$exists": true } }
        );
        assert_eq!(document(p.external.none.is()), rawdoc! { "external": "none" });
        assert_eq!(
            document(p.internal.phone_line.is()),
            rawdoc! { "internal.type": "phone_line" }
        );
        assert_eq!(
            document(p.adjacent.any().none.is()),
            rawdoc! { "adjacent.t": "none" }
        );
    }

    #[test]
    fn stored_values_are_where_the_handles_look() {
        let value = Patron {
            _id: 1,
            external: External::Email {
                home_address: "a".into(),
            },
            internal: Some(Internal::PhoneLine(Line { number: "1".into() })),
            adjacent: vec![
                Adjacent::Email {
                    home_address: "b".into(),
                },
                Adjacent::None,
            ],
            untagged: Untagged::Email {
                home_address: "c".into(),
            },
            status: Status::Left,
        };
        let expected = rawdoc! {
            "_id": 1,
            "external": { "email": { "homeAddress": "a" } },
            "internal": { "type": "phone_line", "number": "1" },
            "adjacent": [{ "t": "email", "c": { "homeAddress": "b" } }, { "t": "none" }],
            "untagged": { "homeAddress": "c" },
            "status": "gone",
        };
        assert_eq!(stored(&value), expected);
        let others = (External::PhoneLine(Line { number: "1".into() }), External::None);
        assert!(matches!(others, (External::PhoneLine(_), External::None)));
        let others = (
            Internal::Email {
                home_address: "a".into(),
            },
            Internal::None,
            Adjacent::PhoneLine(Line { number: "1".into() }),
        );
        assert!(matches!(
            others,
            (Internal::Email { .. }, Internal::None, Adjacent::PhoneLine(_))
        ));
        let others = (Untagged::PhoneLine(Line { number: "1".into() }), Untagged::None);
        assert!(matches!(others, (Untagged::PhoneLine(_), Untagged::None)));
    }

    #[test]
    fn enums_without_data_are_texts() {
        let p = Patron::fields();
        assert_eq!(document(p.status.eq(Status::Left)), rawdoc! { "status": "gone" });
        assert_eq!(
            document(p.status.is_in([Status::Active])),
            rawdoc! { "status": { "$in": ["Active"] } }
        );
        assert_eq!(
            p.status.starts_with("g").to_document().unwrap(),
            rawdoc! { "status": { "$regex": "^g" } }
        );
    }
}

mod values {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Isbn(String);

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Cents(i64);

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Tags(Vec<String>);

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Home(Address);

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    #[serde(transparent)]
    struct Number {
        value: i32,
    }

    #[derive(Debug, Clone, Serialize, Deserialize, Embedded)]
    #[serde(from = "String", into = "String")]
    struct Proxy {
        text: String,
    }

    impl From<String> for Proxy {
        fn from(text: String) -> Proxy {
            Proxy { text }
        }
    }

    impl From<Proxy> for String {
        fn from(proxy: Proxy) -> String {
            proxy.text
        }
    }

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Address {
        city: String,
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Foreign {
        x: i32,
    }

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    #[odm(opaque)]
    struct Opaque {
        x: i32,
    }

    #[derive(Debug, Serialize, Deserialize, Model)]
    struct Everything {
        #[serde(rename = "_id")]
        id: Isbn2,
        isbn: Isbn,
        cents: Cents,
        tags: Tags,
        home: Home,
        number: Number,
        proxy: Proxy,
        #[odm(opaque)]
        foreign: Foreign,
        opaque: Opaque,
        maybe: Option<Address>,
        map: HashMap<String, Address>,
        pair: (i32, String),
        bson: Bson,
        document: odm::bson::Document,
        boxed: Box<Address>,
        cow: std::borrow::Cow<'static, str>,
        sizes: [u8; 3],
        waited: std::time::Duration,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
    struct Isbn2(String);

    #[test]
    fn newtypes_can_what_their_inner_types_can() {
        let e = Everything::fields();
        let filter = e.isbn.starts_with("978")
            & e.cents.gt(Cents(5))
            & e.tags.has("a")
            & e.number.lt(Number { value: 3 });
        let expected = rawdoc! {
            "isbn": { "$regex": "^978" }, "cents": { "$gt": 5_i64 }, "tags": "a", "number": { "$lt": 3 },
        };
        assert_eq!(filter.to_document().unwrap(), expected);
        let filter = e.home.inner().city.eq("Rome") & e.isbn.inner().eq("1") & e.tags.inner().any().eq("b");
        let expected = rawdoc! { "home.city": "Rome", "isbn": "1", "tags": "b" };
        assert_eq!(filter.to_document().unwrap(), expected);
        let filter = e.proxy.eq(Proxy { text: "x".into() }) & e.proxy.inner().gt("a");
        assert_eq!(
            filter.to_document().unwrap(),
            rawdoc! { "$and": [{ "proxy": "x" }, { "proxy": { "$gt": "a" } }] }
        );
    }

    #[test]
    fn plain_values_can_be_compared_whole() {
        let e = Everything::fields();
        let filter =
            e.foreign.eq(Foreign { x: 1 }) & e.opaque.eq(Opaque { x: 2 }) & e.pair.eq((1, "a".to_owned()));
        let expected = rawdoc! { "foreign": { "x": 1 }, "opaque": { "x": 2 }, "pair": [1, "a"] };
        assert_eq!(filter.to_document().unwrap(), expected);
        assert_eq!(
            e.id.eq(Isbn2("1".into())).to_document().unwrap(),
            rawdoc! { "_id": "1" }
        );
    }

    #[test]
    fn containers_lead_to_what_they_hold() {
        let e = Everything::fields();
        let path = |path: &odm::Path| path.to_string();
        assert_eq!(path(e.maybe.city.path()), "maybe.city");
        assert_eq!(path(e.boxed.city.path()), "boxed.city");
        assert_eq!(path(e.map.key("home").city.path()), "map.home.city");
        assert_eq!(path(e.document.key("a").path()), "document.a");
        assert_eq!(e.cow.eq("x").to_document().unwrap(), rawdoc! { "cow": "x" });
        assert_eq!(path(e.sizes.at(1).path()), "sizes.1");
        assert_eq!(path(e.bson.path()), "bson");
        assert_eq!(path(e.waited.path()), "waited");
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let value = Everything {
            id: Isbn2("1".into()),
            isbn: Isbn("2".into()),
            cents: Cents(3),
            tags: Tags(vec!["a".into()]),
            home: Home(Address { city: "Rome".into() }),
            number: Number { value: 4 },
            proxy: Proxy { text: "p".into() },
            foreign: Foreign { x: 1 },
            opaque: Opaque { x: 2 },
            maybe: None,
            map: HashMap::new(),
            pair: (1, "a".into()),
            bson: Bson::Null,
            document: odm::bson::doc! {},
            boxed: Box::new(Address { city: "Bonn".into() }),
            cow: "cow".into(),
            sizes: [1, 2, 3],
            waited: std::time::Duration::from_millis(5),
        };
        let back: Everything = odm::bson::deserialize_from_slice(stored(&value).as_bytes()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{value:?}"));
        assert_eq!(
            (value.foreign.x, value.opaque.x, value.key()),
            (1, 2, &Isbn2("1".into()))
        );
    }
}

mod recursion {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, Model)]
    struct Tree {
        _id: i32,
        left: Option<Box<Node>>,
        children: Vec<Node>,
    }

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Node {
        value: i32,
        next: Option<Box<Node>>,
        children: Vec<Node>,
        named: BTreeMap<String, Node>,
    }

    #[test]
    fn types_may_hold_themselves() {
        let t = Tree::fields();
        assert_eq!(t.left.next.next.value.path().to_string(), "left.next.next.value");
        let deep = t.children.any().children.at(2).named.key("x").value;
        assert_eq!(deep.path().to_string(), "children.children.2.named.x.value");
    }
}

mod generics {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, Model)]
    struct Page<K: Clone, T, const N: usize = 2>
    where
        T: Default,
    {
        #[serde(rename = "_id")]
        id: K,
        first: T,
        #[odm(index)]
        items: Vec<T>,
    }

    #[derive(Debug, Default, Serialize, Deserialize, Embedded)]
    struct Pair<A, B> {
        left: A,
        right: Option<B>,
    }

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    #[serde(tag = "kind")]
    enum Either<A, B> {
        Left { value: A },
        Right { value: B },
    }

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Wrapper<T>(T);

    type Concrete = Page<i64, Pair<String, i32>>;

    #[test]
    fn parameters_are_kept() {
        let page = Concrete::fields();
        assert_eq!(page.first.left.path().to_string(), "first.left");
        assert_eq!(page.items.any().right.path().to_string(), "items.right");
        let scope = |page: PageFields<i64, Pair<String, i32>>| page.first.left.eq("x");
        assert_eq!(scope(page).to_document().unwrap(), rawdoc! { "first.left": "x" });
        assert_eq!(specs::<Concrete>()[0].get_str("name").unwrap(), "items_1");
    }

    #[test]
    fn enums_and_newtypes_have_parameters_too() {
        let either = <Either<i32, String> as Embedded>::fields_at::<()>(odm::Path::root());
        let filter = either.left.value.gt(1) & either.right.value.starts_with("a") & either.kind.eq("Left");
        assert!(filter.to_document().is_ok());
        let wrapped = odm::Field::<(), Wrapper<i32>>::new(odm::Path::root());
        assert!(wrapped.path().is_root());
        let _ = (
            Either::<i32, i32>::Left { value: 1 },
            Either::<i32, i32>::Right { value: 1 },
            Wrapper(1),
        );
    }
}

/// Names that the expansion could stumble over.
mod hygiene {
    #![allow(
        dead_code,
        non_camel_case_types,
        non_snake_case,
        reason = "names that get in the way"
    )]

    #[derive(Debug)]
    struct Option;
    #[derive(Debug)]
    struct Result;
    #[derive(Debug)]
    struct Vec;
    #[derive(Debug)]
    struct Field;
    #[derive(Debug)]
    struct Path;
    #[derive(Debug)]
    struct Handle;
    #[derive(Debug)]
    struct __R2;
    trait Deref {}
    trait Serializer {}
    trait FieldType {}
    mod std {}
    mod core {}
    mod odm {}
    mod bson {}
    mod path {}
    fn base() {}
    fn at() {}

    type Text = ::std::string::String;
    type Many<T> = ::std::vec::Vec<T>;

    #[derive(Debug, ::serde::Serialize, ::serde::Deserialize, ::odm::Embedded)]
    struct Inner {
        path: Text,
        codec: i32,
    }

    #[derive(Debug, ::serde::Serialize, ::serde::Deserialize, ::odm::Model)]
    #[odm(index(keys(fields, desc(base.path)), unique))]
    struct Shadowed {
        #[serde(rename = "_id")]
        id: i32,
        fields: Text,
        base: Inner,
        at: Many<Text>,
        r#Self_: i32,
        r#struct: i32,
        key: i32,
    }

    #[derive(Debug, ::serde::Serialize, ::serde::Deserialize, ::odm::Embedded)]
    enum Words {
        Self_ { r#type: i32 },
        Match { r#in: i32 },
        Super(i32),
    }

    #[test]
    fn shadowed_names_do_not_matter() {
        let s = <Shadowed as ::odm::Model>::fields();
        assert_eq!(s.base.path.path().to_string(), "base.path");
        assert_eq!(s.r#struct.path().to_string(), "struct");
        let w = <Words as ::odm::Embedded>::fields_at::<()>(::odm::Path::root());
        assert_eq!(w.r#match.r#in.path().to_string(), "Match.in");
        assert_eq!(w.super_.path().to_string(), "Super");
        assert_eq!(w.self_.r#type.path().to_string(), "Self_.type");
    }
}

/// `odm` under another name.
mod renamed {
    mod library {
        pub(crate) use ::odm as models;
    }

    #[derive(Debug, serde::Serialize, serde::Deserialize, odm::Embedded)]
    #[odm(crate = library::models)]
    struct Address {
        city: String,
    }

    #[derive(Debug, serde::Serialize, serde::Deserialize, odm::Model)]
    #[odm(crate = crate::renamed::library::models, index(keys(address.city)))]
    struct Patron {
        #[serde(rename = "_id", with = "super::codecs::reversed")]
        id: String,
        address: Address,
    }

    #[test]
    fn the_crate_can_be_named() {
        assert_eq!(
            super::specs::<Patron>()[0].get_str("name").unwrap(),
            "address.city_1"
        );
    }
}

/// Lints that users forbid. Public and private types, fields that nobody asks for.
pub mod forbidden {
    #![forbid(missing_docs, dead_code, unreachable_pub, missing_debug_implementations)]
    // Groups that serde's own derive lifts for its code: they cannot be forbidden, only denied.
    #![deny(unused, nonstandard_style, clippy::all)]
    #![forbid(unsafe_code, single_use_lifetimes, trivial_casts, trivial_numeric_casts)]

    use odm::{Embedded, Model};
    use serde::{Deserialize, Serialize};

    /// A book.
    #[derive(Debug, Serialize, Deserialize, Model)]
    pub struct Book {
        /// The number.
        #[serde(rename = "_id")]
        pub id: i32,
        /// The title.
        #[odm(index)]
        pub title: String,
        /// Where it can be had.
        pub source: Source,
        pub(crate) note: String,
        pub(in crate::forbidden) shelf: Shelf,
    }

    /// A source.
    #[derive(Debug, Serialize, Deserialize, Embedded)]
    #[serde(tag = "type")]
    pub enum Source {
        /// A shop.
        Shop {
            /// Its name.
            name: String,
        },
        /// Nowhere.
        Nowhere,
    }

    #[derive(Debug, Serialize, Deserialize, Embedded)]
    pub(crate) struct Shelf {
        mark: String,
        row: i32,
    }

    #[test]
    fn forbidden_lints_are_kept() {
        let shelf = Shelf {
            mark: "A".to_owned(),
            row: 1,
        };
        assert_eq!((shelf.mark.as_str(), shelf.row), ("A", 1));
        assert_eq!(Book::fields().shelf.row.path().to_string(), "shelf.row");
    }
}

mod placement {
    use super::*;

    #[test]
    fn types_may_stand_in_functions() {
        #[derive(Debug, Serialize, Deserialize, Model)]
        struct Local {
            _id: i32,
            name: String,
        }
        fn scope(local: LocalFields) -> Filter<Local> {
            local.name.eq("x")
        }
        assert_eq!(
            scope(Local::fields()).to_document().unwrap(),
            rawdoc! { "name": "x" }
        );
        assert_eq!(
            Local {
                _id: 1,
                name: String::new()
            }
            .name,
            ""
        );
    }

    macro_rules! model {
        ($name:ident { $($field:ident: $type:ty),* }) => {
            #[derive(Debug, Serialize, Deserialize, Model)]
            struct $name {
                _id: i32,
                $($field: $type),*
            }
        };
    }

    model!(FromMacro { title: String, pages: Option<i32> });

    #[test]
    fn types_may_come_from_macros() {
        let f = FromMacro::fields();
        assert!((f.title.eq("x") & f.pages.gt(1)).to_document().is_ok());
    }

    #[test]
    fn fields_may_be_private() {
        assert!(forbidden::Book::fields().note.eq("x").to_document().is_ok());
    }
}
