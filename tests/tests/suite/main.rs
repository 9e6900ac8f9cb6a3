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
mod aggregation_edges;
mod aggregation_inside;
mod aggregation_series;
mod approximation;
mod archive;
mod archive_interleavings;
mod attributes;
mod attributes_finding;
mod attributes_model;
mod bucket;
mod change_streams;
mod change_streams_descriptions;
mod change_streams_images;
mod change_streams_resuming;
mod change_streams_stages;
mod choice_of_plan;
mod collation;
mod collation_collections;
mod collation_indexes;
mod collation_pipelines;
mod collation_typed;
mod collation_unchanged;
mod collections;
mod collections_clustered;
mod collections_commands;
mod collections_converted;
mod collections_kinds;
mod computed;
mod consistency_copies;
mod consistency_copies_models;
mod consistency_copies_repair;
mod consistency_copies_schema;
mod consistency_deletion;
mod consistency_interleavings;
mod consistency_kinds;
mod consistency_models;
mod consistency_nested;
mod consistency_nested_links;
mod consistency_two_way;
mod consistency_verify;
mod conversions;
mod counter;
mod counter_faults;
mod counter_interleavings;
mod derived_fields;
mod differences;
mod differences_arguments;
mod differences_arranged;
mod differences_by_indexes;
mod differences_cases;
mod differences_catalog;
mod differences_chance;
mod differences_changes;
mod differences_collections;
mod differences_conditions;
mod differences_constants;
mod differences_details;
mod differences_early;
mod differences_early_codes;
mod differences_explain;
mod differences_finds;
mod differences_limits;
mod differences_messages;
mod differences_messages_early;
mod differences_metadata;
mod differences_numbers;
mod differences_patterns;
mod differences_pipelines;
mod differences_planned;
mod differences_queries;
mod differences_results;
mod differences_schema_filters;
mod differences_schemas;
mod differences_seeds;
mod differences_series;
mod differences_series_indexes;
mod differences_stages;
mod differences_stages_more;
mod differences_targets;
mod differences_values;
mod differences_values_more;
mod differences_writes;
mod embedded;
mod encrypted_fields;
mod errors_of_servers;
mod expiry;
mod field_codecs;
mod figures_interleavings;
mod filters;
mod filters_nested;
mod find_edges;
mod geo;
mod gridfs;
mod gridfs_interleavings;
mod gridfs_spec;
mod gridfs_upkeep;
mod history;
mod history_beside;
mod hold;
mod idempotency;
mod idempotency_interleavings;
mod ids;
mod inbox_interleavings;
mod index_filters;
mod indexes;
mod indexes_options;
mod indexes_rebuilt;
mod indexes_wildcard;
mod interchange;
mod kinds;
mod kinds_indexes;
mod kinds_joined;
mod library;
mod lifecycle_bounds;
mod lifecycle_deletion;
mod lifecycle_derived;
mod lifecycle_derived_faults;
mod lifecycle_hooks;
mod lifecycle_models;
mod lifecycle_read_back;
mod lifecycle_rules;
mod lifecycle_sums;
mod lifecycle_times;
mod lifecycle_tracked;
mod lifecycle_tracked_races;
mod lifecycle_variants;
mod lifecycle_versions;
mod limits_of_depth;
mod limits_of_numbers;
mod limits_of_size;
mod local_time;
mod local_time_zones;
mod maintenance;
mod map_keys;
mod models;
mod money;
mod money_accounts;
mod money_conversion;
mod money_exact;
mod money_tables;
mod outbox;
mod outbox_faults;
mod outbox_interleavings;
mod outlier;
mod pages;
mod pages_mixed;
mod pattern_interleavings;
mod pipelines;
mod pipelines_joins;
mod queue_batches;
mod queue_control;
mod queue_faults;
mod queue_groups;
mod queue_interleavings;
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
mod recent;
mod relations;
mod relations_inverse;
mod relations_joins;
mod relations_keys;
mod relations_loads;
mod relations_nested;
mod relations_versions;
mod saga;
mod saga_crash;
mod saga_faults;
mod saga_interleavings;
mod saga_models;
mod schema_collections;
mod schema_models;
mod schema_versions;
mod search;
mod search_counts;
mod search_cranfield;
mod search_interleavings;
mod search_keeping;
mod search_model;
mod sequence;
mod sequence_interleavings;
mod stored_kinds;
mod subset;
mod supported;
mod text;
mod time_series;
mod time_series_changes;
mod time_series_indexes;
mod time_series_typed;
mod transactions;
mod traps;
mod tree_books;
mod tree_changes;
mod tree_conversion;
mod tree_costs;
mod tree_edits;
mod tree_integrity;
mod tree_interleavings;
mod tree_lifecycle;
mod tree_lifecycle_deletion;
mod tree_lifecycle_models;
mod tree_races;
mod tree_reading;
mod tree_runs;
mod tree_shapes;
mod updates;
mod updates_computed;
mod version;
mod views;
mod writes;
mod writes_of_size;
mod writes_refused;
