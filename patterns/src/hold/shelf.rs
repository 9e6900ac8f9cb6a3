//! The operations.

use std::fmt;

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Filter, Operand, Update};

use super::checkout::{Checkout, Ending};
use super::error::HoldError;
use super::inventory::{Inventory, Stocked};
use super::seen::{Seen, Stock};
use super::statement::{Statement, Which};

/// The documents of a model with copies to take and hold. Cheap to clone. Made in a transaction (`Shelf::new(&tx)`), its operations are
/// part of it.
pub struct Shelf<M> {
    pub(super) db: Db,
    pub(super) collection: Collection<M>,
    pub(super) inventory: Inventory<M>,
    remember: i32,
}

/// Whether an operation on a hold did something, or had done it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answered {
    /// It did.
    Now,
    /// The same operation was sent before; nothing was changed.
    Before,
}

impl<M: Stocked> Shelf<M> {
    /// The documents of the model's own collection.
    pub fn new(db: &Db) -> Shelf<M> {
        Shelf::of(db, db.collection())
    }

    /// The documents of another collection of the same database.
    pub fn of(db: &Db, collection: Collection<M>) -> Shelf<M> {
        Shelf {
            db: db.clone(),
            collection,
            inventory: M::inventory(M::fields()),
            remember: 100,
        }
    }

    /// How many ended holds each document remembers, where the model has a field for them. At least 1.
    pub fn remember(mut self, holds: u16) -> Shelf<M> {
        self.remember = i32::from(holds.max(1));
        self
    }

    /// Takes a copy for somebody, until [`give_back`](Shelf::give_back). The manual's checkout.
    ///
    /// Sent twice it takes two: where a lost reply matters, use [`hold`](Shelf::hold) and
    /// [`confirm`](Shelf::confirm), or [`hold_for_good`](Shelf::hold_for_good).
    ///
    /// # Errors
    /// `SoldOut`, `NoItem`.
    pub async fn take(&self, id: impl Operand<M::Key>, by: &str) -> Result<(), HoldError> {
        let id = id.with_operand(Clone::clone);
        let entry = Checkout::new(by, self.db.now());
        self.check_out(&id, &entry).await.map(drop)
    }

    /// Gives back what [`take`](Shelf::take) took for somebody, or what was lent by a hold: the longest-held of it, with all
    /// its copies. A hold has ended then, as if it were [released](Shelf::release).
    ///
    /// # Errors
    /// `UnknownHold` when this person has none, `NoItem`.
    pub async fn give_back(&self, id: impl Operand<M::Key>, by: &str) -> Result<(), HoldError> {
        let id = id.with_operand(Clone::clone);
        let statement = self.statement();
        let back = Update::pipeline([statement.check_in_of(by)]);
        match self.end(&id, statement.has_loan(by), back).await? {
            true => Ok(()),
            false => self.look(&id).await.and(Err(HoldError::UnknownHold)),
        }
    }

    /// Holds copies for somebody until a time. The id is the caller's: the id of the order, say.
    ///
    /// # Errors
    /// `SoldOut`, `NoItem`; `Expired`, `AlreadyConfirmed`, `AlreadyReleased` when the hold of this id has ended;
    /// `OtherHold` when the id is that of other copies; `Database` of kind `InvalidArgument` for fewer than 1 copy, or for more
    /// than 2,147,483,647.
    pub async fn hold(
        &self,
        id: impl Operand<M::Key>,
        hold: &str,
        by: &str,
        quantity: u32,
        until: DateTime,
    ) -> Result<Answered, HoldError> {
        let id = id.with_operand(Clone::clone);
        self.check_out(&id, &self.entry(hold, by, quantity, Some(until))?)
            .await
    }

    /// Takes copies for somebody as [`take`](Shelf::take) does, under an id: sent twice it takes them once, and
    /// [`release`](Shelf::release) gives them back.
    ///
    /// # Errors
    /// As [`hold`](Shelf::hold).
    pub async fn hold_for_good(
        &self,
        id: impl Operand<M::Key>,
        hold: &str,
        by: &str,
        quantity: u32,
    ) -> Result<Answered, HoldError> {
        let id = id.with_operand(Clone::clone);
        self.check_out(&id, &self.entry(hold, by, quantity, None)?).await
    }

    /// Keeps what is held: its copies are sold, or, where the model does not count what is sold, lent for good.
    ///
    /// # Errors
    /// `Expired`, `UnknownHold`, `AlreadyReleased`, `NoItem`.
    pub async fn confirm(&self, id: impl Operand<M::Key>, hold: &str) -> Result<Answered, HoldError> {
        let id = id.with_operand(Clone::clone);
        let statement = self.statement();
        let keep = match &self.inventory.sold {
            Some(sold) => Update::pipeline([statement.sell(hold, sold)]),
            None => {
                let until = format!("{}.$.until", self.inventory.checkout);
                Update::raw(doc! { "$unset": { until: "" } })
            }
        };
        if self.end(&id, statement.is_held(hold), keep).await? {
            return Ok(Answered::Now);
        }
        let seen = self.look(&id).await?;
        match (seen.entry(hold), seen.ending(hold)) {
            // Without a field for sold copies, this is what confirming makes of a hold.
            (Some((None, _)), _) if self.inventory.sold.is_none() => Ok(Answered::Before),
            (Some((None, _)), _) => Err(HoldError::AlreadyConfirmed),
            (Some(_), _) => Err(HoldError::Expired),
            (None, Some(Ending::Confirmed)) if seen.part(hold).is_none() => Ok(Answered::Before),
            (None, ending) => Err(refusal(ending)),
        }
    }

    /// Keeps so many copies of what is held, as [`confirm`](Shelf::confirm) does, and gives the others back, in one write:
    /// 100 are authorized, 80 are captured. The hold has ended then.
    ///
    /// # Errors
    /// As [`confirm`](Shelf::confirm); `MoreThanHeld`; `AlreadyConfirmed` when other copies of it were confirmed before;
    /// `Database` of kind `InvalidArgument` for fewer than 1 copy.
    pub async fn confirm_part(
        &self,
        id: impl Operand<M::Key>,
        hold: &str,
        quantity: u32,
    ) -> Result<Answered, HoldError> {
        let id = id.with_operand(Clone::clone);
        let statement = self.statement();
        let part = match i32::try_from(quantity) {
            Ok(0) => {
                let message = "at least one copy is confirmed; to give all of them back, release the hold";
                return Err(Error::new(ErrorKind::InvalidArgument, message).into());
            }
            // More than any hold has.
            other => other.unwrap_or(i32::MAX),
        };
        let stage = match &self.inventory.sold {
            Some(sold) => statement.sell_part(hold, sold, part),
            None => statement.lend_part(hold, part),
        };
        if i64::from(part) == i64::from(quantity)
            && self
                .write(&id, statement.holds_as_many(hold, part), stage)
                .await?
        {
            return Ok(Answered::Now);
        }
        let seen = self.look(&id).await?;
        let is_same = |known: Option<i64>| known == Some(i64::from(quantity));
        match (seen.entry(hold), seen.ending(hold)) {
            (Some((None, known)), _) if self.inventory.sold.is_none() && is_same(Some(known)) => {
                Ok(Answered::Before)
            }
            (Some((None, _)), _) => Err(HoldError::AlreadyConfirmed),
            (Some((Some(until), _)), _) if until <= self.db.now() => Err(HoldError::Expired),
            (Some((_, held)), _) => Err(HoldError::MoreThanHeld { held }),
            (None, Some(Ending::Confirmed)) if is_same(seen.part(hold)) => Ok(Answered::Before),
            (None, ending) => Err(refusal(ending)),
        }
    }

    /// Gives back what is held, or what [`hold_for_good`](Shelf::hold_for_good) took. Of a hold that has ended in
    /// another way than by a sale, nothing is left to give back, which is no error.
    ///
    /// # Errors
    /// `AlreadyConfirmed`, `UnknownHold`, `NoItem`.
    pub async fn release(&self, id: impl Operand<M::Key>, hold: &str) -> Result<Answered, HoldError> {
        let id = id.with_operand(Clone::clone);
        let statement = self.statement();
        let back = Update::pipeline([statement.check_in(&Which::Hold(hold), Ending::Released)]);
        if self.end(&id, statement.is_out(hold), back).await? {
            return Ok(Answered::Now);
        }
        match self.look(&id).await?.ending(hold) {
            Some(Ending::Released | Ending::Expired) => Ok(Answered::Before),
            ending => Err(refusal(ending)),
        }
    }

    /// Gives a hold another end.
    ///
    /// # Errors
    /// `Expired`, `UnknownHold`, `AlreadyConfirmed`, `AlreadyReleased`, `NoItem`.
    pub async fn extend(
        &self,
        id: impl Operand<M::Key>,
        hold: &str,
        until: DateTime,
    ) -> Result<(), HoldError> {
        let id = id.with_operand(Clone::clone);
        let statement = self.statement();
        let change = doc! { "$set": { format!("{}.$.until", self.inventory.checkout): until } };
        if self
            .end(&id, statement.is_held(hold), Update::raw(change))
            .await?
        {
            return Ok(());
        }
        let seen = self.look(&id).await?;
        Err(match (seen.entry(hold), seen.ending(hold)) {
            (Some((None, _)), _) => HoldError::AlreadyConfirmed,
            (Some(_), _) => HoldError::Expired,
            (None, ending) => refusal(ending),
        })
    }

    /// Takes back what has expired of one document. Says whether there was something.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn expire(&self, id: impl Operand<M::Key>) -> Result<bool, HoldError> {
        let id = id.with_operand(Clone::clone);
        let statement = self.statement();
        let back = Update::pipeline([statement.check_in(&Which::Expired, Ending::Expired)]);
        self.end(&id, statement.has_expired(), back).await
    }

    /// Takes back what has expired of all documents, each by itself, and says of how many. An index on
    /// `checkout.until` keeps it from reading all of them.
    ///
    /// # Errors
    /// Those of the database; documents that were swept before stay so.
    pub async fn sweep(&self) -> Result<u64, HoldError> {
        let statement = self.statement();
        let back = statement.check_in(&Which::Expired, Ending::Expired);
        let update = self.collection.update_many(
            |_| Filter::raw(statement.has_expired()),
            |_| Update::pipeline([back]),
        );
        Ok(update.with_deleted().unscoped().await?.modified)
    }

    /// Adds copies, or takes some away that are available.
    ///
    /// # Errors
    /// `SoldOut` when fewer than that are available, `NoItem`; `DoesNotFit` when a field that is stored as a 32-bit number
    /// would become a 64-bit one.
    pub async fn restock(&self, id: impl Operand<M::Key>, more: i32) -> Result<(), HoldError> {
        let id = id.with_operand(Clone::clone);
        let mut change = doc! { &self.inventory.available: more };
        if let Some(stock) = &self.inventory.stock {
            change.insert(stock, more);
        }
        let mut conditions = vec![fits(&self.inventory.available, more)];
        conditions.extend(self.inventory.stock.as_deref().map(|stock| fits(stock, more)));
        if more < 0 {
            let least = doc! { "$gte": i64::from(more).abs() };
            conditions.push(doc! { &self.inventory.available: least });
        }
        let condition = doc! { "$and": conditions };
        if self
            .write_operators(&id, condition, doc! { "$inc": change })
            .await?
        {
            return Ok(());
        }
        let available = self.look_at_item(&id).await?.stock.available;
        Err(match more < 0 && available < i64::from(more).abs() {
            true => HoldError::SoldOut { available },
            false => HoldError::DoesNotFit {
                id: self.collection.encode_key(&id)?,
            },
        })
    }

    /// How many copies of a document there are, and where; of a softly deleted one too, where what is out comes to its end.
    ///
    /// # Errors
    /// `NoItem`.
    pub async fn stock(&self, id: impl Operand<M::Key>) -> Result<Stock, HoldError> {
        let id = id.with_operand(Clone::clone);
        Ok(self.look(&id).await?.stock)
    }

    fn entry(
        &self,
        hold: &str,
        by: &str,
        quantity: u32,
        until: Option<DateTime>,
    ) -> Result<Checkout, HoldError> {
        match i32::try_from(quantity) {
            Ok(quantity @ 1..) => Ok(Checkout {
                hold: Some(hold.to_owned()),
                until,
                quantity,
                ..Checkout::new(by, self.db.now())
            }),
            _ => {
                let message = "at least one copy and at most 2147483647 can be held";
                Err(Error::new(ErrorKind::InvalidArgument, message).into())
            }
        }
    }

    async fn check_out(&self, id: &M::Key, entry: &Checkout) -> Result<Answered, HoldError> {
        let statement = self.statement();
        let room = statement.has_room(entry.quantity, entry.hold.as_deref());
        if self.write(id, room, statement.check_out(entry)).await? {
            return Ok(Answered::Now);
        }
        let seen = self.look(id).await?;
        let free = seen.stock.available + seen.stock.expired;
        let Some(hold) = &entry.hold else {
            return Err(match seen.is_deleted {
                true => self.no_item(id)?,
                false => HoldError::SoldOut { available: free },
            });
        };
        if let Some((until, is_same)) = seen.entry_like(hold, entry) {
            return match until {
                _ if !is_same => Err(HoldError::OtherHold),
                Some(until) if until <= self.db.now() => Err(HoldError::Expired),
                _ => Ok(Answered::Before),
            };
        }
        Err(match seen.ending(hold) {
            None if seen.is_deleted => self.no_item(id)?,
            None => HoldError::SoldOut { available: free },
            ending => refusal(ending),
        })
    }

    async fn write(&self, id: &M::Key, condition: Document, stage: Document) -> Result<bool, HoldError> {
        self.change(id, condition, Update::pipeline([stage])).await
    }

    async fn write_operators(
        &self,
        id: &M::Key,
        condition: Document,
        operators: Document,
    ) -> Result<bool, HoldError> {
        self.change(id, condition, Update::raw(operators)).await
    }

    pub(super) async fn change(
        &self,
        id: &M::Key,
        condition: Document,
        update: Update<M>,
    ) -> Result<bool, HoldError> {
        let filter = M::key_field().eq(id) & Filter::raw(condition);
        let result = self.collection.update_one(|_| filter, |_| update).await?;
        Ok(result.matched == 1)
    }

    /// A change of what is held already: of a softly deleted document too.
    async fn end(&self, id: &M::Key, condition: Document, update: Update<M>) -> Result<bool, HoldError> {
        let filter = M::key_field().eq(id) & Filter::raw(condition);
        let update = self.collection.update_one(|_| filter, |_| update);
        Ok(update.with_deleted().unscoped().await?.matched == 1)
    }

    /// What is stored of a document, softly deleted or not.
    async fn look(&self, id: &M::Key) -> Result<Seen, HoldError> {
        let found = self.collection.find_one(|_| M::key_field().eq(id));
        let Some(document) = found.with_deleted().unscoped().untyped().await? else {
            return Err(self.no_item(id)?);
        };
        let mut seen = Seen::read(&self.inventory, self.db.now(), &document);
        let gone = self
            .collection
            .soft_delete_field()
            .and_then(|field| document.get(field));
        seen.is_deleted = gone.is_some_and(|gone| *gone != Bson::Null);
        Ok(seen)
    }

    /// The same of one of which copies can be had.
    async fn look_at_item(&self, id: &M::Key) -> Result<Seen, HoldError> {
        let seen = self.look(id).await?;
        match seen.is_deleted {
            true => Err(self.no_item(id)?),
            false => Ok(seen),
        }
    }

    fn no_item(&self, id: &M::Key) -> Result<HoldError, HoldError> {
        let model = M::DESCRIPTOR.name;
        let id = self.collection.encode_key(id)?;
        Ok(HoldError::NoItem { model, id })
    }

    pub(super) fn statement(&self) -> Statement<'_, M> {
        Statement {
            inventory: &self.inventory,
            now: self.db.now(),
            remember: self.remember,
        }
    }
}

/// The condition that a number stays one of its type: what does not fit `i32` would become an `i64`, which a field of the
/// former cannot be read from, and what does not fit that is refused by the database.
fn fits(field: &str, more: i32) -> Document {
    let most = match more > 0 {
        true => doc! { field: { "$lte": i32::MAX - more } },
        false => doc! { field: { "$gte": i32::MIN - more.max(-i32::MAX) } },
    };
    doc! { "$or": [{ field: { "$not": { "$type": "int" } } }, most] }
}

fn refusal(ending: Option<Ending>) -> HoldError {
    match ending {
        None => HoldError::UnknownHold,
        Some(Ending::Confirmed) => HoldError::AlreadyConfirmed,
        Some(Ending::Released) => HoldError::AlreadyReleased,
        Some(Ending::Expired) => HoldError::Expired,
    }
}

impl<M> Clone for Shelf<M> {
    fn clone(&self) -> Shelf<M> {
        Shelf {
            db: self.db.clone(),
            collection: self.collection.clone(),
            inventory: self.inventory.clone(),
            remember: self.remember,
        }
    }
}

impl<M> fmt::Debug for Shelf<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("collection", &self.collection)
            .field("inventory", &self.inventory)
            .finish()
    }
}
