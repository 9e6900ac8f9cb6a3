//! Enums of every representation.

use odm::bson::{RawDocumentBuf, rawdoc};
use odm::{Embedded, Filter, Model};
use serde::{Deserialize, Serialize};

use super::stored;

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
