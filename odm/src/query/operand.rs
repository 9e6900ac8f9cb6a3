//! What can stand where a field's value is asked for.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// A value that a field of type `T` can be compared with or set to.
///
/// It is turned into a `T` first and then encoded as the field's values are, so that what is compared is what was
/// stored. Taken: `T`, `&T`, `&str` for texts, `T` for `Option<T>`, slices and arrays for `Vec<T>`, `i32` for `f64`.
///
/// ```
/// # use odm::Model;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize, Model)]
/// # struct Book {
/// #     #[serde(rename = "_id")]
/// #     id: i32,
/// #     title: String,
/// #     subtitle: Option<String>,
/// #     price: f64,
/// #     tags: Vec<String>,
/// # }
/// let b = Book::fields();
/// let title = String::from("Ulysses");
/// let filter = b.title.eq(&title) & b.subtitle.eq("A Novel") & b.price.lt(10) & b.tags.eq(["dublin", "day"]);
/// # filter.to_document()?;
/// # Ok::<(), odm::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value for a field of type `{T}`",
    label = "expected `{T}` or `&{T}`",
    note = "operands are of the field's own type; convert it first: an id of your own into a reference by `Ref::new(id)`",
    note = "another field of the document: in filters `a.value().gt(&b).holds()`, in updates `a.set_to(&b)`",
    note = "an element of an array: `a.has(..)`, or `a.any()`"
)]
pub trait Operand<T> {
    /// Hands the value over.
    #[doc(hidden)]
    fn with_operand<O>(self, take: impl FnOnce(&T) -> O) -> O;

    /// Gives the value away, if it is there to be given.
    #[doc(hidden)]
    fn into_operand(self) -> Option<T>
    where
        Self: Sized;
}

#[diagnostic::do_not_recommend]
impl<T> Operand<T> for T {
    fn with_operand<O>(self, take: impl FnOnce(&T) -> O) -> O {
        take(&self)
    }

    fn into_operand(self) -> Option<T> {
        Some(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T> Operand<T> for &T {
    fn with_operand<O>(self, take: impl FnOnce(&T) -> O) -> O {
        take(self)
    }

    fn into_operand(self) -> Option<T> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T> Operand<Option<T>> for T {
    fn with_operand<O>(self, take: impl FnOnce(&Option<T>) -> O) -> O {
        take(&Some(self))
    }

    fn into_operand(self) -> Option<Option<T>> {
        Some(Some(self))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Operand<Option<T>> for &T {
    fn with_operand<O>(self, take: impl FnOnce(&Option<T>) -> O) -> O {
        take(&Some(self.clone()))
    }

    fn into_operand(self) -> Option<Option<T>> {
        Some(Some(self.clone()))
    }
}

macro_rules! texts {
    ($($text:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Operand<$text> for &str {
            fn with_operand<O>(self, take: impl FnOnce(&$text) -> O) -> O {
                take(&self.into())
            }

            fn into_operand(self) -> Option<$text> {
                Some(self.into())
            }
        }

        #[diagnostic::do_not_recommend]
        impl Operand<Option<$text>> for &str {
            fn with_operand<O>(self, take: impl FnOnce(&Option<$text>) -> O) -> O {
                take(&Some(self.into()))
            }

            fn into_operand(self) -> Option<Option<$text>> {
                Some(Some(self.into()))
            }
        }
    )*};
}

texts!(String Box<str> Rc<str> Arc<str> bson::Bson std::path::PathBuf);

#[diagnostic::do_not_recommend]
impl Operand<Cow<'static, str>> for &str {
    fn with_operand<O>(self, take: impl FnOnce(&Cow<'static, str>) -> O) -> O {
        take(&Cow::Owned(self.to_owned()))
    }

    fn into_operand(self) -> Option<Cow<'static, str>> {
        Some(Cow::Owned(self.to_owned()))
    }
}

#[diagnostic::do_not_recommend]
impl Operand<Option<Cow<'static, str>>> for &str {
    fn with_operand<O>(self, take: impl FnOnce(&Option<Cow<'static, str>>) -> O) -> O {
        take(&Some(Cow::Owned(self.to_owned())))
    }

    fn into_operand(self) -> Option<Option<Cow<'static, str>>> {
        Some(Some(Cow::Owned(self.to_owned())))
    }
}

/// A whole number where a float is asked for: `b.price.gt(10)`. Every `i32` is an `f64`.
#[diagnostic::do_not_recommend]
impl Operand<f64> for i32 {
    fn with_operand<O>(self, take: impl FnOnce(&f64) -> O) -> O {
        take(&self.into())
    }

    fn into_operand(self) -> Option<f64> {
        Some(self.into())
    }
}

#[diagnostic::do_not_recommend]
impl Operand<Option<f64>> for i32 {
    fn with_operand<O>(self, take: impl FnOnce(&Option<f64>) -> O) -> O {
        take(&Some(self.into()))
    }

    fn into_operand(self) -> Option<Option<f64>> {
        Some(Some(self.into()))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Operand<Vec<T>> for &[T] {
    fn with_operand<O>(self, take: impl FnOnce(&Vec<T>) -> O) -> O {
        take(&self.to_vec())
    }

    fn into_operand(self) -> Option<Vec<T>> {
        Some(self.to_vec())
    }
}

#[diagnostic::do_not_recommend]
impl<T, const N: usize> Operand<Vec<T>> for [T; N] {
    fn with_operand<O>(self, take: impl FnOnce(&Vec<T>) -> O) -> O {
        take(&Vec::from(self))
    }

    fn into_operand(self) -> Option<Vec<T>> {
        Some(Vec::from(self))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone, const N: usize> Operand<Vec<T>> for &[T; N] {
    fn with_operand<O>(self, take: impl FnOnce(&Vec<T>) -> O) -> O {
        take(&self.to_vec())
    }

    fn into_operand(self) -> Option<Vec<T>> {
        Some(self.to_vec())
    }
}

#[diagnostic::do_not_recommend]
impl<const N: usize> Operand<Vec<String>> for [&str; N] {
    fn with_operand<O>(self, take: impl FnOnce(&Vec<String>) -> O) -> O {
        take(&self.map(str::to_owned).into())
    }

    fn into_operand(self) -> Option<Vec<String>> {
        Some(self.map(str::to_owned).into())
    }
}

#[diagnostic::do_not_recommend]
impl Operand<Vec<String>> for &[&str] {
    fn with_operand<O>(self, take: impl FnOnce(&Vec<String>) -> O) -> O {
        take(&self.iter().map(|&text| text.to_owned()).collect())
    }

    fn into_operand(self) -> Option<Vec<String>> {
        Some(self.iter().map(|&text| text.to_owned()).collect())
    }
}
