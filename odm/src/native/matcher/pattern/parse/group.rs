//! What a parenthesis begins.

use super::super::syntax::{Node, Parsed, Refusal, Test};
use super::{Options, Parser};

const UNKNOWN: Refusal = Refusal::Invalid("unrecognized character after (? or (?-");

/// What was read, without its quantifier.
pub(super) enum Item {
    Repeatable(Node),
    Fixed(Node),
    /// A group, with the options inside.
    Opened(Kind, Options),
}

/// What a parenthesis opens.
pub(super) enum Kind {
    Plain,
    Capture,
    Atomic,
    /// The groups of each branch have the same numbers.
    Reset,
    Look {
        behind: bool,
        negated: bool,
        tests: bool,
    },
    Condition(Test),
}

impl Parser<'_> {
    /// What follows `(`.
    pub(super) fn group(&mut self) -> Parsed<Item> {
        if let Some(inside) = self.rest.strip_prefix('*')
            && inside.starts_with(|c: char| c == ':' || c.is_ascii_alphabetic())
        {
            self.rest = inside;
            return Ok(Item::Fixed(self.verb()?));
        }
        if !self.take("?") {
            return Ok(Item::Opened(Kind::Capture, self.options));
        }
        if let Some(look) = self.look(false) {
            return Ok(look);
        }
        let kind = match self.peek().ok_or(UNKNOWN)? {
            '>' => {
                self.next();
                Kind::Atomic
            }
            '|' => {
                self.next();
                Kind::Reset
            }
            '(' => return self.condition(),
            'C' => return Ok(Item::Fixed(self.callout()?)),
            'R' | '0'..='9' | '&' | '+' => return Ok(Item::Repeatable(self.call()?)),
            '-' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                return Ok(Item::Repeatable(self.call()?));
            }
            '<' | '\'' => {
                self.named()?;
                Kind::Capture
            }
            'P' => return self.python(),
            _ => return self.flags(),
        };
        Ok(Item::Opened(kind, self.options))
    }

    /// `(?=` and its like, after the question mark. `tests`: for a condition.
    pub(super) fn look(&mut self, tests: bool) -> Option<Item> {
        for (sign, behind, negated) in [
            ("=", false, false),
            ("!", false, true),
            ("<=", true, false),
            ("<!", true, true),
        ] {
            if self.take(sign) {
                // Nothing fails to follow: the library writes it as a failure.
                if sign == "!" && !tests && self.take(")") {
                    return Some(Item::Repeatable(Node::Never));
                }
                let kind = Kind::Look {
                    behind,
                    negated,
                    tests,
                };
                return Some(Item::Opened(kind, self.options));
            }
        }
        None
    }

    /// `(?<name>` or `(?'name'`, at its sign.
    fn named(&mut self) -> Parsed<()> {
        let close = match self.next() {
            Some('<') => {
                if !self.peek().is_some_and(super::is_word) {
                    return Err(Refusal::Invalid("unrecognized character after (?<"));
                }
                '>'
            }
            _ => '\'',
        };
        self.definition_name(close)
    }

    /// `(?P<name>`, `(?P=name)` or `(?P>name)`, at its letter.
    fn python(&mut self) -> Parsed<Item> {
        self.next();
        match self.next() {
            Some('<') => {
                self.definition_name('>')?;
                Ok(Item::Opened(Kind::Capture, self.options))
            }
            Some('=') => {
                let case = self.case();
                let target = self.reference_name(')')?;
                Ok(Item::Repeatable(Node::Reference { target, case }))
            }
            Some('>') => Ok(Item::Repeatable(Node::Call(self.reference_name(')')?))),
            _ => Err(Refusal::Invalid("unrecognized character after (?P")),
        }
    }

    fn call(&mut self) -> Parsed<Node> {
        if self.take("&") {
            return Ok(Node::Call(self.reference_name(')')?));
        }
        if self.take("R") && !self.rest.starts_with(')') {
            return Err(Refusal::Invalid("(?R or (?[+-]digits must be followed by )"));
        }
        self.numbered_call(')')
    }

    /// `(?C)` or `(?C7)`, which nobody listens to.
    fn callout(&mut self) -> Parsed<Node> {
        self.next();
        let number = self.number()?;
        if !self.take(")") {
            return Err(Refusal::Invalid("closing ) for (?C expected"));
        }
        match number > 255 {
            true => Err(Refusal::Invalid("number after (?C is > 255")),
            false => Ok(Node::Empty),
        }
    }

    /// `(?ims-x:..)` or `(?ims-x)`, after the question mark.
    fn flags(&mut self) -> Parsed<Item> {
        let (mut on, mut off) = (Options::default(), Options::default());
        let mut turns_on = true;
        let close = loop {
            let set = if turns_on { &mut on } else { &mut off };
            match self.next().ok_or(UNKNOWN)? {
                '-' => turns_on = false,
                'i' => set.folds = true,
                'm' => set.multiple_lines = true,
                's' => set.dot_takes_all = true,
                'x' => set.extended = true,
                'U' => set.lazy = true,
                'J' => set.duplicate_names = true,
                'X' => set.strict = true,
                close @ (')' | ':') => break close,
                _ => return Err(UNKNOWN),
            }
        };
        let before = self.options;
        let options = Options {
            folds: (before.folds || on.folds) && !off.folds,
            multiple_lines: (before.multiple_lines || on.multiple_lines) && !off.multiple_lines,
            dot_takes_all: (before.dot_takes_all || on.dot_takes_all) && !off.dot_takes_all,
            extended: (before.extended || on.extended) && !off.extended,
            lazy: (before.lazy || on.lazy) && !off.lazy,
            duplicate_names: (before.duplicate_names || on.duplicate_names) && !off.duplicate_names,
            strict: (before.strict || on.strict) && !off.strict,
        };
        if close == ')' {
            self.options = options;
            return Ok(Item::Fixed(Node::Empty));
        }
        Ok(Item::Opened(Kind::Plain, options))
    }

    /// `(*FAIL)` and its like, after the star.
    fn verb(&mut self) -> Parsed<Node> {
        const MALFORMED: Refusal = Refusal::Invalid("(*VERB) not recognized or malformed");
        let name = self.take_while(|c| c.is_ascii_alphabetic());
        let argument = match self.take(":") {
            true => Some(self.take_while(|c| c != ')')),
            false => None,
        };
        if !self.take(")") {
            return Err(MALFORMED);
        }
        let has_argument = argument.is_some_and(|argument| !argument.is_empty());
        match name {
            "ACCEPT" | "COMMIT" | "F" | "FAIL" if has_argument => Err(Refusal::Invalid(
                "an argument is not allowed for (*ACCEPT), (*FAIL), or (*COMMIT)",
            )),
            "" | "MARK" if !has_argument => Err(Refusal::Invalid("(*MARK) must have an argument")),
            // Marks are read by nobody.
            "" | "MARK" => Ok(Node::Empty),
            "F" | "FAIL" => Ok(Node::Never),
            "ACCEPT" | "COMMIT" | "PRUNE" | "SKIP" | "THEN" => Err(Refusal::Unsupported("verbs")),
            _ => Err(MALFORMED),
        }
    }
}
