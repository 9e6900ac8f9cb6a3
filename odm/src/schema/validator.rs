//! What the documents of a collection must match, of all models that share it.

use bson::{Bson, Document, doc};

use super::ModelDescriptor;
use crate::lifecycle::{Kind, schema_of};

/// What one model asks of the documents of its collection. Of a kind it is asked of the documents of that kind alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidatorPart {
    kind: Option<String>,
    condition: Document,
}

impl ModelDescriptor {
    /// What the model has the documents of its collection match: the declared validator, and the rules, if they are to be
    /// held. Nothing where neither is.
    pub(crate) fn validator_parts(&self, rules: bool) -> Vec<ValidatorPart> {
        let options = self.declared_options();
        let own = options.options().get_document("validator").ok().cloned();
        if !self.kinds.is_empty() {
            let own = own.map(|own| ValidatorPart::of(None, own));
            let kinds = self.kinds.iter().filter(|_| rules);
            let kinds = kinds.flat_map(|kind| kind.model.validator_parts(true));
            return own.into_iter().chain(kinds).collect();
        }
        let rules = rules.then(|| doc! { "$jsonSchema": schema_of((self.declared)()) });
        let condition = match (own, rules) {
            (None, None) => return Vec::new(),
            (Some(only), None) | (None, Some(only)) => only,
            (Some(own), Some(rules)) => doc! { "$and": [own, rules] },
        };
        vec![ValidatorPart::of(self.kind, condition)]
    }
}

impl ValidatorPart {
    fn of(kind: Option<Kind>, condition: Document) -> ValidatorPart {
        match kind {
            None => ValidatorPart {
                kind: None,
                condition,
            },
            Some(kind) => ValidatorPart {
                kind: Some(kind.name.to_owned()),
                condition: doc! { "$or": [{ kind.tag: { "$ne": kind.name } }, condition] },
            },
        }
    }

    /// A part as it is stored.
    fn read(condition: Document) -> ValidatorPart {
        let kind = of_kind(&condition).map(str::to_owned);
        ValidatorPart { kind, condition }
    }
}

/// The kind whose documents alone a condition is about: `{$or: [{tag: {$ne: kind}}, ..]}`.
fn of_kind(condition: &Document) -> Option<&str> {
    let only = |document: &Document| document.len() == 1;
    let [Bson::Document(other), Bson::Document(_)] = condition.get_array("$or").ok()?.as_slice() else {
        return None;
    };
    let (_, differs) = other.iter().next()?;
    let differs = differs.as_document().filter(|differs| only(differs))?;
    (only(condition) && only(other))
        .then(|| differs.get_str("$ne").ok())
        .flatten()
}

/// The validator of a collection: what these models ask, and of what is stored what other kinds ask.
///
/// What a validator without kinds says is known to be no model's that is not among these, unless kinds stand beside it.
pub(crate) fn validator(stored: Option<&Document>, mut parts: Vec<ValidatorPart>) -> Option<Document> {
    if parts.is_empty() {
        return None;
    }
    let stored = stored.map(split).unwrap_or_default();
    if stored.iter().any(|part| part.kind.is_some()) {
        let says = |kind: &Option<String>| parts.iter().any(|part| part.kind == *kind);
        let others: Vec<_> = stored.into_iter().filter(|part| !says(&part.kind)).collect();
        parts.extend(others);
    }
    parts.sort_by(|one, other| one.kind.cmp(&other.kind));
    let mut conditions: Vec<Document> = Vec::new();
    for part in parts {
        if !conditions.contains(&part.condition) {
            conditions.push(part.condition);
        }
    }
    match conditions.as_slice() {
        [only] => Some(only.clone()),
        _ => Some(doc! { "$and": conditions }),
    }
}

fn split(stored: &Document) -> Vec<ValidatorPart> {
    let all = stored.get_array("$and").ok().filter(|_| stored.len() == 1);
    match all {
        Some(all) => all
            .iter()
            .filter_map(|part| part.as_document().cloned())
            .map(ValidatorPart::read)
            .collect(),
        None => vec![ValidatorPart::read(stored.clone())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: Option<&'static str>, condition: Document) -> ValidatorPart {
        ValidatorPart::of(kind.map(|name| Kind::new("kind", name)), condition)
    }

    fn of(kind: &str, condition: Document) -> Document {
        doc! { "$or": [{ "kind": { "$ne": kind } }, condition] }
    }

    #[test]
    fn each_kind_keeps_what_the_others_say() {
        let (cat, dog) = (doc! { "lives": 9 }, doc! { "name": "Rex" });
        let cats = validator(None, vec![part(Some("cat"), cat.clone())]);
        assert_eq!(cats, Some(of("cat", cat.clone())));
        let both = validator(cats.as_ref(), vec![part(Some("dog"), dog.clone())]);
        assert_eq!(
            both,
            Some(doc! { "$and": [of("cat", cat), of("dog", dog.clone())] })
        );
        let lives = doc! { "lives": 7 };
        let changed = validator(both.as_ref(), vec![part(Some("cat"), lives.clone())]);
        assert_eq!(
            changed,
            Some(doc! { "$and": [of("cat", lives.clone()), of("dog", dog)] })
        );
        assert_eq!(validator(changed.as_ref(), Vec::new()), None);
    }

    #[test]
    fn what_is_asked_of_all_is_replaced_and_stays_beside_kinds() {
        let (old, new, cat) = (doc! { "a": 1 }, doc! { "a": 2 }, doc! { "lives": 9 });
        assert_eq!(
            validator(Some(&old), vec![part(None, new.clone())]),
            Some(new.clone())
        );
        let cats = vec![part(Some("cat"), cat.clone())];
        assert_eq!(validator(Some(&old), cats.clone()), Some(of("cat", cat.clone())));
        let both = validator(Some(&of("cat", cat.clone())), vec![part(None, new.clone())]);
        assert_eq!(both, Some(doc! { "$and": [new, of("cat", cat)] }));
        assert_eq!(validator(both.as_ref(), cats), both);
    }
}
