//! The code of the patterns' pages of the guide, run as doctests.

macro_rules! pages {
    ($($name:ident: $file:literal;)*) => {$(
        #[doc = include_str!($file)]
        mod $name {}
    )*};
}

pages! {
    atomic: "../../odm/docs/guide/atomic.md";
    sagas: "../../odm/docs/guide/sagas.md";
}
