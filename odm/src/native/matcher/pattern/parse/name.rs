//! Names of groups, and what refers to them.

use super::super::syntax::{Node, Parsed, Refusal, Target, Test};
use super::{Parser, is_word};

/// The longest name.
const LONGEST: usize = 32;

const NO_GROUP: Refusal = Refusal::Invalid("reference to non-existent subpattern");
const STARTS_WITH_DIGIT: Refusal = Refusal::Invalid("group name must start with a non-digit");
const UNTERMINATED: Refusal = Refusal::Invalid("syntax error in subpattern name (missing terminator)");
const TOO_LONG: Refusal = Refusal::Invalid("subpattern name is too long (maximum 32 characters)");

/// The named groups so far.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<(String, usize)>);

impl Names {
    fn add(&mut self, name: &str, number: usize, duplicates: bool) -> Parsed<()> {
        for (known, known_number) in &self.0 {
            match (known == name, *known_number == number) {
                (true, true) => return Ok(()),
                (true, false) if !duplicates => {
                    return Err(Refusal::Invalid("two named subpatterns have the same name"));
                }
                (false, true) => {
                    return Err(Refusal::Invalid(
                        "different names for subpatterns of the same number are not allowed",
                    ));
                }
                _ => {}
            }
        }
        self.0.push((name.to_owned(), number));
        Ok(())
    }

    fn numbers(&self, name: &str) -> Vec<usize> {
        let mut numbers: Vec<usize> = self
            .0
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, number)| *number)
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// Gives each reference the numbers of its groups, of which there are `groups`.
    pub(super) fn resolve(&self, node: &mut Node, groups: usize) -> Parsed<()> {
        match node {
            Node::Sequence(items) | Node::Choice(items) => self.resolve_all(items, groups),
            Node::Repeat(repeat) => self.resolve(&mut repeat.body, groups),
            Node::Group { body, .. } | Node::Atomic(body) => self.resolve(body, groups),
            Node::Look(look) => self.resolve_all(&mut look.branches, groups),
            Node::Reference { target, .. } | Node::Call(target) => self.find(target, groups),
            Node::Condition {
                test,
                then,
                otherwise,
            } => {
                match test {
                    Test::Taken(target) => self.find(target, groups)?,
                    Test::Called(_) | Test::Definition => self.tested(test, groups)?,
                    Test::Look(look) => self.resolve_all(&mut look.branches, groups)?,
                }
                self.resolve(then, groups)?;
                self.resolve(otherwise, groups)
            }
            _ => Ok(()),
        }
    }

    fn resolve_all(&self, nodes: &mut [Node], groups: usize) -> Parsed<()> {
        nodes.iter_mut().try_for_each(|node| self.resolve(node, groups))
    }

    fn find(&self, target: &mut Target, groups: usize) -> Parsed<()> {
        if let Target::Name(name) = target {
            *target = Target::Numbers(self.numbers(name));
        }
        let numbers = target.numbers();
        match numbers.is_empty() || numbers.iter().any(|number| *number > groups) {
            true => Err(NO_GROUP),
            false => Ok(()),
        }
    }

    /// A group may have the name of a test, and is meant then.
    fn tested(&self, test: &mut Test, groups: usize) -> Parsed<()> {
        let name = match test {
            Test::Definition => "DEFINE".to_owned(),
            Test::Called(None) => "R".to_owned(),
            Test::Called(Some(Target::Number(number))) => format!("R{number}"),
            Test::Called(Some(target)) => return self.find(target, groups),
            Test::Taken(_) | Test::Look(_) => return Ok(()),
        };
        let numbers = self.numbers(&name);
        if !numbers.is_empty() {
            *test = Test::Taken(Target::Numbers(numbers));
        }
        Ok(())
    }
}

impl Parser<'_> {
    /// The name of the group that is opened, up to a closing character.
    pub(super) fn definition_name(&mut self, close: char) -> Parsed<()> {
        let name = self.name(close)?;
        let number = self.groups + 1;
        self.names.add(name, number, self.options.duplicate_names)
    }

    /// The name of a group that is referred to, up to a closing character.
    pub(super) fn reference_name(&mut self, close: char) -> Parsed<Target> {
        if self.rest.chars().next().is_none_or(|c| !is_word(c)) {
            return Err(Refusal::Invalid("subpattern name expected"));
        }
        Ok(Target::Name(self.name(close)?.to_owned()))
    }
}

impl<'p> Parser<'p> {
    fn name(&mut self, close: char) -> Parsed<&'p str> {
        if self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Err(STARTS_WITH_DIGIT);
        }
        let name = self.take_while(is_word);
        if self.next() != Some(close) {
            return Err(UNTERMINATED);
        }
        match name.len() > LONGEST {
            true => Err(TOO_LONG),
            false => Ok(name),
        }
    }
}
