//! Figures held against what they are of.

use std::fmt;

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

/// The figures of one document, to be held against the values that they are of.
///
/// ```
/// use odm::{Db, Model};
/// use odm_patterns::computed::{Figures, Running};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Film {
///     #[serde(rename = "_id")]
///     id: i32,
///     stars: Running<i64>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let db = Db::open("memory:").await?;
/// let films = db.collection::<Film>();
/// films.insert(Film { id: 1, stars: Running::default() }).await?;
/// let figures = Figures::of(&db, &films, 1, |f| f.stars);
/// let stars = |_: odm::Tx| async { Ok(vec![5, 4]) };
/// assert_eq!(figures.rebuild(stars).await?.len(), 5);
/// assert!(figures.verify(stars).await?.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct Figures<M: Model, T> {
    db: Db,
    collection: Collection<M>,
    id: M::Key,
    field: Field<M, Running<T>>,
}

impl<M: Model, T: Amount> Figures<M, T> {
    /// The figures in a field of the document of this `_id`.
    pub fn of<H>(
        db: &Db,
        collection: &Collection<M>,
        id: impl Operand<M::Key>,
        figures: impl FnOnce(M::Fields<M>) -> H,
    ) -> Figures<M, T>
    where
        H: std::ops::Deref<Target = Field<M, Running<T>>>,
    {
        Figures {
            db: db.clone(),
            collection: collection.clone(),
            id: id.with_operand(Clone::clone),
            field: figures(M::fields()).clone(),
        }
    }

    /// Compares them with the values, which `source` reads through the transaction that it is given: at one point of
    /// time. Sums of `f64` may differ by rounding, 10⁻⁹ of them.
    ///
    /// # Errors
    /// `NotFound`; `Validation` when the values cannot be summed exactly; those of the source.
    pub async fn verify<F, Fut>(&self, source: F) -> Result<Vec<Difference<T>>>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<Vec<T>>>,
    {
        self.examine(source, false).await
    }

    /// Makes them what the values say; gives what was different. A value that is recorded meanwhile conflicts with it,
    /// and the transaction is run again. Bounds become exact.
    ///
    /// # Errors
    /// As [`verify`](Figures::verify).
    pub async fn rebuild<F, Fut>(&self, source: F) -> Result<Vec<Difference<T>>>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<Vec<T>>>,
    {
        self.examine(source, true).await
    }

    async fn examine<F, Fut>(&self, mut source: F, repair: bool) -> Result<Vec<Difference<T>>>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<Vec<T>>>,
    {
        let attempt = |tx: Tx| {
            // The future does nothing until it is awaited.
            let values = source(tx.clone());
            async move {
                let documents = tx.collection_named::<M>(self.collection.name());
                let found = documents
                    .find_one(|_| M::key_field().eq(&self.id))
                    .untyped()
                    .await?;
                let missing = || Error::new(ErrorKind::NotFound, "there is no such document");
                let document = found.ok_or_else(missing)?;
                let path = self.field.path().to_string();
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
                        .update_one(|_| M::key_field().eq(&self.id), |_| self.field.set(&actual))
                        .await?;
                }
                Ok(differences)
            }
        };
        self.db.transaction(attempt).await
    }
}

impl<M: Model, T> fmt::Debug for Figures<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figures")
            .field("collection", &self.collection)
            .field("field", &self.field)
            .finish_non_exhaustive()
    }
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
