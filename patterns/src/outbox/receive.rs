//! Handling events by one conditional update of the consumer's own document.

use std::collections::BTreeMap;

use odm::{Field, Filter, Update};

use super::inbox::{Received, judged};

/// What can be done with the sequences that a consumer's document has seen, a field `BTreeMap<String, i64>`, in the update
/// by which an event is handled:
///
/// ```
/// use std::collections::BTreeMap;
/// use odm::{Db, Model};
/// use odm_patterns::outbox::{Receive, Received};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Report {
///     #[serde(rename = "_id")]
///     id: i32,
///     total: i64,
///     seen: BTreeMap<String, i64>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let reports = Db::open("memory:").await?.collection::<Report>();
/// reports.insert(Report { id: 1, total: 0, seen: BTreeMap::new() }).await?;
/// for (sequence, amount) in [(1, 10), (1, 10), (2, 5)] {
///     let r = Report::fields();
///     let new = r.id.eq(1) & r.seen.is_next("shop.orders", sequence);
///     reports.update_one(|_| new, |r| r.total.inc(amount) & r.seen.set_seen("shop.orders", sequence)).await?;
/// }
/// let report = reports.get(1).required().await?;
/// assert_eq!(report.total, 15);
/// // Why nothing matched, when nothing did.
/// let judge = |sequence| odm::Field::<Report, _>::judge(&report.seen, "shop.orders", sequence);
/// assert_eq!((judge(2), judge(4)), (Received::Before, Received::Gap { expected: 3 }));
/// # Ok(())
/// # }
/// ```
pub trait Receive<R> {
    /// The event is the next one of its source: the condition of the update that handles it.
    fn is_next(&self, source: &str, sequence: i64) -> Filter<R>;

    /// The event is the last one that was handled: a part of the same update.
    fn set_seen(&self, source: &str, sequence: i64) -> Update<R>;

    /// What an event is to a document with these sequences.
    fn judge(seen: &BTreeMap<String, i64>, source: &str, sequence: i64) -> Received<()>;
}

impl<R> Receive<R> for Field<R, BTreeMap<String, i64>> {
    fn is_next(&self, source: &str, sequence: i64) -> Filter<R> {
        match sequence {
            ..1 => Filter::none(),
            1 => self.key(name(source)).missing(),
            _ => self.key(name(source)).eq(sequence - 1),
        }
    }

    fn set_seen(&self, source: &str, sequence: i64) -> Update<R> {
        self.key(name(source)).set(sequence)
    }

    fn judge(seen: &BTreeMap<String, i64>, source: &str, sequence: i64) -> Received<()> {
        judged(seen.get(&name(source)).copied().unwrap_or(0), sequence)
    }
}

/// The source as the name of a field: what names cannot hold is escaped, reversibly.
fn name(source: &str) -> String {
    let mut name = String::from("s:");
    for letter in source.chars() {
        match letter {
            '%' => name.push_str("%25"),
            '.' => name.push_str("%2e"),
            '\0' => name.push_str("%00"),
            letter => name.push(letter),
        }
    }
    name
}
