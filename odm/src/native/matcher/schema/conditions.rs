//! What a schema of whole documents asks, said as other filters say it: so that indexes answer it, and that it moves as they
//! do.

use super::super::ast::{Node, Predicate};
use super::{Bound, FieldPath, Kind, ObjectRules, Owned, Schema};

impl Node {
    /// Whether a schema is among the conditions.
    pub(in super::super) fn has_schema(&self) -> bool {
        match self {
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(Node::has_schema),
            Node::Schema(_) => true,
            _ => false,
        }
    }

    /// The same conditions, with those of schemas that can be said without them.
    pub(in super::super) fn with_schemas_apart(self) -> Node {
        let all = |nodes: Vec<Node>| nodes.into_iter().map(Node::with_schemas_apart).collect();
        match self {
            Node::And(nodes) => Node::And(all(nodes)),
            Node::Or(nodes) => Node::Or(all(nodes)),
            Node::Nor(nodes) => Node::Nor(all(nodes)),
            Node::Schema(schema) => schema.into_node(),
            other => other,
        }
    }
}

impl Schema {
    /// The same condition on a document. What it says about values of fields stays a schema.
    pub(in super::super) fn into_node(mut self) -> Node {
        let mut nodes = Vec::new();
        let is_of_others = self
            .types
            .take()
            .is_some_and(|types| !types.contains(Kind::Document));
        let is_one_of_others = self
            .variants
            .as_ref()
            .is_some_and(|variants| !variants.iter().any(is_document));
        if is_of_others || is_one_of_others {
            return Node::Never;
        }
        (self.number, self.text, self.array) = (None, None, None);
        if let Some(object) = &mut self.object {
            nodes.extend(object.bounds());
            let required = object.required.drain(..);
            nodes.splice(0..0, required.map(|path| condition(path, Predicate::Exists)));
        }
        nodes.extend(self.all_of.drain(..).map(Schema::into_node));
        if !self.any_of.is_empty() {
            nodes.push(one_of(self.any_of.drain(..).map(Schema::into_node)));
        }
        if self.one_of.len() == 1 {
            nodes.extend(self.one_of.drain(..).map(Schema::into_node));
        }
        if let Some(inner) = self.not.take() {
            nodes.push(Node::Nor(vec![inner.into_node()]));
        }
        if !self.accepts_all_documents() {
            nodes.push(Node::Schema(Box::new(self)));
        }
        match nodes.len() {
            0 => Node::Always,
            1 => nodes.remove(0),
            _ => Node::And(nodes),
        }
    }

    /// Whether it says nothing at all.
    fn is_empty(&self) -> bool {
        self.types.is_none()
            && self.variants.is_none()
            && (self.number.is_none() && self.text.is_none() && self.array.is_none() && self.object.is_none())
            && (self.all_of.is_empty() && self.any_of.is_empty() && self.one_of.is_empty())
            && self.not.is_none()
    }

    /// Whether nothing is left that a document could lack.
    fn accepts_all_documents(&self) -> bool {
        self.variants.is_none()
            && self.one_of.is_empty()
            && self.object.as_ref().is_none_or(ObjectRules::accepts_all)
    }
}

fn is_document(value: &Owned) -> bool {
    value.as_value().kind() == Kind::Document
}

/// One of the conditions, or the only one.
fn one_of(nodes: impl Iterator<Item = Node>) -> Node {
    let mut nodes: Vec<Node> = nodes.collect();
    match nodes.len() {
        1 => nodes.remove(0),
        _ => Node::Or(nodes),
    }
}

fn condition(path: FieldPath, predicate: Predicate) -> Node {
    Node::Field { path, predicate }
}

impl ObjectRules {
    /// The bounds of fields that have to be there, and to be numbers.
    fn bounds(&self) -> Vec<Node> {
        let is_required = |name: &str| self.required.iter().any(|path| path.as_str() == name);
        let mut nodes = Vec::new();
        for (name, schema) in self.properties.iter().filter(|(name, _)| is_required(name)) {
            let is_number = schema.types.is_some_and(|types| types.has_only_numbers());
            let Some(rules) = schema.number.as_ref().filter(|_| is_number) else {
                continue;
            };
            let least = rules.minimum.as_ref().map(Bound::as_least);
            let most = rules.maximum.as_ref().map(Bound::as_most);
            let predicates = least.into_iter().chain(most);
            nodes.extend(predicates.map(|predicate| condition(FieldPath::parse(name), predicate)));
        }
        nodes
    }

    fn accepts_all(&self) -> bool {
        let says_nothing = |schema: &Schema| schema.is_empty();
        self.least.is_none()
            && self.most.is_none()
            && self.required.is_empty()
            && self.properties.iter().all(|(_, schema)| says_nothing(schema))
            && self.deep.iter().all(|(_, schema)| says_nothing(schema))
            && self.patterns.iter().all(|(_, schema)| says_nothing(schema))
            && self.additional.is_none()
            && self.dependencies.is_empty()
    }
}

impl Bound {
    fn as_least(&self) -> Predicate {
        match self.exclusive {
            true => Predicate::Greater(self.value.clone()),
            false => Predicate::GreaterOrEqual(self.value.clone()),
        }
    }

    fn as_most(&self) -> Predicate {
        match self.exclusive {
            true => Predicate::Less(self.value.clone()),
            false => Predicate::LessOrEqual(self.value.clone()),
        }
    }
}
