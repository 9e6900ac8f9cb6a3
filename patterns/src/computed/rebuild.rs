//! Figures held against what they are of.

use odm::{Collection, Db, Error, ErrorKind, Field, Model, Operand, Result, Tx};

use super::amount::Amount;
use super::running::{Extreme, Running};
use crate::dotted::value_at;

/// A figure that is not what its source says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Difference<T> {
    /// How many values.
    Count {
        /// What is stored.
        stored: i64,
        /// What the source says.
        actual: i64,
    },
    /// Their sum.
    Sum {
        /// What is stored.
        stored: T,
        /// What the source says.
        actual: T,
    },
    /// The sum of their squares.
    Squares {
        /// What is stored.
        stored: T,
        /// What the source says.
        actual: T,
    },
    /// The least, where it says that it is exact.
    Minimum {
        /// What is stored.
        stored: Option<T>,
        /// What the source says.
        actual: Option<T>,
    },
    /// The greatest, where it says that it is exact.
    Maximum {
        /// What is stored.
        stored: Option<T>,
        /// What the source says.
        actual: Option<T>,
    },
}

/// Compares a document's figures with the values that they are of, which `source` reads through the transaction that it
/// is given: at one point of time. Sums of `f64` may differ by rounding, 10⁻⁹ of them.
///
/// # Errors
/// `NotFound`; `Validation` when the values cannot be summed exactly; those of the source.
pub async fn verify<M, T, H, F, Fut>(
    db: &Db,
    collection: &Collection<M>,
    id: impl Operand<M::Key>,
    figures: impl FnOnce(M::Fields<M>) -> H,
    source: F,
) -> Result<Vec<Difference<T>>>
where
    M: Model,
    T: Amount,
    H: std::ops::Deref<Target = Field<M, Running<T>>>,
    F: FnMut(Tx) -> Fut,
    Fut: Future<Output = Result<Vec<T>>>,
{
    let (id, field) = (id.with(Clone::clone), figures(M::fields()).clone());
    examine(db, collection, &id, &field, source, false).await
}

/// Makes a document's figures what the values say that `source` reads through the transaction that it is given; gives
/// what was different. A value that is recorded meanwhile conflicts with it, and the transaction is run again. Bounds
/// become exact.
///
/// # Errors
/// As [`verify`].
pub async fn rebuild<M, T, H, F, Fut>(
    db: &Db,
    collection: &Collection<M>,
    id: impl Operand<M::Key>,
    figures: impl FnOnce(M::Fields<M>) -> H,
    source: F,
) -> Result<Vec<Difference<T>>>
where
    M: Model,
    T: Amount,
    H: std::ops::Deref<Target = Field<M, Running<T>>>,
    F: FnMut(Tx) -> Fut,
    Fut: Future<Output = Result<Vec<T>>>,
{
    let (id, field) = (id.with(Clone::clone), figures(M::fields()).clone());
    examine(db, collection, &id, &field, source, true).await
}

async fn examine<M, T, F, Fut>(
    db: &Db,
    collection: &Collection<M>,
    id: &M::Key,
    field: &Field<M, Running<T>>,
    mut source: F,
    repair: bool,
) -> Result<Vec<Difference<T>>>
where
    M: Model,
    T: Amount,
    F: FnMut(Tx) -> Fut,
    Fut: Future<Output = Result<Vec<T>>>,
{
    let attempt = |tx: Tx| {
        // The future does nothing until it is awaited.
        let values = source(tx.clone());
        async move {
            let documents = tx.collection_named::<M>(collection.name());
            let found = documents.find_one(|_| M::key_field().eq(id)).untyped().await?;
            let missing = || Error::new(ErrorKind::NotFound, "there is no such document");
            let document = found.ok_or_else(missing)?;
            let path = field.path().to_string();
            let stored: Running<T> = match value_at(&document, &path) {
                None => Running::default(),
                Some(stored) => odm::bson::deserialize_from_bson(stored.clone()).map_err(|error| {
                    Error::new(ErrorKind::Decode, "the figures cannot be read")
                        .with_path(path.clone())
                        .with_source(error)
                })?,
            };
            let inexact = || Error::new(ErrorKind::Validation, "the values cannot be summed exactly");
            let actual = Running::of(values.await?).ok_or_else(inexact)?;
            let differences = differences(&stored, &actual);
            if repair && stored != actual {
                documents
                    .update_one(|_| M::key_field().eq(id), |_| field.set(&actual))
                    .await?;
            }
            Ok(differences)
        }
    };
    db.transaction(attempt).await
}

fn differences<T: Amount>(stored: &Running<T>, actual: &Running<T>) -> Vec<Difference<T>> {
    let mut found = Vec::new();
    if stored.count != actual.count {
        let (stored, actual) = (stored.count, actual.count);
        found.push(Difference::Count { stored, actual });
    }
    if !stored.sum.agrees(actual.sum) {
        let (stored, actual) = (stored.sum, actual.sum);
        found.push(Difference::Sum { stored, actual });
    }
    if !stored.squares.agrees(actual.squares) {
        let (stored, actual) = (stored.squares, actual.squares);
        found.push(Difference::Squares { stored, actual });
    }
    let differs = |stored: Extreme<T>, actual: Extreme<T>| {
        let is_same = match (stored.value, actual.value) {
            (Some(stored), Some(actual)) => stored.agrees(actual),
            (stored, actual) => stored.is_none() == actual.is_none(),
        };
        (stored.is_exact && !is_same).then_some((stored.value, actual.value))
    };
    if let Some((stored, actual)) = differs(stored.minimum(), actual.minimum()) {
        found.push(Difference::Minimum { stored, actual });
    }
    if let Some((stored, actual)) = differs(stored.maximum(), actual.maximum()) {
        found.push(Difference::Maximum { stored, actual });
    }
    found
}
