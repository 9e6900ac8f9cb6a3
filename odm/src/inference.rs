//! Models of what a database holds: shapes are merged document by document, become types, and these become source.
//!
//! Pure: [`InferModels`](crate::action::InferModels) reads the documents.

mod choice;
mod declared;
mod index;
mod inferred;
mod inspected;
mod literal;
mod name;
mod place;
mod plan;
mod planned;
mod recursion;
mod shape;
mod source;

pub use self::inferred::{FoundReference, InferredCollection, InferredField, InferredModels};
pub(crate) use self::inspected::Inspected;
pub(crate) use self::name::is_named_after;
pub(crate) use self::place::Place;

/// What is asked of the types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// How many names the documents at one place have before they are data.
    pub(crate) max_keys_of_structs: usize,
    /// Whether stored texts may be names of variants.
    pub(crate) show_values: bool,
    /// Whether numbers keep their types.
    pub(crate) exact_numbers: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            max_keys_of_structs: 64,
            show_values: false,
            exact_numbers: false,
        }
    }
}

/// A share as it is said: `62 %`, and less than one where it is not none.
pub(crate) fn share(count: u64, of: u64) -> String {
    match (count, of) {
        (0, _) | (_, 0) => "0 %".to_owned(),
        (count, of) if count >= of => "100 %".to_owned(),
        (count, of) => {
            #[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
            let percent = 100.0 * count as f64 / of as f64;
            if percent < 1.0 {
                "< 1 %".to_owned()
            } else if percent > 99.0 {
                "> 99 %".to_owned()
            } else {
                format!("{percent:.0} %")
            }
        }
    }
}
