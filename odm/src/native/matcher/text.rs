//! The one text search that a filter may have.

use std::sync::Arc;

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
    pub(crate) fn over_text(&self, spec: &Arc<TextSpec>) -> Option<(Matcher, Arc<TextSearch>)> {
        let search = Arc::new(self.text()?.over(spec));
        let mut matcher = self.clone();
        give(&mut matcher.root, &search);
        Some((matcher, search))
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
