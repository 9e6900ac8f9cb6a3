//! What attributes a type of product has.

use super::given::{Given, Held};
use super::problem::{AttributeProblem, AttributeProblemKind as Wrong};
use super::stored::Attributes;
use super::units::Units;
use super::value::{Kind, Value};

/// The attributes of a type of product.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ProductType {
    pub(super) name: String,
    pub(super) definitions: Vec<Definition>,
    pub(super) is_open: bool,
}

/// What an attribute is.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Definition {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) is_many: bool,
    pub(super) is_searched: bool,
    pub(super) unit: Option<String>,
    pub(super) least: Option<Value>,
    pub(super) most: Option<Value>,
    pub(super) choices: Vec<Value>,
}

impl ProductType {
    /// A type without attributes.
    pub fn new(name: impl Into<String>) -> ProductType {
        ProductType {
            name: name.into(),
            definitions: Vec::new(),
            is_open: false,
        }
    }

    /// An attribute that products of this type have, or may have.
    pub fn attribute(mut self, definition: Definition) -> ProductType {
        self.definitions.push(definition);
        self
    }

    /// Products may have attributes that are not defined, too.
    pub fn open(mut self) -> ProductType {
        self.is_open = true;
        self
    }

    pub(super) fn definition(&self, name: &str) -> Option<&Definition> {
        self.definitions.iter().find(|definition| definition.name == name)
    }

    /// The attributes as they are to be stored: with whole numbers as numbers, measures in the attribute's unit, each value
    /// once.
    pub(super) fn normal<F>(
        &self,
        units: &Units,
        attributes: &Attributes<F>,
    ) -> Result<Attributes<F>, Vec<AttributeProblem>> {
        let mut normal = Attributes::new();
        let mut problems = Vec::new();
        for definition in &self.definitions {
            if definition.is_required && attributes.get(&definition.name).is_none() {
                problems.push(AttributeProblem::new(&definition.name, Wrong::Missing));
            }
        }
        for (name, held) in attributes.iter() {
            let found = match self.definition(name) {
                Some(definition) => definition.normal(units, held),
                None if self.is_open && is_name(name) => Ok(held.clone()),
                None => Err(Wrong::Unknown),
            };
            match found {
                Ok(held) => normal.put(name.to_owned(), held),
                Err(kind) => problems.push(AttributeProblem::new(name, kind)),
            }
        }
        match problems.is_empty() {
            true => Ok(normal),
            false => Err(problems),
        }
    }
}

impl Definition {
    /// An attribute whose values are of this kind.
    pub fn new(name: impl Into<String>, kind: Kind) -> Definition {
        Definition {
            name: name.into(),
            kind,
            is_required: false,
            is_many: false,
            is_searched: true,
            unit: None,
            least: None,
            most: None,
            choices: Vec::new(),
        }
    }

    /// A text.
    pub fn text(name: impl Into<String>) -> Definition {
        Definition::new(name, Kind::Text)
    }

    /// A whole number.
    pub fn integer(name: impl Into<String>) -> Definition {
        Definition::new(name, Kind::Integer)
    }

    /// A number.
    pub fn number(name: impl Into<String>) -> Definition {
        Definition::new(name, Kind::Number)
    }

    /// A number with a unit. Values are given in any unit of the same dimension, and searched in this one.
    pub fn measure(name: impl Into<String>, unit: impl Into<String>) -> Definition {
        let mut definition = Definition::new(name, Kind::Number);
        definition.unit = Some(unit.into());
        definition
    }

    /// Every product of the type has it.
    pub fn required(mut self) -> Definition {
        self.is_required = true;
        self
    }

    /// It can have several values.
    pub fn many(mut self) -> Definition {
        self.is_many = true;
        self
    }

    /// Nobody searches by it: it gets no index of its own.
    pub fn unindexed(mut self) -> Definition {
        self.is_searched = false;
        self
    }

    /// The least value.
    pub fn at_least(mut self, value: impl Into<Value>) -> Definition {
        self.least = Some(value.into());
        self
    }

    /// The greatest value.
    pub fn at_most(mut self, value: impl Into<Value>) -> Definition {
        self.most = Some(value.into());
        self
    }

    /// The values that there are.
    pub fn choices<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Definition {
        self.choices = values.into_iter().map(Into::into).collect();
        self
    }

    /// The value or values as they are to be stored.
    pub(super) fn normal(&self, units: &Units, held: &Held) -> Result<Held, Wrong> {
        match (held, self.is_many) {
            (Held::One(given), false) => Ok(Held::One(self.normal_one(units, given)?)),
            (Held::Many(values), false) => match values.as_slice() {
                [given] => Ok(Held::One(self.normal_one(units, given)?)),
                _ => Err(Wrong::NotOne),
            },
            (held, true) => {
                let mut normal: Vec<Given> = Vec::new();
                for given in held.values() {
                    let given = self.normal_one(units, given)?;
                    if normal.iter().all(|own| own.value != given.value) {
                        normal.push(given);
                    }
                }
                match normal.is_empty() {
                    // A list without elements would not be stored in the other form.
                    true => Err(Wrong::NotOne),
                    false => Ok(Held::Many(normal)),
                }
            }
        }
    }

    /// One value as it is to be stored and searched by.
    pub(super) fn normal_one(&self, units: &Units, given: &Given) -> Result<Given, Wrong> {
        let value = match (&given.quantity, &self.unit) {
            (None, None) => given.value.clone(),
            (Some(quantity), Some(unit)) => {
                let number = units.convert(quantity.number, &quantity.unit, unit);
                let wrong = || match units.are_of_one_dimension(&quantity.unit, unit) {
                    true => Wrong::NotFinite,
                    false => Wrong::WrongUnit(quantity.unit.clone()),
                };
                Value::Number(number.ok_or_else(wrong)?)
            }
            (Some(quantity), None) => return Err(Wrong::WrongUnit(quantity.unit.clone())),
            (None, Some(_)) => return Err(Wrong::NoUnit),
        };
        let found = value.kind();
        let wrong = Wrong::WrongKind {
            expected: self.kind,
            found,
        };
        let value = value.into_kind(self.kind).ok_or(wrong)?;
        let is_beyond = |bound: &Option<Value>, side| {
            bound
                .as_ref()
                .is_some_and(|bound| value.order(bound) == Some(side))
        };
        if is_beyond(&self.least, std::cmp::Ordering::Less)
            || is_beyond(&self.most, std::cmp::Ordering::Greater)
        {
            return Err(Wrong::OutOfRange);
        }
        let is_choice = |choice: &Value| value.order(choice) == Some(std::cmp::Ordering::Equal);
        if !self.choices.is_empty() && !self.choices.iter().any(is_choice) {
            return Err(Wrong::NoChoice);
        }
        Ok(Given {
            value,
            quantity: given.quantity.clone(),
        })
    }

    /// Brings bounds and choices to the attribute's kind.
    pub(super) fn prepare(&mut self, units: &Units) -> Result<(), &'static str> {
        if !is_name(&self.name) {
            return Err("the name cannot be that of an attribute");
        }
        if let Some(unit) = &self.unit
            && !units.knows(unit)
        {
            return Err("the table of units does not have the attribute's unit");
        }
        let kind = self.kind;
        let bounds = self
            .least
            .iter_mut()
            .chain(&mut self.most)
            .chain(&mut self.choices);
        for bound in bounds {
            let of_kind = bound.clone().into_kind(kind);
            *bound =
                of_kind.ok_or("the attribute's bounds and choices are of another kind than its values")?;
        }
        Ok(())
    }
}

/// Whether an attribute can be called so.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.contains(['.', '\0'])
}
