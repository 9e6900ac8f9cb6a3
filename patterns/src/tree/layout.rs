//! Options with every default filled in.

use std::borrow::Cow;

use odm::bson::{Bson, Document, doc};
use odm::{Error, ModelDescriptor};

use super::error::{Result, TreeError};
use super::identity::same;
use super::options::{Numbering, Orphans, PathStyle, TreeOptions};
use super::segment::ESCAPE;
use crate::exact;

const CHILDREN: &str = "children";
const ROOTS: &str = "roots";

/// Which of the five models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Parent,
    Children,
    Ancestors,
    Paths,
    Nested,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        match self {
            Shape::Parent => "parent_reference",
            Shape::Children => "child_reference",
            Shape::Ancestors => "array_of_ancestors",
            Shape::Paths => "materialized_paths",
            Shape::Nested => "nested_sets",
        }
    }
}

/// Where everything is stored.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) shape: Shape,
    pub(super) positioned: bool,
    /// The Rust name of the model.
    pub(super) model: &'static str,
    pub(super) collection: String,
    pub(super) state: String,
    pub(super) tenant: Option<(String, Bson)>,
    /// The tenant of the database, where the field above says something else.
    pub(super) owner: Option<Bson>,
    /// The field that tells the model's kind from others of the collection, and the kind, where the tenant does not say it.
    pub(super) kind: Option<(&'static str, &'static str)>,
    /// Whether the model declares a collation of its collection.
    pub(super) has_collation: bool,
    /// What tells the tenant from others that the collection's collation takes for it.
    pub(super) schema: Option<Document>,
    pub(super) parent: String,
    pub(super) children: String,
    pub(super) ancestors: String,
    pub(super) path: String,
    pub(super) depth: String,
    pub(super) left: String,
    pub(super) right: String,
    pub(super) position: String,
    pub(super) delimiter: char,
    pub(super) style: PathStyle,
    pub(super) numbering: Numbering,
    pub(super) sort_key: Option<Document>,
    pub(super) max_depth: Option<usize>,
    pub(super) max_path: usize,
    pub(super) orphans: Orphans,
    pub(super) write_ahead: bool,
    /// The field that says that a node is softly deleted.
    pub(super) deleted: Option<&'static str>,
    /// The field that counts how often a node was changed.
    pub(super) version: Option<&'static str>,
}

impl Layout {
    /// # Errors
    /// An option that cannot be.
    pub(super) fn resolve(
        (shape, positioned): (Shape, bool),
        model: &str,
        options: TreeOptions,
    ) -> Result<Layout> {
        let collection = options.collection.unwrap_or_else(|| model.to_owned());
        let state = options
            .state_collection
            .unwrap_or_else(|| format!("{collection}_trees"));
        let named = |name: Option<String>, default: &str| name.unwrap_or_else(|| default.to_owned());
        let layout = Layout {
            shape,
            positioned,
            model: "",
            collection,
            state,
            tenant: options.tenant,
            owner: None,
            kind: None,
            has_collation: false,
            schema: None,
            parent: named(options.parent_field, "parent"),
            children: named(options.children_field, CHILDREN),
            ancestors: named(options.ancestors_field, "ancestors"),
            path: named(options.path_field, "path"),
            depth: named(options.depth_field, "depth"),
            left: named(options.left_field, "left"),
            right: named(options.right_field, "right"),
            position: named(options.position_field, "position"),
            delimiter: delimiter(options.delimiter.as_deref(), options.path_style)?,
            style: options.path_style,
            numbering: options.numbering,
            sort_key: options.sort_key,
            max_depth: options.max_depth,
            max_path: options.max_path_bytes.unwrap_or(1_000),
            orphans: options.orphans,
            write_ahead: options.write_ahead,
            deleted: None,
            version: None,
        };
        layout.check()?;
        Ok(layout)
    }

    /// Makes it that of a tenant's documents, where the database shows no others.
    ///
    /// # Errors
    /// An option that names another tenant.
    pub(super) fn of_tenant(mut self, shown: Option<(&'static str, Bson)>) -> Result<Layout> {
        let Some((field, value)) = shown else {
            return Ok(self);
        };
        match &self.tenant {
            Some((own, given)) if own == field && !same(given, &value) => {
                return Err(TreeError::InvalidOption {
                    option: "tenant",
                    reason: "the database is bound to another tenant",
                });
            }
            Some((own, _)) if own != field => self.owner = Some(value),
            None if field == "_id" => self.owner = Some(value),
            _ => self.tenant = Some((field.to_owned(), value)),
        }
        self.check()?;
        Ok(self)
    }

    /// Makes it that of a model: of its documents alone, where it is one kind of those in its collection.
    ///
    /// # Errors
    /// An option that does not fit the model.
    pub(super) fn of_model(mut self, model: &'static ModelDescriptor) -> Result<Layout> {
        self.model = model.name;
        if let Some(kind) = model.kind {
            match &self.tenant {
                None => self.tenant = Some((kind.tag.to_owned(), Bson::from(kind.name))),
                Some((field, value)) if field == kind.tag => {
                    if value.as_str() != Some(kind.name) {
                        return Err(TreeError::InvalidOption {
                            option: "tenant",
                            reason: "the field tells the model's kind from others, and this is another kind",
                        });
                    }
                }
                Some(_) => self.kind = Some((kind.tag, kind.name)),
            }
            self.check()?;
        }
        self.has_collation = model.collation().is_some();
        if self.has_collation
            && let Some((field, value)) = &self.tenant
            && exact::holds_text(value)
        {
            self.schema = Some(exact::at(field, doc! { "enum": [value] }));
        }
        Ok(self)
    }

    pub(super) fn not_found(&self, id: &Bson) -> TreeError {
        TreeError::NotFound {
            model: self.model,
            id: id.clone(),
        }
    }

    pub(super) fn duplicate(&self, id: Bson, source: Option<Error>) -> TreeError {
        TreeError::DuplicateKey {
            model: self.model,
            id,
            source,
        }
    }

    fn check(&self) -> Result<()> {
        let wrong = |option, reason| Err(TreeError::InvalidOption { option, reason });
        let mut names = self.fields();
        names.extend(self.own().map(|(field, _)| field));
        for (index, name) in names.iter().enumerate() {
            if name.is_empty() || name.starts_with('$') || name.contains(['.', '\0']) {
                return wrong("field", "a field of the tree is a plain name of the top level");
            }
            if *name == "_id" || names[..index].contains(name) {
                return wrong("field", "the fields of a tree have names of their own");
            }
        }
        if self.collection == self.state || self.collection.is_empty() || self.state.is_empty() {
            return wrong("collection", "nodes and states live in two collections");
        }
        if self.sort_key.as_ref().is_some_and(|key| {
            key.is_empty()
                || key
                    .values()
                    .any(|value| !matches!(direction(value), Some(-1 | 1)))
        }) {
            return wrong("sort_key", "a sort key names fields with 1 or -1");
        }
        if self.max_depth == Some(0) {
            return wrong("max_depth", "a root has depth 1");
        }
        Ok(())
    }

    /// The fields that the model keeps in nodes.
    pub(super) fn fields(&self) -> Vec<&str> {
        let mut fields: Vec<&str> = match self.shape {
            Shape::Parent => vec![&self.parent],
            Shape::Children => vec![&self.children],
            Shape::Ancestors => vec![&self.parent, &self.ancestors],
            Shape::Paths if self.style == PathStyle::Threaded => vec![&self.parent, &self.path, &self.depth],
            Shape::Paths => vec![&self.parent, &self.path],
            Shape::Nested => vec![&self.parent, &self.left, &self.right],
        };
        if self.positioned {
            fields.push(&self.position);
        }
        fields
    }

    /// How it says in the state of a converted tree in which way this is stored.
    pub(super) fn mark(&self) -> String {
        let style = match (self.shape, self.style) {
            (Shape::Paths, PathStyle::Enclosed) => "; enclosed by ",
            (Shape::Paths, PathStyle::Trailing) => "; before ",
            (Shape::Paths, PathStyle::Threaded) => "; threaded by ",
            _ => return format!("{}: {}", self.shape.name(), self.fields().join(", ")),
        };
        let fields = self.fields().join(", ");
        format!("{}: {fields}{style}{}", self.shape.name(), self.delimiter)
    }

    /// What all nodes of this tree have in common, and no others of the collection.
    pub(super) fn own(&self) -> impl Iterator<Item = (&str, Bson)> {
        let kind = self.kind.map(|(field, kind)| (field, Bson::from(kind)));
        let tenant = self.tenant.as_ref();
        kind.into_iter()
            .chain(tenant.map(|(field, value)| (field.as_str(), value.clone())))
    }

    /// Where the state lists the roots of child references. Two trees of the same nodes, by fields of their own, have two
    /// lists.
    pub(super) fn roots(&self) -> Cow<'static, str> {
        match self.children.as_str() {
            CHILDREN => Cow::Borrowed(ROOTS),
            other => Cow::Owned(format!("{ROOTS}_{other}")),
        }
    }

    /// How the condition for all below a node compares; none where it does as its collection.
    pub(super) fn compares(&self) -> Option<Document> {
        (self.shape == Shape::Paths).then(exact::by_bytes)
    }

    /// The filter, for the nodes of this tree alone.
    pub(super) fn scoped(&self, mut filter: Document) -> Document {
        for (field, value) in self.own() {
            filter.insert(field, equal(&value));
        }
        if let Some(schema) = &self.schema {
            filter.insert("$jsonSchema", schema.clone());
        }
        filter
    }

    /// The field that orders siblings, if a field of the tree does.
    pub(super) fn order_field(&self) -> Option<&str> {
        match self.shape {
            Shape::Nested => Some(&self.left),
            _ if self.positioned => Some(&self.position),
            _ => None,
        }
    }

    /// The order of siblings as MongoDB sorts; that of child references is in their parents.
    pub(super) fn order(&self) -> Document {
        let mut order = match self.order_field() {
            Some(field) => doc! { field: 1 },
            None => self.sort_key.clone().unwrap_or_default(),
        };
        if !order.contains_key("_id") {
            order.insert("_id", 1);
        }
        order
    }

    /// Whether a node knows which nodes are above it.
    pub(super) fn knows_ancestors(&self) -> bool {
        matches!(self.shape, Shape::Ancestors | Shape::Paths)
    }

    /// Whether moving a node changes its descendants too.
    pub(super) fn moves_descendants(&self) -> bool {
        matches!(self.shape, Shape::Ancestors | Shape::Paths | Shape::Nested)
    }

    /// The `_id` of the state document.
    pub(super) fn state_id(&self) -> Document {
        let tenant = self
            .tenant
            .as_ref()
            .map_or(Bson::Null, |(_, value)| value.clone());
        let mut id = doc! { "tree": &self.collection, "tenant": tenant };
        if let Some((_, kind)) = self.kind {
            id.insert("kind", kind);
        }
        if let Some(owner) = &self.owner {
            id.insert("owner", owner);
        }
        id
    }

    /// The keys of the indexes that make each read one range.
    fn index_keys(&self) -> Vec<Document> {
        let mut keys = match self.shape {
            Shape::Parent => vec![self.with_order(&self.parent)],
            Shape::Children => vec![doc! { &self.children: 1 }],
            Shape::Ancestors => vec![self.with_order(&self.parent), doc! { &self.ancestors: 1 }],
            Shape::Paths => vec![self.with_order(&self.parent), doc! { &self.path: 1 }],
            Shape::Nested => vec![
                self.with_order(&self.parent),
                doc! { &self.left: 1, &self.right: 1 },
                doc! { &self.right: 1 },
            ],
        };
        for key in &mut keys {
            let mut whole: Document = self
                .own()
                .map(|(field, _)| (field.to_owned(), Bson::Int32(1)))
                .collect();
            whole.extend(std::mem::take(key));
            *key = whole;
        }
        keys
    }

    /// The indexes that make each read one range. That of paths compares by bytes, whatever the collation of the collection;
    /// `other_name` where its name is taken by one that does not.
    pub(super) fn indexes(&self, other_name: bool) -> Vec<Document> {
        let indexes = self.index_keys().into_iter().map(|key| {
            let parts: Vec<String> = key
                .iter()
                .map(|(field, order)| format!("{field}_{order}"))
                .collect();
            let mut name = parts.join("_");
            let is_of_paths = self.shape == Shape::Paths && key.contains_key(&self.path);
            if is_of_paths && other_name {
                name.push_str("_simple");
            }
            let mut index = doc! { "name": name, "key": key };
            if is_of_paths {
                index.insert("collation", exact::by_bytes());
            }
            index
        });
        indexes.collect()
    }

    fn with_order(&self, field: &str) -> Document {
        let mut key = doc! { field: 1 };
        match self.order_field() {
            Some(order) => {
                key.insert(order, 1);
            }
            None => key.extend(self.sort_key.clone().unwrap_or_default()),
        }
        key
    }
}

fn delimiter(given: Option<&str>, style: PathStyle) -> Result<char> {
    let default = if style == PathStyle::Threaded { ':' } else { ',' };
    let Some(given) = given else { return Ok(default) };
    let mut chars = given.chars();
    match (chars.next(), chars.next()) {
        (Some(delimiter), None)
            if delimiter.is_ascii_punctuation() && delimiter != ESCAPE && delimiter != '-' =>
        {
            Ok(delimiter)
        }
        _ => Err(TreeError::InvalidOption {
            option: "delimiter",
            reason: "the delimiter is one ASCII punctuation mark, not `~` and not `-`",
        }),
    }
}

/// A condition that is equality for every value, documents and regular expressions too.
pub(super) fn equal(value: &Bson) -> Bson {
    match value {
        Bson::Document(_) | Bson::RegularExpression(_) => Bson::Document(doc! { "$eq": value }),
        plain => plain.clone(),
    }
}

/// The direction that a sort key gives a field.
pub(super) fn direction(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(direction) => Some(i64::from(*direction)),
        Bson::Int64(direction) => Some(*direction),
        Bson::Double(direction) if direction.fract() == 0.0 => Some(*direction as i64),
        _ => None,
    }
}
