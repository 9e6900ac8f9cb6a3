//! Structural changes, and the writes that each takes.

use futures_util::future::BoxFuture;
use odm::bson::{Bson, Document, doc};

use super::core::{Core, Scope};
use super::error::{Result, TreeError};
use super::forest::Forest;
use super::graft::{Graft, What};
use super::identity::{Identity, same};
use super::layout::{Shape, equal};
use super::node::Node;
use super::options::Numbering;
use super::plan::Plan;
use super::position::{DeleteMode, Order};
use super::segment;
use super::slot::{Place, Placed, is_in};

/// Documents to be inserted, those before their children, with the places of their parents in the list.
pub(super) type Seedlings = Vec<(Document, Option<usize>)>;

/// A structural change, as it was asked for.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Forests, each for a place of its own.
    Insert {
        forests: Vec<(Seedlings, Place)>,
    },
    /// Copies of what was read when the tree had this version.
    Copy {
        seen: i64,
        copies: Seedlings,
        place: Place,
    },
    Move {
        id: Bson,
        place: Place,
    },
    Delete {
        id: Bson,
        mode: DeleteMode,
        /// Even where the model is deleted softly.
        for_ever: bool,
    },
    /// What was softly deleted at once, undone.
    Restore {
        id: Bson,
    },
    /// All children of a node, or all roots, in their new order.
    Reorder {
        parent: Option<Bson>,
        ids: Vec<Bson>,
    },
    Rename {
        id: Bson,
        to: Bson,
    },
    /// A chain of nodes by the values of a field; documents for those that are not there.
    Chain {
        field: String,
        links: Vec<(Bson, Document)>,
    },
    /// Everything that verification complains of, mended; the fields of a subtree, or of all, written anew.
    Repair {
        below: Option<Bson>,
    },
}

impl Change {
    /// The version of the tree without which the change means nothing.
    pub(super) fn seen(&self) -> Option<i64> {
        match self {
            Change::Copy { seen, .. } => Some(*seen),
            _ => None,
        }
    }
}

/// What a change did, beyond its writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// How many nodes were deleted, or written.
    pub(super) count: u64,
    /// The nodes that a chain ends in.
    pub(super) ids: Vec<Bson>,
}

impl Core {
    /// The writes of a change, by what is stored now.
    ///
    /// # Errors
    /// What the change cannot be for.
    pub(super) fn plan<'a>(&'a self, change: &'a Change) -> BoxFuture<'a, Result<(Plan, Outcome)>> {
        Box::pin(async move {
            let mut plan = Plan::default();
            let mut outcome = Outcome::default();
            match change {
                Change::Insert { forests } => {
                    let mut placed = Vec::with_capacity(forests.len());
                    for (documents, place) in forests {
                        placed.extend(self.plan_insert(documents, place, &mut plan).await?);
                    }
                    if forests.len() > 1 && self.layout.shape == Shape::Nested && plan.moves_nodes() {
                        // Room was made twice, each time as if the other were not there.
                        self.number_anew(&placed, &mut plan).await?;
                    }
                }
                Change::Copy { copies, place, .. } => drop(self.plan_insert(copies, place, &mut plan).await?),
                Change::Move { id, place } => self.plan_move(id, place, &mut plan).await?,
                Change::Delete { id, mode, for_ever } => {
                    plan.for_ever = *for_ever;
                    outcome.count = self.plan_delete(id, *mode, &mut plan).await?;
                }
                Change::Restore { id } => outcome.count = self.plan_restore(id, &mut plan).await?,
                Change::Reorder { parent, ids } => self.plan_reorder(parent.as_ref(), ids, &mut plan).await?,
                Change::Rename { id, to } => self.plan_rename(id, to, &mut plan).await?,
                Change::Chain { field, links } => {
                    outcome.ids = self.plan_chain(field, links, &mut plan).await?;
                }
                Change::Repair { below } => {
                    self.plan_repair(below.as_ref(), &mut plan).await?;
                    let settled = usize::from(plan.roots.is_some());
                    outcome.count = (plan.writes.len() + settled) as u64;
                    return Ok((plan.in_order(), outcome));
                }
            }
            if self.layout.shape == Shape::Nested && self.layout.numbering == Numbering::Dense {
                self.number_densely(&mut plan).await?;
            }
            Ok((plan.in_order(), outcome))
        })
    }

    async fn plan_insert(
        &self,
        documents: &[(Document, Option<usize>)],
        place: &Place,
        plan: &mut Plan,
    ) -> Result<Option<Placed>> {
        let mut grafts = Vec::with_capacity(documents.len());
        let mut known = std::collections::HashSet::new();
        for (document, parent) in documents {
            let id = document.get("_id").cloned().unwrap_or(Bson::Null);
            if !known.insert(Identity::of(&id)) {
                return Err(self.layout.duplicate(id, None));
            }
            grafts.push(Graft {
                id,
                parent: *parent,
                what: What::New(document.clone()),
            });
        }
        let Some(first) = documents.first() else {
            return Ok(None);
        };
        self.refuse_known(&grafts, None).await?;
        let slot = self.slot(place, &[], Some(&first.0)).await?;
        let tops = tops(&grafts);
        if self.layout.shape == Shape::Children {
            self.list_children(tops.clone(), &slot, plan);
        }
        self.graft(grafts, &slot, plan).await?;
        Ok(Some(Placed { tops, slot }))
    }

    /// Refuses nodes that are there already, but for one, and those whose segment is that of another.
    async fn refuse_known(&self, grafts: &[Graft], but: Option<&Bson>) -> Result<()> {
        for some in grafts.chunks(10_000) {
            let mut ids: Vec<Bson> = some.iter().map(|graft| graft.id.clone()).collect();
            if self.layout.shape == Shape::Paths {
                for graft in some {
                    let segment = segment::encode(&graft.id, self.layout.delimiter)?;
                    let others = segment::decode(&segment).into_iter();
                    ids.extend(others.filter(|other| !same(other, &graft.id)));
                }
            }
            // In the whole collection: the `_id` is unique there, not in the tree.
            let filter = doc! { "_id": { "$in": &ids } };
            let found = self
                .nodes
                .find(filter)
                .project_raw(doc! { "_id": 1 })
                .limit(2)
                .await?;
            let mut found = found.iter().filter_map(|found| found.get("_id"));
            let Some(found) = found.find(|found| but.is_none_or(|but| !same(but, found))) else {
                continue;
            };
            let is_asked = ids[..some.len()].iter().any(|id| same(id, found));
            return Err(match !is_asked && is_in(&ids[some.len()..], found) {
                true => TreeError::Segment {
                    id: found.clone(),
                    reason: "a value of another type is written like it",
                },
                // The same, or for the collation of the collection.
                false => match some {
                    [graft] => self.layout.duplicate(graft.id.clone(), None),
                    _ => self.layout.duplicate(found.clone(), None),
                },
            });
        }
        Ok(())
    }

    async fn plan_move(&self, id: &Bson, place: &Place, plan: &mut Plan) -> Result<()> {
        let node = self.need(id).await?;
        let slot = self
            .slot(place, std::slice::from_ref(&node.id), Some(&document_of(&node)?))
            .await?;
        if let Some(parent) = &slot.parent {
            self.refuse_descendant(&node, parent).await?;
        }
        if self.layout.shape == Shape::Children {
            self.unlist_child(&node, plan).await?;
            self.list_children(vec![node.id.clone()], &slot, plan);
        }
        let grafts = self.stored_grafts(vec![node]).await?;
        self.graft(grafts, &slot, plan).await
    }

    /// # Errors
    /// `IntoOwnDescendant` when the new parent is the node itself or below it.
    async fn refuse_descendant(&self, node: &Node, parent: &Node) -> Result<()> {
        let is_below = same(&node.id, &parent.id)
            || match self.layout.shape {
                Shape::Ancestors => is_in(parent.ancestors.as_deref().unwrap_or(&[]), &node.id),
                _ => self
                    .ancestors(parent)
                    .await?
                    .iter()
                    .any(|above| same(&above.id, &node.id)),
            };
        match is_below {
            true => Err(TreeError::IntoOwnDescendant {
                model: self.layout.model,
                id: node.id.clone(),
                target: parent.id.clone(),
            }),
            false => Ok(()),
        }
    }

    /// Stored nodes as grafts: with all below them, where moving them changes those.
    async fn stored_grafts(&self, tops: Vec<Node>) -> Result<Vec<Graft>> {
        let with_all = self.layout.moves_descendants() || self.layout.max_depth.is_some();
        let mut grafts = Vec::new();
        for top in tops {
            if !with_all {
                grafts.push(Graft {
                    id: top.id.clone(),
                    parent: None,
                    what: What::Stored(Box::new(top)),
                });
                continue;
            }
            let mut nodes = self.descendants(&top, None).await?;
            let id = top.id.clone();
            nodes.insert(0, top);
            let forest = Forest::arrange(&self.layout, nodes, &[]);
            let Some(top) = forest.place(&id) else { continue };
            let mut places = vec![None; forest.nodes.len()];
            for (place, _) in forest.walk(&[top], Order::Preorder) {
                let parent = match place == top {
                    true => None,
                    false => forest.parents[place].and_then(|parent| places[parent]),
                };
                places[place] = Some(grafts.len());
                let node = forest.nodes[place].clone();
                grafts.push(Graft {
                    id: node.id.clone(),
                    parent,
                    what: What::Stored(Box::new(node)),
                });
            }
        }
        Ok(grafts)
    }

    async fn plan_delete(&self, id: &Bson, mode: DeleteMode, plan: &mut Plan) -> Result<u64> {
        let node = match plan.for_ever {
            true => self.get(id).await?.ok_or_else(|| self.layout.not_found(id))?,
            false => self.need(id).await?,
        };
        // What is deleted softly keeps its place.
        let stays = self.layout.deleted.is_some() && !plan.for_ever;
        let is_gone = |below: &Node| stays && below.deleted.is_some();
        let mut gone = vec![node.id.clone()];
        match mode {
            DeleteMode::Cascade => {
                let below = self.descendants(&node, None).await?.into_iter();
                gone.extend(below.filter(|below| !is_gone(below)).map(|below| below.id));
            }
            DeleteMode::Refuse => {
                let limit = if stays { 0 } else { 1 };
                let children = self.children(Some(&node), 0, limit).await?;
                if !children.iter().all(is_gone) {
                    return Err(TreeError::HasChildren {
                        model: self.layout.model,
                        id: node.id,
                    });
                }
            }
            DeleteMode::Adopt | DeleteMode::MakeRoots => {
                self.plan_adoption(&node, mode, stays, plan).await?;
                plan.delete(gone);
                return Ok(1);
            }
        }
        if self.layout.shape == Shape::Children && !stays {
            self.unlist_child(&node, plan).await?;
        }
        let count = gone.len() as u64;
        plan.delete(gone);
        Ok(count)
    }

    /// Puts the children of a node that is to be deleted elsewhere. `stays` when its place does.
    async fn plan_adoption(&self, node: &Node, mode: DeleteMode, stays: bool, plan: &mut Plan) -> Result<()> {
        let children = self.children(Some(node), 0, 0).await?;
        let leaving = match stays {
            true => Vec::new(),
            false => vec![node.id.clone()],
        };
        let slot = match mode {
            DeleteMode::Adopt => self.slot_of(node, &leaving).await?,
            _ => self.last_slot(None, &leaving).await?,
        };
        if self.layout.shape == Shape::Children {
            match stays {
                true => plan.set(&node.id, doc! { &self.layout.children: [] }),
                false => self.unlist_child(node, plan).await?,
            }
        }
        if children.is_empty() {
            return Ok(());
        }
        if self.layout.shape == Shape::Children {
            let ids: Vec<Bson> = children.iter().map(|child| child.id.clone()).collect();
            let mut slot = slot.clone();
            if slot.parent.is_none()
                && let Some(roots) = &plan.roots
            {
                slot.siblings = roots.clone();
            }
            self.list_children(ids, &slot, plan);
        }
        let grafts = self.stored_grafts(children).await?;
        self.graft(grafts, &slot, plan).await
    }

    async fn plan_restore(&self, id: &Bson, plan: &mut Plan) -> Result<u64> {
        let node = self.get(id).await?.ok_or_else(|| self.layout.not_found(id))?;
        let (Some(field), Some(date)) = (self.layout.deleted, node.deleted.clone()) else {
            return Ok(0);
        };
        if let Some(parent) = self
            .parent(&node)
            .await?
            .filter(|parent| parent.deleted.is_some())
        {
            return Err(TreeError::ParentDeleted {
                model: self.layout.model,
                id: node.id,
                parent: parent.id,
            });
        }
        let mut nodes = self.descendants(&node, None).await?;
        nodes.retain(|below| below.deleted.as_ref() == Some(&date));
        nodes.insert(0, node);
        for node in &nodes {
            plan.change(&node.id, doc! { field: Bson::Null }, Vec::new());
        }
        Ok(nodes.len() as u64)
    }

    async fn plan_reorder(&self, parent: Option<&Bson>, ids: &[Bson], plan: &mut Plan) -> Result<()> {
        let parent = match parent {
            Some(parent) => Some(self.need(parent).await?),
            None => None,
        };
        let children = self.children(parent.as_ref(), 0, 0).await?;
        // Those that nobody sees go behind the others.
        let unseen = children.iter().filter(|child| child.deleted.is_some());
        let unseen: Vec<Bson> = unseen.map(|child| child.id.clone()).collect();
        let ids: Vec<Bson> = match self.scope {
            Scope::All => ids.to_vec(),
            _ => ids.iter().chain(&unseen).cloned().collect(),
        };
        let ids = ids.as_slice();
        let mut wanted: Vec<Identity> = ids.iter().map(Identity::of).collect();
        let mut present: Vec<Identity> = children.iter().map(|child| Identity::of(&child.id)).collect();
        wanted.sort();
        present.sort();
        if wanted != present {
            return Err(TreeError::InvalidPosition {
                reason: "the new order does not name each child once",
            });
        }
        let mut by_id: std::collections::HashMap<Identity, Node> = children
            .into_iter()
            .map(|child| (Identity::of(&child.id), child))
            .collect();
        let sorted: Vec<Node> = ids
            .iter()
            .filter_map(|id| by_id.remove(&Identity::of(id)))
            .collect();
        match self.layout.shape {
            Shape::Children => match &parent {
                Some(parent) => plan.set(&parent.id, doc! { &self.layout.children: ids }),
                None => plan.roots = Some(ids.to_vec()),
            },
            Shape::Nested => {
                let slot = self.last_slot(parent, ids).await?;
                let grafts = self.stored_grafts(sorted).await?;
                self.graft(grafts, &slot, plan).await?;
            }
            _ => {
                // The places that there are, in their new order.
                let mut places: Vec<Option<i64>> = sorted.iter().map(|node| node.position).collect();
                places.sort_unstable();
                let is_sound = places
                    .windows(2)
                    .all(|pair| pair[0].is_some() && pair[0] < pair[1]);
                for (index, node) in sorted.iter().enumerate() {
                    let place = match places[index] {
                        Some(place) if is_sound => place,
                        _ => index as i64 * super::labels::STRIDE,
                    };
                    if node.position != Some(place) {
                        plan.set(&node.id, doc! { &self.layout.position: place });
                    }
                }
            }
        }
        Ok(())
    }

    async fn plan_rename(&self, id: &Bson, to: &Bson, plan: &mut Plan) -> Result<()> {
        let node = self.need(id).await?;
        let id = &node.id;
        if same(id, to) {
            return Ok(());
        }
        let renamed = Graft {
            id: to.clone(),
            parent: None,
            what: What::New(Document::new()),
        };
        self.refuse_known(std::slice::from_ref(&renamed), Some(id))
            .await?;
        let old = document_of(&node)?;
        let mut new = old.clone();
        new.insert("_id", to.clone());
        plan.for_ever = true;
        plan.rename(node.id.clone(), old, new);
        if self.layout.shape == Shape::Children {
            let rename = |list: &[Bson]| -> Vec<Bson> {
                let renamed = list.iter().map(|own| if same(own, id) { to } else { own });
                renamed.cloned().collect()
            };
            match self.parent(&node).await? {
                Some(parent) => {
                    plan.set(
                        &parent.id,
                        doc! { &self.layout.children: rename(&parent.children) },
                    );
                }
                None => plan.roots = Some(rename(&self.listed_roots().await?)),
            }
            return Ok(());
        }
        let changed = match self.layout.knows_ancestors() {
            true => self.descendants(&node, None).await?,
            false => self.children(Some(&node), 0, 0).await?,
        };
        if self.layout.shape == Shape::Paths {
            let above = self.parent(&node).await?;
            let inside = match &above {
                Some(above) => Some(super::path::inside(
                    &self.layout,
                    above.path.as_deref(),
                    &above.id,
                )?),
                None => None,
            };
            let own = super::path::stored(&self.layout, inside.as_deref(), to)?;
            let old = super::path::inside(&self.layout, node.path.as_deref(), &node.id)?;
            let new = super::path::inside(&self.layout, own.as_deref(), to)?;
            plan.set(to, doc! { &self.layout.path: own });
            for below in &changed {
                let rest = below
                    .path
                    .as_deref()
                    .and_then(|path| path.strip_prefix(old.as_str()));
                let Some(rest) = rest else { continue };
                let path = format!("{new}{rest}");
                if path.len() > self.layout.max_path {
                    return Err(TreeError::PathTooLong {
                        id: below.id.clone(),
                        bytes: path.len(),
                        limit: self.layout.max_path,
                    });
                }
                plan.set(&below.id, doc! { &self.layout.path: path });
            }
        }
        for below in changed {
            let mut fields = Document::new();
            if below.parent.as_ref().is_some_and(|parent| same(parent, id)) {
                fields.insert(&self.layout.parent, to.clone());
            }
            if let Some(ancestors) = &below.ancestors {
                let ancestors: Vec<Bson> = ancestors
                    .iter()
                    .map(|own| if same(own, id) { to.clone() } else { own.clone() })
                    .collect();
                fields.insert(&self.layout.ancestors, ancestors);
            }
            plan.set(&below.id, fields);
        }
        Ok(())
    }

    async fn plan_chain(
        &self,
        field: &str,
        links: &[(Bson, Document)],
        plan: &mut Plan,
    ) -> Result<Vec<Bson>> {
        let mut found: Vec<Bson> = Vec::new();
        let mut parent: Option<Node> = None;
        for (value, _) in links {
            match self.child_by(field, value, parent.as_ref()).await? {
                Some(node) => {
                    found.push(node.id.clone());
                    parent = Some(node);
                }
                None => break,
            }
        }
        let missing: Vec<(Document, Option<usize>)> = links[found.len()..]
            .iter()
            .enumerate()
            .map(|(place, (_, document))| (document.clone(), place.checked_sub(1)))
            .collect();
        found.extend(
            missing
                .iter()
                .filter_map(|(document, _)| document.get("_id").cloned()),
        );
        let place = parent.map_or(Place::Root, |parent| Place::Under(parent.id));
        self.plan_insert(&missing, &place, plan).await?;
        Ok(found)
    }

    /// The node at the end of a chain; none where one is missing.
    pub(super) async fn end_of_chain(&self, field: &str, links: &[(Bson, Document)]) -> Result<Option<Node>> {
        let mut end = None;
        for (value, _) in links {
            end = self.child_by(field, value, end.as_ref()).await?;
            if end.is_none() {
                break;
            }
        }
        Ok(end)
    }

    /// The child, or root, whose field has a value.
    async fn child_by(&self, field: &str, value: &Bson, parent: Option<&Node>) -> Result<Option<Node>> {
        let mut filter = match self.layout.shape {
            Shape::Children => {
                let ids = match parent {
                    Some(parent) => parent.children.clone(),
                    None => self.listed_roots().await?,
                };
                doc! { "$and": [{ "_id": { "$in": ids } }] }
            }
            _ => self.children_filter(parent),
        };
        filter.insert(field, equal(value));
        self.only_seen(&mut filter);
        let sort = (self.layout.shape != Shape::Children).then(|| self.layout.order());
        Ok(self.find(filter, sort, 1).await?.into_iter().next())
    }
}

fn tops(grafts: &[Graft]) -> Vec<Bson> {
    let tops = grafts.iter().filter(|graft| graft.parent.is_none());
    tops.map(|graft| graft.id.clone()).collect()
}

/// # Errors
/// `Damaged` when the document cannot be read.
pub(super) fn document_of(node: &Node) -> Result<Document> {
    Document::try_from(&node.raw).map_err(|_| TreeError::Damaged {
        id: node.id.clone(),
        reason: "the document cannot be read",
    })
}
