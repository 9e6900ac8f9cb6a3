//! From PCRE's syntax, as MongoDB takes it, to that of the `regex` crate.
//!
//! Only whether there is a match counts, not what it spans: so greediness and captures are kept as they
//! are, and what would need backtracking is refused.

use super::super::super::fault::{Fault, Result};
use super::invalid;

/// Rewrites a pattern. `extended`: blanks and comments in it do not count (option `x`).
pub(super) fn translate(pattern: &str, extended: bool) -> Result<String> {
    // Text is always taken as UTF-8.
    let rest = ["(*UTF8)", "(*UTF)"]
        .iter()
        .find_map(|verb| pattern.strip_prefix(verb))
        .unwrap_or(pattern);
    Translator {
        pattern,
        rest,
        out: String::with_capacity(pattern.len() + 16),
        extended: vec![extended],
    }
    .run()
}

struct Translator<'p> {
    pattern: &'p str,
    rest: &'p str,
    out: String,
    /// Whether `x` is on, per open group; the last is the current one.
    extended: Vec<bool>,
}

impl Translator<'_> {
    fn run(mut self) -> Result<String> {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' => {
                    if self.extended.len() > 1 {
                        self.extended.pop();
                    }
                    self.out.push(')');
                    self.quantifier()?;
                }
                // The end of the text, or before a line break that ends it; with `m`, of each line.
                '$' => {
                    self.out.push_str("(?:$|\\n\\z)");
                    self.quantifier()?;
                }
                '{' => self.out.push_str("\\{"),
                '}' => self.out.push_str("\\}"),
                ' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C' if self.is_extended() => {}
                '#' if self.is_extended() => {
                    self.rest = self.rest.split_once('\n').map_or("", |(_, after)| after);
                }
                '^' | '|' => self.out.push(c),
                ' ' | '#' => {
                    self.out.push(c);
                    self.quantifier()?;
                }
                other => {
                    self.out.push(other);
                    if !matches!(other, '*' | '+' | '?') {
                        self.quantifier()?;
                    }
                }
            }
        }
        Ok(self.out)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn is_extended(&self) -> bool {
        self.extended.last().copied().unwrap_or(false)
    }

    fn unsupported(&self, what: &str) -> Fault {
        Fault::unsupported(format!(
            "regular expressions with {what} are not supported: {}",
            self.pattern
        ))
    }

    /// The quantifiers after an atom. A second one is an error, unless it is `?` (lazy) or `+` (possessive).
    fn quantifier(&mut self) -> Result<()> {
        if self.is_extended() {
            self.rest = self
                .rest
                .trim_start_matches([' ', '\t', '\n', '\r', '\x0B', '\x0C']);
        }
        let length = match self.rest.as_bytes().first() {
            Some(b'*' | b'+' | b'?') => 1,
            Some(b'{') => match braces(self.rest) {
                Some(length) => length,
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        let (quantifier, after) = self.rest.split_at(length);
        self.out.push_str(quantifier);
        self.rest = after;
        match self.rest.as_bytes().first() {
            Some(b'?') => {
                self.out.push('?');
                self.rest = &self.rest[1..];
            }
            Some(b'+') => return Err(self.unsupported("possessive quantifiers")),
            _ => {}
        }
        match self.rest.as_bytes().first() {
            Some(b'*' | b'+' | b'?') => Err(invalid("nothing to repeat")),
            _ => Ok(()),
        }
    }

    fn group(&mut self) -> Result<()> {
        if self.rest.starts_with('*') {
            return Err(self.unsupported("verbs"));
        }
        let Some(inside) = self.rest.strip_prefix('?') else {
            self.extended.push(self.is_extended());
            self.out.push('(');
            return Ok(());
        };
        if let Some(comment) = inside.strip_prefix('#') {
            let Some((_, after)) = comment.split_once(')') else {
                return Err(invalid("missing ) after (?# comment"));
            };
            self.rest = after;
            return Ok(());
        }
        let what = match inside.as_bytes() {
            [b'=', ..] | [b'!', ..] | [b'<', b'=' | b'!', ..] => Some("look-around"),
            [b'>', ..] => Some("atomic groups"),
            [b'|', ..] => Some("branch reset groups"),
            [b'(', ..] => Some("conditional groups"),
            [b'R' | b'&' | b'+' | b'0'..=b'9', ..] | [b'P', b'>', ..] => Some("recursion"),
            [b'P', b'=', ..] => Some("back-references"),
            [b'-', b'0'..=b'9', ..] => Some("recursion"),
            [b'C', ..] => Some("callouts"),
            _ => None,
        };
        if let Some(what) = what {
            return Err(self.unsupported(what));
        }
        for (open, close) in [("<", '>'), ("P<", '>'), ("'", '\'')] {
            if let Some(after) = inside.strip_prefix(open) {
                let Some((name, after)) = after.split_once(close) else {
                    return Err(invalid("syntax error in subpattern name (missing terminator?)"));
                };
                self.out.push_str("(?P<");
                self.out.push_str(name);
                self.out.push('>');
                self.rest = after;
                self.extended.push(self.is_extended());
                return Ok(());
            }
        }
        self.flags(inside)
    }

    /// `(?ims-x:` or `(?ims-x)`, after the question mark.
    fn flags(&mut self, inside: &str) -> Result<()> {
        let end = inside.find([')', ':']).ok_or_else(|| invalid("missing )"))?;
        let (flags, close) = (&inside[..end], inside.as_bytes()[end]);
        let mut extended = self.is_extended();
        let (mut on, mut off, mut setting) = (String::new(), String::new(), true);
        for flag in flags.chars() {
            match flag {
                '-' if setting => setting = false,
                'x' => extended = setting,
                'i' | 'm' | 's' | 'U' if setting => on.push(flag),
                'i' | 'm' | 's' | 'U' => off.push(flag),
                // Duplicate names do not change what matches.
                'J' => {}
                _ => return Err(invalid("unrecognized character after (? or (?-")),
            }
        }
        self.rest = self.rest.get(end + 2..).unwrap_or("");
        let mut written = on;
        if !off.is_empty() {
            written.push('-');
            written.push_str(&off);
        }
        if close == b':' {
            self.extended.push(extended);
            self.out.push_str("(?");
            self.out.push_str(&written);
            self.out.push(':');
        } else {
            if let Some(current) = self.extended.last_mut() {
                *current = extended;
            }
            if !written.is_empty() {
                self.out.push_str("(?");
                self.out.push_str(&written);
                self.out.push(')');
            }
        }
        Ok(())
    }

    /// A class of one letter, which means the same inside a class; `false` for any other letter.
    fn shorthand(&mut self, c: char) -> bool {
        match c {
            // PCRE without Unicode properties: these classes are ASCII.
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[0-9A-Za-z_]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => self.out.push_str("[\\t\\n\\x0B\\x0C\\r ]"),
            'S' => self.out.push_str("[^\\t\\n\\x0B\\x0C\\r ]"),
            'h' => self.out.push_str(HORIZONTAL),
            'H' => self.out.push_str(&HORIZONTAL.replacen('[', "[^", 1)),
            'v' => self.out.push_str(VERTICAL),
            'V' => self.out.push_str(&VERTICAL.replacen('[', "[^", 1)),
            _ => return false,
        }
        true
    }

    /// An escape outside a class, after its backslash.
    fn escape(&mut self) -> Result<()> {
        let Some(c) = self.next() else {
            return Err(invalid("\\ at end of pattern"));
        };
        match c {
            c if self.shorthand(c) => {}
            'N' => self.out.push_str("[^\\n]"),
            'R' => self
                .out
                .push_str("(?:\\r\\n|[\\n\\x0B\\x0C\\r\\x{85}\\x{2028}\\x{2029}])"),
            'b' => self.out.push_str("(?-u:\\b)"),
            'B' => self.out.push_str("\\B"),
            'A' => self.out.push_str("\\A"),
            'z' => self.out.push_str("\\z"),
            'Z' => self.out.push_str("(?:\\n?\\z)"),
            'G' => self.out.push_str("\\A"),
            'Q' => {
                let (literal, after) = match self.rest.split_once("\\E") {
                    Some((literal, after)) => (literal, after),
                    None => (self.rest, ""),
                };
                self.out.push_str(&regex::escape(literal));
                self.rest = after;
            }
            'E' => return Ok(()),
            'K' | 'C' | 'X' => return Err(self.unsupported(&format!("\\{c}"))),
            'k' | 'g' => return Err(self.unsupported("back-references")),
            '1'..='9' => {
                // One digit is a back-reference; more may be octal, if they are octal digits.
                let digits = 1 + self.rest.bytes().take_while(u8::is_ascii_digit).count();
                let octal: String = std::iter::once(c)
                    .chain(self.rest.chars())
                    .take(3.min(digits))
                    .take_while(|digit| ('0'..='7').contains(digit))
                    .collect();
                if digits == 1 || octal.len() < 2 || c > '7' {
                    return Err(self.unsupported("back-references"));
                }
                self.rest = &self.rest[octal.len() - 1..];
                self.octal(&octal);
            }
            'p' | 'P' => self.property(c),
            other => self.character(other)?,
        }
        self.quantifier()
    }

    /// Escapes that stand for one character, in a class and outside.
    fn character(&mut self, c: char) -> Result<()> {
        match c {
            'a' => self.out.push_str("\\x07"),
            'e' => self.out.push_str("\\x1B"),
            'f' => self.out.push_str("\\x0C"),
            'n' => self.out.push_str("\\n"),
            'r' => self.out.push_str("\\r"),
            't' => self.out.push_str("\\t"),
            '0' => {
                let digits: String = self
                    .rest
                    .chars()
                    .take(2)
                    .take_while(|digit| ('0'..='7').contains(digit))
                    .collect();
                self.rest = &self.rest[digits.len()..];
                self.octal(&digits);
            }
            'x' => {
                if let Some((digits, after)) = self
                    .rest
                    .strip_prefix('{')
                    .and_then(|inside| inside.split_once('}'))
                {
                    let number = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                    let number =
                        number.ok_or_else(|| invalid("character value in \\x{} or \\o{} is too large"))?;
                    self.rest = after;
                    self.push_code(number);
                } else {
                    let digits: String = self
                        .rest
                        .chars()
                        .take(2)
                        .take_while(char::is_ascii_hexdigit)
                        .collect();
                    self.rest = &self.rest[digits.len()..];
                    let number = u32::from_str_radix(&digits, 16).unwrap_or(0);
                    self.push_code(char::from_u32(number).unwrap_or('\0'));
                }
            }
            'c' => {
                let control = self.next().ok_or_else(|| invalid("\\c at end of pattern"))?;
                let code = u32::from(control.to_ascii_uppercase()) ^ 0x40;
                self.push_code(char::from_u32(code).unwrap_or('\0'));
            }
            c if c.is_ascii_alphabetic() => {
                return Err(match c {
                    'L' | 'l' | 'N' | 'U' | 'u' => {
                        invalid("PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u")
                    }
                    _ => invalid("unrecognized character follows \\"),
                });
            }
            c if c.is_ascii() => {
                if c.is_ascii_punctuation() {
                    self.out.push('\\');
                }
                self.out.push(c);
            }
            c => self.out.push(c),
        }
        Ok(())
    }

    fn octal(&mut self, digits: &str) {
        let number = u32::from_str_radix(digits, 8).unwrap_or(0);
        self.push_code(char::from_u32(number).unwrap_or('\0'));
    }

    fn push_code(&mut self, c: char) {
        self.out.push_str(&format!("\\x{{{:X}}}", u32::from(c)));
    }

    /// `\pL`, `\p{Lu}`, `\p{^Lu}`; the names are the same in both syntaxes.
    fn property(&mut self, c: char) {
        let negated = self.rest.starts_with("{^");
        let letter = match (c, negated) {
            ('p', false) | ('P', true) => 'p',
            _ => 'P',
        };
        self.out.push('\\');
        self.out.push(letter);
        if negated {
            self.out.push('{');
            self.rest = &self.rest[2..];
        }
        let end = if negated || self.rest.starts_with('{') {
            self.rest.find('}').map_or(self.rest.len(), |at| at + 1)
        } else {
            self.rest.chars().next().map_or(0, char::len_utf8)
        };
        self.out.push_str(&self.rest[..end]);
        self.rest = &self.rest[end..];
    }

    /// A bracketed class, after its `[`.
    fn class(&mut self) -> Result<()> {
        let unclosed = || invalid("missing terminating ] for character class");
        self.out.push('[');
        if let Some(after) = self.rest.strip_prefix('^') {
            self.out.push('^');
            self.rest = after;
        }
        if let Some(after) = self.rest.strip_prefix(']') {
            self.out.push_str("\\]");
            self.rest = after;
        }
        loop {
            match self.next().ok_or_else(unclosed)? {
                ']' => break,
                '[' => self.posix()?,
                '\\' => self.class_escape()?,
                // A hyphen is a range only between two single characters.
                '-' => self.hyphen(),
                c if c.is_ascii_punctuation() || c.is_ascii_whitespace() => self.literal(c),
                c => self.out.push(c),
            }
        }
        self.out.push(']');
        self.quantifier()
    }

    fn literal(&mut self, c: char) {
        match c {
            '\n' => self.out.push_str("\\n"),
            c if c.is_ascii_punctuation() => {
                self.out.push('\\');
                self.out.push(c);
            }
            c => self.out.push(c),
        }
    }

    fn hyphen(&mut self) {
        let opens = self.out.ends_with('[') && !self.out.ends_with("\\[");
        let after_negation = self.out.ends_with("[^") && !self.out.ends_with("\\[^");
        let after_class = self.out.ends_with(']') && !self.out.ends_with("\\]");
        let before_class = self.rest.starts_with("[:")
            || [
                "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\h", "\\v", "\\p", "\\P",
            ]
            .iter()
            .any(|class| self.rest.starts_with(class));
        if opens || after_negation || after_class || before_class || self.rest.starts_with(']') {
            self.out.push_str("\\-");
        } else {
            self.out.push('-');
        }
    }

    /// `[:alpha:]` inside a class, or a literal bracket.
    fn posix(&mut self) -> Result<()> {
        if let Some(inside) = self.rest.strip_prefix(':')
            && let Some((name, after)) = inside.split_once(":]")
            && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'^')
        {
            let known = [
                "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
                "space", "upper", "word", "xdigit",
            ];
            if !known.contains(&name.trim_start_matches('^')) {
                return Err(invalid("unknown POSIX class name"));
            }
            self.out.push_str("[:");
            self.out.push_str(name);
            self.out.push_str(":]");
            self.rest = after;
        } else {
            self.out.push_str("\\[");
        }
        Ok(())
    }

    fn class_escape(&mut self) -> Result<()> {
        let Some(c) = self.next() else {
            return Err(invalid("\\ at end of pattern"));
        };
        match c {
            c if self.shorthand(c) => {}
            'b' => self.out.push_str("\\x08"),
            'Q' | 'E' => {}
            'p' | 'P' => self.property(c),
            '1'..='7' => {
                let digits: String = std::iter::once(c)
                    .chain(self.rest.chars())
                    .take(3)
                    .take_while(|digit| ('0'..='7').contains(digit))
                    .collect();
                self.rest = &self.rest[digits.len() - 1..];
                self.octal(&digits);
            }
            other => self.character(other)?,
        }
        Ok(())
    }
}

/// `\h`: blanks.
const HORIZONTAL: &str = "[\\t \\x{A0}\\x{1680}\\x{180E}\\x{2000}-\\x{200A}\\x{202F}\\x{205F}\\x{3000}]";
/// `\v`: line breaks.
const VERTICAL: &str = "[\\n\\x0B\\x0C\\r\\x{85}\\x{2028}\\x{2029}]";

/// The length of `{n}`, `{n,}` or `{n,m}` at the start; other braces are literal.
fn braces(text: &str) -> Option<usize> {
    let (inside, _) = text.strip_prefix('{')?.split_once('}')?;
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (!least.is_empty() && digits(least) && digits(most)).then_some(inside.len() + 2)
}
