//! Types with parameters.

use odm::bson::rawdoc;
use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

use super::specs;

#[derive(Debug, Serialize, Deserialize, Model)]
struct Page<K: Clone, T, const N: usize = 2>
where
    T: Default,
{
    #[serde(rename = "_id")]
    id: K,
    first: T,
    #[odm(index)]
    items: Vec<T>,
}

#[derive(Debug, Default, Serialize, Deserialize, Embedded)]
struct Pair<A, B> {
    left: A,
    right: Option<B>,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Either<A, B> {
    Left { value: A },
    Right { value: B },
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Wrapper<T>(T);

type Concrete = Page<i64, Pair<String, i32>>;

#[test]
fn parameters_are_kept() {
    let page = Concrete::fields();
    assert_eq!(page.first.left.path().to_string(), "first.left");
    assert_eq!(page.items.any().right.path().to_string(), "items.right");
    let scope = |page: PageFields<i64, Pair<String, i32>>| page.first.left.eq("x");
    assert_eq!(scope(page).to_document().unwrap(), rawdoc! { "first.left": "x" });
    assert_eq!(specs::<Concrete>()[0].get_str("name").unwrap(), "items_1");
}

#[test]
fn enums_and_newtypes_have_parameters_too() {
    let either = <Either<i32, String> as Embedded>::fields_at::<()>(odm::Path::root());
    let filter = either.left.value.gt(1) & either.right.value.starts_with("a") & either.kind.eq("Left");
    assert!(filter.to_document().is_ok());
    let wrapped = odm::Field::<(), Wrapper<i32>>::new(odm::Path::root());
    assert!(wrapped.path().is_root());
    let _ = (
        Either::<i32, i32>::Left { value: 1 },
        Either::<i32, i32>::Right { value: 1 },
        Wrapper(1),
    );
}
