//! Models of what a database holds.

use bson::spec::ElementType;
use bson::{Bson, doc, rawdoc};

use super::list_indexes::ListIndexes;
use super::raw_documents::Documents;
use super::setters::runs;
use crate::backend;
use crate::codec;
use crate::collection::Target;
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};
use crate::inference::{FoundReference, InferredModels, Inspected, Place, Settings, is_named_after};

/// How many documents are fetched at once.
const BATCH: u32 = 1_000;
/// How many documents of each collection are looked at, unless it is said.
const SAMPLE: u64 = 1_000;

/// Looks at the documents, indexes and validators of a database, and gives the models that hold them. See
/// [`Db::infer_models`]. Writes nothing.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct InferModels {
    db: Db,
    collections: Option<Vec<String>>,
    sample: Option<u64>,
    look_up: bool,
    settings: Settings,
}

impl InferModels {
    pub(crate) fn new(db: &Db) -> InferModels {
        InferModels {
            db: db.clone(),
            collections: None,
            sample: Some(SAMPLE),
            look_up: true,
            settings: Settings::default(),
        }
    }

    /// Only these collections, instead of all but those whose names begin with `system.` or `odm.`.
    ///
    /// # Errors
    /// Of `.await`: `NotFound` for a collection that is not there.
    pub fn only(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> InferModels {
        self.collections = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// So many documents of each collection, by chance (`$sample`): 1,000 if not said. What no document of the sample
    /// has, the models do not know.
    pub fn sample(mut self, documents: u64) -> InferModels {
        self.sample = Some(documents);
        self
    }

    /// All documents of each collection: whatever is stored then reads into the models.
    pub fn all_documents(mut self) -> InferModels {
        self.sample = None;
        self
    }

    /// How many names the documents at one place have before the names are data and the documents are maps: 64 if not
    /// said. Names that are all numbers, identifiers or dates are data however few they are.
    pub fn max_keys_of_structs(mut self, names: usize) -> InferModels {
        self.settings.max_keys_of_structs = names;
        self
    }

    /// Lets stored texts stand in the source: fields of few texts become enums, and collections of several kinds of
    /// documents a model for each kind. Without it no text of a document is in the source. A text that is not in what was
    /// looked at is then none that the models read.
    pub fn show_values(mut self, show: bool) -> InferModels {
        self.settings.show_values = show;
        self
    }

    /// Keeps the types of numbers: a field of several is then a `Bson`. Without it, int32 and int64 are an `i64`, and
    /// these and doubles an `f64`, if each number is the same in it; a document that is written back has equal numbers,
    /// of that one type.
    pub fn exact_numbers(mut self, exact: bool) -> InferModels {
        self.settings.exact_numbers = exact;
        self
    }

    /// Whether values are looked for as `_id` of other collections, to find references; so it is unless this says no.
    pub fn look_up_references(mut self, look_up: bool) -> InferModels {
        self.look_up = look_up;
        self
    }

    async fn run(self) -> Result<InferredModels> {
        self.db.check_whole("inferModels")?;
        let mut inspected = Vec::new();
        for info in self.listed().await? {
            let target = Target::untyped(&self.db, &info.name);
            let is_view = info.kind == "view";
            let indexes = match is_view {
                true => Vec::new(),
                false => ListIndexes::new(&target).run().await?,
            };
            let mut collection = Inspected::new(info, indexes);
            if !is_view {
                self.read(&target, &mut collection).await?;
            }
            collection.complete();
            inspected.push(collection);
        }
        let references = match self.look_up {
            true => self.references(&mut inspected).await?,
            false => Vec::new(),
        };
        Ok(InferredModels::of(inspected, &references, self.settings))
    }

    /// The collections to look at, by their names.
    async fn listed(&self) -> Result<Vec<crate::db::CollectionInfo>> {
        let mut listed = self.db.list_collections().await?;
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        match &self.collections {
            None => listed.retain(|info| !info.name.starts_with("system.") && !info.name.starts_with("odm.")),
            Some(names) => {
                if let Some(missing) = names
                    .iter()
                    .find(|name| !listed.iter().any(|info| info.name == **name))
                {
                    let error = Error::new(
                        ErrorKind::NotFound,
                        "there is no such collection to infer a model of",
                    );
                    let target = Target::untyped(&self.db, missing);
                    return Err(target.explain(error, "listCollections"));
                }
                listed.retain(|info| names.contains(&info.name));
            }
        }
        Ok(listed)
    }

    async fn read(&self, target: &Target, collection: &mut Inspected) -> Result<()> {
        let mut documents = match self.sample {
            Some(0) => return Ok(()),
            Some(size) => {
                let size = i64::try_from(size).unwrap_or(i64::MAX);
                let stage = rawdoc! { "$sample": { "size": size } };
                Documents::aggregate(target, vec![stage], BATCH).await?
            }
            None => Documents::find(target, BATCH).await?,
        };
        while documents.advance().await? {
            collection.add(documents.current()?);
        }
        Ok(())
    }

    /// Where values of each place were found as `_id`: the collection's position, the path, the findings.
    async fn references(
        &self,
        inspected: &mut [Inspected],
    ) -> Result<Vec<(usize, String, Vec<FoundReference>)>> {
        let mut all = Vec::new();
        for at in 0..inspected.len() {
            for place in Place::all(&inspected[at].documents) {
                let found = self.look_up(&place, inspected).await?;
                if let Some(first) = found.first() {
                    inspected[at].each(|documents| place.refer(documents, &first.collection));
                    all.push((at, place.path(), found));
                }
            }
        }
        Ok(all)
    }

    /// The collections that have the place's values as `_id`, those that the field is named after first.
    async fn look_up(&self, place: &Place, inspected: &[Inspected]) -> Result<Vec<FoundReference>> {
        let mut found = Vec::new();
        let is_unique = place
            .keys
            .iter()
            .all(|key| matches!(key, Bson::ObjectId(_) | Bson::Binary(_)));
        let candidates = inspected
            .iter()
            .filter(|other| other.kind == "collection" && can_have(other, &place.keys));
        let (named, others): (Vec<_>, Vec<_>) =
            candidates.partition(|other| is_named_after(place.name(), &other.name));
        // Numbers and texts are alike in many collections: only a name makes them more than chance.
        let others = if is_unique { others } else { Vec::new() };
        let looked_up = place.keys.len() as u64;
        for other in named.into_iter().chain(others) {
            let count = self.count(&other.name, &place.keys).await?;
            let is_enough = match is_unique {
                true => count > 0 && count * 2 >= looked_up,
                false => count > 0 && count * 10 >= looked_up * 9,
            };
            if is_enough {
                found.push(FoundReference {
                    collection: other.name.clone(),
                    looked_up,
                    found: count,
                });
            }
            if count == looked_up {
                break;
            }
        }
        found.sort_by_key(|reference| std::cmp::Reverse(reference.found));
        Ok(found)
    }

    /// How many of the values are `_id`s of a collection.
    async fn count(&self, collection: &str, keys: &[Bson]) -> Result<u64> {
        let target = Target::untyped(&self.db, collection);
        let filter = codec::encode_untyped(&doc! { "_id": { "$in": keys } })?;
        let count = backend::Count {
            namespace: target.namespace().clone(),
            filter,
            skip: 0,
            limit: 0,
            estimated: false,
            options: backend::ReadOptions::default(),
        };
        target.execute(count.into()).await?.count()
    }
}

/// Whether a collection's `_id`s are of the values' type.
fn can_have(collection: &Inspected, keys: &[Bson]) -> bool {
    let Some(id) = collection.documents.field("_id") else {
        return false;
    };
    let kinds = id.kinds();
    keys.iter().all(|key| match key.element_type() {
        ElementType::Int32 | ElementType::Int64 => {
            kinds.contains(&(ElementType::Int32 as u8)) || kinds.contains(&(ElementType::Int64 as u8))
        }
        kind => kinds.contains(&(kind as u8)),
    })
}

runs!([] InferModels => InferredModels);
