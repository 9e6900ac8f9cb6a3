//! The conditional writes, as expressions of update pipelines. Texts of users stand in `$literal`, never bare, and are
//! told apart by their bytes, whatever the collation of the collection.

use odm::bson::{Bson, DateTime, Document, bson, doc};

use super::checkout::{Checkout, Ending};
use super::inventory::Inventory;
use crate::exact;

/// What is written of one inventory at one time.
pub(super) struct Statement<'a, M> {
    pub(super) inventory: &'a Inventory<M>,
    pub(super) now: DateTime,
    pub(super) remember: i32,
}

/// Which elements of `checkout` an update takes out.
pub(super) enum Which<'a> {
    Expired,
    Hold(&'a str),
}

impl<M> Statement<'_, M> {
    /// As many are there, expired holds included; and the hold's id is new.
    pub(super) fn has_room(&self, quantity: i32, hold: Option<&str>) -> Document {
        let mut conditions = vec![doc! { "$expr": { "$gte": [self.free(), quantity] } }];
        if let Some(hold) = hold {
            let places = std::iter::once(&self.inventory.checkout).chain(&self.inventory.settled);
            conditions.extend(places.map(|place| exact::no_element(place, "hold", hold)));
        }
        doc! { "$and": conditions }
    }

    /// Takes out what has expired and puts this in.
    pub(super) fn check_out(&self, entry: &Checkout) -> Document {
        let mut element = doc! { "by": literal(&entry.by), "date": entry.date };
        if let Some(hold) = &entry.hold {
            element.insert("hold", literal(hold));
        }
        if let Some(until) = entry.until {
            element.insert("until", until);
        }
        if entry.quantity != 1 {
            element.insert("quantity", entry.quantity);
        }
        let kept = bson!({ "$concatArrays": [self.without(&Which::Expired), [element]] });
        let available = bson!({ "$subtract": [self.free(), entry.quantity] });
        self.set(kept, Some(available), &Which::Expired, Ending::Expired)
    }

    /// Gives the copies of these elements back.
    pub(super) fn check_in(&self, which: &Which<'_>, ending: Ending) -> Document {
        let available = bson!({ "$add": [self.available(), self.quantity(which)] });
        self.set(self.without(which), Some(available), which, ending)
    }

    /// Makes the copies of a hold sold ones.
    pub(super) fn sell(&self, hold: &str, sold: &str) -> Document {
        let which = Which::Hold(hold);
        let mut stage = self.set(self.without(&which), None, &which, Ending::Confirmed);
        let sum = bson!({ "$add": [{ "$ifNull": [format!("${sold}"), 0] }, self.quantity(&which)] });
        if let Ok(fields) = stage.get_document_mut("$set") {
            fields.insert(sold, sum);
        }
        stage
    }

    /// Makes so many copies of a hold sold ones, and gives the others back.
    pub(super) fn sell_part(&self, hold: &str, sold: &str, quantity: i32) -> Document {
        let which = Which::Hold(hold);
        let back = bson!({ "$subtract": [self.quantity(&which), quantity] });
        let available = bson!({ "$add": [self.available(), back] });
        let mut stage = self.set(self.without(&which), Some(available), &which, Ending::Confirmed);
        if let Ok(fields) = stage.get_document_mut("$set") {
            let sum = bson!({ "$add": [{ "$ifNull": [format!("${sold}"), 0] }, quantity] });
            fields.insert(sold, sum);
            if let Some(settled) = &self.inventory.settled
                && let Some(all) = fields.remove(settled)
            {
                // The last of them is this hold.
                let last = bson!({ "$arrayElemAt": ["$$all", -1] });
                let others = bson!({ "$slice": ["$$all", { "$subtract": [{ "$size": "$$all" }, 1] }] });
                let others = bson!({ "$cond": [{ "$gt": [{ "$size": "$$all" }, 1] }, others, []] });
                let last = bson!({ "$mergeObjects": [last, { "quantity": quantity }] });
                let told = bson!({ "$concatArrays": [others, [last]] });
                fields.insert(settled, doc! { "$let": { "vars": { "all": all }, "in": told } });
            }
        }
        stage
    }

    /// Lends so many copies of a hold for good, and gives the others back.
    pub(super) fn lend_part(&self, hold: &str, quantity: i32) -> Document {
        let which = Which::Hold(hold);
        let back = bson!({ "$subtract": [self.quantity(&which), quantity] });
        let available = bson!({ "$add": [self.available(), back] });
        let mut lent = doc! { "by": "$$e.by", "date": "$$e.date", "hold": "$$e.hold" };
        if quantity != 1 {
            lent.insert("quantity", quantity);
        }
        let checkout = bson!({ "$map": {
            "input": self.list(),
            "as": "e",
            "in": { "$cond": [self.is(&which), lent, "$$e"] },
        } });
        doc! { "$set": { &self.inventory.available: available, &self.inventory.checkout: checkout } }
    }

    /// Gives back the first loan of this person.
    pub(super) fn check_in_of(&self, by: &str) -> Document {
        let is_theirs = bson!({ "$and": [
            exact::is_text("$$e.by", by),
            { "$eq": [{ "$ifNull": ["$$e.until", Bson::Null] }, Bson::Null] },
        ] });
        let position = bson!({ "$indexOfArray": [
            { "$map": { "input": self.list(), "as": "e", "in": is_theirs } },
            true,
        ] });
        let quantity = bson!({ "$let": {
            "vars": { "e": { "$arrayElemAt": [self.list(), position.clone()] } },
            "in": { "$ifNull": ["$$e.quantity", 1] },
        } });
        let others = bson!({ "$let": { "vars": { "at": position.clone() }, "in": { "$map": {
            "input": { "$filter": {
                "input": { "$range": [0, { "$size": self.list() }] },
                "as": "i",
                "cond": { "$ne": ["$$i", "$$at"] },
            } },
            "as": "i",
            "in": { "$arrayElemAt": [self.list(), "$$i"] },
        } } } });
        let available = bson!({ "$add": [self.available(), quantity] });
        let mut fields = doc! { &self.inventory.available: available, &self.inventory.checkout: others };
        if let Some(settled) = &self.inventory.settled {
            let ended = bson!({ "$filter": {
                "input": { "$map": {
                    "input": [{ "$arrayElemAt": [self.list(), position] }],
                    "as": "e",
                    "in": { "hold": "$$e.hold", "ending": ending_text(Ending::Released), "at": self.now },
                } },
                "as": "e",
                "cond": { "$ne": [{ "$ifNull": ["$$e.hold", Bson::Null] }, Bson::Null] },
            } });
            fields.insert(settled, self.remembering(settled, ended));
        }
        doc! { "$set": fields }
    }

    /// The endings that are remembered, with these behind them.
    fn remembering(&self, settled: &str, ended: Bson) -> Document {
        let all = bson!({ "$concatArrays": [{ "$ifNull": [format!("${settled}"), []] }, ended] });
        doc! { "$slice": [all, -self.remember] }
    }

    /// The condition that a loan of this person is there.
    pub(super) fn has_loan(&self, by: &str) -> Document {
        let mut loan = exact::element("by", by);
        loan.insert("until", Bson::Null);
        doc! { &self.inventory.checkout: { "$elemMatch": loan } }
    }

    /// The condition that the hold is there and has not expired.
    pub(super) fn is_held(&self, hold: &str) -> Document {
        let mut element = exact::element("hold", hold);
        element.insert("until", doc! { "$gt": self.now });
        doc! { &self.inventory.checkout: { "$elemMatch": element } }
    }

    /// The condition that the hold is there, has not expired, and is of so many copies or more.
    pub(super) fn holds_as_many(&self, hold: &str, quantity: i32) -> Document {
        let mut element = exact::element("hold", hold);
        element.insert("until", doc! { "$gt": self.now });
        if quantity > 1 {
            element.insert("quantity", doc! { "$gte": quantity });
        }
        doc! { &self.inventory.checkout: { "$elemMatch": element } }
    }

    /// The condition that the hold is there, expired or not, or has become a loan.
    pub(super) fn is_out(&self, hold: &str) -> Document {
        doc! { &self.inventory.checkout: { "$elemMatch": exact::element("hold", hold) } }
    }

    /// The condition that something has expired.
    pub(super) fn has_expired(&self) -> Document {
        doc! { &self.inventory.checkout: { "$elemMatch": { "until": { "$lte": self.now } } } }
    }

    /// `available` as it follows from the rest, where that is not below 0.
    pub(super) fn balance(&self, stock: &str) -> (Document, Document) {
        let out = bson!({ "$sum": { "$map": {
            "input": self.list(), "as": "e", "in": { "$ifNull": ["$$e.quantity", 1] },
        } } });
        let sold = match &self.inventory.sold {
            Some(sold) => bson!({ "$ifNull": [format!("${sold}"), 0] }),
            None => Bson::Int32(0),
        };
        let rest = bson!({ "$subtract": [format!("${stock}"), { "$add": [out, sold] }] });
        let condition = doc! { "$expr": { "$gte": [rest.clone(), 0] } };
        (condition, doc! { "$set": { &self.inventory.available: rest } })
    }

    fn set(&self, kept: Bson, available: Option<Bson>, which: &Which<'_>, ending: Ending) -> Document {
        let mut fields = doc! { &self.inventory.checkout: kept };
        if let Some(available) = available {
            fields.insert(&self.inventory.available, available);
        }
        if let Some(settled) = &self.inventory.settled {
            let ended = bson!({ "$map": {
                "input": { "$filter": {
                    "input": self.list(),
                    "as": "e",
                    "cond": { "$and": [
                        self.is(which),
                        { "$ne": [{ "$ifNull": ["$$e.hold", Bson::Null] }, Bson::Null] },
                    ] },
                } },
                "as": "e",
                "in": { "hold": "$$e.hold", "ending": ending_text(ending), "at": self.now },
            } });
            fields.insert(settled, self.remembering(settled, ended));
        }
        doc! { "$set": fields }
    }

    /// What could be taken now.
    fn free(&self) -> Bson {
        bson!({ "$add": [self.available(), self.quantity(&Which::Expired)] })
    }

    fn available(&self) -> Bson {
        Bson::String(format!("${}", self.inventory.available))
    }

    fn list(&self) -> Bson {
        bson!({ "$ifNull": [format!("${}", self.inventory.checkout), []] })
    }

    fn without(&self, which: &Which<'_>) -> Bson {
        bson!({ "$filter": { "input": self.list(), "as": "e", "cond": { "$not": [self.is(which)] } } })
    }

    fn quantity(&self, which: &Which<'_>) -> Bson {
        bson!({ "$sum": { "$map": {
            "input": { "$filter": { "input": self.list(), "as": "e", "cond": self.is(which) } },
            "as": "e",
            "in": { "$ifNull": ["$$e.quantity", 1] },
        } } })
    }

    /// Whether `$$e` is one of these.
    fn is(&self, which: &Which<'_>) -> Bson {
        match which {
            Which::Expired => bson!({ "$lte": [{ "$ifNull": ["$$e.until", DateTime::MAX] }, self.now] }),
            Which::Hold(hold) => exact::is_text("$$e.hold", hold),
        }
    }
}

fn literal(text: &str) -> Document {
    doc! { "$literal": text }
}

fn ending_text(ending: Ending) -> &'static str {
    match ending {
        Ending::Confirmed => "confirmed",
        Ending::Released => "released",
        Ending::Expired => "expired",
    }
}
