//! Recorded commands, replayed: how many go as on mongod. Each group is a test, in the order of their names.
//!
//! `ODM_VECTORS_SHOW=20` prints the first differences and the causes, `ODM_VECTORS_FIND=text` the differences with a
//! text in their cause, `ODM_VECTORS_TEST=name` the tests of a name.

use std::fmt::Write as _;

use odm_tests::{data, vectors};

/// The groups, and how many tests of each go as on mongod: never fewer.
macro_rules! groups {
    ($($group:ident: $floor:literal,)+) => {
        $(#[test]
        fn $group() {
            replay(stringify!($group), $floor);
        })+
    };
}

groups! {
    update: 1030,
    query: 2836,
    projection: 189,
    commands: 477,
    collections: 1947,
    indexes: 822,
    aggregation: 670,
    accumulators: 880,
    stages: 2252,
    expressions: 9740,
}

/// Why a test goes otherwise: a part of its name or of its cause, and the reason.
const REASONS: &[(&str, &str)] = &[
    // What the engine does not have, and says so.
    (
        "collation_strength1_accent_insensitive",
        "duplicate keys under a collation are shown as the engine's own sort keys",
    ),
    (
        "test_case_insensitive",
        "collations: strings are compared by their bytes",
    ),
    (
        "regular expression",
        "patterns have no verbs that backtrack, no \\X and no \\C",
    ),
    ("JavaScript", "the engine runs no JavaScript"),
    ("$where", "the engine runs no JavaScript"),
    ("planCacheStats", "no plan is cached"),
    ("does not run", "commands about a server process"),
    ("$listLocalSessions", "there are no sessions to list"),
    ("listSessions", "there are no sessions to list"),
    ("does not measure", "latencies are not measured"),
    (
        "2d_options_in_spec",
        "the bounds of a 2d index are doubles, however they were written",
    ),
    (
        "storage_stats_",
        "a time series has no buckets that could be measured",
    ),
    // What is of the server or of the recording.
    (
        "test_dropDatabase_targets",
        "the recording lacks the command that dropped the database",
    ),
    (
        "test_smoke_dropDatabase",
        "the recording lacks the command that dropped the database",
    ),
    (
        "\"$db\": \"local\"",
        "the server's own databases have no collections here",
    ),
    (
        "\"$db\": \"admin\"",
        "the server's own databases have no collections here",
    ),
    (
        "\"$db\": \"config\"",
        "the server's own databases have no collections here",
    ),
    (
        "test_listCollections_batch_size",
        "a listing that is cut has no promised order",
    ),
    (
        "storage_engine_invalid_config_string",
        "options of the server's own storage engine",
    ),
    (
        "year_0--",
        "the recording stopped at a date that its driver does not have",
    ),
    (
        "year_10000-",
        "the recording stopped at a date that its driver does not have",
    ),
    (
        "test_out_",
        "the server names its temporary collection, and more of a plan",
    ),
    (
        "failure_rollback_docs",
        "the server names its temporary collection, and more of a plan",
    ),
    ("[sample]", "a sample is random"),
    (
        "asterisk_in_target_db",
        "a database's name has no character that not every system's files have",
    ),
    (
        "indexkey_text_index",
        "the keys of text indexes are the engine's own",
    ),
    // Known differences.
    ("covariance", "covariances at the edges of their numbers"),
    (
        "minkey]",
        "the server wraps MinKey and MaxKey of a group in a document",
    ),
    (
        "maxkey]",
        "the server wraps MinKey and MaxKey of a group in a document",
    ),
    (
        "partial_failure_sorted_first",
        "$merge is one write: what fails leaves nothing",
    ),
    ("depth_200", "the depth of a path is checked later"),
    (
        "test_mixed_operators_multi_output",
        "outputs of a window stay in their order",
    ),
    (
        "id_type_preserved_all_bson_types",
        "groups of one order come as they were met",
    ),
    ("dec_precision_min_max_cancel", "the exponent of a decimal zero"),
    ("test_exp_boundaries", "the last digits of decimal functions"),
    ("test_log_non_finite", "the last digits of decimal functions"),
    ("test_pow_", "the last digits of decimal functions"),
    ("test_let_invalid", "which of several errors comes first"),
    ("test_unsetField_invalid", "which of several errors comes first"),
    ("cluster_time", "$$CLUSTER_TIME is there for every command"),
    ("now_in_distinct", "$$NOW is there for every command"),
];

/// Says how often each reason was met; what has none.
fn unexplained(report: &vectors::Report, out: &mut String) -> Vec<String> {
    let mut met = std::collections::BTreeMap::<&str, usize>::new();
    let mut without = Vec::new();
    for difference in &report.differences {
        let command = difference.command.to_string();
        let reason = REASONS.iter().find(|(part, _)| {
            difference.id.contains(part)
                || difference.cause.contains(part)
                || difference.detail.contains(part)
                || command.contains(part)
        });
        match reason {
            Some((_, reason)) => *met.entry(reason).or_default() += 1,
            None => without.push(format!("{}: {}", difference.id, difference.cause)),
        }
    }
    for (reason, count) in met {
        let _ = writeln!(out, "    {count} differ: {reason}");
    }
    without
}

/// Replays a group.
fn replay(group: &str, floor: usize) {
    let find = variable("ODM_VECTORS_FIND");
    let named = variable("ODM_VECTORS_TEST");
    let Some(folder) = data::path("semantics/vectors") else {
        return;
    };
    let tests: Vec<_> = vectors::read(&folder.join(format!("{group}.jsonl.gz")))
        .into_iter()
        .filter(|test| named.as_ref().is_none_or(|name| test.id.contains(name.as_str())))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let report = runtime.expect("a runtime").block_on(vectors::run(&tests));
    // Written at once: the groups run side by side.
    let mut out = format!(
        "{}: {} of {} as mongod ({:.1} %); {} ask for what the engine does not have ({:.1} % of the others)\n",
        group,
        report.same(),
        report.total,
        report.percent(),
        report.unsupported(),
        report.percent_of_supported(),
    );
    show(&report, find.as_deref(), &mut out);
    let without = unexplained(&report, &mut out);
    println!("{out}");
    assert!(without.is_empty(), "no reason: {without:#?}");
    assert!(
        named.is_some() || report.same() >= floor,
        "{} of {floor} go as on mongod",
        report.same()
    );
}

/// Adds what differs, as far as it is asked for.
fn show(report: &vectors::Report, find: Option<&str>, out: &mut String) {
    let most = variable("ODM_VECTORS_SHOW").and_then(|text| text.parse().ok());
    let most: usize = most.unwrap_or(0);
    let causes = report.causes().into_iter();
    let causes = causes.filter(|(cause, _)| find.is_some() || !cause.contains("unsupported"));
    for (cause, count) in causes.take(most) {
        let _ = writeln!(out, "    {count} x {cause}");
    }
    let differences = report.differences.iter();
    let wanted = differences
        .filter(|difference| find.is_some() || !difference.unsupported)
        .filter(|difference| find.is_none_or(|find| difference.cause.contains(find)));
    for difference in wanted.take(most) {
        let _ = writeln!(
            out,
            "  {}\n  {}\n  {}\n  {}\n",
            difference.id, difference.command, difference.cause, difference.detail
        );
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}
