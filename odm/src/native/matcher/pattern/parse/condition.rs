//! Conditions: `(?(1)..|..)` and its like.

use super::super::syntax::{Node, Parsed, Refusal, Target, Test};
use super::group::{Item, Kind};
use super::{Parser, is_word};

const MALFORMED: Refusal = Refusal::Invalid("malformed number or name after (?(");
const NO_GROUP: Refusal = Refusal::Invalid("reference to non-existent subpattern");
const NO_ASSERTION: Refusal = Refusal::Invalid("assertion expected after (?( or (?(?C)");

/// A condition with its branches.
pub(super) fn of(test: Test, mut branches: Vec<Node>) -> Parsed<Node> {
    if branches.len() > 1 && matches!(test, Test::Definition) {
        return Err(Refusal::Invalid("DEFINE group contains more than one branch"));
    }
    if branches.len() > 2 {
        return Err(Refusal::Invalid(
            "conditional group contains more than two branches",
        ));
    }
    let otherwise = match branches.len() {
        2 => branches.pop().unwrap_or(Node::Empty),
        _ => Node::Empty,
    };
    Ok(Node::Condition {
        test,
        then: Box::new(Node::sequence(branches)),
        otherwise: Box::new(otherwise),
    })
}

impl Parser<'_> {
    /// A condition, at its inner parenthesis.
    pub(super) fn condition(&mut self) -> Parsed<Item> {
        self.next();
        if !self.rest.starts_with('?') {
            let test = self.group_test()?;
            return Ok(Item::Opened(Kind::Condition(test), self.options));
        }
        if self.rest.starts_with("?C") {
            return Err(Refusal::Unsupported("callouts in conditions"));
        }
        self.next();
        self.look(true).ok_or(NO_ASSERTION)
    }

    fn group_test(&mut self) -> Parsed<Test> {
        let in_group = self.take("R&");
        let close = match () {
            () if in_group => None,
            () if self.take("<") => Some('>'),
            () if self.take("'") => Some('\''),
            () => None,
        };
        let is_plain = !in_group && close.is_none();
        let signs = (is_plain && self.take("-"), is_plain && self.take("+"));
        let starts_with_digit = self.rest.starts_with(|c: char| c.is_ascii_digit());
        if is_plain && (starts_with_digit || signs.0 || signs.1) {
            let number = self.number()?;
            self.test_end(None)?;
            return self.numbered_test(number, signs).map(Test::Taken);
        }
        if starts_with_digit {
            return Err(Refusal::Invalid("group name must start with a non-digit"));
        }
        let name = self.take_while(is_word);
        if name.is_empty() {
            return Err(NO_ASSERTION);
        }
        self.test_end(close)?;
        let named = Target::Name(name.to_owned());
        if in_group {
            return Ok(Test::Called(Some(named)));
        }
        if !is_plain {
            return Ok(Test::Taken(named));
        }
        Ok(match (name, name.strip_prefix('R')) {
            ("DEFINE", _) => Test::Definition,
            ("R", _) => Test::Called(None),
            (_, Some(digits)) if super::is_digits(digits) => match digits.parse() {
                Ok(0) | Err(_) => Test::Called(None),
                Ok(number) => Test::Called(Some(Target::Number(number))),
            },
            _ => Test::Taken(named),
        })
    }

    fn test_end(&mut self, close: Option<char>) -> Parsed<()> {
        if close.is_some_and(|close| self.next() != Some(close)) || !self.take(")") {
            return Err(MALFORMED);
        }
        Ok(())
    }

    fn numbered_test(&self, number: usize, (back, forward): (bool, bool)) -> Parsed<Target> {
        if number == 0 {
            return Err(Refusal::Invalid("invalid condition (?(0)"));
        }
        let number = match (back, forward) {
            (true, _) => (self.groups + 1).checked_sub(number).filter(|number| *number > 0),
            (_, true) => Some(self.groups + number),
            _ => Some(number),
        };
        Ok(Target::Number(number.ok_or(NO_GROUP)?))
    }
}
