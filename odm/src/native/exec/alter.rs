//! Changing a collection as a whole: its options, its indexes' options, its name.

use super::super::catalog::rules::{self, encrypted, number, wrong_type};
use super::super::catalog::{Catalog, Collection, IndexEntry};
use super::super::document::number::whole;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Fields, Once, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::super::storage::{TreeId, Write};
use super::{Namespace, change, collections, indexes, series, view};

/// Runs `collMod`; what it says of an index that it changed.
///
/// # Errors
/// MongoDB's: 26 when there is no such collection, 27 no such index, 72 for what does not fit the collection, 40415
/// for unknown fields.
pub(crate) fn modify(write: &mut dyn Write, ns: &Namespace, changes: Doc<'_>) -> Result<Vec<u8>> {
    refuse_in_transaction(write, "collMod")?;
    check_names(changes)?;
    check_values(changes)?;
    let dry_run = changes
        .get("dryRun")
        .is_some_and(|value| rules::flag("collMod.dryRun", value).unwrap_or(false));
    if dry_run && !asks_unique(changes) {
        let what = match changes.get("index") {
            None => "an valid index modification.",
            Some(_) => "an index modification with unique: true.",
        };
        return Err(invalid(format!("dry run mode requires {what}")));
    }
    let run = match dry_run {
        false => Run::Real,
        true => Run::Dry {
            alone: is_alone(changes),
        },
    };
    let Some(collection) = write.catalog().collection(&ns.database, &ns.collection).cloned() else {
        return Err(match (asks_unique(changes), dry_run) {
            (false, _) => Fault::new(code::NAMESPACE_NOT_FOUND, "ns does not exist"),
            (true, false) => Fault::new(
                code::NAMESPACE_NOT_FOUND,
                format!("ns does not exist for unique index conversion: {ns}"),
            ),
            (true, true) => invalid("option not supported on a view: index".to_owned()),
        });
    };
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    let is_view = collection.rules.view.is_some();
    let mut options = fields_of(Doc::Raw(&collection.options));
    if is_view && collection.rules.series.is_some() {
        let reply = series::modify(write, ns, &collection, changes, run)?;
        return Ok(Doc::Fields(&reply).to_bytes());
    }
    if asks_unique(changes) {
        view::refuse(write.catalog(), ns)?;
    }
    view::refuse_buckets(write.catalog(), ns)?;
    let mut reply: Fields = Vec::new();
    // What is said of an index is looked at first.
    if let Some(index) = changes.get("index").filter(|_| !is_view) {
        modify_index(write, ns, &collection, index, run, &mut reply)?;
    }
    for element in changes.elements() {
        let (name, value) = (element.name_str(), element.value());
        match name {
            "viewOn" | "pipeline" if !is_view => {
                // That of the stages is looked at first.
                let name = match changes.get("pipeline") {
                    Some(_) => "pipeline",
                    None => name,
                };
                return Err(invalid(format!("option only supported on a view: {name}")));
            }
            "viewOn" => set(
                &mut options,
                name,
                Owned::String(rules::view_on("collMod", value)?),
            ),
            "pipeline" => set(&mut options, name, {
                view::check_output(changes, &ns.database)?;
                Owned::Array(rules::view_pipeline("collMod", value, &ns.to_string())?)
            }),
            "isTimeseriesNamespace" if changes.get("timeseries").is_none() => {}
            _ if FORGOTTEN.contains(&name) => {}
            "timeseries" => {
                return Err(invalid(
                    "option only supported on a time-series collection: isTimeseriesNamespace".to_owned(),
                ));
            }
            _ if is_view => return Err(invalid(format!("option not supported on a view: {name}"))),
            "validator" => {
                let filter = rules::validator("collMod.validator", value).map_err(|fault| match value {
                    Value::Document(_) => {
                        fault.prefixed("Parsing of collection validator failed :: caused by :: ")
                    }
                    _ => fault,
                })?;
                match filter {
                    Some(filter) => {
                        collections::refuse_validator(ns, collection.uuid)?;
                        set(&mut options, name, filter);
                    }
                    None => options.retain(|(own, _)| own != name),
                }
            }
            "validationLevel" | "validationAction" => {
                let chosen = rules::choice("collMod", name, value)?;
                set(&mut options, name, Owned::String(chosen));
            }
            "cappedSize" | "cappedMax" if collection.rules.capped.is_none() => {
                return Err(invalid("Collection must be capped.".to_owned()));
            }
            "cappedSize" => set(&mut options, "size", number(rules::capped_size(name, value)?)),
            "cappedMax" => set(&mut options, "max", number(rules::capped_max(name, value)?)),
            "changeStreamPreAndPostImages" => set_images(&mut options, name, rules::images(value)),
            "recordPreImages" => {
                let recorded = rules::flag("collMod.recordPreImages", value)?;
                set_images(&mut options, name, recorded.then_some(Owned::Bool(true)));
            }
            "expireAfterSeconds" if collection.rules.clustered.is_some() => {
                series::set_life(&mut options, value)?;
            }
            "expireAfterSeconds" => {
                return Err(invalid(
                    "'expireAfterSeconds' option is only supported on collections clustered by _id"
                        .to_owned(),
                ));
            }
            "isTimeseriesNamespace" => {
                return Err(invalid(format!(
                    "option only supported on a time-series collection: {name}"
                )));
            }
            "index" => {}
            _ => return Err(Fault::unknown_field("collMod", name)),
        }
    }
    run.check()?;
    if run != Run::Real {
        return Ok(Doc::Fields(&reply).to_bytes());
    }
    if options.iter().any(|(own, _)| own == "encryptedFields") {
        for name in ["validationAction", "validationLevel"] {
            encrypted::check_validation(changes, &[name])
                .map_err(|fault| fault.prefixed(&format!("Failed to set {name} :: caused by :: ")))?;
        }
    }
    // What does not say that documents are recorded says that they are not.
    if changes.get("recordPreImages").is_none() {
        options.retain(|(own, _)| own != "recordPreImages");
    }
    if VALIDATION.iter().any(|name| changes.get(name).is_some()) {
        for (name, usual) in [("validationLevel", "strict"), ("validationAction", "error")] {
            if !options.iter().any(|(own, _)| own == name) {
                options.push((name.to_owned(), Owned::String(usual.to_owned())));
            }
        }
        rules::sort(&mut options);
    }
    let options = Doc::Fields(&options).to_bytes();
    if options != *collection.options {
        if is_view {
            view::refuse_cycle(write.catalog(), ns, Doc::Raw(&options))?;
        }
        write.catalog_mut().set_options(collection.id, &options)?;
    }
    Ok(Doc::Fields(&reply).to_bytes())
}

/// Whether changes are made, or it is only looked at whether an index can be unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Real,
    /// `alone`: nothing else is asked for.
    Dry {
        alone: bool,
    },
}

impl Run {
    /// Refuses a dry run of several changes, once nothing else is wrong with them.
    pub(super) fn check(self) -> Result<()> {
        match self {
            Run::Dry { alone: false } => Err(invalid(
                "unique: true cannot be combined with any other modification in dry run mode.".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// Whether an index that is to be unique is all that is asked for. The bounds of capped collections do not count.
fn is_alone(changes: Doc<'_>) -> bool {
    let others = changes.elements().filter(|element| match element.name_str() {
        "index" | "cappedSize" | "cappedMax" | "isTimeseriesNamespace" => false,
        name => !FORGOTTEN.contains(&name),
    });
    let index = changes.get("index").and_then(|index| index.as_document());
    let of_index = index.into_iter().flat_map(|index| index.elements());
    let of_index = of_index.filter(|element| {
        !matches!(element.name_str(), "name" | "keyPattern" | "unique")
            && !matches!(element.value(), Value::Null | Value::Undefined)
    });
    others.count() + of_index.count() == 0
}

/// What is said of a validator: with one of them the others are kept too.
const VALIDATION: [&str; 3] = ["validator", "validationLevel", "validationAction"];

/// Fields of the command that change nothing here.
const FORGOTTEN: &[&str] = &["writeConcern", "comment", "dryRun"];

/// Unknown fields are refused before anything else is looked at.
fn check_names(changes: Doc<'_>) -> Result<()> {
    const KNOWN: &[&str] = &[
        "index",
        "validator",
        "validationLevel",
        "validationAction",
        "viewOn",
        "pipeline",
        "cappedSize",
        "cappedMax",
        "changeStreamPreAndPostImages",
        "recordPreImages",
        "expireAfterSeconds",
        "timeseries",
        "isTimeseriesNamespace",
    ];
    for element in changes.elements() {
        let name = element.name_str();
        if !KNOWN.contains(&name) && !FORGOTTEN.contains(&name) {
            return Err(Fault::unknown_field("collMod", name));
        }
    }
    Ok(())
}

/// Values that nothing could have are refused before the collection is looked at.
fn check_values(changes: Doc<'_>) -> Result<()> {
    rules::check_images(changes)?;
    for element in changes.elements() {
        let (name, value) = (element.name_str(), element.value());
        match name {
            "cappedSize" => {
                rules::capped_size(name, value)?;
            }
            "cappedMax" => {
                rules::capped_max(name, value)?;
            }
            "validationLevel" | "validationAction" => {
                rules::choice("collMod", name, value)?;
            }
            "viewOn" if value.as_str() == Some("") => {
                rules::view_on("collMod", value)?;
            }
            "pipeline" => {
                rules::stages("collMod", value)?;
            }
            "timeseries" => {
                rules::series::granularity(value)?;
            }
            "expireAfterSeconds" if value.as_str().is_none() && !value.is_number() => {
                return Err(wrong_type(
                    "collMod.expireAfterSeconds",
                    value,
                    "types '[string, long']",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn asks_unique(changes: Doc<'_>) -> bool {
    let Some(Value::Document(index)) = changes.get("index") else {
        return false;
    };
    index
        .get("unique")
        .is_some_and(|value| rules::flag("collMod.index.unique", value).unwrap_or(false))
}

/// What is recorded of documents as they were is said by one of two options: the one goes when the other is on.
fn set_images(options: &mut Fields, name: &str, value: Option<Owned>) {
    let is_on = value.is_some();
    options.retain(|(own, _)| {
        let is_other = matches!(&**own, "recordPreImages" | "changeStreamPreAndPostImages");
        own != name && !(is_on && is_other)
    });
    options.extend(value.map(|value| (name.to_owned(), value)));
    rules::sort(options);
}

pub(super) fn set(options: &mut Fields, name: &str, value: Owned) {
    match options.iter_mut().find(|(own, _)| own == name) {
        Some((_, own)) => *own = value,
        None => options.push((name.to_owned(), value)),
    }
}

/// Changes what `collMod` says of an index; what is said of it goes to the reply.
pub(super) fn modify_index(
    write: &mut dyn Write,
    ns: &Namespace,
    collection: &Collection,
    value: Value<'_>,
    run: Run,
    reply: &mut Fields,
) -> Result<()> {
    let Value::Document(spec) = value else {
        return Err(wrong_type("collMod.index", value, "type 'object'"));
    };
    let (mut name, mut pattern, mut expire, mut hidden) = (None, None, None, None);
    let (mut unique, mut prepare, mut force) = (None, None, None);
    let mut once = Once::within("collMod.index");
    for element in spec.elements() {
        let value = element.value();
        if matches!(value, Value::Null | Value::Undefined) {
            continue;
        }
        match (element.name_str(), value) {
            ("name", Value::String(text)) => name = Some(text),
            ("keyPattern", Value::Document(keys)) => pattern = Some(keys),
            ("expireAfterSeconds", seconds) if seconds.is_number() => expire = Some(seconds),
            ("expireAfterSeconds", other) => {
                return Err(wrong_type(
                    "collMod.index.expireAfterSeconds",
                    other,
                    "types '[long, int, decimal, double']",
                ));
            }
            ("hidden", value) => hidden = Some(rules::flag("collMod.index.hidden", value)?),
            ("unique", value) => unique = Some(rules::flag("collMod.index.unique", value)?),
            ("prepareUnique", value) => prepare = Some(rules::flag("collMod.index.prepareUnique", value)?),
            ("forceNonUnique", value) => force = Some(rules::flag("collMod.index.forceNonUnique", value)?),
            ("name", other) => return Err(wrong_type("collMod.index.name", other, "type 'string'")),
            ("keyPattern", other) => {
                return Err(wrong_type("collMod.index.keyPattern", other, "type 'object'"));
            }
            (other, _) => return Err(Fault::unknown_field("collMod.index", other)),
        }
        once.see(&element)?;
    }
    if name.is_some() != pattern.is_some() {
        check_asked(collection, expire, (hidden, unique, prepare, force))?;
    }
    let entry = match (name, pattern) {
        (None, None) => {
            return Err(invalid(
                "Must specify either index name or key pattern.".to_owned(),
            ));
        }
        (Some(_), Some(_)) => return Err(invalid("Cannot specify both key pattern and name.".to_owned())),
        (Some(name), None) => collection.index(name).ok_or_else(|| name.to_owned()),
        (None, Some(keys)) => only_by(collection, keys)?.ok_or_else(|| match &collection.rules.series {
            Some(series) => series::shown_keys(series, keys),
            None => keys.to_string(),
        }),
    };
    let entry = entry.map_err(|shown| {
        Fault::new(
            code::INDEX_NOT_FOUND,
            format!("cannot find index {shown} for ns {ns}"),
        )
    })?;
    if entry.definition.clustered {
        return Err(match hidden {
            Some(_) => Fault::new(
                6_011_800,
                "The 'hidden' option is not supported for a clusteredIndex",
            ),
            None => {
                let shown = name.map_or_else(|| entry.definition.key_pattern().to_string(), str::to_owned);
                Fault::new(
                    code::INDEX_NOT_FOUND,
                    format!("cannot find index {shown} for ns {ns}"),
                )
            }
        });
    }
    if force == Some(false) {
        return Err(Fault::new(
            code::BAD_VALUE,
            "'forceNonUnique: false' is not supported",
        ));
    }
    let own = &entry.definition;
    let mut fields = fields_of(Doc::Raw(own.spec()));
    let said_before = reply.len();
    if let Some(seconds) = expire {
        if own.is_id() {
            return Err(invalid("the _id field does not support TTL indexes".to_owned()));
        }
        if own.keys.len() > 1 {
            return Err(invalid(
                "TTL indexes are single-field indexes, compound indexes do not support TTL".to_owned(),
            ));
        }
        let seconds = whole(&seconds).unwrap_or(0);
        // Unlike `createIndexes`, which refuses more.
        let seconds = seconds.min(i32::MAX.into());
        if let Some(before) = own.expire_after_seconds {
            reply.push(("expireAfterSeconds_old".to_owned(), Owned::Int64(before)));
        }
        reply.push(("expireAfterSeconds_new".to_owned(), Owned::Int64(seconds)));
        set(&mut fields, "expireAfterSeconds", Owned::Int64(seconds));
    }
    if let Some(hidden) = hidden {
        if own.is_id() {
            return Err(Fault::new(code::BAD_VALUE, "can't hide _id index"));
        }
        if hidden != own.hidden {
            reply.push(("hidden_old".to_owned(), Owned::Bool(own.hidden)));
            reply.push(("hidden_new".to_owned(), Owned::Bool(hidden)));
            set(&mut fields, "hidden", Owned::Bool(hidden));
        }
    }
    // What changes nothing may stand beside anything.
    if let Some(prepare) = prepare.filter(|prepare| !own.unique && *prepare != own.prepare_unique) {
        if expire.is_some() || hidden.is_some() || unique.is_some() || force.is_some() {
            return Err(invalid(
                "prepareUnique cannot be combined with any other modification.".to_owned(),
            ));
        }
        reply.push(("prepareUnique_old".to_owned(), Owned::Bool(own.prepare_unique)));
        reply.push(("prepareUnique_new".to_owned(), Owned::Bool(prepare)));
        set(&mut fields, "prepareUnique", Owned::Bool(prepare));
    }
    match unique {
        Some(false) => return Err(Fault::new(code::BAD_VALUE, "Cannot make index non-unique")),
        Some(true) if !own.unique => {
            if !own.prepare_unique {
                return Err(invalid(
                    "Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first."
                        .to_owned(),
                ));
            }
            // Of several changes it is told later that they do not go together.
            if run != (Run::Dry { alone: false }) && indexes::has_duplicates(write, entry)? {
                return Err(Fault::new(
                    code::CANNOT_CONVERT_INDEX_TO_UNIQUE,
                    "Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.",
                ));
            }
            reply.push(("unique_new".to_owned(), Owned::Bool(true)));
            fields.retain(|(name, _)| name != "prepareUnique");
            set(&mut fields, "unique", Owned::Bool(true));
        }
        _ => {}
    }
    // The index of `_id` is unique whatever its specification says.
    if force == Some(true) && (own.unique || own.is_id()) {
        reply.push(("forceNonUnique_new".to_owned(), Owned::Bool(true)));
        fields.retain(|(name, _)| name != "unique");
    }
    if run != Run::Real {
        reply.clear();
        return Ok(());
    }
    if reply.len() == said_before {
        return Ok(());
    }
    let definition = IndexDefinition::stored(Doc::Fields(&fields))?;
    // Only a time series keeps what is false.
    let definition = match &collection.rules.series {
        Some(series) if series::is_measured(series, definition.key_pattern()) => definition,
        _ => definition.without_false(&["hidden", "unique"]),
    };
    write
        .catalog_mut()
        .alter_index(collection.id, entry.tree, definition)
}

/// What is asked of an index, looked at before the index is looked for.
fn check_asked(
    collection: &Collection,
    expire: Option<Value<'_>>,
    (hidden, unique, prepare, force): (Option<bool>, Option<bool>, Option<bool>, Option<bool>),
) -> Result<()> {
    let flags = [hidden, unique, prepare, force];
    if expire.is_none() && flags.iter().all(Option::is_none) {
        return Err(invalid(
            "no expireAfterSeconds, hidden, unique, or prepareUnique field".to_owned(),
        ));
    }
    if unique.is_some() && force.is_some() {
        return Err(invalid(
            "collMod does not support 'unique' and 'forceNonUnique' options at the same time".to_owned(),
        ));
    }
    if expire.is_some() && collection.rules.series.is_some() {
        return Err(invalid(
            "TTL indexes are not supported for time-series collections. Please refer to the documentation and use the top-level 'expireAfterSeconds' option instead".to_owned(),
        ));
    }
    if expire.is_some() && collection.rules.capped.is_some() {
        return Err(invalid(
            "TTL indexes are not supported for capped collections.".to_owned(),
        ));
    }
    if expire
        .and_then(|seconds| whole(&seconds))
        .is_some_and(|seconds| seconds < 0)
    {
        return Err(invalid(
            "TTL index 'expireAfterSeconds' option cannot be less than 0".to_owned(),
        ));
    }
    Ok(())
}

/// Gives a collection another name, perhaps in another database, in place of one that has it if `drop_target`.
///
/// # Errors
/// MongoDB's: 26 when there is no such collection, 48 when the name is taken, 20 for the same or a bad name, 166 for
/// a view.
pub(crate) fn rename(
    write: &mut dyn Write,
    from: &Namespace,
    to: &Namespace,
    drop_target: bool,
) -> Result<()> {
    refuse_in_transaction(write, "renameCollection")?;
    if to.collection.is_empty() {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Invalid target namespace: {to}"),
        ));
    }
    to.check().map_err(|_| {
        Fault::new(
            code::ILLEGAL_OPERATION,
            format!(
                "error with target namespace: Invalid collection name: {}",
                to.collection
            ),
        )
    })?;
    if from == to {
        return Err(same_name());
    }
    let Some(collection) = write
        .catalog()
        .collection(&from.database, &from.collection)
        .cloned()
    else {
        return Err(Fault::new(
            code::NAMESPACE_NOT_FOUND,
            if from.database != to.database {
                "source namespace does not exist".to_owned()
            } else if write.catalog().collections(&from.database).next().is_none() {
                format!("Database {} does not exist or is drop pending", from.database)
            } else {
                format!("Source collection {from} does not exist")
            },
        ));
    };
    if collection.rules.view.is_some() {
        return Err(Fault::new(
            code::COMMAND_NOT_SUPPORTED_ON_VIEW,
            format!("cannot rename view: {from}"),
        ));
    }
    if collection.rules.series.is_some() {
        return Err(of_buckets());
    }
    for ns in [from, to] {
        write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    }
    if view::view_of(write.catalog(), to).is_some() {
        return Err(Fault::new(
            code::NAMESPACE_EXISTS,
            format!("a view already exists with that name: {to}"),
        ));
    }
    if drop_target {
        collections::make_way(write, to)?;
    }
    write
        .catalog_mut()
        .rename_collection(collection.id, &to.database, &to.collection)?;
    match from.database == to.database {
        true => change::renamed(write, &collection, to),
        false => change::moved(write, &collection, to)?,
    }
    Ok(())
}

/// What is told of a collection that is to have its own name.
pub(crate) fn same_name() -> Fault {
    Fault::new(code::ILLEGAL_OPERATION, "Can't rename a collection to itself")
}

/// What is told of the documents of a time series that are to have another name.
pub(crate) fn of_buckets() -> Fault {
    Fault::new(
        code::ILLEGAL_OPERATION,
        "Renaming system.buckets collections is not allowed",
    )
}

/// Refuses a command that no transaction takes.
pub(crate) fn refuse_in_transaction(write: &dyn Write, command: &str) -> Result<()> {
    if !write.in_transaction() {
        return Ok(());
    }
    Err(Fault::new(
        code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
        format!("Cannot run '{command}' in a multi-document transaction."),
    ))
}

fn invalid(message: String) -> Fault {
    Fault::new(code::INVALID_OPTIONS, message)
}

/// The index of these keys.
///
/// # Errors
/// Code 181 when there are several.
fn only_by<'a>(collection: &'a Collection, keys: Doc<'a>) -> Result<Option<&'a IndexEntry>> {
    let mut found = indexes::with_keys(collection, keys);
    let (Some(first), second) = (found.next(), found.next()) else {
        return Ok(None);
    };
    let Some(second) = second else {
        return Ok(Some(first));
    };
    Err(Fault::new(
        181,
        format!(
            "index keyPattern {keys} matches {} indexes, must use index name. Conflicting indexes:{}, {}",
            found.count() + 2,
            first.definition.shown(),
            second.definition.shown()
        ),
    ))
}
