//! Bounded arrays and numbers: one conditional write, and an error that says which bound.

use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Update};

use super::lifecycle_models::Bin;

crate::on_every_backend! {
    a_push_stops_at_the_bound_in_one_round_trip,
    values_that_are_known_are_refused_before_any_round_trip,
    a_set_takes_what_it_holds_even_when_full,
    a_slice_within_the_bound_needs_no_room,
    an_update_of_many_passes_over_the_full,
    an_upsert_never_inserts_beside_a_full_document,
    find_and_modify_and_pipelines_hold_the_bound,
    a_number_is_added_to_only_within_its_bounds,
    a_failure_between_the_steps_of_an_upsert_inserts_nothing,
}

fn assert_full(error: &Error, path: &str) {
    assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
    assert!(error.is_bound_reached(), "{error}");
    assert_eq!(error.violations()[0].path, path, "{error}");
}

async fn a_push_stops_at_the_bound_in_one_round_trip(db: &Db) {
    let (db, log) = db.logged();
    let bins = db.collection::<Bin>();
    bins.insert(Bin::new(1, &[1])).await.unwrap();
    log.take();
    bins.update_one(|b| b.id.eq(1), |b| b.items.push(2))
        .await
        .unwrap();
    bins.update_one(|b| b.id.eq(1), |b| b.items.push(3))
        .await
        .unwrap();
    assert_eq!(log.entries().len(), 2);
    let error = bins
        .update_one(|b| b.id.eq(1), |b| b.items.push(4))
        .await
        .unwrap_err();
    assert_full(&error, "items");
    assert_eq!(error.id(), Some(&bson::Bson::Int32(1)));
    assert_eq!(log.entries().len(), 4);
    // Nobody there is no error.
    let result = bins
        .update_one(|b| b.id.eq(9), |b| b.items.push(4))
        .await
        .unwrap();
    assert_eq!(result.matched, 0);
    assert_eq!(bins.get(1).required().await.unwrap().items, [1, 2, 3]);
    // Several at once, and nested.
    bins.update_one(|b| b.id.eq(1), |b| b.inner.labels.push_each(["a", "b"]))
        .await
        .unwrap();
    let error = bins
        .update_one(|b| b.id.eq(1), |b| b.inner.labels.push("c"))
        .await
        .unwrap_err();
    assert_full(&error, "inner.labels");
    log.take();
    let error = bins
        .update_one(|b| b.id.eq(1), |b| b.items.push_each([1, 2, 3, 4]))
        .await
        .unwrap_err();
    assert_full(&error, "items");
    assert_eq!(log.entries().len(), 0);
}

async fn values_that_are_known_are_refused_before_any_round_trip(db: &Db) {
    let (db, log) = db.logged();
    let bins = db.collection::<Bin>();
    assert_full(
        &bins.insert(Bin::new(1, &[1, 2, 3, 4])).await.unwrap_err(),
        "items",
    );
    assert_full(&bins.save(Bin::new(1, &[1, 2, 3, 4])).await.unwrap_err(), "items");
    let set = bins.update_one(|b| b.id.eq(1), |b| b.items.set(vec![1, 2, 3, 4]));
    assert_full(&set.await.unwrap_err(), "items");
    let at = bins.update_one(|b| b.id.eq(1), |b| b.items.at(3).set(1));
    assert_full(&at.await.unwrap_err(), "items.3");
    let nested = bins.insert_many([
        Bin::new(1, &[]),
        Bin {
            inner: super::lifecycle_models::Inner {
                labels: ["a", "b", "c"].map(str::to_owned).to_vec(),
            },
            ..Bin::new(2, &[])
        },
    ]);
    let error = nested.await.unwrap_err();
    assert_full(&error, "inner.labels");
    assert_eq!(error.violations()[0].statement, 1);
    assert_eq!(log.entries().len(), 0);
}

async fn a_set_takes_what_it_holds_even_when_full(db: &Db) {
    let bins = db.collection::<Bin>();
    bins.insert(Bin::new(1, &[1, 2, 3])).await.unwrap();
    let one = |item| bins.update_one(|b| b.id.eq(1), move |b| b.items.add_to_set(item));
    assert_eq!(one(2).await.unwrap().modified, 0);
    assert_full(&one(4).await.unwrap_err(), "items");
    let several = |items: Vec<i32>| bins.update_one(|b| b.id.eq(1), move |b| b.items.add_each_to_set(items));
    assert_eq!(several(vec![3, 1, 1]).await.unwrap().modified, 0);
    assert_full(&several(vec![3, 4]).await.unwrap_err(), "items");
    bins.update_one(|b| b.id.eq(1), |b| b.items.pull(1))
        .await
        .unwrap();
    assert_eq!(several(vec![3, 4, 4]).await.unwrap().modified, 1);
    assert_eq!(bins.get(1).required().await.unwrap().items, [2, 3, 4]);
}

async fn a_slice_within_the_bound_needs_no_room(db: &Db) {
    let bins = db.collection::<Bin>();
    bins.insert(Bin::new(1, &[1, 2, 3])).await.unwrap();
    let last = |count| {
        bins.update_one(
            |b| b.id.eq(1),
            move |b| b.items.push_each_with([7, 8], |p| p.slice(count)),
        )
    };
    last(-3).await.unwrap();
    assert_eq!(bins.get(1).required().await.unwrap().items, [3, 7, 8]);
    assert_full(&last(-4).await.unwrap_err(), "items");
}

async fn an_update_of_many_passes_over_the_full(db: &Db) {
    let bins = db.collection::<Bin>();
    bins.insert_many([Bin::new(1, &[1, 2, 3]), Bin::new(2, &[1])])
        .await
        .unwrap();
    let result = bins
        .update_many(|b| b.weight.eq(5), |b| b.items.push(9))
        .await
        .unwrap();
    assert_eq!(result.matched, 1);
    assert_eq!(bins.get(1).required().await.unwrap().items, [1, 2, 3]);
    assert_eq!(bins.get(2).required().await.unwrap().items, [1, 9]);
}

async fn an_upsert_never_inserts_beside_a_full_document(db: &Db) {
    let bins = db.collection::<Bin>();
    bins.insert(Bin::new(1, &[1, 2, 3])).await.unwrap();
    let by_id = bins.upsert(|b| b.id.eq(1), |b| b.items.push(4));
    assert_full(&by_id.await.unwrap_err(), "items");
    let by_name = bins.upsert(
        |b| b.name.eq("bin 1"),
        |b| b.id.set_on_insert(9) & b.items.push(4),
    );
    assert_full(&by_name.await.unwrap_err(), "items");
    assert_eq!(bins.estimated_count().await.unwrap(), 1);
    let result = bins.upsert(|b| b.id.eq(2), |b| b.items.push(4)).await.unwrap();
    assert_eq!(result.upserted_id, Some(2));
    let found = bins
        .find_one_and_update(
            |b| b.name.eq("bin 1"),
            |b| b.id.set_on_insert(9) & b.items.push(4),
        )
        .upsert()
        .await;
    assert_full(&found.unwrap_err(), "items");
    let bulk = bins
        .bulk_write()
        .upsert(|b| b.id.eq(1), |b| b.items.push(4))
        .upsert(|b| b.id.eq(2), |b| b.items.push(5))
        .unordered();
    let error = bulk.await.unwrap_err();
    assert_full(&error.write_errors()[0].error, "items");
    assert_eq!(error.write_errors().len(), 1);
    let bulk = bins
        .bulk_write()
        .upsert(
            |b| b.name.eq("bin 1"),
            |b| b.id.set_on_insert(9) & b.items.push(4),
        )
        .upsert(|b| b.id.eq(2), |b| b.items.push(5));
    assert_eq!(bulk.await.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

async fn find_and_modify_and_pipelines_hold_the_bound(db: &Db) {
    let bins = db.collection::<Bin>();
    bins.insert(Bin::new(1, &[1, 2])).await.unwrap();
    let push = || {
        bins.find_one_and_update(|b| b.id.eq(1), |b| b.items.push(4))
            .return_new()
    };
    assert_eq!(push().await.unwrap().unwrap().items, [1, 2, 4]);
    assert_full(&push().await.unwrap_err(), "items");
    let none = bins.find_one_and_update(|b| b.id.eq(5), |b| b.items.push(4));
    assert_eq!(none.await.unwrap(), None);
    let append = |item: i32| {
        let stages = [bson::doc! {"$set": {"items": {"$concatArrays": ["$items", [item]]}}}];
        bins.update_one(|b| b.id.eq(1), move |_| Update::pipeline(stages))
    };
    let error = append(9).await.unwrap_err();
    assert!(error.is_bound_reached(), "{error}");
    bins.update_one(|b| b.id.eq(1), |b| b.items.pop_last())
        .await
        .unwrap();
    assert_eq!(append(9).await.unwrap().modified, 1);
    assert_eq!(bins.get(1).required().await.unwrap().items, [1, 2, 9]);
}

async fn a_number_is_added_to_only_within_its_bounds(db: &Db) {
    let bins = db.collection::<Bin>();
    bins.insert(Bin::new(1, &[])).await.unwrap();
    let add = |step| bins.update_one(|b| b.id.eq(1), move |b| b.weight.inc(step));
    assert_eq!(add(5).await.unwrap().modified, 1);
    let error = add(1).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Validation, Some("weight"))
    );
    assert_eq!(error.violations()[0].rule, "max");
    assert!(!error.is_bound_reached());
    assert_eq!(add(-10).await.unwrap().modified, 1);
    assert_eq!(add(-1).await.unwrap_err().violations()[0].rule, "min");
    assert_eq!(bins.get(1).required().await.unwrap().weight, 0);
    // The filter has a condition on the same field.
    let lower = bins
        .update_one(|b| b.weight.gte(0), |b| b.weight.inc(3))
        .await
        .unwrap();
    assert_eq!(lower.modified, 1);
}

async fn a_failure_between_the_steps_of_an_upsert_inserts_nothing(db: &Db) {
    let (faulty, faults) = db.faulty();
    let bins = faulty.collection::<Bin>();
    bins.insert(Bin::new(1, &[1, 2, 3])).await.unwrap();
    let push = || {
        bins.upsert(
            |b| b.name.eq("bin 1"),
            |b| b.id.set_on_insert(9) & b.items.push(4),
        )
    };
    let other = || {
        bins.upsert(
            |b| b.name.eq("other"),
            |b| b.id.set_on_insert(7) & b.items.push(4),
        )
    };
    for nth in 1..=2 {
        faults.add(Fault::nth_operation(nth).crash());
        assert!(!push().await.unwrap_err().is_bound_reached());
        assert_eq!(db.collection::<Bin>().estimated_count().await.unwrap(), 1);
        faults.clear();
    }
    for nth in 1..=3 {
        faults.add(Fault::nth_operation(nth).crash());
        assert!(other().await.is_err());
        assert_eq!(db.collection::<Bin>().estimated_count().await.unwrap(), 1);
        faults.clear();
    }
    assert_eq!(other().await.unwrap().upserted_id, Some(7));
    assert_full(&push().await.unwrap_err(), "items");
}
