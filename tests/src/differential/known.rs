//! What is not promised, and what the server is known to do otherwise. The guide's page `supported.md` names the
//! latter with the reasons.

mod asked;

use bson::{Bson, Document, RawDocumentBuf};

pub(super) use self::asked::sets_again;
use self::asked::{
    has_companion, is_at_an_end, is_by_position, is_grouped, is_inside_another, is_spared, leaves_holes,
    matches_around_set, orders_by_nested, projects_first, texts,
};
use super::commands::Step;
use super::comparable::mapped;
use super::machine::{Answer, sorted, without_digits};

/// Operators that may show a moment in what they give.
const MOMENTS: [&str; 9] = [
    "$date",
    "$convert",
    "$toDecimal",
    "$toDouble",
    "$toHashedIndexKey",
    "$toLong",
    "$toLower",
    "$toString",
    "$toUpper",
];

/// Codes of one error, of which the server says the first or the second by how far its optimizer went.
const SAME_CODES: [(i32, i32); 1] = [(17046, 17310)];

/// Whether a command may show parts of a moment that each of the two has of its own.
pub(super) fn shows_moments(command: &Document, before: &[Step]) -> bool {
    let text = command.to_string();
    let has_moments =
        text.contains("$$NOW") || texts(before).iter().any(|text| text.contains("$currentDate"));
    has_moments && MOMENTS.iter().any(|part| text.contains(part))
}

/// Why these answers differ, where the server is known for it: in few words, under which a run counts it. `before`: the
/// commands so far.
pub(super) fn reason(
    command: &Document,
    before: &[Step],
    own: &Answer,
    their: &Answer,
) -> Option<&'static str> {
    use Answer::{Documents, Refused, Values};
    let text = command.to_string();
    let name = command.keys().next().map_or("", String::as_str);
    let has_sparse = || {
        before
            .iter()
            .any(|step| step.command.to_string().contains("\"sparse\": true"))
    };
    let has_index = || before.iter().any(|step| step.name() == "createIndexes");
    let has_wildcard = || before.iter().any(|step| step.command.to_string().contains("$**"));
    let has_collation = || {
        let mut all = texts(before).into_iter().chain([text.clone()]);
        all.any(|text| text.contains("collation"))
    };
    let both_answer = !own.is_refused() && !their.is_refused();
    match (own, their) {
        // The server changes the document before it finds that it cannot project it.
        (Refused(a), Refused(b)) if a == b => {
            (name == "findAndModify").then_some("changed before it could not be projected")
        }
        // A cursor goes on in the session in which it began, and the driver has more than one.
        (_, Refused(Some(50738))) => Some("a cursor in another session"),
        // Of a text that is no date, and of wrong options, it shows the first byte alone, and drivers cannot read the
        // half of a character.
        (Refused(Some(241 | 51_108)), Refused(None))
            if !text.is_ascii() || texts(before).iter().any(|text| !text.is_ascii()) =>
        {
            Some("an error with half a character")
        }
        // It looks for a text index while it reads the filter, before what stands behind the search and around it.
        (Refused(Some(_)), Refused(Some(27 | 17313 | 2))) if text.contains("$text") => {
            Some("two errors beside a text search")
        }
        (own, their) if text.contains("$text") && has_failed(own) && has_failed_with(their, 27) => {
            Some("two errors beside a text search")
        }
        // An `$or` keeps it from seeing that nothing matches.
        (_, Refused(Some(27))) if text.contains("$text") && text.contains("$alwaysFalse") => {
            Some("a search beside what nothing matches")
        }
        // A `$match` that it moves or joins with another is parsed again from a text that it cannot read.
        (_, Refused(Some(2))) if text.contains("$elemMatch") && text.contains("$all") => {
            Some("cannot read the filter that it moved")
        }
        // A view is read by a pipeline, in which nothing is near, whatever it is to be near to.
        (Refused(Some(2)), Refused(Some(5_626_500)))
            if text.contains("$near") && before.iter().any(|step| step.command.contains_key("viewOn")) =>
        {
            Some("two errors, one of them nearness in a view")
        }
        // The collation of a view is looked at before what is asked of it.
        (Refused(Some(_)), Refused(Some(167))) => Some("two errors, one of them a view's collation"),
        // Behind a `$facet` a limit is left out, and with it the exchange of the stages behind it.
        (own, Refused(Some(_)))
            if !own.is_refused()
                && ["$facet", "$limit", "$skip"]
                    .iter()
                    .all(|stage| text.contains(stage)) =>
        {
            Some("computed behind a $facet before it is passed over")
        }
        // An update by a pipeline sorts arrays by bytes where the collation is the collection's own.
        _ if both_answer
            && text.contains("$sortArray")
            && !text.contains("collation")
            && ["update", "findAndModify"].contains(&name)
            && texts(before).iter().any(|text| text.contains("collation")) =>
        {
            Some("$sortArray in an update goes by bytes")
        }
        // An assertion in its planner; a symbol in an index with a collation.
        (_, their) if has_failed_with(their, 8) => Some("an assertion of its planner: code 8"),
        (_, their) if has_failed_with(their, 201) => Some("a symbol in an index with a collation: code 201"),
        (Refused(Some(a)), Refused(Some(b))) => {
            if SAME_CODES.contains(&(*a, *b)) || SAME_CODES.contains(&(*b, *a)) {
                Some("two codes of one error")
            } else if is_grouped(&text) {
                // A group runs in one of its two engines, which have codes of their own.
                Some("two errors in a group")
            } else if text.contains("\"hint\"") && text.contains("hashed") {
                // As below: by a hashed index another document comes first.
                Some("the first document by a hash")
            } else if text.contains("$sample") {
                // A sample is taken before the stages ahead of it that change each document by itself, and which
                // document comes first to what fails is by chance.
                Some("two errors around a $sample")
            } else if projects_first(command) {
                // What its cursor projects, it projects of many documents before the stages behind it run.
                Some("two errors in and behind a first $project")
            } else if is_spared(command) {
                Some("two errors in conditions")
            } else {
                // Which document it comes to goes by what an index holds of an `$expr`, as below.
                (name == "findAndModify" && text.contains("$expr") && (has_wildcard() || has_sparse()))
                    .then_some("two errors by an index for an $expr")
            }
        }
        // Assertions where it builds a `$switch`, or bounds of symbols under a `$not`, in its other engine.
        (_, their) if has_failed_with(their, 4_822_806) => Some("an assertion of a $switch: code 4822806"),
        (_, their) if has_failed_with(their, 4_457_011) => Some("an assertion of a $not: code 4457011"),
        // Near a point, or by a hint to a wildcard index, it does not find a plan where there is one.
        (own, their) if has_failed_with(their, 291) && !matches!(own, Refused(_)) => {
            (text.contains("$geoNear") || text.contains("$near") || has_wildcard())
                .then_some("it finds no plan: code 291")
        }
        // It ignores nearness where a hint names an index that cannot answer it, moves a `$match` in front of the
        // `$project` of a view, where a hint is for it, and looks for a symbol in an index of another collation.
        (own, their)
            if has_failed_with(own, 291)
                && text.contains("\"hint\"")
                && !their.is_refused()
                && (text.contains("$near")
                    || (text.contains("Symbol(") && has_wildcard())
                    || before.iter().any(|step| step.command.contains_key("viewOn"))) =>
        {
            Some("a hint that it does not hold to")
        }
        // By an index, with an order, it projects documents before it leaves the first of them out; of an `$or` where it tries
        // several plans.
        (Documents(_), Refused(Some(_)))
            if name == "find"
                && has_index()
                && text.contains("\"$or\"")
                && ["skip", "sort"].iter().all(|part| command.contains_key(part))
                && command
                    .get_document("projection")
                    .is_ok_and(|projection| projection.to_string().contains('$')) =>
        {
            Some("projected before it is passed over")
        }
        (Documents(_), Refused(Some(51246))) => command
            .contains_key("skip")
            .then_some("projected before it is passed over"),
        // The first document by a hashed index is that of the least hash, and its hash is another.
        (own, their)
            if !matches!(own, Refused(_))
                && !matches!(their, Refused(_))
                && text.contains("\"hint\"")
                && text.contains("hashed")
                && ["update", "delete", "findAndModify"].contains(&name) =>
        {
            Some("the first document by a hash")
        }
        // So is the first one that an update cannot change.
        (Answer::Reply(own), Answer::Reply(their))
            if name == "update"
                && texts(before).iter().any(|text| text.contains("\"hashed\""))
                && [own, their]
                    .iter()
                    .all(|reply| reply.get("errors").is_ok_and(|errors| errors.is_some())) =>
        {
            Some("the first document by a hash")
        }
        // An index by a position has a key for the element there alone, and none for what is missing in other elements.
        _ if both_answer
            && before.iter().any(|step| is_by_position(&step.command))
            && text.contains("null") =>
        {
            Some("null by an index with a position")
        }
        // A symbol has its bytes as its place among strings that a collation orders; an `$expr` compares it in both ways.
        (Documents(own), Documents(their))
            if (text.contains("sort") && rows(own).len() == rows(their).len()
                || text.contains("$expr") && text.contains("\"$gt"))
                && has_collation()
                && texts(before).iter().any(|text| text.contains("Symbol(")) =>
        {
            Some("a symbol beside a collation")
        }
        // It looks for what is not less than MinKey, or not greater than MaxKey, in an index without what is missing.
        _ if has_index()
            && (is_at_an_end(&text)
                || texts(before)
                    .iter()
                    .any(|text| text.contains("viewOn") && is_at_an_end(text))) =>
        {
            Some("MinKey or MaxKey by an index")
        }
        // By an index, the values of a field are those of its keys: `null` where there is none, undefined for an empty
        // array, and an array in an array once more taken apart.
        (Values(_, own), Values(_, their)) if own == their => Some("distinct keys of an index"),
        // Where one field of an index is inside another, it looks for the former in the key of the latter.
        (Values(_, own), Values(_, their)) => {
            let is_found = own.is_empty() || their.is_empty();
            (is_found && before.iter().any(|step| is_inside_another(&step.command)))
                .then_some("distinct keys of the document around a field")
        }
        // It looks for what an `$expr` compares in an index that does not hold what is missing.
        _ if text.contains("$expr") && (has_wildcard() || has_sparse()) => {
            Some("an $expr by an index without what is missing")
        }
        // Of several documents it changes the first that it comes to, by an index for what an `$expr` compares, for
        // arrays, or for what is there at all. (The machine sends changes that are no upserts to
        // one document alone.)
        (own, their)
            if ["findAndModify", "update", "delete"].contains(&name)
                && (text.contains("$expr")
                    || (text.contains("\"$exists\": true") && text.contains("\"upsert\": true"))
                    || (text.contains("$type") && text.contains("\"array\"")))
                && !command.contains_key("sort")
                && has_index()
                && !matches!(own, Refused(_))
                && !matches!(their, Refused(_)) =>
        {
            Some("the first of several documents by an index")
        }
        // Whether an update fails by a condition, or by what it does, goes by the order of the conditions.
        (own, their)
            if has_failed(own) && has_failed(their) && has_companion(&Bson::Document(command.clone())) =>
        {
            Some("two errors in conditions")
        }
        // The bytes by which a collation orders strings are those of another version of its rules.
        (Answer::Reply(own), Answer::Reply(their))
            if has_collation()
                && without_key_values(own).is_some_and(|own| Some(own) == without_key_values(their)) =>
        {
            Some("the bytes of a collated key")
        }
        // By an index it looks for an array that begins with an array among the elements, and loses documents.
        _ if both_answer && has_index() && orders_by_nested(command) => {
            Some("an array that begins with an array, by an index")
        }
        // The same of an index that takes no arrays beside one whose key is taken.
        (Answer::Reply(own), Answer::Reply(their))
            if before.iter().any(|step| step.name() == "collMod")
                && matches!(
                    (refusals(own).as_deref(), refusals(their).as_deref()),
                    (Some([11_000]), Some([16_766])) | (Some([16_766]), Some([11_000]))
                ) =>
        {
            Some("which index is asked first behind a collMod")
        }
        // An order for nothing counts as a change, if the document is not changed in its place.
        (Answer::Reply(own), Answer::Reply(their))
            if text.contains("$push")
                && text.contains("$sort")
                && without_count(own) == without_count(their) =>
        {
            Some("$push of nothing with $sort")
        }
        // A field that is missing has kept its place where the document was computed.
        (Answer::Reply(own), Answer::Reply(their))
            if text.contains("$setField") && sorted(own.as_bytes()) == sorted(their.as_bytes()) =>
        {
            Some("the place of a field that is set again")
        }
        (Documents(own), Documents(their)) if text.contains("$setField") && are_anagrams(own, their) => {
            Some("the place of a field that is set again")
        }
        // Its other engine has no symbols and no code: by such a key a group gives a string.
        (Documents(own), Documents(their))
            if is_grouped(&text) && shows_symbols(own) && as_strings(own) == as_strings(their) =>
        {
            Some("symbols and code in a group")
        }
        // The parts of a moment, which each has of its own.
        (Documents(own), Documents(their))
            if rows(own).len() == rows(their).len() && shows_moments(command, before) =>
        {
            Some("the clock")
        }
        // The same of the one document that a `findAndModify` dates, and computes with.
        (Answer::Reply(own), Answer::Reply(their))
            if command.contains_key("fields")
                && ["$$NOW", "$currentDate"].iter().any(|now| text.contains(now))
                && without_numbers(own).is_some_and(|own| Some(own) == without_numbers(their)) =>
        {
            Some("the clock")
        }
        // The same of a moment of before, which may be a text now.
        (Answer::Reply(own), Answer::Reply(their))
            if name == "findAndModify"
                && shows_moments(command, before)
                && without_digits(&format!("{own:?}")) == without_digits(&format!("{their:?}")) =>
        {
            Some("the clock")
        }
        // Whether documents that one update dates are of one moment goes by the clock, and with it their order and
        // their groups.
        _ if (both_answer || name == "findAndModify")
            && (text.contains("\"sort\"") || text.contains("\"$sort\"") || is_grouped(&text))
            && before.iter().any(|step| {
                let text = step.command.to_string();
                text.contains("$currentDate") && text.contains("\"multi\": true")
            }) =>
        {
            Some("the clock")
        }
        // The same of a unique index, in which two dates are taken or not.
        (own, their)
            if (has_failed_with(own, 11_000) != has_failed_with(their, 11_000))
                && texts(before).iter().any(|text| text.contains("\"unique\": true"))
                && text.contains("$currentDate")
                && text.contains("\"multi\": true") =>
        {
            Some("the clock")
        }
        // A sample comes in any order.
        (Documents(own), Documents(their)) if text.contains("$sample") && rows(own) == rows(their) => {
            Some("the order of a $sample")
        }
        // A document of several fields is the same key to its other engine with a field that is undefined, or without.
        (Documents(own), Documents(their))
            if is_grouped(&text)
                && rows(own).len() > rows(their).len()
                && texts(before).iter().any(|text| text.contains("undefined")) =>
        {
            Some("a group by a field that is undefined or missing")
        }
        // Of equal values the first of a sample stands for a group.
        (Documents(own), Documents(their))
            if text.contains("$sample") && is_grouped(&text) && rows(own).len() == rows(their).len() =>
        {
            Some("the order of a $sample")
        }
        // The same in a projection of nothing but fields of an index.
        (Documents(own), Documents(their))
            if command.contains_key("projection")
                && has_index()
                && without_nulls(own) == without_nulls(their) =>
        {
            Some("null in a covered projection")
        }
        // A document that was made for a field without a value is not the empty one to a later `$match`.
        (Documents(own), Documents(their))
            if ["$addFields", "$set"].iter().any(|stage| text.contains(stage))
                && text.contains("$match")
                && are_empty_within(own, their) =>
        {
            Some("a document made for a field without a value")
        }
        // It takes a condition on the document around a field that was set for one that the field does not matter to.
        (Documents(_), Documents(_)) if matches_around_set(command) => {
            Some("a $match on the document around a field that is set")
        }
        // An inclusion in an array, beside a computed field, leaves holes in it that `$unwind` and groups find, and what
        // is behind them may fail for.
        _ if (text.contains("$unwind") || is_grouped(&text)) && leaves_holes(command) => {
            Some("elements that a $project left out")
        }
        // The least and the greatest value that its other engine has grouped are documents to `$redact`.
        (Documents(_), Documents(_))
            if text.contains("$redact")
                && is_grouped(&text)
                && texts(before)
                    .iter()
                    .any(|text| text.contains("MinKey") || text.contains("MaxKey")) =>
        {
            Some("a $redact of MinKey or MaxKey of a group")
        }
        (Documents(own), Documents(their)) if own != their => {
            if closes_early(own, their) {
                Some("when a cursor with nothing left is closed")
            } else if is_wrapped(their) {
                Some("a group by MinKey or MaxKey")
            } else {
                (sets_again(command) && are_anagrams(own, their))
                    .then_some("the place of a field that is set again")
            }
        }
        (own, their) if own.is_refused() != their.is_refused() => {
            let of_view = |step: &Step| step.command.contains_key("viewOn") && is_spared(&step.command);
            (is_spared(command) || before.iter().any(of_view))
                .then_some("an error that a moved condition spares")
        }
        _ => None,
    }
}

/// The documents, in no order.
fn rows(batches: &[Vec<RawDocumentBuf>]) -> Vec<&[u8]> {
    let mut rows: Vec<&[u8]> = batches.iter().flatten().map(|row| row.as_bytes()).collect();
    rows.sort_unstable();
    rows
}

/// Whether the documents of one alone have an empty document in them.
fn are_empty_within(own: &[Vec<RawDocumentBuf>], their: &[Vec<RawDocumentBuf>]) -> bool {
    let (own, their) = (rows(own), rows(their));
    let alone = |some: &[&[u8]], others: &[&[u8]]| {
        let mut alone = some.iter().filter(|row| !others.contains(row));
        alone.all(|row| row.windows(5).any(|at| at == [5, 0, 0, 0, 0]))
    };
    own.len() != their.len() && alone(&own, &their) && alone(&their, &own)
}

/// The documents without what is null.
fn without_nulls(batches: &[Vec<RawDocumentBuf>]) -> Option<Vec<Vec<Document>>> {
    fn plain(document: Document) -> Document {
        let fields = document.into_iter().filter_map(|(name, value)| {
            Some((
                name,
                match value {
                    Bson::Null => return None,
                    Bson::Document(inner) => match plain(inner) {
                        inner if inner.is_empty() => return None,
                        inner => Bson::Document(inner),
                    },
                    other => other,
                },
            ))
        });
        fields.collect()
    }
    let row = |row: &RawDocumentBuf| Some(plain(Document::try_from(row.as_ref()).ok()?));
    batches
        .iter()
        .map(|batch| batch.iter().map(row).collect())
        .collect()
}

/// The reply without these fields of its errors; none where they have none of them.
fn without(reply: &RawDocumentBuf, names: &[&str]) -> Option<Document> {
    let mut reply = Document::try_from(reply.as_ref()).ok()?;
    let errors = reply.get_array_mut("errors").ok()?;
    let mut has_some = false;
    for error in errors.iter_mut().filter_map(Bson::as_document_mut) {
        for name in names {
            has_some |= matches!(error.remove(name), Some(Bson::Document(_)));
        }
    }
    has_some.then_some(reply)
}

/// The reply without the values of the keys that were taken; none without such.
fn without_key_values(reply: &RawDocumentBuf) -> Option<Document> {
    without(reply, &["keyValue"])
}

/// The codes of the errors in a reply.
fn refusals(reply: &RawDocumentBuf) -> Option<Vec<i32>> {
    let reply = Document::try_from(reply.as_ref()).ok()?;
    let errors = reply.get_array("errors").ok()?;
    let errors = errors.iter().filter_map(Bson::as_document);
    Some(errors.filter_map(|error| error.get_i32("code").ok()).collect())
}

/// The reply without the number of documents that were changed.
fn without_count(reply: &RawDocumentBuf) -> Option<Document> {
    let mut reply = Document::try_from(reply.as_ref()).ok()?;
    reply.remove("nModified").map(|_| reply)
}

/// The reply with one number in the place of all that its document has.
fn without_numbers(reply: &RawDocumentBuf) -> Option<Document> {
    let plain = |value| match value {
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => Bson::Int32(0),
        other => other,
    };
    let mut reply = Document::try_from(reply.as_ref()).ok()?;
    let value = reply.get_mut("value")?;
    *value = mapped(value.clone(), &plain);
    Some(reply)
}

/// Whether the documents are of the same bytes, one by one, in whatever order.
fn are_anagrams(own: &[Vec<RawDocumentBuf>], their: &[Vec<RawDocumentBuf>]) -> bool {
    let letters = |row: &RawDocumentBuf| sorted(row.as_bytes());
    let (own, their) = (
        own.iter().flatten().map(letters),
        their.iter().flatten().map(letters),
    );
    own.eq(their)
}

/// A symbol and code as the string that they hold.
fn as_string(value: Bson) -> Bson {
    match value {
        Bson::Symbol(text) | Bson::JavaScriptCode(text) => Bson::String(text),
        other => other,
    }
}

/// Whether there is a symbol or code in the documents.
fn shows_symbols(batches: &[Vec<RawDocumentBuf>]) -> bool {
    batches.iter().flatten().any(|row| {
        let row = Document::try_from(row.as_ref()).map(Bson::Document);
        row.is_ok_and(|row| mapped(row.clone(), &as_string) != row)
    })
}

/// The characters of the documents as text, with strings in the place of symbols and code: they stand elsewhere in what
/// is ordered, by themselves or in rows.
fn as_strings(batches: &[Vec<RawDocumentBuf>]) -> Option<Vec<Vec<u8>>> {
    let row = |row: &RawDocumentBuf| {
        let row = mapped(Bson::Document(Document::try_from(row.as_ref()).ok()?), &as_string);
        Some(sorted(format!("{row:?}").as_bytes()))
    };
    let mut rows: Vec<Vec<u8>> = batches.iter().flatten().map(row).collect::<Option<_>>()?;
    rows.sort_unstable();
    Some(rows)
}

fn has_failed_with(answer: &Answer, code: i32) -> bool {
    match answer {
        Answer::Refused(own) => *own == Some(code),
        Answer::Reply(reply) => match reply.get_array("errors") {
            Ok(errors) => errors
                .into_iter()
                .flatten()
                .filter_map(|error| error.as_document()?.get_i32("code").ok())
                .any(|own| own == code),
            Err(_) => false,
        },
        _ => false,
    }
}

/// Whether a write of the command was refused.
fn has_failed(answer: &Answer) -> bool {
    matches!(answer, Answer::Reply(reply) if reply.get_array("errors").is_ok_and(|errors| !errors.is_empty()))
}

/// Where plans were tried against each other, the server knows at once that there is no more; by a `2d` index it does not
/// know that a limit was reached.
fn closes_early(own: &[Vec<RawDocumentBuf>], their: &[Vec<RawDocumentBuf>]) -> bool {
    let ends_later = |long: &[Vec<RawDocumentBuf>], short: &[Vec<RawDocumentBuf>]| matches!(long, [all @ .., last] if last.is_empty() && all == short);
    ends_later(own, their) || ends_later(their, own)
}

/// A group by MinKey or MaxKey comes out as `{"": MinKey}` when another stage stands beside it.
fn is_wrapped(their: &[Vec<RawDocumentBuf>]) -> bool {
    their.iter().flatten().any(|row| {
        row.as_bytes()
            .windows(6)
            .any(|at| at == [7, 0, 0, 0, 0xFF, 0] || at == [7, 0, 0, 0, 0x7F, 0])
    })
}
