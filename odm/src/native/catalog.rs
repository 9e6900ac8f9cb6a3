//! Which collections and indexes exist.
//!
//! A catalog is a value: cheap to clone, shared by every view of the commit that it belongs to, changed
//! copy-on-write by a writer and committed with the writer's data.

pub(crate) mod buckets;
mod changes;
mod collection;
pub(crate) mod filters;
pub(crate) mod rules;
mod stored;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use imbl::OrdMap;

use super::document::Doc;
use super::fault::{Fault, Result, code};
use super::index::IndexDefinition;
use super::index::arrays::Arrays;
use super::storage::TreeId;

pub(crate) use self::collection::{Collection, CollectionId, IndexEntry};
pub(crate) use self::stored::{inspect, load};

/// Every collection of every database.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    databases: OrdMap<Arc<str>, OrdMap<Arc<str>, Arc<Collection>>>,
    by_id: OrdMap<CollectionId, Arc<Collection>>,
    /// The next collection id and tree id to give out. Neither is ever used again; shared by all versions
    /// of the catalog, so that concurrent transactions never get the same one.
    next_id: Arc<AtomicU32>,
    next_tree: Arc<AtomicU32>,
    /// Trees of what was dropped since the last commit, to be cleared with the next one: among them those
    /// that no committed catalog ever had.
    dropped: Vec<TreeId>,
}

impl Default for Catalog {
    fn default() -> Catalog {
        Catalog {
            databases: OrdMap::new(),
            by_id: OrdMap::new(),
            next_id: Arc::new(AtomicU32::new(1)),
            next_tree: Arc::new(AtomicU32::new(TreeId::CATALOG.0 + 1)),
            dropped: Vec::new(),
        }
    }
}

impl Catalog {
    /// The collection of this name.
    pub(crate) fn collection(&self, database: &str, name: &str) -> Option<&Arc<Collection>> {
        self.databases.get(database)?.get(name)
    }

    /// The collection with this id.
    pub(crate) fn by_id(&self, id: CollectionId) -> Option<&Arc<Collection>> {
        self.by_id.get(&id)
    }

    /// The collections of a database, by name.
    pub(crate) fn collections(&self, database: &str) -> impl Iterator<Item = &Arc<Collection>> {
        self.databases
            .get(database)
            .into_iter()
            .flat_map(|database| database.values())
    }

    /// Every collection, by database and name.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Collection>> {
        self.databases.values().flat_map(|database| database.values())
    }

    /// The databases that have a collection, by name.
    pub(crate) fn databases(&self) -> impl Iterator<Item = &str> {
        self.databases.keys().map(|name| &**name)
    }

    /// Every tree that was ever given to a collection or an index.
    pub(crate) fn given_trees(&self) -> impl Iterator<Item = TreeId> + use<> {
        (TreeId::CATALOG.0 + 1..self.next_tree.load(Ordering::Relaxed))
            .flat_map(|number| [TreeId(number), TreeId::records(number)])
    }

    /// Creates a collection with its `_id_` index, which only the buckets of a time series do not have.
    ///
    /// `options` are the BSON bytes that `listCollections` gives back.
    ///
    /// # Errors
    /// Code 48 when the name is taken; 13297 when a database of the same name in other case exists.
    pub(crate) fn create_collection(
        &mut self,
        database: &str,
        name: &str,
        options: &[u8],
        id_index: Option<IndexDefinition>,
    ) -> Result<Arc<Collection>> {
        if self.collection(database, name).is_some() {
            return Err(Fault::new(
                code::NAMESPACE_EXISTS,
                format!("Collection {database}.{name} already exists."),
            ));
        }
        self.check_database_case(database)?;
        let id = CollectionId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let records = TreeId::records(self.next_tree().0);
        let id_index = id_index.map(|definition| IndexEntry::new(definition, self.next_tree()));
        let collection = Arc::new(Collection::new(
            id,
            database,
            name,
            records,
            options,
            bson::Uuid::new().bytes(),
            id_index.into_iter().collect(),
        )?);
        self.insert(collection.clone());
        Ok(collection)
    }

    /// Removes a collection with its indexes; gives what it was. Its trees are cleared with the commit.
    pub(crate) fn drop_collection(&mut self, database: &str, name: &str) -> Option<Arc<Collection>> {
        let collection = self.collection(database, name)?.clone();
        self.forget(&collection);
        self.dropped.extend(collection.trees());
        Some(collection)
    }

    /// Gives a collection another name, possibly in another database, where it has another UUID.
    ///
    /// # Errors
    /// Code 26 when there is no such collection, 48 when the new name is taken.
    pub(crate) fn rename_collection(&mut self, id: CollectionId, database: &str, name: &str) -> Result<()> {
        if self.collection(database, name).is_some() {
            return Err(Fault::new(code::NAMESPACE_EXISTS, "target namespace exists"));
        }
        self.check_database_case(database)?;
        let collection = self.found(id)?;
        self.forget(&collection);
        self.insert(Arc::new(collection.renamed(database, name)));
        Ok(())
    }

    /// Replaces the options of a collection.
    ///
    /// # Errors
    /// Code 26 when there is no such collection.
    pub(crate) fn set_options(&mut self, id: CollectionId, options: &[u8]) -> Result<()> {
        let rules = rules::Rules::parse(Doc::Raw(options))?;
        self.change(id, |collection| collection.set_options(options, rules))
    }

    /// Adds an empty index; gives its tree. The caller fills it, and has checked the definition against
    /// those that exist.
    ///
    /// # Errors
    /// Code 26 when there is no such collection.
    pub(crate) fn add_index(&mut self, id: CollectionId, definition: IndexDefinition) -> Result<TreeId> {
        let tree = self.next_tree();
        self.change(id, |collection| {
            collection.add_index(IndexEntry::new(definition, tree))
        })?;
        Ok(tree)
    }

    /// Changes the definition of an index as `collMod` does: it keeps its entries, and comes behind the others.
    ///
    /// # Errors
    /// Code 26 when there is no such collection.
    pub(crate) fn alter_index(
        &mut self,
        id: CollectionId,
        tree: TreeId,
        definition: IndexDefinition,
    ) -> Result<()> {
        self.change(id, |collection| collection.alter_index(tree, definition))
    }

    /// Replaces the definition of an index, keeping its entries and its place.
    ///
    /// # Errors
    /// Code 26 when there is no such collection.
    pub(crate) fn replace_index(
        &mut self,
        id: CollectionId,
        tree: TreeId,
        definition: IndexDefinition,
    ) -> Result<()> {
        self.change(id, |collection| collection.replace_index(tree, definition))
    }

    /// Says that other rules made the index's sort keys.
    #[cfg(all(test, feature = "collation"))]
    pub(crate) fn age_index(&mut self, id: CollectionId, tree: TreeId) -> Result<()> {
        self.change(id, |collection| collection.age_index(tree))
    }

    /// Removes an index; its tree is cleared with the commit.
    ///
    /// # Errors
    /// Code 26 when there is no such collection.
    pub(crate) fn drop_index(&mut self, id: CollectionId, tree: TreeId) -> Result<()> {
        self.change(id, |collection| collection.drop_index(tree))?;
        self.dropped.push(tree);
        Ok(())
    }

    /// Counts what a write to a capped collection added and took away.
    ///
    /// # Errors
    /// Code 26 when there is no such collection.
    pub(crate) fn note_used(&mut self, id: CollectionId, documents: i64, bytes: i64) -> Result<()> {
        self.change(id, |collection| collection.note_used(documents, bytes))
    }

    /// Records which components of an index have seen arrays; flags once set stay set.
    ///
    /// # Errors
    /// Code 26 when there is no such collection.
    pub(crate) fn set_multikey(&mut self, id: CollectionId, tree: TreeId, multikey: &[Arrays]) -> Result<()> {
        self.change(id, |collection| collection.set_multikey(tree, multikey))
    }

    /// What to claim before creating, dropping or renaming a collection, in [`TreeId::CATALOG`].
    pub(crate) fn claim_key(database: &str, name: &str) -> Vec<u8> {
        format!("{database}\0{name}").into_bytes()
    }

    fn check_database_case(&self, database: &str) -> Result<()> {
        if self.databases.contains_key(database) {
            return Ok(());
        }
        let lower = database.to_lowercase();
        match self.databases().find(|other| other.to_lowercase() == lower) {
            None => Ok(()),
            Some(other) => Err(Fault::new(
                code::DATABASE_DIFFER_CASE,
                format!(
                    "db already exists with different case already have: [{other}] trying to create [{database}]"
                ),
            )),
        }
    }

    fn next_tree(&self) -> TreeId {
        TreeId(self.next_tree.fetch_add(1, Ordering::Relaxed))
    }

    fn found(&self, id: CollectionId) -> Result<Arc<Collection>> {
        match self.by_id(id) {
            Some(collection) => Ok(collection.clone()),
            None => Err(Fault::new(code::NAMESPACE_NOT_FOUND, "ns does not exist")),
        }
    }

    fn change(&mut self, id: CollectionId, change: impl FnOnce(&mut Collection)) -> Result<()> {
        let mut collection = (*self.found(id)?).clone();
        change(&mut collection);
        self.insert(Arc::new(collection));
        Ok(())
    }

    fn insert(&mut self, collection: Arc<Collection>) {
        self.by_id.insert(collection.id, collection.clone());
        self.databases
            .entry(collection.database.clone())
            .or_default()
            .insert(collection.name.clone(), collection);
    }

    fn forget(&mut self, collection: &Collection) {
        self.by_id.remove(&collection.id);
        if let Some(database) = self.databases.get_mut(&collection.database) {
            database.remove(&collection.name);
            if database.is_empty() {
                self.databases.remove(&collection.database);
            }
        }
    }
}
