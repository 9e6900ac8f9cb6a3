//! The page of the guide that says what the engine supports, held against the engine's own registries.

use std::collections::BTreeSet;

use super::{aggregate, command, index, matcher, update};

const PAGE: &str = include_str!("../../docs/guide/supported.md");

/// The names in the first cells of a section's tables, as marked.
fn listed(section: &str, mark: &str) -> BTreeSet<String> {
    let heading = format!("## {section}");
    let lines = PAGE.lines().skip_while(|line| *line != heading).skip(1);
    lines
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix('|')?.split_once('|'))
        .filter(|(_, rest)| rest.trim_start().starts_with(mark))
        .flat_map(|(names, _)| names.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

/// The page has all these names in this section, and no others.
fn check<'n>(section: &str, names: impl IntoIterator<Item = &'n str>) {
    let names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
    let page: BTreeSet<String> = listed(section, "yes")
        .union(&listed(section, "unsupported"))
        .cloned()
        .collect();
    let missing: Vec<&String> = names.difference(&page).collect();
    assert!(missing.is_empty(), "{section}: the page omits {missing:?}");
    let invented: Vec<&String> = page.difference(&names).collect();
    assert!(invented.is_empty(), "{section}: the engine has no {invented:?}");
}

#[test]
fn the_page_lists_the_operators_of_queries() {
    let whole = matcher::PATHLESS
        .iter()
        .filter(|name| !["ref", "id", "db"].contains(name));
    let whole: Vec<String> = whole.map(|name| format!("${name}")).collect();
    let names = whole.iter().map(String::as_str);
    check("Query operators", names.chain(matcher::OPERATORS.iter().copied()));
    check("Keywords of schemas", matcher::schema::KEYWORDS);
}

#[test]
fn the_page_lists_the_operators_of_updates() {
    let modifiers = ["$each", "$slice", "$sort", "$position"];
    check(
        "Update operators",
        update::OPERATORS.iter().copied().chain(modifiers),
    );
}

#[test]
fn the_page_lists_stages_and_expressions() {
    check("Stages", aggregate::STAGES.iter().copied());
    let variables = [
        "$$ROOT",
        "$$CURRENT",
        "$$REMOVE",
        "$$NOW",
        "$$CLUSTER_TIME",
        "$$DESCEND",
        "$$PRUNE",
        "$$KEEP",
    ];
    let expressions = aggregate::expression::names().chain(["$function"]);
    check("Expressions", expressions.chain(variables));
    check("Accumulators", aggregate::ACCUMULATORS.iter().copied());
    check("Window functions", aggregate::WINDOW_FUNCTIONS.concat());
}

#[test]
fn the_page_lists_commands() {
    let (here, not_here) = command::names();
    let named = listed("Commands", "yes");
    let missing: Vec<&&str> = here.iter().filter(|name| !named.contains(**name)).collect();
    assert!(missing.is_empty(), "the page omits {missing:?}");
    let refused = listed("Commands", "unsupported");
    let missing: Vec<&&str> = not_here.iter().filter(|name| !refused.contains(**name)).collect();
    assert!(
        missing.is_empty(),
        "the page omits {missing:?}, which are unsupported"
    );
}

#[test]
fn the_page_lists_kinds_and_options_of_indexes() {
    let kinds = ["hashed", "text", "2d", "2dsphere", "$**"];
    let plain = ["key", "name", "v", "ns", "clustered"];
    let options = index::option_names().filter(|name| !plain.contains(name));
    check("Indexes", options.chain(kinds));
}
