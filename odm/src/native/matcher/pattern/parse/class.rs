//! Classes in brackets.

use super::super::set::{self, Builder};
use super::super::syntax::{Look, Node, Parsed, Place, Refusal};
use super::Parser;
use super::escape::Escape;

const UNCLOSED: Refusal = Refusal::Invalid("missing terminating ] for character class");
const NO_RANGE: Refusal = Refusal::Invalid("invalid range in character class");
const NO_COLLATING: Refusal = Refusal::Invalid("POSIX collating elements are not supported");

/// What a class has.
struct Parts {
    /// Case matters to these.
    letters: Builder,
    others: Builder,
    /// Of `\p`.
    properties: Builder,
    property_count: usize,
}

impl Parts {
    fn new() -> Parts {
        Parts {
            letters: Builder::new(),
            others: Builder::new(),
            properties: Builder::new(),
            property_count: 0,
        }
    }

    /// How many bytes the class takes for the server's library: a bit for each byte, and what is beyond.
    fn size(&self) -> usize {
        if let (Some(c), true, 0) = (self.letters.single(), self.others.is_empty(), self.property_count) {
            return 1 + c.len_utf8();
        }
        let (bytes, beyond) = self.letters.sizes();
        let has_bytes = bytes || !self.others.is_empty();
        match 3 * self.property_count + beyond {
            0 => 33,
            beyond if has_bytes => 37 + beyond,
            beyond => 5 + beyond,
        }
    }
}

impl Parser<'_> {
    /// A class, after its `[`.
    pub(super) fn class(&mut self) -> Parsed<Node> {
        for (text, behind) in [("[:<:]]", false), ("[:>:]]", true)] {
            if self.take(text) {
                return self.edge(behind);
            }
        }
        match posix_end(self.rest) {
            Some((':', _)) => {
                return Err(Refusal::Invalid(
                    "POSIX named classes are supported only within a class",
                ));
            }
            Some(_) => return Err(NO_COLLATING),
            None => {}
        }
        let negated = self.class_start();
        let mut parts = Parts::new();
        let mut is_first = true;
        loop {
            let c = self.next().ok_or(UNCLOSED)?;
            if self.quoted {
                if c == '\\' && self.take("E") {
                    self.quoted = false;
                } else {
                    self.range(c, &mut parts.letters)?;
                }
            } else if c == ']' && !is_first {
                break;
            } else if c == '[' && posix_end(self.rest).is_some() {
                parts.others.add(&self.posix()?);
            } else if c == '\\' {
                self.class_escape(&mut parts)?;
            } else {
                self.range(c, &mut parts.letters)?;
            }
            is_first = false;
        }
        parts.letters = parts.letters.folded(self.case());
        let size = parts.size();
        let class = parts
            .letters
            .with(&parts.others)
            .with(&parts.properties)
            .negated_if(negated);
        Ok(match class.single() {
            Some(c) => Node::Character(c),
            None => Node::Set(class.build(size)),
        })
    }

    /// Passes over what stands before the first character of a class; gives whether the class is negated.
    fn class_start(&mut self) -> bool {
        let mut negated = false;
        loop {
            if self.take("\\E") || self.take("\\Q\\E") {
                continue;
            }
            if negated || !self.take("^") {
                return negated;
            }
            negated = true;
        }
    }

    /// `[[:<:]]` and `[[:>:]]`: where a word starts and where one ends.
    fn edge(&mut self, behind: bool) -> Parsed<Node> {
        let word = set::shorthand('w', self.properties).unwrap_or_else(Builder::new);
        let look = Node::Look(Look {
            behind,
            negated: false,
            branches: vec![Node::Set(word.build(1))],
        });
        // A quantifier is of the look, as if both were written out.
        let look = self.quantified(look, true)?;
        Ok(Node::Sequence(vec![Node::At(Place::Edge), look]))
    }

    /// A character, or the range that starts with it.
    fn range(&mut self, first: char, letters: &mut Builder) -> Parsed<()> {
        let before = self.rest;
        while self.take("\\E") {
            self.quoted = false;
        }
        if self.quoted || !self.take("-") {
            letters.add_range(first, first);
            return Ok(());
        }
        while self.take("\\E") {}
        while self.take("\\Q") {
            if !self.take("\\E") {
                self.quoted = true;
                break;
            }
        }
        let last = match self.next() {
            None => return Err(UNCLOSED),
            Some(']') if !self.quoted => {
                // The hyphen stands for itself, and is read again.
                self.rest = before;
                letters.add_range(first, first);
                return Ok(());
            }
            Some(c) if self.quoted => c,
            Some('\\') => match self.escape(true)? {
                Escape::Character(c) => c,
                Escape::Special('b') => '\x08',
                _ => return Err(NO_RANGE),
            },
            Some('[') if posix_end(self.rest).is_some() => return Err(NO_RANGE),
            Some(c) => c,
        };
        if last < first {
            return Err(Refusal::Invalid("range out of order in character class"));
        }
        letters.add_range(first, last);
        Ok(())
    }

    /// `[:alpha:]`, after its `[`.
    fn posix(&mut self) -> Parsed<Builder> {
        let Some((':', length)) = posix_end(self.rest) else {
            return Err(NO_COLLATING);
        };
        let (inside, after) = self.rest.split_at(length);
        self.rest = after;
        let name = inside
            .trim_start_matches(':')
            .trim_end_matches(']')
            .trim_end_matches(':');
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let class = set::posix(name, self.options.folds, self.properties)
            .ok_or(Refusal::Invalid("unknown POSIX class name"))?;
        Ok(class.negated_if(negated))
    }

    /// An escape, after its backslash.
    fn class_escape(&mut self, parts: &mut Parts) -> Parsed<()> {
        match self.escape(true)? {
            Escape::Character(c) => self.range(c, &mut parts.letters),
            Escape::Special('b') => self.range('\x08', &mut parts.letters),
            Escape::Special('E') => Ok(()),
            Escape::Special('Q') => {
                self.quoted = !self.take("\\E");
                Ok(())
            }
            Escape::Special('N') => Err(Refusal::Invalid("\\N is not supported in a class")),
            Escape::Special(letter @ ('p' | 'P')) => {
                parts.properties.add(&self.property(letter)?);
                parts.property_count += 1;
                Ok(())
            }
            Escape::Special(letter) => match set::shorthand(letter, self.properties) {
                Some(class) => {
                    parts.others.add(&class);
                    Ok(())
                }
                None if self.options.strict => {
                    Err(Refusal::Invalid("invalid escape sequence in character class"))
                }
                None => self.range(letter, &mut parts.letters),
            },
            // Inside a class nothing refers to a group.
            Escape::Reference(_) => Ok(()),
        }
    }
}

/// The kind and the length of `:alpha:]`, `.a.]` or `=a=]` at the start of what follows a bracket.
fn posix_end(text: &str) -> Option<(char, usize)> {
    let mut chars = text.char_indices().peekable();
    let (_, kind) = chars.next_if(|(_, kind)| matches!(kind, ':' | '.' | '='))?;
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, after)| *after);
        match c {
            '\\' if matches!(after, Some(']' | '\\')) => {
                chars.next();
            }
            ']' => return None,
            '[' if after == Some(kind) => return None,
            c if c == kind && after == Some(']') => return Some((kind, at + 2)),
            _ => {}
        }
    }
    None
}
