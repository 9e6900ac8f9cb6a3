//! From one form to another, in a collection.

use odm::bson::{Bson, Document, doc};
use odm::{Collection, Error, ErrorKind, Model, Result};

use super::amount::Money;
use super::error::MoneyError;
use super::field::MoneyField;
use super::form::Form;
use super::rounding::Rounding;
use crate::own;

/// How often a document that others change at the same time is read again.
const TRIES: usize = 8;

/// What a conversion did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Conversion {
    /// How many documents have the new form now.
    pub converted: u64,
    /// The documents that are as they were, and why: the new form cannot hold their money (`Validation`, with a
    /// [`MoneyError`] as the source), or a unique index (`DuplicateKey`) or a rule of the model (`Validation`) refuses it.
    pub refused: Vec<(Bson, Error)>,
}

/// Stores the money of all documents of a collection in another form, in place or in another field.
///
/// It looks for documents that have the old form, so that it can be stopped, or fail, at any time and be run again: it
/// goes on with what is left. Each document is one conditional write, which a change by somebody else in between does not
/// lose. With a [`Rounding`], what the new form has no room for is rounded to the currency's minor unit; without one it is
/// refused and reported.
///
/// The documents are those of the model's kind, softly deleted ones too. Each is changed as an
/// [`update`](Collection::update_one) of the model does: its version is counted, and what is derived or copied from it
/// follows.
///
/// The field of the model has one of the two forms; [`in_form`](MoneyField::in_form) names it in the other.
///
/// ```
/// use odm::{Db, Model, bson::doc};
/// use odm_patterns::money::{Arbitrary, Minor, Money, convert};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Item {
///     #[serde(rename = "_id")]
///     id: i32,
///     price: Money,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let items = Db::open("memory:").await?.collection::<Item>();
/// items.raw().insert(doc! {"_id": 1, "price": {"display": "9.99", "approx": 9.99, "currency": "USD"}}).await?;
/// let report = convert(&items, |i| i.price.in_form::<Arbitrary>(), |i| i.price, None).await?;
/// assert_eq!(report.converted, 1);
/// assert_eq!(items.get(1).required().await?.price.units(), 999);
/// # Ok(())
/// # }
/// ```
///
/// Documents meanwhile are of both forms: a model reads one of them.
///
/// # Errors
/// `InvalidArgument` for a conversion in place between two forms that look alike, such as two scales: convert to another
/// field. `Conflict` when a document kept changing. Those of the database; what was converted stays so.
pub async fn convert<M: Model, F: Form, G: Form, T, U>(
    collection: &Collection<M>,
    from: impl FnOnce(M::Fields<M>) -> MoneyField<M, F, T>,
    to: impl FnOnce(M::Fields<M>) -> MoneyField<M, G, U>,
    rounding: Option<Rounding>,
) -> Result<Conversion> {
    let (from, to) = (from(M::fields()), to(M::fields()));
    let mut filter = from.shape();
    match from.is_at(&to) {
        true if filter == to.shape() => {
            let message = "the two forms look alike where they are stored; convert to another field";
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(from.place()));
        }
        true => {}
        false => {
            filter.insert(to.place(), doc! { "$exists": false });
        }
    }
    let mut report = Conversion::default();
    let mut documents = own::find(collection, filter.clone()).stream();
    while let Some(document) = documents.try_next().await? {
        let id = document.get("_id").cloned().unwrap_or(Bson::Null);
        let located = |error: Error| own::located::<M>(error, &id, &to.place());
        let mut seen = Some(document);
        for attempt in 0.. {
            let Some(document) = seen.take() else { break };
            let old = from.parts_of(&document);
            let stored = converted::<F, G>(&old, rounding).and_then(|money| to.stored(&money));
            let refused = match stored {
                Err(error) => Error::from(error),
                Ok(stored) => {
                    let mut unchanged = from.unchanged(&document);
                    unchanged.insert("_id", doc! { "$eq": &id });
                    match own::update_one(collection, unchanged, doc! { "$set": stored }).await {
                        Ok(done) if done.matched == 1 => {
                            report.converted += 1;
                            break;
                        }
                        Ok(_) if attempt == TRIES => {
                            let error = Error::new(ErrorKind::Conflict, "the document kept changing");
                            return Err(located(error).with_namespace(collection.namespace()));
                        }
                        Ok(_) => {
                            let mut again = filter.clone();
                            again.insert("_id", doc! { "$eq": &id });
                            seen = own::find(collection, again).limit(1).await?.pop();
                            continue;
                        }
                        Err(error) if own::is_refused(&error) => error,
                        Err(error) => return Err(located(error)),
                    }
                }
            };
            report.refused.push((id.clone(), located(refused)));
            break;
        }
    }
    Ok(report)
}

fn converted<F: Form, G: Form>(old: &Document, rounding: Option<Rounding>) -> Result<Money<G>, MoneyError> {
    let money = Money::<F>::read(old)?;
    match (money.to_form(), rounding) {
        (Err(MoneyError::ExcessPrecision { .. }), Some(rounding)) => {
            Money::rounded(money.amount(), money.currency(), rounding)
        }
        (converted, _) => converted,
    }
}
