//! The changes of the figures, as parts of updates.

use odm::{Field, Update};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use super::amount::Amount;
use super::running::Running;

/// What can be done with [`Running`] figures in an update of their document: `f.ratings.record(4)`.
///
/// What cannot be held exactly (see the [table](super)) is an error of kind `Encode` of the update that uses it.
pub trait Accumulate<R, T> {
    /// A value more.
    fn record(&self, value: T) -> Update<R>;

    /// A value less: one that was recorded before.
    fn remove(&self, value: T) -> Update<R>;

    /// Another value for one that was recorded before.
    fn correct(&self, from: T, to: T) -> Update<R>;
}

impl<R, T: Amount> Accumulate<R, T> for Field<R, Running<T>> {
    fn record(&self, value: T) -> Update<R> {
        let sums = self.sums(1, Some(value), value.squared());
        sums & self.at::<Option<T>>("min").min(Some(value)) & self.at::<Option<T>>("max").max(Some(value))
    }

    fn remove(&self, value: T) -> Update<R> {
        let sums = self.sums(-1, value.negated(), value.squared().and_then(T::negated));
        sums & self.without(value)
    }

    fn correct(&self, from: T, to: T) -> Update<R> {
        let sum = from.negated().and_then(|from| to.plus(from));
        let squares = from
            .squared()
            .and_then(T::negated)
            .zip(to.squared())
            .and_then(|(from, to)| to.plus(from));
        self.sums(0, sum, squares)
            & self.at::<Option<T>>("min").min(Some(to))
            & self.at::<Option<T>>("max").max(Some(to))
            & self.without(from)
    }
}

/// The fields of the figures, in any document.
trait Parts<R, T> {
    fn at<V>(&self, name: &'static str) -> Field<R, V>;

    fn sums(&self, count: i64, sum: Option<T>, squares: Option<T>) -> Update<R>;

    fn without(&self, value: T) -> Update<R>;
}

impl<R, T: Amount> Parts<R, T> for Field<R, Running<T>> {
    fn at<V>(&self, name: &'static str) -> Field<R, V> {
        Field::new(self.path().child(name))
    }

    fn sums(&self, count: i64, sum: Option<T>, squares: Option<T>) -> Update<R> {
        let (Some(sum), Some(squares)) = (sum, squares) else {
            return self.at::<Inexact>("squares").set(Inexact);
        };
        self.at::<i64>("count").inc(count)
            & self.at::<T>("sum").inc(sum)
            & self.at::<T>("squares").inc(squares)
    }

    fn without(&self, value: T) -> Update<R> {
        self.at::<Option<T>>("removed_min").min(Some(value))
            & self.at::<Option<T>>("removed_max").max(Some(value))
    }
}

/// Fails where it is to be stored, so that the update's error names the field.
struct Inexact;

impl Serialize for Inexact {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("the value's square cannot be held exactly"))
    }
}
