//! Whether the balances are what the transfers say.

use std::collections::BTreeMap;

use odm::Result;

use super::books::Accounts;
use super::stored::{Account, Transfer};
use crate::money::Currency;

/// What is wrong with the accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerProblem {
    /// The balance is not the sum of the transfers. In minor units.
    Unbalanced {
        /// The account.
        account: String,
        /// What the balance says.
        balance: i64,
        /// What the transfers say.
        expected: i128,
    },
    /// There is less in the account than may be. In minor units.
    BelowLeast {
        /// The account.
        account: String,
        /// What is in it.
        balance: i64,
        /// What must be.
        least: i64,
    },
    /// A transfer is of an account that is not there.
    NoAccount {
        /// The transfer's key.
        transfer: String,
        /// The account.
        account: String,
    },
    /// A transfer is of another currency than one of its accounts.
    OtherCurrency {
        /// The transfer's key.
        transfer: String,
        /// The account.
        account: String,
    },
    /// The balances of a currency do not sum to 0. In minor units.
    NotConserved {
        /// The currency.
        currency: Currency,
        /// The sum.
        sum: i128,
    },
}

impl Accounts {
    /// Compares every balance with the transfers, all at one point in time. Reads both collections; the accounts are kept
    /// in memory meanwhile.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<LedgerProblem>> {
        let accounts = self.clone();
        let audit = move |tx: odm::Tx| {
            let accounts = accounts.on(&tx);
            async move { accounts.audit().await }
        };
        self.db.transaction(audit).await
    }

    async fn audit(&self) -> Result<Vec<LedgerProblem>> {
        let mut known: BTreeMap<String, (Account, i128)> = BTreeMap::new();
        let mut accounts = self.accounts.find_all().stream();
        while let Some(account) = accounts.try_next().await? {
            known.insert(account.id.clone(), (account, 0));
        }
        let mut problems = Vec::new();
        let mut transfers = self.transfers.find_all().stream();
        while let Some(transfer) = transfers.try_next().await? {
            let units = i128::from(transfer.money.units());
            for (id, change) in [(&transfer.from, -units), (&transfer.to, units)] {
                match known.get_mut(id) {
                    None => problems.push(LedgerProblem::NoAccount {
                        transfer: transfer.key.clone(),
                        account: id.clone(),
                    }),
                    Some((account, sum)) => {
                        *sum += change;
                        problems.extend(other_currency(&transfer, account));
                    }
                }
            }
        }
        let mut sums: BTreeMap<Currency, i128> = BTreeMap::new();
        for (account, expected) in known.into_values() {
            let balance = account.balance.units();
            *sums.entry(account.balance.currency()).or_default() += i128::from(balance);
            if i128::from(balance) != expected {
                problems.push(LedgerProblem::Unbalanced {
                    account: account.id.clone(),
                    balance,
                    expected,
                });
            }
            if let Some(least) = account.least.filter(|least| balance < *least) {
                problems.push(LedgerProblem::BelowLeast {
                    account: account.id,
                    balance,
                    least,
                });
            }
        }
        let unequal = sums.into_iter().filter(|(_, sum)| *sum != 0);
        problems.extend(unequal.map(|(currency, sum)| LedgerProblem::NotConserved { currency, sum }));
        Ok(problems)
    }
}

fn other_currency(transfer: &Transfer, account: &Account) -> Option<LedgerProblem> {
    (transfer.money.currency() != account.balance.currency()).then(|| LedgerProblem::OtherCurrency {
        transfer: transfer.key.clone(),
        account: account.id.clone(),
    })
}
