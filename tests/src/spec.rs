//! What the public specification cases have in common: their files, requirements and expected values.

pub mod actions;
pub mod commands;
pub mod suite;

use bson::{Bson, Document};

/// A file of cases.
pub fn file(folder: &std::path::Path, name: &str, rename: impl Fn(&str) -> String) -> Document {
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a readable file");
    let json: serde_json::Value = serde_json::from_str(&rename(&text)).expect("JSON");
    match Bson::try_from(json) {
        Ok(Bson::Document(file)) => file,
        _ => panic!("{name} is not a document"),
    }
}

/// Whether a file or a case is for a replica set of the server that the tests know.
pub fn suits(owner: &Document) -> bool {
    let requirements = documents(owner, "runOnRequirements");
    requirements.is_empty() || requirements.iter().any(suits_one)
}

fn suits_one(requirement: &Document) -> bool {
    let version = |name: &str| {
        requirement.get_str(name).ok().map(|text| {
            let mut parts = text.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
            [(); 3].map(|()| parts.next().unwrap_or(0))
        })
    };
    let ours = [6, 0, 5];
    version("minServerVersion").is_none_or(|least| ours >= least)
        && version("maxServerVersion").is_none_or(|most| ours <= most)
        && requirement
            .get_array("topologies")
            .map_or(true, |all| all.contains(&Bson::from("replicaset")))
}

/// Whether a value is as expected; documents at the root may have more.
pub fn matches(expected: &Bson, found: Option<&Bson>, root: bool) -> Result<(), String> {
    let differs = || Err(format!("expected {expected}, found {found:?}"));
    if let Bson::Document(special) = expected
        && let Some((name, operand)) = special.iter().next()
        && name.starts_with("$$")
    {
        return match (name.as_str(), found) {
            ("$$exists", _) if operand.as_bool() == Some(found.is_some()) => Ok(()),
            ("$$unsetOrMatches", None) => Ok(()),
            ("$$unsetOrMatches", Some(_)) => matches(operand, found, root),
            ("$$type", Some(found)) => {
                let kind = match found {
                    Bson::Timestamp(_) => "timestamp",
                    Bson::DateTime(_) => "date",
                    Bson::Document(_) => "object",
                    Bson::Int32(_) => "int",
                    Bson::Int64(_) => "long",
                    Bson::Double(_) => "double",
                    Bson::Boolean(_) => "bool",
                    Bson::ObjectId(_) => "objectId",
                    Bson::Array(_) => "array",
                    Bson::String(_) => "string",
                    _ => "other",
                };
                let known = operand.as_str() == Some(kind)
                    || operand
                        .as_array()
                        .is_some_and(|kinds| kinds.contains(&Bson::from(kind)));
                if known { Ok(()) } else { differs() }
            }
            _ => differs(),
        };
    }
    let number = |value: &Bson| match value {
        Bson::Int32(x) => Some(f64::from(*x)),
        Bson::Int64(x) => Some(*x as f64),
        Bson::Double(x) => Some(*x),
        _ => None,
    };
    match (expected, found) {
        (Bson::Document(expected), Some(Bson::Document(found))) => {
            for (name, value) in expected {
                matches(value, found.get(name), false).map_err(|reason| format!("{name}: {reason}"))?;
            }
            match found.keys().find(|name| !root && !expected.contains_key(*name)) {
                Some(more) => Err(format!("{more} was not expected: {found}")),
                None => Ok(()),
            }
        }
        (Bson::Array(expected), Some(Bson::Array(found))) if expected.len() == found.len() => expected
            .iter()
            .zip(found)
            .try_for_each(|(expected, found)| matches(expected, Some(found), false)),
        (expected, Some(found)) if number(expected).is_some() && number(expected) == number(found) => Ok(()),
        (expected, Some(found)) if expected == found => Ok(()),
        _ => differs(),
    }
}

/// The documents in an array.
pub fn documents(owner: &Document, name: &str) -> Vec<Document> {
    let items = owner.get_array(name).map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| item.as_document().cloned())
        .collect()
}
