//! Lists held against what is kept of them.

use odm::bson::{Bson, Document, doc};
use odm::{ArrayType, Collection, Filter, Model, Result};

use super::list::{Recent, has_key};
use crate::keyed::integer;

/// What is wrong with a document's list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecentProblem {
    /// The document's `_id`.
    pub id: Bson,
    /// What is wrong.
    pub kind: RecentProblemKind,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecentProblemKind {
    /// There are more elements than are kept.
    TooLong {
        /// How many there are.
        length: i64,
    },
    /// The elements are not in the order.
    NotSorted,
    /// A key is there more than once: of elements that have one.
    Repeated,
    /// The field holds something else.
    NotAList,
}

impl<M: Model, A: ArrayType> Recent<M, A> {
    /// Looks through the lists of all documents. The database examines the whole collection, and sends what is wrong.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self, collection: &Collection<M>) -> Result<Vec<RecentProblem>> {
        let mut problems = Vec::new();
        let mut found = collection
            .aggregate_raw(self.audit()?)
            .decode::<Document>()
            .stream();
        while let Some(report) = found.try_next().await? {
            let id = report.get("_id").cloned().unwrap_or(Bson::Null);
            let mut add = |kind| problems.push(RecentProblem { id: id.clone(), kind });
            if !report.get_bool("is_list").unwrap_or(true) {
                add(RecentProblemKind::NotAList);
                continue;
            }
            let length = report.get("length").and_then(integer).unwrap_or(0);
            if length > i64::from(self.size()) {
                add(RecentProblemKind::TooLong { length });
            }
            if !report.get_bool("is_sorted").unwrap_or(true) {
                add(RecentProblemKind::NotSorted);
            }
            if !report.get_bool("is_unique").unwrap_or(true) {
                add(RecentProblemKind::Repeated);
            }
        }
        Ok(problems)
    }

    /// Brings the lists into order and cuts them, each in one update; gives what is left: fields that hold no list.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn repair(&self, collection: &Collection<M>) -> Result<Vec<RecentProblem>> {
        let mut left = Vec::new();
        let mut done = None;
        for problem in self.verify(collection).await? {
            if problem.kind == RecentProblemKind::NotAList {
                left.push(problem);
                continue;
            }
            if done.as_ref() != Some(&problem.id) {
                let update = self.tidy()?;
                let this = Filter::raw(doc! { "_id": { "$eq": &problem.id } });
                collection.update_one(|_| this, |_| update).await?;
                done = Some(problem.id);
            }
        }
        Ok(left)
    }

    /// The pipeline that finds what is wrong.
    fn audit(&self) -> Result<Vec<Document>> {
        let path = self.path();
        let field = format!("${path}");
        let list = doc! { "$cond": [{ "$isArray": &field }, &field, []] };
        let mut report = doc! {
            "is_list": { "$or": [{ "$isArray": &field }, { "$eq": [{ "$ifNull": [&field, Bson::Null] }, Bson::Null] }] },
            "length": { "$size": list.clone() },
        };
        let mut wrong = vec![
            doc! { "is_list": false },
            doc! { "length": { "$gt": i64::from(self.size()) } },
        ];
        if let Some(order) = self.order() {
            let order = order.clone()?;
            // Only what is sorted by: elements that are alike in it may be in any order.
            let (keys, order) = match order.as_document() {
                None => (list.clone(), order),
                Some(fields) => {
                    let mut part = Document::new();
                    let mut by = Document::new();
                    for (index, (name, direction)) in fields.iter().enumerate() {
                        let value = doc! { "$ifNull": [format!("$$this.{name}"), Bson::Null] };
                        part.insert(format!("k{index}"), value);
                        by.insert(format!("k{index}"), direction);
                    }
                    (
                        doc! { "$map": { "input": list.clone(), "in": part } },
                        Bson::Document(by),
                    )
                }
            };
            let sorted = doc! { "$sortArray": { "input": keys.clone(), "sortBy": order } };
            report.insert("is_sorted", doc! { "$eq": [keys, sorted] });
            wrong.push(doc! { "is_sorted": false });
        }
        if let Some(unique) = self.unique_path() {
            let keys = match unique {
                "" => list,
                path => {
                    let keyed = doc! { "$filter": { "input": list, "cond": has_key(path) } };
                    doc! { "$map": { "input": keyed, "in": format!("$$this.{path}") } }
                }
            };
            let different = doc! { "$size": { "$setUnion": [keys.clone(), []] } };
            report.insert("is_unique", doc! { "$eq": [different, { "$size": keys }] });
            wrong.push(doc! { "is_unique": false });
        }
        Ok(vec![
            doc! { "$project": report },
            doc! { "$match": { "$or": wrong } },
        ])
    }
}
