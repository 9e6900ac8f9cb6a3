//! The constants of an operation: what `let` defines, and `c` of an update.

use super::super::collation::Collation;
use super::super::document::{Doc, Owned};
use super::super::fault::{Fault, Result};
use super::expression::{Expression, Scope, check_variable_name};
use super::stage::goes_with_early;

/// The variables of an operation, by name.
pub(crate) type Variables = Vec<(String, Option<Owned>)>;

/// Computes the constants of an operation's `let`, each of which may use those before it, with strings compared by the
/// collation.
pub(crate) fn of(given: Doc<'_>, now: i64, collation: &Collation) -> Result<Variables> {
    let mut scope = Scope::new(Doc::empty(), now);
    scope.collation = collation.clone();
    for element in given.elements() {
        let name = element.name_str();
        check_name(name)?;
        let names: Vec<String> = scope.variables.iter().map(|(name, _)| name.clone()).collect();
        let expression = Expression::parse_unfolded(&element.value(), &names)?;
        if expression.reads_document() {
            return Err(Fault::new(
                READS_DOCUMENT,
                "Command let Expression tried to access a field, but this is not allowed because Command let \
                 Expressions run before the query examines any documents.",
            ));
        }
        let value = expression.evaluate(&scope)?;
        scope.variables.push((name.to_owned(), value));
    }
    Ok(scope.variables)
}

/// Whether a server that computes these runs stages by other means than the later ones.
pub(crate) fn go_with_early_stages(given: Doc<'_>) -> bool {
    let names: Vec<String> = given
        .elements()
        .map(|element| element.name_str().to_owned())
        .collect();
    given.elements().all(|element| {
        Expression::parse_unfolded(&element.value(), &names).is_ok_and(|value| goes_with_early(&value))
    })
}

/// The code of a `let` that looks at documents.
const READS_DOCUMENT: i32 = 4_890_500;

/// Names that are the server's own.
const INTERNAL: &[&str] = &["NOW", "CLUSTER_TIME", "JS_SCOPE", "IS_MR"];

/// Refuses what no constant of a command is called.
fn check_name(name: &str) -> Result<()> {
    match INTERNAL.contains(&name) {
        true => Err(Fault::new(
            4_738_901,
            format!("Attempt to set internal constant: {name}"),
        )),
        false => check_variable_name(name, true)
            .map_err(|fault| fault.prefixed("Invalid 'let' parameter :: caused by :: ")),
    }
}

/// Names that stand for something already.
const BUILT_IN: &[&str] = &[
    "ROOT",
    "REMOVE",
    "NOW",
    "CLUSTER_TIME",
    "JS_SCOPE",
    "IS_MR",
    "SEARCH_META",
];

/// The variables with a statement's own constants, which go before those of the command.
pub(crate) fn with_own(variables: &Variables, own: Doc<'_>) -> Result<Variables> {
    let mut all = variables.clone();
    for constant in own.elements() {
        let name = constant.name_str();
        check_variable_name(name, false)?;
        if BUILT_IN.contains(&name) {
            return Err(Fault::new(17275, "Can't redefine a non-user-writable variable"));
        }
        all.retain(|(other, _)| other != name);
        all.push((name.to_owned(), Some(constant.value().into())));
    }
    Ok(all)
}
