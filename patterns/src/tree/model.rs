//! The five ways to store a tree, as types: what one of them cannot do does not compile.

use super::layout::Shape;

/// How a tree is stored: [`ParentReference`], [`ChildReference`], [`ArrayOfAncestors`], [`MaterializedPaths`] or
/// [`NestedSets`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no way to store a tree",
    label = "expected a model of trees",
    note = "choose `ParentReference`, `ChildReference`, `ArrayOfAncestors`, `MaterializedPaths` or `NestedSets` of `odm_patterns::tree`"
)]
pub trait TreeModel: sealed::Stored {}

/// A tree whose siblings stand in an order of their own, so that nodes can be put at a place among them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` keeps no order of siblings",
    label = "siblings have no places in this model",
    note = "use it with `Positioned` (the default), or `ChildReference` or `NestedSets`, which always keep an order"
)]
pub trait KeepsOrder: TreeModel {}

/// A tree whose nodes hold the way from the root as text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` stores no paths",
    label = "no paths in this model",
    note = "`MaterializedPaths` does"
)]
pub trait StoresPaths: TreeModel {}

/// A tree whose nodes hold numbers that enclose those of their descendants.
#[diagnostic::on_unimplemented(
    message = "`{Self}` stores no intervals",
    label = "no intervals in this model",
    note = "`NestedSets` does"
)]
pub trait StoresIntervals: TreeModel {}

/// Whether siblings keep an order of their own: [`Positioned`] or [`ByKey`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how siblings are placed",
    label = "not an order of siblings",
    note = "`Positioned` and `ByKey` do"
)]
pub trait SiblingPlaces: sealed::Places {}

/// Siblings have places: a field `position` beside the fields of the manual.
#[derive(Clone, Copy, Debug)]
pub struct Positioned;

/// Siblings have no places: they come in the order of the option
/// [`sort_key`](super::TreeOptions::sort_key), or of `_id`. Stores exactly the fields of the manual.
#[derive(Clone, Copy, Debug)]
pub struct ByKey;

impl SiblingPlaces for Positioned {}
impl SiblingPlaces for ByKey {}

/// Each node holds the `_id` of its parent: `{_id: "MongoDB", parent: "Databases"}`, null for a root.
#[derive(Clone, Copy, Debug)]
pub struct ParentReference<P = Positioned>(std::marker::PhantomData<P>);

/// Each node holds the `_id`s of its children, in order: `{_id: "Databases", children: ["MongoDB", "dbm"]}`.
///
/// The roots, which nothing refers to, are listed in the tree's state document.
#[derive(Clone, Copy, Debug)]
pub struct ChildReference;

/// Each node holds the `_id`s of its ancestors, the root first, and its parent's:
/// `{_id: "MongoDB", ancestors: ["Books", "Programming", "Databases"], parent: "Databases"}`.
#[derive(Clone, Copy, Debug)]
pub struct ArrayOfAncestors<P = Positioned>(std::marker::PhantomData<P>);

/// Each node holds the `_id`s of its ancestors as text: `{_id: "MongoDB", path: ",Books,Programming,Databases,"}`, null
/// for a root; and its parent's `_id`. See [`PathStyle`](super::PathStyle) for the other forms.
#[derive(Clone, Copy, Debug)]
pub struct MaterializedPaths<P = Positioned>(std::marker::PhantomData<P>);

/// Each node holds two numbers, between which lie those of its descendants, and its parent's `_id`:
/// `{_id: "Databases", parent: "Programming", left: 5, right: 10}`.
#[derive(Clone, Copy, Debug)]
pub struct NestedSets;

impl<P: SiblingPlaces> TreeModel for ParentReference<P> {}
impl TreeModel for ChildReference {}
impl<P: SiblingPlaces> TreeModel for ArrayOfAncestors<P> {}
impl<P: SiblingPlaces> TreeModel for MaterializedPaths<P> {}
impl TreeModel for NestedSets {}

impl KeepsOrder for ParentReference<Positioned> {}
impl KeepsOrder for ChildReference {}
impl KeepsOrder for ArrayOfAncestors<Positioned> {}
impl KeepsOrder for MaterializedPaths<Positioned> {}
impl KeepsOrder for NestedSets {}

impl<P: SiblingPlaces> StoresPaths for MaterializedPaths<P> {}
impl StoresIntervals for NestedSets {}

pub(super) mod sealed {
    use super::{Shape, TreeModel};

    pub trait Stored: Send + Sync + 'static {
        #[doc(hidden)]
        #[expect(private_interfaces, reason = "only this module implements the trait")]
        const SHAPE: Shape;
        /// Whether a field of its own holds the place among the siblings.
        #[doc(hidden)]
        const POSITIONED: bool;
    }

    pub trait Places: Send + Sync + 'static {
        #[doc(hidden)]
        const POSITIONED: bool;
    }

    impl Places for super::Positioned {
        const POSITIONED: bool = true;
    }

    impl Places for super::ByKey {
        const POSITIONED: bool = false;
    }

    macro_rules! stored {
        ($($model:ident: $shape:ident),*) => {$(
            #[expect(private_interfaces, reason = "only this module implements the trait")]
            impl<P: super::SiblingPlaces> Stored for super::$model<P> {
                const SHAPE: Shape = Shape::$shape;
                const POSITIONED: bool = P::POSITIONED;
            }
        )*};
    }

    stored!(ParentReference: Parent, ArrayOfAncestors: Ancestors, MaterializedPaths: Paths);

    #[expect(private_interfaces, reason = "only this module implements the trait")]
    impl Stored for super::ChildReference {
        const SHAPE: Shape = Shape::Children;
        const POSITIONED: bool = false;
    }

    #[expect(private_interfaces, reason = "only this module implements the trait")]
    impl Stored for super::NestedSets {
        const SHAPE: Shape = Shape::Nested;
        const POSITIONED: bool = false;
    }

    pub(in super::super) fn shape_of<S: TreeModel>() -> (Shape, bool) {
        (S::SHAPE, S::POSITIONED)
    }
}
