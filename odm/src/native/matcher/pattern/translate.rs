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
                    self.assertion()?;
                }
                '{' if braces(self.rest).is_some() => return Err(invalid("nothing to repeat")),
                '{' | '}' => {
                    self.out.push('\\');
                    self.out.push(c);
                    self.quantifier()?;
                }
                ' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C' if self.is_extended() => {}
                '#' if self.is_extended() => {
                    // A comment to the very end takes the bracket that the server puts behind the pattern.
                    let (_, after) = self.rest.split_once('\n').ok_or_else(|| invalid("missing )"))?;
                    self.rest = after;
                }
                '^' => {
                    self.out.push(c);
                    self.assertion()?;
                }
                '|' => self.out.push(c),
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

    /// The length of the quantifier that comes next, if one does.
    fn quantifier_length(&mut self) -> Option<usize> {
        if self.is_extended() {
            self.rest = self
                .rest
                .trim_start_matches([' ', '\t', '\n', '\r', '\x0B', '\x0C']);
        }
        match self.rest.as_bytes().first()? {
            b'*' | b'+' | b'?' => Some(1),
            b'{' => braces(self.rest.get(1..)?),
            _ => None,
        }
    }

    /// What takes no text cannot be repeated.
    fn assertion(&mut self) -> Result<()> {
        match self.quantifier_length() {
            Some(_) => Err(invalid("nothing to repeat")),
            None => Ok(()),
        }
    }

    /// The quantifiers after an atom. A second one is an error, unless it is `?` (lazy) or `+` (possessive).
    fn quantifier(&mut self) -> Result<()> {
        let Some(length) = self.quantifier_length() else {
            return Ok(());
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
        self.assertion()
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
            // Letters that are no ASCII have no part in it, though some are an ASCII letter in the other case.
            'w' => self.out.push_str("(?-i:[0-9A-Za-z_])"),
            'W' => self.out.push_str("(?-i:[^0-9A-Za-z_])"),
            c if self.shorthand(c) => {}
            'N' => self.out.push_str("[^\\n]"),
            'R' => self
                .out
                .push_str("(?:\\r\\n|[\\n\\x0B\\x0C\\r\\x{85}\\x{2028}\\x{2029}])"),
            'b' | 'B' | 'A' | 'z' | 'Z' | 'G' => {
                self.out.push_str(match c {
                    'b' => "(?-u:\\b)",
                    'B' => "\\B",
                    'z' => "\\z",
                    'Z' => "(?:\\n?\\z)",
                    _ => "\\A",
                });
                return self.assertion();
            }
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
                // Behind a backslash these two would be the edges of a word.
                if c.is_ascii_punctuation() && !matches!(c, '<' | '>') {
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
        match posix_end(self.rest) {
            Some((':', _)) => {
                return Err(invalid("POSIX named classes are supported only within a class"));
            }
            Some(_) => return Err(invalid(NO_COLLATING)),
            None => {}
        }
        self.out.push('[');
        if let Some(after) = self.rest.strip_prefix('^') {
            self.out.push('^');
            self.rest = after;
        }
        if let Some(after) = self.rest.strip_prefix(']') {
            self.out.push_str("\\]");
            self.rest = after;
        }
        // Whether a range may start with what came last, and whether one is to end with what comes.
        let (mut starts, mut ends) = (false, false);
        loop {
            let is_single = match self.next().ok_or_else(unclosed)? {
                ']' => break,
                '[' => self.posix()?,
                '\\' => self.class_escape()?,
                // A hyphen is a range only between two single characters.
                '-' => {
                    if starts && self.is_before_class() {
                        return Err(invalid("invalid range in character class"));
                    }
                    if starts && !self.rest.starts_with(']') {
                        self.out.push('-');
                        (starts, ends) = (false, true);
                        continue;
                    }
                    self.out.push_str("\\-");
                    true
                }
                c if c.is_ascii_punctuation() || c.is_ascii_whitespace() => {
                    self.literal(c);
                    true
                }
                c => {
                    self.out.push(c);
                    true
                }
            };
            starts = is_single && !ends;
            ends = false;
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

    /// Whether a class comes next, which no range ends with.
    fn is_before_class(&self) -> bool {
        self.rest.strip_prefix('[').and_then(posix_end).is_some()
            || [
                "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\h", "\\H", "\\v", "\\V", "\\p", "\\P",
            ]
            .iter()
            .any(|class| self.rest.starts_with(class))
    }

    /// `[:alpha:]` inside a class, or a literal bracket; gives whether it is one character.
    fn posix(&mut self) -> Result<bool> {
        let end = posix_end(self.rest);
        if let Some((':', length)) = end {
            let name = self.rest.get(1..length - 2).unwrap_or_default();
            let after = self.rest.get(length..).unwrap_or_default();
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
            return Ok(false);
        }
        if end.is_some() {
            return Err(invalid(NO_COLLATING));
        }
        self.out.push_str("\\[");
        Ok(true)
    }

    /// An escape inside a class, after its backslash; gives whether it is one character.
    fn class_escape(&mut self) -> Result<bool> {
        let Some(c) = self.next() else {
            return Err(invalid("\\ at end of pattern"));
        };
        match c {
            c if self.shorthand(c) => return Ok(false),
            'b' => self.out.push_str("\\x08"),
            'Q' | 'E' => return Ok(false),
            'p' | 'P' => {
                self.property(c);
                return Ok(false);
            }
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
        Ok(true)
    }
}

/// PCRE's words for `[.a.]` and `[=a=]`.
const NO_COLLATING: &str = "POSIX collating elements are not supported";

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

/// `\h`: blanks.
const HORIZONTAL: &str = "[\\t \\x{A0}\\x{1680}\\x{180E}\\x{2000}-\\x{200A}\\x{202F}\\x{205F}\\x{3000}]";
/// `\v`: line breaks.
const VERTICAL: &str = "[\\n\\x0B\\x0C\\r\\x{85}\\x{2028}\\x{2029}]";

/// The length of `{n}`, `{n,}` or `{n,m}`, given what follows the first brace; other braces are literal.
fn braces(text: &str) -> Option<usize> {
    let (inside, _) = text.split_once('}')?;
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (!least.is_empty() && digits(least) && digits(most)).then_some(inside.len() + 2)
}
