//! Joins that give some for each parent, and relations that are joined as they are loaded.

use bson::doc;
use odm::{CollectionDeclaration, Db, Embedded, ErrorKind, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_join_gives_some_for_each_parent,
    a_join_gives_some_for_each_element_of_a_list,
    a_join_gives_some_for_each_where_parents_share_what_refers,
    a_join_gives_some_for_each_embedded_model,
    a_join_by_another_collation_is_refused,
    a_field_is_loaded_with_what_refers_under_a_glob_import,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Press {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Novel {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, inverse = of_press)]
    press: Ref<Press>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Review {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, inverse = of_novel)]
    novel: Ref<Novel>,
    #[odm(index, inverse = also_of)]
    others: Vec<Ref<Novel>>,
}

async fn shelf(db: &Db) {
    let presses = (0..2).map(|id| Press { id });
    db.collection::<Press>().insert_many(presses).await.unwrap();
    let novels = (0..6).map(|id| Novel {
        id,
        press: Ref::new(id % 2),
    });
    db.collection::<Novel>().insert_many(novels).await.unwrap();
    let reviews = (0..18).map(|id| Review {
        id,
        novel: Ref::new(id % 6),
        others: vec![Ref::new(id % 6), Ref::new((id + 1) % 6), Ref::new((id + 2) % 6)],
    });
    db.collection::<Review>().insert_many(reviews).await.unwrap();
}

async fn a_join_gives_some_for_each_parent(db: &Db) {
    shelf(db).await;
    let presses = || db.collection::<Press>().find_all().sort(|p| p.id.asc());
    macro_rules! same {
        ($($relation:expr;)*) => {$({
            let loaded = presses().with($relation).await.unwrap();
            let joined = presses().join_with($relation).await.unwrap();
            assert_eq!(joined, loaded, "{}", stringify!($relation));
            let joined = presses().join(|_| $relation).join(|_| $relation).await.unwrap();
            let joined: Vec<_> = joined.into_iter().map(|(press, one, two)| {
                assert_eq!(one, two);
                (press, two)
            }).collect();
            assert_eq!(joined, loaded, "{} twice", stringify!($relation));
        })*};
    }
    let novels = || Novel::of_press().sort(|n| n.id.asc());
    let reviews = || Review::of_novel().sort(|r| r.id.desc());
    same! {
        novels().with(reviews());
        novels().with(reviews().limit(1));
        novels().with(reviews().skip(1));
        novels().with(reviews().skip(1).limit(1));
        novels().with(reviews().first());
        novels().with(reviews().filter(|r| r.id.gt(3)).limit(2));
        novels().limit(2).with(reviews());
        novels().skip(1).limit(1).with(reviews().limit(2));
        novels().first().load(|_| Review::of_novel().sort(|r| r.id.desc()).limit(1));
        novels().with((reviews().limit(2), reviews()));
        novels().with((reviews().first(), reviews().load(|r| r.novel)));
        novels().with(reviews().limit(2).load(|r| r.novel));
        novels().with(reviews().limit(2).load(|r| r.novel.with(reviews().skip(2))));
        novels().load(|n| n.press.with(novels().limit(1).with(reviews().first())));
    }
    // One round trip, as for any join.
    let (logged, log) = db.logged();
    let found = logged.collection::<Press>().find_all().sort(|p| p.id.asc());
    let found = found.join_with(novels().with(reviews().limit(1))).await.unwrap();
    assert_eq!(log.round_trips(), 1);
    let newest: Vec<(i32, Vec<i32>)> = found[0]
        .1
        .iter()
        .map(|(novel, reviews)| (novel.id, reviews.iter().map(|review| review.id).collect()))
        .collect();
    assert_eq!(newest, [(0, vec![12]), (2, vec![14]), (4, vec![16])]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    novel: Ref<Novel>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Crate {
    #[serde(rename = "_id")]
    id: i32,
    novels: Vec<Ref<Novel>>,
    lines: Vec<Line>,
    best: Option<Ref<Novel>>,
}

async fn a_join_gives_some_for_each_element_of_a_list(db: &Db) {
    shelf(db).await;
    let list = |ids: &[i32]| ids.iter().map(|id| Ref::new(*id)).collect::<Vec<Ref<Novel>>>();
    let lines = |ids: &[i32]| {
        ids.iter()
            .map(|id| Line { novel: Ref::new(*id) })
            .collect::<Vec<Line>>()
    };
    let crates = db.collection::<Crate>();
    let one = Crate {
        id: 1,
        novels: list(&[0, 1, 2, 0, 99]),
        lines: lines(&[3, 4, 3]),
        best: None,
    };
    let two = Crate {
        id: 2,
        novels: list(&[]),
        lines: lines(&[]),
        best: Some(Ref::new(5)),
    };
    crates.insert_many([one, two]).await.unwrap();
    let crates = || db.collection::<Crate>().find_all().sort(|c| c.id.asc());
    macro_rules! same {
        ($($relation:expr;)*) => {$({
            let loaded = crates().load($relation).await.unwrap();
            let joined = crates().join($relation).await.unwrap();
            assert_eq!(joined, loaded, "{}", stringify!($relation));
        })*};
    }
    let reviews = || Review::of_novel().sort(|r| r.id.asc());
    same! {
        |c| c.novels.with(reviews());
        |c| c.novels.with(reviews().limit(1));
        |c| c.novels.with(reviews().skip(1));
        |c| c.novels.with(reviews().first());
        |c| c.novels.load(|n| (n.press.with(Novel::of_press().sort(|n| n.id.desc()).first()), reviews()));
        |c| c.lines.every(|l| l.novel.with(reviews().first()));
        |c| c.lines.every(|l| (l.novel.clone(), l.novel.with(reviews().skip(2))));
        |c| (c.best.with(reviews().first()), c.novels.with(reviews().limit(2)));
    }
}

async fn a_join_gives_some_for_each_where_parents_share_what_refers(db: &Db) {
    shelf(db).await;
    let presses = || db.collection::<Press>().find_all().sort(|p| p.id.asc());
    // Each review refers to three novels, of both presses.
    let reviews = || Review::also_of().sort(|r| r.id.asc());
    for relation in [
        Novel::of_press().sort(|n| n.id.asc()).with(reviews().limit(2)),
        Novel::of_press().sort(|n| n.id.asc()).with(reviews().skip(3)),
        Novel::of_press()
            .sort(|n| n.id.desc())
            .limit(2)
            .with(reviews().limit(1)),
    ] {
        let loaded = presses().with(relation.clone()).await.unwrap();
        assert_eq!(presses().join_with(relation).await.unwrap(), loaded);
    }
    let deeper = || {
        reviews().limit(3).load(|r| {
            r.others
                .with(Review::also_of().sort(|r| r.id.desc()).limit(2).load(|r| r.novel))
        })
    };
    let deep = || Novel::of_press().sort(|n| n.id.asc()).with(deeper());
    let loaded = presses().with(deep()).await.unwrap();
    assert_eq!(presses().join_with(deep()).await.unwrap(), loaded);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Fair {
    #[serde(rename = "_id")]
    id: i32,
    /// Whole documents of another model.
    novels: Vec<Novel>,
}

async fn a_join_gives_some_for_each_embedded_model(db: &Db) {
    shelf(db).await;
    let fairs = db.collection::<Fair>();
    let novels = (0..3)
        .map(|id| Novel {
            id,
            press: Ref::new(id % 2),
        })
        .collect();
    fairs.insert(Fair { id: 1, novels }).await.unwrap();
    let reviews = || Review::of_novel().sort(|r| r.id.desc());
    let loaded = fairs
        .find_all()
        .load(|f| f.novels.every(|_| reviews().skip(1).limit(1)))
        .await
        .unwrap();
    let joined = fairs
        .find_all()
        .join(|f| f.novels.every(|_| reviews().skip(1).limit(1)))
        .await
        .unwrap();
    assert_eq!(joined, loaded);
    let ids: Vec<i32> = joined[0].1.iter().map(|reviews| reviews[0].id).collect();
    assert_eq!(ids, [6, 7, 8]);
}

fn caseless() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! { "locale": "en", "strength": 2 })
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Town {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(options = caseless)]
struct Street {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, inverse = of_town)]
    town: Ref<Town>,
    name: String,
}

async fn a_join_by_another_collation_is_refused(db: &Db) {
    let (towns, streets) = (db.collection::<Town>(), db.collection::<Street>());
    streets.create_declared().await.unwrap();
    towns.insert_many([Town { id: 1 }, Town { id: 2 }]).await.unwrap();
    for (id, town, name) in [(1, 1, "B"), (2, 1, "a"), (3, 2, "C"), (4, 2, "b"), (5, 2, "A")] {
        let street = Street {
            id,
            town: Ref::new(town),
            name: name.into(),
        };
        streets.insert(street).await.unwrap();
    }
    let towns = || db.collection::<Town>().find_all().sort(|t| t.id.asc());
    let first = || Street::of_town().sort(|s| s.name.asc()).limit(2);
    // A load compares as the collection of what refers does, with a limit too.
    let loaded = towns()
        .with(first())
        .with(Street::of_town().filter(|s| s.name.eq("B")).count())
        .await
        .unwrap();
    let names: Vec<(Vec<&str>, u64)> = loaded
        .iter()
        .map(|(_, streets, count)| {
            (
                streets.iter().map(|street| street.name.as_str()).collect(),
                *count,
            )
        })
        .collect();
    assert_eq!(names, [(vec!["a", "B"], 1), (vec!["A", "b"], 1)]);
    let error = towns().join_with(first()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.to_string().contains("collation") && error.to_string().contains("Street"),
        "{error}"
    );
    let filtered = Street::of_town().filter(|s| s.name.eq("B"));
    assert!(towns().join_with(filtered.clone()).await.is_err());
    // What compares by it is joined.
    let joined = towns()
        .collation(doc! { "locale": "en", "strength": 2 })
        .join_with(filtered)
        .await
        .unwrap();
    let ids: Vec<i32> = joined.iter().map(|(_, streets)| streets[0].id).collect();
    assert_eq!(ids, [1, 4]);
    let joined = towns().join_with(Street::of_town().limit(1)).await.unwrap();
    assert!(joined.iter().all(|(_, streets)| streets.len() == 1));
}

/// A program that imports all names of the crate.
mod glob {
    use odm::*;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
    pub struct Shop {
        #[serde(rename = "_id")]
        pub id: i32,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
    pub struct Sale {
        #[serde(rename = "_id")]
        pub id: i32,
        #[odm(inverse = by_shop)]
        pub shop: Ref<Shop>,
    }

    pub async fn sales(db: &Db) -> Result<Vec<(Sale, Option<(Shop, u64)>)>> {
        db.collection::<Shop>().insert(Shop { id: 1 }).await?;
        db.collection::<Sale>()
            .insert(Sale {
                id: 1,
                shop: Ref::new(1),
            })
            .await?;
        db.collection::<Sale>()
            .find_all()
            .load(|s| s.shop.with(Sale::by_shop().count()))
            .await
    }
}

async fn a_field_is_loaded_with_what_refers_under_a_glob_import(db: &Db) {
    let sales = glob::sales(db).await.unwrap();
    assert_eq!(sales[0].1, Some((glob::Shop { id: 1 }, 1)));
}
