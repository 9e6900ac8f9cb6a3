//! Running figures: what is stored is what a count of all would say.

use std::sync::Arc;

use bson::{Decimal128, doc};
use odm::{Db, ErrorKind, Model};
use odm_patterns::computed::{Accumulate, Difference, Figures, Running};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    figures_follow_their_values,
    removal_is_exact_and_says_where_it_cannot_be,
    what_cannot_be_exact_is_an_error,
    many_at_once_lose_nothing,
    figures_are_held_against_their_source,
    a_rebuild_beside_writers_is_right,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "computed_films")]
struct Film {
    #[serde(rename = "_id")]
    id: i32,
    stars: Running<i64>,
    heat: Running<f64>,
    price: Running<Decimal128>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "computed_ratings")]
struct Rating {
    #[serde(rename = "_id")]
    id: i32,
    film: i32,
    stars: i64,
}

async fn film(db: &Db) -> odm::Collection<Film> {
    let films = db.collection::<Film>();
    let film = Film {
        id: 1,
        stars: Running::default(),
        heat: Running::default(),
        price: Running::default(),
    };
    films.insert(film).await.unwrap();
    films
}

fn decimal(text: &str) -> Decimal128 {
    text.parse().unwrap()
}

async fn stars(db: &Db) -> Running<i64> {
    db.collection::<Film>().get(1).required().await.unwrap().stars
}

async fn figures_follow_their_values(db: &Db) {
    let (db, log) = db.logged();
    let films = film(&db).await;
    assert_eq!(stars(&db).await.mean(), None);
    assert!(stars(&db).await.minimum().is_exact);
    log.take();
    for (value, heat, price) in [(4, 0.5, "1.10"), (2, 1.5, "2.20"), (9, -1.0, "-0.30")] {
        films
            .update_one(
                |f| f.id.eq(1),
                |f| f.stars.record(value) & f.heat.record(heat) & f.price.record(decimal(price)),
            )
            .await
            .unwrap();
    }
    assert_eq!(log.take().len(), 3);
    let film = films.get(1).required().await.unwrap();
    assert_eq!(film.stars, Running::of([4, 2, 9]).unwrap());
    assert_eq!(film.heat, Running::of([0.5, 1.5, -1.0]).unwrap());
    assert_eq!(
        (film.stars.count, film.stars.sum, film.stars.squares),
        (3, 15, 101)
    );
    assert_eq!(film.stars.mean(), Some(5.0));
    assert_eq!(film.stars.variance(), Some(26.0 / 3.0));
    assert_eq!(film.stars.sample_variance(), Some(13.0));
    assert_eq!(
        (film.price.sum.to_string(), film.price.squares.to_string()),
        ("3.00".into(), "6.1400".into())
    );
    assert_eq!(film.price.min.unwrap().to_string(), "-0.30");
    assert_eq!(film.price.mean(), Some(1.0));
    // What is no number leaves none.
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        films
            .update_one(|f| f.id.eq(1), |f| f.heat.record(odd))
            .await
            .unwrap();
        let heat = films.get(1).required().await.unwrap().heat;
        assert!(heat.variance().unwrap().is_nan() && heat.sample_variance().unwrap().is_nan());
    }
}

async fn removal_is_exact_and_says_where_it_cannot_be(db: &Db) {
    let films = film(db).await;
    for value in [4, 2, 9, 7] {
        films
            .update_one(|f| f.id.eq(1), |f| f.stars.record(value))
            .await
            .unwrap();
    }
    let remove = async |value: i64| {
        films
            .update_one(|f| f.id.eq(1), |f| f.stars.remove(value))
            .await
            .unwrap();
        stars(db).await
    };
    let after = remove(4).await;
    assert_eq!((after.count, after.sum, after.squares), (3, 18, 134));
    assert!(after.minimum().is_exact && after.maximum().is_exact);
    let after = remove(9).await;
    assert_eq!(
        (after.maximum().value, after.maximum().is_exact),
        (Some(9), false)
    );
    assert_eq!((after.minimum().value, after.minimum().is_exact), (Some(2), true));
    // A greater one is known again.
    films
        .update_one(|f| f.id.eq(1), |f| f.stars.record(10))
        .await
        .unwrap();
    assert!(stars(db).await.maximum().is_exact);
    films
        .update_one(|f| f.id.eq(1), |f| f.stars.correct(7, 1))
        .await
        .unwrap();
    let after = stars(db).await;
    assert_eq!((after.count, after.sum, after.squares), (3, 13, 105));
    assert_eq!((after.minimum().value, after.minimum().is_exact), (Some(1), true));

    films
        .update_one(|f| f.id.eq(1), |f| f.price.record(decimal("0.7")))
        .await
        .unwrap();
    films
        .update_one(
            |f| f.id.eq(1),
            |f| f.price.correct(decimal("0.7"), decimal("0.1")),
        )
        .await
        .unwrap();
    let price = films.get(1).required().await.unwrap().price;
    assert_eq!(
        (price.sum.to_string(), price.squares.to_string()),
        ("0.1".into(), "0.01".into())
    );
    films
        .update_one(|f| f.id.eq(1), |f| f.price.remove(decimal("0.1")))
        .await
        .unwrap();
    let price = films.get(1).required().await.unwrap().price;
    assert_eq!(
        (price.count, price.minimum().value, price.minimum().is_exact),
        (0, None, true)
    );
}

async fn what_cannot_be_exact_is_an_error(db: &Db) {
    let films = film(db).await;
    let error = films
        .update_one(|f| f.id.eq(1), |f| f.stars.record(4_000_000_000))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Encode, Some("stars.squares"))
    );
    for update in [decimal("NaN"), decimal("1234567890123456789")] {
        let error = films
            .update_one(|f| f.id.eq(1), |f| f.price.record(update))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Encode);
    }
    // The database refuses a sum beyond 64 bits, and nothing is changed.
    let most = doc! {"$set": {"stars.squares": i64::MAX}};
    films.raw().update_one(doc! {"_id": 1}, most).await.unwrap();
    assert!(
        films
            .update_one(|f| f.id.eq(1), |f| f.stars.record(3))
            .await
            .is_err()
    );
    assert_eq!(stars(db).await.count, 0);
}

async fn many_at_once_lose_nothing(db: &Db) {
    let films = Arc::new(film(db).await);
    let tasks: Vec<_> = (1..=32)
        .map(|value| {
            let films = films.clone();
            tokio::spawn(async move {
                films
                    .update_one(|f| f.id.eq(1), |f| f.stars.record(value))
                    .await
                    .unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(stars(db).await, Running::of(1..=32).unwrap());
}

async fn rate(db: &Db, id: i32, value: i64) {
    db.transaction(async |tx| {
        let rating = Rating {
            id,
            film: 1,
            stars: value,
        };
        tx.collection::<Rating>().insert(rating).await?;
        let films = tx.collection::<Film>();
        films
            .update_one(|f| f.id.eq(1), |f| f.stars.record(value))
            .await
            .map(drop)
    })
    .await
    .unwrap();
}

async fn ratings(tx: odm::Tx) -> odm::Result<Vec<i64>> {
    let all = tx.collection::<Rating>().find(|r| r.film.eq(1)).await?;
    Ok(all.into_iter().map(|rating| rating.stars).collect())
}

async fn figures_are_held_against_their_source(db: &Db) {
    let (db, log) = db.logged();
    let db = &db;
    let films = film(db).await;
    db.collection::<Rating>().create().await.unwrap();
    let figures = Figures::of(db, &films, 1, |f| f.stars);
    for (id, value) in [(1, 5), (2, 3), (3, 4)] {
        rate(db, id, value).await;
    }
    assert_eq!(figures.verify(ratings).await.unwrap(), []);
    let wrong =
        doc! {"$set": {"stars.count": 4_i64, "stars.sum": 1_i64, "stars.squares": 0_i64, "stars.max": 6_i64}};
    films.raw().update_one(doc! {"_id": 1}, wrong).await.unwrap();
    let expected = [
        Difference::Count { stored: 4, actual: 3 },
        Difference::Sum {
            stored: 1,
            actual: 12,
        },
        Difference::Squares {
            stored: 0,
            actual: 50,
        },
        Difference::Maximum {
            stored: Some(6),
            actual: Some(5),
        },
    ];
    log.take();
    assert_eq!(figures.verify(ratings).await.unwrap(), expected);
    assert_eq!(log.take().len(), 3);
    assert_eq!(figures.rebuild(ratings).await.unwrap(), expected);
    assert_eq!(log.take().len(), 4);
    assert_eq!(stars(db).await, Running::of([5, 3, 4]).unwrap());
    // A bound is no difference, and becomes exact.
    db.collection::<Rating>().delete(2).await.unwrap();
    films
        .update_one(|f| f.id.eq(1), |f| f.stars.remove(3))
        .await
        .unwrap();
    assert_eq!(figures.rebuild(ratings).await.unwrap(), []);
    assert_eq!(
        (
            stars(db).await.minimum().value,
            stars(db).await.minimum().is_exact
        ),
        (Some(4), true)
    );
    let missing = Figures::of(db, &films, 7, |f| f.stars)
        .verify(ratings)
        .await
        .unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

async fn a_rebuild_beside_writers_is_right(db: &Db) {
    let films = film(db).await;
    db.collection::<Rating>().create().await.unwrap();
    rate(db, 0, 1).await;
    let figures = Figures::of(db, &films, 1, |f| f.stars);
    let writer = {
        let db = db.clone();
        tokio::spawn(async move {
            for id in 1..10 {
                rate(&db, id, i64::from(id)).await;
            }
        })
    };
    for _ in 0..5 {
        assert_eq!(figures.rebuild(ratings).await.unwrap(), []);
    }
    writer.await.unwrap();
    assert_eq!(figures.verify(ratings).await.unwrap(), []);
    assert_eq!(stars(db).await.count, 10);
}
