//! What is declared of the value at a path.

use super::declared::{Declare, Declared, Save};
use super::rule::Rule;

/// What is declared of the value that an update's path leads to.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) rules: Vec<&'static Rule>,
    pub(crate) nested: &'static Declared,
    pub(crate) save: Save,
    /// Whether the path goes through an element that is known only to the database: `$`, `$[]`, `$[name]`.
    pub(crate) is_positional: bool,
    /// The bound of the array whose element this is, and the element's position.
    pub(crate) element_of: Option<(u32, usize)>,
}

impl Place {
    pub(crate) fn root(declared: &'static Declared) -> Place {
        Place {
            rules: Vec::new(),
            nested: declared,
            save: Save::Replace,
            is_positional: false,
            element_of: None,
        }
    }

    /// The place at a dotted path below the root; nothing where nothing is declared.
    pub(crate) fn find(declared: &'static Declared, path: &str) -> Option<Place> {
        path.split('.')
            .try_fold(Place::root(declared), |place, segment| place.step(segment))
    }

    /// The elements of this array.
    pub(crate) fn element(&self) -> Place {
        self.inner(true)
    }

    /// How many elements the array may have.
    pub(crate) fn bound(&self) -> Option<u32> {
        let bounds = self.rules.iter().filter_map(|rule| match rule {
            Rule::MaxItems(bound) => Some(*bound),
            _ => None,
        });
        bounds.min()
    }

    fn step(self, segment: &str) -> Option<Place> {
        let position = segment.parse::<usize>().ok();
        let is_element = position.is_some() || segment.starts_with('$');
        let is_array = matches!(self.nested, Declared::Array(_))
            || self
                .rules
                .iter()
                .any(|rule| matches!(rule, Rule::Each(_) | Rule::MaxItems(_) | Rule::MinItems(_)));
        if is_array && is_element {
            let mut place = self.inner(true);
            place.is_positional = self.is_positional || position.is_none();
            place.element_of = self.bound().zip(position);
            return Some(place);
        }
        if let Some(field) = field(self.nested, segment) {
            return Some(Place {
                rules: field.rules.iter().collect(),
                nested: field.nested(),
                save: field.save,
                is_positional: self.is_positional,
                element_of: None,
            });
        }
        let is_map = matches!(self.nested, Declared::Map(_))
            || self.rules.iter().any(|rule| matches!(rule, Rule::Values(_)));
        is_map.then(|| Place {
            is_positional: self.is_positional,
            ..self.inner(false)
        })
    }

    fn inner(&self, element: bool) -> Place {
        let mut inner = Place::root(match (self.nested, element) {
            (Declared::Array(inner), true) | (Declared::Map(inner), false) => inner(),
            _ => Declared::nothing(),
        });
        inner.rules = self
            .rules
            .iter()
            .flat_map(|rule| match (rule, element) {
                (Rule::Each(rules), true) | (Rule::Values(rules), false) => *rules,
                _ => &[],
            })
            .collect();
        inner
    }
}

/// What is declared of a field of a document, or of the values of a map.
pub(super) fn inside(declared: &'static Declared, name: &str) -> &'static Declared {
    match declared {
        Declared::Map(inner) => inner(),
        declared => field(declared, name).map_or(Declared::nothing(), Declare::nested),
    }
}

fn field(declared: &'static Declared, name: &str) -> Option<&'static Declare> {
    match declared {
        Declared::Document { fields, .. } => {
            let own = fields.iter().find(|field| field.name == name);
            own.or_else(|| {
                let mut flattened = fields.iter().filter(|field| field.name.is_empty());
                flattened.find_map(|flattened| field(flattened.nested(), name))
            })
        }
        Declared::Variants {
            content: "",
            variants,
            ..
        } => variants.iter().find_map(|variant| field(variant.nested(), name)),
        _ => None,
    }
}
