//! What is different between two versions.

use odm::bson::{Bson, Document};

/// A field that two versions do not have in common.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// Where it is, through nested documents and arrays: `address.city`, `words.3`.
    pub path: String,
    /// What the first version has there; `None` when it has nothing.
    pub before: Option<Bson>,
    /// What the second version has there.
    pub after: Option<Bson>,
}

/// The differences of two documents, without these fields.
pub(super) fn differences(before: &Document, after: &Document, without: &[&str]) -> Vec<Difference> {
    let mut found = Vec::new();
    let names = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(name)));
    for name in names.filter(|name| !without.contains(&name.as_str())) {
        compare(name.clone(), before.get(name), after.get(name), &mut found);
    }
    found
}

fn compare(path: String, before: Option<&Bson>, after: Option<&Bson>, found: &mut Vec<Difference>) {
    match (before, after) {
        (Some(Bson::Document(before)), Some(Bson::Document(after))) => {
            let nested = differences(before, after, &[]);
            // Documents of `bson` are equal in any order of their fields; stored ones are not.
            if nested.is_empty() && !before.keys().eq(after.keys()) {
                let (before, after) = (Some(before.clone().into()), Some(after.clone().into()));
                found.push(Difference { path, before, after });
                return;
            }
            found.extend(nested.into_iter().map(|difference| Difference {
                path: format!("{path}.{}", difference.path),
                ..difference
            }));
        }
        (Some(Bson::Array(before)), Some(Bson::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                compare(
                    format!("{path}.{index}"),
                    before.get(index),
                    after.get(index),
                    found,
                );
            }
        }
        (Some(Bson::Double(before)), Some(Bson::Double(after))) if before.to_bits() == after.to_bits() => {}
        (before, after) if before == after => {}
        (before, after) => found.push(Difference {
            path,
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use odm::bson::doc;

    use super::*;

    #[test]
    fn differences_are_found_where_they_are() {
        let before = doc! { "a": 1, "b": { "c": 1, "d": [1, { "e": 2 }] }, "v": 1, "gone": true };
        let after = doc! { "a": 1, "b": { "c": 2, "d": [1, { "e": 3 }, 4] }, "v": 2, "new": Bson::Null };
        let found = differences(&before, &after, &["v"]);
        let paths: Vec<&str> = found.iter().map(|difference| difference.path.as_str()).collect();
        assert_eq!(paths, ["b.c", "b.d.1.e", "b.d.2", "gone", "new"]);
        assert_eq!(
            (&found[2].before, &found[2].after),
            (&None, &Some(Bson::Int32(4)))
        );
        assert_eq!((&found[4].before, &found[4].after), (&None, &Some(Bson::Null)));
        assert!(differences(&before, &before, &[]).is_empty());
        let reordered = differences(
            &doc! { "x": { "a": 1, "b": 2 } },
            &doc! { "x": { "b": 2, "a": 1 } },
            &[],
        );
        assert_eq!(reordered.len(), 1);
    }
}
