//! Recorded commands, replayed: how many go as on mongod.
//!
//! `ODM_VECTORS_SHOW=20` prints the first differences and the causes, `ODM_VECTORS=update,query` picks groups, and
//! `ODM_VECTORS_ALL=1` runs every test of the large groups too (best with `--release`).

use odm_tests::{data, vectors};

/// A group, how many of its tests are left out where not all are asked for, and the share that must be reached.
struct Group {
    name: &'static str,
    stride: usize,
    floor: f64,
}

const GROUPS: &[Group] = &[
    group("update", 1, 0.0),
    group("query", 1, 0.0),
    group("projection", 1, 0.0),
    group("commands", 1, 0.0),
    group("collections", 1, 0.0),
    group("indexes", 1, 0.0),
    group("aggregation", 1, 0.0),
    group("accumulators", 1, 0.0),
    group("stages", 4, 0.0),
    group("expressions", 10, 0.0),
];

const fn group(name: &'static str, stride: usize, floor: f64) -> Group {
    Group { name, stride, floor }
}

#[test]
fn replies_are_the_servers() {
    let show: usize = variable("ODM_VECTORS_SHOW")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let only = variable("ODM_VECTORS");
    let all = variable("ODM_VECTORS_ALL").is_some();
    let find = variable("ODM_VECTORS_FIND");
    let Some(folder) = data::path("semantics/vectors") else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut below = Vec::new();
    for group in GROUPS {
        if only
            .as_ref()
            .is_some_and(|only| !only.split(',').any(|own| own == group.name))
        {
            continue;
        }
        let stride = if all { 1 } else { group.stride };
        let tests = vectors::read(&folder.join(format!("{}.jsonl.gz", group.name)), stride);
        let report = runtime.block_on(vectors::run(&tests));
        println!(
            "{}: {} of {} as mongod ({:.1} %); {} ask for what the engine does not have ({:.1} % of the others)",
            group.name,
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
        if report.percent() < group.floor {
            below.push(group.name);
        }
    }
    assert!(
        below.is_empty(),
        "fewer tests than before go as on mongod: {below:?}"
    );
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}
