//! What is searched for.

use std::ops::{BitAnd, BitOr, Not};

/// What is searched for: words, beginnings of words, phrases, combined.
///
/// ```
/// use odm_patterns::search::Query;
///
/// let query = Query::word("whale") & (Query::prefix("harpoon") | Query::phrase("white line")) & !Query::word("shark");
/// // The same from a text that somebody typed. It can hold anything.
/// let typed = Query::parse(r#"+whale harpoon* "white line" -shark"#);
/// # let _ = (query, typed);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Query(pub(super) Node);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// The words of a text, all of them.
    Words(String),
    Prefix(String),
    Phrase(String),
    All(Vec<Node>),
    Any(Vec<Node>),
    /// The first must hold, the others count for the order.
    Rather(Vec<Node>, Vec<Node>),
    Not(Box<Node>),
    Worth(Box<Node>, f64),
}

impl Query {
    /// Documents with this word, in any of its forms that have the same stem. Of several words, those with all.
    pub fn word(word: impl Into<String>) -> Query {
        Query(Node::Words(word.into()))
    }

    /// Documents with a word that begins so. Of several words, or of one that documents have as several (`node.j`,
    /// `sea-wo`), those with all, of which the last only begins so. That is not brought to a stem, but the words of the
    /// documents are: where there is stemming, `hunting*` finds nothing.
    pub fn prefix(beginning: impl Into<String>) -> Query {
        Query(Node::Prefix(beginning.into()))
    }

    /// Documents in which these words follow each other in one text. The index finds those with all of the words, and
    /// their texts are read again.
    pub fn phrase(words: impl Into<String>) -> Query {
        Query(Node::Phrase(words.into()))
    }

    /// Documents that all of these find.
    pub fn all(queries: impl IntoIterator<Item = Query>) -> Query {
        Query(Node::All(queries.into_iter().map(|query| query.0).collect()))
    }

    /// Documents that one of these finds, those that more of them find first.
    pub fn any(queries: impl IntoIterator<Item = Query>) -> Query {
        Query(Node::Any(queries.into_iter().map(|query| query.0).collect()))
    }

    /// Documents that this does not find. Only beside something that is searched for.
    #[allow(clippy::should_implement_trait, reason = "the operator is there too")]
    pub fn not(query: Query) -> Query {
        Query(Node::Not(Box::new(query.0)))
    }

    /// Counts so many times as much for the order.
    pub fn worth(self, factor: f64) -> Query {
        Query(Node::Worth(Box::new(self.0), factor))
    }

    /// What somebody typed: any of the words, `+word` with it, `-word` without it, `"a phrase"`, `begin*`. Signs that
    /// mean nothing where they stand are left out; no text is wrong.
    pub fn parse(text: &str) -> Query {
        let (mut any, mut with, mut without) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let sign = matches!(first, '+' | '-').then_some(first);
            let body = if sign.is_some() { &rest[1..] } else { rest };
            let (node, behind) = match body.strip_prefix('"') {
                Some(quoted) => {
                    let (phrase, behind) = quoted.split_once('"').unwrap_or((quoted, ""));
                    (Node::Phrase(phrase.to_owned()), behind)
                }
                None => {
                    let end = body
                        .find(|letter: char| letter.is_whitespace() || letter == '"')
                        .unwrap_or(body.len());
                    let (word, behind) = body.split_at(end);
                    let node = match word.strip_suffix('*') {
                        Some(beginning) => Node::Prefix(beginning.to_owned()),
                        None => Node::Words(word.to_owned()),
                    };
                    (node, behind)
                }
            };
            match sign {
                Some('+') => with.push(node),
                Some(_) => without.push(Node::Not(Box::new(node))),
                None => any.push(node),
            }
            rest = behind.trim_start();
        }
        if with.is_empty() && without.is_empty() {
            return Query(Node::Any(any));
        }
        if with.is_empty() {
            without.insert(0, Node::Any(any));
            return Query(Node::All(without));
        }
        with.extend(without);
        Query(Node::Rather(with, any))
    }
}

impl From<&str> for Query {
    /// As [`parse`](Query::parse).
    fn from(text: &str) -> Query {
        Query::parse(text)
    }
}

impl From<&String> for Query {
    /// As [`parse`](Query::parse).
    fn from(text: &String) -> Query {
        Query::parse(text)
    }
}

impl From<String> for Query {
    /// As [`parse`](Query::parse).
    fn from(text: String) -> Query {
        Query::parse(&text)
    }
}

impl From<&Query> for Query {
    fn from(query: &Query) -> Query {
        query.clone()
    }
}

impl BitAnd for Query {
    type Output = Query;

    fn bitand(self, other: Query) -> Query {
        Query::all([self, other])
    }
}

impl BitOr for Query {
    type Output = Query;

    fn bitor(self, other: Query) -> Query {
        Query::any([self, other])
    }
}

impl Not for Query {
    type Output = Query;

    fn not(self) -> Query {
        Query::not(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Node {
        Node::Words(text.to_owned())
    }

    #[test]
    fn what_is_typed_is_understood() {
        assert_eq!(Query::parse("a b").0, Node::Any(vec![words("a"), words("b")]));
        assert_eq!(
            Query::parse("a -b").0,
            Node::All(vec![Node::Any(vec![words("a")]), Node::Not(Box::new(words("b")))])
        );
        assert_eq!(
            Query::parse("+\"a b\" c*").0,
            Node::Rather(vec![Node::Phrase("a b".into())], vec![Node::Prefix("c".into())])
        );
    }

    #[test]
    fn nothing_that_is_typed_is_wrong() {
        for text in [
            "",
            " ",
            "\"",
            "\"\"",
            "+",
            "-",
            "+-",
            "--",
            "*",
            "-*",
            "\"a",
            "a\"b\"c",
            "+\"",
            "\u{0}",
            "a\u{0}b",
            "$where: 1",
            ".*",
            "^(a+)+$",
            "{\"$gt\": \"\"}",
            "\u{202e}abc",
            "-\"",
            "+ + +",
        ] {
            let _ = Query::parse(text);
        }
    }
}
