//! Pages by arrays in a collection with a collation of its own.

use odm::action::PageToken;
use odm::bson::doc;
use odm::{Db, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    arrays_of_texts_have_no_place_under_a_collections_own_collation,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "tagged")]
struct Tagged {
    #[serde(rename = "_id")]
    id: i32,
    tags: Vec<String>,
    numbers: Vec<i32>,
}

async fn arrays_of_texts_have_no_place_under_a_collections_own_collation(db: &Db) {
    let caseless = doc! { "locale": "en", "strength": 2 };
    db.create_collection("tagged").collation(caseless).await.unwrap();
    let tagged = db.collection::<Tagged>();
    let tags = |id: i32| -> Vec<String> {
        match id % 3 {
            0 => vec!["b".into(), "A".into()],
            1 => vec!["a".into()],
            _ => vec![],
        }
    };
    let all = (0..9).map(|id| Tagged {
        id,
        tags: tags(id),
        numbers: vec![id % 2, 5],
    });
    tagged.insert_many(all).await.unwrap();
    let by_tags = tagged.find_all().sort(|t| t.tags.any().asc());
    // Those without elements have a place.
    let first = by_tags.clone().page(3).await.unwrap();
    let second = by_tags.clone().page(3).after(first.next.unwrap());
    let error = second.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("tags"))
    );
    assert!(error.id().is_some(), "{error}");
    // By bytes all places are known.
    let simple = by_tags.collation(doc! { "locale": "simple" });
    let (mut ids, mut token) = (Vec::new(), None::<PageToken>);
    loop {
        let page = match token.take() {
            Some(token) => simple.clone().page(2).after(token).await.unwrap(),
            None => simple.clone().page(2).await.unwrap(),
        };
        ids.extend(page.items.iter().map(|item| item.id));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(ids, [2, 5, 8, 0, 3, 6, 1, 4, 7]);
    // Numbers are in one order, whatever the collation.
    let by_numbers = tagged.find_all().sort(|t| t.numbers.any().asc());
    let first = by_numbers.clone().page(4).await.unwrap();
    let second = by_numbers
        .clone()
        .page(4)
        .after(first.next.unwrap())
        .await
        .unwrap();
    let back = by_numbers.page(4).before(second.previous.unwrap()).await.unwrap();
    assert_eq!(back.items, first.items);
}
