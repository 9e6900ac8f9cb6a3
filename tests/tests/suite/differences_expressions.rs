//! What operators of expressions were found to differ in: which of their arguments they look at, and in what order; edges
//! of numbers, dates and names.

use odm::Db;
use odm::bson::{Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, insert, run};

crate::on_every_backend! {
    variables_of_a_command_are_not_computed_where_nothing_asks_for_them,
}

/// What the expression gives of the document, or the code of the refusal.
async fn given(db: &Db, expression: impl Into<Bson>) -> Result<Bson, i32> {
    let project = doc! { "$project": { "_id": 0, "r": expression.into() } };
    let command = doc! { "aggregate": "c", "pipeline": [project], "cursor": {} };
    match db.run_command(command).await {
        Ok(reply) => Ok(batch(&reply)[0].get("r").cloned().unwrap_or(Bson::Undefined)),
        Err(error) => Err(error.code().expect("a code")),
    }
}

async fn document(db: &Db) {
    let zero = DateTime::from_millis(0);
    let document = doc! { "_id": 1, "s": "x", "n": null, "dt": zero, "one": 1, "arr": [1] };
    insert(db, "c", vec![document]).await;
}

/// Fails with the code 28765.
fn fails() -> Bson {
    bson!({ "$abs": "$s" })
}

async fn variables_of_a_command_are_not_computed_where_nothing_asks_for_them(db: &Db) {
    document(db).await;
    let (abs, size) = (bson!({ "$abs": "x" }), bson!({ "$size": "x" }));
    for (variable, expected) in [
        (bson!({ "$cond": [false, size.clone(), true] }), 0),
        (bson!({ "$and": [false, size.clone()] }), 0),
        (bson!({ "$or": [true, size.clone()] }), 0),
        (bson!({ "$ifNull": [1, size.clone()] }), 0),
        (
            bson!({ "$convert": { "input": 1, "to": "int", "onError": size.clone() } }),
            0,
        ),
        (bson!({ "$map": { "input": [], "in": size.clone() } }), 0),
        (bson!({ "$add": [null, abs.clone()] }), 0),
        (bson!({ "$subtract": [abs.clone(), size.clone()] }), 17124),
        (bson!({ "$setEquals": [1, [1]] }), 17044),
        (abs.clone(), 28765),
    ] {
        let filter = doc! { "$expr": { "$ne": ["$$v", 17] } };
        let find = doc! { "find": "c", "filter": filter, "let": { "v": variable.clone() } };
        assert_eq!(code(db, find).await, expected, "{variable}");
    }
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse::<Decimal128>().unwrap())
}

const NEARLY_ONE: &str = "1.000000000000000000000000000000001";

async fn refused(db: &Db, stage: Document) -> i32 {
    code(db, doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }).await
}
