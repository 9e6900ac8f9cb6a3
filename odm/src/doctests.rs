//! The README's and the guide's code, run as doctests.

macro_rules! pages {
    ($($name:ident: $file:literal;)*) => {$(
        #[doc = include_str!($file)]
        mod $name {}
    )*};
}

pages! {
    readme: "../../README.md";
    guide: "../docs/guide/README.md";
    install: "../docs/guide/install.md";
    models: "../docs/guide/models.md";
    relations: "../docs/guide/relations.md";
    consistency: "../docs/guide/consistency.md";
    queries: "../docs/guide/queries.md";
    updates: "../docs/guide/updates.md";
    reading: "../docs/guide/reading.md";
    pipelines: "../docs/guide/pipelines.md";
    writing: "../docs/guide/writing.md";
    lifecycle: "../docs/guide/lifecycle.md";
    tenants: "../docs/guide/tenants.md";
    indexes: "../docs/guide/indexes.md";
    collation: "../docs/guide/collation.md";
    changes: "../docs/guide/changes.md";
    types: "../docs/guide/types.md";
    schema: "../docs/guide/schema.md";
    sessions: "../docs/guide/sessions.md";
    inspecting: "../docs/guide/inspecting.md";
    transactions: "../docs/guide/transactions.md";
    backends: "../docs/guide/backends.md";
    copying: "../docs/guide/copying.md";
    operations: "../docs/guide/operations.md";
    supported: "../docs/guide/supported.md";
    testing: "../docs/guide/testing.md";
    errors: "../docs/guide/errors.md";
    examples: "../docs/guide/examples.md";
}
