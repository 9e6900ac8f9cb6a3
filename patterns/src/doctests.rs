//! The code of the patterns' pages of the guide, run as doctests.

#[allow(unused_macros, reason = "the first page brings the first use")]
macro_rules! pages {
    ($($name:ident: $file:literal;)*) => {$(
        #[doc = include_str!($file)]
        mod $name {}
    )*};
}
