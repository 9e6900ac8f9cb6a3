//! Building indexes in the place of others, so that nothing is lost where they cannot be built.

use std::collections::BTreeSet;

use bson::{Bson, Document, doc};

use super::ModifyCollection;
use crate::backend::{self, IndexSpec};
use crate::collection::{IndexChange, IndexInfo, Target, encode};
use crate::error::{Error, ErrorKind, Result};

/// An index of the same keys stands under another name or with other options.
const OPTIONS_CONFLICT: i32 = 85;
/// What cannot be changed in place.
const INVALID_OPTIONS: i32 = 72;

/// The name of what stands in for an index while it is built.
pub(super) fn stand_in_name(index: &str) -> String {
    format!("{index}_standing_in")
}

/// The indexes of a collection, by the names that are taken.
#[derive(Debug)]
pub(super) struct Indexes {
    target: Target,
    names: BTreeSet<String>,
}

/// An index that is to be built, and what is in its place until then.
#[derive(Debug)]
struct Replacement {
    declared: IndexInfo,
    /// What it replaces: none for one that waits for its name alone.
    existing: Option<IndexInfo>,
    /// What it replaced: dropped, and not made up for yet.
    dropped: Option<IndexInfo>,
    stand_in: Option<String>,
}

impl Indexes {
    pub(super) fn new(target: Target, existing: &[IndexInfo]) -> Indexes {
        let names = existing.iter().map(|index| index.name.clone()).collect();
        Indexes { target, names }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(super) async fn create(&mut self, indexes: Vec<IndexInfo>) -> Result<()> {
        if indexes.is_empty() {
            return Ok(());
        }
        let specs = indexes
            .iter()
            .map(|index| Ok(IndexSpec(encode::raw(&index.spec)?)));
        let specs = specs.collect::<Result<Vec<_>>>()?;
        let operation = backend::CreateIndexes {
            namespace: self.target.namespace().clone(),
            indexes: specs,
        };
        self.target.execute(operation.into()).await?.done()?;
        self.names.extend(indexes.into_iter().map(|index| index.name));
        Ok(())
    }

    pub(super) async fn drop(&mut self, name: &str) -> Result<()> {
        let operation = backend::DropIndexes {
            namespace: self.target.namespace().clone(),
            index: bson::RawBson::String(name.to_owned()),
        };
        self.target.execute(operation.into()).await?.done()?;
        self.names.remove(name);
        Ok(())
    }

    /// Makes what differs as declared, and then what had to wait for a name. The names of what was changed in place, and
    /// of what was built.
    pub(super) async fn rebuild(
        &mut self,
        changed: Vec<IndexChange>,
        blocked: Vec<IndexInfo>,
    ) -> Result<(Vec<String>, Vec<String>)> {
        let (mut modified, mut rebuilt) = (Vec::new(), Vec::new());
        let mut waiting = Vec::new();
        for change in changed {
            match self.modify(&change).await? {
                true => modified.push(change.existing.name),
                false => waiting.push(Replacement::of(change.declared, Some(change.existing))),
            }
        }
        waiting.extend(blocked.into_iter().map(|index| Replacement::of(index, None)));
        self.build_beside(&mut waiting, &mut rebuilt).await?;
        self.build_in_place(waiting, &mut rebuilt).await?;
        Ok((modified, rebuilt))
    }

    /// Changes an index in place, where that is all that it needs.
    async fn modify(&self, change: &IndexChange) -> Result<bool> {
        let mut index = doc! { "name": &change.existing.name };
        for difference in &change.differences {
            let declared = change.declared.spec.get(difference);
            let value = match (difference.as_str(), declared) {
                ("expireAfterSeconds", Some(seconds)) => seconds.clone(),
                ("hidden", hidden) => hidden.cloned().unwrap_or(Bson::Boolean(false)),
                _ => return Ok(false),
            };
            index.insert(difference.as_str(), value);
        }
        match ModifyCollection::new(self.target.clone())
            .change("index", index)
            .await
        {
            Ok(()) => Ok(true),
            Err(error) if error.code() == Some(INVALID_OPTIONS) => Ok(false),
            Err(error) => Err(error.with_index(change.existing.name.as_str())),
        }
    }

    /// Builds those that can stand beside what they replace, until no more names become free.
    async fn build_beside(
        &mut self,
        waiting: &mut Vec<Replacement>,
        rebuilt: &mut Vec<String>,
    ) -> Result<()> {
        loop {
            let mut progress = false;
            for one in std::mem::take(waiting) {
                if self.has(&one.declared.name) || (one.existing.is_some() && one.declared.is_text()) {
                    waiting.push(one);
                    continue;
                }
                match self.create(vec![one.declared.clone()]).await {
                    Ok(()) => {}
                    Err(error) if error.code() == Some(OPTIONS_CONFLICT) && one.existing.is_some() => {
                        waiting.push(one);
                        continue;
                    }
                    Err(error) => return Err(one.not_built(error)),
                }
                progress = true;
                if let Some(existing) = one.existing {
                    self.drop(&existing.name).await?;
                    rebuilt.push(one.declared.name);
                }
            }
            if !progress {
                return Ok(());
            }
        }
    }

    /// Builds those that need the place of what they replace: their name or, with the same keys, that it is gone.
    async fn build_in_place(
        &mut self,
        mut waiting: Vec<Replacement>,
        rebuilt: &mut Vec<String>,
    ) -> Result<()> {
        while !waiting.is_empty() {
            let is_ready = |one: &Replacement| {
                let own = one
                    .existing
                    .as_ref()
                    .is_some_and(|own| own.name == one.declared.name);
                own || !self.has(&one.declared.name)
            };
            let next = waiting.iter().position(is_ready);
            let next = next.or_else(|| waiting.iter().position(|one| one.existing.is_some()));
            let mut one = waiting.remove(next.unwrap_or_default());
            if let Err(error) = self.make_room(&mut one).await {
                let error = one.not_built(error);
                waiting.push(one);
                return Err(self.restore(waiting, error).await);
            }
            if self.has(&one.declared.name) && waiting.iter().any(|other| other.existing.is_some()) {
                waiting.push(one);
                continue;
            }
            if let Err(error) = self.create(vec![one.declared.clone()]).await {
                waiting.push(one);
                return Err(self.restore(waiting, error).await);
            }
            if one.dropped.take().is_some() {
                rebuilt.push(one.declared.name.clone());
            }
            if let Some(stand_in) = one.stand_in.take() {
                self.drop(&stand_in).await?;
            }
        }
        Ok(())
    }

    /// Drops what an index replaces, once it is known that it can be built.
    async fn make_room(&mut self, one: &mut Replacement) -> Result<()> {
        let Some(existing) = &one.existing else {
            return Ok(());
        };
        if one.declared.unique && one.stand_in.is_none() {
            let mut name = stand_in_name(&one.declared.name);
            if self.has(&name) && existing.name != name {
                self.drop(&name).await?;
            }
            if self.has(&name) {
                name.push('_');
            }
            self.create(vec![stand_in(&one.declared, &name)]).await?;
            one.stand_in = Some(name);
        }
        self.drop(&existing.name).await?;
        one.dropped = one.existing.take();
        Ok(())
    }

    /// Builds again what was dropped. The error, with what is missing now.
    async fn restore(&mut self, waiting: Vec<Replacement>, error: Error) -> Error {
        let mut lost = Vec::new();
        let mut restored = Vec::new();
        for one in waiting {
            let Some(dropped) = one.dropped else { continue };
            let name = dropped.name.clone();
            match self.create(vec![dropped]).await {
                Ok(()) => {
                    restored.push(name);
                    if let Some(stand_in) = &one.stand_in {
                        // What is left of it is in nobody's way, and goes with the next run.
                        self.drop(stand_in).await.ok();
                    }
                }
                Err(_) => lost.push((name, one.declared.name)),
            }
        }
        let mut text = Vec::new();
        if !restored.is_empty() {
            text.push(format!("restored as they were: {}", restored.join(", ")));
        }
        for (name, declared) in &lost {
            text.push(format!("missing now: {name}, which {declared} was to replace"));
        }
        match text.is_empty() {
            true => error,
            false => {
                let text = format!(
                    "an index could not be built anew ({}); {}",
                    error.message(),
                    text.join("; ")
                );
                error.behind(text)
            }
        }
    }
}

impl Replacement {
    fn of(declared: IndexInfo, existing: Option<IndexInfo>) -> Replacement {
        Replacement {
            declared,
            existing,
            dropped: None,
            stand_in: None,
        }
    }

    /// The error of an index that cannot be built, before what it replaces was dropped.
    fn not_built(&self, error: Error) -> Error {
        let Some(existing) = &self.existing else {
            return error;
        };
        let text = match error.kind() {
            ErrorKind::DuplicateKey => format!(
                "documents break the unique index that is declared; nothing was dropped, {} is as it was",
                existing.name
            ),
            _ => return error.with_index(self.declared.name.as_str()),
        };
        error.behind(text).with_index(self.declared.name.as_str())
    }
}

/// A unique index that refuses the same as the declared one and can stand beside any other of its keys: it says
/// something that is true of all documents.
fn stand_in(declared: &IndexInfo, name: &str) -> IndexInfo {
    let mut spec = declared.spec.clone();
    spec.insert("name", name);
    for option in ["expireAfterSeconds", "hidden"] {
        spec.remove(option);
    }
    let there = |field: &str| doc! { field: { "$exists": true } };
    let mut all: Vec<Document> = Vec::new();
    all.extend(spec.get_document("partialFilterExpression").ok().cloned());
    if spec
        .remove("sparse")
        .is_some_and(|sparse| sparse == Bson::Boolean(true))
    {
        let fields: Vec<Document> = declared.keys.keys().map(|field| there(field)).collect();
        all.push(match fields.as_slice() {
            [only] => only.clone(),
            _ => doc! { "$or": fields },
        });
    }
    let filter = match all.as_slice() {
        [] => there("_id"),
        _ => {
            all.push(there("_id"));
            doc! { "$and": all }
        }
    };
    spec.insert("partialFilterExpression", filter);
    IndexInfo {
        name: name.to_owned(),
        spec,
        ..declared.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spec: Document, filter: Document) {
        let raw = encode::raw(&spec).unwrap();
        let made = stand_in(&IndexInfo::read(&raw).unwrap(), "other");
        assert_eq!(
            made.spec.get_document("partialFilterExpression").unwrap(),
            &filter
        );
        assert_eq!(made.spec.get_str("name").unwrap(), "other");
        assert!(!made.spec.contains_key("sparse") && made.unique);
    }

    #[test]
    fn what_stands_in_has_the_same_documents() {
        let there = |field: &str| doc! { field: { "$exists": true } };
        check(
            doc! {"key": {"a": 1}, "name": "a_1", "unique": true},
            there("_id"),
        );
        check(
            doc! {"key": {"a": 1}, "name": "a_1", "unique": true, "partialFilterExpression": {"n": 1}},
            doc! {"$and": [{"n": 1}, there("_id")]},
        );
        check(
            doc! {"key": {"a": 1, "b": 1}, "name": "a_1", "unique": true, "sparse": true},
            doc! {"$and": [{"$or": [there("a"), there("b")]}, there("_id")]},
        );
    }
}
