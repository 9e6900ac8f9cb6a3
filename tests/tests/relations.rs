//! What references are as types, and what models say of theirs.

#![deny(missing_docs, missing_debug_implementations, unreachable_pub, unused)]

use std::collections::{BTreeMap, HashSet};

use odm::bson::{doc, serialize_to_document};
use odm::{Db, DbRef, Embedded, Id, Model, Ref, Reference, RelationKind, model_graph};
use serde::{Deserialize, Serialize};

/// Refers to [`B`], which refers back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "as")]
pub struct A {
    /// The id.
    #[serde(rename = "_id")]
    pub id: Id<A>,
    /// One.
    pub b: Ref<B>,
    /// Itself.
    #[odm(inverse = by_parent)]
    pub parent: Option<Ref<A>>,
    /// By another field.
    pub by_code: Vec<Ref<B, BCode>>,
    /// In embedded documents.
    pub parts: Vec<Part>,
    /// No reference.
    pub name: String,
}

/// Refers back to [`A`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct B {
    /// The id.
    #[serde(rename = "_id")]
    pub id: i32,
    /// A key for references.
    #[odm(unique, key = BCode)]
    #[serde(rename = "theCode")]
    pub code: String,
    /// Back.
    #[odm(inverse(one = of_a))]
    pub a: Option<Ref<A>>,
    /// By name.
    pub named: BTreeMap<String, Ref<C>>,
    /// Several models.
    pub any: Option<Either>,
    /// Any model.
    pub thing: Option<DbRef>,
}

/// Is stored with a codec of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "cs")]
pub struct C {
    /// The id, as hexadecimal digits.
    #[serde(rename = "_id", with = "hex")]
    pub id: u32,
}

/// Embedded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Part {
    /// One.
    pub c: Ref<C>,
}

/// Either of two.
#[derive(Clone, Debug, PartialEq, Reference)]
#[odm(document = EitherModel)]
pub enum Either {
    /// An A.
    A(Ref<A>),
    /// A C.
    C(Ref<C>),
}

mod hex {
    use super::*;

    pub(super) fn serialize<S: serde::Serializer>(id: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{id:x}"))
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
    }
}

fn a(b: i32) -> A {
    A {
        id: Id::new(),
        b: Ref::new(b),
        parent: None,
        by_code: Vec::new(),
        parts: Vec::new(),
        name: "a".to_owned(),
    }
}

#[test]
fn a_reference_is_as_its_key_is() {
    fn copy<T: Copy>() {}
    copy::<Ref<A>>();
    copy::<Ref<B>>();
    let [one, two] = [1, 2].map(Ref::<B>::new);
    assert!(one < two && one == Ref::from(1) && one.to_string() == "1");
    assert_eq!(format!("{one:?}"), "Ref(1)");
    assert_eq!(HashSet::from([one, two, one]).len(), 2);
    let code: Ref<B, BCode> = "x".to_owned().into();
    assert_eq!(
        (code.key().as_str(), code.clone().into_key()),
        ("x", "x".to_owned())
    );
    let a = a(1);
    assert!(Ref::to(&a).is(&a) && Ref::<A>::from(a.id) == Ref::from(&a));
}

#[test]
fn a_reference_is_stored_as_the_key_is_with_its_codec() {
    let mut a = a(7);
    a.parts.push(Part { c: Ref::new(255) });
    a.by_code.push("x".to_owned().into());
    let stored = serialize_to_document(&a).unwrap();
    assert_eq!(stored.get_i32("b").unwrap(), 7);
    assert_eq!(stored.get_array("by_code").unwrap()[0].as_str(), Some("x"));
    assert_eq!(
        stored.get_array("parts").unwrap()[0].as_document(),
        Some(&doc! { "c": "ff" })
    );
    assert_eq!(odm::bson::deserialize_from_document::<A>(stored).unwrap(), a);
    let either = Either::C(Ref::new(255));
    let stored = serialize_to_document(&either).unwrap();
    assert_eq!(stored, doc! { "$ref": "cs", "$id": "ff" });
    assert_eq!(
        odm::bson::deserialize_from_document::<Either>(stored).unwrap(),
        either
    );
    let reference = DbRef::to(&C { id: 16 });
    let stored = serialize_to_document(&reference).unwrap();
    assert_eq!(stored, doc! { "$ref": "cs", "$id": "10" });
    assert_eq!(
        odm::bson::deserialize_from_document::<DbRef<C>>(stored).unwrap(),
        reference
    );
    let strange = doc! { "$ref": "others", "$id": 1 };
    assert!(odm::bson::deserialize_from_document::<Either>(strange).is_err());
}

#[test]
fn a_model_knows_its_relations() {
    let names: Vec<_> = A::DESCRIPTOR
        .relations()
        .map(|relation| (relation.field, relation.relation.kind))
        .collect();
    let expected = [
        ("b", RelationKind::One),
        ("parent", RelationKind::One),
        ("by_code", RelationKind::Many),
        ("parts.c", RelationKind::Many),
    ];
    assert_eq!(names, expected);
    let by: Vec<_> = A::DESCRIPTOR
        .relations()
        .map(|relation| (relation.relation.by)())
        .collect();
    assert_eq!(by, ["_id", "_id", "theCode", "_id"]);
    let inverses: Vec<_> = model_graph::<A>()
        .iter()
        .filter_map(|relation| {
            relation
                .relation
                .inverse
                .map(|inverse| (relation.model.name, inverse.name, inverse.one))
        })
        .collect();
    assert_eq!(inverses, [("A", "by_parent", false), ("B", "of_a", true)]);
    let targets: Vec<_> = model_graph::<A>()
        .iter()
        .map(|relation| {
            let targets: Vec<_> = (relation.relation.targets)()
                .iter()
                .map(|target| target.name)
                .collect();
            format!(
                "{}.{} -> {}",
                relation.model.name,
                relation.field,
                targets.join("|")
            )
        })
        .collect();
    let expected = [
        "A.b -> B",
        "A.parent -> A",
        "A.by_code -> B",
        "A.parts.c -> C",
        "B.a -> A",
        "B.named -> C",
        "B.any -> A|C",
        "B.thing -> ",
    ];
    assert_eq!(targets, expected);
}

#[tokio::test]
async fn models_that_refer_to_each_other_are_loaded() {
    let db = Db::open("memory:").await.unwrap();
    let first = a(1);
    let mut child = a(1);
    child.parent = Some(Ref::to(&first));
    child.parts.push(Part { c: Ref::new(255) });
    let b = B {
        id: 1,
        code: "one".to_owned(),
        a: Some(Ref::to(&first)),
        named: BTreeMap::from([("c".to_owned(), Ref::new(255))]),
        any: Some(Either::C(Ref::new(255))),
        thing: None,
    };
    db.collection::<A>().insert_many([&first, &child]).await.unwrap();
    db.collection::<B>().insert(&b).await.unwrap();
    db.collection::<C>().insert(C { id: 255 }).await.unwrap();
    let found = db
        .collection::<A>()
        .get(child.id)
        .load(|a| a.b.load(|b| (b.named, b.any)))
        .load(|a| a.parent.with((A::by_parent(), B::of_a())))
        .load(|a| a.parts.every(|part| part.c))
        .required()
        .await
        .unwrap();
    let (_, loaded, parent, parts) = found;
    let (loaded, (named, any)) = loaded.unwrap();
    assert_eq!((&loaded, &named["c"]), (&b, &Some(C { id: 255 })));
    assert!(matches!(any, Some(EitherModel::C(C { id: 255 }))));
    let (parent, (children, of_a)) = parent.unwrap();
    assert_eq!((parent, children, of_a), (first, vec![child], Some(b)));
    assert_eq!(parts, [Some(C { id: 255 })]);
}

#[test]
fn futures_and_relations_cross_threads() {
    fn sent<T: Send + 'static>(_: T) {}
    let db = Db::open("memory:");
    sent(async {
        let db = db.await?;
        let all = db.collection::<A>();
        let mut stream = all.find_all().load(|a| (a.b, a.by_code)).stream();
        stream.try_next().await?;
        all.find_all().join(|a| a.b).join(|a| a.by_code).await?;
        all.get(Id::new())
            .load(|a| a.b)
            .with(A::by_parent().limit(1))
            .await
    });
}
