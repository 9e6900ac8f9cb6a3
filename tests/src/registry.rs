//! Which cases there are.

/// Makes a test of every case of the suite on one backend: `for_every_case!(Memory)`.
#[macro_export]
macro_rules! for_every_case {
    ($target:ident) => {
        $crate::make_tests! {
            $target;
            aggregation:
                leading_stages_select_and_order,
                groups_and_counts,
                joins,
                facets_and_buckets,
                results_come_in_batches,
                variables_hints_and_limits,
                wrong_pipelines_are_the_servers_errors,
                out_replaces_a_collection,
                merge_follows_its_options,
                a_transaction_sees_its_writes_in_pipelines,
                the_first_of_a_group_is_the_first_of_the_sort;
            collections:
                collections_are_created_listed_and_dropped,
                one_model_lives_in_several_collections,
                databases_are_apart,
                wrong_names_are_errors,
                limits_are_the_servers,
                hostile_nesting_is_refused_not_fatal,
                the_engine_checks_itself,
                round_trips_are_counted;
            collections_kinds:
                wrong_options_are_the_servers_errors,
                a_capped_collection_keeps_the_newest,
                a_tailable_cursor_waits_for_more,
                a_validator_refuses_what_does_not_match,
                a_view_is_read_like_a_collection,
                a_collection_is_renamed,
                a_collection_is_modified,
                figures_count_documents_and_bytes;
            filters:
                comparisons,
                combinations,
                texts,
                presence_and_types,
                arrays,
                numbers_and_bits,
                a_users_text_is_never_an_operator,
                a_scope_is_a_function;
            indexes:
                declared_indexes_are_created_and_listed,
                a_unique_index_refuses_the_second,
                a_unique_index_is_not_built_over_duplicates,
                drift_is_reported_and_sync_never_drops_unasked,
                index_options_are_checked_with_the_servers_codes,
                sparse_and_partial_indexes_enforce_only_their_documents,
                parallel_arrays_are_refused,
                a_taken_id_is_found_before_what_is_wrong_with_a_later_index;
            reads:
                sort_skip_and_limit,
                projection_into_another_struct,
                a_stream_gives_every_document_in_small_batches,
                a_cursor_keeps_what_it_saw_when_it_began,
                counts_and_existence,
                distinct_values,
                get_many_by_id,
                explain_names_the_index,
                hints_are_obeyed_and_checked,
                a_missing_collection_is_empty,
                a_document_of_another_shape_names_itself,
                an_empty_array_at_a_position_sorts_below_null;
            transactions:
                a_committed_transaction_is_there_whole,
                a_failed_transaction_leaves_nothing,
                a_transaction_sees_its_own_writes_and_nobody_elses,
                the_first_writer_wins,
                conflicting_transactions_are_retried_until_both_are_done,
                a_dropped_transaction_is_aborted_and_releases_what_it_held,
                a_finished_transaction_takes_no_more_operations,
                two_transactions_cannot_take_one_unique_key,
                a_single_write_waits_for_the_transaction_in_its_way,
                a_collection_can_be_created_inside;
            traps:
                every_recorded_trap;
            updates:
                values,
                numbers,
                arrays_grow,
                arrays_shrink,
                elements,
                dates_renames_and_raw,
                raw_and_pipeline,
                no_op_updates_modify_nothing,
                conflicting_paths_are_an_error,
                wrong_targets_are_errors_with_the_servers_codes,
                a_missing_factor_is_zero_times_the_operand,
                an_update_of_many_that_fails_counts_nothing;
            writes:
                an_inserted_document_comes_back_whole,
                a_second_document_with_the_same_id_is_refused,
                insert_many_keeps_the_order_and_gives_every_id,
                an_ordered_insert_stops_at_the_first_error_and_says_what_was_written,
                an_unordered_insert_goes_on_after_errors,
                inserting_nothing_does_nothing,
                replace_changes_what_is_there_and_save_also_what_is_not,
                replacing_with_an_equal_document_modifies_nothing,
                an_id_never_changes,
                deletes_count_what_they_take,
                a_bulk_write_runs_in_order_and_counts_each_kind,
                a_bulk_write_names_every_statement_that_failed,
                find_one_and_gives_the_old_or_the_new_document,
                upsert_seeds_from_the_filter;
        }
    };
}

/// Makes tests of the listed cases, a module per theme.
#[macro_export]
macro_rules! make_tests {
    ($target:ident; $($theme:ident: $($case:ident),+;)+) => {
        $(mod $theme {
            $(#[test]
            fn $case() {
                $crate::harness::run($crate::harness::Target::$target, |db| async move {
                    $crate::suite::$theme::$case(&db).await;
                });
            })+
        })+
    };
}
