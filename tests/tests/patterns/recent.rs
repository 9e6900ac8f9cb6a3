//! The last N: what belongs into the list is in it, in its place.

use bson::doc;
use odm::{Db, Embedded, Filter, Model};
use odm_patterns::recent::{Recent, RecentProblem, RecentProblemKind};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    the_last_are_kept_in_both_directions,
    the_best_are_kept_in_their_order,
    keys_are_there_once,
    many_at_once_lose_none_that_belongs,
    lists_are_held_against_what_is_kept,
    elements_are_merged_as_they_are_stored,
    elements_without_a_key_are_there_as_often_as_they_are_added,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Score {
    who: String,
    points: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "recent_games")]
struct Game {
    #[serde(rename = "_id")]
    id: i32,
    plays: i64,
    scores: Vec<Score>,
    numbers: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "recent_devices")]
struct Device {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(with = "odm::as_bson")]
    peers: Vec<uuid::Uuid>,
}

async fn elements_are_merged_as_they_are_stored(db: &Db) {
    let devices = db.collection::<Device>();
    let id = uuid::Uuid::from_u128;
    let peers = [1, 2].map(id).to_vec();
    devices.insert(Device { id: 1, peers }).await.unwrap();
    let last = Recent::<Device, _>::new(3, |d| d.peers).unique();
    for n in [3, 1, 4] {
        devices
            .update_one(|d| d.id.eq(1), |_| last.add([id(n)]))
            .await
            .unwrap();
    }
    let stored = devices.get(1).required().await.unwrap();
    assert_eq!(stored.peers, [3, 1, 4].map(id));
    assert_eq!(last.verify(&devices).await.unwrap(), []);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Visit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<i64>,
    account: Option<i64>,
    n: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "recent_pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    visits: Vec<Visit>,
}

/// Stored without the key, or with null: a visit of nobody is no other visit of nobody.
async fn elements_without_a_key_are_there_as_often_as_they_are_added(db: &Db) {
    let pages = db.collection::<Page>();
    let visit = |key: Option<i64>, n| Visit {
        user: key,
        account: key,
        n,
    };
    let all = || Recent::<Page, _>::new(6, |p| p.visits);
    for (id, last) in [
        all().unique_by(|v| v.user),
        all().unique_by(|v| v.account),
        all().unique_by(|v| v.user).newest_first(),
        all().unique_by(|v| v.account).newest_first(),
        all().unique_by(|v| v.account).by(|v| v.n.desc()),
    ]
    .into_iter()
    .enumerate()
    {
        let id = id as i32;
        pages.insert(Page { id, visits: vec![] }).await.unwrap();
        let add = async |visits: Vec<Visit>| {
            let done = pages.update_one(|p| p.id.eq(id), |_| last.add(visits)).await;
            assert_eq!(done.unwrap().matched, 1);
        };
        let stored = async || {
            let page = pages.get(id).required().await.unwrap();
            let mut numbers: Vec<i64> = page.visits.iter().map(|visit| visit.n).collect();
            numbers.sort_unstable();
            numbers
        };
        add(vec![visit(None, 1), visit(Some(7), 2), visit(None, 3)]).await;
        assert_eq!(stored().await, [1, 2, 3], "{id}");
        add(vec![visit(None, 4)]).await;
        add(vec![visit(Some(7), 5), visit(Some(8), 6), visit(Some(7), 7)]).await;
        assert_eq!(stored().await, [1, 3, 4, 6, 7], "{id}");
        assert_eq!(last.verify(&pages).await.unwrap(), [], "{id}");
        // What others have written twice is found, and they are not.
        let twice = doc! { "$push": { "visits": { "user": 8_i64, "account": 8_i64, "n": 8_i64 } } };
        pages.raw().update_one(doc! { "_id": id }, twice).await.unwrap();
        let found = last.verify(&pages).await.unwrap();
        let is_repeated = |problem: &RecentProblem| problem.kind == RecentProblemKind::Repeated;
        assert!(found.iter().any(is_repeated), "{id}");
        assert_eq!(last.repair(&pages).await.unwrap(), []);
        assert_eq!(last.verify(&pages).await.unwrap(), [], "{id}");
        let left = stored().await;
        assert!(left.starts_with(&[1, 3, 4]) && left.len() == 5, "{left:?}");
        // The update that does so leaves them, too.
        let tidy = last.tidy().unwrap();
        pages.update_one(|p| p.id.eq(id), |_| tidy).await.unwrap();
        assert_eq!(stored().await, left);
        pages.delete(id).await.unwrap();
    }
}

fn game(id: i32) -> Game {
    Game {
        id,
        plays: 0,
        scores: vec![],
        numbers: vec![],
    }
}

fn score(who: &str, points: i64) -> Score {
    Score {
        who: who.to_owned(),
        points,
    }
}

async fn numbers(db: &Db) -> Vec<i64> {
    db.collection::<Game>().get(1).required().await.unwrap().numbers
}

async fn scores(db: &Db) -> Vec<(String, i64)> {
    let game = db.collection::<Game>().get(1).required().await.unwrap();
    game.scores
        .into_iter()
        .map(|score| (score.who, score.points))
        .collect()
}

fn pairs(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected
        .iter()
        .map(|(who, points)| ((*who).to_owned(), *points))
        .collect()
}

async fn the_last_are_kept_in_both_directions(db: &Db) {
    let games = db.collection::<Game>();
    games.insert(game(1)).await.unwrap();
    let last = Recent::<Game, _>::new(3, |g| g.numbers);
    for chunk in [vec![1, 2], vec![3], vec![4, 5]] {
        games
            .update_one(|g| g.id.eq(1), |g| last.add(chunk) & g.plays.inc(1))
            .await
            .unwrap();
    }
    assert_eq!(numbers(db).await, [3, 4, 5]);
    assert_eq!(games.get(1).required().await.unwrap().plays, 3);
    games
        .update_one(|g| g.id.eq(1), |g| g.numbers.set(vec![]))
        .await
        .unwrap();
    let first = last.clone().newest_first();
    for chunk in [vec![1, 2], vec![3], vec![4, 5]] {
        games
            .update_one(|g| g.id.eq(1), |_| first.add(chunk))
            .await
            .unwrap();
    }
    assert_eq!(numbers(db).await, [5, 4, 3]);
    games.update_one(|g| g.id.eq(1), |_| first.add([])).await.unwrap();
    assert_eq!(numbers(db).await, [5, 4, 3]);
}

async fn the_best_are_kept_in_their_order(db: &Db) {
    let games = db.collection::<Game>();
    games.insert(game(1)).await.unwrap();
    let add = async |list: &Recent<Game, Vec<i64>>| {
        games
            .update_one(|g| g.id.eq(1), |g| g.numbers.set(vec![]))
            .await
            .unwrap();
        for number in [5, 1, 4, 2, 3] {
            games
                .update_one(|g| g.id.eq(1), |_| list.add([number]))
                .await
                .unwrap();
        }
        assert!(list.verify(&games).await.unwrap().is_empty());
        numbers(db).await
    };
    let list = || Recent::<Game, _>::new(2, |g| g.numbers);
    assert_eq!(add(&list().ascending()).await, [1, 2]);
    assert_eq!(add(&list().descending()).await, [5, 4]);
    assert_eq!(add(&list().ascending().keep_end()).await, [4, 5]);
    assert_eq!(add(&list().descending().keep_end()).await, [2, 1]);

    let best = Recent::<Game, _>::new(3, |g| g.scores).by(|s| s.points.desc() & s.who.asc());
    for (who, points) in [("c", 1), ("b", 5), ("a", 5), ("d", 3)] {
        games
            .update_one(|g| g.id.eq(1), |_| best.add([score(who, points)]))
            .await
            .unwrap();
    }
    assert_eq!(scores(db).await, pairs(&[("a", 5), ("b", 5), ("d", 3)]));
    assert!(best.verify(&games).await.unwrap().is_empty());
}

async fn keys_are_there_once(db: &Db) {
    let games = db.collection::<Game>();
    games.insert(game(1)).await.unwrap();
    let put = async |list: &Recent<Game, Vec<Score>>, all: &[(&str, i64)]| {
        let all: Vec<Score> = all.iter().map(|(who, points)| score(who, *points)).collect();
        games.update_one(|g| g.id.eq(1), |_| list.add(all)).await.unwrap();
        assert!(list.verify(&games).await.unwrap().is_empty());
        scores(db).await
    };
    let last = Recent::<Game, _>::new(3, |g| g.scores).unique_by(|s| s.who);
    assert_eq!(
        put(&last, &[("a", 1), ("b", 2), ("a", 3)]).await,
        pairs(&[("b", 2), ("a", 3)])
    );
    assert_eq!(
        put(&last, &[("$b", 4), ("b", 5)]).await,
        pairs(&[("a", 3), ("$b", 4), ("b", 5)])
    );
    assert_eq!(
        put(&last, &[("b", 5)]).await,
        pairs(&[("a", 3), ("$b", 4), ("b", 5)])
    );
    assert_eq!(
        put(&last, &[("c", 6)]).await,
        pairs(&[("$b", 4), ("b", 5), ("c", 6)])
    );

    games
        .update_one(|g| g.id.eq(1), |g| g.scores.set(vec![]))
        .await
        .unwrap();
    let first = last.clone().newest_first();
    assert_eq!(
        put(&first, &[("a", 1), ("b", 2), ("a", 3)]).await,
        pairs(&[("a", 3), ("b", 2)])
    );
    assert_eq!(
        put(&first, &[("b", 4), ("c", 5)]).await,
        pairs(&[("c", 5), ("b", 4), ("a", 3)])
    );

    games
        .update_one(|g| g.id.eq(1), |g| g.scores.set(vec![]))
        .await
        .unwrap();
    let best = last.by(|s| s.points.desc());
    assert_eq!(
        put(&best, &[("a", 9), ("b", 2), ("c", 4), ("d", 3)]).await,
        pairs(&[("a", 9), ("c", 4), ("d", 3)])
    );
    assert_eq!(
        put(&best, &[("a", 1)]).await,
        pairs(&[("c", 4), ("d", 3), ("a", 1)])
    );

    // A document without the field, and plain values.
    games
        .raw()
        .update_one(doc! {"_id": 1}, doc! {"$unset": {"numbers": 1}})
        .await
        .unwrap();
    let set = Recent::<Game, _>::new(3, |g| g.numbers).unique();
    for number in [1, 2, 1, 3, 4, 4] {
        games
            .update_one(|g| g.id.eq(1), |_| set.add([number]))
            .await
            .unwrap();
    }
    assert_eq!(numbers(db).await, [1, 3, 4]);
}

async fn many_at_once_lose_none_that_belongs(db: &Db) {
    let games = db.collection::<Game>();
    games.insert(game(1)).await.unwrap();
    let best = Recent::<Game, _>::new(10, |g| g.scores)
        .by(|s| s.points.desc())
        .unique_by(|s| s.who);
    let tasks: Vec<_> = (0..32)
        .map(|n| {
            let (games, best) = (games.clone(), best.clone());
            tokio::spawn(async move {
                let scores = [score(&format!("{n}"), n), score(&format!("{n}"), n)];
                games
                    .update_one(|g| g.id.eq(1), |_| best.add(scores))
                    .await
                    .unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let points: Vec<i64> = scores(db).await.into_iter().map(|(_, points)| points).collect();
    assert_eq!(points, (22..32).rev().collect::<Vec<_>>());
}

async fn lists_are_held_against_what_is_kept(db: &Db) {
    let games = db.collection::<Game>();
    let all = [("a", 1), ("b", 5), ("a", 4), ("c", 4), ("d", 2)];
    let scores_of = |range: std::ops::Range<usize>| {
        all[range]
            .iter()
            .map(|(who, points)| score(who, *points))
            .collect::<Vec<_>>()
    };
    games
        .insert(Game {
            scores: scores_of(0..5),
            ..game(1)
        })
        .await
        .unwrap();
    games
        .insert(Game {
            scores: scores_of(1..2),
            ..game(2)
        })
        .await
        .unwrap();
    games.insert(game(3)).await.unwrap();
    games
        .raw()
        .update_one(doc! {"_id": 3}, doc! {"$set": {"scores": 7}})
        .await
        .unwrap();
    games.raw().insert(doc! {"_id": 4}).await.unwrap();
    let best = Recent::<Game, _>::new(3, |g| g.scores)
        .by(|s| s.points.desc())
        .unique_by(|s| s.who);
    let mut problems = best.verify(&games).await.unwrap();
    problems.sort_by_key(|problem| problem.id.as_i32());
    let kinds: Vec<_> = problems
        .into_iter()
        .map(|problem| (problem.id.as_i32().unwrap(), problem.kind))
        .collect();
    let expected = [
        (1, RecentProblemKind::TooLong { length: 5 }),
        (1, RecentProblemKind::NotSorted),
        (1, RecentProblemKind::Repeated),
        (3, RecentProblemKind::NotAList),
    ];
    assert_eq!(kinds, expected);
    let left = best.repair(&games).await.unwrap();
    assert_eq!((left.len(), &left[0].kind), (1, &RecentProblemKind::NotAList));
    // Of the two of the same key the later one.
    let repaired = scores(db).await;
    assert_eq!(repaired[0], ("b".to_owned(), 5));
    assert_eq!(
        repaired.iter().map(|(_, points)| *points).collect::<Vec<_>>(),
        [5, 4, 4]
    );
    assert_eq!(best.verify(&games).await.unwrap().len(), 1);
    games.delete_many(|_| Filter::raw(doc! {"_id": 3})).await.unwrap();
    assert!(best.verify(&games).await.unwrap().is_empty());
}
