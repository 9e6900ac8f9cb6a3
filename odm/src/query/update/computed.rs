//! Changes that are computed of the document, as the pipeline of an update.

use bson::raw::cstr;
use bson::{RawBson, RawDocumentBuf};

use super::change::{Action, Change};
use super::{Form, Update};
use crate::error::{Error, ErrorKind, Result};
use crate::expr::Gives;
use crate::model::{Field, Segment};
use crate::query::encode::path_text;
use crate::query::expression::Encoding;
use crate::query::filter::array;

impl<R, T> Field<R, T> {
    /// Sets the field to what is computed of the document as it was before the update: of other fields, of itself, of
    /// constants. The update is sent as a pipeline (`$set`).
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Debug, Serialize, Deserialize, Model)]
    /// # struct Book {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     price: f64,
    /// #     sold: i32,
    /// #     earned: f64,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let books = Db::open("memory:").await?.collection::<Book>();
    /// books.insert(Book { id: 1, price: 2.5, sold: 4, earned: 0.0 }).await?;
    /// books
    ///     .update_one(
    ///         |b| b.id.eq(1),
    ///         |b| b.earned.set_to(b.price.value() * &b.sold) & b.price.set(3.0),
    ///     )
    ///     .await?;
    /// assert_eq!(books.get(1).required().await?.earned, 10.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Beside it stand `set`, `unset`, `current_date` and other computed changes; the others are an error of kind
    /// `InvalidArgument`, and so is a path through array elements. A value that nothing can be computed of is null: where a
    /// field may be missing, say what it counts as (`if_null`). What is computed is held to the model's rules by the
    /// database's validator alone.
    pub fn set_to(&self, value: impl Gives<R, T>) -> Update<R> {
        Update::change(self, value.give(&Encoding::of(self.codec())).map(Action::Compute))
    }
}

impl Form {
    /// The pipeline, if something is computed.
    pub(super) fn computed(self) -> Result<Form> {
        match self {
            Form::Changes {
                changes,
                array_filters,
            } if changes
                .iter()
                .any(|change| matches!(change.action, Action::Compute(_))) =>
            {
                match array_filters.is_empty() {
                    true => pipeline(changes),
                    false => Err(Error::new(
                        ErrorKind::InvalidArgument,
                        "an update that computes has no array filters",
                    )),
                }
            }
            form => Ok(form),
        }
    }
}

fn pipeline(changes: Vec<Change>) -> Result<Form> {
    let (mut set, mut unset, mut touched) = (RawDocumentBuf::new(), Vec::new(), Vec::new());
    for Change { path, action } in changes {
        let is_stored = |segment: &&Segment| matches!(segment, Segment::Name(_) | Segment::Key(_));
        let wrong = |message| Error::new(ErrorKind::InvalidArgument, message).with_path(path.to_string());
        if !path.segments().iter().all(is_stored) {
            return Err(wrong("an update that computes does not reach elements of arrays"));
        }
        let name = path_text(path.to_string())?;
        match action {
            Action::Compute(value) => set.append(&name, value),
            Action::Set(value) => {
                let literal: RawDocumentBuf = [(cstr!("$literal"), value)].into_iter().collect();
                set.append(&name, literal);
            }
            Action::CurrentDate => set.append(&name, "$$NOW"),
            Action::Unset => unset.push(RawBson::String(path.to_string())),
            _ => {
                return Err(wrong(
                    "beside a computed change stand `set`, `unset`, `current_date` and others that are computed",
                ));
            }
        }
        touched.push(name);
    }
    super::build::no_conflict(touched)?;
    let mut stages = Vec::new();
    if !set.is_empty() {
        stages.push((cstr!("$set"), RawBson::Document(set)));
    }
    if !unset.is_empty() {
        stages.push((cstr!("$unset"), array(unset)));
    }
    let stages = stages.into_iter().map(|stage| [stage].into_iter().collect());
    Ok(Form::Pipeline(stages.collect()))
}
