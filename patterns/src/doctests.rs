//! The code of the patterns' pages of the guide, run as doctests.

macro_rules! pages {
    ($($(#[$condition:meta])? $name:ident: $file:literal;)*) => {$(
        $(#[$condition])?
        #[doc = include_str!($file)]
        mod $name {}
    )*};
}

pages! {
    trees: "../../odm/docs/guide/trees.md";
    queues: "../../odm/docs/guide/queues.md";
    atomic: "../../odm/docs/guide/atomic.md";
    sagas: "../../odm/docs/guide/sagas.md";
    #[cfg(feature = "money")]
    money: "../../odm/docs/guide/money.md";
    #[cfg(feature = "time")]
    time: "../../odm/docs/guide/time.md";
}
