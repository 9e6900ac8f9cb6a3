//! Conditions on related documents: whose keys they are, when keys are the same, and how many there can be.

use bson::{Bson, Document, doc};
use odm::{Collection, CollectionDeclaration, Db, ErrorKind, Filter, Model, Ref, RelatedFilter};
use serde::{Deserialize, Serialize};

use super::related_filters::{Maker, Tool, ids, maker, tool, tools};

crate::on_every_backend! {
    each_kind_is_asked_alone,
    strings_are_the_same_by_their_bytes,
    numbers_are_the_same_whatever_their_type,
    keys_that_look_like_operators_are_compared,
    only_keys_that_are_referred_to_must_fit_a_filter,
    more_keys_than_a_page_of_them,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "cat")]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = of_friend)]
    friend: Option<Ref<Dog>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "dog")]
struct Dog {
    #[serde(rename = "_id")]
    id: i32,
    friend: Option<Ref<Dog>>,
}

async fn each_kind_is_asked_alone(db: &Db) {
    let (cats, dogs) = (db.collection::<Cat>(), db.collection::<Dog>());
    let friend = |id: i32| Some(Ref::new(id));
    cats.insert_many([1, 2].map(|id| Cat {
        id,
        friend: friend(id + 1),
    }))
    .await
    .unwrap();
    dogs.insert_many([3, 4].map(|id| Dog {
        id,
        friend: friend(2 * id - 2),
    }))
    .await
    .unwrap();
    // The first cat's friend is a cat, which no reference to a dog is to; the second dog's is nobody.
    assert_eq!(ids(&cats, |c| c.friend.some(|_| Filter::all())).await, [2]);
    assert_eq!(ids(&cats, |c| c.friend.none(|_| Filter::all())).await, [1]);
    assert_eq!(ids(&dogs, |d| d.friend.some(|_| Filter::all())).await, [3]);
    // Only cats refer here, and only dogs are referred to.
    assert_eq!(
        ids(&dogs, |_| Cat::of_friend().some(|_| Filter::all())).await,
        [3]
    );
}

fn caseless() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! { "locale": "en", "strength": 2 })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "words")]
struct Word {
    #[serde(rename = "_id")]
    id: String,
    rank: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "uses", options = caseless)]
struct Use {
    #[serde(rename = "_id")]
    id: String,
    #[odm(inverse = of_word)]
    word: Option<Ref<Word>>,
    #[odm(inverse = of_words)]
    words: Vec<Ref<Word>>,
    #[odm(inverse = of_use)]
    other: Option<Ref<Use>>,
}

async fn strings_are_the_same_by_their_bytes(db: &Db) {
    let (words, uses) = (db.collection::<Word>(), db.collection::<Use>());
    uses.create_declared().await.unwrap();
    let made = [("en", 1), ("EN", 2)].map(|(id, rank)| Word { id: id.into(), rank });
    words.insert_many(made).await.unwrap();
    let word = |id: &str| Ref::<Word>::new(id.to_owned());
    let make = |id: &str, of: Option<&str>, all: &[&str], other: Option<&str>| Use {
        id: id.into(),
        word: of.map(word),
        words: all.iter().map(|id| word(id)).collect(),
        other: other.map(|id| Ref::new(id.to_owned())),
    };
    uses.insert_many([
        make("a", Some("en"), &["EN"], Some("B")),
        make("b", Some("EN"), &["en", "EN"], Some("a")),
        make("c", Some("En"), &[], None),
    ])
    .await
    .unwrap();
    let found = async |condition: RelatedFilter<Use>| {
        let mut found: Vec<String> = uses
            .whose(|_| condition)
            .find_all()
            .await
            .unwrap()
            .into_iter()
            .map(|found| found.id)
            .collect();
        found.sort();
        found
    };
    let u = Use::fields();
    assert_eq!(found(u.word.some(|w| w.rank.eq(1))).await, ["a"]);
    assert_eq!(found(u.word.none(|w| w.rank.eq(1))).await, ["b", "c"]);
    assert_eq!(found(u.word.none(|_| Filter::all())).await, ["c"]);
    assert_eq!(found(u.words.all(|w| w.rank.eq(2))).await, ["a", "c"]);
    // A reference to "B" is not to "b".
    assert_eq!(found(u.other.some(|_| Filter::all())).await, ["b"]);
    assert_eq!(found(Use::of_use().some(|_| Filter::all())).await, ["a"]);
    assert_eq!(found(Use::of_use().none(|_| Filter::all())).await, ["b", "c"]);
    // The condition compares as a find of its collection does.
    assert_eq!(found(u.other.some(|o| o.id.eq("A"))).await, ["b"]);
    let referred = async |condition: RelatedFilter<Word>| {
        let mut found: Vec<i32> = words
            .whose(|_| condition)
            .find_all()
            .await
            .unwrap()
            .iter()
            .map(|found| found.rank)
            .collect();
        found.sort_unstable();
        found
    };
    assert_eq!(referred(Use::of_word().some(|u| u.id.eq("A"))).await, [1]);
    assert_eq!(referred(Use::of_words().some(|u| u.id.eq("a"))).await, [2]);
    assert_eq!(
        referred(Use::of_word().none(|_| Filter::all())).await,
        Vec::<i32>::new()
    );
    // A collation of the action alone.
    let caseless = doc! { "locale": "en", "strength": 2 };
    let bytes = uses
        .whose(|u| u.word.some(|w| w.rank.eq(1)))
        .find_all()
        .collation(doc! { "locale": "simple" });
    assert_eq!(bytes.await.unwrap().len(), 1);
    let own = uses
        .whose(|u| u.word.some(|w| w.rank.eq(1)))
        .find_all()
        .collation(caseless.clone());
    assert_eq!(own.await.unwrap().len(), 1);
    let stated = words
        .whose(|_| Use::of_word().some(|u| u.id.eq("A")))
        .find_all()
        .collation(caseless);
    assert_eq!(stated.await.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

async fn numbers_are_the_same_whatever_their_type(db: &Db) {
    tools(db).await;
    let raw = db.raw_collection("tools");
    raw.insert_many([
        doc! { "_id": 11, "price": 1, "maker": 1_i64, "others": [2.0] },
        doc! { "_id": 12, "price": 1, "maker": 3.0, "others": [1.5] },
    ])
    .await
    .unwrap();
    let tools = db.collection::<Tool>();
    let oslo = tools
        .whose(|t| t.maker.some(|m| m.city.eq("Oslo")))
        .await
        .unwrap();
    assert_eq!(raw.count(oslo.to_document().unwrap()).await.unwrap(), 3);
    let makers = db.collection::<Maker>();
    assert_eq!(
        ids(&makers, |_| Tool::by_maker().some(|t| t.price.eq(1))).await,
        [1, 3]
    );
    assert_eq!(
        ids(&makers, |_| Tool::by_other().some(|t| t.price.eq(1))).await,
        [2]
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "marks")]
struct Mark {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique, key = MarkSign)]
    sign: Bson,
    good: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "seals")]
struct Seal {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = of_mark)]
    mark: Ref<Mark, MarkSign>,
}

async fn keys_that_look_like_operators_are_compared(db: &Db) {
    let signs: Vec<Bson> = vec![
        doc! { "$gt": 0 }.into(),
        bson::Regex {
            pattern: "^a".try_into().unwrap(),
            options: "".try_into().unwrap(),
        }
        .into(),
        "$a".into(),
        "".into(),
        doc! { "a": 1 }.into(),
        true.into(),
    ];
    let raw: Collection<Document> = db.raw_collection("seals");
    raw.insert(doc! { "_id": 90, "mark": "abc" }).await.unwrap();
    for (id, sign) in (0..).zip(&signs) {
        let mark = db.raw_collection("marks");
        if mark
            .insert(doc! { "_id": id, "sign": sign.clone(), "good": true })
            .await
            .is_ok()
        {
            raw.insert(doc! { "_id": id, "mark": sign.clone() })
                .await
                .unwrap();
        }
    }
    let seals = db.collection::<Seal>();
    let good = seals.whose(|s| s.mark.some(|m| m.good.eq(true))).await.unwrap();
    let good = raw.find(good.to_document().unwrap()).await.unwrap();
    assert_eq!(good.len() as u64 + 1, raw.count(doc! {}).await.unwrap());
    assert!(good.len() > 4);
    let none = seals.whose(|s| s.mark.none(|_| Filter::all())).await.unwrap();
    assert_eq!(raw.count(none.to_document().unwrap()).await.unwrap(), 1);
    let marks = db.collection::<Mark>();
    let sealed = marks
        .whose(|_| Seal::of_mark().some(|_| Filter::all()))
        .await
        .unwrap();
    assert_eq!(
        marks.raw().count(sealed.to_document().unwrap()).await.unwrap(),
        good.len() as u64
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "giants")]
struct Giant {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique, key = GiantName)]
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "boots")]
struct Boot {
    #[serde(rename = "_id")]
    id: i32,
    giant: Ref<Giant, GiantName>,
}

/// Twenty names of a million letters are more than a filter holds.
async fn only_keys_that_are_referred_to_must_fit_a_filter(db: &Db) {
    let name = |id: i32| format!("{id:04}").repeat(250_000);
    let (giants, boots) = (db.collection::<Giant>(), db.collection::<Boot>());
    for id in 0..20 {
        giants.insert(Giant { id, name: name(id) }).await.unwrap();
    }
    for id in [3, 7, 99] {
        boots
            .insert(Boot {
                id,
                giant: Ref::keyed(name(id)),
            })
            .await
            .unwrap();
    }
    assert_eq!(ids(&boots, |b| b.giant.some(|g| g.id.lt(18))).await, [3, 7]);
    assert_eq!(ids(&boots, |b| b.giant.none(|g| g.id.lt(18))).await, [99]);
    for id in (0..20).filter(|id| ![3, 7].contains(id)) {
        boots
            .insert(Boot {
                id,
                giant: Ref::keyed(name(id)),
            })
            .await
            .unwrap();
    }
    let error = boots
        .whose(|b| b.giant.some(|g| g.id.lt(18)))
        .find_all()
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("giant"))
    );
}

async fn more_keys_than_a_page_of_them(db: &Db) {
    let (tools, makers) = (db.collection::<Tool>(), db.collection::<Maker>());
    makers
        .insert_many((0..60_000).map(|id| maker(id, "Oslo")))
        .await
        .unwrap();
    tools
        .insert_many((0..10).map(|id| tool(id, id, Some(id * 7_000), &[])))
        .await
        .unwrap();
    assert_eq!(
        ids(&tools, |t| t.maker.some(|m| m.city.eq("Oslo"))).await,
        (0..9).collect::<Vec<i32>>()
    );
    assert_eq!(ids(&tools, |t| t.maker.none(|m| m.city.eq("Oslo"))).await, [9]);
}
