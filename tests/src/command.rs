//! Commands by `run_command`, and what is read from their replies.

use bson::{Bson, Document, doc};
use odm::Db;

/// A command that succeeds.
pub async fn run(db: &Db, command: Document) -> Document {
    let shown = command.to_string();
    db.run_command(command)
        .await
        .unwrap_or_else(|error| panic!("{shown}: {error}"))
}

/// The code of the error that a command gets, or that its first write gets; 0 when all went well.
pub async fn code(db: &Db, command: Document) -> i32 {
    match db.run_command(command).await {
        Err(error) => error.code().unwrap_or(-1),
        Ok(reply) => match reply.get_array("writeErrors") {
            Ok(errors) => errors[0].as_document().unwrap().get_i32("code").unwrap(),
            Err(_) => 0,
        },
    }
}

/// The first batch of a cursor.
pub fn batch(reply: &Document) -> Vec<Document> {
    let cursor = reply.get_document("cursor").unwrap();
    let documents = cursor.get_array("firstBatch").unwrap();
    documents
        .iter()
        .map(|document| document.as_document().unwrap().clone())
        .collect()
}

/// What a pipeline over a collection gives, at most a batch.
pub async fn aggregate(db: &Db, name: &str, pipeline: Vec<Document>) -> Vec<Document> {
    batch(&run(db, doc! { "aggregate": name, "pipeline": pipeline, "cursor": {} }).await)
}

/// The ids of documents.
pub fn ids(documents: &[Document]) -> Vec<i32> {
    documents
        .iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect()
}

/// Inserts documents.
pub async fn insert(db: &Db, name: &str, documents: Vec<Document>) {
    run(db, doc! { "insert": name, "documents": documents }).await;
}

/// The names of the stages of a plan, the outermost first.
pub fn stages(plan: &Document) -> Vec<String> {
    let own = plan.get_str("stage").map(ToOwned::to_owned).into_iter();
    let inputs = plan.get_array("inputStages").into_iter().flatten();
    let inputs = inputs.chain(plan.get("inputStage"));
    own.chain(inputs.filter_map(Bson::as_document).flat_map(stages))
        .collect()
}

/// A count among the figures of an explanation.
pub fn figure(figures: &Document, name: &str) -> i64 {
    match figures.get(name) {
        Some(Bson::Int32(count)) => i64::from(*count),
        Some(Bson::Int64(count)) => *count,
        other => panic!("{name} is {other:?}"),
    }
}

/// Builds an index; gives its name.
pub async fn index(db: &Db, of: &str, key: Document) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|(path, order)| format!("{path}_{order}"))
        .collect();
    let name = parts.join("_");
    let index = doc! { "key": key, "name": &name };
    run(db, doc! { "createIndexes": of, "indexes": [index] }).await;
    name
}

/// What a server, or the engine, tells of how it finds documents.
#[derive(Debug)]
pub struct Told {
    /// The names of the stages, the outermost first.
    pub stages: Vec<String>,
    pub keys: i64,
    pub documents: i64,
}

/// Explains a command that reads: of a pipeline what is under it.
pub async fn told(db: &Db, command: &Document) -> Told {
    let explain = doc! { "explain": command.clone(), "verbosity": "executionStats" };
    let reply = run(db, explain).await;
    let under = reply.get_array("stages").ok().and_then(|stages| stages.first());
    let reply = under
        .and_then(Bson::as_document)
        .and_then(|first| first.get_document("$cursor").ok())
        .unwrap_or(&reply);
    let planner = reply.get_document("queryPlanner").expect("a planner");
    let winning = planner.get_document("winningPlan").expect("a plan");
    let winning = winning.get_document("queryPlan").unwrap_or(winning);
    let figures = reply.get_document("executionStats").expect("figures");
    Told {
        stages: stages(winning),
        keys: figure(figures, "totalKeysExamined"),
        documents: figure(figures, "totalDocsExamined"),
    }
}
