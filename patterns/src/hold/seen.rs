//! What a stored document says of its copies.

use odm::Model;
use odm::bson::{Bson, DateTime, Document};

use super::checkout::{Checkout, Ending};
use super::inventory::Inventory;
use crate::dotted::{elements_at, value_at};

/// How many copies there are, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stock {
    /// What `available` says.
    pub available: i64,
    /// How many are out: lent, held, or held by what has expired and was not swept yet.
    pub held: i64,
    /// How many of those are of expired holds, and can be taken.
    pub expired: i64,
    /// How many are sold.
    pub sold: i64,
    /// How many there are in all, where the model says it.
    pub stock: Option<i64>,
}

/// A stored document, as far as an inventory goes.
pub(super) struct Seen {
    pub(super) stock: Stock,
    pub(super) entries: Vec<(Option<String>, String, Option<DateTime>, i64)>,
    /// The hold, how it ended, and of how many copies that was said.
    settled: Vec<(String, String, Option<i64>)>,
    /// Whether it is softly deleted: nobody gets copies of it any more, and what is held stays held.
    pub(super) is_deleted: bool,
}

impl Seen {
    pub(super) fn read<M: Model>(inventory: &Inventory<M>, now: DateTime, document: &Document) -> Seen {
        let number = |path: &str| value_at(document, path).map_or(0, integer);
        let entries: Vec<_> = elements_at(document, &inventory.checkout)
            .map(|entry| {
                (
                    entry.get_str("hold").ok().map(str::to_owned),
                    entry.get_str("by").unwrap_or_default().to_owned(),
                    entry.get_datetime("until").ok().copied(),
                    entry.get("quantity").map_or(1, integer),
                )
            })
            .collect();
        let is_over = |until: &Option<DateTime>| until.is_some_and(|until| until <= now);
        Seen {
            stock: Stock {
                available: number(&inventory.available),
                held: entries.iter().map(|(.., quantity)| quantity).sum(),
                expired: entries
                    .iter()
                    .filter(|(_, _, until, _)| is_over(until))
                    .map(|(.., quantity)| quantity)
                    .sum(),
                sold: inventory.sold.as_deref().map_or(0, number),
                stock: inventory.stock.as_deref().map(number),
            },
            entries,
            is_deleted: false,
            settled: elements_at(document, inventory.settled.as_deref().unwrap_or_default())
                .filter_map(|end| {
                    let text = |name| end.get_str(name).ok().map(str::to_owned);
                    let (hold, ending) = text("hold").zip(text("ending"))?;
                    Some((hold, ending, end.get("quantity").map(integer)))
                })
                .collect(),
        }
    }

    pub(super) fn entry(&self, hold: &str) -> Option<(Option<DateTime>, i64)> {
        let mut entries = self.entries.iter();
        let found = entries.find(|(own, ..)| own.as_deref() == Some(hold));
        found.map(|(_, _, until, quantity)| (*until, *quantity))
    }

    /// The hold of this id, and whether it is of the same person and number.
    pub(super) fn entry_like(&self, hold: &str, entry: &Checkout) -> Option<(Option<DateTime>, bool)> {
        let mut entries = self.entries.iter();
        let found = entries.find(|(own, ..)| own.as_deref() == Some(hold));
        found.map(|(_, by, until, quantity)| {
            (*until, *by == entry.by && *quantity == i64::from(entry.quantity))
        })
    }

    /// Of how many copies it was said that they are confirmed; none where that is the whole hold.
    pub(super) fn part(&self, hold: &str) -> Option<i64> {
        self.end(hold).and_then(|(.., quantity)| *quantity)
    }

    fn end(&self, hold: &str) -> Option<&(String, String, Option<i64>)> {
        self.settled.iter().rev().find(|(own, ..)| own == hold)
    }

    pub(super) fn ending(&self, hold: &str) -> Option<Ending> {
        match self.end(hold).map(|(_, ending, _)| ending.as_str()) {
            Some("confirmed") => Some(Ending::Confirmed),
            Some("released") => Some(Ending::Released),
            Some("expired") => Some(Ending::Expired),
            _ => None,
        }
    }
}

fn integer(value: &Bson) -> i64 {
    match value {
        Bson::Int32(number) => i64::from(*number),
        Bson::Int64(number) => *number,
        Bson::Double(number) => *number as i64,
        _ => 0,
    }
}
