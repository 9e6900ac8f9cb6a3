//! The code of the patterns' pages of the guide, run as doctests.

macro_rules! pages {
    ($($(#[$condition:meta])? $name:ident: $file:literal;)*) => {$(
        $(#[$condition])?
        #[doc = include_str!($file)]
        mod $name {}
    )*};
}

pages! {
    archive: "../../odm/docs/guide/archive.md";
    atomic: "../../odm/docs/guide/atomic.md";
    attributes: "../../odm/docs/guide/attributes.md";
    counters: "../../odm/docs/guide/counters.md";
    #[cfg(feature = "encryption")]
    encryption: "../../odm/docs/guide/encryption.md";
    expiry: "../../odm/docs/guide/expiry.md";
    files: "../../odm/docs/guide/files.md";
    history: "../../odm/docs/guide/history.md";
    migrations: "../../odm/docs/guide/migrations.md";
    #[cfg(feature = "money")]
    money: "../../odm/docs/guide/money.md";
    #[cfg(feature = "cron")]
    queues: "../../odm/docs/guide/queues.md";
    sagas: "../../odm/docs/guide/sagas.md";
    #[cfg(feature = "stemming")]
    search: "../../odm/docs/guide/search.md";
    sequences: "../../odm/docs/guide/sequences.md";
    shapes: "../../odm/docs/guide/shapes.md";
    #[cfg(feature = "time")]
    time: "../../odm/docs/guide/time.md";
    trees: "../../odm/docs/guide/trees.md";
}
