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
    files: "../../odm/docs/guide/files.md";
    #[cfg(feature = "money")]
    money: "../../odm/docs/guide/money.md";
    #[cfg(feature = "time")]
    time: "../../odm/docs/guide/time.md";
    counters: "../../odm/docs/guide/counters.md";
    sequences: "../../odm/docs/guide/sequences.md";
    attributes: "../../odm/docs/guide/attributes.md";
}

#[cfg(feature = "stemming")]
pages! {
    search: "../../odm/docs/guide/search.md";
}
