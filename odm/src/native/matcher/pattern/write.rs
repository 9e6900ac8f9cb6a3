//! From the tree of a pattern to the syntax of the `regex` crate.
//!
//! What is written matches wherever the pattern does. Where it may match more, or span something else, a
//! [`Doubts`] says for which texts, so that only those are asked of the slower search.

use std::fmt::Write;

use regex_syntax::is_meta_character;

use super::syntax::{Node, Place, Repeat, Test};

/// For which texts what was written is not sure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Doubts {
    /// A match is none for certain, whatever the text.
    matches: bool,
    /// A match is none for certain in a text that has a line break.
    with_breaks: bool,
    /// A match is none for certain in a text that ends with a line break.
    with_last_break: bool,
    /// A match is none for certain in a text that is not all ASCII.
    beyond_ascii: bool,
    /// What a match spans is not sure.
    spans: bool,
    /// What a match spans is not sure in a text that ends with a line break.
    spans_with_last_break: bool,
}

impl Doubts {
    pub(super) fn any(self) -> bool {
        self != Doubts::default()
    }

    /// Whether a match in this text may be none.
    pub(super) fn of_match(self, text: &str) -> bool {
        self.matches
            || self.with_last_break && text.ends_with('\n')
            || self.with_breaks && text.contains('\n')
            || self.beyond_ascii && !text.is_ascii()
    }

    /// Whether a match in this text may be another.
    pub(super) fn of_spans(self, text: &str) -> bool {
        self.spans || self.spans_with_last_break && text.ends_with('\n') || self.of_match(text)
    }
}

/// Writes a pattern with so many groups.
pub(super) fn write(root: &Node, groups: usize) -> (String, Doubts) {
    let mut writer = Writer {
        out: String::new(),
        doubts: Doubts::default(),
        written: vec![false; groups + 1],
    };
    writer.node(
        root,
        After {
            nothing: true,
            something: false,
        },
    );
    (writer.out, writer.doubts)
}

/// What is known about the rest of the pattern, behind a part of it.
#[derive(Clone, Copy, Debug)]
struct After {
    /// Nothing but the same end of the text follows.
    nothing: bool,
    /// A character follows in any case.
    something: bool,
}

struct Writer {
    out: String,
    doubts: Doubts,
    /// The groups that were written.
    written: Vec<bool>,
}

impl Writer {
    fn node(&mut self, node: &Node, after: After) {
        match node {
            Node::Empty => {}
            Node::Never => self.out.push_str("[^\\x{0}-\\x{10FFFF}]"),
            Node::Character(c) => self.character(*c),
            Node::Set(set) => self.ranges(set.ranges()),
            Node::Sequence(items) => self.sequence(items, after),
            Node::Choice(branches) => {
                self.out.push_str("(?:");
                for (index, branch) in branches.iter().enumerate() {
                    if index > 0 {
                        self.out.push('|');
                    }
                    self.node(branch, after);
                }
                self.out.push(')');
            }
            Node::Repeat(repeat) => self.repeat(repeat, after),
            Node::Group { number, body } => {
                let is_first = self
                    .written
                    .get_mut(*number)
                    .is_some_and(|written| !std::mem::replace(written, true));
                // A number is of one group only here.
                self.doubts.spans |= !is_first;
                self.out.push_str(if is_first { "(" } else { "(?:" });
                self.node(body, after);
                self.out.push(')');
            }
            Node::Atomic(body) => {
                self.doubts.matches = true;
                self.out.push_str("(?:");
                self.node(body, after);
                self.out.push(')');
            }
            Node::Look(_) => self.doubts.matches = true,
            Node::At(place) => self.place(*place, after),
            Node::Reference { .. } | Node::Call(_) => {
                self.doubts.matches = true;
                self.out.push_str("(?s:.*)");
            }
            Node::Condition {
                test,
                then,
                otherwise,
            } => {
                self.doubts.matches = true;
                self.out.push_str("(?:");
                if !matches!(test, Test::Definition) {
                    self.node(then, after);
                    self.out.push('|');
                }
                self.node(otherwise, after);
                self.out.push(')');
            }
            Node::Keep => self.doubts.spans = true,
        }
    }

    fn character(&mut self, c: char) {
        if is_meta_character(c) {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    fn ranges(&mut self, ranges: &[(char, char)]) {
        if ranges.is_empty() {
            return self.node(
                &Node::Never,
                After {
                    nothing: false,
                    something: false,
                },
            );
        }
        self.out.push('[');
        for (first, last) in ranges {
            for (c, sign) in [(first, ""), (last, "-")] {
                if sign.is_empty() || first != last {
                    self.out.push_str(sign);
                    // A string takes whatever is written.
                    let _ = match c.is_ascii_alphanumeric() {
                        true => write!(self.out, "{c}"),
                        false => write!(self.out, "\\x{{{:X}}}", u32::from(*c)),
                    };
                }
            }
        }
        self.out.push(']');
    }

    fn sequence(&mut self, items: &[Node], after: After) {
        let mut known = after;
        let mut afters: Vec<After> = items
            .iter()
            .rev()
            .map(|item| {
                let after = known;
                known.nothing &= matches!(item, Node::Empty | Node::At(Place::LastLine));
                known.something |= !item.is_nullable();
                after
            })
            .collect();
        for item in items {
            self.node(item, afters.pop().unwrap_or(after));
        }
    }

    fn repeat(&mut self, repeat: &Repeat, after: After) {
        let is_once = repeat.most.is_some_and(|most| most <= 1);
        // What a repetition of nothing captures is another thing there.
        self.doubts.spans |= !is_once && repeat.body.is_nullable() || repeat.most == Some(0);
        let is_single = matches!(*repeat.body, Node::Character(_) | Node::Set(_));
        if !is_single {
            self.out.push_str("(?:");
        }
        let after = After {
            nothing: after.nothing && is_once,
            ..after
        };
        self.node(&repeat.body, after);
        if !is_single {
            self.out.push(')');
        }
        let least = repeat.least;
        // A string takes whatever is written.
        let _ = match (least, repeat.most) {
            (0, None) => write!(self.out, "*"),
            (1, None) => write!(self.out, "+"),
            (0, Some(1)) => write!(self.out, "?"),
            (_, None) => write!(self.out, "{{{least},}}"),
            (_, Some(most)) => write!(self.out, "{{{least},{most}}}"),
        };
        if repeat.lazy {
            self.out.push('?');
        }
    }

    fn place(&mut self, place: Place, after: After) {
        self.out.push_str(match place {
            Place::Start => "\\A",
            Place::End => "\\z",
            // The line break is taken along, where nothing else can take it.
            Place::LastLine if after.nothing => {
                self.doubts.spans_with_last_break = true;
                "(?:\\z|\\n\\z)"
            }
            Place::LastLine => {
                self.doubts.with_breaks = true;
                "(?m:$)"
            }
            Place::LineStart => {
                self.doubts.with_last_break |= !after.something;
                "(?m:^)"
            }
            Place::LineEnd => "(?m:$)",
            Place::Edge => "(?-u:\\b)",
            // Letters beyond ASCII are of no word.
            Place::Inside => {
                self.doubts.beyond_ascii = true;
                "(?:\\B|(?-u:\\b{start-half}\\b{end-half}))"
            }
            Place::Search => {
                self.doubts.matches = true;
                ""
            }
        });
    }
}
