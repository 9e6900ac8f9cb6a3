//! Handles, collections and descriptors have the names that serde stores.

use odm::{Embedded, Id, Model};
use serde::{Deserialize, Serialize};

use super::stored;

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
