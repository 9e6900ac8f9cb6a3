//! One backend against itself: the parts of a collection make up the whole, and every plan finds the same documents
//! as none.

use std::collections::BTreeSet;

use bson::{Bson, Document, RawDocumentBuf, bson, doc};
use odm::Db;

use super::expressions::{self, Kind};
use super::filters::filter;
use super::machine::Report;
use super::projections::sort;
use super::values::{collation, document, scalar};
use super::{comparable, indexes};
use crate::random::Random;

/// The collection; the database holds nothing else.
const NAME: &str = "parts";

/// How many predicates are asked of the same documents.
const PREDICATES: usize = 12;

/// Checks so many collections of random documents with random indexes.
pub async fn check_partitions(db: &Db, seed: u64, rounds: u64) -> Report {
    let mut report = Report::default();
    for round in 0..rounds {
        let seed = seed.wrapping_add(round);
        let mut random = Random::new(seed.wrapping_mul(0x3000_0005));
        let mut subject = Subject::new(db, &mut random).await;
        for _ in 0..PREDICATES {
            subject.predicate(&mut random).await;
            report.operations += 1;
        }
        let found = subject.found.into_iter();
        report
            .differences
            .extend(found.map(|what| format!("seed {seed}: {what}\n  {}", subject.about)));
        if report.differences.len() > 10 {
            break;
        }
    }
    report
}

/// Documents with indexes.
struct Subject<'d> {
    db: &'d Db,
    /// The indexes that are there, and whether each holds all documents.
    indexes: Vec<(Document, bool)>,
    about: String,
    found: Vec<String>,
}

/// Documents in the order in which they came; none where the query was refused.
type Rows = Option<Vec<RawDocumentBuf>>;

impl<'d> Subject<'d> {
    async fn new(db: &'d Db, random: &mut Random) -> Subject<'d> {
        let _ = db.drop_collection(NAME).await;
        let documents: Vec<Document> = (0..5 + random.below(20))
            .map(|id| document(random, id as i32))
            .collect();
        let insert = doc! { "insert": NAME, "documents": documents.clone() };
        db.run_command(insert).await.expect("the documents are inserted");
        let mut wanted: Vec<Document> = (0..random.below(5)).map(|_| indexes::index(random)).collect();
        // What merges several ranges into one order.
        wanted.push(doc! { "key": { "n": 1, "s": -1 }, "name": "n_1_s_-1" });
        let mut made = Vec::new();
        for index in wanted {
            let create = doc! { "createIndexes": NAME, "indexes": [index.clone()] };
            if db.run_command(create).await.is_ok() {
                let partial = ["sparse", "partialFilterExpression", "wildcardProjection"];
                let keys = index.get_document("key").cloned().unwrap_or_default();
                let wildcard = keys.keys().any(|path| path.ends_with("$**"));
                let whole = !wildcard && !partial.iter().any(|name| index.contains_key(name));
                made.push((index, whole));
            }
        }
        let shown: Vec<String> = documents.iter().map(ToString::to_string).collect();
        Subject {
            db,
            about: format!(
                "indexes {}\n  documents {}",
                made.iter()
                    .map(|(index, _)| index.to_string())
                    .collect::<Vec<_>>()
                    .join(" "),
                shown.join(" ")
            ),
            indexes: made,
            found: Vec::new(),
        }
    }

    async fn predicate(&mut self, random: &mut Random) {
        let rules = random.one_in(4).then(|| collation(random));
        let (first, second) = (filter(random, 2), filter(random, 1));
        let all = self.find(&doc! {}, doc! {}, &rules).await;
        self.divided(&first, &all, &rules).await;
        self.planned(random, &first, &rules).await;
        self.merged(random, &first, &second, &rules).await;
        self.computed(random, &all, &rules).await;
        self.ranges(random, &rules).await;
    }

    /// `p` and its complement are all documents, whoever counts or adds them up.
    async fn divided(&mut self, p: &Document, all: &Rows, rules: &Option<Document>) {
        let rest = doc! { "$nor": [p.clone()] };
        let (yes, no) = (
            self.find(p, doc! {}, rules).await,
            self.find(&rest, doc! {}, rules).await,
        );
        let (Some(yes), Some(no), Some(all)) = (yes, no, all) else {
            return;
        };
        let mut both = [yes.clone(), no.clone()].concat();
        both.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        self.same(
            "a predicate and its complement are not all",
            p,
            &sorted(all.clone()),
            &both,
        );
        for (part, rows) in [(p, &yes), (&rest, &no)] {
            let mut count = doc! { "count": NAME, "query": part.clone() };
            add(&mut count, rules);
            let counted = self.db.run_command(count).await.ok();
            let counted = counted.and_then(|reply| number(reply.get("n")));
            self.equal("count", part, &counted, &Some(rows.len() as i64));
            let group = doc! { "_id": Bson::Null, "n": { "$sum": 1 }, "sum": { "$sum": "$_id" }, "max": { "$max": "$_id" } };
            let summed = self
                .aggregate(bson!([{ "$match": part.clone() }, { "$group": group }]), rules)
                .await;
            let ids: Vec<i64> = rows.iter().map(id).collect();
            let wanted = (ids.len() as i64, ids.iter().sum(), ids.iter().max().copied());
            let got = summed.map(|groups| match groups.first() {
                Some(group) => {
                    let group = Document::try_from(group.as_ref()).expect("a group");
                    let of = |name: &str| number(group.get(name));
                    (of("n").unwrap_or(-1), of("sum").unwrap_or(-1), of("max"))
                }
                None => (0, 0, None),
            });
            self.equal("group", part, &got, &Some(wanted));
        }
    }

    /// Every plan finds what a scan of the collection finds, and gives it in the same order.
    async fn planned(&mut self, random: &mut Random, p: &Document, rules: &Option<Document>) {
        let order = sort(random);
        let (skip, limit) = (random.below(3) as i64, random.below(5) as i64);
        let natural = bson!({ "$natural": 1 });
        let bounded = doc! { "sort": order.clone(), "skip": skip, "limit": limit };
        let Some(set) = self.find(p, doc! { "hint": natural.clone() }, rules).await else {
            return;
        };
        let Some(page) = self.find(p, with(&bounded, natural.clone()), rules).await else {
            return;
        };
        let set = sorted(set);
        // The filter behind a stage that no index can pass.
        let behind = bson!([{ "$set": { "zz": 1 } }, { "$match": p.clone() }, { "$unset": "zz" }]);
        if let Some(rows) = self.aggregate(behind, rules).await {
            self.same("a filter behind a stage", p, &set, &sorted(rows));
        }
        if let Some(rows) = self.find(p, doc! {}, rules).await {
            self.same("the chosen plan", p, &set, &sorted(rows));
        }
        if let Some(rows) = self.find(p, bounded.clone(), rules).await {
            self.same("the chosen plan's page", p, &page, &rows);
        }
        for (index, whole) in self.indexes.clone() {
            let name = index.get("name").cloned().unwrap_or(Bson::Null);
            let what = format!("with the index {name} ordered by {order}");
            if let Some(rows) = self.find(p, doc! { "hint": name.clone() }, rules).await {
                let rows = sorted(rows);
                match whole {
                    true => self.same(&what, p, &set, &rows),
                    false => {
                        let known: BTreeSet<&[u8]> = set.iter().map(|row| row.as_bytes()).collect();
                        let more = rows.iter().filter(|row| !known.contains(row.as_bytes())).count();
                        self.equal(&what, p, &more, &0);
                    }
                }
            }
            if !whole {
                continue;
            }
            if let Some(rows) = self.find(p, with(&bounded, name.clone()), rules).await {
                self.same(&format!("a page {what}"), p, &page, &rows);
            }
            let keys = index.get_document("key").cloned().unwrap_or_default();
            let Some(field) = keys.keys().next() else { continue };
            // What an index may cover is what a document would give.
            let some = doc! { "projection": { field: 1, "_id": 0 } };
            let fetched = self.find(p, with(&some, natural.clone()), rules).await;
            let covered = self.find(p, with(&some, name), rules).await;
            if let (Some(fetched), Some(covered)) = (fetched, covered) {
                self.same(
                    &format!("only {field} {what}"),
                    p,
                    &sorted(fetched),
                    &sorted(covered),
                );
            }
        }
    }

    /// `$or` is a union, `$and` what both have.
    async fn merged(&mut self, random: &mut Random, p: &Document, q: &Document, rules: &Option<Document>) {
        let sets = [
            self.find(p, doc! {}, rules).await,
            self.find(q, doc! {}, rules).await,
            self.find(&doc! { "$or": [p.clone(), q.clone()] }, doc! {}, rules)
                .await,
            self.find(&doc! { "$and": [p.clone(), q.clone()] }, doc! {}, rules)
                .await,
        ];
        let [Some(p_rows), Some(q_rows), Some(or), Some(and)] = sets else {
            return;
        };
        let ids = |rows: &[RawDocumentBuf]| rows.iter().map(id).collect::<BTreeSet<i64>>();
        let (p_ids, q_ids) = (ids(&p_rows), ids(&q_rows));
        let both = doc! { "p": p.clone(), "q": q.clone() };
        self.equal("$or", &both, &ids(&or), &(&p_ids | &q_ids));
        self.equal(
            "$or gives a document twice",
            &both,
            &or.len(),
            &(&p_ids | &q_ids).len(),
        );
        self.equal("$and", &both, &ids(&and), &(&p_ids & &q_ids));
        // A union in an order.
        let ordered = doc! { "sort": sort(random), "limit": 1 + random.below(5) as i64 };
        let either = doc! { "$or": [p.clone(), q.clone()] };
        let scanned = self
            .find(&either, with(&ordered, bson!({ "$natural": 1 })), rules)
            .await;
        let chosen = self.find(&either, ordered, rules).await;
        if let (Some(scanned), Some(chosen)) = (scanned, chosen) {
            self.same("an ordered $or", &either, &scanned, &chosen);
        }
    }

    /// An expression is true or not, as a filter and as a field.
    async fn computed(&mut self, random: &mut Random, all: &Rows, rules: &Option<Document>) {
        let expression = expressions::expression(random, Kind::Truth, 2);
        let (p, not) = (
            doc! { "$expr": expression.clone() },
            doc! { "$expr": { "$not": [expression.clone()] } },
        );
        let (yes, no) = (
            self.find(&p, doc! {}, rules).await,
            self.find(&not, doc! {}, rules).await,
        );
        let (Some(yes), Some(no), Some(all)) = (yes, no, all) else {
            return;
        };
        let both = sorted([yes.clone(), no].concat());
        self.same(
            "an expression and its negation are not all",
            &p,
            &sorted(all.clone()),
            &both,
        );
        let field = bson!([{ "$project": { "is": { "$cond": [expression, true, false] } } }, { "$match": { "is": true } }]);
        if let Some(rows) = self.aggregate(field, rules).await {
            let ids = |rows: &[RawDocumentBuf]| rows.iter().map(id).collect::<BTreeSet<i64>>();
            self.equal("an expression as a field", &p, &ids(&rows), &ids(&yes));
        }
    }

    /// `$in` with an order that the index gives within each of its values.
    async fn ranges(&mut self, random: &mut Random, rules: &Option<Document>) {
        let values: Vec<Bson> = (0..1 + random.below(4)).map(|_| scalar(random)).collect();
        let p = doc! { "n": { "$in": values } };
        let (natural, index) = (bson!({ "$natural": 1 }), bson!("n_1_s_-1"));
        for direction in [1, -1] {
            let page = doc! { "sort": { "s": direction, "_id": 1 }, "limit": 1 + random.below(6) as i64 };
            let scanned = self.find(&p, with(&page, natural.clone()), rules).await;
            for hint in [None, Some(index.clone())] {
                let asked = hint.map_or(page.clone(), |hint| with(&page, hint));
                let merged = self.find(&p, asked, rules).await;
                if let (Some(scanned), Some(merged)) = (&scanned, &merged) {
                    self.same("merged ranges", &p, scanned, merged);
                }
            }
        }
    }

    async fn find(&self, filter: &Document, more: Document, rules: &Option<Document>) -> Rows {
        let mut find = doc! { "find": NAME, "filter": filter.clone(), "batchSize": 10_000 };
        find.extend(more);
        add(&mut find, rules);
        self.rows(find).await
    }

    async fn aggregate(&self, pipeline: Bson, rules: &Option<Document>) -> Rows {
        let mut aggregate =
            doc! { "aggregate": NAME, "pipeline": pipeline, "cursor": { "batchSize": 10_000 } };
        add(&mut aggregate, rules);
        self.rows(aggregate).await
    }

    async fn rows(&self, command: Document) -> Rows {
        let reply = self.db.run_command(command).await.ok()?;
        let batch = reply.get_document("cursor").ok()?.get_array("firstBatch").ok()?;
        let rows = batch.iter().filter_map(Bson::as_document);
        Some(
            rows.map(|row| crate::raw::raw(&comparable::without_clock(row.clone())))
                .collect(),
        )
    }

    fn same(&mut self, what: &str, p: &Document, wanted: &[RawDocumentBuf], got: &[RawDocumentBuf]) {
        if wanted != got {
            let shown = |rows: &[RawDocumentBuf]| -> Vec<String> {
                rows.iter()
                    .map(|row| Document::try_from(row.as_ref()).expect("a row").to_string())
                    .collect()
            };
            self.found.push(format!(
                "{what}: {p}\n  wanted {:?}\n  got    {:?}",
                shown(wanted),
                shown(got)
            ));
        }
    }

    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, p: &Document, got: &T, wanted: &T) {
        if wanted != got {
            self.found
                .push(format!("{what}: {p}\n  wanted {wanted:?}\n  got    {got:?}"));
        }
    }
}

fn with(options: &Document, hint: Bson) -> Document {
    let mut hinted = options.clone();
    hinted.insert("hint", hint);
    hinted
}

fn add(command: &mut Document, rules: &Option<Document>) {
    if let Some(rules) = rules {
        command.insert("collation", rules.clone());
    }
}

fn sorted(mut rows: Vec<RawDocumentBuf>) -> Vec<RawDocumentBuf> {
    rows.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    rows
}

fn id(row: &RawDocumentBuf) -> i64 {
    row.get_i32("_id").map_or(-1, i64::from)
}

fn number(value: Option<&Bson>) -> Option<i64> {
    match value? {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        Bson::Double(n) => Some(*n as i64),
        _ => None,
    }
}
