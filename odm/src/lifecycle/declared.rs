//! What types declare of their values: rules of fields, and where nested documents are.

use std::fmt;

use bson::RawBsonRef;

use super::derived::Deriving;
use super::rule::Rule;
use crate::error::Result;
use crate::model::{ArrayType, Numeric};
use crate::relation::CopyDeclaration;
use crate::relation::Reference;
use crate::schema::RelationDescriptor;

/// What is declared of a type's values. Found through functions, because types may hold themselves.
#[derive(Debug)]
pub enum Declared {
    /// A plain value.
    Nothing,
    /// A value of any type, and so are the fields of documents in it.
    Untyped,
    /// A reference to another document.
    Refers(RelationDescriptor),
    /// A value that is made of the fields beside it.
    Derived(Deriving),
    /// A document with these fields.
    Document {
        /// The fields; those that say nothing may be left out.
        fields: &'static [Declare],
        /// The function that checks the whole.
        check: Option<Check>,
        /// What it is copied from, if it is a copy.
        copy: Option<fn() -> CopyDeclaration>,
        /// Whether one of the fields is there: the variant, by its name.
        is_choice: bool,
    },
    /// An array of such elements.
    Array(Nested),
    /// A document whose names are data, of such values.
    Map(Nested),
    /// A document that names its variant in `tag`; the variant's fields stand in `content`, or beside the tag where
    /// that is empty.
    Variants {
        /// The field that names the variant.
        tag: &'static str,
        /// The field that holds it; empty when it stands beside the tag.
        content: &'static str,
        /// The variants by their stored names.
        variants: &'static [Declare],
    },
}

/// Gives what is declared of a type.
pub(crate) type Nested = fn() -> &'static Declared;

/// A user's function on a stored value: what is wrong with it, if something is.
pub(crate) type Check = fn(RawBsonRef<'_>) -> Result<Option<String>>;

/// One field, or one variant.
pub struct Declare {
    /// The stored name; empty for a flattened field.
    pub name: &'static str,
    nested: Inside,
    /// The field's own rules.
    pub rules: &'static [Rule],
    /// How a tracked document saves it.
    pub save: Save,
}

/// What is declared of a field's type.
enum Inside {
    Of(Nested),
    Is(&'static Declared),
}

/// How a changed field is saved by [`Tracked::save`](crate::Tracked::save).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Save {
    /// By its new value.
    #[default]
    Replace,
    /// What is new at the end of the array is pushed.
    Push,
    /// What is new in the array is added to it as to a set, and what is gone taken out.
    AddToSet,
    /// The difference is added to the number, which keeps to what its type holds.
    Increment(Option<(i64, i64)>),
}

impl Save {
    /// [`Save::Replace`].
    pub const fn replace<T>() -> Save {
        Save::Replace
    }

    /// [`Save::Push`].
    pub const fn push<T: ArrayType>() -> Save {
        Save::Push
    }

    /// [`Save::AddToSet`].
    pub const fn add_to_set<T: ArrayType>() -> Save {
        Save::AddToSet
    }

    /// [`Save::Increment`].
    pub const fn increment<T: Numeric>() -> Save {
        Save::Increment(T::RANGE)
    }

    /// The same for a type that is stored by a codec of its own: nothing is known of what is stored.
    pub const fn by_codec(self) -> Save {
        match self {
            Save::Increment(_) => Save::Increment(None),
            save => save,
        }
    }
}

impl Declared {
    /// Of a plain value.
    pub const fn nothing() -> &'static Declared {
        &Declared::Nothing
    }

    /// A reference.
    pub const fn refers<X: Reference>() -> Declared {
        Declared::Refers(RelationDescriptor::of::<X>())
    }

    /// Whether nothing is said of what is inside of a value.
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(
            self,
            Declared::Nothing | Declared::Untyped | Declared::Refers(_) | Declared::Derived(_)
        )
    }

    /// Whether it is a document of one field, which names its variant.
    pub(crate) const fn is_choice(&self) -> bool {
        matches!(self, Declared::Document { is_choice: true, .. })
    }

    /// A document of these fields.
    pub const fn document(fields: &'static [Declare]) -> Declared {
        Declared::Document {
            fields,
            check: None,
            copy: None,
            is_choice: false,
        }
    }

    /// A document of one of these fields.
    pub const fn choice(fields: &'static [Declare]) -> Declared {
        Declared::Document {
            fields,
            check: None,
            copy: None,
            is_choice: true,
        }
    }

    /// A document of these fields that is checked as a whole.
    pub const fn checked(fields: &'static [Declare], check: Check) -> Declared {
        Declared::Document {
            fields,
            check: Some(check),
            copy: None,
            is_choice: false,
        }
    }

    /// The same as a copy of another model's fields.
    pub const fn copy_of(self, declaration: fn() -> CopyDeclaration) -> Declared {
        match self {
            Declared::Document {
                fields,
                check,
                is_choice,
                ..
            } => Declared::Document {
                fields,
                check,
                copy: Some(declaration),
                is_choice,
            },
            other => other,
        }
    }

    /// A document of one of these variants.
    pub const fn variants(
        tag: &'static str,
        content: &'static str,
        variants: &'static [Declare],
    ) -> Declared {
        Declared::Variants {
            tag,
            content,
            variants,
        }
    }

    /// Whether any value can break a rule.
    pub(crate) fn has_rules(&'static self) -> bool {
        let has_check = |declared: &Declared| matches!(declared, Declared::Document { check: Some(_), .. });
        self.has(&has_check, &|field| !field.rules.is_empty(), &mut Vec::new())
    }

    /// Whether there are arrays that a tracked document saves by their elements.
    pub(crate) fn saves_elements(&'static self) -> bool {
        let by_elements = |field: &Declare| matches!(field.save, Save::Push | Save::AddToSet);
        self.has(&|_| false, &by_elements, &mut Vec::new())
    }

    /// Whether one of these is there, the type itself and what is in it, or one of these fields.
    fn has(
        &'static self,
        is_type: &dyn Fn(&Declared) -> bool,
        is_field: &dyn Fn(&Declare) -> bool,
        seen: &mut Vec<*const Declared>,
    ) -> bool {
        if seen.contains(&std::ptr::from_ref(self)) {
            return false;
        }
        seen.push(self);
        let mut inside = |nested: &'static Declared| nested.has(is_type, is_field, seen);
        is_type(self)
            || match self {
                Declared::Nothing | Declared::Untyped | Declared::Refers(_) | Declared::Derived(_) => false,
                Declared::Document { fields, .. } => fields
                    .iter()
                    .any(|field| is_field(field) || inside(field.nested())),
                Declared::Array(inner) | Declared::Map(inner) => inside(inner()),
                Declared::Variants { variants, .. } => {
                    variants.iter().any(|variant| inside(variant.nested()))
                }
            }
    }
}

impl Declare {
    /// A field of a type that declares something.
    pub const fn new(name: &'static str, nested: Nested) -> Declare {
        Declare {
            name,
            nested: Inside::Of(nested),
            rules: &[],
            save: Save::Replace,
        }
    }

    /// A variant with fields of its own.
    pub const fn variant(name: &'static str, nested: &'static Declared) -> Declare {
        Declare {
            name,
            nested: Inside::Is(nested),
            rules: &[],
            save: Save::Replace,
        }
    }

    /// What is declared of the field's type.
    pub fn nested(&self) -> &'static Declared {
        match &self.nested {
            Inside::Of(nested) => nested(),
            Inside::Is(nested) => nested,
        }
    }

    /// A field of which only its own rules are known.
    pub const fn value(name: &'static str) -> Declare {
        Declare::variant(name, Declared::nothing())
    }

    /// With these rules.
    pub const fn rules(mut self, rules: &'static [Rule]) -> Declare {
        self.rules = rules;
        self
    }

    /// Saved so.
    pub const fn save(mut self, save: Save) -> Declare {
        self.save = save;
        self
    }
}

impl fmt::Debug for Declare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declare")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .finish()
    }
}
