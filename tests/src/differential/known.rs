//! What is not promised, and what the server is known to do otherwise. The guide's page `supported.md` names the
//! latter with the reasons.

mod asked;

use bson::{Bson, Document, RawDocumentBuf};

pub(super) use self::asked::sets_again;
use self::asked::{
    has_companion, is_at_an_end, is_by_position, is_grouped, is_inside_another, is_spared, keeps_some,
    leaves_holes, matches_around_set, orders_by_nested, projects_first, sorts_by_position, texts,
};
use super::commands::Step;
use super::comparable::mapped;
use super::machine::{Answer, sorted};

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

/// Whether this difference is one that the server is known for, for reasons of its own. `before`: the commands so far.
pub(super) fn is_known(command: &Document, before: &[Step], own: &Answer, their: &Answer) -> bool {
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
    match (own, their) {
        // The server changes the document before it finds that it cannot project it.
        (Refused(a), Refused(b)) if a == b => name == "findAndModify",
        // A cursor goes on in the session in which it began, and the driver has more than one.
        (_, Refused(Some(50738))) => true,
        // Of a text that is no date, and of wrong options, it shows the first byte alone, and drivers cannot read the
        // half of a character.
        (Refused(Some(241 | 51_108)), Refused(None)) => {
            !text.is_ascii() || texts(before).iter().any(|text| !text.is_ascii())
        }
        // Of two errors in one filter either may be said: `$expr` in an upsert is found on the way.
        (Refused(Some(_)), Refused(Some(224))) => true,
        // It looks for a text index while it reads the filter, before what stands behind the search and around it.
        (Refused(Some(_)), Refused(Some(27 | 17313 | 2))) if text.contains("$text") => true,
        (own, their) if text.contains("$text") && has_failed(own) && has_failed_with(their, 27) => true,
        // A `$match` that it moves or joins with another is parsed again from a text that it cannot read.
        (_, Refused(Some(2))) if text.contains("$elemMatch") && text.contains("$all") => true,
        // The collation of a view is looked at before what is asked of it.
        (Refused(Some(_)), Refused(Some(167))) => true,
        // It sees that nothing can match before it looks for the text index, which is hidden.
        (own, _) if has_failed_with(own, 291) && text.contains("$text") && text.contains("$alwaysFalse") => {
            true
        }
        // Behind a `$facet` a limit is left out, and with it the exchange of the stages behind it.
        (own, Refused(Some(_)))
            if !own.is_refused()
                && ["$facet", "$limit", "$skip"]
                    .iter()
                    .all(|stage| text.contains(stage)) =>
        {
            true
        }
        // An update by a pipeline sorts arrays by bytes where the collation is the collection's own.
        (own, their)
            if !own.is_refused()
                && !their.is_refused()
                && text.contains("$sortArray")
                && !text.contains("collation")
                && ["update", "findAndModify"].contains(&name)
                && texts(before).iter().any(|text| text.contains("collation")) =>
        {
            true
        }
        // An assertion in its planner; a symbol in an index with a collation.
        (_, their) if has_failed_with(their, 8) || has_failed_with(their, 201) => true,
        (Refused(Some(a)), Refused(Some(b))) => {
            SAME_CODES.contains(&(*a, *b))
                || SAME_CODES.contains(&(*b, *a))
                // A group runs in one of its two engines, which have codes of their own.
                || is_grouped(&text)
                // A sample is taken before the stages ahead of it that change each document by itself, and which document
                // comes first to what fails is by chance.
                || text.contains("$sample")
                // What its cursor projects, it projects of many documents before the stages behind it run.
                || projects_first(command)
                || is_spared(command)
                // Which document it comes to goes by what an index holds of an `$expr`, as below.
                || (name == "findAndModify" && text.contains("$expr") && (has_wildcard() || has_sparse()))
        }
        // Assertions where it builds a `$switch`, or bounds of symbols under a `$not`, in its other engine.
        (_, their) if has_failed_with(their, 4_822_806) || has_failed_with(their, 4_457_011) => true,
        // Near a point, or by a hint to a wildcard index, it does not find a plan where there is one.
        (own, their) if has_failed_with(their, 291) && !matches!(own, Refused(_)) => {
            text.contains("$geoNear") || text.contains("$near") || has_wildcard()
        }
        // It knows of what a schema asks that a field is there.
        (Refused(Some(291)), their) if text.contains("$geoNear") && text.contains("$jsonSchema") => {
            !their.is_refused()
        }
        // It ignores nearness where a hint names an index that cannot answer it, moves a `$match` in front of the
        // `$project` of a view, where a hint is for it, and looks for a symbol in an index of another collation.
        (Refused(Some(291)), their)
            if command.contains_key("hint")
                && !their.is_refused()
                && (text.contains("$near")
                    || (text.contains("Symbol(") && has_wildcard())
                    || before.iter().any(|step| step.command.contains_key("viewOn"))) =>
        {
            true
        }
        // By an index, with an order, it projects documents before it leaves the first of them out.
        (Documents(_), Refused(Some(51246))) => command.contains_key("skip"),
        // The first document by a hashed index is that of the least hash, and its hash is another.
        (own, their)
            if !matches!(own, Refused(_))
                && !matches!(their, Refused(_))
                && text.contains("\"hint\"")
                && text.contains("hashed")
                && ["update", "delete", "findAndModify"].contains(&name) =>
        {
            true
        }
        // So is the first one that an update cannot change.
        (Answer::Reply(own), Answer::Reply(their))
            if name == "update"
                && texts(before).iter().any(|text| text.contains("\"hashed\""))
                && [own, their]
                    .iter()
                    .all(|reply| reply.get("errors").is_ok_and(|errors| errors.is_some())) =>
        {
            true
        }
        // An index by a position has a key for the element there alone, and none for what is missing in other elements.
        (own, their)
            if !own.is_refused()
                && !their.is_refused()
                && before.iter().any(|step| is_by_position(&step.command))
                && text.contains("null") =>
        {
            true
        }
        // A symbol has its bytes as its place among strings that a collation orders; an `$expr` compares it in both ways.
        (Documents(own), Documents(their))
            if (text.contains("sort") && rows(own).len() == rows(their).len()
                || text.contains("$expr") && text.contains("\"$gt"))
                && [&text]
                    .into_iter()
                    .chain(&texts(before))
                    .any(|text| text.contains("collation"))
                && texts(before).iter().any(|text| text.contains("Symbol(")) =>
        {
            true
        }
        // It looks for what is not less than MinKey, or not greater than MaxKey, in an index without what is missing.
        _ if is_at_an_end(&text) && has_index() => true,
        // By an index, the values of a field are those of its keys: `null` where there is none, undefined for an empty
        // array, and an array in an array once more taken apart.
        (Values(_, own), Values(_, their)) if own == their => true,
        // Where one field of an index is inside another, it looks for the former in the key of the latter.
        (Values(_, own), Values(_, their)) => {
            (own.is_empty() || their.is_empty()) && before.iter().any(|step| is_inside_another(&step.command))
        }
        // It looks for what an `$expr` compares in an index that does not hold what is missing.
        _ if text.contains("$expr") && (has_wildcard() || has_sparse()) => true,
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
            true
        }
        // Whether an update fails by a condition, or by what it does, goes by the order of the conditions.
        (own, their)
            if has_failed(own) && has_failed(their) && has_companion(&Bson::Document(command.clone())) =>
        {
            true
        }
        // The bytes by which a collation orders strings are those of another version of its rules.
        (Answer::Reply(own), Answer::Reply(their))
            if texts(before)
                .iter()
                .chain([&text])
                .any(|text| text.contains("collation"))
                && without_key_values(own).is_some_and(|own| Some(own) == without_key_values(their)) =>
        {
            true
        }
        // By an index it looks for an array that begins with an array among the elements, and loses documents.
        (own, their)
            if has_index() && orders_by_nested(command) && !own.is_refused() && !their.is_refused() =>
        {
            true
        }
        // The same of an index that takes no arrays beside one whose key is taken.
        (Answer::Reply(own), Answer::Reply(their))
            if before.iter().any(|step| step.name() == "collMod")
                && matches!(
                    (refusals(own).as_deref(), refusals(their).as_deref()),
                    (Some([11_000]), Some([16_766])) | (Some([16_766]), Some([11_000]))
                ) =>
        {
            true
        }
        // An order for nothing counts as a change, if the document is not changed in its place.
        (Answer::Reply(own), Answer::Reply(their))
            if text.contains("$push")
                && text.contains("$sort")
                && without_count(own) == without_count(their) =>
        {
            true
        }
        // A field that is missing has kept its place where the document was computed.
        (Answer::Reply(own), Answer::Reply(their))
            if text.contains("$setField") && sorted(own.as_bytes()) == sorted(their.as_bytes()) =>
        {
            true
        }
        (Documents(own), Documents(their)) if text.contains("$setField") && are_anagrams(own, their) => true,
        // Its other engine has no symbols and no code: by such a key a group gives a string.
        (Documents(own), Documents(their)) if is_grouped(&text) && as_strings(own) == as_strings(their) => {
            true
        }
        // The parts of a moment, which each has of its own.
        (Documents(own), Documents(their))
            if rows(own).len() == rows(their).len()
                && MOMENTS.iter().any(|part| text.contains(part))
                && (text.contains("$$NOW")
                    || before
                        .iter()
                        .any(|step| step.command.to_string().contains("$currentDate"))) =>
        {
            true
        }
        // The same of the one document that a `findAndModify` dates, and computes with.
        (Answer::Reply(own), Answer::Reply(their))
            if command.contains_key("fields")
                && ["$$NOW", "$currentDate"].iter().any(|now| text.contains(now))
                && without_numbers(own).is_some_and(|own| Some(own) == without_numbers(their)) =>
        {
            true
        }
        // Whether documents that one update dates are of one moment goes by the clock, and with it their order and
        // their groups.
        (own, their)
            if !own.is_refused()
                && !their.is_refused()
                && (text.contains("\"sort\"") || text.contains("\"$sort\"") || is_grouped(&text))
                && before.iter().any(|step| {
                    let text = step.command.to_string();
                    text.contains("$currentDate") && text.contains("\"multi\": true")
                }) =>
        {
            true
        }
        // The same of a unique index, in which two dates are taken or not.
        (own, their)
            if (has_failed_with(own, 11_000) != has_failed_with(their, 11_000))
                && texts(before).iter().any(|text| text.contains("\"unique\": true"))
                && text.contains("$currentDate")
                && text.contains("\"multi\": true") =>
        {
            true
        }
        // A sample comes in any order.
        (Documents(own), Documents(their)) if text.contains("$sample") && rows(own) == rows(their) => true,
        // A document of several fields is the same key to its other engine with a field that is undefined, or without.
        (Documents(own), Documents(their))
            if is_grouped(&text)
                && rows(own).len() > rows(their).len()
                && texts(before).iter().any(|text| text.contains("undefined")) =>
        {
            true
        }
        // Of equal values the first of a sample stands for a group.
        (Documents(own), Documents(their))
            if text.contains("$sample") && is_grouped(&text) && rows(own).len() == rows(their).len() =>
        {
            true
        }
        // The same in a projection of nothing but fields of an index.
        (Documents(own), Documents(their))
            if command.contains_key("projection")
                && has_index()
                && without_nulls(own) == without_nulls(their) =>
        {
            true
        }
        // A document that was made for a field without a value is not the empty one to a later `$match`.
        (Documents(own), Documents(their))
            if ["$addFields", "$set"].iter().any(|stage| text.contains(stage))
                && text.contains("$match")
                && are_empty_within(own, their) =>
        {
            true
        }
        // It takes a condition on the document around a field that was set for one that the field does not matter to.
        (Documents(_), Documents(_)) if matches_around_set(command) => true,
        // An inclusion in an array, beside a computed field, leaves holes in it that `$unwind` and groups find.
        (_, their)
            if !their.is_refused()
                && (text.contains("$unwind") || is_grouped(&text))
                && leaves_holes(command) =>
        {
            true
        }
        // Only what later stages need is kept before a `$sort`: by a path with positions there are fewer elements then.
        (Documents(own), Documents(their))
            if sorts_by_position(command) && (rows(own) == rows(their) || keeps_some(&text)) =>
        {
            true
        }
        // The least and the greatest value that its other engine has grouped are documents to `$redact`.
        (Documents(_), Documents(_))
            if text.contains("$redact")
                && is_grouped(&text)
                && texts(before)
                    .iter()
                    .any(|text| text.contains("MinKey") || text.contains("MaxKey")) =>
        {
            true
        }
        (Documents(own), Documents(their)) if own != their => {
            closes_early(own, their) || is_wrapped(their) || (sets_again(command) && are_anagrams(own, their))
        }
        (own, their) if own.is_refused() != their.is_refused() => {
            let of_view = |step: &Step| step.command.contains_key("viewOn") && is_spared(&step.command);
            is_spared(command) || before.iter().any(of_view)
        }
        _ => false,
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

/// The characters of the documents as text, with strings in the place of symbols and code: they stand elsewhere in what
/// is ordered.
fn as_strings(batches: &[Vec<RawDocumentBuf>]) -> Option<Vec<Vec<Vec<u8>>>> {
    let plain = |value| match value {
        Bson::Symbol(text) | Bson::JavaScriptCode(text) => Bson::String(text),
        other => other,
    };
    let row = |row: &RawDocumentBuf| {
        let row = mapped(Bson::Document(Document::try_from(row.as_ref()).ok()?), &plain);
        Some(sorted(format!("{row:?}").as_bytes()))
    };
    batches
        .iter()
        .map(|batch| batch.iter().map(row).collect())
        .collect()
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
