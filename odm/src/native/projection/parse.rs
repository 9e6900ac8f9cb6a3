//! Projection documents into trees, with the server's complaints.

use super::super::aggregate::expression::Expression;
use super::super::aggregate::path;
use super::super::collation::Collation;
use super::super::document::decimal::{Decimal, Rounding};
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result};
use super::super::matcher::{ElementMatcher, Matcher, now, truthy};
use super::super::metadata::Wanted;
use super::{Mode, Projection, Rule, Slice, Tree};

impl Projection {
    /// Parses a projection. `filter` is the filter of the same operation, which the positional `$` needs and which
    /// knows the operation's variables.
    pub(crate) fn parse(spec: Doc<'_>, filter: Option<&Matcher>) -> Result<Projection> {
        Projection::parse_as(spec, filter, false)
    }

    /// Parses a projection which leaves out what is not known of how the document was found.
    pub(crate) fn parse_lenient(spec: Doc<'_>, filter: &Matcher) -> Result<Projection> {
        Projection::parse_as(spec, Some(filter), true)
    }

    fn parse_as(spec: Doc<'_>, filter: Option<&Matcher>, lenient: bool) -> Result<Projection> {
        let mut parser = Parser {
            filter,
            lenient,
            tree: Tree::default(),
            mode: None,
            id: None,
            positional: false,
            matches_elements: false,
            slices: false,
            wanted: Wanted::default(),
        };
        for element in spec.elements() {
            parser.element(element.name_str(), &element.value(), &[])?;
        }
        parser.finish()
    }
}

/// Refuses what cannot be the key of a `distinct`: the server reads it as a projection of the field.
pub(crate) fn check_key(key: &str, filter: &Matcher) -> Result<()> {
    let spec = [(key.to_owned(), Owned::Bool(true))];
    Projection::parse(Doc::Fields(&spec), Some(filter)).map(drop)
}

struct Parser<'v> {
    filter: Option<&'v Matcher>,
    /// Whether it may ask for scores and distances that a filter does not give.
    lenient: bool,
    tree: Tree,
    /// Set by the first field that decides it; `_id` by itself does not.
    mode: Option<Mode>,
    /// What the specification says of `_id` as a whole.
    id: Option<bool>,
    positional: bool,
    matches_elements: bool,
    slices: bool,
    wanted: Wanted,
}

/// One field of the specification.
struct Target<'s> {
    /// The name as written, relative to the object that it stands in.
    written: &'s str,
    /// The same without `.$`.
    name: &'s str,
    /// The whole path.
    path: Vec<&'s str>,
    /// Whether the name ended in `.$`.
    positional: bool,
}

impl Target<'_> {
    /// Checks the whole path, which is done when it is known what is to be there.
    fn check(&self) -> Result<()> {
        match self.path.as_slice() {
            // A `.$` of nothing is refused by what it is to do.
            [""] if self.positional => Ok(()),
            [own] => path::check(own),
            all => path::check(&all.join(".")),
        }
    }
}

impl Parser<'_> {
    fn element<'s>(&mut self, name: &'s str, value: &Value<'s>, parent: &[&'s str]) -> Result<()> {
        let target = target(name, parent)?;
        match value {
            Value::Document(inner) => self.document(target, *inner),
            value if value.is_number() || matches!(value, Value::Bool(_)) => {
                if truthy(value) {
                    self.include(target)
                } else {
                    self.exclude(target)
                }
            }
            value => {
                if target.positional {
                    return Err(Fault::new(
                        31308,
                        "positional projection cannot be used with a literal",
                    ));
                }
                self.literal(&target, value)
            }
        }
    }

    fn document<'s>(&mut self, target: Target<'s>, inner: Doc<'s>) -> Result<()> {
        if target.positional {
            return Err(Fault::new(
                31271,
                "positional projection cannot be used with an expression or sub object",
            ));
        }
        let mut elements = inner.elements();
        let Some(first) = elements.next() else {
            return Err(Fault::new(
                51270,
                "An empty sub-projection is not a valid value. Found empty object at path",
            ));
        };
        target.check()?;
        let operator = first.name().starts_with(b"$") && !path::is_reserved(first.name_str());
        if operator && elements.next().is_none() {
            let operand = first.value();
            return match first.name_str() {
                "$slice" => self.slice(&target, &operand, inner),
                "$elemMatch" => self.match_element(&target, &operand),
                "$meta" => self.metadata(&target, inner),
                _ => self.expression(&target, inner),
            };
        }
        self.tree.reserve(&target)?;
        for element in inner.elements() {
            self.element(element.name_str(), &element.value(), &target.path)?;
        }
        Ok(())
    }

    fn include(&mut self, target: Target<'_>) -> Result<()> {
        let rule = if target.positional {
            if self.positional {
                return Err(Fault::new(
                    31276,
                    "Cannot specify more than one positional projection per query.",
                ));
            }
            if self.matches_elements {
                return Err(Fault::new(
                    31256,
                    "Cannot specify positional operator and $elemMatch.",
                ));
            }
            if target.name.is_empty() {
                return Err(Fault::new(
                    5_392_900,
                    format!("Projection on field {} is invalid", target.written),
                ));
            }
            let Some(filter) = self.filter else {
                return Err(Fault::new(
                    51050,
                    "Projections with a positional operator require a matcher",
                ));
            };
            filter.refuse_special()?;
            self.positional = true;
            Rule::Positional
        } else {
            Rule::Include
        };
        self.tree.add(&target, rule)?;
        if target.path == ["_id"] && !target.positional {
            self.id = Some(true);
        } else {
            if self.mode == Some(Mode::Exclusion) {
                return Err(Fault::new(
                    31253,
                    format!(
                        "Cannot do inclusion on field {} in exclusion projection",
                        target.written
                    ),
                ));
            }
            self.mode = Some(Mode::Inclusion);
        }
        Ok(())
    }

    fn exclude(&mut self, target: Target<'_>) -> Result<()> {
        if target.positional {
            return Err(Fault::new(
                31395,
                "positional projection cannot be used with exclusion",
            ));
        }
        self.tree.add(&target, Rule::Exclude)?;
        if target.path == ["_id"] {
            self.id = Some(false);
        } else {
            if self.mode == Some(Mode::Inclusion) {
                return Err(Fault::new(
                    31254,
                    format!(
                        "Cannot do exclusion on field {} in inclusion projection",
                        target.written
                    ),
                ));
            }
            self.mode = Some(Mode::Exclusion);
        }
        Ok(())
    }

    fn literal(&mut self, target: &Target<'_>, value: &Value<'_>) -> Result<()> {
        let expression = self.computed(value)?;
        self.tree.add(target, Rule::Computed(Box::new(expression)))?;
        if self.mode == Some(Mode::Exclusion) {
            return Err(Fault::new(
                31310,
                format!(
                    "Cannot use an expression {}: {value} in an exclusion projection",
                    target.name
                ),
            ));
        }
        self.mode = Some(Mode::Inclusion);
        Ok(())
    }

    fn expression(&mut self, target: &Target<'_>, inner: Doc<'_>) -> Result<()> {
        let expression = self.computed(&Value::Document(inner));
        if let Err(fault) = &expression
            && let Some(first) = inner.elements().next()
            && fault.message() == format!("Unrecognized expression '{}'", first.name_str())
        {
            return Err(Fault::new(
                31325,
                format!("Unknown expression {}", first.name_str()),
            ));
        }
        self.refuse_in_exclusion()?;
        let expression = expression?;
        self.ask(&expression);
        self.tree.add(target, Rule::Computed(Box::new(expression)))?;
        self.mode = Some(Mode::Inclusion);
        Ok(())
    }

    /// What is known of how the document was found. It decides nothing about other fields.
    fn metadata(&mut self, target: &Target<'_>, inner: Doc<'_>) -> Result<()> {
        let expression = self.computed(&Value::Document(inner))?;
        self.ask(&expression);
        self.tree.add(target, Rule::Computed(Box::new(expression)))
    }

    fn ask(&mut self, expression: &Expression) {
        self.wanted = self.wanted.and(expression.wanted());
    }

    /// Refuses what nothing gives, when all has been read.
    fn check_wanted(&self) -> Result<()> {
        if self.lenient {
            return Ok(());
        }
        let searches = self.filter.is_some_and(|filter| filter.text().is_some());
        let measures = self.filter.is_some_and(|filter| filter.near().is_some());
        self.wanted.check(searches, measures)
    }

    fn computed(&self, value: &Value<'_>) -> Result<Expression> {
        let variables = self.filter.map_or(&[][..], Matcher::variables);
        let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        Expression::parse_unfolded(value, &names)
    }

    fn refuse_in_exclusion(&self) -> Result<()> {
        match self.mode {
            Some(Mode::Exclusion) => Err(Fault::new(
                31252,
                "Cannot use expression other than $meta in exclusion projection",
            )),
            _ => Ok(()),
        }
    }

    /// `$slice` is this language's own operator, or the expression of the same name when its operands are
    /// not of the own form.
    fn slice(&mut self, target: &Target<'_>, operand: &Value<'_>, inner: Doc<'_>) -> Result<()> {
        let own = own_slice(operand).and_then(|slice| self.tree.add(target, Rule::Slice(slice)));
        let Err(refusal) = own else {
            self.slices = true;
            return Ok(());
        };
        self.expression(target, inner).map_err(|fault| {
            fault.prefixed(&format!(
                "Invalid $slice syntax. The given syntax {inner} did not match the find() syntax because :: \
                 Location{}: {} :: The given syntax did not match the expression $slice syntax. :: caused \
                 by :: ",
                refusal.code(),
                refusal.message()
            ))
        })
    }

    fn match_element(&mut self, target: &Target<'_>, operand: &Value<'_>) -> Result<()> {
        let Value::Document(condition) = operand else {
            return Err(Fault::new(
                31274,
                format!(
                    "elemMatch: Invalid argument, object required, but got {}",
                    operand.kind().alias()
                ),
            ));
        };
        if self.positional {
            return Err(Fault::new(
                31255,
                "Cannot specify positional operator and $elemMatch.",
            ));
        }
        if target.path.len() > 1 {
            return Err(Fault::new(
                31275,
                "Cannot use $elemMatch projection on a nested field.",
            ));
        }
        let matcher = ElementMatcher::parse(*condition)?;
        self.matches_elements = true;
        self.tree.add(target, Rule::Element(Box::new(matcher)))
    }

    fn finish(mut self) -> Result<Projection> {
        self.check_wanted()?;
        let mode = self.mode.unwrap_or({
            if self.id == Some(true) || (self.matches_elements && !self.slices) {
                Mode::Inclusion
            } else {
                Mode::Exclusion
            }
        });
        match mode {
            Mode::Inclusion if self.tree.child(b"_id").is_none() => {
                self.tree.children.push(("_id".to_owned(), Rule::Include));
            }
            _ => {}
        }
        self.tree.prepare();
        Ok(Projection {
            collation: Collation::default(),
            variables: Vec::new(),
            mode,
            tree: self.tree,
            positional: self.positional,
            wanted: self.wanted,
            now: now(),
        })
    }
}

impl Tree {
    /// Adds a rule at a path; a path may neither repeat nor pass through another's end.
    fn add(&mut self, target: &Target<'_>, rule: Rule) -> Result<()> {
        target.check()?;
        let Some((last, parents)) = target.path.split_last() else {
            return Ok(());
        };
        let tree = self.descend(target, parents)?;
        if tree.child(last.as_bytes()).is_some() {
            return Err(Fault::new(31250, format!("Path collision at {}", target.name)));
        }
        tree.children.push(((*last).to_owned(), rule));
        Ok(())
    }

    /// Makes sure that the path leads to a tree.
    fn reserve(&mut self, target: &Target<'_>) -> Result<()> {
        let Some((last, parents)) = target.path.split_last() else {
            return Ok(());
        };
        let tree = self.descend(target, parents)?;
        match tree.child(last.as_bytes()) {
            Some(Rule::Fields(_)) => Ok(()),
            Some(_) => Err(Fault::new(31250, format!("Path collision at {}", target.name))),
            None => {
                tree.children
                    .push(((*last).to_owned(), Rule::Fields(Tree::default())));
                Ok(())
            }
        }
    }

    fn descend(&mut self, target: &Target<'_>, names: &[&str]) -> Result<&mut Tree> {
        let mut tree = self;
        for name in names {
            let position = tree.children.iter().position(|(own, _)| own == name);
            let position = position.unwrap_or_else(|| {
                tree.children
                    .push(((*name).to_owned(), Rule::Fields(Tree::default())));
                tree.children.len() - 1
            });
            match &mut tree.children[position].1 {
                Rule::Fields(inner) => tree = inner,
                _ => {
                    return Err(match target.name.split_once('.') {
                        Some((_, rest)) => Fault::new(
                            31249,
                            format!("Path collision at {} remaining portion {rest}", target.name),
                        ),
                        None => Fault::new(31250, format!("Path collision at {}", target.name)),
                    });
                }
            }
        }
        Ok(tree)
    }

    /// Notes in each tree what is below it.
    pub(super) fn prepare(&mut self) {
        for (_, rule) in &mut self.children {
            match rule {
                Rule::Computed(_) => self.computes = true,
                Rule::Positional => self.positional = true,
                Rule::Fields(inner) => {
                    inner.prepare();
                    self.computes |= inner.computes;
                    self.positional |= inner.positional;
                }
                _ => {}
            }
        }
    }
}

/// Splits a name at its dots, with the rules of field paths.
fn target<'s>(name: &'s str, parent: &[&'s str]) -> Result<Target<'s>> {
    let (own, positional) = match name.strip_suffix(".$") {
        Some(own) => (own, true),
        None => (name, false),
    };
    if name.contains(".$.") {
        return Err(Fault::new(
            31394,
            "As of 4.4, it's illegal to specify positional operator in the middle of a path.Positional \
             projection may only be used at the end, for example: a.b.$. If the query previously used a \
             form like a.b.$.d, remove the parts following the '$' and the results will be equivalent.",
        ));
    }
    Ok(Target {
        written: name,
        name: own,
        path: parent.iter().copied().chain(own.split('.')).collect(),
        positional,
    })
}

/// `n` or `[skip, limit]`.
fn own_slice(operand: &Value<'_>) -> Result<Slice> {
    match operand {
        Value::Array(items) => {
            let (Some(skip), Some(limit), None) = (items.at(0), items.at(1), items.at(2)) else {
                return Err(Fault::new(
                    31272,
                    "$slice array argument should be of form [skip, limit]",
                ));
            };
            let number = |value: Value<'_>, what: &str, number: i32| {
                clamped(&value).ok_or_else(|| {
                    Fault::new(
                        number,
                        format!(
                            "$slice expects the {what} argument to be a number, got {}",
                            value.kind().alias()
                        ),
                    )
                })
            };
            let skip = number(skip, "skip", 31257)?;
            let limit = number(limit, "limit", 31258)?;
            if limit <= 0 {
                return Err(Fault::new(
                    31259,
                    format!("$slice limit must be positive, got {limit}"),
                ));
            }
            Ok(Slice {
                skip,
                limit,
                skips: true,
            })
        }
        operand => match clamped(operand) {
            // The last ones.
            Some(count) if count < 0 => Ok(Slice {
                skip: count,
                limit: -count,
                skips: false,
            }),
            Some(count) => Ok(Slice {
                skip: 0,
                limit: count,
                skips: false,
            }),
            None => Err(Fault::new(
                31273,
                "$slice only supports numbers and [skip, limit] arrays",
            )),
        },
    }
}

/// A number as a 32-bit integer: the fraction is cut (of decimals rounded), the rest is clamped, NaN is 0.
fn clamped(value: &Value<'_>) -> Option<i64> {
    let number = match value {
        Value::Int32(x) => i64::from(*x),
        Value::Int64(x) => *x,
        Value::Double(x) => *x as i64,
        Value::Decimal128(bytes) => {
            let decimal = Decimal::from_bytes(*bytes);
            match decimal.quantize(0, Rounding::HalfEven).to_i64_truncated() {
                Some(number) => number,
                None if decimal.is_nan() => 0,
                None if decimal.is_negative() => i64::MIN,
                None => i64::MAX,
            }
        }
        _ => return None,
    };
    Some(number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)))
}
