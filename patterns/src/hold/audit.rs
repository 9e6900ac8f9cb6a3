//! Whether the equation holds.

use std::collections::BTreeSet;

use odm::bson::{Bson, Document};
use odm::{Filter, Result, Update};

use super::inventory::Stocked;
use super::seen::{Seen, Stock};
use super::shelf::Shelf;

/// What is wrong with the copies of a document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StockProblem {
    /// The document's `_id`.
    pub id: Bson,
    /// What is wrong.
    pub kind: StockProblemKind,
    /// The figures.
    pub stock: Stock,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StockProblemKind {
    /// available + held + sold is not stock.
    Unbalanced,
    /// Fewer than no copies are available.
    Negative,
    /// Two elements of `checkout` have the same hold id.
    DuplicateHold(String),
    /// An element of `checkout` stands for no copy, or fewer.
    BadQuantity(i64),
}

/// What a repair did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StockRepair {
    /// The documents whose `available` is now what follows from the rest.
    pub repaired: Vec<Bson>,
    /// What has to be decided by somebody: duplicates, bad quantities, and more copies out than there are.
    pub left: Vec<StockProblem>,
}

impl<M: Stocked> Shelf<M> {
    /// Looks through all documents for wrong figures, softly deleted ones too. Reads the whole collection.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<StockProblem>> {
        let mut problems = Vec::new();
        let documents = self.collection.find(|_| Filter::all()).with_deleted().unscoped();
        let mut documents = documents.untyped().stream();
        while let Some(document) = documents.try_next().await? {
            problems.extend(self.problems_of(&document));
        }
        Ok(problems)
    }

    /// Makes `available` what follows from stock, held and sold, wherever it is not. Each is one conditional write.
    ///
    /// # Errors
    /// Those of the database; what was repaired before stays so.
    pub async fn repair(&self) -> Result<StockRepair> {
        let mut report = StockRepair::default();
        for problem in self.verify().await? {
            let is_figure = matches!(
                problem.kind,
                StockProblemKind::Unbalanced | StockProblemKind::Negative
            );
            if is_figure && report.repaired.contains(&problem.id) {
                continue;
            }
            match &self.inventory.stock {
                Some(stock) if is_figure && self.balance(&problem.id, stock).await? => {
                    report.repaired.push(problem.id);
                }
                _ => report.left.push(problem),
            }
        }
        Ok(report)
    }

    async fn balance(&self, id: &Bson, stock: &str) -> Result<bool> {
        let (mut filter, stage) = self.statement().balance(stock);
        filter.insert("_id", odm::bson::doc! { "$eq": id });
        let update = self
            .collection
            .update_one(|_| Filter::raw(filter), |_| Update::pipeline([stage]));
        Ok(update.with_deleted().unscoped().await?.matched == 1)
    }

    fn problems_of(&self, document: &Document) -> Vec<StockProblem> {
        let seen = Seen::read(&self.inventory, self.db.now(), document);
        let stock = seen.stock;
        let mut kinds = Vec::new();
        if stock
            .stock
            .is_some_and(|all| stock.available + stock.held + stock.sold != all)
        {
            kinds.push(StockProblemKind::Unbalanced);
        }
        if stock.available < 0 {
            kinds.push(StockProblemKind::Negative);
        }
        let mut holds = BTreeSet::new();
        for (hold, _, _, quantity) in &seen.entries {
            if let Some(hold) = hold.as_ref().filter(|hold| !holds.insert(hold.as_str())) {
                kinds.push(StockProblemKind::DuplicateHold(hold.clone()));
            }
            if *quantity < 1 {
                kinds.push(StockProblemKind::BadQuantity(*quantity));
            }
        }
        let id = document.get("_id").cloned().unwrap_or(Bson::Null);
        let problem = |kind| StockProblem {
            id: id.clone(),
            kind,
            stock,
        };
        kinds.into_iter().map(problem).collect()
    }
}
