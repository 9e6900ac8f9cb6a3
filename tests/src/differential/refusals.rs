//! Why validators refuse documents: both backends must say the same.

use bson::{Bson, Document, doc};
use odm::Db;

/// Validators, and documents that they refuse; `errInfo` of both backends where it differs.
pub async fn compare_refusals(ours: &Db, theirs: &Db) -> Vec<String> {
    let mut differences = Vec::new();
    for (validator, document) in cases() {
        let (own, their) = (
            refusal(ours, &validator, &document).await,
            refusal(theirs, &validator, &document).await,
        );
        if own != their {
            differences.push(format!(
                "{validator} on {document}\n  ours   {own:?}\n  mongod {their:?}"
            ));
        }
    }
    differences
}

async fn refusal(db: &Db, validator: &Document, document: &Document) -> (Option<i32>, Option<Document>) {
    db.create_collection("refusals")
        .validator(validator.clone())
        .await
        .expect("the collection is created");
    let mut document = document.clone();
    document.insert("_id", 1);
    let refused = db.raw_collection("refusals").insert(document).await;
    db.drop_collection("refusals")
        .await
        .expect("the collection is dropped");
    match refused {
        Ok(_) => (None, None),
        Err(error) => (error.code(), error.details().cloned()),
    }
}

fn cases() -> Vec<(Document, Document)> {
    let schema = |schema: Document| doc! { "$jsonSchema": schema };
    vec![
        (doc! { "a": { "$gt": 5 } }, doc! {}),
        (doc! { "a": { "$gt": 5 } }, doc! { "a": "s" }),
        (doc! { "a": { "$gt": 5 } }, doc! { "a": [1, 2] }),
        (doc! { "a": { "$gt": 5 } }, doc! { "a": [1] }),
        (doc! { "a": { "$gt": 5 } }, doc! { "a": [] }),
        (doc! { "a": 5 }, doc! { "a": 1 }),
        (doc! { "a": { "$in": [1, 2] } }, doc! { "a": 3 }),
        (doc! { "a": { "$exists": true } }, doc! {}),
        (doc! { "a": { "$exists": false } }, doc! { "a": 1 }),
        (doc! { "a": { "$type": "int" } }, doc! { "a": "s" }),
        (doc! { "a": { "$type": ["int", "string"] } }, doc! { "a": 1.5 }),
        (doc! { "a": { "$type": "int" } }, doc! { "a": ["s", true] }),
        (doc! { "a": { "$regex": "^x" } }, doc! { "a": "s" }),
        (doc! { "a": { "$regex": "^x" } }, doc! { "a": 4 }),
        (doc! { "a": { "$ne": 1 } }, doc! { "a": 1 }),
        (doc! { "a": { "$nin": [1] } }, doc! { "a": 1 }),
        (doc! { "a": { "$not": { "$gt": 1 } } }, doc! { "a": 4 }),
        (doc! { "a": { "$mod": [2, 0] } }, doc! { "a": 3 }),
        (doc! { "a": { "$mod": [2, 0] } }, doc! { "a": "x" }),
        (doc! { "a": { "$size": 2 } }, doc! { "a": [1] }),
        (doc! { "a": { "$size": 2 } }, doc! { "a": 1 }),
        (doc! { "a": { "$all": [1, 2] } }, doc! { "a": [1] }),
        (doc! { "a": { "$elemMatch": { "$gt": 4 } } }, doc! { "a": [1] }),
        (
            doc! { "a": { "$elemMatch": { "b": 1 } } },
            doc! { "a": [{ "b": 2 }] },
        ),
        (doc! { "$or": [{ "a": 1 }, { "b": 2 }] }, doc! { "a": 3 }),
        (doc! { "$and": [{ "a": 1 }, { "b": 2 }] }, doc! { "a": 1 }),
        (doc! { "$nor": [{ "a": 1 }, { "b": 2 }] }, doc! { "a": 1 }),
        (
            doc! { "$or": [{ "a": { "$gt": 1, "$lt": 3 } }, { "$and": [{ "b": 1 }, { "c": 1 }] }] },
            doc! { "a": 3 },
        ),
        (doc! { "a": 1, "b": 2 }, doc! { "a": 1 }),
        (doc! { "a": { "$gt": 1, "$lt": 5 } }, doc! { "a": 7 }),
        (doc! { "$expr": { "$gt": ["$a", "$b"] } }, doc! { "a": 1, "b": 2 }),
        (doc! { "a.b": 1 }, doc! { "a": { "b": 2 } }),
        (doc! { "a.b": 1 }, doc! { "a": [{ "b": 2 }, { "b": 3 }] }),
        (doc! { "a.b": 1 }, doc! { "a": 5 }),
        (doc! { "a": { "$bitsAllSet": 1 } }, doc! { "a": 2 }),
        (doc! { "a": Bson::Null }, doc! { "a": 2 }),
        (
            schema(doc! { "required": ["a", "b"], "properties": { "a": { "bsonType": "int" } } }),
            doc! { "a": "s" },
        ),
        (
            schema(doc! { "bsonType": "object", "required": ["a"],
            "properties": { "a": { "bsonType": "int", "minimum": 3, "description": "must be int" } } }),
            doc! { "a": 1 },
        ),
        (
            schema(
                doc! { "properties": { "a": { "minLength": 3 }, "b": { "pattern": "^x" },
                "c": { "enum": [1, 2] }, "d": { "maxItems": 1 } } },
            ),
            doc! { "a": "s", "b": "y", "c": 3, "d": [1, 2] },
        ),
        (
            schema(doc! { "properties": { "a": { "items": { "bsonType": "int" } },
            "o": { "properties": { "z": { "maximum": 3 } }, "required": ["z"] } } }),
            doc! { "a": [1, "s"], "o": {} },
        ),
        (
            schema(doc! { "additionalProperties": false, "properties": { "a": {}, "_id": {} } }),
            doc! { "a": 1, "q": 1 },
        ),
        (
            schema(doc! { "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            doc! {},
        ),
        (
            schema(doc! { "allOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            doc! {},
        ),
        (
            schema(doc! { "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            doc! { "a": 1, "b": 1 },
        ),
        (
            schema(doc! { "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            doc! {},
        ),
        (schema(doc! { "not": { "required": ["a"] } }), doc! { "a": 1 }),
        (schema(doc! { "minProperties": 5 }), doc! { "a": 1 }),
        (schema(doc! { "maxProperties": 1 }), doc! { "a": 1 }),
        (schema(doc! { "dependencies": { "a": ["b"] } }), doc! { "a": 1 }),
        (
            schema(doc! { "properties": { "a": { "uniqueItems": true } } }),
            doc! { "a": [1, 1] },
        ),
        (
            schema(doc! { "properties": { "a": { "type": "string" }, "b": { "multipleOf": 2 } } }),
            doc! { "a": 1, "b": 3 },
        ),
        (
            schema(doc! { "properties": { "a": { "minimum": 3, "exclusiveMinimum": true } } }),
            doc! { "a": 3 },
        ),
        (
            doc! { "$jsonSchema": { "required": ["a"] }, "b": 1 },
            doc! { "a": 1 },
        ),
    ]
}
