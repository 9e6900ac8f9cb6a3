//! Holding documents against the encrypted fields of their collection: their values must be encrypted.

use super::super::super::catalog::Collection;
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result, code};

/// The field that clients find encrypted values by.
const SAFE_CONTENT: &str = "__safeContent__";

/// The subtype of encrypted binaries, and the first bytes that say how: by equality, or not to be found.
const ENCRYPTED: u8 = 6;
const HOW: [u8; 2] = [6, 7];

/// The bytes of the key's id behind that; then comes the type of what is encrypted.
const KEY_BYTES: usize = 16;

/// Checks a new document.
///
/// # Errors
/// Code 121, and 2 for the clients' own field.
pub(super) fn inserted(collection: &Collection, document: Doc<'_>) -> Result<()> {
    if document.get(SAFE_CONTENT).is_some() {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!("Cannot insert a document with field name {SAFE_CONTENT}"),
        ));
    }
    check(collection, document)
}

/// Checks a changed document.
///
/// # Errors
/// As [`inserted`].
pub(super) fn replaced(collection: &Collection, old: Doc<'_>, new: Doc<'_>) -> Result<()> {
    if old.get(SAFE_CONTENT).is_some() != new.get(SAFE_CONTENT).is_some() {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!("New document and old document both need to have {SAFE_CONTENT} field."),
        ));
    }
    check(collection, new)
}

fn check(collection: &Collection, document: Doc<'_>) -> Result<()> {
    let mut wrong = Vec::new();
    for field in collection.rules.encrypted.iter() {
        let names: Vec<&str> = field.path.split('.').collect();
        wrong.extend(wrong_at(document, &names, field.kind));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let details = vec![
        named("operatorName", text("implicitFLESchema")),
        named(
            "schemaRulesNotSatisfied",
            Owned::Array(vec![Owned::Document(properties(wrong))]),
        ),
    ];
    let info = vec![
        named(
            "failingDocumentId",
            document.get("_id").map_or(Owned::Null, Owned::from),
        ),
        named("details", Owned::Document(details)),
    ];
    Err(
        Fault::new(code::DOCUMENT_VALIDATION_FAILURE, "Document failed validation")
            .detailed(Doc::Fields(&info).to_bytes()),
    )
}

/// What is wrong at a path below a document.
fn wrong_at(doc: Doc<'_>, names: &[&str], kind: Option<u8>) -> Option<Owned> {
    let (name, rest) = names.split_first()?;
    let value = doc.get(name)?;
    let details = match value {
        value if rest.is_empty() => Owned::Document(vec![
            named("operatorName", text("fle2Encrypt")),
            named("reason", text(why(&value, kind)?)),
        ]),
        Value::Document(inner) => Owned::Document(properties(vec![wrong_at(inner, rest, kind)?])),
        array @ Value::Array(_) => {
            let is_array = vec![
                named("operatorName", text("type")),
                named(
                    "specifiedAs",
                    Owned::Document(vec![named("type", Owned::Array(vec![Owned::Int32(4)]))]),
                ),
                named("reason", text("type did match")),
                named("consideredValue", array.into()),
                named("consideredType", text("array")),
            ];
            Owned::Document(vec![
                named("operatorName", text("$not")),
                named("details", Owned::Document(is_array)),
            ])
        }
        _ => return None,
    };
    Some(Owned::Document(vec![
        named("propertyName", text(name)),
        named("details", Owned::Array(vec![details])),
    ]))
}

/// Why a value is not encrypted as it must be.
fn why(value: &Value<'_>, kind: Option<u8>) -> Option<&'static str> {
    let Value::Binary {
        subtype: ENCRYPTED,
        bytes,
    } = value
    else {
        return Some("value was not encrypted");
    };
    let original = bytes.get(1 + KEY_BYTES);
    let fits = bytes.first().is_some_and(|how| HOW.contains(how))
        && original.is_some_and(|original| kind.is_none_or(|kind| kind == *original));
    (!fits).then_some("Queryable Encryption encrypted value has wrong type")
}

fn properties(wrong: Vec<Owned>) -> Fields {
    vec![
        named("operatorName", text("properties")),
        named("propertiesNotSatisfied", Owned::Array(wrong)),
    ]
}

fn named(name: &str, value: Owned) -> (String, Owned) {
    (name.to_owned(), value)
}

fn text(text: &str) -> Owned {
    Owned::String(text.to_owned())
}
