//! The operations.

use std::sync::Arc;

use odm::action::Find;
use odm::backend::TransactionOptions;
use odm::bson::doc;
use odm::{Collection, Db, Filter, Tx};

use super::error::TransferError;
use super::stored::{Account, Transfer};
use crate::hold::Answered;
use crate::money::{Currency, Money, MoneyError};

/// Accounts, and transfers between them that are made once and never a part: see the [guarantees](crate::money).
///
/// Every account begins with nothing, and money comes into it from another: from one without a limit, which stands for
/// the world outside. So the sum over all accounts of a currency is 0, always.
///
/// ```
/// use odm::Db;
/// use odm_patterns::money::{Accounts, Currency, Money, TransferError};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let accounts = Accounts::new(&Db::open("memory:").await?);
/// accounts.sync_indexes().await?;
/// accounts.open("bank", Currency::USD, None).await?;
/// for name in ["ann", "joe"] {
///     accounts.open(name, Currency::USD, Some(Money::zero(Currency::USD)?)).await?;
/// }
/// accounts.transfer("deposit-1", "bank", "ann", &"20.00 USD".parse()?).await?;
/// for _ in 0..2 {
///     accounts.transfer("order-7", "ann", "joe", &"9.99 USD".parse()?).await?; // once
/// }
/// let refused = accounts.transfer("order-8", "joe", "ann", &"10 USD".parse()?).await;
/// assert!(matches!(refused, Err(TransferError::Insufficient { .. })));
/// assert_eq!(accounts.balance("ann").await?.to_string(), "10.01 USD");
/// assert_eq!(accounts.history("ann").await?.len(), 2);
/// assert!(accounts.verify().await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Accounts {
    pub(super) db: Db,
    pub(super) accounts: Collection<Account>,
    pub(super) transfers: Collection<Transfer>,
}

impl Accounts {
    /// The accounts in the collections `accounts` and `account_transfers`. Made of a transaction, its operations are part
    /// of it.
    pub fn new(db: &Db) -> Accounts {
        Accounts {
            db: db.clone(),
            accounts: db.collection(),
            transfers: db.collection(),
        }
    }

    /// The accounts in collections of other names.
    pub fn named(db: &Db, accounts: &str, transfers: &str) -> Accounts {
        Accounts {
            db: db.clone(),
            accounts: db.collection_named(accounts),
            transfers: db.collection_named(transfers),
        }
    }

    /// The same accounts through another handle of the database, such as a transaction. They stay in their own database,
    /// whichever the transaction was begun on: see [`Db::through`].
    #[must_use]
    pub fn on(&self, db: &Db) -> Accounts {
        Accounts::named(&self.db.through(db), self.accounts.name(), self.transfers.name())
    }

    /// Makes the collections and the indexes of the history.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sync_indexes(&self) -> odm::Result<()> {
        self.accounts.sync_indexes().await?;
        self.transfers.sync_indexes().await.map(drop)
    }

    /// Opens an account with nothing in it. `least` is what must stay in it; without one there is no limit. Opened before
    /// in the same way, it stays as it is. 1 round trip; 2 when it is there.
    ///
    /// # Errors
    /// `Taken` when it is of another currency or limit; `Insufficient` for a limit above 0, since there is nothing in it;
    /// `Money` for a currency without a minor unit, or a limit of another currency.
    pub async fn open(
        &self,
        id: &str,
        currency: Currency,
        least: Option<Money>,
    ) -> Result<Answered, TransferError> {
        let balance: Money = Money::zero(currency)?;
        if let Some(least) = &least {
            balance.same_currency(least.currency())?;
            if least.side().is_gt() {
                let account = id.to_owned();
                return Err(TransferError::Insufficient { account, balance });
            }
        }
        let account = Account {
            id: id.to_owned(),
            balance,
            least: least.as_ref().map(Money::units),
            opened: self.db.now(),
        };
        if self.db.in_transaction()
            && let Some(found) = self.accounts.get(id).await?
        {
            return same_account(&found, &account);
        }
        match self.accounts.insert(&account).await {
            Ok(_) => Ok(Answered::Now),
            Err(error) if error.is_duplicate_key() && !self.db.in_transaction() => {
                same_account(&self.account(id).await?, &account)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Moves money from one account to another, once for a key. Sent again with the same key, it is answered as it was the
    /// first time and moves nothing; a refusal is not remembered.
    ///
    /// One transaction: 4 round trips, 2 more when the key is known, or when it is refused.
    ///
    /// # Errors
    /// `Insufficient`, `NoAccount`, `Money`, `NotPositive`, `SameAccount`; `Taken` when the key is that of other accounts
    /// or of another amount. `Database` when it may or may not have been made: send it again.
    pub async fn transfer(
        &self,
        key: &str,
        from: &str,
        to: &str,
        money: &Money,
    ) -> Result<Answered, TransferError> {
        if !money.side().is_gt() {
            return Err(TransferError::NotPositive { key: key.to_owned() });
        }
        if from == to {
            return Err(TransferError::SameAccount {
                key: key.to_owned(),
                account: from.to_owned(),
            });
        }
        let transfer = Arc::new(Transfer {
            key: key.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            money: money.clone(),
            at: self.db.now(),
        });
        let is_nested = self.db.in_transaction();
        // Inside somebody's transaction a duplicate key would end it.
        if is_nested && let Some(found) = self.transfers.get(key).await? {
            return same_transfer(&found, &transfer);
        }
        let accounts = self.clone();
        let made = transfer.clone();
        let result = self
            .db
            .transaction_with(TransactionOptions::default(), move |tx: Tx| {
                let (accounts, transfer) = (accounts.on(&tx), made.clone());
                async move { accounts.book(&transfer).await }
            })
            .await;
        match result {
            Ok(()) => Ok(Answered::Now),
            Err(TransferError::Database(error)) if error.is_duplicate_key() && !is_nested => {
                let found = self.transfers.get(key).required().await?;
                same_transfer(&found, &transfer)
            }
            Err(error) => Err(error),
        }
    }

    /// What is in an account. 1 round trip.
    ///
    /// # Errors
    /// `NoAccount`.
    pub async fn balance(&self, id: &str) -> Result<Money, TransferError> {
        Ok(self.account(id).await?.balance)
    }

    /// The account. 1 round trip.
    ///
    /// # Errors
    /// `NoAccount`.
    pub async fn account(&self, id: &str) -> Result<Account, TransferError> {
        let found = self.accounts.get(id).await?;
        found.ok_or_else(|| TransferError::NoAccount {
            account: id.to_owned(),
        })
    }

    /// The transfers from and to an account, the last first; to be limited, paged and streamed like any query.
    ///
    /// By the indexes of [`sync_indexes`](Accounts::sync_indexes) nothing is sorted, and on the embedded engine a page reads
    /// no more than itself; MongoDB reads the pages before it as well.
    pub fn history(&self, id: &str) -> Find<Transfer> {
        self.transfers
            .find(|t| t.from.eq(id) | t.to.eq(id))
            .sort(|t| t.at.desc() & t.key.desc())
    }

    /// The writes of a transfer, in the order in which they are refused soonest.
    async fn book(&self, transfer: &Transfer) -> Result<(), TransferError> {
        let units = transfer.money.units();
        let currency = transfer.money.currency();
        self.transfers.insert(transfer).await?;
        let taken = self.accounts.update_one(
            |a| {
                // The limit is not above 0, so that this sum fits; the difference of the balance would be a double where it
                // does not.
                let needed = doc! { "$add": [{ "$ifNull": ["$least", i64::MIN] }, units] };
                let enough = doc! { "$gte": ["$balance.amount", needed] };
                a.id.eq(&transfer.from) & a.balance.is_of(currency) & Filter::expr(enough)
            },
            |a| a.balance.amount.inc(-units),
        );
        if taken.await?.matched == 0 {
            return Err(self.refusal(&transfer.from, &transfer.money, true).await?);
        }
        let given = self.accounts.update_one(
            |a| a.id.eq(&transfer.to) & a.balance.is_of(currency) & a.balance.amount.lte(i64::MAX - units),
            |a| a.balance.amount.inc(units),
        );
        match given.await?.matched {
            0 => Err(self.refusal(&transfer.to, &transfer.money, false).await?),
            _ => Ok(()),
        }
    }

    /// Why an account did not take part.
    async fn refusal(&self, id: &str, money: &Money, is_giver: bool) -> Result<TransferError, TransferError> {
        let account = match self.account(id).await {
            Ok(account) => account,
            Err(error @ TransferError::NoAccount { .. }) => return Ok(error),
            Err(error) => return Err(error),
        };
        if let Err(error) = account.balance.same_currency(money.currency()) {
            return Ok(error.into());
        }
        Ok(match is_giver {
            // The least that there is would be the limit of 64 bits.
            true if account.least.is_some_and(|least| least > i64::MIN) => TransferError::Insufficient {
                account: account.id,
                balance: account.balance,
            },
            _ => MoneyError::Overflow.into(),
        })
    }
}

fn same_account(found: &Account, asked: &Account) -> Result<Answered, TransferError> {
    match found.balance.currency() == asked.balance.currency() && found.least == asked.least {
        true => Ok(Answered::Before),
        false => Err(TransferError::Taken {
            key: asked.id.clone(),
        }),
    }
}

fn same_transfer(found: &Transfer, asked: &Transfer) -> Result<Answered, TransferError> {
    let is_same = (&found.from, &found.to, &found.money) == (&asked.from, &asked.to, &asked.money);
    match is_same {
        true => Ok(Answered::Before),
        false => Err(TransferError::Taken {
            key: asked.key.clone(),
        }),
    }
}
