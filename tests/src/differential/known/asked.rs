//! What a command asks for, as far as the known differences go by it.

use bson::{Bson, Document};

use super::super::commands::Step;

pub(super) fn is_grouped(text: &str) -> bool {
    ["$group", "$bucket", "$sortByCount"]
        .iter()
        .any(|stage| text.contains(stage))
}

/// The values of all stages with this name, at the top.
fn stages<'a>(command: &'a Document, name: &'a str) -> impl Iterator<Item = &'a Document> {
    let stages = command.get_array("pipeline").into_iter().flatten();
    stages.filter_map(move |stage| stage.as_document()?.get_document(name).ok())
}

/// Whether a `$project` takes fields of elements and computes others.
pub(super) fn leaves_holes(command: &Document) -> bool {
    stages(command, "$project").any(|fields| {
        let is_deep = |(name, value): (&String, &Bson)| {
            let names = name.contains('.') || matches!(value, Bson::Document(_));
            names && !matches!(value, Bson::Document(inner) if inner.keys().any(|key| key.starts_with('$')))
        };
        let computes = |value: &Bson| {
            matches!(
                value,
                Bson::Document(_) | Bson::String(_) | Bson::Array(_) | Bson::Null
            )
        };
        fields.iter().any(is_deep) && fields.values().any(computes)
    })
}

/// Whether a stage sets a field of a document, and a later one asks for that document.
pub(super) fn matches_around_set(command: &Document) -> bool {
    let stages = command.get_array("pipeline").into_iter().flatten();
    let stages: Vec<&Document> = stages.filter_map(Bson::as_document).collect();
    stages.iter().enumerate().any(|(at, stage)| {
        let set = stage.get_document("$set").or(stage.get_document("$addFields"));
        let inner = set
            .into_iter()
            .flat_map(Document::keys)
            .filter_map(|path| path.split_once('.'));
        inner.into_iter().any(|(outer, _)| {
            let asks = |later: &&Document| {
                later
                    .get("$match")
                    .is_some_and(|filter| filter.to_string().contains(&format!("\"{outer}\":")))
            };
            stages[at + 1..].iter().any(asks)
        })
    })
}

/// Whether an index is made by a path with a position.
pub(super) fn is_by_position(command: &Document) -> bool {
    let is_position = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let indexes = command.get_array("indexes").into_iter().flatten();
    let mut keys = indexes.filter_map(|index| index.as_document()?.get_document("key").ok());
    keys.any(|key| key.keys().any(|path| path.split('.').skip(1).any(is_position)))
}

/// Whether an index is made by a field and by one inside of it.
pub(super) fn is_inside_another(command: &Document) -> bool {
    let indexes = command.get_array("indexes").into_iter().flatten();
    let mut keys = indexes.filter_map(|index| index.as_document()?.get_document("key").ok());
    let is_outer =
        |outer: &str, path: &str| path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'));
    keys.any(|key| {
        key.keys()
            .any(|path| key.keys().any(|outer| is_outer(outer, path)))
    })
}

/// The commands so far.
pub(super) fn texts(before: &[Step]) -> Vec<String> {
    before.iter().map(|step| step.command.to_string()).collect()
}

/// Whether something is compared with what comes before or behind all values.
pub(super) fn is_at_an_end(text: &str) -> bool {
    text.contains("MinKey") || text.contains("MaxKey")
}

/// Whether a filter orders against an array that begins with an array.
pub(super) fn orders_by_nested(command: &Document) -> bool {
    let begins_with_array = |operand: &Bson| {
        let first = operand.as_array().and_then(|items| items.first());
        first.is_some_and(|first| first.as_array().is_some())
    };
    let orders = |(name, operand): (&String, &Bson)| {
        ["$gt", "$gte", "$lt", "$lte"].contains(&name.as_str()) && begins_with_array(operand)
    };
    fn any_document(value: &Bson, test: &dyn Fn(&Document) -> bool) -> bool {
        match value {
            Bson::Document(document) => {
                let others = document.iter().filter(|(name, _)| *name != "$expr");
                test(document) || others.into_iter().any(|(_, value)| any_document(value, test))
            }
            Bson::Array(items) => items.iter().any(|item| any_document(item, test)),
            _ => false,
        }
    }
    let changes = ["updates", "deletes"]
        .iter()
        .filter_map(|name| command.get_array(name).ok())
        .flatten()
        .filter_map(|change| change.as_document()?.get("q"));
    let matches = stages(command, "$match").cloned().map(Bson::Document);
    let own = ["filter", "query"].iter().filter_map(|name| command.get(name));
    own.chain(changes)
        .cloned()
        .chain(matches)
        .any(|filter| any_document(&filter, &|document| document.iter().any(orders)))
}

/// Whether stages, or operators, set what others may have taken away: such a field keeps its place on the server.
pub(in super::super) fn sets_again(command: &Document) -> bool {
    if command.to_string().contains("$setField") {
        return true;
    }
    let updates = command.get_array("updates").into_iter().flatten();
    let mut changes = updates.filter_map(|update| update.as_document()?.get_array("u").ok());
    let stages = command.get_array("pipeline").or(command.get_array("update"));
    let Some(stages) = stages.ok().or_else(|| changes.next()) else {
        return false;
    };
    let names = [
        "$set",
        "$addFields",
        "$unset",
        "$project",
        "$lookup",
        "$graphLookup",
        "$unwind",
    ];
    let setting = |stage: &&Bson| {
        let name = stage.as_document().and_then(|stage| stage.keys().next());
        name.is_some_and(|name| names.contains(&name.as_str()))
    };
    stages.iter().filter(setting).count() > 1
}

/// Whether a condition may fail or not by the order in which conditions are asked: a `$match` that the server moves
/// keeps from the stages before it the rows on which they fail, and of an `$expr` among others the plan decides.
pub(super) fn is_spared(command: &Document) -> bool {
    let later = match command.get_array("pipeline") {
        Ok(stages) => stages.iter().skip(1).any(|stage| {
            stage
                .as_document()
                .is_some_and(|stage| stage.contains_key("$match"))
        }),
        Err(_) => false,
    };
    later || command.values().any(has_companion)
}

/// Whether a `$project` comes first in what is read, and other stages behind it.
pub(super) fn projects_first(command: &Document) -> bool {
    let Ok(stages) = command.get_array("pipeline") else {
        return false;
    };
    let is = |stage: &Bson, name: &str| stage.as_document().is_some_and(|stage| stage.contains_key(name));
    // The filter at the beginning is the cursor's too, and a union takes what is behind it to each of its parts.
    let mut stages = stages
        .iter()
        .skip_while(|stage| is(stage, "$match") || is(stage, "$unionWith"));
    stages.next().is_some_and(|first| is(first, "$project")) && stages.next().is_some()
}

/// Whether an `$expr` in the value has other conditions beside it.
pub(super) fn has_companion(value: &Bson) -> bool {
    match value {
        Bson::Document(document) => {
            let here = document.contains_key("$expr") && document.len() > 1;
            let listed = ["$and", "$or", "$nor"]
                .iter()
                .any(|name| match document.get_array(name) {
                    Ok(branches) => {
                        (branches.len() > 1 || document.len() > 1)
                            && branches.iter().any(|branch| branch.to_string().contains("$expr"))
                    }
                    Err(_) => false,
                });
            here || listed || document.values().any(has_companion)
        }
        Bson::Array(items) => items.iter().any(has_companion),
        _ => false,
    }
}
