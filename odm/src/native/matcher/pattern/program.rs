//! A pattern as steps for the search that can do all of it.

use std::collections::HashMap;

use super::check::Groups;
use super::set::Set;
use super::syntax::{Case, Look, Node, Place, Repeat, Syntax, Test};

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// How many groups there are.
    pub(super) groups: usize,
    /// How many values a search keeps: two positions for each group and the whole, and what steps remember.
    pub(super) values: usize,
    /// It matches at the start of the text only.
    pub(super) is_anchored: bool,
}

/// Places in a program are indexes of steps; places for values, indexes of values.
#[derive(Debug)]
pub(super) enum Step {
    One(One),
    /// As many characters as fit, or as few.
    Run {
        one: One,
        least: u32,
        most: u32,
        lazy: bool,
    },
    /// Goes on behind, or, when that fails, there.
    Try(usize),
    /// Goes on there, or, when that fails, behind.
    TryThere(usize),
    Jump(usize),
    /// Remembers the position.
    Save(usize),
    /// A group took what lies between a position that was remembered and this one.
    Taken {
        group: usize,
        start: usize,
    },
    /// Goes back to a position that was remembered.
    Return(usize),
    /// Goes back so many characters.
    Back(usize),
    At(Place),
    /// Starts to count, in this value.
    Count(usize),
    /// Another repetition, or the end of them.
    Loop(Loop),
    /// Starts a repetition: counts it in the first value, and remembers its start in the second.
    Enter(usize, usize),
    /// Remembers which attempts there are.
    Mark(usize),
    /// Forgets the attempts since.
    Cut(usize),
    /// Fails, and so do the attempts since.
    Abandon(usize),
    Reference {
        groups: Vec<usize>,
        case: Case,
    },
    /// Goes there, and comes back at its `Leave`.
    Call {
        group: usize,
        entry: usize,
    },
    Leave(usize),
    /// Goes there unless one of the groups took part.
    IfTaken {
        groups: Vec<usize>,
        otherwise: usize,
    },
    /// Goes there unless it is called, as one of the groups.
    IfCalled {
        groups: Option<Vec<usize>>,
        otherwise: usize,
    },
    Fail,
    Matched,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) count: usize,
    pub(super) start: usize,
    pub(super) least: u32,
    pub(super) most: u32,
    pub(super) lazy: bool,
    pub(super) end: usize,
}

/// What takes one character.
#[derive(Debug)]
pub(super) enum One {
    Character(char),
    Set(Set),
}

impl One {
    fn of(node: &Node) -> Option<One> {
        match node {
            Node::Character(c) => Some(One::Character(*c)),
            Node::Set(set) => Some(One::Set(set.clone())),
            _ => None,
        }
    }

    pub(super) fn takes(&self, c: char) -> bool {
        match self {
            One::Character(own) => *own == c,
            One::Set(set) => set.contains(c),
        }
    }
}

/// Compiles a pattern that was checked.
pub(super) fn compile(syntax: &Syntax) -> Program {
    let mut compiler = Compiler {
        steps: Vec::new(),
        groups: Groups::of(syntax),
        values: 2 * (syntax.groups + 1),
        entries: HashMap::new(),
    };
    compiler.push(Step::Save(0));
    compiler.entries.insert(0, 0);
    compiler.node(&syntax.root);
    compiler.push(Step::Save(1));
    compiler.push(Step::Leave(0));
    compiler.push(Step::Matched);
    for step in &mut compiler.steps {
        if let Step::Call { group, entry } = step {
            *entry = compiler.entries.get(group).copied().unwrap_or(0);
        }
    }
    Program {
        steps: compiler.steps,
        groups: syntax.groups,
        values: compiler.values,
        is_anchored: is_anchored(&syntax.root),
    }
}

fn is_anchored(node: &Node) -> bool {
    match node {
        Node::At(Place::Start) => true,
        Node::Sequence(items) => items.first().is_some_and(is_anchored),
        Node::Choice(branches) => branches.iter().all(is_anchored),
        Node::Group { body, .. } | Node::Atomic(body) => is_anchored(body),
        _ => false,
    }
}

/// Whether a part refers to what a group took.
fn refers(node: &Node, group: usize) -> bool {
    match node {
        Node::Reference { target, .. } => target.numbers().contains(&group),
        node => node.parts().into_iter().any(|part| refers(part, group)),
    }
}

struct Compiler<'s> {
    steps: Vec<Step>,
    groups: Groups<'s>,
    values: usize,
    /// Where each group starts.
    entries: HashMap<usize, usize>,
}

impl Compiler<'_> {
    fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn here(&self) -> usize {
        self.steps.len()
    }

    /// Leads a step that goes elsewhere to what comes next.
    fn lead_here(&mut self, index: usize) {
        let here = self.here();
        match &mut self.steps[index] {
            Step::Try(there)
            | Step::TryThere(there)
            | Step::Jump(there)
            | Step::IfTaken { otherwise: there, .. }
            | Step::IfCalled { otherwise: there, .. }
            | Step::Loop(Loop { end: there, .. }) => *there = here,
            _ => {}
        }
    }

    fn value(&mut self) -> usize {
        self.values += 1;
        self.values - 1
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::Never => {
                self.push(Step::Fail);
            }
            Node::Character(_) | Node::Set(_) => {
                if let Some(one) = One::of(node) {
                    self.push(Step::One(one));
                }
            }
            Node::Sequence(items) => items.iter().for_each(|item| self.node(item)),
            Node::Choice(branches) => self.choice(branches, Compiler::node),
            Node::Repeat(repeat) => self.repeat(repeat),
            Node::Group { number, body } => {
                // Until it ends, the group is what it took before. One that refers to itself is not
                // entered again.
                let mark = refers(body, *number).then(|| self.value());
                if let Some(mark) = mark {
                    self.push(Step::Mark(mark));
                }
                let start = self.value();
                let entry = self.push(Step::Save(start));
                self.entries.entry(*number).or_insert(entry);
                self.node(body);
                self.push(Step::Taken {
                    group: *number,
                    start,
                });
                self.push(Step::Leave(entry));
                if let Some(mark) = mark {
                    self.push(Step::Cut(mark));
                }
            }
            Node::Atomic(body) => {
                let mark = self.value();
                self.push(Step::Mark(mark));
                self.node(body);
                self.push(Step::Cut(mark));
            }
            Node::Look(look) => self.look(look),
            Node::At(place) => {
                self.push(Step::At(*place));
            }
            Node::Reference { target, case } => {
                self.push(Step::Reference {
                    groups: target.numbers().to_vec(),
                    case: *case,
                });
            }
            Node::Call(target) => {
                self.push(Step::Call {
                    group: target.numbers().first().copied().unwrap_or(0),
                    entry: 0,
                });
            }
            Node::Condition {
                test,
                then,
                otherwise,
            } => self.condition(test, then, otherwise),
            Node::Keep => {
                self.push(Step::Save(0));
            }
        }
    }

    fn choice(&mut self, branches: &[Node], mut write: impl FnMut(&mut Self, &Node)) {
        let mut ends = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            if index + 1 == branches.len() {
                write(self, branch);
                break;
            }
            let other = self.push(Step::Try(0));
            write(self, branch);
            ends.push(self.push(Step::Jump(0)));
            self.lead_here(other);
        }
        for end in ends {
            self.lead_here(end);
        }
    }

    fn repeat(&mut self, repeat: &Repeat) {
        let (least, most) = (repeat.least, repeat.most.unwrap_or(u32::MAX));
        if let Some(one) = One::of(&repeat.body) {
            self.push(Step::Run {
                one,
                least,
                most,
                lazy: repeat.lazy,
            });
            return;
        }
        match (least, most) {
            (_, 0) => {
                // It may be called all the same.
                let over = self.push(Step::Jump(0));
                self.node(&repeat.body);
                self.lead_here(over);
            }
            (1, 1) => self.node(&repeat.body),
            (0, 1) if !repeat.lazy => {
                let other = self.push(Step::Try(0));
                self.node(&repeat.body);
                self.lead_here(other);
            }
            (0, 1) => {
                let other = self.push(Step::TryThere(0));
                self.node(&repeat.body);
                self.lead_here(other);
            }
            _ => {
                let (count, start) = (self.value(), self.value());
                self.push(Step::Count(count));
                let next = self.push(Step::Loop(Loop {
                    count,
                    start,
                    least,
                    most,
                    lazy: repeat.lazy,
                    end: 0,
                }));
                self.push(Step::Enter(count, start));
                self.node(&repeat.body);
                self.push(Step::Jump(next));
                self.lead_here(next);
            }
        }
    }

    fn look(&mut self, look: &Look) {
        let mark = self.value();
        self.push(Step::Mark(mark));
        if look.negated {
            let other = self.push(Step::Try(0));
            self.looked_for(look);
            self.push(Step::Abandon(mark));
            self.lead_here(other);
        } else {
            let position = self.value();
            self.push(Step::Save(position));
            self.looked_for(look);
            self.push(Step::Cut(mark));
            self.push(Step::Return(position));
        }
    }

    fn looked_for(&mut self, look: &Look) {
        if !look.behind {
            return self.choice(&look.branches, Compiler::node);
        }
        self.choice(&look.branches, |compiler, branch| {
            let length = compiler.groups.length(branch).unwrap_or(0);
            compiler.push(Step::Back(length));
            compiler.node(branch);
        });
    }

    fn condition(&mut self, test: &Test, then: &Node, otherwise: &Node) {
        let other = match test {
            Test::Taken(target) => self.push(Step::IfTaken {
                groups: target.numbers().to_vec(),
                otherwise: 0,
            }),
            Test::Called(target) => self.push(Step::IfCalled {
                groups: target.as_ref().map(|target| target.numbers().to_vec()),
                otherwise: 0,
            }),
            Test::Definition => self.push(Step::Jump(0)),
            Test::Look(look) => {
                let (mark, position) = (self.value(), self.value());
                self.push(Step::Save(position));
                self.push(Step::Mark(mark));
                let failed = self.push(Step::Try(0));
                self.looked_for(look);
                self.push(Step::Cut(mark));
                self.push(Step::Return(position));
                if look.negated {
                    let found = self.push(Step::Jump(0));
                    self.lead_here(failed);
                    found
                } else {
                    failed
                }
            }
        };
        self.node(then);
        let end = self.push(Step::Jump(0));
        self.lead_here(other);
        self.node(otherwise);
        self.lead_here(end);
    }
}
