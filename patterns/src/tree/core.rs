//! A tree without its types: a database, and where things are stored in it.

use std::sync::Arc;

use futures_util::lock::Mutex;
use odm::bson::{Bson, Document, RawDocumentBuf, doc};
use odm::{Collection, Db};

use super::error::{Result, TreeError};
use super::gate::Gate;
use super::identity::{Identity, same};
use super::layout::{Layout, Shape, equal};
use super::node::Node;
use super::path;
use crate::exact::by_bytes;

/// The collections of a tree. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) db: Db,
    pub(super) layout: Arc<Layout>,
    pub(super) nodes: Collection<Document>,
    pub(super) states: Collection<Document>,
    pub(super) scope: Scope,
    pub(super) gate: Arc<dyn Gate>,
    /// Keeps the tasks of one handle from running into each other's conflicts.
    pub(super) turn: Arc<Mutex<()>>,
}

/// Which nodes are seen of a model that is deleted softly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those that are not deleted.
    Living,
    /// All, but deleted ones cannot be asked for: deleted nodes keep their places.
    Places,
    /// All.
    All,
}

impl Core {
    pub(super) fn new(db: &Db, layout: Arc<Layout>, gate: Arc<dyn Gate>) -> Core {
        Core {
            nodes: gate.nodes(db, &layout.collection),
            states: db.raw_collection(&layout.state),
            db: db.clone(),
            layout,
            scope: Scope::Living,
            gate,
            turn: Arc::default(),
        }
    }

    /// The same tree on another executor, such as a transaction.
    pub(super) fn within(&self, db: &Db) -> Core {
        Core {
            nodes: self.gate.nodes(db, &self.layout.collection),
            states: db.raw_collection(&self.layout.state),
            db: db.clone(),
            layout: self.layout.clone(),
            scope: self.scope,
            gate: self.gate.clone(),
            turn: self.turn.clone(),
        }
    }

    /// The same tree with the places of deleted nodes, for changes.
    pub(super) fn with_places(&self) -> Core {
        let scope = match self.scope {
            Scope::Living => Scope::Places,
            other => other,
        };
        Core {
            scope,
            ..self.clone()
        }
    }

    /// Whether there are nodes that are not to be seen.
    pub(super) fn hides(&self) -> bool {
        self.scope == Scope::Living && self.layout.deleted.is_some()
    }

    /// The filter, for the nodes of this tree alone that are to be seen.
    pub(super) fn scoped(&self, filter: Document) -> Document {
        let mut filter = self.layout.scoped(filter);
        if let Some(field) = self.layout.deleted.filter(|_| self.hides()) {
            filter.insert(field, Bson::Null);
        }
        filter
    }

    /// The condition for all nodes of this tree that are to be seen, if there is one.
    fn restriction(&self) -> Option<Document> {
        let filter = self.scoped(Document::new());
        (!filter.is_empty()).then_some(filter)
    }

    pub(super) fn read(&self, raw: RawDocumentBuf) -> Node {
        Node::read(raw, &self.layout)
    }

    /// The nodes that match, in an order if there is one.
    pub(super) async fn find(
        &self,
        filter: Document,
        sort: Option<Document>,
        limit: u64,
    ) -> Result<Vec<Node>> {
        let mut find = self.nodes.find(self.scoped(filter)).limit(limit);
        if let Some(sort) = sort {
            find = find.sort_raw(sort);
        }
        let found = find.encoded().await?;
        Ok(found.into_iter().map(|raw| self.read(raw)).collect())
    }

    /// The nodes whose paths begin so, whatever the collation of the collection: where siblings have no places, in the order
    /// of the sort key, which goes by that collation.
    async fn find_inside(&self, inside: &str) -> Result<Vec<Node>> {
        let layout = &self.layout;
        let find = match self.sibling_sort() {
            Some(sort) => {
                let filter = doc! { &layout.path: path::beginning(inside) };
                self.nodes.find(self.scoped(filter)).sort_raw(sort)
            }
            None => {
                let filter = doc! { &layout.path: path::below(layout, inside) };
                self.nodes.find(self.scoped(filter)).collation(by_bytes())
            }
        };
        let found = find.encoded().await?;
        Ok(found.into_iter().map(|raw| self.read(raw)).collect())
    }

    pub(super) async fn get(&self, id: &Bson) -> Result<Option<Node>> {
        let found = self.find(doc! { "_id": equal(id) }, None, 1).await?;
        Ok(found.into_iter().next())
    }

    /// # Errors
    /// `NotFound`.
    pub(super) async fn need(&self, id: &Bson) -> Result<Node> {
        match self.get(id).await? {
            Some(node) if node.deleted.is_none() || self.scope == Scope::All => Ok(node),
            _ => Err(self.layout.not_found(id)),
        }
    }

    /// The nodes with these `_id`s, in the order of the ids; those that are not there are left out.
    pub(super) async fn get_all(&self, ids: &[Bson]) -> Result<Vec<Node>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::with_capacity(ids.len());
        for some in ids.chunks(10_000) {
            found.extend(self.find(doc! { "_id": { "$in": some } }, None, 0).await?);
        }
        let places: std::collections::HashMap<Identity, usize> = ids
            .iter()
            .enumerate()
            .map(|(place, id)| (Identity::of(id), place))
            .collect();
        found.sort_by_key(|node| places.get(&Identity::of(&node.id)).copied());
        Ok(found)
    }

    /// The parent.
    pub(super) async fn parent(&self, node: &Node) -> Result<Option<Node>> {
        match self.layout.shape {
            Shape::Children => {
                let holding = doc! { &self.layout.children: equal(&node.id) };
                Ok(self.find(holding, None, 1).await?.into_iter().next())
            }
            _ => match &node.parent {
                Some(parent) => self.get(parent).await,
                None => Ok(None),
            },
        }
    }

    /// The condition for the children of a node, or for the roots; that of child references is in their parents.
    pub(super) fn children_filter(&self, parent: Option<&Node>) -> Document {
        let layout = &self.layout;
        doc! { &layout.parent: parent.map_or(Bson::Null, |parent| equal(&parent.id)) }
    }

    /// The roots of child references, as the state document lists them.
    pub(super) async fn listed_roots(&self) -> Result<Vec<Bson>> {
        let state = self
            .states
            .find_one(doc! { "_id": self.layout.state_id() })
            .await?;
        match &state {
            Some(state) => match state.get_array(self.layout.roots().as_ref()) {
                Ok(roots) => Ok(roots.clone()),
                Err(_) => self.roots_as_before(state).await,
            },
            None => self.unlisted_roots().await,
        }
    }

    /// The roots of a tree whose state does not list them: in the order of a list that could be of any tree of the collection,
    /// where that is of them.
    pub(super) async fn roots_as_before(&self, state: &Document) -> Result<Vec<Bson>> {
        let roots = self.unlisted_roots().await?;
        let Ok(before) = state.get_array("roots") else {
            return Ok(roots);
        };
        let set =
            |ids: &[Bson]| -> std::collections::BTreeSet<Identity> { ids.iter().map(Identity::of).collect() };
        match before.len() == roots.len() && set(before) == set(&roots) {
            true => Ok(before.clone()),
            false => Ok(roots),
        }
    }

    /// The nodes that no node refers to, found by reading all.
    pub(super) async fn unlisted_roots(&self) -> Result<Vec<Bson>> {
        let all = self.find(doc! {}, Some(self.layout.order()), 0).await?;
        let referred: std::collections::HashSet<Identity> = all
            .iter()
            .flat_map(|node| node.children.iter().map(Identity::of))
            .collect();
        let roots = all.into_iter().map(|node| node.id);
        Ok(roots.filter(|id| !referred.contains(&Identity::of(id))).collect())
    }

    /// The children of a node, or the roots, in their order. `skip` and `limit` as in a query; 0 is no limit.
    pub(super) async fn children(&self, parent: Option<&Node>, skip: u64, limit: u64) -> Result<Vec<Node>> {
        if self.layout.shape == Shape::Children {
            let ids = match parent {
                Some(parent) => parent.children.clone(),
                None => self.listed_roots().await?,
            };
            if self.hides() {
                return Ok(page(self.get_all(&ids).await?, skip, limit));
            }
            let ids: Vec<Bson> = page(ids, skip, limit);
            return self.get_all(&ids).await;
        }
        let filter = self.scoped(self.children_filter(parent));
        let find = self
            .nodes
            .find(filter)
            .sort_raw(self.layout.order())
            .skip(skip)
            .limit(limit);
        let found = find.encoded().await?;
        Ok(found.into_iter().map(|raw| self.read(raw)).collect())
    }

    /// The ancestors, the root first.
    pub(super) async fn ancestors(&self, node: &Node) -> Result<Vec<Node>> {
        let layout = &self.layout;
        match layout.shape {
            Shape::Ancestors => self.get_all(node.ancestors.as_deref().unwrap_or(&[])).await,
            Shape::Paths => self.ancestors_of_path(node).await,
            // A range of numbers reads the index from its beginning; the way up reads the ancestors alone.
            Shape::Nested if !self.db.capabilities().aggregation => {
                let (Some(left), Some(right)) = (node.left, node.right) else {
                    return self.ancestors_by_steps(node).await;
                };
                let around = doc! { &layout.left: { "$lt": left }, &layout.right: { "$gt": right } };
                self.find(around, Some(doc! { &layout.left: 1 }), 0).await
            }
            _ if self.db.capabilities().aggregation => self.ancestors_by_lookup(node).await,
            _ => self.ancestors_by_steps(node).await,
        }
    }

    async fn ancestors_of_path(&self, node: &Node) -> Result<Vec<Node>> {
        let segments = path::ancestors(&self.layout, node.path.as_deref().unwrap_or(""));
        let ids: Vec<Bson> = segments
            .iter()
            .flat_map(|segment| super::segment::decode(segment))
            .collect();
        let own = node.path.as_deref().unwrap_or("");
        let mut found = self.get_all(&ids).await?;
        // A segment may read like two values; the one that is meant has a path that ours begins with.
        found.retain(|above| {
            path::inside(&self.layout, above.path.as_deref(), &above.id)
                .is_ok_and(|inside| own.starts_with(&inside))
        });
        Ok(found)
    }

    async fn ancestors_by_lookup(&self, node: &Node) -> Result<Vec<Node>> {
        let layout = &self.layout;
        let mut lookup = match layout.shape {
            Shape::Children => doc! {
                "from": &layout.collection, "startWith": "$_id",
                "connectFromField": "_id", "connectToField": &layout.children, "as": "node",
            },
            _ => doc! {
                "from": &layout.collection, "startWith": format!("${}", layout.parent),
                "connectFromField": &layout.parent, "connectToField": "_id", "as": "node",
            },
        };
        if let Some(restriction) = self.restriction() {
            lookup.insert("restrictSearchWithMatch", restriction);
        }
        let found = self.looked_up(&node.id, lookup, None).await?;
        self.chain(node, found)
    }

    /// The nodes that a `$graphLookup` from a node reaches.
    pub(super) async fn looked_up(
        &self,
        id: &Bson,
        lookup: Document,
        sort: Option<Document>,
    ) -> Result<Vec<Node>> {
        let mut stages = vec![
            doc! { "$match": self.layout.scoped(doc! { "_id": equal(id) }) },
            doc! { "$project": { "_id": 1, &self.layout.parent: 1, &self.layout.children: 1 } },
            doc! { "$graphLookup": lookup },
            // Merged into the stage before it, so that no document holds them all.
            doc! { "$unwind": "$node" },
            doc! { "$replaceRoot": { "newRoot": "$node" } },
        ];
        stages.extend(sort.map(|sort| doc! { "$sort": sort }));
        let found = self.nodes.aggregate_raw(stages).encoded().await?;
        Ok(found.into_iter().map(|raw| self.read(raw)).collect())
    }

    /// Orders ancestors from the root down, by following the links up from a node.
    fn chain(&self, node: &Node, mut found: Vec<Node>) -> Result<Vec<Node>> {
        let mut chain: Vec<Node> = Vec::with_capacity(found.len());
        loop {
            let below = chain.last().unwrap_or(node);
            let next = match self.layout.shape {
                Shape::Children => found
                    .iter()
                    .position(|above| above.children.iter().any(|child| same(child, &below.id))),
                _ => below
                    .parent
                    .as_ref()
                    .and_then(|parent| found.iter().position(|above| same(&above.id, parent))),
            };
            match next {
                Some(at) => chain.push(found.swap_remove(at)),
                None => break,
            }
        }
        if chain.iter().any(|above| same(&above.id, &node.id)) {
            return Err(circle(&node.id));
        }
        chain.reverse();
        Ok(chain)
    }

    async fn ancestors_by_steps(&self, node: &Node) -> Result<Vec<Node>> {
        let mut chain: Vec<Node> = Vec::new();
        loop {
            let below = chain.last().unwrap_or(node);
            let Some(above) = self.parent(below).await? else {
                break;
            };
            if same(&above.id, &node.id) || chain.iter().any(|known| same(&known.id, &above.id)) {
                return Err(circle(&node.id));
            }
            chain.push(above);
        }
        chain.reverse();
        Ok(chain)
    }

    /// All below a node, so many levels deep, in no order that is promised; siblings come in theirs.
    pub(super) async fn descendants(&self, node: &Node, levels: Option<usize>) -> Result<Vec<Node>> {
        let layout = &self.layout;
        if levels == Some(0) {
            return Ok(Vec::new());
        }
        match layout.shape {
            Shape::Ancestors => {
                let mut filter = doc! { &layout.ancestors: equal(&node.id) };
                if let Some(levels) = levels {
                    // Where a deeper node has an ancestor, nothing stands.
                    let place = node.ancestors.as_ref().map_or(0, Vec::len) + levels;
                    filter.insert(format!("{}.{place}", layout.ancestors), doc! { "$exists": false });
                }
                self.find(filter, self.sibling_sort(), 0).await
            }
            Shape::Paths => {
                let inside = path::inside(layout, node.path.as_deref(), &node.id)?;
                let mut found = self.find_inside(&inside).await?;
                if let Some(levels) = levels {
                    let own = self.depth_of_path(node);
                    found.retain(|below| self.depth_of_path(below) <= own + levels);
                }
                Ok(found)
            }
            Shape::Nested => {
                let (Some(left), Some(right)) = (node.left, node.right) else {
                    return Err(TreeError::Damaged {
                        id: node.id.clone(),
                        reason: "it has no interval",
                    });
                };
                let inside = doc! { &layout.left: { "$gt": left, "$lt": right } };
                let found = self.find(inside, Some(doc! { &layout.left: 1 }), 0).await?;
                Ok(match levels {
                    Some(levels) => within_levels(node, found, levels),
                    None => found,
                })
            }
            Shape::Parent | Shape::Children if self.db.capabilities().aggregation => {
                self.descendants_by_lookup(node, levels).await
            }
            Shape::Parent | Shape::Children => self.descendants_by_levels(node, levels).await,
        }
    }

    /// The sort for reads of several levels, where siblings have no order that can be told from the nodes.
    fn sibling_sort(&self) -> Option<Document> {
        self.layout.order_field().is_none().then(|| self.layout.order())
    }

    pub(super) fn depth_of_path(&self, node: &Node) -> usize {
        path::ancestors(&self.layout, node.path.as_deref().unwrap_or("")).len()
    }

    async fn descendants_by_lookup(&self, node: &Node, levels: Option<usize>) -> Result<Vec<Node>> {
        let layout = &self.layout;
        let mut lookup = match layout.shape {
            Shape::Children => doc! {
                "from": &layout.collection, "startWith": format!("${}", layout.children),
                "connectFromField": &layout.children, "connectToField": "_id", "as": "node",
            },
            _ => doc! {
                "from": &layout.collection, "startWith": "$_id",
                "connectFromField": "_id", "connectToField": &layout.parent, "as": "node",
            },
        };
        if let Some(levels) = levels {
            let deepest = i64::try_from(levels - 1).unwrap_or(i64::MAX);
            lookup.insert("maxDepth", deepest);
        }
        if let Some(restriction) = self.restriction() {
            lookup.insert("restrictSearchWithMatch", restriction);
        }
        let sort = self.sibling_sort().filter(|_| layout.shape == Shape::Parent);
        let mut found = self.looked_up(&node.id, lookup, sort).await?;
        // A circle reaches the node itself.
        found.retain(|below| !same(&below.id, &node.id));
        Ok(found)
    }

    async fn descendants_by_levels(&self, node: &Node, levels: Option<usize>) -> Result<Vec<Node>> {
        let mut all: Vec<Node> = Vec::new();
        let mut known = std::collections::HashSet::from([Identity::of(&node.id)]);
        let mut level = vec![node.clone()];
        let mut left = levels.unwrap_or(usize::MAX);
        while !level.is_empty() && left > 0 {
            left -= 1;
            let mut next = match self.layout.shape {
                Shape::Children => {
                    let ids: Vec<Bson> = level.iter().flat_map(|node| node.children.clone()).collect();
                    self.get_all(&ids).await?
                }
                _ => {
                    let mut next = Vec::new();
                    for some in level.chunks(10_000) {
                        let ids: Vec<Bson> = some.iter().map(|node| node.id.clone()).collect();
                        let filter = doc! { &self.layout.parent: { "$in": ids } };
                        next.extend(self.find(filter, self.sibling_sort(), 0).await?);
                    }
                    next
                }
            };
            next.retain(|below| known.insert(Identity::of(&below.id)));
            let kept = next.clone();
            all.extend(
                std::mem::replace(&mut level, kept)
                    .into_iter()
                    .filter(|own| !same(&own.id, &node.id)),
            );
        }
        all.extend(level.into_iter().filter(|own| !same(&own.id, &node.id)));
        Ok(all)
    }

    /// All nodes of the tree; siblings come in their order, where the nodes do not say it.
    pub(super) async fn everything(&self) -> Result<Vec<Node>> {
        let sort = match self.layout.shape {
            Shape::Nested => Some(doc! { &self.layout.left: 1 }),
            Shape::Children => None,
            _ => self.sibling_sort(),
        };
        self.find(doc! {}, sort, 0).await
    }
}

pub(super) fn circle(id: &Bson) -> TreeError {
    TreeError::Damaged {
        id: id.clone(),
        reason: "it is its own ancestor",
    }
}

pub(super) fn page<T>(all: Vec<T>, skip: u64, limit: u64) -> Vec<T> {
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let limit = match limit {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    all.into_iter().skip(skip).take(limit).collect()
}

/// Those of the nodes below one, given in order of `left`, that are not deeper than so many levels.
fn within_levels(top: &Node, found: Vec<Node>, levels: usize) -> Vec<Node> {
    let mut open: Vec<i64> = vec![top.right.unwrap_or(i64::MAX)];
    let mut kept = Vec::new();
    for node in found {
        let left = node.left.unwrap_or(i64::MIN);
        while open.len() > 1 && open.last().is_some_and(|right| *right < left) {
            open.pop();
        }
        let right = node.right.unwrap_or(left);
        if open.len() <= levels {
            kept.push(node);
        }
        open.push(right);
    }
    kept
}
