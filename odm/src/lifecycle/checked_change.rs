//! One change of an update against the rules of what it changes.

use bson::{RawBson, RawDocumentBuf};

use super::condition::{Added, Condition, Must};
use super::place::Place;
use super::rule::Rule;
use super::sum::Sum;
use super::taken::Taken;
use super::validator::Validator;
use super::violation::Message;
use crate::error::{Error, ErrorKind, Result};
use crate::query::update::Action;

/// A change that is held against what is declared of its value.
pub(super) struct CheckedChange<'a> {
    pub(super) action: &'a Action,
    pub(super) added: Option<Added>,
    pub(super) taken: Option<Taken>,
    pub(super) path: &'a str,
    /// The write's filter.
    pub(super) filter: &'a RawDocumentBuf,
    pub(super) array_filters: &'a [RawDocumentBuf],
}

impl CheckedChange<'_> {
    /// Holds it against all places that its path may lead to.
    pub(super) fn check_at(
        &self,
        places: &[Place],
        validator: &mut Validator,
        conditions: &mut Vec<Condition>,
    ) -> Result<()> {
        match places {
            [] => Ok(()),
            [place] => self.check(place, validator, conditions),
            places => {
                conditions.extend(self.check_any(places, validator)?);
                Ok(())
            }
        }
    }

    /// Of a path that leads to one of several places, nobody knows which: what is wrong at each of them is wrong. Gives
    /// what must hold for one of them.
    fn check_any(&self, places: &[Place], validator: &mut Validator) -> Result<Option<Condition>> {
        let (mut allowed, mut first, mut failed) = (Vec::new(), None, None);
        for place in places {
            let (mut own, mut conditions) = (validator.beside(), Vec::new());
            if let Err(error) = self.check(place, &mut own, &mut conditions) {
                failed.get_or_insert(error);
                continue;
            }
            let violations = own.into_violations();
            match (violations.is_empty(), conditions.is_empty()) {
                (true, true) => return Ok(None),
                (true, false) => allowed.push(conditions),
                (false, _) => {
                    first.get_or_insert(violations);
                }
            }
        }
        match (failed, allowed.is_empty(), first) {
            (Some(error), ..) => Err(error),
            (None, false, _) => Ok(Some(Condition {
                path: self.path.to_owned(),
                must: Must::MeetOne(allowed),
            })),
            (None, true, violations) => {
                validator.take(violations.unwrap_or_default());
                Ok(None)
            }
        }
    }

    fn check(&self, place: &Place, validator: &mut Validator, conditions: &mut Vec<Condition>) -> Result<()> {
        validator.at(self.path);
        if let Some((bound, position)) = place.element_of
            && position >= bound as usize
        {
            validator.found(Message {
                rule: "max_items",
                text: format!("is beyond the {bound} elements that its array may have").into(),
            });
        }
        match self.action {
            Action::Set(value)
            | Action::SetOnInsert(value)
            | Action::Minimum(value)
            | Action::Maximum(value) => {
                validator.value(place.rules.iter().copied(), place.nested, value.as_raw_bson_ref())
            }
            Action::Increment(step) => {
                for rule in &place.rules {
                    if let (Rule::Finite { .. }, Some(message)) = (rule, rule.broken(step.as_raw_bson_ref())?)
                    {
                        validator.found(message);
                    }
                    if let Some(sum) = Sum::of(rule, step, self.path, self.filter, self.array_filters)? {
                        conditions.push(Condition {
                            path: self.path.to_owned(),
                            must: Must::Keep(sum),
                        });
                    }
                }
                Ok(())
            }
            _ => {
                if let Some(taken) = &self.taken {
                    self.check_taken(place, taken, conditions);
                }
                match &self.added {
                    Some(added) => self.check_added(place, added, validator, conditions),
                    None => Ok(()),
                }
            }
        }
    }

    /// In an element that only the database knows, nobody can say what would be left.
    fn check_taken(&self, place: &Place, taken: &Taken, conditions: &mut Vec<Condition>) {
        if let Some(least) = place.least()
            && !place.is_positional
        {
            conditions.push(Condition {
                path: self.path.to_owned(),
                must: Must::Leave {
                    least,
                    taken: taken.clone(),
                },
            });
        }
    }

    fn check_added(
        &self,
        place: &Place,
        added: &Added,
        validator: &mut Validator,
        conditions: &mut Vec<Condition>,
    ) -> Result<()> {
        let element = place.element();
        let check = |validator: &mut Validator, value: &RawBson| {
            validator.value(
                element.rules.iter().copied(),
                element.nested,
                value.as_raw_bson_ref(),
            )
        };
        match added.elements.as_slice() {
            [only] => check(validator, only)?,
            several => {
                for (place, value) in several.iter().enumerate() {
                    validator.within(&place.to_string(), |validator| check(validator, value))?;
                }
            }
        }
        if let Some(least) = place.least() {
            self.check_least(place, least, added, validator, conditions);
        }
        let Some(bound) = place.bound() else { return Ok(()) };
        let full = |more: usize| Message {
            rule: "max_items",
            text: format!("must have at most {bound} elements, and is given {more}").into(),
        };
        match added.slice {
            Some(slice) if slice.unsigned_abs() <= bound.into() => return Ok(()),
            Some(slice) => {
                validator.found(full(usize::try_from(slice.unsigned_abs()).unwrap_or(usize::MAX)));
                return Ok(());
            }
            None => {}
        }
        if added.elements.is_empty() {
            return Ok(());
        }
        if added.elements.len() > bound as usize && !added.as_set {
            validator.found(full(added.elements.len()));
            return Ok(());
        }
        if place.is_positional {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a bounded array inside an element that only the database knows can be pushed to only with a slice \
                 within the bound",
            )
            .with_path(self.path));
        }
        let must = match added.as_set {
            true => Must::HaveRoomFor {
                bound,
                elements: added.elements.clone(),
            },
            false => Must::HaveRoom {
                bound,
                more: added.elements.len(),
            },
        };
        conditions.push(Condition {
            path: self.path.to_owned(),
            must,
        });
        Ok(())
    }

    /// That neither a slice nor an array that is made of what is added has too few elements.
    fn check_least(
        &self,
        place: &Place,
        least: u32,
        added: &Added,
        validator: &mut Validator,
        conditions: &mut Vec<Condition>,
    ) {
        if let Some(slice) = added.slice
            && slice.unsigned_abs() < least.into()
        {
            validator.found(Message {
                rule: "length",
                text: format!(
                    "must have at least {least} elements, and is cut to {}",
                    slice.unsigned_abs()
                )
                .into(),
            });
            return;
        }
        let given = match added.as_set {
            true => {
                let earlier = |at: usize| added.elements.iter().take(at);
                let elements = added.elements.iter().enumerate();
                let distinct = elements.filter(|(at, element)| !earlier(*at).any(|one| one == *element));
                distinct.count()
            }
            false => added.elements.len(),
        };
        if (1..least as usize).contains(&given) && !place.is_positional {
            conditions.push(Condition {
                path: self.path.to_owned(),
                must: Must::BeThere { least, given },
            });
        }
    }
}
