//! Recorded commands, replayed: how many go as on mongod.
//!
//! `ODM_VECTORS_SHOW=20` prints the first differences and the causes, `ODM_VECTORS=update,query` picks groups,
//! `ODM_VECTORS_FIND=text` the differences with a text in their cause, `ODM_VECTORS_TEST=name` the tests of a name.

use odm_tests::{data, vectors};

/// The groups, and how many tests of each go as on mongod: never fewer.
const GROUPS: &[(&str, usize)] = &[
    ("update", 1030),
    ("query", 2835),
    ("projection", 189),
    ("commands", 471),
    ("collections", 1724),
    ("indexes", 794),
    ("aggregation", 663),
    ("accumulators", 873),
    ("stages", 2226),
    ("expressions", 9736),
];

/// The groups of which every difference has a reason in [`REASONS`].
const EXPLAINED: &[&str] = &["query", "projection", "commands"];

/// Why a test of these groups goes otherwise: a part of its name or of its cause, and the reason.
const REASONS: &[(&str, &str)] = &[
    ("$geoNear", "$geoNear inside another stage"),
    (
        "look-around",
        "patterns run in linear time: no look-around, no back references",
    ),
    (
        "regular expression",
        "patterns run in linear time: no look-around, no back references",
    ),
    ("JavaScript", "the engine runs no JavaScript"),
    ("$where", "the engine runs no JavaScript"),
    ("'timeseries' is not supported", "time series collections"),
    ("clusteredIndex", "clustered collections"),
    ("clustered indexes", "clustered collections"),
    ("wildcard indexes", "wildcard indexes"),
    ("$**", "wildcard indexes"),
    ("$meta: ", "metadata other than textScore in projections"),
    ("planCache", "there is no plan cache"),
    ("does not take '", "find's min, max, returnKey and showRecordId"),
    ("does not run", "commands about a server process"),
    ("$indexStats", "no usage statistics of indexes"),
    (
        "test_find_views[view_elemmatch_projection_error]",
        "find's own projection operators also work on views here",
    ),
    (
        "test_find_views[view_slice_projection_error]",
        "find's own projection operators also work on views here",
    ),
    (
        "test_insert_write_concern_w0",
        "every write is acknowledged: {w: 0} is not read",
    ),
];

/// Prints how often each reason was met; what has none.
fn unexplained(report: &vectors::Report) -> Vec<String> {
    let mut met = std::collections::BTreeMap::<&str, usize>::new();
    let mut without = Vec::new();
    for difference in &report.differences {
        let reason = REASONS.iter().find(|(part, _)| {
            difference.id.contains(part)
                || difference.cause.contains(part)
                || difference.detail.contains(part)
        });
        match reason {
            Some((_, reason)) => *met.entry(reason).or_default() += 1,
            None => without.push(format!("{}: {}", difference.id, difference.cause)),
        }
    }
    for (reason, count) in met {
        println!("    {count} differ: {reason}");
    }
    without
}

#[test]
fn replies_are_the_servers() {
    let below = replay();
    assert!(
        below.is_empty(),
        "fewer tests than before go as on mongod: {below:?}"
    );
}

/// Replays the groups; those that fell below what they had reached.
fn replay() -> Vec<&'static str> {
    let show: usize = variable("ODM_VECTORS_SHOW")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let only = variable("ODM_VECTORS");
    let find = variable("ODM_VECTORS_FIND");
    let named = variable("ODM_VECTORS_TEST");
    let Some(folder) = data::path("semantics/vectors") else {
        return Vec::new();
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut below = Vec::new();
    for (group, floor) in GROUPS {
        if only
            .as_ref()
            .is_some_and(|only| !only.split(',').any(|own| own == *group))
        {
            continue;
        }
        let tests = vectors::read(&folder.join(format!("{group}.jsonl.gz")));
        let tests: Vec<_> = tests
            .into_iter()
            .filter(|test| named.as_ref().is_none_or(|name| test.id.contains(name.as_str())))
            .collect();
        let report = runtime.block_on(vectors::run(&tests));
        println!(
            "{}: {} of {} as mongod ({:.1} %); {} ask for what the engine does not have ({:.1} % of the others)",
            group,
            report.same(),
            report.total,
            report.percent(),
            report.unsupported(),
            report.percent_of_supported(),
        );
        if show > 0 {
            for (cause, count) in report
                .causes()
                .into_iter()
                .filter(|(cause, _)| find.is_some() || !cause.contains("unsupported"))
                .take(show)
            {
                println!("    {count} x {cause}");
            }
        }
        let wanted = report
            .differences
            .iter()
            .filter(|difference| find.is_some() || !difference.unsupported)
            .filter(|difference| {
                find.as_ref()
                    .is_none_or(|find| difference.cause.contains(find.as_str()))
            });
        for difference in wanted.take(show) {
            println!(
                "  {}\n  {}\n  {}\n  {}\n",
                difference.id, difference.command, difference.cause, difference.detail
            );
        }
        if EXPLAINED.contains(group) {
            let without = unexplained(&report);
            assert!(without.is_empty(), "no reason: {without:#?}");
        }
        if named.is_none() && report.same() < *floor {
            below.push(*group);
        }
    }
    below
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}
