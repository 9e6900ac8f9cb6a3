//! Typed filters, updates and sorts, made by the methods of [`Field`](crate::Field).
//!
//! Pure: nothing here does I/O. What an operand cannot be encoded to is kept and comes out when the filter, update
//! or sort is used.

mod arithmetic;
mod array;
mod array_update;
mod assign;
mod bits;
mod bson_type;
mod comparison;
mod date;
mod element;
mod encode;
pub(crate) mod expression;
mod filter;
mod geo;
mod keyset;
mod operand;
mod pattern;
pub(crate) mod pipeline;
mod presence;
mod push;
mod sort;
mod text;
mod time_unit;
mod traits;
pub(crate) mod update;
mod variant;
mod weekday;

pub use self::bits::Bits;
pub use self::bson_type::BsonType;
pub(crate) use self::element::every_value;
pub use self::filter::Filter;
pub(crate) use self::filter::Node;
pub(crate) use self::geo::{is_by_distance, without_distance};
pub(crate) use self::keyset::{Keyset, Place, compare_numbers};
pub use self::operand::Operand;
pub(crate) use self::pattern::pattern_of;
pub use self::pipeline::Pipeline;
pub use self::push::PushOptions;
pub use self::sort::Sort;
pub use self::text::TextSearch;
pub use self::time_unit::TimeUnit;
pub use self::traits::{Increment, Integer, Nullable};
pub use self::update::{BuiltUpdate, Update};
pub use self::weekday::Weekday;

#[cfg(test)]
mod tests;
