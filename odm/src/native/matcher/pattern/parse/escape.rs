//! What a backslash begins.

use super::super::set::{self, Builder};
use super::super::syntax::{Node, Parsed, Place, Refusal, Target};
use super::group::Item;
use super::{Parser, counts, is_digits};

const TOO_LARGE: Refusal = Refusal::Invalid("character value in \\x{} or \\o{} is too large");
const NO_DIGITS: Refusal = Refusal::Invalid("digits missing in \\x{} or \\o{}");
const NO_GROUP: Refusal = Refusal::Invalid("reference to non-existent subpattern");
const NUMBER_TOO_BIG: Refusal = Refusal::Invalid("number is too big");
const ZERO: Refusal = Refusal::Invalid("a numbered reference must not be zero");
const NO_REFERENCE: Refusal = Refusal::Invalid(
    "\\g is not followed by a braced, angle-bracketed, or quoted name/number or by a plain number",
);

/// What was read behind a backslash.
pub(super) enum Escape {
    Character(char),
    /// A letter with a meaning of its own.
    Special(char),
    Reference(Target),
}

impl Parser<'_> {
    /// An escape outside a class, after its backslash.
    pub(super) fn escaped(&mut self) -> Parsed<Item> {
        let letter = match self.escape(false)? {
            Escape::Character(c) => return Ok(Item::Repeatable(self.literal(c))),
            Escape::Reference(target) => {
                let case = self.case();
                return Ok(Item::Repeatable(Node::Reference { target, case }));
            }
            Escape::Special(letter) => letter,
        };
        let place = match letter {
            'A' => Place::Start,
            'z' => Place::End,
            'Z' => Place::LastLine,
            'G' => Place::Search,
            'b' | 'B' if self.properties => {
                return Err(Refusal::Unsupported("edges of words by Unicode"));
            }
            'b' => Place::Edge,
            'B' => Place::Inside,
            'K' => return Ok(Item::Fixed(Node::Keep)),
            letter => return Ok(Item::Repeatable(self.letter(letter)?)),
        };
        Ok(Item::Fixed(Node::At(place)))
    }

    /// A letter behind a backslash that takes characters.
    fn letter(&mut self, letter: char) -> Parsed<Node> {
        Ok(match letter {
            'N' => super::no_break(),
            'R' => self.line_break(),
            'C' if self.bytes => super::anything(),
            'C' => return Err(Refusal::Unsupported("\\C")),
            'X' => return Err(Refusal::Unsupported("\\X")),
            'p' | 'P' => Node::Set(self.property(letter)?.build(3)),
            'g' => self.called()?,
            'k' => {
                let case = self.case();
                let target = self.named_reference()?;
                Node::Reference { target, case }
            }
            letter => {
                let class = set::shorthand(letter, self.properties).unwrap_or_else(Builder::new);
                Node::Set(class.build(1))
            }
        })
    }

    /// `\R`: both characters of a pair are taken, or none.
    fn line_break(&self) -> Node {
        let breaks = match self.ascii_breaks {
            true => Builder::of(&[('\n', '\n'), ('\r', '\r')]),
            false => set::breaks(),
        };
        let pair = Node::Sequence(vec![Node::Character('\r'), Node::Character('\n')]);
        Node::Atomic(Box::new(Node::Choice(vec![pair, Node::Set(breaks.build(1))])))
    }

    /// An escape, after its backslash.
    pub(super) fn escape(&mut self, in_class: bool) -> Parsed<Escape> {
        let c = self.next().ok_or(Refusal::Invalid("\\ at end of pattern"))?;
        let character = match c {
            'A' | 'B' | 'C' | 'D' | 'E' | 'G' | 'H' | 'K' | 'P' | 'Q' | 'R' | 'S' | 'V' | 'W' | 'X' | 'Z'
            | 'b' | 'd' | 'h' | 'k' | 'p' | 's' | 'v' | 'w' | 'z' => return Ok(Escape::Special(c)),
            'N' if self.rest.starts_with('{') && counts(&self.rest[1..]).is_none() => {
                return Err(no_perl());
            }
            'N' => return Ok(Escape::Special(c)),
            'L' | 'l' | 'U' | 'u' => return Err(no_perl()),
            'g' if !in_class => return self.reference(),
            'a' => '\x07',
            'e' => '\x1B',
            'f' => '\x0C',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => self.octal(c)?,
            '1'..='9' => {
                if !in_class && let Some(number) = self.back_reference(c)? {
                    return Ok(Escape::Reference(Target::Number(number)));
                }
                match c {
                    '8' | '9' => c,
                    _ => self.octal(c)?,
                }
            }
            'o' => self.braced_octal()?,
            'x' => self.hexadecimal()?,
            'c' => self.control()?,
            c if c.is_ascii_alphanumeric() && self.options.strict && c != 'g' => {
                return Err(Refusal::Invalid("unrecognized character follows \\"));
            }
            c => c,
        };
        Ok(Escape::Character(character))
    }

    /// A decimal number behind a backslash, if it is below 8 or of a group that was opened before.
    fn back_reference(&mut self, first: char) -> Parsed<Option<usize>> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let digits = format!("{first}{}", &self.rest[..length]);
        let number: usize = digits.parse().map_err(|_| NUMBER_TOO_BIG)?;
        if number > i32::MAX as usize {
            return Err(NUMBER_TOO_BIG);
        }
        if number >= 8 && number > self.groups {
            return Ok(None);
        }
        self.rest = &self.rest[length..];
        Ok(Some(number))
    }

    /// At most three octal digits.
    fn octal(&mut self, first: char) -> Parsed<char> {
        let mut code = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else {
                break;
            };
            self.next();
            code = code * 8 + digit;
        }
        if self.bytes && code > 0xFF {
            return Err(Refusal::Invalid(
                "octal value is greater than \\377 in 8-bit non-UTF-8 mode",
            ));
        }
        self.code(code)
    }

    fn braced_octal(&mut self) -> Parsed<char> {
        if !self.take("{") {
            return Err(Refusal::Invalid("missing opening brace after \\o"));
        }
        let digits = self.take_while(|c| c.is_digit(8));
        self.braced(
            digits,
            8,
            Refusal::Invalid("non-octal character in \\o{} (closing brace missing?)"),
        )
    }

    fn hexadecimal(&mut self) -> Parsed<char> {
        if self.take("{") {
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return self.braced(
                digits,
                16,
                Refusal::Invalid("non-hex character in \\x{} (closing brace missing?)"),
            );
        }
        let mut code = 0;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else {
                break;
            };
            self.next();
            code = code * 16 + digit;
        }
        self.code(code)
    }

    /// A code of digits up to a brace; other characters are refused as `wrong`.
    fn braced(&mut self, digits: &str, radix: u32, wrong: Refusal) -> Parsed<char> {
        if digits.is_empty() && self.rest.starts_with('}') {
            return Err(NO_DIGITS);
        }
        let most = if self.bytes { 0xFF } else { u32::from(char::MAX) };
        let code = match digits.trim_start_matches('0') {
            "" => 0,
            digits => u32::from_str_radix(digits, radix)
                .ok()
                .filter(|code| *code <= most)
                .ok_or(TOO_LARGE)?,
        };
        if !self.take("}") {
            return Err(wrong);
        }
        self.code(code)
    }

    fn code(&self, code: u32) -> Parsed<char> {
        char::from_u32(code).ok_or(Refusal::Invalid(
            "disallowed Unicode code point (>= 0xd800 && <= 0xdfff)",
        ))
    }

    fn control(&mut self) -> Parsed<char> {
        let control = self.next().ok_or(Refusal::Invalid("\\c at end of pattern"))?;
        match u8::try_from(control) {
            Ok(control) if control.is_ascii() => Ok(char::from(control.to_ascii_uppercase() ^ 0x40)),
            _ => Err(Refusal::Invalid("\\c must be followed by an ASCII character")),
        }
    }

    /// `\pL`, `\p{Lu}`, `\p{^Lu}`, after its letter.
    pub(super) fn property(&mut self, letter: char) -> Parsed<Builder> {
        const MALFORMED: Refusal = Refusal::Invalid("malformed \\P or \\p sequence");
        let mut negated = letter == 'P';
        let builder = if self.take("{") {
            negated ^= self.take("^");
            let (name, after) = self.rest.split_once('}').ok_or(MALFORMED)?;
            self.rest = after;
            set::property(name)
        } else {
            let name = self.next().ok_or(MALFORMED)?;
            set::property(name.encode_utf8(&mut [0; 4]))
        };
        let unknown = Refusal::Invalid("unknown property name after \\P or \\p");
        Ok(builder.ok_or(unknown)?.negated_if(negated))
    }

    /// What follows `\g`, but a call.
    fn reference(&mut self) -> Parsed<Escape> {
        if self.rest.starts_with(['<', '\'']) {
            return Ok(Escape::Special('g'));
        }
        if let Some(inside) = self.rest.strip_prefix('{') {
            let end = inside.find(|c: char| c != '-' && !c.is_ascii_digit());
            if end.is_some_and(|end| !inside[end..].starts_with('}')) {
                return Ok(Escape::Special('k'));
            }
        }
        let is_braced = self.take("{");
        let is_relative = self.take("-");
        let number = self.number()?;
        if is_braced && !self.take("}") {
            return Err(NO_REFERENCE);
        }
        if number == 0 {
            return Err(ZERO);
        }
        let number = match is_relative {
            true => (self.groups + 1).checked_sub(number).filter(|number| *number > 0),
            false => Some(number),
        };
        Ok(Escape::Reference(Target::Number(number.ok_or(NO_GROUP)?)))
    }

    /// The number that the digits here make; 0 without digits.
    pub(super) fn number(&mut self) -> Parsed<usize> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        match digits.trim_start_matches('0') {
            "" => Ok(0),
            digits => digits
                .parse()
                .ok()
                .filter(|number| *number <= i32::MAX as usize / 10)
                .ok_or(NUMBER_TOO_BIG),
        }
    }

    /// `\g<1>`, `\g'name'`, after the letter.
    fn called(&mut self) -> Parsed<Node> {
        let close = if self.take("<") { '>' } else { '\'' };
        if close == '\'' {
            self.take("'");
        }
        if !self.rest.starts_with(['+', '-']) && !self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Node::Call(self.reference_name(close)?));
        }
        match self.rest[1..].split_once(close) {
            Some((digits, _)) if is_digits(digits) => self.numbered_call(close),
            _ => Err(NO_REFERENCE),
        }
    }

    /// The group with a number, counted from here with a sign, up to a closing character.
    pub(super) fn numbered_call(&mut self, close: char) -> Parsed<Node> {
        let (forward, back) = (self.take("+"), self.take("-"));
        if forward && !self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Refusal::Invalid("digit expected after (?+"));
        }
        let number = self.number()?;
        if self.next() != Some(close) {
            return Err(Refusal::Invalid("(?R or (?[+-]digits must be followed by )"));
        }
        if number == 0 && (forward || back) {
            return Err(ZERO);
        }
        let number = match (forward, back) {
            (true, _) => Some(self.groups + number),
            (_, true) => (self.groups + 1).checked_sub(number).filter(|number| *number > 0),
            _ => Some(number),
        };
        Ok(Node::Call(Target::Number(number.ok_or(NO_GROUP)?)))
    }

    /// The name behind `\k` or `\g{`.
    fn named_reference(&mut self) -> Parsed<Target> {
        let close = match self.next() {
            Some('{') => '}',
            Some('<') => '>',
            Some('\'') => '\'',
            _ => {
                return Err(Refusal::Invalid(
                    "\\k is not followed by a braced, angle-bracketed, or quoted name",
                ));
            }
        };
        self.reference_name(close)
    }
}

fn no_perl() -> Refusal {
    Refusal::Invalid("PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u")
}
