//! The code of the patterns' pages of the guide, run as doctests.

macro_rules! pages {
    ($($name:ident: $file:literal;)*) => {$(
        #[doc = include_str!($file)]
        mod $name {}
    )*};
}

pages! {
    trees: "../../odm/docs/guide/trees.md";
    queues: "../../odm/docs/guide/queues.md";
    atomic: "../../odm/docs/guide/atomic.md";
    sagas: "../../odm/docs/guide/sagas.md";
    shapes: "../../odm/docs/guide/shapes.md";
    history: "../../odm/docs/guide/history.md";
    archive: "../../odm/docs/guide/archive.md";
    expiry: "../../odm/docs/guide/expiry.md";
}
