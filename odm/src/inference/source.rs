//! The types of a plan as Rust source.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use bson::{Bson, Document};

use super::index::{Attribute, Holder};
use super::inspected::Inspected;
use super::literal;
use super::name;
use super::plan::Plan;
use super::planned::{Form, Planned, PlannedCollection, PlannedField, PlannedModel, Type};

/// Writes the source of all models.
pub(crate) struct Source<'a> {
    pub(crate) inspected: &'a [Inspected],
    pub(crate) plan: &'a Plan,
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut body = String::new();
        self.body(&mut body)?;
        f.write_str("// The models of a database, as its documents, indexes and validators tell them.\n")?;
        if !self
            .plan
            .collections
            .iter()
            .any(|collection| !collection.models.is_empty())
        {
            f.write_str("\n// No collection has a model.\n")?;
            return f.write_str(&body);
        }
        f.write_str("\n")?;
        if body.contains("BTreeMap<") {
            f.write_str("use std::collections::BTreeMap;\n\n")?;
        }
        let mut used: Vec<&str> = Vec::new();
        let derives = |name: &str| body.contains(&format!(", {name})]"));
        used.extend(
            body.contains("-> CollectionDeclaration")
                .then_some("CollectionDeclaration"),
        );
        used.extend(body.contains("DbRef").then_some("DbRef"));
        used.extend(derives("Embedded").then_some("Embedded"));
        used.extend(body.contains(" Id<").then_some("Id"));
        used.push("Model");
        used.extend(has_reference(self.plan).then_some("Ref"));
        match used.as_slice() {
            [one] => writeln!(f, "use odm::{one};")?,
            used => writeln!(f, "use odm::{{{}}};", used.join(", "))?,
        }
        f.write_str("use serde::{Deserialize, Serialize};\n")?;
        f.write_str(&body)?;
        if body.contains("deserialize_with = \"there\"") {
            f.write_str(THERE)?;
        }
        Ok(())
    }
}

/// What tells null from missing.
const THERE: &str = r#"
/// A value that is there, be it null: what is missing is `None` by `default`.
fn there<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
"#;

impl Source<'_> {
    fn body(&self, out: &mut String) -> fmt::Result {
        let mut written = BTreeSet::new();
        for (at, collection) in self.inspected.iter().enumerate() {
            let Some(planned) = self.plan.collections.get(at) else {
                continue;
            };
            for note in &planned.notes {
                let name = literal::comment(&collection.name);
                writeln!(out, "\n// {name}: {}.", literal::comment(note))?;
            }
            if let Some((tag, name)) = &planned.tag {
                self.kinds(out, collection, &planned.models, (tag, name), &planned.function)?;
            }
            let mut unsaid: Vec<bool> = vec![true; collection.indexes.len()];
            for model in &planned.models {
                self.model(out, collection, model, planned, &mut unsaid)?;
                written.insert(model.index);
                self.nested(out, model.index, &mut written)?;
            }
        }
        Ok(())
    }

    /// The types that are in this one, each once.
    fn nested(&self, out: &mut String, owner: usize, written: &mut BTreeSet<usize>) -> fmt::Result {
        for field in self.plan.fields(owner) {
            let Some(index) = innermost(&field.ty) else {
                continue;
            };
            if !written.insert(index) {
                continue;
            }
            let Some(planned) = self.plan.get(index) else {
                continue;
            };
            match &planned.form {
                Form::Struct(fields) => {
                    out.write_str(
                        "\n#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]\n",
                    )?;
                    writeln!(out, "pub struct {} {{", planned.name)?;
                    for field in fields {
                        self.field(out, field, index, &[])?;
                    }
                    out.write_str("}\n")?;
                }
                Form::Texts(variants) => {
                    out.write_str(
                        "\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]\n",
                    )?;
                    writeln!(out, "pub enum {} {{", planned.name)?;
                    for (ident, text) in variants {
                        if ident != text {
                            writeln!(out, "    #[serde(rename = {})]", literal::text(text))?;
                        }
                        writeln!(out, "    {ident},")?;
                    }
                    out.write_str("}\n")?;
                }
            }
            self.nested(out, index, written)?;
        }
        Ok(())
    }

    fn kinds(
        &self,
        out: &mut String,
        collection: &Inspected,
        models: &[PlannedModel],
        (tag, name): (&str, &str),
        function: &str,
    ) -> fmt::Result {
        self.head(out, collection)?;
        out.write_str("#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]\n")?;
        let options = match has_options(collection) {
            true => format!(", options = {function}"),
            false => String::new(),
        };
        writeln!(
            out,
            "#[odm(collection = {}{options})]",
            literal::text(&collection.name)
        )?;
        writeln!(out, "#[serde(tag = {})]", literal::text(tag))?;
        writeln!(out, "pub enum {name} {{")?;
        let mut names = name::Names::of_variants();
        for model in models {
            let (Some(kind), Some(planned)) = (&model.kind, self.plan.get(model.index)) else {
                continue;
            };
            let ident = names.take([name::variant(kind)], "");
            if ident != *kind {
                writeln!(out, "    #[serde(rename = {})]", literal::text(kind))?;
            }
            writeln!(out, "    {ident}({}),", planned.name)?;
        }
        out.write_str("}\n")?;
        self.options(out, collection, function)
    }

    /// What is said before the model of a collection.
    fn head(&self, out: &mut String, collection: &Inspected) -> fmt::Result {
        let name = literal::comment(&collection.name);
        let what = match collection.kind.as_str() {
            "timeseries" => "A measurement of the time series",
            _ if collection.options.contains_key("capped") => "A document of the capped collection",
            _ => "A document of the collection",
        };
        writeln!(out, "\n/// {what} `{name}`.")?;
        if collection.looked_at == 0 {
            out.write_str("// The collection was empty.\n")?;
        }
        Ok(())
    }

    fn model(
        &self,
        out: &mut String,
        collection: &Inspected,
        model: &PlannedModel,
        within: &PlannedCollection,
        unsaid: &mut [bool],
    ) -> fmt::Result {
        let (tag, function) = (within.tag.as_ref().map(|(tag, _)| tag), &within.function);
        let Some(planned) = self.plan.get(model.index) else {
            return Ok(());
        };
        let holder = Holder {
            plan: self.plan,
            model: model.index,
            is_kind: model.kind.is_some(),
            has_collation: collection.options.contains_key("collation"),
        };
        let mut attributes = Vec::new();
        for (index, unsaid) in collection.indexes.iter().zip(unsaid) {
            // Of several kinds the first that has all fields says it; the last, where none has.
            let is_last = within.models.last().is_none_or(|last| last.index == model.index);
            if *unsaid && (!holder.is_kind || holder.has_all(index) || is_last) {
                *unsaid = false;
                attributes.push(holder.attribute(index));
            }
        }
        // A field has one; the others stand on the struct.
        let mut on_fields: Vec<Attribute> = Vec::new();
        let mut on_struct: Vec<Attribute> = Vec::new();
        for attribute in attributes {
            match &attribute.field {
                Some(field) if !on_fields.iter().any(|other| other.field.as_ref() == Some(field)) => {
                    on_fields.push(attribute);
                }
                Some(field) => {
                    let text = on_struct_text(&attribute.text, field);
                    on_struct.push(Attribute {
                        field: None,
                        text,
                        note: None,
                    });
                }
                None => on_struct.push(attribute),
            }
        }
        match &model.kind {
            Some(kind) => {
                let name = literal::comment(&collection.name);
                writeln!(
                    out,
                    "\n/// A document of the collection `{name}` of the kind `{}`.",
                    literal::comment(kind)
                )?;
            }
            None => self.head(out, collection)?,
        }
        out.write_str("#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]\n")?;
        let mut said = format!("collection = {}", literal::text(&collection.name));
        if let (Some(kind), Some(tag)) = (&model.kind, tag) {
            write!(
                said,
                ", kind = {}, tag = {}",
                literal::text(kind),
                literal::text(tag)
            )?;
        }
        if has_options(collection) && model.kind.is_none() {
            write!(said, ", options = {function}")?;
        }
        writeln!(out, "#[odm({said})]")?;
        for attribute in &on_struct {
            if let Some(note) = &attribute.note {
                writeln!(out, "// {}", literal::comment(note))?;
            }
            writeln!(out, "#[odm({})]", attribute.text)?;
        }
        if on_struct.len() > 1 {
            out.write_str("#[allow(clippy::duplicated_attributes)]\n")?;
        }
        writeln!(out, "pub struct {} {{", planned.name)?;
        for field in self.plan.fields(model.index) {
            self.field(out, field, model.index, &on_fields)?;
        }
        out.write_str("}\n")?;
        match model.kind {
            Some(_) => Ok(()),
            None => self.options(out, collection, function),
        }
    }

    fn field(
        &self,
        out: &mut String,
        field: &PlannedField,
        owner: usize,
        indexes: &[Attribute],
    ) -> fmt::Result {
        for note in &field.notes {
            writeln!(out, "    // {}", literal::comment(note))?;
        }
        let mut serde = Vec::new();
        if field.is_rest {
            serde.push("flatten".to_owned());
        } else if field.is_renamed {
            serde.push(format!("rename = {}", literal::text(&field.stored)));
        }
        if field.may_miss {
            serde.push("default".to_owned());
            if field.tells_null {
                serde.push("deserialize_with = \"there\"".to_owned());
            }
            serde.push("skip_serializing_if = \"Option::is_none\"".to_owned());
        }
        if !serde.is_empty() {
            writeln!(out, "    #[serde({})]", serde.join(", "))?;
        }
        for index in indexes
            .iter()
            .filter(|index| index.field.as_deref() == Some(&field.ident))
        {
            writeln!(out, "    #[odm({})]", index.text)?;
        }
        writeln!(out, "    pub {}: {},", field.ident, self.ty(&field.ty, owner))
    }

    fn ty(&self, ty: &Type, owner: usize) -> String {
        let name = |index: usize| {
            self.plan
                .get(index)
                .map_or("", |planned: &Planned| planned.name.as_str())
        };
        match ty {
            Type::Plain(plain) => (*plain).to_owned(),
            Type::OwnId => format!("Id<{}>", self.plan.own_name(owner)),
            Type::Ref(collection) => match self.plan.model_of(self.inspected, collection) {
                Some(model) => format!("Ref<{model}>"),
                None => "odm::bson::Bson".to_owned(),
            },
            Type::DbRef(collection) => {
                let model = collection
                    .as_ref()
                    .and_then(|name| self.plan.model_of(self.inspected, name));
                model.map_or("DbRef".to_owned(), |model| format!("DbRef<{model}>"))
            }
            Type::Option(inner) => format!("Option<{}>", self.ty(inner, owner)),
            Type::Vec(inner) => format!("Vec<{}>", self.ty(inner, owner)),
            Type::Map(inner) => format!("BTreeMap<String, {}>", self.ty(inner, owner)),
            Type::Boxed(inner) => format!("Box<{}>", self.ty(inner, owner)),
            Type::Nested(index) => name(*index).to_owned(),
        }
    }

    /// The function of the collection's options.
    fn options(&self, out: &mut String, collection: &Inspected, function: &str) -> fmt::Result {
        if !has_options(collection) {
            return Ok(());
        }
        writeln!(out, "\nfn {function}() -> CollectionDeclaration {{")?;
        out.write_str("    CollectionDeclaration::new()\n")?;
        let options = told(&collection.options);
        for (option, value) in &options {
            match (option.as_str(), value) {
                ("validator", Bson::Document(validator)) => {
                    writeln!(out, "        .validator({})", literal::document(validator))?;
                }
                (option, Bson::Document(value)) => {
                    writeln!(
                        out,
                        "        .option({}, {})",
                        literal::text(option),
                        literal::document(value)
                    )?;
                }
                (option, value) => {
                    writeln!(
                        out,
                        "        .option({}, {})",
                        literal::text(option),
                        literal::bson(value)
                    )?;
                }
            }
        }
        out.write_str("}\n")
    }
}

/// The options that are to be declared.
fn told(options: &Document) -> Document {
    let mut told = options.clone();
    // Of this database alone, or the same as not said.
    for own in ["temp", "uuid", "autoIndexId"] {
        told.remove(own);
    }
    if told.get_document("validator").is_ok_and(Document::is_empty) {
        told.remove("validator");
    }
    if !told.contains_key("validator") {
        told.remove("validationLevel");
        told.remove("validationAction");
    }
    if let Ok(collation) = told.get_document_mut("collation") {
        collation.remove("version");
    }
    told
}

fn has_options(collection: &Inspected) -> bool {
    !told(&collection.options).is_empty()
}

/// An attribute of a field as one of the struct.
fn on_struct_text(text: &str, field: &str) -> String {
    let inner = match text {
        "index" => "",
        "unique" => "unique",
        text => text
            .strip_prefix("index(")
            .and_then(|text| text.strip_suffix(')'))
            .unwrap_or_default(),
    };
    let (mut order, mut rest) = (None, inner);
    for one in ["desc", "hashed", "text", "geo_2d", "geo_2dsphere", "wildcard"] {
        if let Some(after) = inner.strip_prefix(one)
            && (after.is_empty() || after.starts_with(", "))
        {
            (order, rest) = (Some(one), after.trim_start_matches(", "));
        }
    }
    let mut key = field.to_owned();
    if let Some(order) = order {
        let mut weight = "";
        if let Some(after) = rest.strip_prefix("weight = ") {
            let end = after.find(", ").unwrap_or(after.len());
            weight = &after[..end];
            rest = after[end..].trim_start_matches(", ");
        }
        key = match weight {
            "" => format!("{order}({key})"),
            weight => format!("{order}({key}, weight = {weight})"),
        };
    }
    match rest {
        "" => format!("index(keys({key}))"),
        rest => format!("index(keys({key}), {rest})"),
    }
}

fn innermost(ty: &Type) -> Option<usize> {
    match ty {
        Type::Option(inner) | Type::Vec(inner) | Type::Map(inner) | Type::Boxed(inner) => innermost(inner),
        Type::Nested(index) => Some(*index),
        _ => None,
    }
}

fn has_reference(plan: &Plan) -> bool {
    fn refers(ty: &Type) -> bool {
        match ty {
            Type::Ref(_) => true,
            Type::Option(inner) | Type::Vec(inner) | Type::Map(inner) | Type::Boxed(inner) => refers(inner),
            _ => false,
        }
    }
    let types = plan.types.iter().flatten();
    types
        .filter_map(|planned| match &planned.form {
            Form::Struct(fields) => Some(fields),
            Form::Texts(_) => None,
        })
        .flatten()
        .any(|field| refers(&field.ty))
}
