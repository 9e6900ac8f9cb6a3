//! Running the same operations on two backends.

use bson::{Bson, Document, RawDocumentBuf, doc};
use odm::Db;

use super::generate;
use crate::random::Random;
use crate::raw::{Change, RawCollection};

/// How a run went.
#[derive(Debug, Default)]
pub struct Report {
    /// Operations run on both.
    pub operations: u64,
    /// What differed, with what replays it.
    pub differences: Vec<String>,
}

/// How many operations meet one collection before a new one is made.
const ROUND: u64 = 40;

/// Runs random operations on both databases until `operations` are done or `most` differences are found.
pub async fn compare(ours: &Db, theirs: &Db, seed: u64, operations: u64, most: usize) -> Report {
    let mut report = Report::default();
    let mut round = 0;
    while report.operations < operations && report.differences.len() < most {
        run_round(ours, theirs, seed.wrapping_add(round), &mut report).await;
        round += 1;
    }
    report
}

async fn run_round(ours: &Db, theirs: &Db, seed: u64, report: &mut Report) {
    let mut random = Random::new(seed.wrapping_mul(0x1000_0001));
    let name = format!("c{}", seed % 1_000_000_007);
    let pair = Pair {
        ours: RawCollection::new(ours, &name),
        theirs: RawCollection::new(theirs, &name),
    };
    let documents: Vec<Document> = (0..random.below(10))
        .map(|id| generate::document(&mut random, id as i32))
        .collect();
    if !documents.is_empty() {
        for collection in [&pair.ours, &pair.theirs] {
            collection
                .insert(&documents)
                .await
                .expect("the documents are inserted");
        }
    }
    let mut history = vec![format!("insert {documents:?}")];
    for _ in 0..random.below(3) {
        let spec = generate::index(&mut random);
        let (own, their) = (
            pair.ours.create_index(&spec).await.map_err(code),
            pair.theirs.create_index(&spec).await.map_err(code),
        );
        history.push(format!("createIndex {spec}"));
        if own != their {
            report.differences.push(format!(
                "seed {seed}\n  {}\n  ours {own:?}\n  mongod {their:?}",
                history.join("\n  ")
            ));
            return;
        }
    }
    for step in 0..ROUND {
        report.operations += 1;
        let operation = Operation::random(&mut random);
        let (own, their) = (operation.run(&pair.ours).await, operation.run(&pair.theirs).await);
        let mut same = own == their;
        if same && operation.is_multi() && own.failed() {
            // Which documents changed before the one that failed depends on the order of the scan.
            break;
        }
        let (mut own_state, mut their_state) = (Vec::new(), Vec::new());
        if operation.writes() || step + 1 == ROUND {
            own_state = pair.ours.everything().await.expect("a find");
            their_state = pair.theirs.everything().await.expect("a find");
            same &= own_state == their_state;
        }
        if !same {
            report.differences.push(format!(
                "seed {seed} step {step}\n  {}\n  {operation:?}\n  ours   {own:?}\n  mongod {their:?}\n  ours   now {}\n  mongod now {}",
                history.join("\n  "),
                shown(&own_state),
                shown(&their_state),
            ));
            break;
        }
        if operation.writes() {
            history.push(format!("{operation:?}"));
        }
    }
    for db in [ours, theirs] {
        db.drop_collection(&name)
            .await
            .expect("the collection is dropped");
    }
}

struct Pair {
    ours: RawCollection,
    theirs: RawCollection,
}

fn code(error: odm::Error) -> Option<i32> {
    error.code()
}

fn shown(documents: &[RawDocumentBuf]) -> String {
    let list: Vec<String> = documents
        .iter()
        .map(|d| format!("{:?}", Document::try_from(d.as_ref())))
        .collect();
    list.join(" | ")
}

#[derive(Clone, Debug)]
enum Operation {
    Find {
        filter: Document,
        sort: Document,
        projection: Option<Document>,
        skip: u64,
        limit: u64,
    },
    Natural {
        filter: Document,
    },
    Count {
        filter: Document,
    },
    Distinct {
        key: String,
        filter: Document,
    },
    Insert {
        document: Document,
    },
    Update {
        filter: Document,
        change: Change,
        multi: bool,
        upsert: bool,
        array_filters: Vec<Document>,
    },
    Delete {
        filter: Document,
        multi: bool,
    },
    FindAndModify {
        filter: Document,
        sort: Document,
        change: Option<Change>,
        new: bool,
        upsert: bool,
    },
}

/// What an operation answered, comparable: documents as bytes, errors as codes.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Documents(Vec<RawDocumentBuf>),
    Values(Vec<String>),
    Count(u64),
    Written {
        matched: u64,
        modified: u64,
        upserted: u64,
        deleted: u64,
        inserted: u64,
        code: Option<Option<i32>>,
    },
    Failed(Option<i32>),
}

impl Answer {
    fn failed(&self) -> bool {
        matches!(self, Answer::Failed(_) | Answer::Written { code: Some(_), .. })
    }
}

impl Operation {
    fn random(random: &mut Random) -> Operation {
        match random.below(20) {
            0..=4 => Operation::Find {
                filter: generate::filter(random, 2),
                sort: generate::sort(random),
                projection: generate::projection(random),
                skip: random.below(3) as u64,
                limit: random.below(4) as u64,
            },
            5 => Operation::Natural {
                filter: generate::filter(random, 1),
            },
            6..=7 => Operation::Count {
                filter: generate::filter(random, 2),
            },
            8 => Operation::Distinct {
                key: generate::path(random),
                filter: generate::filter(random, 1),
            },
            9 => {
                let id = random.below(14) as i32;
                Operation::Insert {
                    document: generate::document(random, id),
                }
            }
            10..=15 => {
                let (change, array_filters) = generate::update(random);
                let replaces = matches!(&change, Change::Document(d) if !d.keys().next().is_some_and(|k| k.starts_with('$')));
                let multi = !replaces && random.one_in(3);
                Operation::Update {
                    filter: generate::filter(random, 1),
                    change,
                    multi,
                    upsert: false,
                    array_filters,
                }
            }
            16 => {
                let (change, array_filters) = generate::update(random);
                let mut filter = generate::filter(random, 1);
                filter.insert("_id", 20 + random.below(3) as i32);
                Operation::Update {
                    filter,
                    change,
                    multi: false,
                    upsert: true,
                    array_filters,
                }
            }
            17 => Operation::Delete {
                filter: generate::filter(random, 1),
                multi: random.one_in(4),
            },
            _ => {
                let (change, filters) = generate::update(random);
                let change = if filters.is_empty() && !random.one_in(5) {
                    Some(change)
                } else {
                    None
                };
                let new = change.is_some() && random.one_in(2);
                Operation::FindAndModify {
                    filter: generate::filter(random, 1),
                    sort: generate::sort(random),
                    change,
                    new,
                    upsert: false,
                }
            }
        }
    }

    /// Whether several documents change, one after another.
    fn is_multi(&self) -> bool {
        matches!(self, Operation::Update { multi: true, .. })
    }

    fn writes(&self) -> bool {
        !matches!(
            self,
            Operation::Find { .. }
                | Operation::Natural { .. }
                | Operation::Count { .. }
                | Operation::Distinct { .. }
        )
    }

    async fn run(&self, on: &RawCollection) -> Answer {
        match self {
            Operation::Find {
                filter,
                sort,
                projection,
                skip,
                limit,
            } => documents(
                on.find(filter, Some(sort), projection.as_ref(), *skip, *limit)
                    .await,
            ),
            Operation::Natural { filter } => {
                // Which index answers is the planner's choice; without a sort only the set is defined.
                let mut found = match on.find(filter, None, None, 0, 0).await {
                    Ok(found) => found,
                    Err(error) => return Answer::Failed(error.code()),
                };
                found.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
                Answer::Documents(found)
            }
            Operation::Count { filter } => match on.count(filter).await {
                Ok(count) => Answer::Count(count),
                Err(error) => Answer::Failed(error.code()),
            },
            Operation::Distinct { key, filter } => match on.distinct(key, filter).await {
                Ok(values) => Answer::Values(values_of(values)),
                Err(error) => Answer::Failed(error.code()),
            },
            Operation::Insert { document } => written(on.insert(std::slice::from_ref(document)).await),
            Operation::Update {
                filter,
                change,
                multi,
                upsert,
                array_filters,
            } => {
                // One of several matches is defined only by their order: pick by a unique filter instead.
                let filter = if *multi || *upsert {
                    filter.clone()
                } else {
                    first_of(on, filter).await
                };
                written(on.update(&filter, change, *multi, *upsert, array_filters).await)
            }
            Operation::Delete { filter, multi } => {
                let filter = if *multi {
                    filter.clone()
                } else {
                    first_of(on, filter).await
                };
                written(on.delete(&filter, *multi).await)
            }
            Operation::FindAndModify {
                filter,
                sort,
                change,
                new,
                upsert,
            } => {
                match on
                    .find_and_modify(filter, Some(sort), change.as_ref(), *new, *upsert)
                    .await
                {
                    Ok(found) => Answer::Documents(found.into_iter().collect()),
                    Err(error) => Answer::Failed(error.code()),
                }
            }
        }
    }
}

/// The filter narrowed to the match with the lowest `_id`.
async fn first_of(on: &RawCollection, filter: &Document) -> Document {
    let found = on
        .find(filter, Some(&doc! { "_id": 1 }), Some(&doc! { "_id": 1 }), 0, 1)
        .await
        .unwrap_or_default();
    let mut narrowed = filter.clone();
    if let Some(id) = found
        .first()
        .and_then(|d| d.get("_id").ok().flatten())
        .and_then(|id| Bson::try_from(id).ok())
    {
        narrowed.insert("_id", id);
    }
    narrowed
}

fn documents(outcome: odm::Result<Vec<RawDocumentBuf>>) -> Answer {
    match outcome {
        Ok(found) => Answer::Documents(found),
        Err(error) => Answer::Failed(error.code()),
    }
}

/// Distinct values as a set. Which of two equal numbers stands for both depends on the order of the documents, so
/// that numbers are compared by value alone.
fn values_of(values: Vec<Bson>) -> Vec<String> {
    fn plain(value: Bson) -> Bson {
        match value {
            Bson::Int32(n) => Bson::Double(f64::from(n)),
            Bson::Int64(n) => Bson::Double(n as f64),
            Bson::Decimal128(n) => Bson::Double(n.to_string().parse().unwrap_or(f64::NAN)),
            Bson::Array(items) => Bson::Array(items.into_iter().map(plain).collect()),
            Bson::Document(fields) => {
                Bson::Document(fields.into_iter().map(|(k, v)| (k, plain(v))).collect())
            }
            other => other,
        }
    }
    let mut shown: Vec<String> = values
        .into_iter()
        .map(|value| format!("{:?}", plain(value)).replace("-0.0", "0.0"))
        .collect();
    shown.sort();
    shown
}

fn written(outcome: odm::Result<odm::backend::WriteResult>) -> Answer {
    match outcome {
        Ok(result) => Answer::Written {
            matched: result.summary.matched,
            modified: result.summary.modified,
            upserted: result.summary.upserted,
            deleted: result.summary.deleted,
            inserted: result.summary.inserted,
            code: result.errors.first().map(|(_, error)| error.code()),
        },
        Err(error) => Answer::Failed(error.code()),
    }
}
