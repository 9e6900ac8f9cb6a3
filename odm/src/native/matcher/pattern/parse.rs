//! Reads a pattern in the syntax of PCRE 8, which the server links, with that library's complaints.

mod class;
mod condition;
mod escape;
mod group;
mod name;
mod nest;

use self::group::Item;
use self::name::Names;
use super::set::Builder;
use super::syntax::{Case, Node, Parsed, Place, Refusal, Repeat, Syntax};

/// The deepest that groups may be nested.
const DEEPEST: usize = 250;
/// The most that a quantifier may count to.
const MOST: u32 = 65_535;

const NOTHING_TO_REPEAT: Refusal = Refusal::Invalid("nothing to repeat");

/// What the letters of options, or `(?imsxUJX)`, turn on.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    folds: bool,
    multiple_lines: bool,
    dot_takes_all: bool,
    extended: bool,
    lazy: bool,
    duplicate_names: bool,
    strict: bool,
}

struct Parser<'p> {
    rest: &'p str,
    options: Options,
    /// Each character is a byte.
    bytes: bool,
    /// Classes are Unicode's, not ASCII's.
    properties: bool,
    /// `\R` takes what ends lines in ASCII alone.
    ascii_breaks: bool,
    /// Inside `\Q..\E`.
    quoted: bool,
    /// A comment reached the end of the pattern.
    in_comment: bool,
    deepest: usize,
    /// How many groups were opened so far.
    groups: usize,
    names: Names,
}

/// Reads a pattern. `bytes`: each character stands for a byte, unless the pattern itself asks for UTF-8.
pub(super) fn parse(pattern: &str, options: &str, bytes: bool) -> Parsed<Syntax> {
    let mut parser = Parser {
        rest: pattern,
        options: Options {
            folds: options.contains('i'),
            multiple_lines: options.contains('m'),
            dot_takes_all: options.contains('s'),
            extended: options.contains('x'),
            ..Options::default()
        },
        bytes,
        properties: false,
        ascii_breaks: false,
        quoted: false,
        in_comment: false,
        deepest: 0,
        groups: 0,
        names: Names::default(),
    };
    parser.settings()?;
    let mut root = parser.whole()?;
    parser.names.resolve(&mut root, parser.groups)?;
    let swallows = if parser.quoted || parser.in_comment {
        Some("missing )")
    } else {
        (parser.deepest == DEEPEST).then_some("parentheses are too deeply nested")
    };
    Ok(Syntax {
        root,
        groups: parser.groups,
        swallows,
        bytes: parser.bytes,
    })
}

impl<'p> Parser<'p> {
    /// What a pattern may begin with, as `(*UCP)`.
    fn settings(&mut self) -> Parsed<()> {
        while let Some((name, after)) = self
            .rest
            .strip_prefix("(*")
            .and_then(|inside| inside.split_once(')'))
        {
            match name {
                "UTF8" | "UTF" => self.bytes = false,
                "UCP" => self.properties = true,
                "NO_AUTO_POSSESS" | "NO_START_OPT" | "LF" | "BSR_UNICODE" => {}
                "BSR_ANYCRLF" => self.ascii_breaks = true,
                "CR" | "CRLF" | "ANY" | "ANYCRLF" => {
                    return Err(Refusal::Unsupported("other line breaks than \\n"));
                }
                name => {
                    let digits = ["LIMIT_MATCH=", "LIMIT_RECURSION="]
                        .iter()
                        .find_map(|limit| name.strip_prefix(limit));
                    match digits {
                        Some(digits) if is_digits(digits) && !digits.is_empty() => {
                            return Err(Refusal::Unsupported("limits of their own"));
                        }
                        _ => return Ok(()),
                    }
                }
            }
            self.rest = after;
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    /// Takes what fits from the start.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'p str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, after) = self.rest.split_at(end);
        self.rest = after;
        taken
    }

    /// The next character that counts, behind edges of quotations and what [`Parser::pass_over`] passes over.
    fn upcoming(&mut self) -> Parsed<Option<char>> {
        loop {
            if self.take("\\E") {
                self.quoted = false;
            } else if self.quoted {
                break;
            } else if self.take("\\Q") {
                self.quoted = true;
            } else if !self.pass_over()? {
                break;
            }
        }
        Ok(self.peek())
    }

    /// Passes over a comment, or a blank with the option `x`; gives whether there was one.
    fn pass_over(&mut self) -> Parsed<bool> {
        if let Some(comment) = self.rest.strip_prefix("(?#") {
            let (_, after) = comment
                .split_once(')')
                .ok_or(Refusal::Invalid("missing ) after comment"))?;
            self.rest = after;
        } else if self.options.extended && self.take("#") {
            match self.rest.split_once('\n') {
                Some((_, after)) => self.rest = after,
                None => {
                    self.rest = "";
                    self.in_comment = true;
                }
            }
        } else if self.options.extended && self.peek().is_some_and(is_blank) {
            self.next();
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// One thing to match.
    fn item(&mut self) -> Parsed<Item> {
        let Some(c) = self.next() else {
            return Ok(Item::Fixed(Node::Empty));
        };
        if self.quoted {
            return Ok(Item::Repeatable(self.literal(c)));
        }
        Ok(match c {
            '\\' => self.escaped()?,
            '[' => Item::Repeatable(self.class()?),
            '(' => self.group()?,
            '^' if self.options.multiple_lines => Item::Fixed(Node::At(Place::LineStart)),
            '^' => Item::Fixed(Node::At(Place::Start)),
            '$' if self.options.multiple_lines => Item::Fixed(Node::At(Place::LineEnd)),
            '$' => Item::Fixed(Node::At(Place::LastLine)),
            '.' if self.options.dot_takes_all => Item::Repeatable(anything()),
            '.' => Item::Repeatable(no_break()),
            '*' | '+' | '?' => return Err(NOTHING_TO_REPEAT),
            '{' if counts(self.rest).is_some() => return Err(NOTHING_TO_REPEAT),
            c => Item::Repeatable(self.literal(c)),
        })
    }

    fn case(&self) -> Case {
        match (self.options.folds, self.bytes) {
            (false, _) => Case::Kept,
            (true, false) => Case::Folded,
            (true, true) => Case::FoldedAscii,
        }
    }

    fn literal(&self, c: char) -> Node {
        if !self.options.folds || c.is_ascii() && !c.is_ascii_alphabetic() {
            return Node::Character(c);
        }
        // Only these letters of ASCII have others that are the same.
        if c.is_ascii() && !matches!(c, 'K' | 'S' | 'k' | 's') {
            let (upper, lower) = (c.to_ascii_uppercase(), c.to_ascii_lowercase());
            return Node::Set(Builder::of(&[(upper, upper), (lower, lower)]).build(2));
        }
        let builder = Builder::of(&[(c, c)]).folded(self.case());
        match builder.single() {
            Some(c) => Node::Character(c),
            None => Node::Set(builder.build_letter()),
        }
    }

    /// What was read, with the quantifier that follows it, if one does.
    fn quantified(&mut self, node: Node, is_repeatable: bool) -> Parsed<Node> {
        let Some((least, most)) = self.quantifier()? else {
            return Ok(node);
        };
        if !is_repeatable {
            return Err(NOTHING_TO_REPEAT);
        }
        while self.pass_over()? {}
        let (mut lazy, mut atomic) = (self.options.lazy, false);
        if self.take("+") {
            (lazy, atomic) = (false, true);
        } else if self.take("?") {
            lazy = !lazy;
        }
        if self.quantifier()?.is_some() {
            return Err(NOTHING_TO_REPEAT);
        }
        // To look around once is enough.
        let (least, most) = match node {
            Node::Look(_) => (least.min(1), Some(most.unwrap_or(1).min(1))),
            _ => (least, most),
        };
        let repeated = Node::Repeat(Repeat {
            body: Box::new(node),
            least,
            most,
            lazy,
        });
        Ok(match atomic {
            true => Node::Atomic(Box::new(repeated)),
            false => repeated,
        })
    }

    /// Takes a quantifier: the least and the most.
    fn quantifier(&mut self) -> Parsed<Option<(u32, Option<u32>)>> {
        let next = self.upcoming()?;
        if self.quoted {
            return Ok(None);
        }
        let range = match next {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let Some((least, most, length)) = counts(&self.rest[1..]) else {
                    return Ok(None);
                };
                let too_big = Refusal::Invalid("number too big in {} quantifier");
                let number = |digits: &str| {
                    let number = digits.parse().ok().filter(|number| *number <= MOST);
                    number.ok_or(too_big)
                };
                let least = number(least)?;
                let most = match most {
                    None => Some(least),
                    Some("") => None,
                    Some(digits) => Some(number(digits)?),
                };
                if most.is_some_and(|most| most < least) {
                    return Err(Refusal::Invalid("numbers out of order in {} quantifier"));
                }
                self.rest = &self.rest[length..];
                (least, most)
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(range))
    }
}

/// Any character.
fn anything() -> Node {
    Node::Set(Builder::of(&[('\0', char::MAX)]).build(1))
}

/// Any character but a line break.
fn no_break() -> Node {
    Node::Set(Builder::of(&[('\n', '\n')]).negated_if(true).build(1))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The digits of `{n}`, `{n,}` or `{n,m}`, given what follows the brace, and where its last one is counted
/// from the first; other braces are themselves.
fn counts(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let (inside, _) = text.split_once('}')?;
    let (least, most) = match inside.split_once(',') {
        Some((least, most)) => (least, Some(most)),
        None => (inside, None),
    };
    (!least.is_empty() && is_digits(least) && is_digits(most.unwrap_or_default())).then_some((
        least,
        most,
        inside.len() + 1,
    ))
}
