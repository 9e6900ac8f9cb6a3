//! Who asks for a value, which its visitor's type tells.

use std::any::type_name;

/// The visitor of everything that `bson` decodes by way of its `Bson`. It takes shorter forms than others.
const BSON_VISITOR: &str = "bson::de::serde::BsonVisitor";
/// The visitor of an ObjectId, which takes text and bytes too.
const OBJECT_ID_VISITOR: &str = "bson::de::serde::ObjectIdVisitor";
/// What the visitors end with that serde derives for structs: they take the fields in their order too, without names.
/// Some compilers name lifetimes.
const DERIVED_VISITORS: [&str; 2] = ["::__Visitor<'_>", "::__Visitor"];
/// What is in the names of such visitors for types with parameters, and what is before the first `<` there: whoever wraps
/// one may number what it gets in order.
const DERIVED_VISITOR_OF: &str = "::__Visitor<";
const DERIVED: &str = "::_::<";
/// Serde's visitor of an enum that is tagged inside, which takes arrays by position too.
const TAGGED_VISITOR: &str = "::TaggedContentVisitor<";
/// Where the visitors are that follow the path.
const TRACE: &str = "serde_path_to_error::";

/// Whether the visitor makes a `Bson`.
#[inline]
pub(super) fn is_bson<V>() -> bool {
    type_name::<V>() == BSON_VISITOR
}

/// Whether serde derived the visitor.
#[inline]
pub(super) fn is_derived<V>() -> bool {
    let name = type_name::<V>();
    DERIVED_VISITORS.iter().any(|end| name.ends_with(end))
        || (name
            .split_inclusive('<')
            .next()
            .is_some_and(|start| start.ends_with(DERIVED))
            && name.ends_with('>')
            && name.contains(DERIVED_VISITOR_OF))
}

/// The same, or what follows the path of one.
#[inline]
pub(super) fn makes_bson<V>() -> bool {
    let name = type_name::<V>();
    name == BSON_VISITOR || (name.starts_with(TRACE) && name.contains(BSON_VISITOR))
}

/// Whether the visitor makes an ObjectId, be it in what follows the path.
#[inline]
pub(super) fn makes_object_id<V>() -> bool {
    let name = type_name::<V>();
    name == OBJECT_ID_VISITOR || (name.starts_with(TRACE) && name.contains(OBJECT_ID_VISITOR))
}

/// Whether the visitor is one of `bson`, be it in what follows the path.
#[inline]
pub(super) fn is_of_bson<V>() -> bool {
    type_name::<V>().starts_with("bson::") || makes_bson::<V>()
}

/// Whether the visitor is of an enum that is tagged inside.
#[inline]
pub(super) fn is_tagged<V>() -> bool {
    type_name::<V>().contains(TAGGED_VISITOR)
}

/// Whether the visitor follows the path.
#[inline]
pub(super) fn is_tracing<V>() -> bool {
    type_name::<V>().starts_with(TRACE)
}
