use bson::{Document, RawDocumentBuf, doc};

use super::{Book, BookFields, checkout, regex};
use crate::backend::Modification;
use crate::{ErrorKind, Filter, Model, Update};

#[track_caller]
fn check(update: impl FnOnce(BookFields<Book>) -> Update<Book>, expected: Document) {
    check_filtered(update, expected, []);
}

#[track_caller]
fn check_filtered<const N: usize>(
    update: impl FnOnce(BookFields<Book>) -> Update<Book>,
    expected: Document,
    filters: [Document; N],
) {
    let built = update(Book::fields()).build().unwrap();
    let Modification::Operators(document) = built.modification else {
        panic!("not operators")
    };
    assert_eq!(
        document,
        RawDocumentBuf::try_from(&expected).unwrap(),
        "{document:?}"
    );
    let filters = filters.map(|filter| RawDocumentBuf::try_from(&filter).unwrap());
    assert_eq!(built.array_filters, filters);
}

#[track_caller]
fn refused(update: impl FnOnce(BookFields<Book>) -> Update<Book>, kind: ErrorKind, path: &str) {
    let error = update(Book::fields()).build().unwrap_err();
    assert_eq!((error.kind(), error.path()), (kind, Some(path)), "{error}");
}

#[test]
fn values() {
    check(|b| b.title.set("x"), doc! { "$set": { "title": "x" } });
    check(|b| b.subtitle.set(None), doc! { "$set": { "subtitle": null } });
    check(|b| b.subtitle.unset(), doc! { "$unset": { "subtitle": "" } });
    check(
        |b| b.year.set_on_insert(1),
        doc! { "$setOnInsert": { "year": 1 } },
    );
    check(|b| b.year.min(1), doc! { "$min": { "year": 1 } });
    check(|b| b.price.max(1), doc! { "$max": { "price": 1.0 } });
    check(
        |b| b.publisher.name.set("x"),
        doc! { "$set": { "publisher.name": "x" } },
    );
    check(
        |b| b.title.rename(&b.publisher.name),
        doc! { "$rename": { "title": "publisher.name" } },
    );
    check(
        |b| b.titles.key("en").set("x"),
        doc! { "$set": { "titles.en": "x" } },
    );
    check(|b| b.code.set(255), doc! { "$set": { "code": "ff" } });
}

#[test]
fn arithmetic() {
    check(|b| b.year.inc(-1), doc! { "$inc": { "year": -1 } });
    check(|b| b.available.inc(-1), doc! { "$inc": { "available": -1_i64 } });
    check(|b| b.pages.inc(2), doc! { "$inc": { "pages": 2_i64 } });
    check(|b| b.price.inc(0.5), doc! { "$inc": { "price": 0.5 } });
    check(|b| b.price.mul(2), doc! { "$mul": { "price": 2.0 } });
    check(
        |b| b.flags.bit_and(3),
        doc! { "$bit": { "flags": { "and": 3_i64 } } },
    );
    check(
        |b| b.flags.bit_or(3),
        doc! { "$bit": { "flags": { "or": 3_i64 } } },
    );
    check(
        |b| b.flags.bit_xor(3),
        doc! { "$bit": { "flags": { "xor": 3_i64 } } },
    );
    check(|b| b.code.inc(255), doc! { "$inc": { "code": "ff" } });
    refused(|b| b.code.inc(-1), ErrorKind::Encode, "code");
}

#[test]
fn dates() {
    check(
        |b| b.added.current_date(),
        doc! { "$currentDate": { "added": true } },
    );
    check(
        |b| b.stamp.current_timestamp(),
        doc! { "$currentDate": { "stamp": { "$type": "timestamp" } } },
    );
}

#[test]
fn elements_go_in() {
    check(|b| b.authors.push("x"), doc! { "$push": { "authors": "x" } });
    check(
        |b| b.authors.push_each(["x", "y"]),
        doc! { "$push": { "authors": { "$each": ["x", "y"] } } },
    );
    check(|b| b.grid.push([1, 2]), doc! { "$push": { "grid": [1, 2] } });
    check(
        |b| {
            b.ratings
                .push_each_with([5], |p| p.position(0).slice(-5).sort_desc())
        },
        doc! { "$push": { "ratings": { "$each": [5], "$position": 0_i64, "$slice": -5_i64, "$sort": -1 } } },
    );
    check(
        |b| b.ratings.push_each_with([5], |p| p.sort_asc()),
        doc! { "$push": { "ratings": { "$each": [5], "$sort": 1 } } },
    );
    check(
        |b| {
            b.checkouts.push_each_with([checkout("joe", 1)], |p| {
                p.sort_by(|c| c.days.desc() & c.by.asc())
            })
        },
        doc! { "$push": { "checkouts": {
            "$each": [{ "by": "joe", "days": 1, "notes": [] }],
            "$sort": { "days": -1, "by": 1 },
        } } },
    );
    check(
        |b| b.authors.add_to_set("x"),
        doc! { "$addToSet": { "authors": "x" } },
    );
    check(
        |b| b.authors.add_each_to_set(["x", "y"]),
        doc! { "$addToSet": { "authors": { "$each": ["x", "y"] } } },
    );
    check(|b| b.codes.push(255), doc! { "$push": { "codes": "ff" } });
}

#[test]
fn elements_go_out() {
    check(|b| b.ratings.pop_first(), doc! { "$pop": { "ratings": -1 } });
    check(|b| b.ratings.pop_last(), doc! { "$pop": { "ratings": 1 } });
    check(|b| b.ratings.pull(3), doc! { "$pull": { "ratings": 3 } });
    check(
        |b| b.ratings.pull_all([3, 4]),
        doc! { "$pullAll": { "ratings": [3, 4] } },
    );
    check(
        |b| b.ratings.pull_where(|v| v.gt(3) & v.lt(5)),
        doc! { "$pull": { "ratings": { "$gt": 3, "$lt": 5 } } },
    );
    check(
        |b| b.ratings.pull_where_value(|v| v.eq(3)),
        doc! { "$pull": { "ratings": { "$eq": 3 } } },
    );
    check(
        |b| b.checkouts.pull_where(|c| c.by.eq("joe") & c.days.gt(3)),
        doc! { "$pull": { "checkouts": { "by": "joe", "days": { "$gt": 3 } } } },
    );
    check(
        |b| b.ratings.pull_where(|_| Filter::all()),
        doc! { "$pull": { "ratings": { "$exists": true } } },
    );
    check(
        |b| b.ratings.pull_where(|v| !v.gt(3)),
        doc! { "$pull": { "ratings": { "$exists": true, "$not": { "$gt": 3 } } } },
    );
    // `$pull` would take these for conditions.
    check(
        |b| b.checkouts.pull(checkout("joe", 1)),
        doc! { "$pullAll": { "checkouts": [{ "by": "joe", "days": 1, "notes": [] }] } },
    );
    check(
        |b| b.patterns.pull(regex("a")),
        doc! { "$pullAll": { "patterns": [regex("a")] } },
    );
    check(|b| b.codes.pull(255), doc! { "$pull": { "codes": "ff" } });
}

#[test]
fn positions() {
    check(|b| b.ratings.at(2).set(1), doc! { "$set": { "ratings.2": 1 } });
    check(
        |b| b.ratings.matched().set(1),
        doc! { "$set": { "ratings.$": 1 } },
    );
    check(|b| b.ratings.each().inc(1), doc! { "$inc": { "ratings.$[]": 1 } });
    check(
        |b| b.checkouts.matched().days.inc(1),
        doc! { "$inc": { "checkouts.$.days": 1 } },
    );
    check(
        |b| b.checkouts.each().notes.push("x"),
        doc! { "$push": { "checkouts.$[].notes": "x" } },
    );
}

#[test]
fn filtered_elements_carry_their_filter() {
    check_filtered(
        |b| {
            b.checkouts
                .filtered(|c| c.days.gt(7) & c.by.eq("joe"))
                .days
                .set(7)
        },
        doc! { "$set": { "checkouts.$[f0].days": 7 } },
        [doc! { "f0.days": { "$gt": 7 }, "f0.by": "joe" }],
    );
    check_filtered(
        |b| b.ratings.filtered(|v| v.lt(1) | v.gt(5)).set(3),
        doc! { "$set": { "ratings.$[f0]": 3 } },
        [doc! { "$or": [{ "f0": { "$lt": 1 } }, { "f0": { "$gt": 5 } }] }],
    );
    check_filtered(
        |b| {
            let late = b.checkouts.filtered(|c| c.days.gt(7));
            let low = b.ratings.filtered(|v| v.lt(3));
            late.days.set(7) & low.inc(1) & late.by.set("x")
        },
        doc! {
            "$set": { "checkouts.$[f0].days": 7, "checkouts.$[f0].by": "x" },
            "$inc": { "ratings.$[f1]": 1 },
        },
        [doc! { "f0.days": { "$gt": 7 } }, doc! { "f1": { "$lt": 3 } }],
    );
    check_filtered(
        |b| {
            b.checkouts
                .filtered(|c| c.days.gt(7))
                .notes
                .filtered(|n| n.eq("x"))
                .set("y")
        },
        doc! { "$set": { "checkouts.$[f0].notes.$[f1]": "y" } },
        [doc! { "f0.days": { "$gt": 7 } }, doc! { "f1": "x" }],
    );
    check_filtered(
        |b| b.ratings.filtered(|_| Filter::all()).set(3),
        doc! { "$set": { "ratings.$[f0]": 3 } },
        [doc! { "f0": { "$exists": true } }],
    );
    check_filtered(
        |b| {
            Update::raw(doc! { "$set": { "grid.$[f0]": 1 } }).array_filter(doc! { "f0": 2 })
                & b.ratings
                    .filtered(|_| Filter::raw(doc! { "a": 1, "$or": [{ "b": 2 }] }))
                    .inc(1)
        },
        doc! { "$set": { "grid.$[f0]": 1 }, "$inc": { "ratings.$[f1]": 1 } },
        [doc! { "f0": 2 }, doc! { "f1.a": 1, "$or": [{ "f1.b": 2 }] }],
    );
}

#[test]
fn updates_combine_by_operator() {
    check(
        |b| b.title.set("x") & b.year.inc(1) & b.subtitle.set("y"),
        doc! { "$set": { "title": "x", "subtitle": "y" }, "$inc": { "year": 1 } },
    );
    check(
        |b| Update::raw(doc! { "$set": { "a.b": 1 }, "$min": { "c": 2 } }) & b.title.set("x"),
        doc! { "$set": { "a.b": 1, "title": "x" }, "$min": { "c": 2 } },
    );
    check(|_| Update::none(), doc! { "$set": {} });
    check(
        |b| Update::all([b.year.inc(1), Update::none()]),
        doc! { "$inc": { "year": 1 } },
    );
}

#[test]
fn conflicts_name_both_paths() {
    let conflict = ErrorKind::InvalidArgument;
    refused(|b| b.year.set(1) & b.year.inc(1), conflict, "year");
    refused(
        |b| b.publisher.name.set("x") & b.publisher.unset(),
        conflict,
        "publisher, publisher.name",
    );
    refused(
        |b| b.title.rename(&b.publisher.name) & b.publisher.unset(),
        conflict,
        "publisher, publisher.name",
    );
    refused(
        |b| b.ratings.each().inc(1) & b.ratings.each().inc(1),
        conflict,
        "ratings.$[]",
    );
    refused(|b| b.title.rename(&b.title), conflict, "title");
    refused(|b| b.title.rename(&b.authors.at(0)), conflict, "title, authors.0");
    check(
        |b| Update::raw(doc! { "$set": { "a": 1, "a-b": 2, "ab.c": 3 } }) & b.year.set(1),
        doc! { "$set": { "a": 1, "a-b": 2, "ab.c": 3, "year": 1 } },
    );
}

#[test]
fn a_pipeline_stands_alone() {
    let built = Update::<Book>::pipeline([doc! { "$set": { "a": 1 } }])
        .build()
        .unwrap();
    assert!(matches!(built.modification, Modification::Pipeline(stages) if stages.len() == 1));
    let both = Update::<Book>::pipeline([doc! { "$set": { "a": 1 } }]) & Book::fields().year.inc(1);
    assert_eq!(both.build().unwrap_err().kind(), ErrorKind::InvalidArgument);
    refused(
        |_| Update::raw(doc! { "title": "x" }),
        ErrorKind::InvalidArgument,
        "title",
    );
}

#[test]
fn values_that_do_not_fit_name_the_field() {
    refused(|b| b.big.set(u64::MAX) & b.year.inc(1), ErrorKind::Encode, "big");
    refused(
        |b| b.titles.key("$x").set("y"),
        ErrorKind::InvalidArgument,
        "titles.$x",
    );
    let update = Book::fields().codes.at(0).set(255);
    assert_eq!(update.build().unwrap_err().kind(), ErrorKind::Unsupported);
    let update = Book::fields().codes.pull_where(|c| c.eq(255));
    assert_eq!(update.build().unwrap_err().kind(), ErrorKind::Unsupported);
}
