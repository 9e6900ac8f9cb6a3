//! The one text search that a filter may have.

use std::sync::Arc;

use super::super::document::Doc;
use super::super::fault::Result;
use super::super::text::{TextQuery, TextSearch, TextSpec};
use super::Matcher;
use super::ast::Node;
use super::parse::bad;

impl Matcher {
    /// The text search, if the filter has one.
    pub(crate) fn text(&self) -> Option<&TextQuery> {
        find(&self.root)
    }

    /// The same filter with its text search over an index, and that search.
    pub(crate) fn over_text(&self, spec: &Arc<TextSpec>) -> Option<(Matcher, Arc<Scoring>)> {
        let search = Arc::new(self.text()?.over(spec));
        let with = |root: Node| {
            let mut matcher = Matcher {
                root,
                context: self.context.clone(),
            };
            give(&mut matcher.root, &search);
            matcher
        };
        let scoring = Scoring {
            branch: has_choice(&self.root).then(|| with(chosen(&self.root))),
            search: search.clone(),
        };
        Some((with(self.root.clone()), Arc::new(scoring)))
    }
}

/// The text search of a filter over an index, and of which documents it tells how well they answer.
#[derive(Debug)]
pub(crate) struct Scoring {
    pub(crate) search: Arc<TextSearch>,
    /// What a document that the search found matches, where others may match by another member of an `$or`.
    branch: Option<Matcher>,
}

impl Scoring {
    /// How well a document answers; `None` where something else found it.
    pub(crate) fn score(&self, doc: Doc<'_>) -> Result<Option<f64>> {
        match &self.branch {
            Some(branch) if !branch.matches(doc)? => Ok(None),
            _ => self.search.score(doc),
        }
    }
}

/// Whether the text search is in an `$or`.
fn has_choice(node: &Node) -> bool {
    match node {
        Node::Or(nodes) => nodes.iter().any(|node| find(node).is_some()),
        Node::And(nodes) => nodes.iter().any(has_choice),
        _ => false,
    }
}

/// The filter with the member of each `$or` that has the text search in place of the `$or`.
fn chosen(node: &Node) -> Node {
    match node {
        Node::Or(nodes) => match nodes.iter().find(|node| find(node).is_some()) {
            Some(own) => chosen(own),
            None => node.clone(),
        },
        Node::And(nodes) => Node::And(nodes.iter().map(chosen).collect()),
        _ => node.clone(),
    }
}

/// Refuses a second text search, and one whose opposite is asked for.
pub(super) fn check(root: &Node) -> Result<()> {
    if count(root, false)? > 1 {
        return Err(bad("Too many text expressions"));
    }
    Ok(())
}

fn count(node: &Node, negated: bool) -> Result<usize> {
    let (nodes, negated) = match node {
        Node::Text(_) if negated => return Err(bad("text expression not allowed in nor")),
        Node::Text(_) => return Ok(1),
        Node::And(nodes) | Node::Or(nodes) => (nodes, negated),
        Node::Nor(nodes) => (nodes, true),
        _ => return Ok(0),
    };
    let mut total = 0;
    for node in nodes {
        total += count(node, negated)?;
    }
    Ok(total)
}

fn find(node: &Node) -> Option<&TextQuery> {
    match node {
        Node::Text(text) => Some(&text.query),
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().find_map(find),
        _ => None,
    }
}

fn give(node: &mut Node, search: &Arc<TextSearch>) {
    match node {
        Node::Text(text) => text.search = Some(search.clone()),
        Node::And(nodes) | Node::Or(nodes) => nodes.iter_mut().for_each(|node| give(node, search)),
        _ => {}
    }
}
