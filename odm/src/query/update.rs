//! How documents change.

mod build;
pub(super) mod change;
mod computed;
mod raw;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitAndAssign};

use bson::RawDocumentBuf;

pub use self::build::BuiltUpdate;
pub(crate) use self::change::{Action, BitOperation, Change, Push};
use crate::backend::Modification;
use crate::codec::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Field, Path};

/// A change of documents of `R`: made by the methods of fields, combined with `&`.
///
/// ```
/// # use odm::Model;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize, Model)]
/// # struct Book {
/// #     #[serde(rename = "_id")]
/// #     id: i32,
/// #     available: u32,
/// #     borrowers: Vec<String>,
/// # }
/// let b = Book::fields();
/// let update = b.available.inc(-1) & b.borrowers.push("abc");
/// if let odm::backend::Modification::Operators(operators) = update.build()?.modification {
///     let expected = odm::bson::rawdoc! { "$inc": { "available": -1_i64 }, "$push": { "borrowers": "abc" } };
///     assert_eq!(operators, expected);
/// }
/// // An operand that does not fit, or two changes of one field, come out when the update is used.
/// assert!((b.available.inc(1) & b.available.set(7)).build().is_err());
/// # Ok::<(), odm::Error>(())
/// ```
#[must_use]
pub struct Update<R> {
    form: Result<Form>,
    marker: PhantomData<fn() -> R>,
}

/// What an update is made of.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    Changes {
        changes: Vec<Change>,
        /// Those that the caller wrote, for names in raw updates.
        array_filters: Vec<RawDocumentBuf>,
    },
    Pipeline(Vec<RawDocumentBuf>),
}

impl<R> Update<R> {
    /// No change at all.
    pub fn none() -> Update<R> {
        Update::from_result(Ok(Form::changes(Vec::new())))
    }

    /// All of these changes.
    pub fn all(updates: impl IntoIterator<Item = Update<R>>) -> Update<R> {
        updates
            .into_iter()
            .fold(Update::none(), |all, update| all & update)
    }

    /// An update in MongoDB's own words: `doc! { "$set": { "a.b": 1 } }`. Combines with typed ones.
    ///
    /// Its values are not encoded by the fields' codecs.
    pub fn raw(update: impl Into<Raw>) -> Update<R> {
        Update::from_result(
            update
                .into()
                .into_document()
                .and_then(|update| Ok(Form::changes(raw::changes(&update)?))),
        )
    }

    /// The array filter of a name in a raw update: `doc! { "low.score": { "$lt": 60 } }` for `grades.$[low]`.
    pub fn array_filter(self, filter: impl Into<Raw>) -> Update<R> {
        Update::from_result(self.form.and_then(|form| match form {
            Form::Changes {
                changes,
                mut array_filters,
            } => {
                array_filters.push(filter.into().into_document()?);
                Ok(Form::Changes {
                    changes,
                    array_filters,
                })
            }
            Form::Pipeline(_) => Err(Error::new(
                ErrorKind::InvalidArgument,
                "an update by a pipeline has no array filters",
            )),
        }))
    }

    /// An update by an aggregation pipeline, whose stages can read the document: `$set`, `$unset`, `$replaceWith`.
    ///
    /// It stands alone: combined with another change it is an error.
    pub fn pipeline<I>(stages: I) -> Update<R>
    where
        I: IntoIterator<Item: Into<Raw>>,
    {
        let stages = stages.into_iter().map(|stage| stage.into().into_document());
        Update::from_result(stages.collect::<Result<_>>().map(Form::Pipeline))
    }

    /// Whether this changes nothing.
    pub fn is_none(&self) -> bool {
        matches!(&self.form, Ok(Form::Changes { changes, .. }) if changes.is_empty())
    }

    pub(crate) fn into_form(self) -> Result<Form> {
        self.form.and_then(Form::computed)
    }

    pub(crate) fn from_result(form: Result<Form>) -> Update<R> {
        Update {
            form,
            marker: PhantomData,
        }
    }

    /// One change of one field.
    pub(super) fn change<T>(field: &Field<R, T>, action: Result<Action>) -> Update<R> {
        Update::from_result(field.changeable().and(action).and_then(|action| {
            let path = field.path().clone();
            match path.is_root() {
                false => Ok(Form::changes(vec![Change { path, action }])),
                true => Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "a flattened field has no place of its own; change its fields one by one",
                )),
            }
        }))
    }
}

impl Form {
    /// No change at all.
    pub(crate) fn none() -> Form {
        Form::changes(Vec::new())
    }

    /// The changes as they are read from what a backend gets, so that all of them have one form, whoever made them.
    pub(crate) fn reread(self) -> Result<Form> {
        let built = self.build()?;
        match built.modification {
            Modification::Operators(operators) => {
                let mut form = Form::read(&operators, built.array_filters)?;
                for path in &built.of_variants {
                    form.name_variants(path);
                }
                Ok(form)
            }
            Modification::Pipeline(stages) => Ok(Form::Pipeline(stages)),
            Modification::Replacement(_) => Ok(Form::none()),
        }
    }

    /// Lets the changes of this path name the variants that it names.
    pub(crate) fn name_variants(&mut self, path: &Path) {
        let Form::Changes { changes, .. } = self else {
            return;
        };
        let text = path.to_string();
        for change in changes
            .iter_mut()
            .filter(|change| change.path.to_string() == text)
        {
            change.path = path.clone();
        }
    }

    /// The changes of an update by operators.
    pub(crate) fn read(operators: &bson::RawDocument, array_filters: Vec<RawDocumentBuf>) -> Result<Form> {
        Ok(Form::Changes {
            changes: raw::changes(operators)?,
            array_filters,
        })
    }

    fn changes(changes: Vec<Change>) -> Form {
        Form::Changes {
            changes,
            array_filters: Vec::new(),
        }
    }

    pub(crate) fn and(self, other: Form) -> Result<Form> {
        match (self, other) {
            (
                Form::Changes {
                    mut changes,
                    mut array_filters,
                },
                Form::Changes {
                    changes: more,
                    array_filters: more_filters,
                },
            ) => {
                changes.extend(more);
                array_filters.extend(more_filters);
                Ok(Form::Changes {
                    changes,
                    array_filters,
                })
            }
            (Form::Changes { changes, .. }, pipeline) | (pipeline, Form::Changes { changes, .. })
                if changes.is_empty() =>
            {
                Ok(pipeline)
            }
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                "an update by a pipeline cannot be combined with other changes",
            )),
        }
    }
}

impl<R> BitAnd for Update<R> {
    type Output = Update<R>;

    /// Both changes, in one update. Two changes of one field are an error when the update is used.
    fn bitand(self, other: Update<R>) -> Update<R> {
        Update::from_result(self.form.and_then(|form| form.and(other.form?)))
    }
}

impl<R> BitAndAssign for Update<R> {
    /// Adds a change: `update &= b.price.set(10)`.
    fn bitand_assign(&mut self, other: Update<R>) {
        *self = std::mem::replace(self, Update::none()) & other;
    }
}

impl<R> Clone for Update<R> {
    fn clone(&self) -> Update<R> {
        Update::from_result(self.form.clone())
    }
}

impl<R> fmt::Debug for Update<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.clone().build() {
            Ok(built) => write!(f, "Update({:?}", built.modification).and_then(|()| {
                match built.array_filters.is_empty() {
                    true => f.write_str(")"),
                    false => write!(f, ", array filters {:?})", built.array_filters),
                }
            }),
            Err(error) => write!(f, "Update({error:?})"),
        }
    }
}

/// The path that raw names stand for.
pub(crate) fn raw_path(text: &str) -> Path {
    Path::root().then(crate::model::Segment::Key(text.into()))
}
