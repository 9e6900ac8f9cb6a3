//! Fields that stand twice in a document.

use odm::Db;
use odm::backend::{Operation, RunCommand};
use odm::bson::{Document, RawDocumentBuf, doc};
use odm_tests::command::insert;

use super::refusals::with;

crate::on_every_backend! {
    fields_stand_once_in_stages,
    fields_stand_once_in_commands,
}

fn kind(field: &str, found: &str, wanted: &str) -> String {
    format!("BSON field '{field}' is the wrong type '{found}', expected type '{wanted}'")
}

async fn fields_stand_once_in_stages(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 0 }]).await;
    let range = || doc! { "step": 1, "bounds": "full" };
    let output = || doc! { "x": { "value": 1 } };
    // The last of two fields is renamed to the first in the command's bytes.
    for (stage, spec, twice) in [
        (
            "$changeStream",
            doc! { "fullDocument": "default", "fullDocumenu": "default" },
            "fullDocument",
        ),
        (
            "$densify",
            doc! { "field": "x", "range": range(), "fielx": "x" },
            "field",
        ),
        (
            "$densify",
            doc! { "field": "x", "range": with(range(), doc! { "stex": 2 }) },
            "range.step",
        ),
        (
            "$fill",
            doc! { "sortBy": { "a": 1 }, "output": output(), "sortBx": { "a": 1 } },
            "sortBy",
        ),
        ("$collStats", doc! { "count": {}, "counx": {} }, "count"),
        (
            "$collStats",
            doc! { "storageStats": { "scale": 1, "scalx": 1 } },
            "storageStats.scale",
        ),
        ("$setWindowFields", doc! { "output": {}, "outpux": {} }, "output"),
        ("$unionWith", doc! { "coll": "x", "colx": "x" }, "coll"),
        ("$merge", doc! { "into": "x", "intx": "x" }, "into"),
    ] {
        let name = twice.rsplit('.').next().unwrap();
        let words = format!("BSON field '{stage}.{twice}' is a duplicate field");
        let command = doc! { "aggregate": "c", "pipeline": [{ stage: spec }], "cursor": {} };
        assert_eq!(told_of_two(db, &command, name).await, (40413, words), "{stage}");
    }
    // What the second of them is comes first.
    for (spec, name, words) in [
        (
            doc! { "$changeStream": { "fullDocument": "default", "fullDocumenu": 1 } },
            "fullDocument",
            kind("$changeStream.fullDocument", "int", "string"),
        ),
        (
            doc! { "$densify": { "field": "x", "range": range(), "fielx": 1 } },
            "field",
            kind("$densify.field", "int", "string"),
        ),
        (
            doc! { "$fill": { "sortBy": { "a": 1 }, "output": output(), "sortBx": "x" } },
            "sortBy",
            kind("$fill.sortBy", "string", "object"),
        ),
    ] {
        let command = doc! { "aggregate": "c", "pipeline": [spec], "cursor": {} };
        assert_eq!(told_of_two(db, &command, name).await, (14, words));
    }
}

async fn fields_stand_once_in_commands(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 0 }]).await;
    // Of a command itself it is told by what looks for its version, whatever they are.
    let many = |last: &str| {
        let names = (0..40).map(|at| format!("x{at:02}a")).chain([last.to_owned()]);
        names.fold(doc! { "find": "c" }, |command, name| {
            with(command, doc! { name: 1 })
        })
    };
    for (command, name) in [
        (doc! { "find": "c", "filter": {}, "filtex": {} }, "filter"),
        (doc! { "find": "c", "filter": {}, "filtex": 1 }, "filter"),
        (doc! { "find": "c", "nonx": {}, "nony": 1 }, "nonx"),
        (doc! { "find": "c", "finx": 1 }, "find"),
        (doc! { "ping": 1, "pinx": 1 }, "ping"),
        (many("x00b"), "x00a"),
        (many("x39b"), "x39a"),
        (doc! { "create": "q", "size": 5, "sizx": "x" }, "size"),
        (
            doc! { "insert": "c", "documents": [{}], "ordered": true, "orderex": "x" },
            "ordered",
        ),
        (doc! { "distinct": "c", "key": "x", "kex": 5 }, "key"),
        (
            doc! { "aggregate": "c", "pipeline": [], "cursor": {}, "cursox": 5 },
            "cursor",
        ),
        (doc! { "count": "c", "query": {}, "querx": {} }, "query"),
        (doc! { "hello": 1, "commentx": 1, "commenty": 1 }, "commentx"),
    ] {
        let words = format!("BSON field 'APIParametersFromClient.{name}' is a duplicate field");
        assert_eq!(told_of_two(db, &command, name).await, (40413, words), "{command}");
    }
    let none = doc! { "nothing": 1, "x1": 1, "x2": 1 };
    let words = "no such command: 'nothing'".to_owned();
    assert_eq!(told_of_two(db, &none, "x1").await, (59, words));
    for (command, name, code, words) in [
        (
            doc! { "aggregate": "c", "pipeline": [], "cursor": { "batchSize": 1, "batchSizx": 1 } },
            "batchSize",
            40413,
            "BSON field 'cursor.batchSize' is a duplicate field".to_owned(),
        ),
        (
            doc! { "aggregate": "c", "pipeline": [], "cursor": { "batchSize": 1, "batchSizx": "x" } },
            "batchSize",
            14,
            "BSON field 'cursor.batchSize' is the wrong type 'string', expected types '[long, int, decimal, double']"
                .to_owned(),
        ),
        (
            doc! { "update": "c", "updates": [{ "q": {}, "u": {}, "multi": true, "multx": true }] },
            "multi",
            40413,
            "BSON field 'update.updates.multi' is a duplicate field".to_owned(),
        ),
        (
            doc! { "update": "c", "updates": [{ "q": {}, "u": {}, "multi": true, "multx": "x" }] },
            "multi",
            14,
            kind("update.updates.multi", "string", "bool"),
        ),
        (
            doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 1, "limix": 1 }] },
            "limit",
            40413,
            "BSON field 'delete.deletes.limit' is a duplicate field".to_owned(),
        ),
        (
            doc! { "create": "q", "timeseries": { "timeField": "t", "timeFielx": "t" } },
            "timeField",
            40413,
            "BSON field 'create.timeseries.timeField' is a duplicate field".to_owned(),
        ),
        (
            doc! { "create": "q", "encryptedFields": { "fields": [], "fieldt": [] } },
            "fields",
            40413,
            "BSON field 'create.encryptedFields.fields' is a duplicate field".to_owned(),
        ),
        (
            doc! { "create": "q", "encryptedFields": { "fields": [{ "path": "a", "pati": "b" }] } },
            "path",
            40413,
            "BSON field 'create.encryptedFields.fields.path' is a duplicate field".to_owned(),
        ),
        (
            doc! { "create": "q", "clusteredIndex": { "key": { "_id": 1 }, "unique": true, "uniquf": true } },
            "unique",
            40413,
            "BSON field 'create.unique' is a duplicate field".to_owned(),
        ),
        (
            doc! { "collMod": "c", "index": { "name": "_id_", "hidden": true, "hiddex": true } },
            "hidden",
            40413,
            "BSON field 'collMod.index.hidden' is a duplicate field".to_owned(),
        ),
        (
            doc! { "find": "c", "collation": { "locale": "en", "localf": "fr" } },
            "locale",
            40413,
            "BSON field 'collation.locale' is a duplicate field".to_owned(),
        ),
        (
            doc! { "create": "q", "collation": { "locale": "en", "localf": "fr" } },
            "locale",
            40413,
            "BSON field 'create.collation.locale' is a duplicate field".to_owned(),
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$merge": { "into": { "coll": "x", "colx": "y" } } }], "cursor": {} },
            "coll",
            40413,
            "BSON field 'into.coll' is a duplicate field".to_owned(),
        ),
    ] {
        assert_eq!(told_of_two(db, &command, name).await, (code, words), "{command}");
    }
}

/// The refusal of a command in which a field of this name stands twice.
async fn told_of_two(db: &Db, command: &Document, name: &str) -> (i32, String) {
    match db.backend().execute(doubled(db, command, name)).await {
        Ok(_) => (0, String::new()),
        Err(error) => (error.code().unwrap_or(-1), error.message().to_owned()),
    }
}

/// A command in which the name that differs from this one in its last letter alone is this one too.
fn doubled(db: &Db, command: &Document, name: &str) -> Operation {
    let mut bytes = command.to_vec().unwrap();
    let stem = name.len() - 1;
    let is_other = |at: &usize| {
        let found = &bytes[*at..at + name.len()];
        found[..stem] == name.as_bytes()[..stem]
            && found[stem] != name.as_bytes()[stem]
            && bytes[at + name.len()] == 0
    };
    let at = (0..bytes.len() - name.len())
        .find(is_other)
        .expect("another name");
    bytes[at + stem] = name.as_bytes()[stem];
    Operation::RunCommand(RunCommand {
        database: db.name().to_owned(),
        command: RawDocumentBuf::from_bytes(bytes).unwrap(),
    })
}
