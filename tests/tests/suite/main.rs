//! The suite: every case is a plain async function over `&Db`, and runs on every backend.
//!
//! `cargo test --workspace --test suite` runs all; a filter chooses a theme (`tree_costs::`), a backend (`::memory::`)
//! or a case. On `mongodb` it needs `ODM_TEST_MONGODB_URI`, and says so where that is missing.

/// Makes a test of each of these cases on each backend.
macro_rules! on_every_backend {
    ($($case:ident),+ $(,)?) => {
        crate::on_backend! { memory Memory $($case)+ }
        crate::on_backend! { native Native $($case)+ }
        crate::on_backend! { mongodb MongoDb $($case)+ }
    };
}

macro_rules! on_backend {
    ($module:ident $target:ident $($case:ident)+) => {
        mod $module {
            $(#[test]
            fn $case() {
                odm_tests::harness::run(odm_tests::harness::Target::$target, |db| async move {
                    super::$case(&db).await;
                });
            })+
        }
    };
}

pub(crate) use {on_backend, on_every_backend};

mod aggregation;
mod aggregation_series;
mod change_streams;
mod change_streams_descriptions;
mod change_streams_images;
mod change_streams_resuming;
mod change_streams_stages;
mod collections;
mod collections_kinds;
mod computed;
mod consistency_copies;
mod consistency_copies_models;
mod consistency_copies_repair;
mod consistency_copies_schema;
mod consistency_deletion;
mod consistency_models;
mod consistency_two_way;
mod consistency_verify;
mod conversions;
mod embedded;
mod filters;
mod geo;
mod hold;
mod idempotency;
mod indexes;
mod interchange;
mod kinds;
mod library;
mod lifecycle_bounds;
mod lifecycle_deletion;
mod lifecycle_hooks;
mod lifecycle_models;
mod lifecycle_rules;
mod lifecycle_times;
mod lifecycle_tracked;
mod lifecycle_versions;
mod local_time;
mod local_time_zones;
mod maintenance;
mod models;
mod money;
mod money_accounts;
mod money_conversion;
mod money_exact;
mod money_tables;
mod outbox;
mod pages;
mod pages_mixed;
mod pipelines;
mod queue_batches;
mod queue_control;
mod queue_faults;
mod queue_groups;
mod queue_jobs;
mod queue_leases;
mod queue_model;
mod queue_plain;
mod queue_schedules;
mod queue_transactions;
mod queue_unique;
mod queue_workers;
mod reading_guards;
mod reads;
mod relations;
mod relations_inverse;
mod relations_loads;
mod relations_nested;
mod saga;
mod saga_crash;
mod saga_models;
mod schema_models;
mod schema_versions;
mod text;
mod transactions;
mod traps;
mod tree_basics;
mod tree_conversion;
mod tree_costs;
mod tree_integrity;
mod tree_runs;
mod tree_shapes;
mod updates;
mod version;
mod writes;
