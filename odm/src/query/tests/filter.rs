use bson::{Document, RawDocumentBuf, doc};

use super::{Book, BookFields, Isbn, Kind, checkout, regex};
use crate::{BsonType, ErrorKind, Filter, Model};

#[track_caller]
fn check(filter: impl FnOnce(BookFields<Book>) -> Filter<Book>, expected: Document) {
    let document = filter(Book::fields()).to_document().unwrap();
    assert_eq!(
        document,
        RawDocumentBuf::try_from(&expected).unwrap(),
        "{document:?}"
    );
}

#[track_caller]
fn refused(filter: impl FnOnce(BookFields<Book>) -> Filter<Book>, kind: ErrorKind, path: &str) {
    let error = filter(Book::fields()).to_document().unwrap_err();
    assert_eq!((error.kind(), error.path()), (kind, Some(path)), "{error}");
}

#[test]
fn comparisons() {
    check(|b| b.title.eq("Ulysses"), doc! { "title": "Ulysses" });
    check(|b| b.title.ne("Ulysses"), doc! { "title": { "$ne": "Ulysses" } });
    check(|b| b.year.gt(1900), doc! { "year": { "$gt": 1900 } });
    check(|b| b.year.gte(1900), doc! { "year": { "$gte": 1900 } });
    check(|b| b.available.lt(3), doc! { "available": { "$lt": 3_i64 } });
    check(|b| b.price.lte(9.5), doc! { "price": { "$lte": 9.5 } });
    check(|b| b.year.is_in([1, 2]), doc! { "year": { "$in": [1, 2] } });
    check(|b| b.year.not_in(vec![1]), doc! { "year": { "$nin": [1] } });
    check(
        |b| b.title.is_in(["a", "b"]),
        doc! { "title": { "$in": ["a", "b"] } },
    );
    check(|b| b.year.is_in(None::<i32>), doc! { "year": { "$in": [] } });
    check(|b| b.kind.eq(Kind::Poetry), doc! { "kind": "verse" });
    check(|b| b.isbn.gt(Isbn("9".into())), doc! { "isbn": { "$gt": "9" } });
    check(
        |b| b.publisher.founded.gt(1900),
        doc! { "publisher.founded": { "$gt": 1900 } },
    );
    check(|b| b.printer.name.eq("x"), doc! { "printer.name": "x" });
}

#[test]
fn stored_patterns_and_documents_that_look_like_operators_are_compared() {
    check(
        |b| b.pattern.eq(regex("a")),
        doc! { "pattern": { "$eq": regex("a") } },
    );
    check(
        |b| b.pattern.ne(regex("a")),
        doc! { "pattern": { "$not": { "$eq": regex("a") } } },
    );
    check(
        |b| b.pattern.is_in([regex("a"), regex("b")]),
        doc! { "$or": [{ "pattern": { "$eq": regex("a") } }, { "pattern": { "$eq": regex("b") } }] },
    );
    check(
        |b| b.patterns.has_all([regex("a"), regex("b")]),
        doc! { "$and": [{ "patterns": { "$eq": regex("a") } }, { "patterns": { "$eq": regex("b") } }] },
    );
    check(
        |b| b.extra.eq(bson::bson!({ "$gt": 1 })),
        doc! { "extra": { "$eq": { "$gt": 1 } } },
    );
    check(
        |b| !!b.extra.eq(bson::bson!({ "$gt": 1 })),
        doc! { "extra": { "$not": { "$not": { "$eq": { "$gt": 1 } } } } },
    );
}

#[test]
fn presence_and_type() {
    check(|b| b.title.exists(), doc! { "title": { "$exists": true } });
    check(|b| b.title.missing(), doc! { "title": { "$exists": false } });
    check(
        |b| b.publisher.exists(),
        doc! { "publisher": { "$exists": true } },
    );
    check(
        |b| b.title.has_type(BsonType::Int32),
        doc! { "title": { "$type": "int" } },
    );
    check(
        |b| b.title.has_type_in([BsonType::Number, BsonType::String]),
        doc! { "title": { "$type": ["number", "string"] } },
    );
    check(|b| b.subtitle.is_null(), doc! { "subtitle": { "$type": "null" } });
    check(|b| b.subtitle.is_none(), doc! { "subtitle": null });
    check(|b| b.subtitle.is_some(), doc! { "subtitle": { "$ne": null } });
    check(|b| b.subtitle.eq(None), doc! { "subtitle": null });
}

#[test]
fn text_of_users_is_escaped() {
    check(
        |b| b.title.starts_with("a.b"),
        doc! { "title": { "$regex": "^a\\.b" } },
    );
    check(
        |b| b.title.contains("(x|y)*"),
        doc! { "title": { "$regex": "\\(x\\|y\\)\\*" } },
    );
    check(
        |b| b.title.ends_with("$"),
        doc! { "title": { "$regex": "\\$\\z" } },
    );
    check(
        |b| b.title.eq_ignore_case("[ä]\\"),
        doc! { "title": { "$regex": "^\\[ä\\]\\\\\\z", "$options": "i" } },
    );
    check(
        |b| b.title.contains("a\0b"),
        doc! { "title": { "$regex": "a\\x00b" } },
    );
    check(
        |b| b.title.regex("^a.*z$", "im"),
        doc! { "title": { "$regex": "^a.*z$", "$options": "im" } },
    );
    check(
        |b| !b.subtitle.contains("x"),
        doc! { "subtitle": { "$not": { "$regex": "x" } } },
    );
    check(|b| b.kind.starts_with("v"), doc! { "kind": { "$regex": "^v" } });
}

#[test]
fn numbers_and_bits() {
    check(
        |b| b.year.modulo(4, 0),
        doc! { "year": { "$mod": [4_i64, 0_i64] } },
    );
    check(
        |b| b.flags.bits_all_set(0b101),
        doc! { "flags": { "$bitsAllSet": 5_i64 } },
    );
    check(
        |b| b.flags.bits_any_set([0, 2]),
        doc! { "flags": { "$bitsAnySet": [0_i64, 2_i64] } },
    );
    check(
        |b| b.flags.bits_all_clear(1),
        doc! { "flags": { "$bitsAllClear": 1_i64 } },
    );
    check(
        |b| b.flags.bits_any_clear(1),
        doc! { "flags": { "$bitsAnyClear": 1_i64 } },
    );
}

#[test]
fn arrays() {
    check(|b| b.authors.has("Joyce"), doc! { "authors": "Joyce" });
    check(
        |b| !b.authors.has("Joyce"),
        doc! { "authors": { "$ne": "Joyce" } },
    );
    check(|b| b.authors.eq(["a", "b"]), doc! { "authors": ["a", "b"] });
    check(
        |b| b.authors.has_all(["a", "b"]),
        doc! { "authors": { "$all": ["a", "b"] } },
    );
    check(
        |b| b.authors.has_any(["a", "b"]),
        doc! { "authors": { "$in": ["a", "b"] } },
    );
    check(|b| b.authors.size(2), doc! { "authors": { "$size": 2_i64 } });
    check(|b| b.authors.is_empty(), doc! { "authors": { "$size": 0_i64 } });
    check(
        |b| b.authors.any().starts_with("J"),
        doc! { "authors": { "$regex": "^J" } },
    );
    check(|b| b.ratings.any().gt(4), doc! { "ratings": { "$gt": 4 } });
    check(|b| b.ratings.at(0).gt(4), doc! { "ratings.0": { "$gt": 4 } });
    check(|b| b.grid.at(1).at(2).eq(4), doc! { "grid.1.2": 4 });
    check(
        |b| b.grid.has([1, 2]),
        doc! { "grid": { "$elemMatch": { "$eq": [1, 2] } } },
    );
    check(|b| b.checkouts.any().by.eq("joe"), doc! { "checkouts.by": "joe" });
    check(
        |b| b.checkouts.at(3).days.lt(7),
        doc! { "checkouts.3.days": { "$lt": 7 } },
    );
    check(
        |b| b.checkouts.has(checkout("joe", 3)),
        doc! { "checkouts": { "by": "joe", "days": 3, "notes": [] } },
    );
    check(|b| b.titles.key("en").eq("x"), doc! { "titles.en": "x" });
}

#[test]
fn one_element_meets_the_whole_condition() {
    check(
        |b| b.checkouts.elem_match(|c| c.by.eq("joe") & c.days.gt(7)),
        doc! { "checkouts": { "$elemMatch": { "by": "joe", "days": { "$gt": 7 } } } },
    );
    check(
        |b| {
            b.checkouts
                .elem_match(|c| c.notes.elem_match(|n| n.contains("x")))
        },
        doc! { "checkouts": { "$elemMatch": { "notes": { "$elemMatch": { "$regex": "x" } } } } },
    );
    check(
        |b| b.checkouts.elem_match(|c| c.by.eq("joe") | c.days.gt(7)),
        doc! { "checkouts": { "$elemMatch": { "$or": [{ "by": "joe" }, { "days": { "$gt": 7 } }] } } },
    );
    check(
        |b| b.ratings.elem_match(|v| v.gt(1) & v.lt(5)),
        doc! { "ratings": { "$elemMatch": { "$gt": 1, "$lt": 5 } } },
    );
    check(
        |b| b.ratings.elem_match_value(|v| v.gt(1) & !v.eq(3)),
        doc! { "ratings": { "$elemMatch": { "$gt": 1, "$ne": 3 } } },
    );
    check(
        |b| b.ratings.elem_match(|v| !(v.gt(1) & v.lt(5))),
        doc! { "ratings": { "$elemMatch": { "$not": { "$gt": 1, "$lt": 5 } } } },
    );
    check(
        |b| b.grid.elem_match(|row| row.elem_match(|v| v.gt(1))),
        doc! { "grid": { "$elemMatch": { "$elemMatch": { "$gt": 1 } } } },
    );
    check(
        |b| !b.ratings.elem_match(|v| v.gt(1)),
        doc! { "ratings": { "$not": { "$elemMatch": { "$gt": 1 } } } },
    );
    check(
        |b| b.ratings.elem_match(|_| Filter::all()),
        doc! { "ratings": { "$elemMatch": { "$exists": true } } },
    );
    check(
        |b| b.ratings.elem_match(|v| v.lt(1) | v.gt(5)),
        doc! { "$or": [
            { "ratings": { "$elemMatch": { "$lt": 1 } } },
            { "ratings": { "$elemMatch": { "$gt": 5 } } },
        ] },
    );
    refused(
        |b| b.ratings.elem_match(|v| v.ne(3) & (v.lt(1) | v.gt(5))),
        ErrorKind::InvalidArgument,
        "ratings",
    );
    refused(
        |b| b.ratings.elem_match(|v| v.gt(1) & v.gt(5)),
        ErrorKind::InvalidArgument,
        "ratings.$gt",
    );
}

#[test]
fn conditions_on_different_paths_share_a_document() {
    check(
        |b| b.title.eq("x") & b.year.gt(1) & b.available.gt(0),
        doc! { "title": "x", "year": { "$gt": 1 }, "available": { "$gt": 0_i64 } },
    );
    check(
        |b| b.year.gte(1) & b.year.lt(5) & b.title.eq("x"),
        doc! { "year": { "$gte": 1, "$lt": 5 }, "title": "x" },
    );
    check(
        |b| b.title.eq("x") & (b.year.eq(1) | b.year.eq(2)),
        doc! { "title": "x", "$or": [{ "year": 1 }, { "year": 2 }] },
    );
    check(
        |b| b.title.eq("x") & Filter::raw(doc! { "a": 1, "b": 2 }) & Filter::comment("why"),
        doc! { "title": "x", "a": 1, "b": 2, "$comment": "why" },
    );
}

#[test]
fn conditions_that_collide_do_not() {
    check(
        |b| b.year.gt(1) & b.year.gt(5),
        doc! { "$and": [{ "year": { "$gt": 1 } }, { "year": { "$gt": 5 } }] },
    );
    check(
        |b| b.authors.has("a") & b.authors.has("b") & b.year.eq(1),
        doc! { "$and": [{ "authors": "a" }, { "authors": "b", "year": 1 }] },
    );
    check(
        |b| b.year.eq(1) & b.year.gt(0),
        doc! { "$and": [{ "year": 1 }, { "year": { "$gt": 0 } }] },
    );
    check(
        |b| (b.year.eq(1) | b.year.eq(2)) & (b.title.eq("x") | b.title.eq("y")),
        doc! { "$and": [
            { "$or": [{ "year": 1 }, { "year": 2 }] },
            { "$or": [{ "title": "x" }, { "title": "y" }] },
        ] },
    );
    check(
        |b| b.year.gt(1) & Filter::raw(doc! { "year": { "$lt": 5 } }),
        doc! { "$and": [{ "year": { "$gt": 1 } }, { "year": { "$lt": 5 } }] },
    );
    check(
        |b| b.title.contains("a") & b.title.eq_ignore_case("b"),
        doc! { "$and": [
            { "title": { "$regex": "a" } },
            { "title": { "$regex": "^b\\z", "$options": "i" } },
        ] },
    );
}

#[test]
fn logic() {
    check(|_| Filter::all(), doc! {});
    check(|_| Filter::none(), doc! { "_id": { "$in": [] } });
    check(|_| !Filter::all(), doc! { "_id": { "$in": [] } });
    check(|b| Filter::all() & b.year.eq(1), doc! { "year": 1 });
    check(|b| Filter::none() | b.year.eq(1), doc! { "year": 1 });
    check(|b| Filter::all() | b.year.eq(1), doc! {});
    check(|_| Filter::or([]), doc! { "_id": { "$in": [] } });
    check(|_| Filter::and([]), doc! {});
    check(|_| Filter::nor([]), doc! {});
    check(
        |b| b.year.eq(1) | b.year.eq(2) | b.title.eq("x"),
        doc! { "$or": [{ "year": 1 }, { "year": 2 }, { "title": "x" }] },
    );
    check(
        |b| Filter::nor([b.year.eq(1), b.title.eq("x")]),
        doc! { "$nor": [{ "year": 1 }, { "title": "x" }] },
    );
    check(
        |b| !(b.year.eq(1) | b.title.eq("x")),
        doc! { "$nor": [{ "year": 1 }, { "title": "x" }] },
    );
    check(
        |b| !(b.year.eq(1) & b.title.eq("x")),
        doc! { "$nor": [{ "year": 1, "title": "x" }] },
    );
    check(
        |b| !!(b.year.eq(1) | b.title.eq("x")),
        doc! { "$or": [{ "year": 1 }, { "title": "x" }] },
    );
    check(|b| !b.year.gt(1), doc! { "year": { "$not": { "$gt": 1 } } });
    check(|b| !!b.year.is_in([1]), doc! { "year": { "$in": [1] } });
    check(|_| !Filter::raw(doc! { "a": 1 }), doc! { "$nor": [{ "a": 1 }] });
    check(
        |_| Filter::expr(doc! { "$gt": ["$spent", "$budget"] }),
        doc! { "$expr": { "$gt": ["$spent", "$budget"] } },
    );
}

#[test]
fn positions_of_updates_are_refused() {
    refused(
        |b| b.ratings.matched().gt(1),
        ErrorKind::InvalidArgument,
        "ratings.$",
    );
    refused(
        |b| b.ratings.each().gt(1),
        ErrorKind::InvalidArgument,
        "ratings.$[]",
    );
    refused(
        |b| b.ratings.filtered(|v| v.gt(3)).gt(1),
        ErrorKind::InvalidArgument,
        "ratings.$[..]",
    );
    refused(
        |b| b.titles.key("a.b").eq("x"),
        ErrorKind::InvalidArgument,
        "titles.a.b",
    );
}

#[test]
fn the_document_itself_is_no_field() {
    let root = crate::Field::<Book, i32>::new(crate::Path::root());
    for filter in [root.gt(1), !root.gt(1), root.gt(1) | Book::fields().year.eq(1)] {
        assert_eq!(
            filter.to_document().unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
    }
    assert!(root.asc().to_document().is_err());
    assert!(root.set(1).build().is_err());
}

#[test]
fn raw_filters_are_checked() {
    let mut deep = doc! { "a": 1 };
    for _ in 0..300 {
        deep = doc! { "a": deep };
    }
    let error = Filter::<Book>::raw(deep).to_document().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
