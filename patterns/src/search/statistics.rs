//! The statistics collection: in how many documents each term stands, as it was counted.
//!
//! A count has a number of its own, which is written beside all that it counted. What it did not meet any more has a
//! smaller one, and is passed over once the count is done. So a count that ends in the middle, is run again, or runs
//! beside another, leaves each figure as one of them counted it.

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Collection, Db, Model};
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::error::Result;
use super::keywords::{LENGTH, TERMS};
use crate::exact::by_bytes;
use crate::hexadecimal::hexadecimal;
use crate::{own, still};

const TOTALS: &str = "totals";

/// The collection of the counts.
#[derive(Clone, Debug)]
pub(super) struct Statistics {
    db: Db,
    name: String,
    /// What the `_id`s of a tenant's counts begin with.
    tenant: odm::Result<String>,
}

/// The count of a term.
#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "term_counts")]
struct TermCount {
    #[serde(rename = "_id")]
    id: String,
    n: i64,
    g: i64,
}

/// The counts of all documents, as they are stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Totals {
    pub(super) number: i64,
    pub(super) documents: i64,
    pub(super) length: f64,
    pub(super) terms: i64,
    pub(super) begun: DateTime,
    pub(super) scheme: String,
}

impl Statistics {
    /// Those of a model's documents. One kind of a collection's documents has counts of its own, and so has a tenant.
    pub(super) fn new<M: Model>(db: &Db, documents: &Collection<M>, field: &str) -> Statistics {
        let collection = documents.name();
        Statistics {
            db: db.clone(),
            tenant: documents.tenant().and_then(|tenant| match tenant {
                // No digit follows, so that none begins as another one does.
                Some((_, value)) => Ok(hexadecimal(still::encoded(&doc! { "": value })?.as_bytes())),
                None => Ok(String::new()),
            }),
            name: match M::DESCRIPTOR.kind {
                Some(kind) => format!("{collection}_{field}_{}", kind.name),
                None => format!("{collection}_{field}"),
            },
        }
    }

    fn stored(&self) -> Collection<Document> {
        self.db.raw_collection(&self.name)
    }

    /// What the `_id`s of terms begin with: apart from the totals, whatever the term is.
    fn all(&self) -> odm::Result<String> {
        Ok(format!("{}t:", self.tenant.as_ref().map_err(Clone::clone)?))
    }

    /// The condition on the `_id`s of all terms.
    fn terms(&self) -> odm::Result<Document> {
        let tenant = self.tenant.as_ref().map_err(Clone::clone)?;
        Ok(doc! { "$gte": format!("{tenant}t:"), "$lt": format!("{tenant}t;") })
    }

    fn totals_id(&self) -> odm::Result<String> {
        let tenant = self.tenant.as_ref().map_err(Clone::clone)?;
        Ok(format!("{tenant}{TOTALS}"))
    }

    /// The totals and the counts of these terms. One round trip.
    pub(super) async fn counts(&self, terms: &[&str]) -> Result<Option<Counts>> {
        let (all, totals_id) = (self.all()?, self.totals_id()?);
        let ids = terms.iter().map(|term| format!("{all}{term}")).chain([totals_id]);
        let ids: Vec<String> = ids.collect();
        let found = self.stored().find(doc! { "_id": { "$in": ids } }).await?;
        let Some(totals) = found.iter().find_map(totals) else {
            return Ok(None);
        };
        let known = found.iter().filter(|count| number(count, "g") >= totals.number);
        let terms = known.filter_map(|count| Some((term_of(count, &all)?, number(count, "n") as f64)));
        Ok(Some(Counts {
            documents: totals.documents as f64,
            mean_length: totals.length / (totals.documents as f64).max(1.0),
            terms: terms.collect(),
        }))
    }

    pub(super) async fn totals(&self) -> Result<Option<Totals>> {
        let found = self.stored().get(Bson::from(self.totals_id()?)).await?;
        Ok(found.as_ref().and_then(totals))
    }

    /// The commonest terms that begin so, with their counts.
    pub(super) async fn beginning(&self, beginning: &str, most: u64) -> Result<Vec<(String, f64)>> {
        let Some(totals) = self.totals().await? else {
            return Ok(Vec::new());
        };
        let all = self.all()?;
        let range =
            doc! { "$gte": format!("{all}{beginning}"), "$lt": format!("{all}{beginning}{}", char::MAX) };
        let filter = doc! { "_id": range, "g": { "$gte": totals.number } };
        let found = self
            .stored()
            .find(filter)
            .sort_raw(doc! { "n": -1, "_id": 1 })
            .limit(most)
            .await?;
        let terms = found
            .iter()
            .filter_map(|count| Some((term_of(count, &all)?, number(count, "n") as f64)));
        Ok(terms.collect())
    }

    /// Counts all anew.
    pub(super) async fn recount<M: Model>(
        &self,
        documents: &Collection<M>,
        field: &str,
        scheme: &str,
    ) -> Result<()> {
        let stored = self.stored();
        let (all, totals_id, terms) = (self.all()?, self.totals_id()?, self.terms()?);
        let begun = self.db.now();
        let claim = doc! { "$inc": { "claimed": 1_i64 } };
        let claimed = stored
            .find_one_and_update(doc! { "_id": &totals_id }, claim)
            .upsert()
            .return_new()
            .await?;
        let mine = claimed.as_ref().map_or(1, |claimed| number(claimed, "claimed"));
        let newer = doc! { "$gte": ["$$new.g", "$g"] };
        let merge = doc! {
            "into": &self.name,
            "on": "_id",
            "whenMatched": [{ "$set": {
                "n": { "$cond": [newer, "$$new.n", "$n"] },
                "g": { "$max": ["$$new.g", "$g"] },
            } }],
            "whenNotMatched": "insert",
        };
        let mut stages = count_stages::<M>(field);
        stages.push(doc! { "$project": {
            "_id": { "$concat": [{ "$literal": all }, "$_id"] },
            "n": 1,
            "g": { "$literal": mine },
        } });
        stages.push(doc! { "$merge": merge });
        let raw = documents.raw();
        // The words are told apart by their bytes, and so are the `_id`s that they are merged by.
        raw.aggregate_raw(stages)
            .naming(&self.db.collection_named::<TermCount>(&self.name))
            .collation(by_bytes())
            .allow_disk_use()
            .await?;
        let (documents, length) = self.measured(documents, field).await?;
        let counted = stored
            .count(doc! { "_id": &terms, "g": { "$gte": mine } })
            .await?;
        let is_latest = doc! { "_id": totals_id, "number": { "$not": { "$gte": mine } } };
        let done = doc! {
            "number": mine,
            "documents": documents,
            "length": length,
            "terms": i64::try_from(counted).unwrap_or(i64::MAX),
            "begun": begun,
            "scheme": scheme,
        };
        stored.update_one(is_latest, doc! { "$set": done }).await?;
        stored
            .delete_many(doc! { "_id": terms, "g": { "$lt": mine } })
            .await?;
        Ok(())
    }

    /// How many documents have keywords now, and how long they are in all.
    pub(super) async fn measured<M: Model>(
        &self,
        documents: &Collection<M>,
        field: &str,
    ) -> Result<(i64, f64)> {
        let stages = [
            doc! { "$match": own::of_kind::<M>(doc! { field: { "$exists": true } }) },
            doc! { "$group": {
                "_id": null,
                "documents": { "$sum": 1_i64 },
                "length": { "$sum": format!("${field}.{LENGTH}") },
            } },
        ];
        let found = documents.raw().aggregate_raw(stages).await?;
        let all = found.first();
        let length = all.and_then(|all| all.get("length")).map_or(0.0, as_f64);
        Ok((all.map_or(0, |all| number(all, "documents")), length))
    }

    /// The terms whose counts are not what the documents say: term, stored, actual.
    pub(super) async fn differences<M: Model>(
        &self,
        documents: &Collection<M>,
        field: &str,
    ) -> Result<Vec<(String, i64, i64)>> {
        let least = self.totals().await?.map_or(0, |totals| totals.number);
        let (begin, mut stored) = (self.all()?, std::collections::BTreeMap::new());
        let mut all = self
            .stored()
            .find(doc! { "_id": self.terms()?, "g": { "$gte": least } })
            .stream();
        while let Some(count) = all.try_next().await? {
            if let Some(term) = term_of(&count, &begin) {
                stored.insert(term, number(&count, "n"));
            }
        }
        let mut differences = Vec::new();
        let mut actual = documents
            .raw()
            .aggregate_raw(count_stages::<M>(field))
            .collation(by_bytes())
            .allow_disk_use()
            .stream();
        while let Some(count) = actual.try_next().await? {
            let Ok(term) = count.get_str("_id") else { continue };
            let (known, n) = (stored.remove(term).unwrap_or_default(), number(&count, "n"));
            if known != n {
                differences.push((term.to_owned(), known, n));
            }
        }
        differences.extend(stored.into_iter().map(|(term, known)| (term, known, 0)));
        differences.sort();
        Ok(differences)
    }
}

/// The stages that give `{_id: term, n: count}`.
fn count_stages<M: Model>(field: &str) -> Vec<Document> {
    let mut stages = match M::DESCRIPTOR.kind {
        Some(_) => vec![doc! { "$match": own::of_kind::<M>(Document::new()) }],
        None => Vec::new(),
    };
    stages.extend([
        doc! { "$project": { "_id": 0, "t": format!("${field}.{TERMS}") } },
        doc! { "$unwind": "$t" },
        doc! { "$match": { "t": { "$type": "string" } } },
        doc! { "$group": { "_id": "$t", "n": { "$sum": 1_i64 } } },
    ]);
    stages
}

fn term_of(count: &Document, all: &str) -> Option<String> {
    let id = count.get_str("_id").ok()?;
    id.strip_prefix(all).map(str::to_owned)
}

/// The totals; of a document that is those of a count which was done.
fn totals(stored: &Document) -> Option<Totals> {
    stored.contains_key("number").then(|| Totals {
        number: number(stored, "number"),
        documents: number(stored, "documents"),
        length: stored.get("length").map_or(0.0, as_f64),
        terms: number(stored, "terms"),
        begun: stored
            .get_datetime("begun")
            .copied()
            .unwrap_or(DateTime::from_millis(0)),
        scheme: stored.get_str("scheme").unwrap_or_default().to_owned(),
    })
}

pub(super) fn number(document: &Document, name: &str) -> i64 {
    match document.get(name) {
        Some(Bson::Int32(value)) => (*value).into(),
        Some(Bson::Int64(value)) => *value,
        Some(Bson::Double(value)) => *value as i64,
        _ => 0,
    }
}

pub(super) fn as_f64(value: &Bson) -> f64 {
    match value {
        Bson::Double(value) => *value,
        Bson::Int32(value) => f64::from(*value),
        Bson::Int64(value) => *value as f64,
        _ => 0.0,
    }
}
