//! The tree of a pattern, with all options resolved.

use super::set::Set;

/// Why a pattern is not taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Refusal {
    /// It is none, in the server's words.
    Invalid(&'static str),
    /// The engine does not have it.
    Unsupported(&'static str),
}

pub(super) type Parsed<T> = std::result::Result<T, Refusal>;

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Syntax {
    pub(super) root: Node,
    /// How many groups there are, numbered from 1.
    pub(super) groups: usize,
    /// What the server puts behind a pattern would not end it, in the server's words.
    pub(super) swallows: Option<&'static str>,
    /// Whether the pattern is of bytes, of which each is a character.
    pub(super) bytes: bool,
}

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Node {
    Empty,
    /// What matches nowhere.
    Never,
    Character(char),
    Set(Set),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat(Repeat),
    Group {
        number: usize,
        body: Box<Node>,
    },
    /// What is not entered again once it was left.
    Atomic(Box<Node>),
    Look(Look),
    At(Place),
    /// What a group took before.
    Reference {
        target: Target,
        case: Case,
    },
    /// A group, or with 0 the whole pattern, as if it were written here.
    Call(Target),
    Condition {
        test: Test,
        then: Box<Node>,
        otherwise: Box<Node>,
    },
    /// The match starts only here.
    Keep,
}

#[derive(Debug)]
pub(super) struct Repeat {
    pub(super) body: Box<Node>,
    pub(super) least: u32,
    /// `None` without a limit.
    pub(super) most: Option<u32>,
    pub(super) lazy: bool,
}

/// A look around.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) behind: bool,
    pub(super) negated: bool,
    /// Of which each has a length of its own, behind.
    pub(super) branches: Vec<Node>,
}

/// What holds between two characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    Start,
    End,
    /// The end, or before a line break that is the last character.
    LastLine,
    /// The start, or behind a line break that is not the last character.
    LineStart,
    LineEnd,
    /// An edge of a word.
    Edge,
    /// No edge of a word.
    Inside,
    /// Where the search started.
    Search,
}

/// The groups that are meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    Number(usize),
    /// Resolved when all groups are known.
    Name(String),
    /// Of one name, in their order.
    Numbers(Vec<usize>),
}

impl Target {
    pub(super) fn numbers(&self) -> &[usize] {
        match self {
            Target::Number(number) => std::slice::from_ref(number),
            Target::Numbers(numbers) => numbers,
            Target::Name(_) => &[],
        }
    }
}

/// What a condition asks.
#[derive(Debug)]
pub(super) enum Test {
    /// Whether a group took part.
    Taken(Target),
    /// Whether this is inside a call of a group, or with `None` of any.
    Called(Option<Target>),
    Look(Look),
    /// Never true: the groups in it are called only.
    Definition,
}

/// Whether letters of both cases are the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Case {
    Kept,
    Folded,
    /// Only those of ASCII are.
    FoldedAscii,
}

impl Node {
    pub(super) fn sequence(mut items: Vec<Node>) -> Node {
        match items.len() {
            0 => Node::Empty,
            1 => items.remove(0),
            _ => Node::Sequence(items),
        }
    }

    pub(super) fn choice(mut branches: Vec<Node>) -> Node {
        match branches.len() {
            1 => branches.remove(0),
            _ => Node::Choice(branches),
        }
    }

    /// The parts, in order.
    pub(super) fn parts(&self) -> Vec<&Node> {
        match self {
            Node::Sequence(items) | Node::Choice(items) => items.iter().collect(),
            Node::Repeat(repeat) => vec![&repeat.body],
            Node::Group { body, .. } | Node::Atomic(body) => vec![body],
            Node::Look(look) => look.branches.iter().collect(),
            Node::Condition {
                test: Test::Look(look),
                then,
                otherwise,
            } => look.branches.iter().chain([&**then, otherwise]).collect(),
            Node::Condition { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }

    /// Whether it may match without a character; what is called may not be known to.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Node::Character(_) | Node::Set(_) | Node::Never => false,
            Node::Sequence(items) => items.iter().all(Node::is_nullable),
            Node::Choice(branches) => branches.iter().any(Node::is_nullable),
            Node::Repeat(repeat) => repeat.least == 0 || repeat.body.is_nullable(),
            Node::Group { body, .. } | Node::Atomic(body) => body.is_nullable(),
            Node::Condition { then, otherwise, .. } => then.is_nullable() || otherwise.is_nullable(),
            Node::Empty
            | Node::Look(_)
            | Node::At(_)
            | Node::Reference { .. }
            | Node::Call(_)
            | Node::Keep => true,
        }
    }
}
